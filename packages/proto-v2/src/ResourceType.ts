/**
 * The resource types of Envoy's v2 API with their messages: the rows `v2` of the table `ResourceType` of `@effect-xds/proto`, by name.
 * The messages themselves are loaded on demand. v2 has no ECDS.
 *
 * @since 0.1.0
 */
import type { DescMessage } from "@bufbuild/protobuf"
import type { ResourceType } from "@effect-xds/proto/ResourceType"
import * as ResourceTypes from "@effect-xds/proto/ResourceType"
import type { SecretSchema } from "@effect-xds/proto-v2/envoy/api/v2/auth/secret"
import type { ClusterSchema } from "@effect-xds/proto-v2/envoy/api/v2/cluster"
import type { ClusterLoadAssignmentSchema } from "@effect-xds/proto-v2/envoy/api/v2/endpoint"
import type { ListenerSchema } from "@effect-xds/proto-v2/envoy/api/v2/listener"
import type { RouteConfigurationSchema } from "@effect-xds/proto-v2/envoy/api/v2/route"
import type { VirtualHostSchema } from "@effect-xds/proto-v2/envoy/api/v2/route/route_components"
import type { ScopedRouteConfigurationSchema } from "@effect-xds/proto-v2/envoy/api/v2/scoped_route"
import type { RuntimeSchema } from "@effect-xds/proto-v2/envoy/service/discovery/v2/rtds"

const inV2 = <Desc extends DescMessage>(type: ResourceType, load: () => Promise<Desc>): ResourceType<Desc> => {
  const row = ResourceTypes.v2.find(({ shortName }) => shortName === type.shortName)
  return { ...(row ?? type), load }
}

/**
 * LDS: `envoy.api.v2.Listener`.
 *
 * @since 0.1.0
 */
export const Listener: ResourceType<typeof ListenerSchema> = inV2(
  ResourceTypes.Listener,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/listener")).ListenerSchema
)

/**
 * RDS: `envoy.api.v2.RouteConfiguration`.
 *
 * @since 0.1.0
 */
export const RouteConfiguration: ResourceType<typeof RouteConfigurationSchema> = inV2(
  ResourceTypes.RouteConfiguration,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/route")).RouteConfigurationSchema
)

/**
 * SRDS: `envoy.api.v2.ScopedRouteConfiguration`.
 *
 * @since 0.1.0
 */
export const ScopedRouteConfiguration: ResourceType<typeof ScopedRouteConfigurationSchema> = inV2(
  ResourceTypes.ScopedRouteConfiguration,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/scoped_route")).ScopedRouteConfigurationSchema
)

/**
 * VHDS: `envoy.api.v2.route.VirtualHost`.
 *
 * @since 0.1.0
 */
export const VirtualHost: ResourceType<typeof VirtualHostSchema> = inV2(
  ResourceTypes.VirtualHost,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/route/route_components")).VirtualHostSchema
)

/**
 * CDS: `envoy.api.v2.Cluster`.
 *
 * @since 0.1.0
 */
export const Cluster: ResourceType<typeof ClusterSchema> = inV2(
  ResourceTypes.Cluster,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/cluster")).ClusterSchema
)

/**
 * EDS: `envoy.api.v2.ClusterLoadAssignment`.
 *
 * @since 0.1.0
 */
export const ClusterLoadAssignment: ResourceType<typeof ClusterLoadAssignmentSchema> = inV2(
  ResourceTypes.ClusterLoadAssignment,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/endpoint")).ClusterLoadAssignmentSchema
)

/**
 * SDS: `envoy.api.v2.auth.Secret`.
 *
 * @since 0.1.0
 */
export const Secret: ResourceType<typeof SecretSchema> = inV2(
  ResourceTypes.Secret,
  async () => (await import("@effect-xds/proto-v2/envoy/api/v2/auth/secret")).SecretSchema
)

/**
 * RTDS: `envoy.service.discovery.v2.Runtime`.
 *
 * @since 0.1.0
 */
export const Runtime: ResourceType<typeof RuntimeSchema> = inV2(
  ResourceTypes.Runtime,
  async () => (await import("@effect-xds/proto-v2/envoy/service/discovery/v2/rtds")).RuntimeSchema
)

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
export const aggregated = ResourceTypes.aggregatedV2

const types: ReadonlyMap<string, ResourceType> = new Map(all.map((type) => [type.typeUrl, type]))

/**
 * The resource type of v2 with this type URL, `undefined` for one that is not in the table.
 *
 * @since 0.1.0
 */
export const byTypeUrl = (typeUrl: string): ResourceType | undefined => types.get(typeUrl)
