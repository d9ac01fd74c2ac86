/**
 * One deadline, kept by a fiber that sleeps until it comes. For facades and transports.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Timers of Node cannot wait for longer than 24 days; an early wake-up finds nothing to do. */
const longest = 3_600_000

/**
 * A deadline, in milliseconds of the alarm's clock.
 *
 * @since 0.1.0
 */
export interface Alarm {
  /** Sets or, with Infinity, takes away the deadline. */
  readonly set: (at: number) => void
  /** Sets the deadline if it is earlier than what is set. */
  readonly advance: (at: number) => void
}

/**
 * An alarm that lives until the scope closes. When the deadline has come it is gone, and `onDue` is called, which must not
 * throw. `now`: milliseconds that never go back.
 *
 * @since 0.1.0
 */
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
      return Effect.sync(onDue)
    })
    yield* Effect.forkScoped(Effect.forever(turn))
    const advance = (next: number): void => {
      if (next >= at) return
      at = next
      changed.unsafeOpen()
    }
    return {
      set: (next) => {
        // A later one is found when the fiber wakes up for the earlier one.
        if (next > at) at = next
        else advance(next)
      },
      advance
    }
  })
