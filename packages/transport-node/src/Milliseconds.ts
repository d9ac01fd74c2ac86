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
 * The longest `keepAliveTimeout` of a server of `node:http`, which adds a second to it. With a longer one Node warns with each
 * answer.
 *
 * @since 0.1.0
 */
export const longestKeepAlive = longest - 1_000

/**
 * The whole milliseconds of a duration, at most 24 days; without one, those of `otherwise`. Some of Node's options take no
 * fractions.
 *
 * @since 0.1.0
 */
export const of = (given: Duration.DurationInput | undefined, otherwise: Duration.DurationInput): number =>
  Math.min(longest, Math.ceil(Duration.toMillis(given ?? otherwise)))
