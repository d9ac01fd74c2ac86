/**
 * Virtual hosts on demand (VHDS): the virtual host of a host is fetched with the first request for it.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
import type { VirtualHost as FetchedVirtualHost } from "@effect-xds/core/client/VirtualHosts"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { WatchableType } from "./WatchableType.js"

/**
 * Options of virtual hosts on demand.
 *
 * @since 0.1.0
 */
export interface Options {
  /** How long a request waits for its virtual host. Default: 5 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** When an unused virtual host is given up. Default: never. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** When the answer that a host does not exist is given up, if no request uses it. Default: 60 seconds. */
  readonly unknownIdleTimeout?: Duration.DurationInput | undefined
  /**
   * The most hosts that are subscribed to. The least used ones are given up for others, unknown ones first: strangers choose
   * hosts. Default: 10 000.
   */
  readonly maxHosts?: number | undefined
  /** The most requests that wait; others are unavailable at once. Default: 10 000. */
  readonly maxWaiting?: number | undefined
  /** Whether the port is a part of a host: `ignore_port_in_host_matching` is false. Default: true. */
  readonly withPort?: boolean | undefined
}

/**
 * What virtual hosts on demand need of a route configuration.
 *
 * @since 0.1.0
 */
export interface Routes<out A> {
  /** `RouteConfiguration.vhds.config_source`; `undefined` if there is no `vhds`. */
  readonly vhds: ConfigSource | undefined
  /** The virtual hosts that came with it. */
  readonly virtualHosts: ReadonlyArray<FetchedVirtualHost<A>>
}

/**
 * The types to watch, for an application with decoders of its own. A client has one decoder per type.
 *
 * @since 0.1.0
 */
export interface Types<in out R, in out A> {
  readonly routeConfiguration: WatchableType<R>
  readonly routesOf: (routeConfiguration: R) => Routes<A>
  readonly virtualHost: WatchableType<A>
  readonly domainsOf: (virtualHost: A) => ReadonlyArray<string>
}

/**
 * There is no virtual host for the host: an HTTP proxy answers 404.
 *
 * @since 0.1.0
 */
export class VirtualHostNotFound extends Data.TaggedError("VirtualHostNotFound")<{
  readonly routeConfiguration: string
  readonly host: string
}> {
  override get message(): string {
    const { host, routeConfiguration } = this
    return `RouteConfiguration ${JSON.stringify(routeConfiguration)} has no virtual host for ${JSON.stringify(host)}`
  }
}

/**
 * It is not known whether there is a virtual host for the host, or it was rejected: an HTTP proxy answers 503.
 *
 * @since 0.1.0
 */
export class VirtualHostUnavailable extends Data.TaggedError("VirtualHostUnavailable")<{
  readonly routeConfiguration: string
  readonly host: string
  readonly reason: string
}> {
  override get message(): string {
    return `the virtual host for ${JSON.stringify(this.host)} cannot be had: ${this.reason}`
  }
}

/**
 * The virtual hosts of one route configuration.
 *
 * @since 0.1.0
 */
export interface VirtualHosts<out A> {
  readonly routeConfiguration: string
  /**
   * The virtual host of a host: at once if it is known, otherwise the server is asked and the request waits. Interrupting it
   * ends the wait. When the scope closes, or that of the client, requests that wait are unavailable, and later ones at once.
   */
  readonly find: (host: string, options?: FindOptions) => Effect.Effect<A, VirtualHostNotFound | VirtualHostUnavailable>
  /**
   * The statistics `http.<prefix>.vhds.<route configuration>.config_reload` and `….empty_update`, by name.
   */
  readonly statistics: (prefix: string) => Effect.Effect<Readonly<Record<string, number>>>
}

/**
 * Options of {@link VirtualHosts.find}.
 *
 * @since 0.1.0
 */
export interface FindOptions {
  /** A shorter wait than {@link Options.timeout}. */
  readonly timeout?: Duration.DurationInput | undefined
}
