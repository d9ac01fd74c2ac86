/** Looks again at what could not be read for a reason that ends without a change: no event tells that it can be. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The pauses in milliseconds: each is twice the one before. */
const shortest = 1_000
const longest = 30_000

/** What is told of such a file or directory. */
export const later = (detail: string): string => `${detail}; it is tried again`

/**
 * An effect that sees to it that `again` is called for as long as something is `failing`. It returns at once; the pauses
 * are waited for until the scope closes.
 */
export const make = (
  failing: () => boolean,
  again: () => void
): Effect.Effect<Effect.Effect<void>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    let isWaiting = false
    const waiting = Effect.gen(function* () {
      for (let pause = shortest; failing(); pause = Math.min(2 * pause, longest)) {
        yield* Effect.sleep(pause)
        if (failing()) again()
      }
      isWaiting = false
    })
    return Effect.suspend(() => {
      if (isWaiting || !failing()) return Effect.void
      isWaiting = true
      return Effect.forkIn(waiting, scope)
    })
  })
