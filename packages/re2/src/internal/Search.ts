/**
 * Where an expression is in a text, and its groups: all ways through the program are followed at once, from the one that is wanted
 * most on, so that a search takes no longer than text times program.
 */
import * as CharacterSets from "./CharacterSets.js"
import * as Programs from "./Program.js"

/** Where a match begins and ends, and so each group; -1: the group is not in it. */
type Places = ReadonlyArray<number>

/** Ways through a program, from the one that is wanted most on. */
class Ways {
  count = 0
  /** What each comes to next, in this place of the text. */
  readonly instructions: Int32Array
  readonly places: Array<Places> = []

  constructor(size: number) {
    this.instructions = new Int32Array(size)
  }

  add(instruction: number, places: Places): void {
    this.instructions[this.count] = instruction
    this.places[this.count++] = places
  }
}

const noPlaces: Places = []

/** Searches of one program. */
export class Search {
  readonly #program: Programs.Program
  /** By instruction: the turn that came to it last. */
  readonly #seen: Int32Array
  #turn = 0
  /** Steps that are left. */
  #left = 0
  #current: Ways
  #next: Ways
  // Ways that are left for later while others are added.
  readonly #others: Array<number> = []
  readonly #placesOfOthers: Array<Places> = []

  constructor(program: Programs.Program) {
    this.#program = program
    const { length } = program.instructions
    this.#seen = new Int32Array(length)
    this.#current = new Ways(length)
    this.#next = new Ways(length)
  }

  /**
   * The first match from a place on, of those that begin there the one that a search with backtracking finds; `undefined`: there is
   * none, or none in so many steps.
   *
   * @param count how many places are of interest: two for the match, and two for each group
   */
  find(text: string, from: number, count: number, steps: number): Places | undefined {
    this.#left = steps
    let found: Places | undefined
    let before = from === 0 ? Programs.edge : Programs.kindOf(text.charCodeAt(from - 1))
    let character = text.codePointAt(from) ?? -1
    let after = kindOfNext(character)
    this.#begin()
    for (let at = from; this.#left >= 0;) {
      // Behind those that began earlier.
      if (found === undefined) this.#add(this.#program.start, at, startAt(at, count), before, after)
      const current = this.#current
      if (current.count === 0 && found !== undefined) break
      const end = at + (character > 0xffff ? 2 : 1)
      const following = text.codePointAt(end) ?? -1
      const kindOfFollowing = kindOfNext(following)
      this.#turnOver()
      for (let way = 0; way < current.count; way++) {
        const places = current.places[way] ?? noPlaces
        const { arg = 0, op = 0, out = 0 } = this.#program.instructions[current.instructions[way] ?? 0] ?? {}
        this.#left--
        if (op === Programs.match) {
          found = places.with(1, at)
          break
        }
        if (character < 0 || !CharacterSets.has(this.#program.sets[arg] ?? noPlaces, character)) continue
        this.#add(out, end, places, after, kindOfFollowing)
      }
      if (character < 0) break
      at = end
      before = after
      after = kindOfFollowing
      character = following
    }
    return this.#left < 0 ? undefined : found
  }

  /** Whether the whole text is one of the expression. */
  matches(text: string): boolean {
    let character = text.codePointAt(0) ?? -1
    let after = kindOfNext(character)
    this.#begin()
    this.#add(this.#program.start, 0, noPlaces, Programs.edge, after)
    for (let at = 0; character >= 0;) {
      const current = this.#current
      at += character > 0xffff ? 2 : 1
      const following = text.codePointAt(at) ?? -1
      const kindOfFollowing = kindOfNext(following)
      this.#turnOver()
      for (let way = 0; way < current.count; way++) {
        const { arg = 0, op = 0, out = 0 } = this.#program.instructions[current.instructions[way] ?? 0] ?? {}
        if (op === Programs.match || !CharacterSets.has(this.#program.sets[arg] ?? noPlaces, character)) continue
        this.#add(out, at, noPlaces, after, kindOfFollowing)
      }
      if (this.#current.count === 0) return false
      after = kindOfFollowing
      character = following
    }
    const { count, instructions } = this.#current
    for (let way = 0; way < count; way++) {
      if (this.#program.instructions[instructions[way] ?? 0]?.op === Programs.match) return true
    }
    return false
  }

  #begin(): void {
    if (this.#turn > 0x70000000) {
      this.#turn = 0
      this.#seen.fill(0)
    }
    this.#turnOver()
  }

  /** Begins with the ways of the next place of the text. */
  #turnOver(): void {
    const last = this.#current
    this.#current = this.#next
    this.#next = last
    this.#current.count = 0
    this.#turn++
  }

  /** Adds all ways from an instruction on, up to those that read a character. */
  #add(from: number, at: number, places: Places, before: number, after: number): void {
    const seen = this.#seen
    const turn = this.#turn
    const others = this.#others
    const ways = this.#current
    let instruction = from
    let current = places
    for (;;) {
      let isOver = seen[instruction] === turn
      if (!isOver) {
        seen[instruction] = turn
        this.#left--
        const { arg = 0, op = 0, out = 0 } = this.#program.instructions[instruction] ?? {}
        if (op >= Programs.characters || op === Programs.match) {
          ways.add(instruction, current)
          isOver = true
        } else if (op === Programs.split) {
          others.push(arg)
          this.#placesOfOthers.push(current)
        } else if (op === Programs.capture) {
          if (arg < current.length) current = current.with(arg, at)
        } else {
          isOver = op === Programs.fail || (arg & ~Programs.between(before, after)) !== 0
        }
        instruction = out
      }
      if (isOver) {
        const other = others.pop()
        if (other === undefined) return
        instruction = other
        current = this.#placesOfOthers.pop() ?? noPlaces
      }
    }
  }
}

/** What assertions see of a character; -1: there is none. */
const kindOfNext = (character: number): number => (character < 0 ? Programs.edge : Programs.kindOf(character))

const startAt = (at: number, count: number): Places => {
  const places = new Array<number>(count).fill(-1)
  places[0] = at
  return places
}
