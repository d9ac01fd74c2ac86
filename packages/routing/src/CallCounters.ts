/**
 * What is counted while calls go on: whose turn it is, and how many calls hold a name. Owned by who makes the calls; the
 * counters of circuit breakers are to be shared by all channels of a process.
 *
 * @since 0.1.0
 */
import type { Counters } from "./Picker.js"

/**
 * Counters.
 *
 * @since 0.1.0
 */
export class CallCounters implements Counters {
  private readonly turns = new Map<string, Cell>()
  private readonly counts = new Map<string, Cell>()
  /** Names that no call holds, of those in `counts`. */
  private free = 0

  readonly turn = (name: string, start: number): number => {
    const cell = this.turns.get(name)
    if (cell !== undefined) return cell.value++
    if (this.turns.size >= maxTurns) {
      // The oldest picker is the least likely to be in use.
      for (const oldest of this.turns.keys()) {
        this.turns.delete(oldest)
        break
      }
    }
    this.turns.set(name, { value: start + 1 })
    return start
  }

  readonly count = (name: string): number => this.counts.get(name)?.value ?? 0

  /** One more call under each of these names. */
  readonly hold = (names: ReadonlyArray<string>): void => {
    for (const name of names) {
      const cell = this.counts.get(name)
      if (cell === undefined) this.counts.set(name, { value: 1 })
      else if (cell.value++ === 0) this.free--
    }
  }

  /** One call less under each of these names. */
  readonly release = (names: ReadonlyArray<string>): void => {
    for (const name of names) {
      const cell = this.counts.get(name)
      if (cell === undefined || cell.value === 0) continue
      if (--cell.value === 0) this.free++
    }
    if (this.free <= maxFree) return
    for (const [name, { value }] of this.counts) if (value === 0) this.counts.delete(name)
    this.free = 0
  }

  /** Names that are kept: those that calls hold, and a thousand others at most. */
  get size(): number {
    return this.counts.size
  }

  /** Names that calls hold now. */
  get held(): number {
    return this.counts.size - this.free
  }
}

/** Changed in its place: a number in a map is looked up twice, and one that goes and comes again moves all of it. */
interface Cell {
  value: number
}

/** Names that no call holds and that are kept for the next call. */
const maxFree = 1_000

/** Pickers whose turn is remembered. */
const maxTurns = 10_000
