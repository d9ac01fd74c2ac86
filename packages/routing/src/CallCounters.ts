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
  private readonly turns = new Map<string, number>()
  private readonly counts = new Map<string, number>()

  readonly turn = (name: string, start: number): number => {
    const turn = this.turns.get(name) ?? start
    if (!this.turns.has(name) && this.turns.size >= maxTurns) {
      // The oldest picker is the least likely to be in use.
      for (const oldest of this.turns.keys()) {
        this.turns.delete(oldest)
        break
      }
    }
    this.turns.set(name, turn + 1)
    return turn
  }

  readonly count = (name: string): number => this.counts.get(name) ?? 0

  /** One more call under each of these names. */
  readonly hold = (names: ReadonlyArray<string>): void => {
    for (const name of names) this.counts.set(name, this.count(name) + 1)
  }

  /** One call less under each of these names. */
  readonly release = (names: ReadonlyArray<string>): void => {
    for (const name of names) {
      const count = this.count(name) - 1
      if (count > 0) this.counts.set(name, count)
      else this.counts.delete(name)
    }
  }

  /** Names that calls hold now. */
  get held(): number {
    return this.counts.size
  }
}

/** Pickers whose turn is remembered. */
const maxTurns = 10_000
