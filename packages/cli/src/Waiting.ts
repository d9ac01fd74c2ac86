/**
 * What a person is told who waits.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as ErrorLine from "./ErrorLine.js"

/**
 * Says on the standard error that a command waits, if it still does after a second. It is no news in a pipe.
 *
 * @since 0.1.0
 */
export const saying = <A, E, R>(what: string, waiting: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  if (!process.stderr.isTTY) return waiting
  const say = Effect.delay(
    Effect.sync(() => ErrorLine.say(`${what} …`)),
    "1 second"
  )
  return Effect.raceFirst(waiting, Effect.zipRight(say, Effect.never))
}
