/** Waiting for something to become true, but not for ever. */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** How long is waited. */
export type Limit = Duration.DurationInput

/** It did not become true in time. */
export class TimedOut extends Data.TaggedError("TimedOut")<{
  readonly what: string
  readonly seconds: number
  /** How it was instead. */
  readonly seen: string
}> {
  override get message(): string {
    return `waited ${this.seconds} s for ${this.what}; instead: ${this.seen}`
  }
}

/** Waits until `check` gives something other than `undefined`. */
export const until = <A>(options: {
  readonly what: string
  readonly check: () => A | undefined
  readonly seen: () => string
  readonly limit?: Limit
}): Effect.Effect<A, TimedOut> =>
  Effect.gen(function* () {
    const limit = Duration.toMillis(options.limit ?? "30 seconds")
    // Not the time of day, which somebody may set meanwhile.
    const start = performance.now()
    for (;;) {
      const found = options.check()
      if (found !== undefined) return found
      if (performance.now() - start > limit) {
        return yield* new TimedOut({ what: options.what, seconds: limit / 1000, seen: options.seen() })
      }
      yield* Effect.sleep("10 millis")
    }
  })
