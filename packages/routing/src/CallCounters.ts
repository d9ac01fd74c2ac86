/**
 * What is counted while calls go on: how many calls hold a name. Owned by who makes the calls; the counters of circuit
 * breakers are to be shared by all channels of a process.
 *
 * @since 0.1.0
 */
import type { Compiled } from "./CompiledPicker.js"
import type { Counter, Counters } from "./Picker.js"

/**
 * Counters.
 *
 * @since 0.1.0
 */
export class CallCounters implements Counters {
  readonly compiled: Compiled = new WeakMap()
  private readonly counts = new Map<string, Cell>()
  /** Names that no call holds, of those in `counts`. */
  private free = 0

  readonly calls = (name: string): Counter => {
    const known = this.counts.get(name)
    if (known !== undefined) return known
    this.forget()
    const cell = { value: 0, isForgotten: false }
    this.counts.set(name, cell)
    this.free++
    return cell
  }

  readonly count = (name: string): number => this.counts.get(name)?.value ?? 0

  /** One more call under each of these names. */
  readonly hold = (names: ReadonlyArray<string>): void => {
    for (const name of names) {
      const cell = this.counts.get(name)
      if (cell === undefined) this.counts.set(name, { value: 1, isForgotten: false })
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
    this.forget()
  }

  /** Names that are kept: those that calls hold, and a thousand others at most. */
  get size(): number {
    return this.counts.size
  }

  /** Names that calls hold now. */
  get held(): number {
    return this.counts.size - this.free
  }

  private forget(): void {
    if (this.free <= maxFree) return
    for (const [name, cell] of this.counts) {
      if (cell.value > 0) continue
      cell.isForgotten = true
      this.counts.delete(name)
    }
    this.free = 0
  }
}

/** Changed in its place: a number in a map is looked up twice, and one that goes and comes again moves all of it. */
interface Cell {
  value: number
  isForgotten: boolean
}

/** Names that no call holds and that are kept for the next call. */
const maxFree = 1_000
