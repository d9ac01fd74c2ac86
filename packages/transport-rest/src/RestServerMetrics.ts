/**
 * The metrics of a {@link RestServer}.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import type * as MetricKeyType from "effect/MetricKeyType"

/**
 * Open sessions: one per client, type and list of names.
 *
 * @since 0.1.0
 */
export const sessions = Metric.gauge("xds_rest_sessions", { description: "Open sessions" })

/**
 * Polls that are held now.
 *
 * @since 0.1.0
 */
export const held = Metric.gauge("xds_rest_held", { description: "Polls that wait for a change" })

const answered = Metric.counter("xds_rest_requests_total", { description: "Requests answered", incremental: true })

/**
 * Answered requests, by HTTP status: a counter with the tag `status`.
 *
 * @since 0.1.0
 */
export const requests = (
  status: number
): Metric.Metric<MetricKeyType.MetricKeyType.Counter<number>, number, { readonly count: number }> =>
  Metric.tagged(answered, "status", String(status))

/**
 * Reloads of changed TLS files.
 *
 * @since 0.1.0
 */
export const tlsReloads = Metric.counter("xds_rest_tls_reloads_total", {
  description: "TLS files that changed and were read again",
  incremental: true
})
