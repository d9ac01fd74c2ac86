/**
 * Durations as Node's timers take them.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

/** A timer of Node that is set for longer comes at once. It is 24 days. */
const longest = 2 ** 31 - 1

/**
 * The milliseconds of a duration, 24 days at most; where none is given, those of `otherwise`.
 *
 * @since 0.1.0
 */
export const of = (given: Duration.DurationInput | undefined, otherwise: Duration.DurationInput): number =>
  Math.min(longest, Duration.toMillis(given ?? otherwise))
