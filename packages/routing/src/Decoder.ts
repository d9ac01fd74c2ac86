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
import type { Decoder } from "@effect-xds/discovery/Decoder"
import { make } from "@effect-xds/discovery/Decoder"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { Assignment } from "./Assignment.js"
import * as Assignments from "./Assignment.js"
import type { Cluster } from "./Cluster.js"
import * as Clusters from "./Cluster.js"
import type { Listener } from "./Listener.js"
import * as Listeners from "./Listener.js"
import type { PolicyRegistry } from "./PolicyRegistry.js"
import type { RouteScope } from "./RouteScope.js"
import * as RouteScopes from "./RouteScope.js"
import type { RouteTable } from "./RouteTable.js"
import * as RouteTables from "./RouteTable.js"
import type { VirtualHost } from "./VirtualHost.js"
import * as VirtualHosts from "./VirtualHost.js"

export type {
  /**
   * A resource type and what its bytes mean.
   *
   * @since 0.1.0
   */
  Decoder
} from "@effect-xds/discovery/Decoder"

/**
 * RouteConfigurations.
 *
 * @since 0.1.0
 */
export const routeConfiguration = (options?: RouteTables.Options): Decoder<RouteTable> =>
  make(RouteConfigurationSchema, (message) => RouteTables.make(message, options))

/**
 * Scopes of routes, with the routes that are in them (SRDS).
 *
 * @since 0.1.0
 */
export const routeScope = (options?: RouteTables.Options): Decoder<RouteScope> =>
  make(ScopedRouteConfigurationSchema, (message) => RouteScopes.make(message, options))

/**
 * Virtual hosts that are fetched one by one (VHDS), by `<route configuration>/<host>`.
 *
 * @since 0.1.0
 */
export const virtualHost = ({ filters = RouteTables.standard }: RouteTables.Options = {}): Decoder<VirtualHost> =>
  make(VirtualHostSchema, (message) => VirtualHosts.fetched(message, filters))

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
 * @param profile default: "grpc"
 * @since 0.1.0
 */
export const cluster = (registry?: PolicyRegistry, profile?: Clusters.Profile): Decoder<Cluster> =>
  make(ClusterSchema, (message) => Clusters.make(message, registry, profile))

/**
 * ClusterLoadAssignments.
 *
 * @since 0.1.0
 */
export const assignment: Decoder<Assignment> = make(ClusterLoadAssignmentSchema, Assignments.make)
