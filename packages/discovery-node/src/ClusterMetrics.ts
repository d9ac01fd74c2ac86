/**
 * Metrics of the members of clusters, by the names that Envoy gives them, tagged with `envoy.cluster_name`. They are Effect
 * metrics: read them with `Metric.snapshot` or export them with `@effect/opentelemetry`.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/upstream/cluster_manager/cluster_stats
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"

/**
 * A metric of one cluster.
 *
 * @since 0.1.0
 */
export const of = <Type, In, Out>(
  metric: Metric.Metric<Type, In, Out>,
  cluster: string
): Metric.Metric<Type, In, Out> => Metric.tagged(metric, "envoy.cluster_name", cluster)

const gauge = (name: string, description: string) => Metric.gauge(`cluster.${name}`, { description })
const counter = (name: string, description: string) =>
  Metric.counter(`cluster.${name}`, { description, incremental: true })

/**
 * Hosts in use.
 *
 * @since 0.1.0
 */
export const membershipTotal = gauge("membership_total", "Current cluster membership total")

/**
 * Those that are healthy, neither failing nor ejected.
 *
 * @since 0.1.0
 */
export const membershipHealthy = gauge("membership_healthy", "Current cluster healthy total")

/**
 * Those that are degraded.
 *
 * @since 0.1.0
 */
export const membershipDegraded = gauge("membership_degraded", "Current cluster degraded total")

/**
 * Those that are in no ratio.
 *
 * @since 0.1.0
 */
export const membershipExcluded = gauge("membership_excluded", "Current cluster excluded total")

/**
 * Times that hosts came or went.
 *
 * @since 0.1.0
 */
export const membershipChange = counter("membership_change", "Total cluster membership changes")

/**
 * Queries for names, and assignments.
 *
 * @since 0.1.0
 */
export const updateAttempt = counter("update_attempt", "Total attempted cluster membership updates")

/**
 * Those that brought something.
 *
 * @since 0.1.0
 */
export const updateSuccess = counter("update_success", "Total successful cluster membership updates")

/**
 * Those that failed.
 *
 * @since 0.1.0
 */
export const updateFailure = counter("update_failure", "Total failed cluster membership updates")

/**
 * Those that brought no hosts.
 *
 * @since 0.1.0
 */
export const updateEmpty = counter("update_empty", "Total updates without hosts")

/**
 * Calls whose host was refused because the cluster has as many as it may have: of type ORIGINAL_DST.
 *
 * @since 0.1.0
 */
export const poolOverflow = counter("upstream_cx_pool_overflow", "Total times that a cluster had no room for a host")

/**
 * Hosts that are ejected.
 *
 * @since 0.1.0
 */
export const ejectionsActive = gauge("outlier_detection.ejections_active", "Currently ejected hosts")

/**
 * Ejections, tagged with `detector`.
 *
 * @since 0.1.0
 */
export const ejectionsEnforced = counter("outlier_detection.ejections_enforced_total", "Enforced ejections")

/**
 * Outliers that were found, ejected or not, tagged with `detector`.
 *
 * @since 0.1.0
 */
export const ejectionsDetected = counter("outlier_detection.ejections_detected_total", "Detected outliers")

/**
 * Outliers that were not ejected because too many are.
 *
 * @since 0.1.0
 */
export const ejectionsOverflow = counter(
  "outlier_detection.ejections_overflow",
  "Ejections aborted due to the max ejection percent"
)

/**
 * Probes that began.
 *
 * @since 0.1.0
 */
export const checkAttempt = counter("health_check.attempt", "Number of health checks")

/**
 * Those that succeeded.
 *
 * @since 0.1.0
 */
export const checkSuccess = counter("health_check.success", "Number of successful health checks")

/**
 * Those that failed, and what calls said: failures of all kinds.
 *
 * @since 0.1.0
 */
export const checkFailure = counter("health_check.failure", "Number of failed health checks")

/**
 * Failures that calls told of: `x-envoy-immediate-health-check-fail`.
 *
 * @since 0.1.0
 */
export const checkPassiveFailure = counter(
  "health_check.passive_failure",
  "Number of health check failures due to passive events"
)

/**
 * Failures of the network kind, timeouts among them.
 *
 * @since 0.1.0
 */
export const checkNetworkFailure = counter(
  "health_check.network_failure",
  "Number of health check failures due to network error"
)

/**
 * Answers whose service was looked at (`service_name_matcher`).
 *
 * @since 0.1.0
 */
export const checkVerifyCluster = counter(
  "health_check.verify_cluster",
  "Number of health checks that attempted cluster name verification"
)

/**
 * Hosts that pass all their checks, degraded ones and those of a set that is warmed, too.
 *
 * @since 0.1.0
 */
export const checkHealthy = gauge("health_check.healthy", "Number of healthy members")

/**
 * Those of them that are degraded.
 *
 * @since 0.1.0
 */
export const checkDegraded = gauge("health_check.degraded", "Number of degraded members")
