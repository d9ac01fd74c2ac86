/**
 * The deadlines of all streams, kept by one fiber that sleeps until the earliest. TimerTable are rounded up to ticks, so
 * that thousands of streams cost at most a hundred wake-ups a second.
 */
import * as Alarm from "@effect-xds/transport/Alarm"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as XdsServerMetrics from "../XdsServerMetrics.js"

/** Milliseconds. */
const tick = 10

/** TimerTable by what they belong to. */
export interface TimerTable<in A> {
  /** Sets or, with Infinity, takes away the deadline. */
  readonly set: (item: A, at: number) => void
}

/** `onDue` is called for all that are due together, and must not throw; their deadlines are gone then. */
export const make = <A>(
  now: () => number,
  onDue: (items: ReadonlyArray<A>) => void
): Effect.Effect<TimerTable<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const deadlines = new Map<A, number>()

    const remove = (item: A): void => {
      if (deadlines.delete(item)) XdsServerMetrics.deadlines.unsafeModify(-1, [])
    }

    const fire = (): void => {
      const time = now()
      const items: Array<A> = []
      let next = Number.POSITIVE_INFINITY
      for (const [item, at] of deadlines) {
        if (at <= time) items.push(item)
        else if (at < next) next = at
      }
      for (const item of items) remove(item)
      alarm.advance(next)
      onDue(items)
    }

    const alarm: Alarm.Alarm = yield* Alarm.make(now, fire)

    return {
      set: (item, at) => {
        if (at === Number.POSITIVE_INFINITY) {
          remove(item)
          return
        }
        // Always in the future: whoever is due again at once must not keep the fiber from sleeping.
        const rounded = Math.ceil(Math.max(at, now() + 1) / tick) * tick
        const before = deadlines.get(item)
        if (before === rounded) return
        if (before === undefined) XdsServerMetrics.deadlines.unsafeModify(1, [])
        deadlines.set(item, rounded)
        alarm.advance(rounded)
      }
    }
  })
