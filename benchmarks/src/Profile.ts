/** A CPU profile in a few lines: where the time went. */
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"

const CpuProfile = Schema.Struct({
  nodes: Schema.Array(
    Schema.Struct({
      id: Schema.Number,
      callFrame: Schema.Struct({ functionName: Schema.String, url: Schema.String, lineNumber: Schema.Number })
    })
  ),
  samples: Schema.Array(Schema.Number),
  timeDeltas: Schema.Array(Schema.Number)
})
const decodeProfile = Schema.decodeUnknownSync(Schema.parseJson(CpuProfile))

/** `…/packages/core/dist/Incremental.js` as `core/Incremental.js`. */
const place = (url: string, line: number): string => {
  if (url === "") return ""
  const short = url
    .replace(/^file:\/\//, "")
    .replace(/^.*\/packages\/([^/]+)\/dist\//, "$1/")
    .replace(/^.*\/node_modules\//, "")
  return `${short}:${line + 1}`
}

/** The functions with the most time of their own, idle time left out. */
export const summary = (file: string, rows = 40): string => {
  const { nodes, samples, timeDeltas } = decodeProfile(readFileSync(file, "utf8"))
  const names = new Map(
    nodes.map(({ callFrame, id }) => {
      const { functionName, lineNumber, url } = callFrame
      return [id, [functionName === "" ? "(anonymous)" : functionName, place(url, lineNumber)].join("  ").trim()]
    })
  )
  const self = new Map<string, number>()
  let busy = 0
  samples.forEach((id, index) => {
    const name = names.get(id) ?? "(unknown)"
    if (name === "(idle)") return
    // A sample stands for the time until the next.
    const microseconds = timeDeltas[index + 1] ?? 0
    busy += microseconds
    self.set(name, (self.get(name) ?? 0) + microseconds)
  })
  const sorted = [...self].sort(([, left], [, right]) => right - left).slice(0, rows)
  const lines = sorted.map(
    ([name, time]) =>
      `${((100 * time) / busy).toFixed(1).padStart(6)} %  ${(time / 1000).toFixed(1).padStart(9)} ms  ${name}`
  )
  return [`self time of ${(busy / 1000).toFixed(0)} ms on the main thread, idle time left out:`, ...lines].join("\n")
}
