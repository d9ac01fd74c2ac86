/** Durations: Envoy reads all of them as times that are not over yet. */
import type { Duration } from "@bufbuild/protobuf/wkt"
import type { Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/** Seconds whose nanoseconds fit 63 bits, whatever the nanoseconds beside them. */
const maxSeconds = 9_223_372_035n

/** ★ Envoy compares times in whole milliseconds. */
export const milliseconds = ({ nanos, seconds }: Pick<Duration, "seconds" | "nanos">): bigint =>
  seconds * 1000n + BigInt(Math.trunc(nanos / 1_000_000))

const ofDuration = ({ nanos, seconds }: Duration, site: Site): void => {
  if (seconds < 0n || nanos < 0) site.fault("duration", "must not be negative")
  else if (nanos > 999_999_999) site.fault("duration", "must have less than a second in nanos")
  else if (seconds > maxSeconds) site.fault("duration", `must be at most ${maxSeconds}s`)
}

export const readings: ReadonlyArray<Reading.Reading> = [Reading.of<Duration>("google.protobuf.Duration", ofDuration)]
