/** Time for limits: milliseconds of a clock that nobody sets. The time of day may jump while something waits. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)
