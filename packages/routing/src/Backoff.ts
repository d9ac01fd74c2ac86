/**
 * How long a connection that failed is not tried again: gRPC's backoff.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/connection-backoff.md
 * @since 0.1.0
 */

/** Milliseconds. */
const settings = { initial: 1_000, factor: 1.6, max: 120_000, jitter: 0.2 }

/**
 * Milliseconds to wait after so many failures in a row.
 *
 * @param failures at least 1
 * @param drawn a random number in [0, 1)
 * @since 0.1.0
 */
export const after = (failures: number, drawn: number): number =>
  Math.min(settings.initial * settings.factor ** (failures - 1), settings.max) *
  (1 - settings.jitter + 2 * settings.jitter * drawn)
