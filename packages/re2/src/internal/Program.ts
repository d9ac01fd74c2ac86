/**
 * What a regular expression is compiled to, as an automaton needs it: instructions, and classes of characters that no
 * instruction tells apart.
 */
import * as CharacterSets from "./CharacterSets.js"
import * as Syntax from "./Syntax.js"

// What instructions do. Of a `split` the first way is the one that is wanted more; `assertion` and `capture` read no character.
export const split = 1
export const capture = 2
export const assertion = 3
export const match = 4
/** No text goes on. */
export const fail = 5
/** Instructions from here on read a character. */
export const characters = 6

// What assertions see of a character. Before a text, and behind it, is an `edge`.
export const other = 0
const word = 1
const newLine = 2
export const edge = 3

/** Most words of tables of classes, 32 sets each: to find more classes takes longer than they are worth. */
const maxWork = 0x10000

/** What instructions do, and which one comes next. */
export interface Instruction {
  readonly op: number
  readonly out: number
  /** The other way of a `split`; what an assertion asks for; the place of a `capture`; the set of `characters`. */
  readonly arg: number
}

/** The instructions of an expression, the last one first, and where they begin. */
export interface Program {
  readonly start: number
  readonly instructions: ReadonlyArray<Instruction>
  readonly sets: ReadonlyArray<CharacterSets.Ranges>
}

/** Whether a part may be no character. */
const isNullable = (node: Syntax.Node): boolean => {
  switch (node.op) {
    case Syntax.empty:
    case Syntax.assertion:
      return true
    case Syntax.repeat:
      return node.least === 0 || node.subs.every(isNullable)
    case Syntax.group:
    case Syntax.sequence:
      return node.subs.every(isNullable)
    case Syntax.alternatives:
      return node.subs.some(isNullable)
    default:
      return false
  }
}

/** How many instructions a part has. */
export const sizeOf = (node: Syntax.Node): number => {
  if (node.op === Syntax.literal) return node.text.length
  if (node.op <= Syntax.never || node.op === Syntax.assertion) return 1
  let size = 0
  for (const sub of node.subs) size += sizeOf(sub)
  if (node.op === Syntax.group) return size + 2
  if (node.op === Syntax.alternatives) return size + node.subs.length - 1
  if (node.op !== Syntax.repeat) return size
  if (node.most < 0) return Math.max(1, node.least) * size + 2
  return node.most * (size + 1) - node.least
}

class Compiler {
  readonly #instructions: Array<{ op: number; out: number; arg: number }> = [{ op: fail, out: 0, arg: 0 }]
  readonly #sets: Array<CharacterSets.Ranges> = []
  /** By character, and whether it is one in any case. */
  readonly #ofCharacters = new Map<number, number>()
  readonly #ofSets = new Map<CharacterSets.Ranges | string, number>()

  compile(root: Syntax.Node): Program {
    const start = this.#before(root, this.#emit(match, 0, 0))
    return { start, instructions: this.#instructions, sets: this.#sets }
  }

  #emit(op: number, out: number, arg: number): number {
    return this.#instructions.push({ op, out, arg }) - 1
  }

  #split(out: number, arg: number, isLazy: boolean): number {
    return isLazy ? this.#emit(split, arg, out) : this.#emit(split, out, arg)
  }

  /** Puts a part before an instruction. Where it begins. */
  #before(node: Syntax.Node, next: number): number {
    const { subs } = node
    switch (node.op) {
      case Syntax.literal: {
        let at = next
        for (let of = node.text.length - 1; of >= 0; of--) {
          at = this.#emit(characters, at, this.#setOfCharacter(node.text[of] ?? 0, node.fold))
        }
        return at
      }
      case Syntax.characters:
        return this.#emit(characters, next, this.#setOf(node.set))
      case Syntax.any:
        return this.#emit(characters, next, this.#setOf(CharacterSets.any))
      case Syntax.empty:
        return next
      case Syntax.assertion:
        return this.#emit(assertion, next, node.arg)
      case Syntax.group: {
        let at = this.#emit(capture, next, 2 * node.arg + 1)
        for (const sub of subs) at = this.#before(sub, at)
        return this.#emit(capture, at, 2 * node.arg)
      }
      case Syntax.repeat: {
        const [sub] = subs
        return sub === undefined || sub.op === Syntax.empty ? next : this.#repeated(node, sub, next)
      }
      case Syntax.sequence: {
        let at = next
        for (let of = subs.length - 1; of >= 0; of--) {
          const sub = subs[of]
          if (sub !== undefined) at = this.#before(sub, at)
        }
        return at
      }
      case Syntax.alternatives: {
        const starts: Array<number> = []
        for (let of = subs.length - 1; of >= 0; of--) {
          const sub = subs[of]
          if (sub !== undefined) starts.push(this.#before(sub, next))
        }
        const [last = 0, ...others] = starts
        return others.reduce((rest, start) => this.#emit(split, start, rest), last)
      }
      default:
        return 0
    }
  }

  #repeated({ isLazy, least, most }: Syntax.Node, sub: Syntax.Node, next: number): number {
    let at = next
    let times = least
    if (most < 0) {
      at = this.#loop(sub, next, isLazy, least === 0)
      times = Math.max(0, least - 1)
    }
    for (let more = least; more < most; more++) at = this.#split(this.#before(sub, at), next, isLazy)
    while (times-- > 0) at = this.#before(sub, at)
    return at
  }

  /** A part once or more, or not at all. */
  #loop(sub: Syntax.Node, next: number, isLazy: boolean, isOptional: boolean): number {
    const loop = this.#split(0, next, isLazy)
    const start = this.#before(sub, loop)
    const instruction = this.#instructions[loop]
    if (instruction !== undefined) {
      if (isLazy) instruction.arg = start
      else instruction.out = start
    }
    if (!isOptional) return start
    // ★ What may be empty is once or more, or not at all: as RE2 has it, it is empty before it is not there.
    return isNullable(sub) ? this.#split(start, next, isLazy) : loop
  }

  #setOfCharacter(character: number, fold: boolean): number {
    const key = 2 * character + (fold ? 1 : 0)
    const known = this.#ofCharacters.get(key)
    if (known !== undefined) return known
    const set = this.#setOf(fold ? CharacterSets.foldedCharacter(character) : [character, character])
    this.#ofCharacters.set(key, set)
    return set
  }

  #setOf(set: CharacterSets.Ranges): number {
    const known = this.#ofSets.get(set)
    if (known !== undefined) return known
    const text = set.join(" ")
    const found = this.#ofSets.get(text) ?? this.#sets.push(set) - 1
    this.#ofSets.set(set, found)
    this.#ofSets.set(text, found)
    return found
  }
}

/** The program of an expression. */
export const make = (root: Syntax.Node): Program => new Compiler().compile(root)

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

/** The classes of characters of a program; `undefined`: there are too many. */
export const classesOf = (program: Program): Classes | undefined => {
  let asked = 0
  for (const { arg, op } of program.instructions) if (op === assertion) asked |= arg
  const sets = program.sets.slice()
  const words =
    (asked & (Syntax.wordBoundary | Syntax.noWordBoundary)) === 0
      ? undefined
      : sets.push(CharacterSets.wordCharacters) - 1
  const lines = (asked & (Syntax.beginLine | Syntax.endLine)) === 0 ? undefined : sets.push(CharacterSets.newLines) - 1
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
  for (let at = 0, start = 0; start <= CharacterSets.largest;) {
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
    start = at < length ? Math.floor((changes[at] ?? 0) / sets.length) : CharacterSets.largest + 1
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

/** What assertions see of a character. */
export const kindOf = (character: number): number =>
  CharacterSets.has(CharacterSets.wordCharacters, character) ? word : character === 0x0a ? newLine : other

/** What is so between two characters, as bits of an assertion. */
export const between = (before: number, after: number): number =>
  (before === edge ? Syntax.beginText : 0) |
  (before === edge || before === newLine ? Syntax.beginLine : 0) |
  (after === edge ? Syntax.endText : 0) |
  (after === edge || after === newLine ? Syntax.endLine : 0) |
  ((before === word) === (after === word) ? Syntax.noWordBoundary : Syntax.wordBoundary)
