/**
 * When a host is probed, and how many results decide: fields of `envoy.config.core.v3.HealthCheck`, with their defaults,
 * checked. What is asked, and of what, is no part of it.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/health_checking
 * @since 0.1.0
 */
import * as Either from "effect/Either"

/**
 * The settings. Durations are in milliseconds.
 *
 * @since 0.1.0
 */
export interface HealthCheckSettings {
  /** How long a probe may take. */
  readonly timeout: number
  /** From a result to the next probe. */
  readonly interval: number
  /** … of a host that fails. */
  readonly unhealthyInterval: number
  /** … after a failure that is not yet enough. */
  readonly unhealthyEdgeInterval: number
  /** … after a success that is not yet enough. */
  readonly healthyEdgeInterval: number
  /** … while the cluster never had a connection for a call; probes do not count. */
  readonly noTrafficInterval: number
  /** … if the host is well besides. */
  readonly noTrafficHealthyInterval: number
  /** The first probe is later by less than this, drawn. */
  readonly initialJitter: number
  /** Each further one is later by less than this, drawn, */
  readonly intervalJitter: number
  /** and by less than this percentage of its interval, drawn. */
  readonly intervalJitterPercent: number
  /** Failures of the network kind in a row until a host fails. */
  readonly unhealthyThreshold: number
  /** Successes in a row until a host passes again. */
  readonly healthyThreshold: number
  /** Probes use the connection of the one before. */
  readonly reuseConnection: boolean
  /** Each failure is an event, not only the first. */
  readonly alwaysLogHealthCheckFailures: boolean
  /** Each success is an event. */
  readonly alwaysLogHealthCheckSuccess: boolean
}

/**
 * A mistake in settings.
 *
 * @since 0.1.0
 */
export interface Mistake {
  /** As in the proto: `unhealthy_interval`. */
  readonly field: string
  /** What is wrong, and what to do. */
  readonly message: string
}

type Required = "timeout" | "interval" | "unhealthyThreshold" | "healthyThreshold"

/**
 * What is given: a field that is not has its default. Four must be there.
 *
 * @since 0.1.0
 */
export type Given = { readonly [Key in keyof HealthCheckSettings]?: HealthCheckSettings[Key] | undefined }

const required: ReadonlyArray<readonly [Required, field: string]> = [
  ["timeout", "timeout"],
  ["interval", "interval"],
  ["unhealthyThreshold", "unhealthy_threshold"],
  ["healthyThreshold", "healthy_threshold"]
]

const aboveZero = [
  ["timeout", "timeout"],
  ["interval", "interval"],
  ["unhealthyInterval", "unhealthy_interval"],
  ["unhealthyEdgeInterval", "unhealthy_edge_interval"],
  ["healthyEdgeInterval", "healthy_edge_interval"],
  ["noTrafficInterval", "no_traffic_interval"],
  ["noTrafficHealthyInterval", "no_traffic_healthy_interval"]
] as const

const notNegative = [
  ["initialJitter", "initial_jitter"],
  ["intervalJitter", "interval_jitter"],
  ["intervalJitterPercent", "interval_jitter_percent"],
  ["unhealthyThreshold", "unhealthy_threshold"],
  ["healthyThreshold", "healthy_threshold"]
] as const

/**
 * Settings of what is given. Left: all mistakes.
 *
 * @example
 * import { HealthCheckSettings } from "@effect-xds/discovery"
 *
 * const settings = HealthCheckSettings.make({ timeout: 1_000, interval: 10_000, unhealthyThreshold: 2, healthyThreshold: 3 })
 *
 * @since 0.1.0
 */
export const make = (given: Given): Either.Either<HealthCheckSettings, ReadonlyArray<Mistake>> => {
  const mistakes: Array<Mistake> = []
  for (const [key, field] of required) {
    if (given[key] === undefined) mistakes.push({ field, message: `${field} is missing; it is required` })
  }
  for (const [key, field] of aboveZero) {
    const value = given[key]
    if (value === undefined || value > 0) continue
    mistakes.push({ field, message: "not a valid duration, or too short; it must be more than 0" })
  }
  for (const [key, field] of notNegative) {
    const value = given[key]
    if (value !== undefined && !(value >= 0)) mistakes.push({ field, message: "is below 0; say at least 0" })
  }
  if (mistakes.length > 0) return Either.left(mistakes)
  const { healthyThreshold = 1, interval = 1, timeout = 1, unhealthyThreshold = 1 } = given
  const { noTrafficInterval = 60_000, unhealthyInterval = interval } = given
  return Either.right({
    timeout,
    interval,
    unhealthyInterval,
    unhealthyEdgeInterval: given.unhealthyEdgeInterval ?? unhealthyInterval,
    healthyEdgeInterval: given.healthyEdgeInterval ?? interval,
    noTrafficInterval,
    noTrafficHealthyInterval: given.noTrafficHealthyInterval ?? noTrafficInterval,
    initialJitter: given.initialJitter ?? 0,
    intervalJitter: given.intervalJitter ?? 0,
    intervalJitterPercent: given.intervalJitterPercent ?? 0,
    // ★ A threshold of 0 would never be met.
    unhealthyThreshold: Math.max(1, unhealthyThreshold),
    healthyThreshold: Math.max(1, healthyThreshold),
    reuseConnection: given.reuseConnection ?? true,
    alwaysLogHealthCheckFailures: given.alwaysLogHealthCheckFailures ?? false,
    alwaysLogHealthCheckSuccess: given.alwaysLogHealthCheckSuccess ?? false
  })
}
