/**
 * The metrics of a {@link ConnectServer}.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import type * as MetricKeyType from "effect/MetricKeyType"

/**
 * Open connections.
 *
 * @since 0.1.0
 */
export const connections = Metric.counter("xds_connect_connections", { description: "Open connections" })

/**
 * Open calls: streams and unary calls.
 *
 * @since 0.1.0
 */
export const streams = Metric.counter("xds_connect_streams", { description: "Open streams" })

/**
 * Bytes of requests on gRPC streams, with framing.
 *
 * @since 0.1.0
 */
export const receivedBytes = Metric.counter("xds_connect_received_bytes_total", {
  description: "Bytes of requests received",
  incremental: true
})

/**
 * Bytes of responses on gRPC streams, with framing.
 *
 * @since 0.1.0
 */
export const sentBytes = Metric.counter("xds_connect_sent_bytes_total", {
  description: "Bytes of responses sent",
  incremental: true
})

/**
 * Idle connections that were closed, after `idleTimeout` or to make room for a new one.
 *
 * @since 0.1.0
 */
export const idleConnectionsClosed = Metric.counter("xds_connect_idle_connections_closed_total", {
  description: "Connections closed because nothing was under way on them",
  incremental: true
})

/**
 * Connections that were refused: there was no room, and no idle connection to close.
 *
 * @since 0.1.0
 */
export const refusedConnections = Metric.counter("xds_connect_refused_connections_total", {
  description: "Connections refused",
  incremental: true
})

/**
 * Reloads of changed TLS files.
 *
 * @since 0.1.0
 */
export const tlsReloads = Metric.counter("xds_connect_tls_reloads_total", {
  description: "Times that changed TLS files were taken into use",
  incremental: true
})

/**
 * Why a call was refused before it reached the server, or ended because of what its client sent.
 *
 * @since 0.1.0
 */
export type RefusalReason =
  | "unknown method"
  | "unsupported content type"
  | "unsupported encoding"
  | "not POST"
  | "too many streams"
  | "shutting down"
  | "message too large"
  | "malformed message"
  | "request timeout"
  | "too many unread bytes"
  | "refused by an interceptor"

const refusals = Metric.counter("xds_connect_refused_streams_total", {
  description: "Streams refused, or ended for what their client sent",
  incremental: true
})

/**
 * Calls that were refused, by reason: a counter with the tag `reason`.
 *
 * @since 0.1.0
 */
export const refusedStreams = (
  reason: RefusalReason
): Metric.Metric<MetricKeyType.MetricKeyType.Counter<number>, number, { readonly count: number }> =>
  Metric.tagged(refusals, "reason", reason)
