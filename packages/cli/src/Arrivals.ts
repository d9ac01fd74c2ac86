/**
 * Who waits for a group to be there: clients that are served another one until then.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

/**
 * Who waits, and for which group.
 *
 * @since 0.1.0
 */
export interface Arrivals {
  /** Runs the effect when there is a group of that name. */
  readonly follow: <A, E>(group: string, then: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Tells of groups that were not there. Over when all who waited for them have run, or after a second: one may hang. */
  readonly tell: (groups: ReadonlyArray<string>) => Effect.Effect<void>
  /** How many wait. */
  readonly waiting: () => number
}

/** Those that are told before others may run. */
const atOnce = 256

const longest = "1 second"

const othersTurn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

/**
 * Nobody waits.
 *
 * @param isThere whether there is a group of that name
 * @since 0.1.0
 */
export const make = (isThere: (group: string) => boolean): Arrivals => {
  const waiting = new Map<string, Set<() => void>>()
  let count = 0
  let running = 0
  let rest = Deferred.unsafeMake<void>(FiberId.none)

  const arrival = (group: string, onArrival: () => void): Effect.Effect<void> =>
    Effect.async((resume) => {
      const goOn = (): void => {
        onArrival()
        resume(Effect.void)
      }
      if (isThere(group)) return goOn()
      const those = waiting.get(group) ?? new Set()
      waiting.set(group, those.add(goOn))
      count++
      return Effect.sync(() => {
        if (!those.delete(goOn)) return
        count--
        if (those.size === 0 && waiting.get(group) === those) waiting.delete(group)
      })
    })

  return {
    follow: (group, then) =>
      Effect.suspend(() => {
        let isRunning = false
        const begin = (): void => {
          isRunning = true
          running++
        }
        const end = Effect.sync(() => {
          if (isRunning && --running === 0) Deferred.unsafeDone(rest, Effect.void)
        })
        return Effect.ensuring(Effect.zipRight(arrival(group, begin), then), end)
      }),
    tell: (groups) =>
      Effect.gen(function* () {
        rest = Deferred.unsafeMake(FiberId.none)
        let told = 0
        for (const group of groups) {
          const those = waiting.get(group) ?? new Set()
          for (const goOn of those) {
            those.delete(goOn)
            count--
            goOn()
            if (++told % atOnce === 0) yield* othersTurn
          }
          waiting.delete(group)
        }
        if (running > 0) yield* Effect.timeoutOption(Deferred.await(rest), longest)
        // What they do then is done.
        if (told > 0) yield* othersTurn
      }),
    waiting: () => count
  }
}
