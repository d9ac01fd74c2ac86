/**
 * What a probe sends, and what it expects: of `envoy.config.core.v3.HealthCheck` all that is no number of the schedule.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/health_checking
 * @since 0.1.0
 */
import type { StringMatcher } from "./StringMatcher.js"

/**
 * Statuses, half-open: 200 alone is [200, 201).
 *
 * @since 0.1.0
 */
export interface StatusRange {
  readonly start: number
  readonly end: number
}

/**
 * A header of a request, its name in lower case.
 *
 * @since 0.1.0
 */
export type Header = readonly [name: string, value: string]

/**
 * A request over HTTP.
 *
 * @since 0.1.0
 */
export interface Http {
  readonly _tag: "Http"
  readonly codec: "HTTP1" | "HTTP2"
  readonly method: string
  readonly path: string
  /** What the checker says; empty: nothing. See {@link hostOf}. */
  readonly host: string
  /** All but the host. */
  readonly headers: ReadonlyArray<Header>
  /** The body; empty: none. */
  readonly send: Uint8Array
  /** Statuses that pass. They go before those that may be tried again. */
  readonly expected: ReadonlyArray<StatusRange>
  /** Statuses that may be tried again. */
  readonly retriable: ReadonlyArray<StatusRange>
  /** What the body holds, in this order, with gaps allowed; none: the body does not matter. */
  readonly receive: ReadonlyArray<Uint8Array>
  /** Bytes of the body that are looked at; Infinity: all. */
  readonly responseBufferSize: number
  /** What `x-envoy-upstream-healthchecked-cluster` of the answer has to be; `undefined`: anything. */
  readonly serviceName: StringMatcher | undefined
}

/**
 * A connection, and bytes over it.
 *
 * @since 0.1.0
 */
export interface Tcp {
  readonly _tag: "Tcp"
  /** Empty: nothing is sent. */
  readonly send: Uint8Array
  /** What comes back, in this order, with gaps allowed; none: that there is a connection is enough. */
  readonly receive: ReadonlyArray<Uint8Array>
}

/**
 * A call of `grpc.health.v1.Health/Check`.
 *
 * @since 0.1.0
 */
export interface Grpc {
  readonly _tag: "Grpc"
  /** Empty: the server as a whole. */
  readonly service: string
  /** As `host` of {@link Http}. */
  readonly host: string
  readonly headers: ReadonlyArray<Header>
}

/**
 * A probe.
 *
 * @since 0.1.0
 */
export type Probe = Http | Tcp | Grpc

/**
 * The host (or authority) that a probe names: that of the endpoint, else that of the checker, else the name of the cluster.
 *
 * @param hostname `health_check_config.hostname` of the endpoint; empty: none
 * @since 0.1.0
 */
export const hostOf = (self: Http | Grpc, hostname: string, cluster: string): string =>
  hostname !== "" ? hostname : self.host !== "" ? self.host : cluster
