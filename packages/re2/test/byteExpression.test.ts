/** How many instructions RE2 has for an expression of bytes, and that it is found out in short steps. */
import * as ByteExpression from "@effect-xds/re2/ByteExpression"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { sizes } from "./sizes.js"

const reader = new ByteExpression.Reader()

const expressionOf = (pattern: string): ByteExpression.ByteExpression => Either.getOrThrow(reader.read(pattern))

const stepsOf = (pattern: string): number => {
  const work = new ByteExpression.Reader().readInSteps(pattern)
  for (let steps = 1; ; steps++) if (work.next().done === true) return steps
}

describe("the size of a program", () => {
  it.each(sizes)("★ of %j is %d, as in RE2", (pattern, size) => {
    const { bounds, measure } = expressionOf(pattern)
    expect(measure({ steps: 100_000 })).toEqual({ least: size, most: size })
    expect(bounds.least).toBeLessThanOrEqual(size)
    expect(bounds.most).toBeGreaterThanOrEqual(size)
  })

  it("is known in bounds where there are too few steps, or it is too large", () => {
    const { bounds, measure } = expressionOf("(?:a?b*){30}")
    const budget = { steps: 100 }
    expect(measure(budget)).toEqual(bounds)
    expect(budget.steps).toBeLessThan(0)
    expect(measure(budget)).toEqual(bounds)
    const more = { steps: 10_000 }
    expect(measure(more)).toEqual({ least: 94, most: 94 })
    expect(more.steps).toBeLessThan(10_000)
    const large = expressionOf("a{1000}".repeat(10))
    expect(large.measure({ steps: 100_000 })).toEqual(large.bounds)
    expect(large.bounds.least).toBeGreaterThan(9_990)
  })
})

describe("what is an expression", () => {
  it.each(["\\x{100}", "\\400", "\\p{Foo}", "a**", "(a", "a)", "[z-a]", "(?=a)", "\\Z", "[\\C]"])(
    "%j is none",
    (pattern) => {
      expect(Either.isLeft(reader.read(pattern))).toBe(true)
    }
  )

  it.each(["\\x{ff}", "\\377", "\\C", "\\Q\\x{100}", "(?P<n>a)(?P<n>b)", "a{,2}"])("%j is one", (pattern) => {
    expect(Either.isRight(reader.read(pattern))).toBe(true)
  })

  it("thousands of classes, no two of which are the same, are one", () => {
    const names = Array.from({ length: 9_000 }, (_, at) => String.fromCharCode(0x21 + (at % 55), 0x61 + at / 55))
    expect(Either.isRight(reader.read(names.map((name) => `[\\PL${name.replace("-", "a")}]`).join("")))).toBe(true)
  })
})

describe("★ a long pattern is read in steps", () => {
  it.each([
    ["text with escapes", "a\\."],
    ["classes", "[a-z]"],
    ["alternatives", "ab|"],
    ["groups", "()"],
    ["what is repeated", "a*"],
    ["large counts", "a{1000}"],
    ["classes of Unicode", "\\pL"]
  ])("of %s", (_, part) => {
    expect(stepsOf(part.repeat(60_000 / part.length))).toBeGreaterThan(60_000 / part.length / 64)
  })

  it("of alternatives each of which begins with the one before", () => {
    // A million characters are copied.
    const all = Array.from({ length: 300 }, (_, length) => "a".repeat(length))
    expect(stepsOf(all.join("|"))).toBeGreaterThan(100)
  })
})
