/**
 * Metrics of the members of clusters, by the names that Envoy gives them, tagged with `envoy.cluster_name`. They are Effect
 * metrics: read them with `Metric.snapshot` or export them with `@effect/opentelemetry`.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/upstream/cluster_manager/cluster_stats
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"

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
