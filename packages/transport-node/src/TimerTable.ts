/**
 * The deadlines of many, kept by one fiber that sleeps until the earliest. They are rounded up to ticks, so that ten
 * thousand of them cost at most a wake-up for each tick and no timer each.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Alarm from "./Alarm.js"

/**
 * The deadlines, by what they belong to.
 *
 * @since 0.1.0
 */
export interface TimerTable<in A> {
  /** Sets the deadline of an item, in milliseconds of the table's clock, in place of an earlier one. Infinity takes it away. */
  readonly set: (item: A, at: number) => void
  /** How many items have one. */
  readonly size: () => number
}

/**
 * How a table is made.
 *
 * @since 0.1.0
 */
export interface Options<in A> {
  /** Milliseconds that never go back. */
  readonly now: () => number
  /** Milliseconds that deadlines are rounded up to. */
  readonly tick: number
  /** Given all that are due together, the earliest first; their deadlines are gone then. Must not throw. */
  readonly onDue: (items: ReadonlyArray<A>) => void
  /** An item has a deadline that had none, or has none any more. Must not throw. */
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
      // A deadline that was taken away has woken the fiber.
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
        // Always in the future: whoever is due again at once must not keep the fiber from sleeping.
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
