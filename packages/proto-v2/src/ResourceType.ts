/**
 * The table of the resource types of Envoy's v2 API: their type URLs, services, families and order, in the words of
 * `ResourceType` of `@effect-xds/proto`. Plain data: the message types themselves are loaded on demand. v2 has no ECDS.
 *
 * @since 0.1.0
 */
import type { ResourceType } from "@effect-xds/proto/ResourceType"
import type { SecretSchema } from "@effect-xds/proto-v2/envoy/api/v2/auth/secret"
import type { ClusterSchema } from "@effect-xds/proto-v2/envoy/api/v2/cluster"
import type { ClusterLoadAssignmentSchema } from "@effect-xds/proto-v2/envoy/api/v2/endpoint"
import type { ListenerSchema } from "@effect-xds/proto-v2/envoy/api/v2/listener"
import type { RouteConfigurationSchema } from "@effect-xds/proto-v2/envoy/api/v2/route"
import type { VirtualHostSchema } from "@effect-xds/proto-v2/envoy/api/v2/route/route_components"
import type { ScopedRouteConfigurationSchema } from "@effect-xds/proto-v2/envoy/api/v2/scoped_route"
import type { RuntimeSchema } from "@effect-xds/proto-v2/envoy/service/discovery/v2/rtds"

/**
 * LDS: `envoy.api.v2.Listener`.
 *
 * @since 0.1.0
 */
export const Listener: ResourceType<typeof ListenerSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.Listener",
  typeName: "envoy.api.v2.Listener",
  shortName: "LDS",
  nameField: "name",
  nameNumber: 1,
  family: "full-state",
  order: 6,
  wildcardByDefault: true,
  service: "envoy.api.v2.ListenerDiscoveryService",
  stream: "StreamListeners",
  delta: "DeltaListeners",
  fetch: "FetchListeners",
  restPath: "/v2/discovery:listeners",
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/listener")).ListenerSchema
}

/**
 * RDS: `envoy.api.v2.RouteConfiguration`.
 *
 * @since 0.1.0
 */
export const RouteConfiguration: ResourceType<typeof RouteConfigurationSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.RouteConfiguration",
  typeName: "envoy.api.v2.RouteConfiguration",
  shortName: "RDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 8,
  wildcardByDefault: true,
  service: "envoy.api.v2.RouteDiscoveryService",
  stream: "StreamRoutes",
  delta: "DeltaRoutes",
  fetch: "FetchRoutes",
  restPath: "/v2/discovery:routes",
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/route")).RouteConfigurationSchema
}

/**
 * SRDS: `envoy.api.v2.ScopedRouteConfiguration`.
 *
 * @since 0.1.0
 */
export const ScopedRouteConfiguration: ResourceType<typeof ScopedRouteConfigurationSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.ScopedRouteConfiguration",
  typeName: "envoy.api.v2.ScopedRouteConfiguration",
  shortName: "SRDS",
  nameField: "name",
  nameNumber: 1,
  family: "full-state",
  order: 9,
  wildcardByDefault: true,
  service: "envoy.api.v2.ScopedRoutesDiscoveryService",
  stream: "StreamScopedRoutes",
  delta: "DeltaScopedRoutes",
  fetch: "FetchScopedRoutes",
  restPath: "/v2/discovery:scoped-routes",
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/scoped_route")).ScopedRouteConfigurationSchema
}

/**
 * VHDS: `envoy.api.v2.route.VirtualHost`.
 *
 * @since 0.1.0
 */
export const VirtualHost: ResourceType<typeof VirtualHostSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.route.VirtualHost",
  typeName: "envoy.api.v2.route.VirtualHost",
  shortName: "VHDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 10,
  wildcardByDefault: false,
  service: "envoy.api.v2.VirtualHostDiscoveryService",
  stream: undefined,
  delta: "DeltaVirtualHosts",
  fetch: undefined,
  restPath: undefined,
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/route/route_components")).VirtualHostSchema
}

/**
 * CDS: `envoy.api.v2.Cluster`.
 *
 * @since 0.1.0
 */
export const Cluster: ResourceType<typeof ClusterSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.Cluster",
  typeName: "envoy.api.v2.Cluster",
  shortName: "CDS",
  nameField: "name",
  nameNumber: 1,
  family: "full-state",
  order: 2,
  wildcardByDefault: true,
  service: "envoy.api.v2.ClusterDiscoveryService",
  stream: "StreamClusters",
  delta: "DeltaClusters",
  fetch: "FetchClusters",
  restPath: "/v2/discovery:clusters",
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/cluster")).ClusterSchema
}

/**
 * EDS: `envoy.api.v2.ClusterLoadAssignment`.
 *
 * @since 0.1.0
 */
export const ClusterLoadAssignment: ResourceType<typeof ClusterLoadAssignmentSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.ClusterLoadAssignment",
  typeName: "envoy.api.v2.ClusterLoadAssignment",
  shortName: "EDS",
  nameField: "clusterName",
  nameNumber: 1,
  family: "by-name",
  order: 3,
  wildcardByDefault: true,
  service: "envoy.api.v2.EndpointDiscoveryService",
  stream: "StreamEndpoints",
  delta: "DeltaEndpoints",
  fetch: "FetchEndpoints",
  restPath: "/v2/discovery:endpoints",
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/endpoint")).ClusterLoadAssignmentSchema
}

/**
 * SDS: `envoy.api.v2.auth.Secret`.
 *
 * @since 0.1.0
 */
export const Secret: ResourceType<typeof SecretSchema> = {
  typeUrl: "type.googleapis.com/envoy.api.v2.auth.Secret",
  typeName: "envoy.api.v2.auth.Secret",
  shortName: "SDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 1,
  wildcardByDefault: true,
  service: "envoy.service.discovery.v2.SecretDiscoveryService",
  stream: "StreamSecrets",
  delta: "DeltaSecrets",
  fetch: "FetchSecrets",
  restPath: "/v2/discovery:secrets",
  load: async () => (await import("@effect-xds/proto-v2/envoy/api/v2/auth/secret")).SecretSchema
}

/**
 * RTDS: `envoy.service.discovery.v2.Runtime`.
 *
 * @since 0.1.0
 */
export const Runtime: ResourceType<typeof RuntimeSchema> = {
  typeUrl: "type.googleapis.com/envoy.service.discovery.v2.Runtime",
  typeName: "envoy.service.discovery.v2.Runtime",
  shortName: "RTDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 0,
  wildcardByDefault: true,
  service: "envoy.service.discovery.v2.RuntimeDiscoveryService",
  stream: "StreamRuntime",
  delta: "DeltaRuntime",
  fetch: "FetchRuntime",
  restPath: "/v2/discovery:runtime",
  load: async () => (await import("@effect-xds/proto-v2/envoy/service/discovery/v2/rtds")).RuntimeSchema
}

/**
 * Every resource type of v2, in `order`.
 *
 * @since 0.1.0
 */
export const all: ReadonlyArray<ResourceType> = [
  Runtime,
  Secret,
  Cluster,
  ClusterLoadAssignment,
  Listener,
  RouteConfiguration,
  ScopedRouteConfiguration,
  VirtualHost
]

/**
 * The aggregated discovery service (ADS): every type on one stream.
 *
 * @since 0.1.0
 */
export const aggregated = {
  service: "envoy.service.discovery.v2.AggregatedDiscoveryService",
  stream: "StreamAggregatedResources",
  delta: "DeltaAggregatedResources"
} as const

const types: ReadonlyMap<string, ResourceType> = new Map(all.map((type) => [type.typeUrl, type]))

/**
 * The resource type of v2 with this type URL, `undefined` for one that is not in the table.
 *
 * @since 0.1.0
 */
export const byTypeUrl = (typeUrl: string): ResourceType | undefined => types.get(typeUrl)
