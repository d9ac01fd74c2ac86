/** Waiting for something to be seen, but not for ever. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/** Milliseconds. */
const limit = 30_000

export class NotSeen extends Data.TaggedError("NotSeen")<{ readonly what: string; readonly instead: string }> {
  override get message(): string {
    return `not seen within ${limit / 1_000} s: ${this.what}; instead: ${this.instead}`
  }
}

/** Looks every 5 milliseconds until there is something other than `undefined`. */
export const until = <A>(
  what: string,
  look: () => A | undefined | Promise<A | undefined>,
  instead: () => string
): Effect.Effect<A, NotSeen> =>
  Effect.gen(function* () {
    const began = performance.now()
    for (;;) {
      const found = yield* Effect.promise(async () => look())
      if (found !== undefined) return found
      if (performance.now() - began > limit) return yield* new NotSeen({ what, instead: instead() })
      yield* Effect.sleep(5)
    }
  })
