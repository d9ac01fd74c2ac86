/** One set of scripts, played over every transport that can carry them; the outcome is a table. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll } from "vitest"
import { type Carrier, carriers, type Script, scripts } from "./Conformance.js"

/** By script and transport. */
const outcomes = new Map<string, string>()
const key = (script: Script, carrier: Carrier): string => `${script.name} ${carrier.name}`

const table = (): string => {
  const letters = carriers.map((_, index) => String.fromCharCode(65 + index))
  const width = Math.max(...scripts.map(({ name }) => name.length))
  const notes: Array<string> = []
  const rows = scripts.map((script) => {
    const cells = carriers.map((carrier) => outcomes.get(key(script, carrier)) ?? "?")
    const reasons = new Set(carriers.flatMap((carrier) => script.cannot?.(carrier) ?? []))
    for (const reason of reasons) notes.push(`– ${script.name}: ${reason}`)
    return `${script.name.padEnd(width)}  ${cells.join(" ")}`
  })
  return [
    "",
    ...carriers.map(({ name }, index) => `${letters[index] ?? ""}  ${name}`),
    "",
    `${" ".repeat(width)}  ${letters.join(" ")}`,
    ...rows,
    "",
    ...notes,
    ""
  ].join("\n")
}

afterAll(() => process.stdout.write(`${table()}\n`))

describe.each(carriers)("Over $name", (carrier) => {
  for (const script of scripts) {
    if (script.cannot?.(carrier) !== undefined) {
      outcomes.set(key(script, carrier), "–")
      continue
    }
    it.scopedLive(script.name, () => {
      outcomes.set(key(script, carrier), "✗")
      return carrier.make.pipe(
        Effect.flatMap(script.play),
        Effect.tap(() => Effect.sync(() => outcomes.set(key(script, carrier), "✓")))
      )
    })
  }
})

it("most scripts are played over every transport", () => {
  const left = scripts.flatMap((script) => carriers.filter((carrier) => script.cannot?.(carrier) !== undefined))
  expect(left.length).toBeLessThanOrEqual(6)
})
