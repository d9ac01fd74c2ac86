/**
 * Whether a whole text is one of a regular expression, in time that hardly depends on the expression.
 *
 * Where an expression can be in a text is a set of positions: its instructions that have read the last character. A state is
 * such a set, and a character leads from one state to the next, which is looked up once it was computed. States are made as
 * texts need them. Some expressions have a state for almost every text, such as `.*a.{500}`: where there are too many, they
 * are forgotten, and when there are too many again for the same text, its sets are computed one after another. A set is bits,
 * 32 positions in a word, and for most positions the next ones are found with a shift of all of them.
 */
import * as Programs from "./Program.js"

/** Most words of tables that say which positions take a character of a class: beyond that the expression is too large. */
const maxTable = 0x10000

// The bytes of states that are kept: some, more for each position, and at most so many.
const bytesAtLeast = 32_768
const bytesOfPosition = 256
const bytesAtMost = 0x100000
/** A state's own, with its place among the others. */
const bytesOfState = 150

/** How many sets of all positions behind a way are kept. An expression that loops has some that are long to walk. */
const maxReaches = 16

/** How many ways behind a position are looked at for its neighbors. */
const maxWays = 4

/** A set of positions, and what assertions see of the last character. */
class State {
  /** By the class of the next character. */
  readonly next: Array<State | undefined>
  /** Whether a text may end here; `undefined`: nobody asked. */
  accepts: boolean | undefined = undefined
  /** The next one with the same hash. */
  also: State | undefined = undefined

  /** @param words of the set, those that are not zero: its number, and its bits */
  constructor(
    readonly words: ReadonlyArray<number>,
    readonly kind: number,
    classes: number
  ) {
    this.next = new Array<State | undefined>(classes).fill(undefined)
  }
}

const hashOf = (words: ReadonlyArray<number>, kind: number): number => {
  let hash = kind
  for (const word of words) hash = Math.imul(hash ^ word, 0x01000193) ^ (hash >>> 15)
  return hash
}

const areEqual = (one: ReadonlyArray<number>, other: ReadonlyArray<number>): boolean => {
  if (one.length !== other.length) return false
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false
  return true
}

/** An automaton. It keeps states from one text to the next. */
export class Automaton {
  readonly #program: ReadonlyArray<Programs.Instruction>
  readonly #start: number
  readonly #classes: Programs.Classes

  /** By position: its instruction; the first one is before the text, and has none. */
  readonly #instructions: Array<number> = [-1]
  /** By position: the set of characters that it takes. */
  readonly #sets: Array<number> = [-1]
  /** By instruction: its position. */
  readonly #positions: Int32Array

  // Sets of positions: those whose neighbor can come next, those that can come next themselves, those behind which others can.
  readonly #neighbors: Int32Array
  readonly #loops: Int32Array
  readonly #others: Int32Array
  /** By position: the instruction where those others are found. */
  readonly #ways: Array<number> = []
  /** By position: all of its word with the same way. */
  readonly #mates: Array<number> = []
  /** By way: all positions behind it; `undefined`: they are walked to. */
  readonly #reaches = new Map<number, Int32Array | undefined>()
  /** The positions that take the characters of a class. Made when one is met. */
  readonly #takers: Array<Int32Array | undefined>

  /** By instruction: the walk that came to it last. */
  readonly #seen: Int32Array
  #walk = 0
  readonly #stack: Array<number> = []
  #from: Int32Array
  #to: Int32Array

  readonly #states = new Map<number, State>()
  readonly #bytes: number
  #bytesLeft: number
  #first: State
  /** No text goes on from here. */
  readonly #dead: State

  /** @param bytes of states that are kept; default: some, and more for each position */
  constructor({ instructions, start }: Programs.Program, classes: Programs.Classes, bytes?: number) {
    this.#program = instructions
    this.#start = start
    this.#classes = classes
    this.#positions = new Int32Array(instructions.length)
    // The last instruction of a program is the first one of its text.
    for (let at = instructions.length - 1; at >= 0; at--) {
      const { arg = 0, op = 0 } = instructions[at] ?? {}
      if (op < Programs.characters) continue
      this.#positions[at] = this.#instructions.push(at) - 1
      this.#sets.push(arg)
    }
    const words = Math.ceil(this.#instructions.length / 32)
    this.#neighbors = new Int32Array(words)
    this.#loops = new Int32Array(words)
    this.#others = new Int32Array(words)
    this.#takers = new Array<Int32Array | undefined>(classes.count).fill(undefined)
    this.#seen = new Int32Array(instructions.length)
    this.#from = new Int32Array(words)
    this.#to = new Int32Array(words)
    this.#bytes = bytes ?? Math.min(bytesAtMost, bytesAtLeast + bytesOfPosition * this.#instructions.length)
    this.#bytesLeft = this.#bytes
    this.#dead = new State([], Programs.other, 0)
    this.#first = this.#begin()
    this.#lay()
  }

  /** Bytes of the states that are kept, about. */
  get bytes(): number {
    return this.#bytes - this.#bytesLeft
  }

  /** Whether the whole text is one of the expression. */
  matches(text: string): boolean {
    const { ascii } = this.#classes
    const dead = this.#dead
    let state = this.#first
    let isFull = false
    for (let at = 0; at < text.length; at++) {
      const character = text.charCodeAt(at)
      const from = at
      let of: number
      if (character < 0x80) of = ascii[character] ?? 0
      else {
        of = this.#classAt(text, at, character)
        if (isPair(text, at, character)) at++
      }
      let next = state.next[of]
      if (next === undefined) {
        next = this.#follow(state, of)
        if (next === undefined && !isFull) {
          isFull = true
          this.#forget()
          state = this.#stateOf(state.words, state.kind) ?? state
          next = this.#follow(state, of)
        }
        if (next === undefined) return this.#compute(text, from, state)
      }
      if (next === dead) return false
      state = next
    }
    return (state.accepts ??= this.#accepts(state.words, state.kind))
  }

  /** The state before all texts: of the position that has no instruction. */
  #begin(): State {
    return new State([0, 1], Programs.edge, this.#classes.count)
  }

  #forget(): void {
    this.#states.clear()
    this.#bytesLeft = this.#bytes
    this.#first = this.#begin()
  }

  #classAt(text: string, at: number, character: number): number {
    const whole = isPair(text, at, character) ? (text.codePointAt(at) ?? character) : character
    return Programs.classOf(this.#classes, whole)
  }

  /** What assertions see of the characters of a class. */
  #kindOf(of: number): number {
    return this.#classes.kinds?.[of] ?? Programs.other
  }

  /** The instruction behind a position. */
  #outOf(position: number): number {
    return this.#program[this.#instructions[position] ?? -1]?.out ?? this.#start
  }

  /** What position comes behind which. */
  #lay(): void {
    const ways = new Set<number>()
    for (let position = 0; position < this.#instructions.length; position++) {
      const out = this.#outOf(position)
      if (this.#positions[out] === position + 1) {
        // Mostly it is the one behind.
        mark(this.#neighbors, position + 1)
        this.#ways.push(-1)
        continue
      }
      ways.clear()
      this.#look(out, position, maxWays, ways)
      const [way = -1] = ways
      this.#ways.push(ways.size > 1 ? out : way)
      if (ways.size > 0) mark(this.#others, position)
    }
    const mates = new Map<number, number>()
    for (let first = 0; first < this.#ways.length; first += 32) {
      const ofWord = this.#ways.slice(first, first + 32)
      mates.clear()
      if ((this.#others[first >>> 5] ?? 0) === 0) {
        for (let bit = 0; bit < ofWord.length; bit++) this.#mates.push(0)
        continue
      }
      for (const [bit, way] of ofWord.entries()) mates.set(way, (mates.get(way) ?? 0) | (1 << bit))
      for (const way of ofWord) this.#mates.push(mates.get(way) ?? 0)
    }
  }

  /** Marks a position if it, or its neighbor, comes behind it, and gathers the ways to all others. */
  #look(from: number, position: number, depth: number, ways: Set<number>): void {
    let at = from
    for (;;) {
      const { arg = 0, op = 0, out = 0 } = this.#program[at] ?? {}
      if (op >= Programs.characters) {
        const found = this.#positions[at] ?? 0
        if (found === position + 1) mark(this.#neighbors, found)
        else if (found === position) mark(this.#loops, found)
        else ways.add(at)
        return
      } else if (op === Programs.capture) {
        at = out
      } else if (op === Programs.split) {
        if (depth-- === 0) {
          ways.add(at)
          return
        }
        this.#look(out, position, depth, ways)
        at = arg
      } else {
        // An assertion is looked at when it is known what is there. The end of the expression is no position.
        if (op === Programs.assertion) ways.add(at)
        return
      }
    }
  }

  /** The state that a character of a class leads to; `undefined`: there is no room for it. */
  #follow(state: State, of: number): State | undefined {
    const from = this.#from
    from.fill(0)
    const { words } = state
    for (let at = 0; at < words.length; at += 2) from[words[at] ?? 0] = words[at + 1] ?? 0
    this.#step(of, state.kind)
    const packed = pack(this.#to)
    if (packed.length === 0) return (state.next[of] = this.#dead)
    const next = this.#stateOf(packed, this.#kindOf(of))
    if (next !== undefined) state.next[of] = next
    return next
  }

  /** The state of a set; `undefined`: there is no room for it. */
  #stateOf(words: ReadonlyArray<number>, kind: number): State | undefined {
    const hash = hashOf(words, kind)
    const first = this.#states.get(hash)
    for (let found = first; found !== undefined; found = found.also) {
      if (found.kind === kind && areEqual(found.words, words)) return found
    }
    const { count } = this.#classes
    const bytes = bytesOfState + 8 * (words.length + count)
    if (bytes > this.#bytesLeft) return undefined
    this.#bytesLeft -= bytes
    // A copy: what was filled one by one has room for more.
    const made = new State(words.slice(), kind, count)
    made.also = first
    this.#states.set(hash, made)
    return made
  }

  /** Makes `to` the positions that are next, after those of `from`, with a character of a class. */
  #step(of: number, before: number): void {
    const from = this.#from
    const to = this.#to
    const neighbors = this.#neighbors
    const loops = this.#loops
    const others = this.#others
    const takers = (this.#takers[of] ??= this.#takersOf(of))
    const flags = Programs.between(before, this.#kindOf(of))
    let carry = 0
    let hasOthers = 0
    for (let word = 0; word < from.length; word++) {
      const bits = from[word] ?? 0
      to[word] = (((bits << 1) | carry) & (neighbors[word] ?? 0)) | (bits & (loops[word] ?? 0))
      hasOthers |= bits & (others[word] ?? 0)
      carry = bits >>> 31
    }
    if (hasOthers !== 0) {
      this.#turn()
      let isFirst = true
      for (let word = 0; word < from.length; word++) {
        for (let left = (from[word] ?? 0) & (others[word] ?? 0); left !== 0;) {
          const position = word * 32 + 31 - Math.clz32(left)
          left &= ~(this.#mates[position] ?? 0)
          const way = this.#ways[position] ?? 0
          if (isFirst) this.#reach(way)
          isFirst = false
          this.#walkFrom(way, flags)
        }
      }
    }
    for (let word = 0; word < to.length; word++) to[word] = (to[word] ?? 0) & (takers[word] ?? 0)
  }

  /** Puts all positions behind a way into `to`, as if they had been walked to, if they are known. */
  #reach(way: number): void {
    let reached = this.#reaches.get(way)
    if (reached === undefined && this.#reaches.size < maxReaches && !this.#reaches.has(way)) {
      reached = this.#reachOf(way)
      this.#reaches.set(way, reached)
    }
    if (reached === undefined) return
    this.#seen[way] = this.#walk
    const to = this.#to
    for (let word = 0; word < to.length; word++) to[word] = (to[word] ?? 0) | (reached[word] ?? 0)
  }

  /** All positions behind a way; `undefined`: an assertion is on it, or to walk is no more work. */
  #reachOf(way: number): Int32Array | undefined {
    const reached = new Int32Array(this.#to.length)
    const seen = new Set([way])
    for (const at of seen) {
      const { arg = 0, op = 0, out = 0 } = this.#program[at] ?? {}
      if (op === Programs.assertion) return undefined
      if (op >= Programs.characters) mark(reached, this.#positions[at] ?? 0)
      else seen.add(out)
      if (op === Programs.split) seen.add(arg)
    }
    return seen.size > reached.length ? reached : undefined
  }

  #takersOf(of: number): Int32Array {
    const takers = new Int32Array(this.#from.length)
    const members = this.#classes.members[of] ?? this.#from
    for (let position = 1; position < this.#sets.length; position++) {
      if (Programs.isIn(members, this.#sets[position])) mark(takers, position)
    }
    return takers
  }

  /** Begins a walk that comes to each instruction once. */
  #turn(): void {
    if (this.#walk === 0x7fffffff) {
      this.#walk = 0
      this.#seen.fill(0)
    }
    this.#walk++
  }

  /** Puts all positions behind a way into `to`, where this walk has not been. Whether the end of the expression is behind it. */
  #walkFrom(way: number, flags: number): boolean {
    const seen = this.#seen
    const stack = this.#stack
    let isEnd = false
    for (let next: number | undefined = way; next !== undefined; next = stack.pop()) {
      let at = next
      while (seen[at] !== this.#walk) {
        seen[at] = this.#walk
        const { arg = 0, op = 0, out = 0 } = this.#program[at] ?? {}
        if (op >= Programs.characters) {
          mark(this.#to, this.#positions[at] ?? 0)
          break
        }
        if (op === Programs.split) stack.push(arg)
        else if (op === Programs.match) isEnd = true
        else if (op === Programs.assertion && (arg & ~flags) !== 0) break
        at = out
      }
    }
    return isEnd
  }

  /** Whether a text may end at a set. */
  #accepts(words: ReadonlyArray<number>, kind: number): boolean {
    const flags = Programs.between(kind, Programs.edge)
    this.#turn()
    for (let at = 0; at < words.length; at += 2) {
      for (let left = words[at + 1] ?? 0; left !== 0;) {
        const bit = 31 - Math.clz32(left)
        left ^= 1 << bit
        if (this.#walkFrom(this.#outOf((words[at] ?? 0) * 32 + bit), flags)) return true
      }
    }
    return false
  }

  /** The rest of a text, without states. */
  #compute(text: string, start: number, { kind, words }: State): boolean {
    this.#from.fill(0)
    for (let at = 0; at < words.length; at += 2) this.#from[words[at] ?? 0] = words[at + 1] ?? 0
    let before = kind
    for (let at = start; at < text.length; at++) {
      const character = text.charCodeAt(at)
      const of = this.#classAt(text, at, character)
      if (isPair(text, at, character)) at++
      this.#step(of, before)
      before = this.#kindOf(of)
      const to = this.#to
      this.#to = this.#from
      this.#from = to
      if (to.every((bits) => bits === 0)) return false
    }
    return this.#accepts(pack(this.#from), before)
  }
}

/** The words of a set that are not zero: the number of each, and its bits. */
const pack = (set: Int32Array): ReadonlyArray<number> => {
  const words: Array<number> = []
  for (let word = 0; word < set.length; word++) {
    const bits = set[word] ?? 0
    if (bits !== 0) words.push(word, bits)
  }
  return words
}

const mark = (set: Int32Array, position: number): void => {
  set[position >>> 5] = (set[position >>> 5] ?? 0) | (1 << position)
}

/** Whether two halves of a character are here; one alone is a character of its own. */
const isPair = (text: string, at: number, character: number): boolean =>
  (character & 0xfc00) === 0xd800 && at + 1 < text.length && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00

/** The automaton of a program; `undefined`: it is too large for one. */
export const make = (program: Programs.Program): Automaton | undefined => {
  const classes = Programs.classesOf(program)
  if (classes === undefined) return undefined
  const words = Math.ceil(program.instructions.length / 32)
  return words * classes.count > maxTable ? undefined : new Automaton(program, classes)
}
