/** Automata of regular expressions: what they take is what the simulation of re2js takes, and how much work it is. */
import * as RegularExpression from "@effect-xds/discovery/RegularExpression"
import { describe, expect, it, vi } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { RE2JS } from "re2js"
import * as Automaton from "../src/internal/Automaton.js"
import * as Program from "../src/internal/Program.js"

const programOf = (pattern: string): Program.Program => {
  const program = Program.make(RE2JS.compile(pattern))
  if (program === undefined) throw new Error(`no program of ${pattern}`)
  return program
}

const automatonOf = (pattern: string, bytes?: number) => new Automaton.Automaton(programOf(pattern), bytes)

/** Letters of one case that is several letters, what is not ASCII, halves of characters, and what assertions look for. */
const letters = ["a", "b", "A", "k", "K", "\u212a", "s", "\u017f", "é", "É", "ß", "\u{1f600}", "\u{10400}", "\u{10428}"]
const marks = ["-", "_", "7", " ", "\n", "/", "\ud83d", "\ude00", "\0", "\u2028"]
const texts = fc
  .array(fc.constantFrom("a", "b", "ab", ...letters, ...marks), { maxLength: 24 })
  .map((all) => all.join(""))

const escaped = (text: string): string =>
  Array.from(text, (character) => `\\x{${(character.codePointAt(0) ?? 0).toString(16)}}`).join("")
const classes = [
  "[ab]",
  "[^a]",
  "[a-z]",
  "[^\\n]",
  "[k-sK]",
  "[[:alpha:]_]",
  "[^[:word:]é]",
  "[\\x{1f5ff}-\\x{1f601}é]"
]
const escapes = ["\\w", "\\W", "\\d", "\\s", "\\S", "\\pL", "\\PL", "\\p{Lu}", "\\p{Greek}", "\\Qa.b\\E", "."]
const assertions = ["^", "$", "\\A", "\\z", "\\b", "\\B", "(?m:^)", "(?m:$)"]
const counts = ["*", "+", "?", "*?", "+?", "??", "{2}", "{0,3}", "{1,}", "{3,5}?", "{0}"]
const flags = ["(?i:", "(?s:", "(?m:", "(?U:", "(?is-m:", "(", "(?:", "(?P<n>"]

const patterns = fc.letrec<{ readonly one: string }>((tie) => ({
  one: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom(
      ...[...letters, ...marks].map(escaped),
      "a",
      "b",
      "ab",
      "k",
      "",
      ...classes,
      ...escapes,
      ...assertions
    ),
    fc.array(tie("one"), { maxLength: 4 }).map((all) => all.join("")),
    fc.array(tie("one"), { minLength: 2, maxLength: 4 }).map((all) => `(?:${all.join("|")})`),
    fc.tuple(tie("one"), fc.constantFrom(...counts)).map(([one, count]) => `(?:${one})${count}`),
    fc.tuple(tie("one"), fc.constantFrom(...flags)).map(([one, flag]) => `${flag}${one})`)
  )
})).one

/** `undefined`: two groups have one name. */
const compiled = (pattern: string): RE2JS | undefined => {
  try {
    return RE2JS.compile(pattern)
  } catch {
    return undefined
  }
}

/** The same texts with each seed. */
const random = (length: number, of: ReadonlyArray<string>, seed = 1): string => {
  let text = ""
  for (let at = 0, state = seed; at < length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    text += of[(state >>> 16) % of.length] ?? ""
  }
  return text
}

describe("an automaton", () => {
  it("★ takes what the simulation takes", () => {
    fc.assert(
      fc.property(patterns, fc.boolean(), fc.array(texts, { minLength: 1, maxLength: 8 }), (one, isWhole, all) => {
        // More texts have it somewhere.
        const pattern = isWhole ? one : `(?s:.*)(?:${one})(?s:.*)`
        const regex = compiled(pattern)
        fc.pre(regex !== undefined)
        // With all states that there are, with a few, and with none.
        const automata = [undefined, 1_000, 0].map((bytes) => automatonOf(pattern, bytes))
        // Twice: the second time with the states of the first.
        for (const text of all.concat(all)) {
          const isMatch = regex.testExact(text)
          expect([text, ...automata.map((each) => each.matches(text))]).toEqual([text, isMatch, isMatch, isMatch])
        }
      }),
      { numRuns: 4_000 }
    )
  })

  it.each([
    ["(?i)k", "\u212a", true],
    ["(?i)\u017fa", "SA", true],
    ["(?i)É+", "éÉ", true],
    ["(?i)σ*", "Σςσ", true],
    ["(?i)\\x{10400}", "\u{10428}", true],
    ["(?i)ß", "\u1e9e", true],
    ["(?i)ß", "ss", false],
    [".", "\u{1f600}", true],
    [".", "\ud83d", true],
    [".", "\ude00\ud83d", false],
    ["\\x{d83d}.", "\ud83da", true],
    ["\\x{d83d}\\x{de00}", "\u{1f600}", false],
    [".", "\n", false],
    ["(?s).", "\n", true],
    ["", "", true],
    ["", "a", false],
    ["a|", "", true],
    ["(?:)*", "", true],
    ["\\b", "", false],
    ["\\B", "", true],
    ["\\ba\\b", "a", true],
    ["é\\bé", "éé", false],
    ["a$\\n", "a\n", false],
    ["(?m)a$\\n^b", "a\nb", true],
    ["(?m)a^b", "ab", false],
    ["a^", "a", false],
    ["^^a$$", "a", true],
    ["[^\\x00-\\x{10ffff}]", "a", false]
  ])("%j and %j", (pattern, text, isMatch) => {
    expect([automatonOf(pattern).matches(text), RE2JS.compile(pattern).testExact(text)]).toEqual([isMatch, isMatch])
  })

  it("each letter of ASCII, without its case", () => {
    const others = [...Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code)), "\u212a", "\u1e9e"]
    for (let code = 0x41; code <= 0x7a; code++) {
      const pattern = `(?i)${escaped(String.fromCharCode(code))}`
      const automaton = automatonOf(pattern)
      const regex = RE2JS.compile(pattern)
      expect(others.filter((other) => automaton.matches(other))).toEqual(
        others.filter((other) => regex.testExact(other))
      )
    }
  })
})

/** Expressions with a state for almost every text, and what a text of them has: `count` characters before its end. */
const many = (count: number): readonly [pattern: string, isMatch: (text: string) => boolean] => [
  `(?:a|b|é|\u{1f600})*a(?:a|b|é|\u{1f600}){${count}}`,
  (text) => Array.from(text).at(-count - 1) === "a"
]

/** How often an automaton looks at an instruction while it goes through a text. */
const looksOf = (pattern: string, all: ReadonlyArray<string>): ReadonlyArray<number> => {
  const program = programOf(pattern)
  let looks = 0
  const instructions = new Proxy(program.instructions, {
    get: (target, key): unknown => {
      looks++
      return Reflect.get(target, key)
    }
  })
  const automaton = new Automaton.Automaton({ ...program, instructions })
  return all.map((text) => {
    const before = looks
    automaton.matches(text)
    return looks - before
  })
}

describe("★ an expression with more states than are kept", () => {
  it.each([1, 30, 31, 32, 33, 63, 64, 200, 990])("takes what it should: %d characters before the end", (count) => {
    const [pattern, isMatch] = many(count)
    const automaton = automatonOf(pattern)
    const outcomes = Array.from({ length: 24 }, (_, seed) => {
      const text = random(2_000 + seed, ["a", "b", "é", "\u{1f600}"], seed)
      expect([seed, automaton.matches(text)]).toEqual([seed, isMatch(text)])
      expect(automaton.matches(`${text}c`)).toBe(false)
      return isMatch(text)
    })
    expect(new Set(outcomes).size).toBe(2)
  })

  it("assertions count where states are not kept, too", () => {
    const pattern = "(?m)(?:[ab \\n]*\\ba[ab \\n]{40}\\b|[ab \\n]*^b$[ab \\n]{50})"
    const regex = RE2JS.compile(pattern)
    const automaton = automatonOf(pattern)
    const outcomes = Array.from({ length: 40 }, (_, seed) => {
      const text = random(600, ["a", "b", " ", "\n"], seed)
      expect([seed, automaton.matches(text)]).toEqual([seed, regex.testExact(text)])
      return regex.testExact(text)
    })
    expect(new Set(outcomes).size).toBe(2)
  })

  it("a text of 8 000 characters is hardly more work with a thousand instructions than with ten", () => {
    const all = Array.from({ length: 4 }, (_, seed) => random(8_000, ["a", "b"], seed))
    const patterns = [10, 990].flatMap((count) => [`(?:a|b)*a(?:a|b){${count}}`, `.*a.{0,${count}}c.*`])
    const words = Array.from({ length: 300 }, (_, seed) => random(8, ["a", "b", "c", "d"], seed)).join("|")
    for (const pattern of [...patterns, `(?:a|b|${words})*a(?:a|b){100}`]) {
      for (const looks of looksOf(pattern, all)) expect([pattern, looks / 8_000 < 12]).toEqual([pattern, true])
    }
  })

  it("what is kept of it is bounded", () => {
    for (const count of [20, 200, 990]) {
      const automaton = automatonOf(many(count)[0])
      for (let seed = 0; seed < 50; seed++) automaton.matches(random(2_000, ["a", "b", "é"], seed))
      expect(automaton.bytes).toBeGreaterThan(20_000)
      expect(automaton.bytes).toBeLessThan(1_048_576)
    }
  })
})

it("states that are known are not computed again, whatever the expression's size", () => {
  const words = Array.from({ length: 500 }, (_, seed) => random(8, ["a", "b", "c", "d"], seed))
  const text = words.slice(0, 40).join("").repeat(10)
  const [, again = 0] = looksOf(`(?:${words.join("|")})*`, [text, text])
  expect(again).toBe(0)
})

it("only what is a text of its own is compared by re2js, and no automaton is made before the first text", () => {
  const simulated = vi.spyOn(RE2JS.prototype, "testExact")
  const read = vi.spyOn(Program, "make")
  try {
    const [search, text] = ["a.*b", "abc"].map((pattern) => Either.getOrThrow(RegularExpression.make(pattern)))
    expect(read).not.toHaveBeenCalled()
    expect([search?.matches("a b"), search?.matches("b")]).toEqual([true, false])
    expect(simulated).not.toHaveBeenCalled()
    expect(read).toHaveBeenCalledOnce()
    expect([text?.matches("abc"), text?.matches("abcd")]).toEqual([true, false])
    expect(simulated).toHaveBeenCalledTimes(2)
  } finally {
    vi.restoreAllMocks()
  }
})

// Most of them are of RE2's own tests, of `GlobalReplace`.
it.each([
  ["^", "(START)", "foo", "(START)foo"],
  ["$", "(END)", "", "(END)"],
  ["b", "bb", "ababababab", "abbabbabbabbabb"],
  ["b+", "bb", "bbbbbb", "bb"],
  ["b*", "bb", "bbbbbb", "bb"],
  ["b*", "bb", "aaaaa", "bbabbabbabbabbabb"],
  ["a*", "x", "baac", "xbxcx"],
  ["(a*)(b?)", "<\\1,\\2>", "aabcb", "<aa,b>c<,b>"],
  ["", "-", "\u{1f600}é", "-\u{1f600}-é-"],
  ["a.*a", "(\\0)", "aba\naba", "(aba)\n(aba)"]
])("★ %j by %j in %j: an empty match at the end of another one is none", (pattern, substitution, text, replaced) => {
  const regex = Either.getOrThrow(RegularExpression.make(pattern))
  expect(regex.replaceAll(text, substitution)).toBe(replaced)
})

it("an expression too large for an automaton is simulated", () => {
  const pattern = Array.from({ length: 120 }, (_, index) => `[${String.fromCharCode(0x100 + index)}a]{600}`).join("")
  expect(Automaton.make(RE2JS.compile(pattern))).toBeUndefined()
  const regex = Either.getOrThrow(RegularExpression.make(pattern))
  expect([regex.matches("a".repeat(72_000)), regex.matches("a".repeat(71_999))]).toEqual([true, false])
})
