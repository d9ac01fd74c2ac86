/** Regular expressions, which are RE2's at Envoy and gRPC. */
import type { RegexMatcher } from "@effect-xds/proto/envoy/type/matcher/v3/regex"
import * as Reason from "@effect-xds/proto/Reason"
import type { RegexMatcher as XdsRegexMatcher } from "@effect-xds/proto/xds/type/matcher/v3/regex"
import { Buffer } from "node:buffer"
import { RE2JS } from "re2js"
import { isProperties } from "../Properties.js"
import { shownText } from "../Report.js"
import type { Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/** UTF-16 code units. Nobody writes more, and to compile takes longer than all else. */
const maxLength = 65_536

/** What Envoy takes unless its runtime, or the matcher, says another number. */
const maxProgramSize = 100

// Of re2js's instructions: what they do, and the beginning of the text among the conditions without a character.
const [capture, emptyWidth, fail, match, characters, character, anyCharacter, anyButNewLine] = [
  3, 4, 5, 6, 8, 9, 10, 11
]
const atBegin = 4

/** The largest character that Envoy's RE2 knows: to it each byte is one. */
const maxCharacter = 0xff

/** One that is known, and so is what is read from it. */
interface Instruction {
  readonly op: unknown
  readonly out: unknown
  readonly arg: unknown
  /** One character, or the first and the last one of each range. */
  readonly runes: ArrayLike<number>
}

const isInstruction = (value: unknown): value is Instruction =>
  isProperties(value) && value["runes"] instanceof Int32Array

/** Whether it matches nothing. */
const isNothing = ({ op, runes }: Instruction): boolean =>
  op === fail || (op === characters && (runes[0] ?? 0) > maxCharacter)

/** Instructions of RE2 for one of re2js: one for each range of characters. To it `A-Z` may be the same as `a-z`. */
const sizeOf = ({ op, runes }: Instruction): number => {
  if (op === capture || op === match || op === character || op === anyCharacter) return 1
  if (op === anyButNewLine) return 2
  if (op !== characters) return 0
  let ranges = 0
  for (let at = 0; at < runes.length; at += 2) {
    const [first = 0, last = first] = [runes[at], runes[at + 1]]
    if (first <= maxCharacter && !(first >= 0x41 && last <= 0x5a)) ranges++
  }
  return Math.max(1, ranges)
}

/**
 * What RE2's program has at least; 0: that is not known. ★ RE2 flattens its program, so that alternatives cost nothing; what has no
 * character counts once, however often it is repeated; and the text behind a `^` is compared before. Beside what matches nothing it
 * leaves out all else.
 */
const leastSize = (program: unknown): number => {
  const list: unknown = isProperties(program) ? program["inst"] : undefined
  const all = Array.isArray(list) ? list.filter(isInstruction) : []
  // The first one of all programs fails.
  if (!isProperties(program) || all.slice(1).some(isNothing)) return 0
  const next = (instruction: Instruction | undefined) => all[Number(instruction?.out)]
  let at = all[Number(program["start"])]
  let before = 0
  if (at?.op === emptyWidth) {
    while (at?.op === emptyWidth && (Number(at.arg) & atBegin) !== 0) at = next(at)
    for (; at?.op === characters || at?.op === character; at = next(at)) before += sizeOf(at)
  }
  return all.reduce((size, each) => size + sizeOf(each), -before)
}

/** What no character is the number of: it is an escape that Envoy's RE2 does not know. `\Q` escapes all that follows. */
const largeEscape = (regex: string): string | undefined => {
  for (const [text, hexadecimal, octal] of regex.matchAll(/\\Q.*?(?:\\E|$)|\\x\{([0-9a-f]+)\}|\\([0-7]{1,3})|\\./gis)) {
    const character = hexadecimal === undefined ? parseInt(octal ?? "0", 8) : parseInt(hexadecimal, 16)
    if (character > maxCharacter) return text
  }
  return undefined
}

/** The same text as Envoy's RE2 reads it: each byte of UTF-8 is a character. */
const inBytes = (regex: string): string => Buffer.from(regex, "utf8").toString("latin1")

/**
 * The same text without the names of its groups, which say nothing here. ★ RE2 takes a name twice, and re2js does not, nor some
 * that JavaScript's objects have. What is escaped or in a class is no group.
 */
const unnamed = (regex: string): string =>
  regex.replace(/\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*|\(\?P?<\w+>/gs, (text) =>
    text.startsWith("(") ? "(" : text
  )

/** Most instructions, and ranges of characters beside them, that are compiled: as many as in the longest text, and some more. */
const maxWork = 131_072

/** Ranges of a class of Unicode, and those of a range whose letters are taken in both cases, about. */
const rangesOfUnicode = 700
const rangesOfCases = 150

/**
 * How much work it is to compile an expression, about. ★ `[\pL\pL…]` of some KB takes tens of seconds, and so does `a{1000}` a
 * thousand times. What is no expression has a number, too.
 */
const workOf = (regex: string): number => {
  const ofRange = /\(\?[a-z]*i/i.test(regex) ? rangesOfCases : 1
  /** Instructions of what was before each parenthesis that is open. */
  const before: Array<number> = []
  let ranges = 0
  let here = 0
  let last = 0
  let isClass = false
  for (const [token, least, most] of regex.matchAll(/\\Q.*?(?:\\E|$)|\\.|\[\^?\]?|\{(\d+)(?:,(\d*))?\}|./gs)) {
    if (/^\\p/i.test(token)) ranges += rangesOfUnicode
    if (isClass) {
      ranges += token === "-" ? ofRange : 1
      isClass = !token.endsWith("]") || token.startsWith("\\")
      continue
    }
    if (token === "(") {
      before.push(here)
      here = 0
      continue
    }
    if (token === ")") {
      last = here
      here = before.pop() ?? 0
    } else if (least !== undefined) {
      last *= Math.max(1, Number(least), Number(most ?? 0)) - 1
    } else {
      isClass = token.startsWith("[")
      last = token.startsWith("\\Q") ? token.length : 1
    }
    here += last
  }
  return before.reduce((sum, each) => sum + each, here + ranges)
}

const check = (regex: string, most: number, site: Site): void => {
  // Empty: the rules of the field tell it.
  if (regex === "") return
  if (regex.length > maxLength) {
    return site.fault("regular-expression-size", `must have at most ${maxLength} characters`, ["regex"])
  }
  if (workOf(regex) > maxWork) return
  const wrong = (reason: string): void =>
    site.fault("regular-expression", `must be an expression of RE2, is ${shownText(regex)}: ${reason}`, ["regex"])
  try {
    const compiled: { readonly prog: unknown } = RE2JS.compile(unnamed(inBytes(regex))).re2()
    const escape = largeEscape(regex)
    if (escape !== undefined) return wrong(`invalid escape sequence: ${escape}, more than a byte`)
    const size = leastSize(compiled.prog)
    if (size > most) {
      const problem = `must have at most ${most} instructions once compiled, has ${size} or more`
      site.fault("regular-expression-size", problem, ["regex"])
    }
  } catch (cause) {
    // ★ `\C`, a byte, is RE2's; strings here have none.
    if (regex.includes("\\C")) return
    wrong(Reason.of(cause))
  }
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<RegexMatcher>("envoy.type.matcher.v3.RegexMatcher", ({ engineType, regex }, site) => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
    const most = engineType.case === "googleRe2" ? engineType.value.maxProgramSize : undefined
    check(regex, most ?? maxProgramSize, site)
  }),
  // ★ Of these Envoy asks no size.
  Reading.of<XdsRegexMatcher>("xds.type.matcher.v3.RegexMatcher", ({ regex }, site) => check(regex, Infinity, site))
]
