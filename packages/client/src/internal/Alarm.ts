/** One deadline, kept by a fiber that sleeps until it comes. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Timers of Node cannot wait for longer than 24 days; an early wake-up finds nothing to do. */
const longest = 3_600_000

export interface Alarm {
  /** Sets or, with Infinity, takes away the deadline. */
  readonly set: (at: number) => void
}

/** `onDue` must not throw. `now`: milliseconds that never go back. */
export const make = (now: () => number, onDue: () => void): Effect.Effect<Alarm, never, Scope.Scope> =>
  Effect.gen(function* () {
    const changed = Effect.unsafeMakeLatch(false)
    let at = Number.POSITIVE_INFINITY
    const turn = Effect.suspend(() => {
      changed.unsafeClose()
      const wait = at - now()
      if (wait === Number.POSITIVE_INFINITY) return changed.await
      if (wait > 0) return Effect.raceFirst(Effect.sleep(Math.min(wait, longest)), changed.await)
      at = Number.POSITIVE_INFINITY
      return Effect.zipRight(Effect.sync(onDue), Effect.yieldNow())
    })
    yield* Effect.forkScoped(Effect.forever(turn))
    return {
      set: (next) => {
        const isEarlier = next < at
        at = next
        // A later one is found when the fiber wakes up for the earlier one.
        if (isEarlier) changed.unsafeOpen()
      }
    }
  })
