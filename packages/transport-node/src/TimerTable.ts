/**
 * A table of many deadlines, kept by one fiber that sleeps until the earliest. Deadlines are rounded up to ticks, so
 * that ten thousand of them cost at most one wake-up per tick.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Alarm from "./Alarm.js"

/**
 * A table of deadlines, one per item.
 *
 * @since 0.1.0
 */
export interface TimerTable<in A> {
  /**
   * Sets the deadline of an item, in milliseconds of the table's clock. It replaces an earlier one; Infinity removes
   * it.
   */
  readonly set: (item: A, at: number) => void
  /** The number of items with a deadline. */
  readonly size: () => number
}

/**
 * Options of a table.
 *
 * @since 0.1.0
 */
export interface Options<in A> {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Deadlines are rounded up to multiples of this, in milliseconds. */
  readonly tick: number
  /** Called with all items that are due, the earliest first; their deadlines are removed before. Must not throw. */
  readonly onDue: (items: ReadonlyArray<A>) => void
  /** The number of items with a deadline changed by one. Must not throw. */
  readonly onCount?: ((change: 1 | -1) => void) | undefined
}

/**
 * A table that lives until the scope closes.
 *
 * @since 0.1.0
 */
export const make = <A>({ now, onCount, onDue, tick }: Options<A>): Effect.Effect<TimerTable<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ticks = new Map<A, number>()
    const items = new Map<number, Set<A>>()

    const clear = (item: A, at: number): void => {
      ticks.delete(item)
      const together = items.get(at)
      together?.delete(item)
      if (together?.size === 0) items.delete(at)
    }

    const fire = (): void => {
      const time = now()
      const due: Array<readonly [at: number, together: Set<A>]> = []
      let next = Number.POSITIVE_INFINITY
      for (const [at, together] of items) {
        if (at <= time) due.push([at, together])
        else if (at < next) next = at
      }
      due.sort(([one], [other]) => one - other)
      const all: Array<A> = []
      for (const [at, together] of due) {
        items.delete(at)
        for (const item of together) {
          ticks.delete(item)
          onCount?.(-1)
          all.push(item)
        }
      }
      alarm.advance(next)
      // A removed deadline wakes the fiber with nothing due.
      if (all.length > 0) onDue(all)
    }

    const alarm: Alarm.Alarm = yield* Alarm.make(now, fire)

    return {
      size: () => ticks.size,
      set: (item, at) => {
        const before = ticks.get(item)
        if (at === Number.POSITIVE_INFINITY) {
          if (before === undefined) return
          clear(item, before)
          onCount?.(-1)
          return
        }
        // At least one millisecond ahead: items that are always due must not keep the fiber awake.
        const rounded = Math.ceil(Math.max(at, now() + 1) / tick) * tick
        if (before === rounded) return
        if (before === undefined) onCount?.(1)
        else clear(item, before)
        ticks.set(item, rounded)
        const together = items.get(rounded)
        if (together === undefined) items.set(rounded, new Set([item]))
        else together.add(item)
        alarm.advance(rounded)
      }
    }
  })
