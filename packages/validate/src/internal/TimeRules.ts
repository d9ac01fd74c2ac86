/**
 * The rules of durations and timestamps. Presence is the message's: see MessageRules.
 */
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt"
import type { DurationRules, TimestampRules } from "@effect-xds/proto/validate/validate"
import * as Membership from "./Membership.js"
import * as Range from "./Range.js"
import { type Check, notA } from "./Report.js"

/** A Duration or a Timestamp: nanoseconds are counted from the seconds. */
interface Time {
  readonly seconds: bigint
  readonly nanos: number
}

const isTime = (value: unknown): value is Time =>
  typeof value === "object" &&
  value !== null &&
  "seconds" in value &&
  typeof value.seconds === "bigint" &&
  "nanos" in value &&
  typeof value.nanos === "number"

/** Exact, to the nanosecond; both are valid. */
const compare = (a: Time, b: Time): number =>
  a.seconds < b.seconds ? -1 : a.seconds > b.seconds ? 1 : a.nanos - b.nanos

const fraction = (nanos: number): string =>
  nanos === 0 ? "" : `.${String(Math.abs(nanos)).padStart(9, "0").replace(/0+$/, "")}`

/** As JSON has it: `-1.5s`. */
const showDuration = ({ nanos, seconds }: Time): string =>
  `${seconds < 0n || nanos < 0 ? "-" : ""}${seconds < 0n ? -seconds : seconds}${fraction(nanos)}s`

/** As JSON has it: `2026-01-02T03:04:05.5Z`. */
const showTimestamp = ({ nanos, seconds }: Time): string =>
  `${new Date(Number(seconds) * 1000).toISOString().slice(0, 19)}${fraction(nanos)}Z`

const maxSeconds = 315_576_000_000n
const billion = 1_000_000_000

/** google/protobuf/duration.proto: ±10 000 years, and both parts have one sign. */
const isDuration = ({ nanos, seconds }: Time): boolean =>
  seconds >= -maxSeconds &&
  seconds <= maxSeconds &&
  nanos > -billion &&
  nanos < billion &&
  !(seconds > 0n && nanos < 0) &&
  !(seconds < 0n && nanos > 0)

/** google/protobuf/timestamp.proto: the years 1 to 9999, and the nanoseconds count forward. */
const isTimestamp = ({ nanos, seconds }: Time): boolean =>
  seconds >= -62_135_596_800n && seconds <= 253_402_300_799n && nanos >= 0 && nanos < billion

const shownParts = ({ nanos, seconds }: Time): string => `${seconds} seconds and ${nanos} nanoseconds`

const boundsOf = (rules: DurationRules | TimestampRules): Range.Bounds<Time> => ({
  lt: rules.lt,
  lte: rules.lte,
  gt: rules.gt,
  gte: rules.gte
})

/** ★ A malformed Duration fails only where a bound is set. */
export const durations = (rules: DurationRules): Check | undefined => {
  const range = Range.check("duration", boundsOf(rules), compare, showDuration)
  const constant: Duration | undefined = rules.const
  const member = Membership.check<Time>("duration", rules, (a, b) => compare(a, b) === 0, showDuration)
  if (range === undefined && constant === undefined && member === undefined) return undefined
  return (value, report) => {
    if (!isTime(value)) return notA(report, "a Duration", value)
    if (!isDuration(value)) return report.add("duration", "must be a valid duration", shownParts(value))
    if (constant !== undefined && compare(value, constant) !== 0) {
      report.add("duration.const", `must be ${showDuration(constant)}`, showDuration(value))
    }
    range?.(value, report)
    member?.(value, report)
  }
}

const timeOf = (milliseconds: number): Time => {
  const seconds = Math.floor(milliseconds / 1000)
  return { seconds: BigInt(seconds), nanos: Math.floor((milliseconds - seconds * 1000) * 1_000_000) }
}

const plus = (a: Time, b: Time, sign: 1 | -1): Time => {
  const nanos = a.nanos + sign * b.nanos
  const carry = Math.floor(nanos / billion)
  return { seconds: a.seconds + BigInt(sign) * b.seconds + BigInt(carry), nanos: nanos - carry * billion }
}

/** Bounds relative to now; those that are absolute go before them. */
const relative = (
  rules: TimestampRules,
  now: Time
): { readonly isBroken: (value: Time) => boolean; problem: string } => {
  const { gtNow, ltNow, within } = rules
  const earliest = within === undefined ? undefined : plus(now, within, -1)
  const latest = within === undefined ? undefined : plus(now, within, 1)
  const around = within === undefined ? "" : ` by at most ${showDuration(within)}`
  if (ltNow) {
    return {
      problem: `must be before now${around}`,
      isBroken: (value) => compare(value, now) >= 0 || (earliest !== undefined && compare(value, earliest) < 0)
    }
  }
  if (gtNow) {
    return {
      problem: `must be after now${around}`,
      isBroken: (value) => compare(value, now) <= 0 || (latest !== undefined && compare(value, latest) > 0)
    }
  }
  return {
    problem: `must differ from now${around}`,
    isBroken: (value) =>
      earliest !== undefined && latest !== undefined && (compare(value, earliest) <= 0 || compare(value, latest) >= 0)
  }
}

/** ★ A malformed Timestamp fails only where a bound is set. */
export const timestamps = (rules: TimestampRules): Check | undefined => {
  const range = Range.check("timestamp", boundsOf(rules), compare, showTimestamp)
  const constant: Timestamp | undefined = rules.const
  const isRelative = range === undefined && (rules.ltNow || rules.gtNow || rules.within !== undefined)
  if (range === undefined && constant === undefined && !isRelative) return undefined
  return (value, report) => {
    if (!isTime(value)) return notA(report, "a Timestamp", value)
    if (!isTimestamp(value)) return report.add("timestamp", "must be a valid timestamp", shownParts(value))
    if (constant !== undefined && compare(value, constant) !== 0) {
      report.add("timestamp.const", `must be ${showTimestamp(constant)}`, showTimestamp(value))
    }
    range?.(value, report)
    if (isRelative && report.now !== undefined) {
      const { isBroken, problem } = relative(rules, timeOf(report.now))
      const rule = rules.ltNow ? "lt_now" : rules.gtNow ? "gt_now" : "within"
      if (isBroken(value)) report.add(`timestamp.${rule}`, problem, showTimestamp(value))
    }
  }
}
