/**
 * What stands before every call of a server: it may refuse it, change what the server is told of it, and hear of its end.
 *
 * @since 0.1.0
 */
import type { ServerTransport, Status } from "@effect-xds/transport"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * A call before it is served: a stream or a unary call of xDS, of health checking and reflection, or of a further service.
 *
 * @since 0.1.0
 */
export interface Call {
  /** Which method: `/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources`. */
  readonly path: string
  /** The request headers, names in lower case; values of a repeated name joined with `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly peer: ServerTransport.Peer
}

/**
 * Given each call before the server hears of it. What it gives is what the server is told: other headers, or the identity
 * that a proxy vouches for; the path stays. Where it fails, the call ends with that status. Its scope closes when the call
 * has ended. Nothing of the request is read before.
 *
 * @since 0.1.0
 */
export type Interceptor = (call: Call) => Effect.Effect<Call, Status.Status, Scope.Scope>
