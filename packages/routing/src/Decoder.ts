/**
 * How the bytes of a resource become what routing uses: what gRPC clients reject is rejected, with the same path, reason
 * and words as {@link RouteError}.
 *
 * A decoder is what `WatchableType.make` of `@effect-xds/client` takes. So a resource with a mistake is named in the NACK,
 * and the others of its response are used.
 *
 * @see https://github.com/grpc/proposal/blob/master/A46-xds-nack-semantics-improvement.md
 * @since 0.1.0
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import * as Reason from "@effect-xds/proto/Reason"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import * as Either from "effect/Either"
import type { Assignment } from "./Assignment.js"
import * as Assignments from "./Assignment.js"
import type { Cluster } from "./Cluster.js"
import * as Clusters from "./Cluster.js"
import type { Listener } from "./Listener.js"
import * as Listeners from "./Listener.js"
import type { PolicyRegistry } from "./PolicyRegistry.js"
import type { RouteError } from "./RouteError.js"
import { format } from "./RouteError.js"
import type { RouteTable } from "./RouteTable.js"
import * as RouteTables from "./RouteTable.js"

/**
 * A resource type and what its bytes mean.
 *
 * @since 0.1.0
 */
export interface Decoder<out A> {
  readonly typeUrl: string
  /** Left: why the resource cannot be used, for a NACK; all its mistakes. Does not throw. */
  readonly decode: (bytes: Uint8Array) => Either.Either<A, string>
}

const make = <Desc extends DescMessage, A>(
  schema: Desc,
  read: (message: MessageShape<Desc>) => Either.Either<A, ReadonlyArray<RouteError>>
): Decoder<A> => ({
  typeUrl: `type.googleapis.com/${schema.typeName}`,
  decode: (bytes) => {
    let message: MessageShape<Desc>
    try {
      message = fromBinary(schema, bytes)
    } catch (cause) {
      return Either.left(`not a ${schema.typeName}: ${Reason.of(cause)}`)
    }
    return Either.mapLeft(read(message), format)
  }
})

/**
 * RouteConfigurations.
 *
 * @since 0.1.0
 */
export const routeConfiguration = (options?: RouteTables.Options): Decoder<RouteTable> =>
  make(RouteConfigurationSchema, (message) => RouteTables.make(message, options))

/**
 * Listeners of clients, with the routes that are in them. ★ One of sockets is for servers, and rejected.
 *
 * @since 0.1.0
 */
export const listener = (options?: RouteTables.Options): Decoder<Listener> =>
  make(ListenerSchema, (message) => Listeners.make(message, options))

/**
 * Clusters.
 *
 * @param registry load-balancing policies that can be asked for; default: those of gRPC
 * @since 0.1.0
 */
export const cluster = (registry?: PolicyRegistry): Decoder<Cluster> =>
  make(ClusterSchema, (message) => Clusters.make(message, registry))

/**
 * ClusterLoadAssignments.
 *
 * @since 0.1.0
 */
export const assignment: Decoder<Assignment> = make(ClusterLoadAssignmentSchema, Assignments.make)
