/**
 * Protocol variants.
 *
 * @since 0.1.0
 */

/**
 * The protocol variant of a stream: state of the world (SotW) or incremental (delta).
 *
 * @since 0.1.0
 */
export type Protocol = "StateOfTheWorld" | "Incremental"
