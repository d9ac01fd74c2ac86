/**
 * What a regular expression is compiled to, as an automaton needs it: instructions, and classes of characters that no
 * instruction tells apart.
 */
import * as Predicate from "effect/Predicate"
import { RE2JS } from "re2js"

// What instructions of re2js do, as numbers of one version of it. Behind a `split` both ways are taken; `assertion`, `capture` and `nothing` read no character.
export const split = 1
export const splitAtMatch = 2
export const capture = 3
export const assertion = 4
export const match = 6
export const nothing = 7
/** Instructions from here on read a character. */
export const characters = 8
const anyCharacter = 10
const anyButNewLine = 11
const foldCase = 1

/** What an assertion asks for, as bits of its argument. */
export const beginLine = 1
export const endLine = 2
export const beginText = 4
export const endText = 8
export const wordBoundary = 16
export const noWordBoundary = 32

/** What assertions see of a character. Before a text, and behind it, is an `edge`. */
export const other = 0
export const word = 1
export const newLine = 2
export const edge = 3

const largest = 0x10ffff
const wordCharacters = Int32Array.of(0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a)
const newLines = Int32Array.of(0x0a, 0x0a)

/** Most words of tables of classes, 32 sets each: to find more classes takes longer than they are worth. */
const maxWork = 0x10000

/** What instructions do, and which one comes next. */
export interface Instruction {
  readonly op: number
  readonly out: number
  /** The other way of a `split`; what an assertion asks for. */
  readonly arg: number
  readonly runes: Int32Array
}

const isInstruction = (value: unknown): value is Instruction =>
  Predicate.isRecord(value) &&
  value["runes"] instanceof Int32Array &&
  Number.isInteger(value["op"]) &&
  Number.isInteger(value["out"]) &&
  Number.isInteger(value["arg"])

/** The instructions of an expression, and where they begin. */
export interface Program {
  readonly start: number
  readonly instructions: ReadonlyArray<Instruction>
  /** By instruction that reads a character: the number of the set that the character must be in. */
  readonly sets: ReadonlyArray<number>
  readonly classes: Classes
}

/** Classes of characters. */
export interface Classes {
  readonly count: number
  /** The class of each character of ASCII. */
  readonly ascii: ReadonlyArray<number>
  /** Where ranges begin, in order, and the class of each. */
  readonly starts: ReadonlyArray<number>
  readonly ofStarts: ReadonlyArray<number>
  /** The sets that a class is in, as bits. */
  readonly members: ReadonlyArray<Int32Array>
  /** What assertions see of the characters of a class; `undefined`: no assertion looks at characters. */
  readonly kinds: Uint8Array | undefined
}

const read = (compiled: RE2JS): Pick<Program, "instructions" | "start"> | undefined => {
  const holder: { readonly prog: unknown } = compiled.re2()
  const { prog } = holder
  if (!Predicate.isRecord(prog)) return undefined
  const { inst, start } = prog
  if (!Array.isArray(inst) || typeof start !== "number") return undefined
  return inst.every(isInstruction) ? { start, instructions: inst } : undefined
}

/** What is equal to a letter of ASCII but for its case, and not of ASCII: K of Kelvin, and the long s. */
const kelvin = 0x212a
const longS = 0x17f

/** The ranges of a character and of all that are equal to it but for their case. */
const folded = (character: number): Int32Array => {
  const lower = character | 0x20
  if (lower >= 0x61 && lower <= 0x7a) {
    const upper = lower & ~0x20
    if (lower === 0x6b) return Int32Array.of(upper, upper, lower, lower, kelvin, kelvin)
    if (lower === 0x73) return Int32Array.of(upper, upper, lower, lower, longS, longS)
    return Int32Array.of(upper, upper, lower, lower)
  }
  // With another character it is no pair of letters, which would be compiled as one of them again.
  const program = read(RE2JS.compile(`(?i)[\\x{0}\\x{${character.toString(16)}}]`))
  return (
    program?.instructions.find(({ op }) => op === characters)?.runes.slice(2) ?? Int32Array.of(character, character)
  )
}

/** The first and the last character of each range that an instruction takes. */
const rangesOf = ({ arg, op, runes }: Instruction): Int32Array => {
  if (op === anyCharacter) return Int32Array.of(0, largest)
  if (op === anyButNewLine) return Int32Array.of(0, 0x09, 0x0b, largest)
  const [only] = runes
  if (runes.length !== 1 || only === undefined) return runes
  return (arg & foldCase) === 0 ? Int32Array.of(only, only) : folded(only)
}

/** Whether both take the same characters. */
const areAlike = (one: Instruction, other: Instruction): boolean => {
  const length = one.runes.length
  if (one.op !== other.op || length !== other.runes.length || ((one.arg ^ other.arg) & foldCase) !== 0) return false
  for (let at = 0; at < length; at++) if (one.runes[at] !== other.runes[at]) return false
  return true
}

/** The program of an expression; `undefined`: it has what is not known here, or too much. */
export const make = (compiled: RE2JS): Program | undefined => {
  const program = read(compiled)
  if (program === undefined) return undefined
  const { instructions } = program
  const sets: Array<number> = []
  const ranges: Array<Int32Array> = []
  /** By a number that those with equal sets have in common: one instruction of each set, and the next such. */
  const known = new Map<number, Array<number>>()
  let asked = 0
  for (const [at, instruction] of instructions.entries()) {
    const { arg, op, runes } = instruction
    if (op > anyButNewLine) return undefined
    if (op === assertion) asked |= arg
    sets.push(-1)
    if (op < characters) continue
    const key = (runes[0] ?? 0) * 0x1000 + runes.length
    const alike = known.get(key)
    const found = alike?.find((other) => areAlike(instructions[other] ?? instruction, instruction))
    sets[at] = found === undefined ? ranges.push(rangesOf(instruction)) - 1 : (sets[found] ?? -1)
    if (alike === undefined) known.set(key, [at])
    else if (found === undefined) alike.push(at)
  }
  const words = (asked & (wordBoundary | noWordBoundary)) === 0 ? undefined : ranges.push(wordCharacters) - 1
  const lines = (asked & (beginLine | endLine)) === 0 ? undefined : ranges.push(newLines) - 1
  const classes = classesOf(ranges, words, lines)
  return classes === undefined ? undefined : { ...program, sets, classes }
}

const classesOf = (
  sets: ReadonlyArray<Int32Array>,
  words: number | undefined,
  lines: number | undefined
): Classes | undefined => {
  const current = new Int32Array(Math.ceil(sets.length / 32))
  const size = sets.reduce((sum, { length }) => sum + length, 0)
  if ((size + 1) * current.length > maxWork || size > maxWork) return undefined
  /** Characters that a set begins with, and those behind its ranges, each with its set. */
  const changes = new Float64Array(size)
  let length = 0
  for (const [set, ranges] of sets.entries()) {
    for (const [at, character] of ranges.entries()) changes[length++] = (character + (at & 1)) * sets.length + set
  }
  changes.sort()
  const starts: Array<number> = []
  const ofStarts: Array<number> = []
  const members: Array<Int32Array> = []
  const known = new Map<number | string, number>()
  for (let at = 0, start = 0; start <= largest;) {
    for (; at < length && (changes[at] ?? 0) < (start + 1) * sets.length; at++) {
      const set = (changes[at] ?? 0) - start * sets.length
      current[set >>> 5] = (current[set >>> 5] ?? 0) ^ (1 << set)
    }
    const key = current.length === 1 ? (current[0] ?? 0) : current.join(" ")
    const found = known.get(key) ?? members.length
    if (found === members.length) {
      known.set(key, found)
      members.push(current.slice())
    }
    starts.push(start)
    ofStarts.push(found)
    start = at < length ? Math.floor((changes[at] ?? 0) / sets.length) : largest + 1
  }
  const ascii: Array<number> = []
  for (let character = 0, at = 0; character < 0x80; character++) {
    if (starts[at + 1] === character) at++
    ascii.push(ofStarts[at] ?? 0)
  }
  const kinds =
    words === undefined && lines === undefined
      ? undefined
      : Uint8Array.from(members, (of) => (isIn(of, words) ? word : isIn(of, lines) ? newLine : other))
  return { count: members.length, ascii, starts, ofStarts, members, kinds }
}

/** Whether what is in these sets, as bits, is in this one. */
export const isIn = (sets: Int32Array, set: number | undefined): boolean =>
  set !== undefined && ((sets[set >>> 5] ?? 0) & (1 << set)) !== 0

/** The class of a character that is not of ASCII. */
export const classOf = ({ ofStarts, starts }: Classes, character: number): number => {
  let low = 0
  let high = starts.length
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((starts[middle] ?? 0) <= character) low = middle
    else high = middle
  }
  return ofStarts[low] ?? 0
}
