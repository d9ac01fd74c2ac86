/**
 * Sets of characters, as ranges: the first and the last character of each, in order, with a gap between any two.
 *
 * What is equal but for its case is so by Unicode's simple case folding, as RE2 has it.
 */
import { RE2JS } from "re2js"
import * as Predicate from "effect/Predicate"
import * as Folding from "./Folding.js"

/** @see CharacterSets */
export type Ranges = ReadonlyArray<number> | Int32Array

export const largest = 0x10ffff

export const any = Int32Array.of(0, largest)
const anyButNewLine = Int32Array.of(0, 0x09, 0x0b, largest)
export const wordCharacters = Int32Array.of(0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a)
export const newLines = Int32Array.of(0x0a, 0x0a)

/** Ranges in any order, as a set. */
export const normalized = (ranges: ReadonlyArray<number>): Int32Array => {
  let isSorted = true
  for (let at = 2; at < ranges.length && isSorted; at += 2) {
    isSorted = (ranges[at] ?? 0) > (ranges[at - 1] ?? 0) + 1
  }
  if (isSorted) return Int32Array.from(ranges)
  // One number for each range, which a typed array sorts without a call for each pair.
  const keys = new Float64Array(ranges.length / 2)
  for (let at = 0; at < keys.length; at++) keys[at] = (ranges[2 * at] ?? 0) * 0x200000 + (ranges[2 * at + 1] ?? 0)
  keys.sort()
  const sorted = new Int32Array(ranges.length)
  let length = 0
  for (const key of keys) {
    const first = Math.floor(key / 0x200000)
    const last = key - first * 0x200000
    const before = sorted[length - 1] ?? 0
    if (length > 0 && first <= before + 1) {
      if (last > before) sorted[length - 1] = last
    } else {
      sorted[length++] = first
      sorted[length++] = last
    }
  }
  return sorted.slice(0, length)
}

/** All characters up to the last one that are not in a set. */
export const negated = (set: Ranges, most: number): Int32Array => {
  const all: Array<number> = []
  let next = 0
  for (let at = 0; at < set.length; at += 2) {
    const first = set[at] ?? 0
    if (next < first) all.push(next, first - 1)
    next = (set[at + 1] ?? 0) + 1
  }
  if (next <= most) all.push(next, most)
  return Int32Array.from(all)
}

/** Whether a character is in a set. */
export const has = (set: Ranges, character: number): boolean => {
  let low = 0
  let high = set.length >>> 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((set[2 * middle + 1] ?? 0) < character) low = middle + 1
    else high = middle
  }
  return low < set.length >>> 1 && (set[2 * low] ?? 0) <= character
}

/** The characters of a set that are not in another one. */
const without = (set: Int32Array, other: Int32Array): Int32Array => {
  const left: Array<number> = []
  let at = 0
  for (let of = 0; of < set.length; of += 2) {
    let first = set[of] ?? 0
    const last = set[of + 1] ?? 0
    while (at < other.length && (other[at + 1] ?? 0) < first) at += 2
    for (let next = at; first <= last; next += 2) {
      const begin = other[next] ?? largest + 1
      if (begin > first) left.push(first, Math.min(last, begin - 1))
      if (begin > last) break
      first = (other[next + 1] ?? 0) + 1
    }
  }
  return Int32Array.from(left)
}

/**
 * A set, with all that is equal to one of its characters but for its case.
 *
 * @param count is told how many ranges were looked at
 */
const folded = (set: Int32Array, count: (ranges: number) => void): Int32Array => {
  let all = set
  for (let last = set; last.length > 0;) {
    const next: Array<number> = []
    for (let at = 0; at < last.length; at += 2) Folding.successors(last[at] ?? 0, last[at + 1] ?? 0, next)
    count(next.length / 2)
    last = without(normalized(next), all)
    if (last.length > 0) all = normalized([...all, ...last])
  }
  return all
}

/** The character, and those that are equal to it but for its case, as a set. */
export const foldedCharacter = (character: number): Int32Array => {
  const all: Array<number> = []
  let at = character
  do {
    all.push(at, at)
    at = Folding.next(at)
  } while (at !== character)
  return normalized(all)
}

/** The smallest of the characters that are equal to one but for their case. */
const foldedFirst = (character: number): number => {
  let first = character
  for (let at = Folding.next(character); at !== character; at = Folding.next(at)) if (at < first) first = at
  return first
}

/** Whether two characters are equal but for their case, and no other is. */
const isPairOfCases = (one: number, other: number): boolean =>
  Folding.next(one) === other && Folding.next(other) === one

// Perl's and POSIX's classes.
const digits = [0x30, 0x39]
const spaces = [0x09, 0x0a, 0x0c, 0x0d, 0x20, 0x20]
const words = Array.from(wordCharacters)

/** By the letter of its escape. */
export const perl: ReadonlyMap<string, ReadonlyArray<number>> = new Map([
  ["d", digits],
  ["s", spaces],
  ["w", words]
])

/** By name. */
export const posix: ReadonlyMap<string, ReadonlyArray<number>> = new Map([
  ["alnum", [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a]],
  ["alpha", [0x41, 0x5a, 0x61, 0x7a]],
  ["ascii", [0x00, 0x7f]],
  ["blank", [0x09, 0x09, 0x20, 0x20]],
  ["cntrl", [0x00, 0x1f, 0x7f, 0x7f]],
  ["digit", digits],
  ["graph", [0x21, 0x7e]],
  ["lower", [0x61, 0x7a]],
  ["print", [0x20, 0x7e]],
  ["punct", [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e]],
  ["space", [0x09, 0x0d, 0x20, 0x20]],
  ["upper", [0x41, 0x5a]],
  ["word", words],
  ["xdigit", [0x30, 0x39, 0x41, 0x46, 0x61, 0x66]]
])

/** Names that re2js has, as the newest Go does, and RE2 has not. */
const notOfRe2: ReadonlySet<string> = new Set(["Ascii", "Assigned", "Cn", "LC", "Lc"])

const readTable = (name: string): Int32Array | undefined => {
  // The class alone would be compiled as something else if it is few characters.
  const holder: { readonly prog: unknown } = RE2JS.compile(`[\\x{10ffff}\\p{${name}}]`).re2()
  const instructions = Predicate.isRecord(holder.prog) ? holder.prog["inst"] : undefined
  if (!Array.isArray(instructions)) return undefined
  for (const each of instructions) {
    const runes: unknown = Predicate.isRecord(each) ? each["runes"] : undefined
    if (!(runes instanceof Int32Array) || runes.length < 2) continue
    // U+10FFFF is no character of any category or script.
    return runes.slice(0, runes.at(-2) === largest ? -2 : undefined)
  }
  return undefined
}

/** The set of a category or script of Unicode; `undefined`: there is none of this name. */
const unicode = (name: string): Int32Array | undefined => {
  if (name === "Any") return any
  // ★ As in RE2 C is not what is unassigned.
  if (name === "C") return normalized(["Cc", "Cf", "Co", "Cs"].flatMap((each) => Array.from(readTable(each) ?? [])))
  if (!/^[A-Za-z_]+$/.test(name) || notOfRe2.has(name)) return undefined
  try {
    return readTable(name)
  } catch {
    return undefined
  }
}

/** The characters that there are, and which of them are equal but for their case. */
export interface Alphabet {
  readonly largest: number
  /** Most ranges that are gathered for the classes of a pattern. */
  readonly maxRanges: number
  readonly anyButNewLine: Ranges
  /** The set of a category or script; `undefined`: there is none of this name. */
  unicode(name: string): Int32Array | undefined
  /**
   * A set, with all that is equal to one of its characters but for its case.
   *
   * @param count is told how many ranges were looked at
   */
  folded(set: Int32Array, count: (ranges: number) => void): Int32Array
  /** The character, and those that are equal to it but for their case, as a set. */
  foldedCharacter(character: number): Int32Array
  /** One of the characters that are equal to one but for their case, always the same. */
  foldedFirst(character: number): number
  /** Whether two characters are equal but for their case, and no other is. */
  isPairOfCases(one: number, other: number): boolean
}

/** All characters of Unicode. */
export class Unicode implements Alphabet {
  readonly largest = largest
  /** RE2 needs an instruction for each, and often more. */
  readonly maxRanges = 0x20000
  readonly anyButNewLine = anyButNewLine
  readonly folded = folded
  readonly foldedCharacter = foldedCharacter
  readonly foldedFirst = foldedFirst
  readonly isPairOfCases = isPairOfCases
  readonly #tables = new Map<string, Int32Array | undefined>()

  unicode(name: string): Int32Array | undefined {
    if (!this.#tables.has(name)) this.#tables.set(name, unicode(name))
    return this.#tables.get(name)
  }
}

const largestByte = 0xff

/** The other case of a letter of ASCII. */
const otherCase = (character: number): number => {
  const lower = character | 0x20
  return lower >= 0x61 && lower <= 0x7a ? character ^ 0x20 : character
}

/** Bytes, of which only the letters of ASCII have a case. Keeps the sets of the names that there are: one for each alphabet. */
export class Bytes implements Alphabet {
  readonly largest = largestByte
  /** A class has few of them. */
  readonly maxRanges = Infinity
  readonly anyButNewLine = Int32Array.of(0, 0x09, 0x0b, largestByte)
  readonly #tables = new Map<string, Int32Array>()

  unicode(name: string): Int32Array | undefined {
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    const all = unicode(name)
    if (all === undefined) return undefined
    const bounds: Array<number> = []
    for (let at = 0; at < all.length && (all[at] ?? 0) <= largestByte; at += 2) {
      bounds.push(all[at] ?? 0, Math.min(all[at + 1] ?? 0, largestByte))
    }
    const set = Int32Array.from(bounds)
    this.#tables.set(name, set)
    return set
  }

  folded(set: Int32Array): Int32Array {
    const ranges = Array.from(set)
    for (let at = 0; at < set.length; at += 2) {
      const last = Math.min(set[at + 1] ?? 0, 0x7a)
      for (let character = Math.max(set[at] ?? 0, 0x41); character <= last; character++) {
        const other = otherCase(character)
        ranges.push(other, other)
      }
    }
    return normalized(ranges)
  }

  foldedCharacter(character: number): Int32Array {
    const other = otherCase(character)
    return normalized([character, character, other, other])
  }

  foldedFirst(character: number): number {
    return Math.min(character, otherCase(character))
  }

  isPairOfCases(one: number, other: number): boolean {
    return one !== other && otherCase(one) === other
  }
}
