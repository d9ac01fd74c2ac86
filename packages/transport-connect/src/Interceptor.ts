/**
 * Interceptors of a server's calls: each may refuse a call, change it before the server sees it, and observe its end.
 *
 * @since 0.1.0
 */
import type { ServerTransport, Status } from "@effect-xds/transport"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * A call before it is served: an xDS stream or unary call, health checking, reflection, or a further service.
 *
 * @since 0.1.0
 */
export interface Call {
  /** The method's path: `/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources`. */
  readonly path: string
  /** The request headers, names in lower case; values of a repeated name joined with `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly peer: ServerTransport.Peer
}

/**
 * Runs for each call before the server sees it, and returns the call to serve: with other headers, for example, or the
 * identity that a proxy vouches for. The path cannot be changed. If it fails, the call ends with that status. Its scope
 * closes when the call has ended. No request is read before.
 *
 * @since 0.1.0
 */
export type Interceptor = (call: Call) => Effect.Effect<Call, Status.Status, Scope.Scope>
