/**
 * Durations for Node's timers.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

/**
 * The longest delay of a Node timer, 24 days: with a longer one it fires at once.
 *
 * @since 0.1.0
 */
export const longest = 2 ** 31 - 1

/**
 * The milliseconds of a duration, at most 24 days; without one, those of `otherwise`.
 *
 * @since 0.1.0
 */
export const of = (given: Duration.DurationInput | undefined, otherwise: Duration.DurationInput): number =>
  Math.min(longest, Duration.toMillis(given ?? otherwise))
