/**
 * The metrics of a store on SQL. They are Effect metrics: read them with `Metric.snapshot` or export them with
 * `@effect/opentelemetry`.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"

/**
 * Unix time in seconds since which the database cannot be followed; 0: it is followed.
 *
 * @since 0.1.0
 */
export const awaySince = Metric.gauge("xds_store_away_since_seconds", {
  description: "Unix time since which the database cannot be followed; 0: it is followed"
})

/**
 * The revision that this process has applied.
 *
 * @since 0.1.0
 */
export const revision = Metric.gauge("xds_store_revision", { description: "Revision that was applied last" })

/**
 * Changes that this process wrote.
 *
 * @since 0.1.0
 */
export const written = Metric.counter("xds_store_changes_written_total", {
  description: "Changes written to the database",
  incremental: true
})

/**
 * Writes that failed for a reason of the database's.
 *
 * @since 0.1.0
 */
export const failed = Metric.counter("xds_store_writes_failed_total", {
  description: "Writes that failed because of the database",
  incremental: true
})
