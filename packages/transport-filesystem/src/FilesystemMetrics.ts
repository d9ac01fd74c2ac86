/**
 * All metrics of this package. They are Effect metrics: read them with `Metric.snapshot` or export them with
 * `@effect/opentelemetry`.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"

/**
 * Files whose content was taken.
 *
 * @since 0.1.0
 */
export const accepted = Metric.counter("xds_filesystem_accepted_total", {
  description: "Files whose content was taken",
  incremental: true
})

/**
 * Files that were rejected: each content once.
 *
 * @since 0.1.0
 */
export const rejections = Metric.counter("xds_filesystem_rejections_total", {
  description: "Files that were rejected",
  incremental: true
})

/**
 * Files that are rejected now: their last good state, if there is one, stays.
 *
 * @since 0.1.0
 */
export const rejected = Metric.gauge("xds_filesystem_rejected_files", { description: "Files that are rejected now" })

/**
 * Files that were written, each time they were.
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
