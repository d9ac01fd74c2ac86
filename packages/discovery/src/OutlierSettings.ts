/**
 * How outliers are detected: the fields of `envoy.config.cluster.v3.OutlierDetection`, with their defaults, checked.
 *
 * @see https://github.com/grpc/proposal/blob/master/A50-xds-outlier-detection.md
 * @since 0.1.0
 */
import type { Duration } from "@bufbuild/protobuf/wkt"
import type { OutlierDetection } from "@effect-xds/proto/envoy/config/cluster/v3/outlier_detection"
import * as Either from "effect/Either"
import * as Milliseconds from "./Milliseconds.js"

/**
 * Whose rules: Envoy's, or those of gRPC clients. What differs stands in `OutlierRules`.
 *
 * @since 0.1.0
 */
export type Rules = "envoy" | "A50"

/**
 * The settings. Durations are in milliseconds; `enforcing…` are percentages of the detections that eject.
 *
 * @since 0.1.0
 */
export interface OutlierSettings {
  readonly rules: Rules
  /** Between sweeps; less than a millisecond counts as one. */
  readonly interval: number
  /** The first ejection lasts as long, each further one longer by as much. */
  readonly baseEjectionTime: number
  readonly maxEjectionTime: number
  /** "A50": ignored. */
  readonly maxEjectionTimeJitter: number
  readonly maxEjectionPercent: number
  /** "A50": ignored. */
  readonly alwaysEjectOneHost: boolean
  /** Failures before a response have detectors of their own. "A50": ignored. */
  readonly splitExternalLocalOriginErrors: boolean
  /** A health check that passes ends an ejection. */
  readonly successfulActiveHealthCheckUnejectHost: boolean
  /** Responses 500 to 599 in a row; 0: not looked at. Neither it nor the next five are A50's. */
  readonly consecutive5xx: number
  readonly enforcingConsecutive5xx: number
  /** Responses 502 to 504 in a row; 0: not looked at. */
  readonly consecutiveGatewayFailure: number
  readonly enforcingConsecutiveGatewayFailure: number
  /** Connections that failed and timeouts in a row, if those are split; 0: not looked at. */
  readonly consecutiveLocalOriginFailure: number
  readonly enforcingConsecutiveLocalOriginFailure: number
  readonly successRateMinimumHosts: number
  readonly successRateRequestVolume: number
  /** Thousandths of a standard deviation. */
  readonly successRateStdevFactor: number
  readonly enforcingSuccessRate: number
  readonly enforcingLocalOriginSuccessRate: number
  readonly failurePercentageMinimumHosts: number
  readonly failurePercentageRequestVolume: number
  readonly failurePercentageThreshold: number
  readonly enforcingFailurePercentage: number
  readonly enforcingFailurePercentageLocalOrigin: number
}

/**
 * A mistake in settings.
 *
 * @since 0.1.0
 */
export interface Mistake {
  /** As in the proto: `max_ejection_percent`. */
  readonly field: string
  /** What is wrong, and what to do. */
  readonly message: string
}

/**
 * What is given: a field that is not has its default.
 *
 * @since 0.1.0
 */
export type Given = { readonly [Key in keyof Omit<OutlierSettings, "rules">]?: OutlierSettings[Key] | undefined }

const defaults: Omit<OutlierSettings, "rules"> = {
  interval: 10_000,
  baseEjectionTime: 30_000,
  maxEjectionTime: 300_000,
  maxEjectionTimeJitter: 0,
  maxEjectionPercent: 10,
  alwaysEjectOneHost: false,
  splitExternalLocalOriginErrors: false,
  successfulActiveHealthCheckUnejectHost: true,
  consecutive5xx: 5,
  enforcingConsecutive5xx: 100,
  consecutiveGatewayFailure: 5,
  enforcingConsecutiveGatewayFailure: 0,
  consecutiveLocalOriginFailure: 5,
  enforcingConsecutiveLocalOriginFailure: 100,
  successRateMinimumHosts: 5,
  successRateRequestVolume: 100,
  successRateStdevFactor: 1_900,
  enforcingSuccessRate: 100,
  enforcingLocalOriginSuccessRate: 100,
  failurePercentageMinimumHosts: 5,
  failurePercentageRequestVolume: 50,
  failurePercentageThreshold: 85,
  enforcingFailurePercentage: 0,
  enforcingFailurePercentageLocalOrigin: 0
}

type NumberKey = { [Key in keyof Given]-?: OutlierSettings[Key] extends number ? Key : never }[keyof Given]

/** ★ gRPC clients look at these alone: a wrong value of another field is none of theirs. */
const durations: ReadonlyArray<readonly [NumberKey, field: string]> = [
  ["interval", "interval"],
  ["baseEjectionTime", "base_ejection_time"],
  ["maxEjectionTime", "max_ejection_time"]
]

const percentages: Readonly<Record<Rules, ReadonlyArray<readonly [NumberKey, field: string]>>> = {
  A50: [
    ["maxEjectionPercent", "max_ejection_percent"],
    ["enforcingSuccessRate", "enforcing_success_rate"],
    ["failurePercentageThreshold", "failure_percentage_threshold"],
    ["enforcingFailurePercentage", "enforcing_failure_percentage"]
  ],
  envoy: [
    ["maxEjectionPercent", "max_ejection_percent"],
    ["enforcingConsecutive5xx", "enforcing_consecutive_5xx"],
    ["enforcingConsecutiveGatewayFailure", "enforcing_consecutive_gateway_failure"],
    ["enforcingConsecutiveLocalOriginFailure", "enforcing_consecutive_local_origin_failure"],
    ["enforcingSuccessRate", "enforcing_success_rate"],
    ["enforcingLocalOriginSuccessRate", "enforcing_local_origin_success_rate"],
    ["failurePercentageThreshold", "failure_percentage_threshold"],
    ["enforcingFailurePercentage", "enforcing_failure_percentage"],
    ["enforcingFailurePercentageLocalOrigin", "enforcing_failure_percentage_local_origin"]
  ]
}

/**
 * Settings of what is given. Left: all mistakes.
 *
 * @example
 * import { OutlierSettings } from "@effect-xds/discovery"
 *
 * const settings = OutlierSettings.make("envoy", { consecutive5xx: 3, maxEjectionPercent: 50 })
 *
 * @since 0.1.0
 */
export const make = (rules: Rules, given: Given = {}): Either.Either<OutlierSettings, ReadonlyArray<Mistake>> => {
  const mistakes: Array<Mistake> = []
  for (const [key, field] of durations) {
    const value = given[key]
    if (value === undefined || value > 0 || (value === 0 && rules === "A50")) continue
    const least = rules === "A50" ? "it must not be negative" : "it must be more than 0"
    mistakes.push({ field, message: `not a valid duration, or too short; ${least}` })
  }
  const { maxEjectionTimeJitter = 0 } = given
  if (rules === "envoy" && !(maxEjectionTimeJitter >= 0)) {
    mistakes.push({ field: "max_ejection_time_jitter", message: "not a valid duration; it must not be negative" })
  }
  for (const [key, field] of percentages[rules]) {
    const value = given[key]
    if (value !== undefined && !(value >= 0 && value <= 100)) {
      mistakes.push({ field, message: `is ${value}; at most 100 is possible` })
    }
  }
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const filled: Omit<OutlierSettings, "rules"> = { ...defaults, ...set }
  const { baseEjectionTime: base } = filled
  const { maxEjectionTime: max } = given
  if (rules === "envoy" && max !== undefined && max < base && mistakes.length === 0) {
    const message = `is ${max} ms, less than base_ejection_time, ${base} ms; make it at least as long`
    mistakes.push({ field: "max_ejection_time", message })
  }
  if (mistakes.length > 0) return Either.left(mistakes)
  return Either.right({ ...filled, rules, maxEjectionTime: Math.max(filled.maxEjectionTime, base) })
}

/**
 * Settings of a message. Left: all mistakes.
 *
 * @since 0.1.0
 */
export const fromMessage = (
  rules: Rules,
  message: OutlierDetection
): Either.Either<OutlierSettings, ReadonlyArray<Mistake>> => {
  // What is no duration is none of the settings' numbers, either.
  const milliseconds = (duration: Duration | undefined) =>
    duration === undefined ? undefined : (Milliseconds.make(duration) ?? Number.NaN)
  return make(rules, {
    interval: milliseconds(message.interval),
    baseEjectionTime: milliseconds(message.baseEjectionTime),
    maxEjectionTime: milliseconds(message.maxEjectionTime),
    maxEjectionTimeJitter: milliseconds(message.maxEjectionTimeJitter),
    maxEjectionPercent: message.maxEjectionPercent,
    alwaysEjectOneHost: message.alwaysEjectOneHost,
    splitExternalLocalOriginErrors: message.splitExternalLocalOriginErrors,
    successfulActiveHealthCheckUnejectHost: message.successfulActiveHealthCheckUnejectHost,
    consecutive5xx: message.consecutive5xx,
    enforcingConsecutive5xx: message.enforcingConsecutive5xx,
    consecutiveGatewayFailure: message.consecutiveGatewayFailure,
    enforcingConsecutiveGatewayFailure: message.enforcingConsecutiveGatewayFailure,
    consecutiveLocalOriginFailure: message.consecutiveLocalOriginFailure,
    enforcingConsecutiveLocalOriginFailure: message.enforcingConsecutiveLocalOriginFailure,
    successRateMinimumHosts: message.successRateMinimumHosts,
    successRateRequestVolume: message.successRateRequestVolume,
    successRateStdevFactor: message.successRateStdevFactor,
    enforcingSuccessRate: message.enforcingSuccessRate,
    enforcingLocalOriginSuccessRate: message.enforcingLocalOriginSuccessRate,
    failurePercentageMinimumHosts: message.failurePercentageMinimumHosts,
    failurePercentageRequestVolume: message.failurePercentageRequestVolume,
    failurePercentageThreshold: message.failurePercentageThreshold,
    enforcingFailurePercentage: message.enforcingFailurePercentage,
    enforcingFailurePercentageLocalOrigin: message.enforcingFailurePercentageLocalOrigin
  })
}
