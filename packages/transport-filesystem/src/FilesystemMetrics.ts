/**
 * All metrics of this package. They are Effect metrics: read them with `Metric.snapshot` or export them with
 * `@effect/opentelemetry`.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"

/**
 * Files whose content was accepted.
 *
 * @since 0.1.0
 */
export const accepted = Metric.counter("xds_filesystem_accepted_total", {
  description: "Files whose content was taken",
  incremental: true
})

/**
 * Rejected files, once per content.
 *
 * @since 0.1.0
 */
export const rejections = Metric.counter("xds_filesystem_rejections_total", {
  description: "Files that were rejected",
  incremental: true
})

/**
 * Files that are rejected now. Their last accepted content, if any, stays in force.
 *
 * @since 0.1.0
 */
export const rejected = Metric.gauge("xds_filesystem_rejected_files", { description: "Files that are rejected now" })

/**
 * Writes of files.
 *
 * @since 0.1.0
 */
export const written = Metric.counter("xds_filesystem_written_total", {
  description: "Files written",
  incremental: true
})

/**
 * Files that could not be written or removed.
 *
 * @since 0.1.0
 */
export const writeFailures = Metric.counter("xds_filesystem_write_failures_total", {
  description: "Files that could not be written or removed",
  incremental: true
})
