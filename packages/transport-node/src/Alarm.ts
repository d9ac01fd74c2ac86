/**
 * One deadline, kept by a fiber that sleeps until it. For facades and transports.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Node's timers are limited to 24 days, so the fiber sleeps at most this long and looks again. */
const longest = 3_600_000

/** A sleep that is longer by this many milliseconds shows that the process was paused: stopped, asleep, or busy. */
const pause = 250

/**
 * Milliseconds that a paused process has to read what came meanwhile, before a deadline is due. Timers run before sockets
 * are read: without it, what was answered in time would count as never answered.
 */
const grace = 1_000

/**
 * A deadline, in milliseconds of the alarm's clock.
 *
 * @since 0.1.0
 */
export interface Alarm {
  /** Sets the deadline; Infinity removes it. */
  readonly set: (at: number) => void
  /** Sets the deadline if it is earlier than the present one. */
  readonly advance: (at: number) => void
}

/**
 * An alarm that lives until the scope closes. At the deadline it is removed and `onDue` is called, which must not
 * throw. If the process was paused over the deadline, it is a second late, so that what came meanwhile is read before.
 * `now`: milliseconds of a monotonic clock.
 *
 * @since 0.1.0
 */
export const make = (now: () => number, onDue: () => void): Effect.Effect<Alarm, never, Scope.Scope> =>
  Effect.gen(function* () {
    const changed = Effect.unsafeMakeLatch(false)
    let at = Number.POSITIVE_INFINITY
    const sleep = (duration: number) =>
      Effect.suspend(() => {
        const end = now() + duration
        const rest = Effect.suspend(() => (now() > end + pause ? Effect.sleep(grace) : Effect.void))
        return Effect.zipRight(Effect.sleep(duration), rest)
      })
    const turn = Effect.suspend(() => {
      changed.unsafeClose()
      const wait = at - now()
      if (wait === Number.POSITIVE_INFINITY) return changed.await
      if (wait > 0) return Effect.raceFirst(sleep(Math.min(wait, longest)), changed.await)
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
        // A later deadline is found when the fiber wakes up for the earlier one.
        if (next > at) at = next
        else advance(next)
      },
      advance
    }
  })
