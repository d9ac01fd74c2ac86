/**
 * Where an expression is in a text, and its groups: all ways through the program are followed at once, from the one that is wanted
 * most on, so that a search takes no longer than text times program.
 */
import * as CharacterSets from "./CharacterSets.js"
import * as Programs from "./Program.js"

/** Where a match begins and ends, and so each group; -1: the group is not in it. */
export type Places = ReadonlyArray<number>

/** Ways through a program, from the one that is wanted most on. */
interface Ways {
  readonly instructions: Array<number>
  readonly places: Array<Places>
}

/** Searches of one program. */
export class Search {
  readonly #program: Programs.Program
  /** By instruction: the turn that came to it last. */
  readonly #seen: Int32Array
  #turn = 0
  /** Steps that are left. */
  #left = 0

  constructor(program: Programs.Program) {
    this.#program = program
    this.#seen = new Int32Array(program.instructions.length)
  }

  /** How many steps were left when the last search was over; less than 0: it was given up. */
  get left(): number {
    return this.#left
  }

  /**
   * The first match from a place on, of those that begin there the one that a search with backtracking finds; `undefined`: there is
   * none, or none in so many steps.
   *
   * @param count how many places are of interest: two for the match, and two for each group
   */
  find(text: string, from: number, count: number, steps: number): Places | undefined {
    this.#left = steps
    let current: Ways = { instructions: [], places: [] }
    let next: Ways = { instructions: [], places: [] }
    let found: Places | undefined
    let before = from === 0 ? Programs.edge : Programs.kindOf(text.charCodeAt(from - 1))
    if (this.#turn > 0x70000000) {
      this.#turn = 0
      this.#seen.fill(0)
    }
    this.#turn++
    for (let at = from; this.#left >= 0;) {
      const character = text.codePointAt(at) ?? -1
      const after = character < 0 ? Programs.edge : Programs.kindOf(character)
      // Behind those that began earlier.
      if (found === undefined) this.#add(current, this.#program.start, at, startAt(at, count), before, after)
      if (current.instructions.length === 0 && found !== undefined) break
      const end = at + (character > 0xffff ? 2 : 1)
      const kind = after
      const behind = end < text.length ? Programs.kindOf(text.codePointAt(end) ?? 0) : Programs.edge
      this.#turn++
      for (const [index, instruction] of current.instructions.entries()) {
        const places = current.places[index] ?? []
        const { arg = 0, op = 0, out = 0 } = this.#program.instructions[instruction] ?? {}
        this.#left--
        if (op === Programs.match) {
          found = places.with(1, at)
          break
        }
        if (character < 0 || !CharacterSets.has(this.#program.sets[arg] ?? [], character)) continue
        this.#add(next, out, end, places, kind, behind)
      }
      if (character < 0) break
      at = end
      before = kind
      const last = current
      current = next
      next = last
      next.instructions.length = 0
      next.places.length = 0
    }
    return this.#left < 0 ? undefined : found
  }

  /** Adds all ways from an instruction on, up to those that read a character. */
  #add(ways: Ways, from: number, at: number, places: Places, before: number, after: number): void {
    const seen = this.#seen
    const turn = this.#turn
    const flags = Programs.between(before, after)
    const others: Array<readonly [number, Places]> = []
    let instruction = from
    let current = places
    for (;;) {
      let isOver = seen[instruction] === turn
      if (!isOver) {
        seen[instruction] = turn
        this.#left--
        const { arg = 0, op = 0, out = 0 } = this.#program.instructions[instruction] ?? {}
        if (op === Programs.split) others.push([arg, current])
        else if (op === Programs.capture) {
          if (arg < current.length) current = current.with(arg, at)
        } else if (op === Programs.assertion) isOver = (arg & ~flags) !== 0
        else {
          isOver = true
          if (op !== Programs.fail) {
            ways.instructions.push(instruction)
            ways.places.push(current)
          }
        }
        instruction = out
      }
      if (isOver) {
        const other = others.pop()
        if (other === undefined) return
        instruction = other[0]
        current = other[1]
      }
    }
  }

  /** Whether the whole text is one of the expression. */
  matches(text: string): boolean {
    let current: Ways = { instructions: [], places: [] }
    let next: Ways = { instructions: [], places: [] }
    let before = Programs.edge
    const none: Places = []
    this.#turn++
    for (let at = 0, start = true; ; start = false) {
      const character = text.codePointAt(at) ?? -1
      const kind = character < 0 ? Programs.edge : Programs.kindOf(character)
      if (start) this.#add(current, this.#program.start, at, none, before, kind)
      if (character < 0) {
        return current.instructions.some((each) => this.#program.instructions[each]?.op === Programs.match)
      }
      at += character > 0xffff ? 2 : 1
      const behind = at < text.length ? Programs.kindOf(text.codePointAt(at) ?? 0) : Programs.edge
      this.#turn++
      for (const instruction of current.instructions) {
        const { arg = 0, op = 0, out = 0 } = this.#program.instructions[instruction] ?? {}
        if (op === Programs.match || !CharacterSets.has(this.#program.sets[arg] ?? [], character)) continue
        this.#add(next, out, at, none, kind, behind)
      }
      if (next.instructions.length === 0) return false
      before = kind
      const last = current
      current = next
      next = last
      next.instructions.length = 0
      next.places.length = 0
    }
  }
}

const startAt = (at: number, count: number): Places => {
  const places = new Array<number>(count).fill(-1)
  places[0] = at
  return places
}
