/** Waiting for something to become true in real time, but not for ever. */
import { Clock, Effect } from "effect"

/** Waits until `check` gives something other than `undefined` or `false`. */
export const until = <A>(
  what: string,
  check: () => A | undefined | false,
  seen: () => unknown = () => "",
  limit = 45_000
) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    for (;;) {
      const found = check()
      if (found !== undefined && found !== false) return found
      if ((yield* Clock.currentTimeMillis) - start > limit) {
        return yield* Effect.dieMessage(`waited ${limit} ms for ${what}; instead: ${JSON.stringify(seen())}`)
      }
      yield* Effect.sleep("2 millis")
    }
  })

/** Waits until an assertion holds; after `limit` milliseconds its failure is that of the test. */
export const eventually = <A>(assertion: Effect.Effect<A>, limit = 30_000): Effect.Effect<A> =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    for (;;) {
      const exit = yield* Effect.exit(assertion)
      if (exit._tag === "Success") return exit.value
      if ((yield* Clock.currentTimeMillis) - start > limit) return yield* exit
      yield* Effect.sleep("5 millis")
    }
  })
