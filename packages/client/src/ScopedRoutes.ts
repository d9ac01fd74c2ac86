/**
 * Scoped routes (SRDS): the headers of a request choose the route configuration, and that the virtual host.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/scoped_route.proto
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { FindOptions, VirtualHostNotFound, VirtualHostUnavailable } from "./VirtualHosts.js"

/**
 * The `scoped_routes` of an HTTP connection manager cannot be used.
 *
 * @since 0.1.0
 */
export class ScopedRoutesInvalid extends Data.TaggedError("ScopedRoutesInvalid")<{
  /** `ScopedRoutes.name`. */
  readonly name: string
  /** Where in it, as `scope_key_builder.fragments[0]`. */
  readonly path: string
  readonly reason: string
}> {
  override get message(): string {
    return `scoped_routes ${JSON.stringify(this.name)}: ${this.path}: ${this.reason}`
  }
}

/**
 * The request is of no scope: an HTTP proxy answers 404.
 *
 * @since 0.1.0
 */
export class ScopeNotFound extends Data.TaggedError("ScopeNotFound")<{
  /** `ScopedRoutes.name`. */
  readonly scopedRoutes: string
  /** The fragments that its headers make, as a JSON list; `undefined`: a header is missing, or has no such element. */
  readonly key: string | undefined
}> {
  override get message(): string {
    const { key, scopedRoutes } = this
    const name = JSON.stringify(scopedRoutes)
    return key === undefined
      ? `the headers make no key for the scopes of ${name}: a header is missing, or has no such element`
      : `none of the scopes of ${name} has the key ${key}`
  }
}

/**
 * A request, as far as it counts for its routes.
 *
 * @since 0.1.0
 */
export interface Request {
  /** Names in lower case, as Node has them. Of a list, the first value counts. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The `:authority` of HTTP/2 or the `host` header of HTTP/1. */
  readonly host: string
}

/**
 * The scopes of one HTTP connection manager.
 *
 * @since 0.1.0
 */
export interface ScopedRoutes<out A> {
  /** `ScopedRoutes.name`. */
  readonly name: string
  /**
   * The virtual host of a request: that of its host in the route configuration of its scope. Waits for scopes, route
   * configuration and virtual host, with one deadline. Interrupting it ends the wait. When the scope closes, or that of the client, requests that wait
   * are unavailable, and later ones at once.
   */
  readonly find: (
    request: Request,
    options?: FindOptions
  ) => Effect.Effect<A, ScopeNotFound | VirtualHostNotFound | VirtualHostUnavailable>
  /** The statistics of VHDS of all route configurations in use, by name, as `VirtualHosts.statistics` has them. */
  readonly statistics: (prefix: string) => Effect.Effect<Readonly<Record<string, number>>>
}
