/**
 * All metrics of a client, by the names that gRPC gives them. They are Effect metrics: read them with `Metric.snapshot` or
 * export them with `@effect/opentelemetry`.
 *
 * @see https://github.com/grpc/proposal/blob/master/A78-grpc-metrics-wrr-pf-xds.md
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"

/**
 * Whether there is a working stream to a server (1) or not (0), tagged with `grpc.xds.server`.
 *
 * @since 0.1.0
 */
export const connected = Metric.gauge("grpc.xds_client.connected", {
  description: "Whether or not the client has a working ADS stream to the xDS server"
})

/**
 * Streams that ended without a response, and failed connection attempts, tagged with `grpc.xds.server`.
 *
 * @since 0.1.0
 */
export const serverFailure = Metric.counter("grpc.xds_client.server_failure", {
  description: "Times a server went from working to not working",
  incremental: true
})

/**
 * Valid resources that were received, unchanged ones included, tagged with `grpc.xds.server` and
 * `grpc.xds.resource_type`.
 *
 * @since 0.1.0
 */
export const resourceUpdatesValid = Metric.counter("grpc.xds_client.resource_updates_valid", {
  description: "Resources received that were considered valid",
  incremental: true
})

/**
 * Resources that were rejected, tagged with `grpc.xds.server` and `grpc.xds.resource_type`.
 *
 * @since 0.1.0
 */
export const resourceUpdatesInvalid = Metric.counter("grpc.xds_client.resource_updates_invalid", {
  description: "Resources received that were considered invalid",
  incremental: true
})

/**
 * Watched resources, tagged with `grpc.xds.cache_state` (`requested`, `does_not_exist`, `acked`, `nacked`,
 * `nacked_but_cached`) and `grpc.xds.resource_type`. Updated every five seconds.
 *
 * @since 0.1.0
 */
export const resources = Metric.gauge("grpc.xds_client.resources", { description: "Resources in each cache state" })

/**
 * Updates that changed the virtual hosts of a route configuration, tagged with `route_configuration`.
 *
 * @since 0.1.0
 */
export const vhdsConfigReload = Metric.counter("xds_client_vhds_config_reload_total", {
  description: "Updates that changed virtual hosts that are fetched on demand",
  incremental: true
})

/**
 * Answers that a host has no virtual host, tagged with `route_configuration`.
 *
 * @since 0.1.0
 */
export const vhdsEmptyUpdate = Metric.counter("xds_client_vhds_empty_update_total", {
  description: "Answers without a virtual host for a host that was asked for",
  incremental: true
})

/**
 * Watchers that did not finish their events within `watcherTimeout`, so that the client read on without them; tagged
 * with `grpc.xds.resource_type`.
 *
 * @since 0.1.0
 */
export const stuckWatchers = Metric.counter("xds_client_stuck_watchers_total", {
  description: "Times that reading from a server went on without a watcher that is too slow",
  incremental: true
})
