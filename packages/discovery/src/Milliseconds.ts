/**
 * Durations of protobuf as milliseconds.
 *
 * @since 0.1.0
 */
import type { Duration } from "@bufbuild/protobuf/wkt"

/** google.protobuf.Duration: 10 000 years. */
const maxSeconds = 315_576_000_000n

/**
 * The milliseconds of a duration, with fractions; `undefined` if it is not valid: out of range, or seconds and
 * nanoseconds of different signs.
 *
 * @since 0.1.0
 */
export const make = ({ nanos, seconds }: Duration): number | undefined => {
  if (seconds > maxSeconds || seconds < -maxSeconds || nanos > 999_999_999 || nanos < -999_999_999) return undefined
  if ((seconds > 0n && nanos < 0) || (seconds < 0n && nanos > 0)) return undefined
  return Number(seconds) * 1_000 + nanos / 1_000_000
}
