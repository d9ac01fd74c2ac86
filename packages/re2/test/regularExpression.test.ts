/** Automata of regular expressions: what they take is what the simulation of re2js takes, and how much work it is. */
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import { describe, expect, it, vi } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { RE2JS } from "re2js"
import * as Automaton from "../src/internal/Automaton.js"
import * as Program from "../src/internal/Program.js"
import { Search } from "../src/internal/Search.js"
import * as Syntax from "../src/internal/Syntax.js"

const programOf = (pattern: string): Program.Program => Program.make(Syntax.parse(pattern).root)

const classesOf = (program: Program.Program): Program.Classes => {
  const classes = Program.classesOf(program)
  if (classes === undefined) throw new Error("too many classes")
  return classes
}

const automatonOf = (pattern: string, bytes?: number) => {
  const program = programOf(pattern)
  return new Automaton.Automaton(program, classesOf(program), bytes)
}

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
const escapes = [
  "\\P{Lt}",
  "\\p{^Cs}",
  "\\D",
  "(?i:\\W)",
  "(?i:[[:^lower:]])",
  "\\w",
  "\\W",
  "\\d",
  "\\s",
  "\\S",
  "\\pL",
  "\\PL",
  "\\p{Lu}",
  "\\p{Greek}",
  "\\Qa.b\\E",
  "."
]
const assertions = ["^", "$", "\\A", "\\z", "\\b", "\\B", "(?m:^)", "(?m:$)"]
const counts = ["*", "+", "?", "*?", "+?", "??", "{2}", "{0,3}", "{1,}", "{3,5}?", "{0}"]
const flags = ["(?i:", "(?s:", "(?m:", "(?U:", "(?is-m:", "(", "(?:"]

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
        const regex = RE2JS.compile(pattern)
        // With all states that there are, with a few, and with none; and without an automaton.
        const automata = [undefined, 1_000, 0].map((bytes) => automatonOf(pattern, bytes))
        const search = new Search(programOf(pattern))
        // Twice: the second time with the states of the first.
        for (const text of all.concat(all)) {
          const isMatch = regex.testExact(text)
          const outcomes = [...automata, search].map((each) => each.matches(text))
          expect([text, ...outcomes]).toEqual([text, isMatch, isMatch, isMatch, isMatch])
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
  const automaton = new Automaton.Automaton({ ...program, instructions }, classesOf(program))
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

it("no program is made before the first text, nor for what is a text of its own; few are simulated", () => {
  const made = vi.spyOn(Program, "make")
  const simulated = vi.spyOn(Search.prototype, "matches")
  try {
    const [search, text, none] = ["a.*b", "a\\.c", ""].map((pattern) =>
      Either.getOrThrow(RegularExpression.make(pattern))
    )
    expect(["a.c", "abc", "a.cd"].map((each) => text?.matches(each))).toEqual([true, false, false])
    expect(["", "a"].map((each) => none?.matches(each))).toEqual([true, false])
    expect(made).not.toHaveBeenCalled()
    expect(["a b", "b", "ab"].map((each) => search?.matches(each))).toEqual([true, false, true])
    expect(made).toHaveBeenCalledOnce()
    expect(simulated).not.toHaveBeenCalled()
  } finally {
    vi.restoreAllMocks()
  }
})

describe("★ the syntax is that of RE2", () => {
  const isTaken = (pattern: string) => Either.isRight(RegularExpression.make(pattern))

  it.each([
    "a{1,1000}", "a{,3}", "a{01}", "a{1234567890}", "a{ 1}", "{", "}", "]", "a}", "x{a}", "(?:a{500}){2}", "(?:a|b){0}",
    "[]a]", "[^]a]", "[a-]", "[-a]", "[a-b-c]", "[--/]", "[[a]]", "[[:a]", "[:alpha:]", "[\\d-z]", "[[:^word:]\\pN]",
    "\\101", "\\07", "\\x41", "\\x{10FFFF}", "\\_", "\\-", "\\ ", "\\Qa.b", "\\Qa.b\\E*",
    "\\pN", "\\p{^Greek}", "\\P{^Lu}", "\\p{Any}", "\\pC", "\\p{Old_Italic}",
    "(?i)a", "(?ims-U:a)", "(?)a", "(?:)", "(?P<n>a)", "(?<n>a)", "(?P<n>a)(?P<n>b)", "(?P<é>a)", "(?P<9>a)", "a*\\Q\\E*",
    "a||b", "|", "()", "(|a)*", "(?i)(?-i)a"
  ])("%s is taken", (pattern) => expect(isTaken(pattern)).toBe(true)) // prettier-ignore

  it.each([
    "(", ")", "a)", "(a", "[", "[]", "[a", "[^]", "[z-a]", "[a-\\d]", "[[:foo:]]", "[\\Qa\\E]", "[\\b]", "[a-",
    "*", "(*)", "a|*", "^*?+", "a**", "a*+", "a{2}{3}", "a{2}*", "a*{2}", "a{2,1}", "a{1001}", "a{0,1001}", "a{123456789}",
    "(?:a{500}){3}", "(?:(?:a{600}){0}){600}", "(?i", "(?i-)a", "(?--i:a)", "(?P<n", "(?P<>a)", "(?P<a b>a)", "(?P=n)",
    "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?#c)", "(?x:a)", "(?", "(?P",
    "\\", "\\1", "\\8", "\\e", "\\q", "\\é", "\\Z", "\\G", "\\cA", "\\u0041", "\\x4", "\\x{", "\\x{}", "\\x{110000}", "\\x{4",
    "\\p", "\\p{", "\\p{}", "\\p{Foo}", "\\p{lu}", "\\p{LC}", "\\p{Cn}", "\\p{Assigned}", "\\pX"
  ])("%s is refused", (pattern) => expect(isTaken(pattern)).toBe(false)) // prettier-ignore

  it("C is not what is unassigned", () => {
    const regex = Either.getOrThrow(RegularExpression.make("\\pC"))
    expect(["\u0378", "\u0007", "\u00ad", "\ue000", "a"].map(regex.matches)).toEqual([false, true, true, true, false])
  })

  it("its size is bounded, and how deep it is", () => {
    const sizes = Array.from({ length: 175 }, (_, index) => `${index}{${index < 174 ? 1_000 : 500}}`)
    expect(isTaken(sizes.slice(0, 174).join(""))).toBe(true)
    expect(isTaken(sizes.concat("a{1000}").join(""))).toBe(false)
    expect(isTaken(`${"(".repeat(999)}a${")".repeat(999)}`)).toBe(true)
    expect(isTaken(`${"(".repeat(1_000)}a${")".repeat(1_000)}`)).toBe(false)
  })
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

describe("★ a long pattern is read at once: what stands in it more than once is put together once", () => {
  const repeated = (text: string) => text.repeat(Math.floor(30_000 / text.length))

  it.each(["\\pL", "\\pL|", "\\pL|\\pN|", "[\\pL_]|x*|", "[[:", "(?i)[B-\\x{1e942}]"])("%s", (part) => {
    const tables = vi.spyOn(RE2JS, "compile")
    try {
      for (const pattern of [`${repeated(part)}a`, `[${repeated(part)}]`, `(?i)[${repeated(part)}]`]) {
        tables.mockClear()
        // There is no end of `[[:`.
        expect(Either.isRight(RegularExpression.make(pattern))).toBe(part !== "[[:")
        expect(tables.mock.calls.length).toBeLessThan(3)
      }
    } finally {
      vi.restoreAllMocks()
    }
  })

  it("what is large for each of thousands of classes is refused", () => {
    const letters = Array.from({ length: 3_000 }, (_, index) => String.fromCharCode(0x2500 + index))
    const reasons = [
      letters.map((letter) => `[\\pL${letter}]`).join(""),
      letters.map((letter) => `[\\pL${letter}]`).join("|"),
      `(?i)${letters.map((letter) => `[B-${letter}]`).join("")}`
    ].map((pattern) => Either.getOrThrow(Either.flip(RegularExpression.make(pattern))))
    for (const reason of reasons) expect(reason).toContain("too many ranges of characters")
  })
})

it("★ a search that is too much work is given up, and what is left of the text stays as it is", () => {
  const regex = Either.getOrThrow(RegularExpression.make("(?:a?){900}c"))
  const text = (count: number) => `${"a".repeat(count)}c`
  expect(regex.replaceAll(text(300), "x")).toBe("x")
  expect(regex.replaceAll(text(60_000), "x")).toBe(text(60_000))
})

it("replaces what re2js finds, groups too", () => {
  const replacements = fc.constantFrom("<\\0>", "\\1\\2", "[\\2|\\1]", "\\\\\\0")
  fc.assert(
    fc.property(patterns, patterns, fc.array(texts, { maxLength: 4 }), replacements, (one, two, all, substitution) => {
      const pattern = `(${one})|(${two})`
      const regex = Either.getOrThrow(RegularExpression.make(pattern))
      expect(regex.groups).toBe(RE2JS.compile(pattern).groupCount())
      for (const text of all) expect(regex.replaceAll(text, substitution)).toBe(replaced(pattern, text, substitution))
    }),
    { numRuns: 2_000 }
  )
})

it("★ is in a text where re2js finds it", () => {
  fc.assert(
    fc.property(patterns, fc.array(texts, { maxLength: 4 }), (pattern, all) => {
      const regex = Either.getOrThrow(RegularExpression.make(pattern))
      const known = RE2JS.compile(pattern)
      for (const text of all) expect([text, regex.isIn(text)]).toEqual([text, known.matcher(text).find()])
    }),
    { numRuns: 2_000 }
  )
})

/** All matches of re2js replaced, as RE2 does. */
const replaced = (pattern: string, text: string, substitution: string): string => {
  const matcher = RE2JS.compile(pattern).matcher(text)
  let end = 0
  let last = -1
  let out = ""
  while (matcher.find()) {
    if (matcher.end() === last) continue
    last = matcher.end()
    const part = substitution.replace(/\\(\d|\\)/g, (_, what: string) =>
      what === "\\" ? "\\" : (matcher.group(Number(what)) ?? "")
    )
    out += text.slice(end, matcher.start()) + part
    end = last
  }
  return out + text.slice(end)
}

it("an expression too large for an automaton is simulated", () => {
  const pattern = Array.from({ length: 120 }, (_, index) => `[${String.fromCharCode(0x100 + index)}a]{600}`).join("")
  expect(Automaton.make(programOf(pattern))).toBeUndefined()
  const regex = Either.getOrThrow(RegularExpression.make(pattern))
  expect([regex.matches("a".repeat(72_000)), regex.matches("a".repeat(71_999))]).toEqual([true, false])
})
