/**
 * The table of xDS resource types: their type URLs, services, families and order. Plain data: the message types
 * themselves are loaded on demand.
 *
 * The types of Envoy's v2 API are rows of their own: the same services, with other messages, of `@effect-xds/proto-v2`.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { FieldScan } from "./FieldScan.js"
import type { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { TypedExtensionConfigSchema } from "@effect-xds/proto/envoy/config/core/v3/extension"
import type { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { LbEndpointSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import type { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { FilterChainSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import type { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import type { RuntimeSchema } from "@effect-xds/proto/envoy/service/runtime/v3/rtds"

/**
 * A version of Envoy's API.
 *
 * @since 0.1.0
 */
export type Api = "v2" | "v3"

/**
 * One resource type of the protocol ("xDS REST and gRPC protocol", section "Resource Types").
 *
 * @since 0.1.0
 */
export interface ResourceType<Desc extends DescMessage = DescMessage> {
  /** `type.googleapis.com/` and the type name. */
  readonly typeUrl: string
  /** The full name of the message: `envoy.config.cluster.v3.Cluster`. */
  readonly typeName: string
  /** The version of Envoy's API that the message is of. */
  readonly api: Api
  /** The name of its discovery service in short: `CDS`. */
  readonly shortName: "LDS" | "FCDS" | "RDS" | "SRDS" | "VHDS" | "CDS" | "EDS" | "LEDS" | "SDS" | "RTDS" | "ECDS"
  /** The property of the message that holds the resource's name; an endpoint (LEDS) holds none, its name is beside it. */
  readonly nameField: "name" | "clusterName" | undefined
  /** The number of that field: 1, for FCDS 7. */
  readonly nameNumber: number | undefined
  /**
   * What a state-of-the-world response means for resources that are not in it. `full-state`: they are deleted.
   * `by-name`: they are unchanged.
   */
  readonly family: "full-state" | "by-name"
  /** Where additions of this type stand among those of other types on one aggregated stream, lowest first. */
  readonly order: number
  /** Whether a first request without names subscribes to every resource of the type. */
  readonly wildcardByDefault: boolean
  /** The full name of the separate gRPC service; FCDS has none, it is aggregated. */
  readonly service: string | undefined
  /** Its state-of-the-world method; VHDS and LEDS have none. */
  readonly stream: string | undefined
  /** Its incremental method. */
  readonly delta: string | undefined
  /** Its unary method; VHDS and LEDS have none. */
  readonly fetch: string | undefined
  /** The HTTP path of the unary method; VHDS and LEDS have none. */
  readonly restPath: string | undefined
  /** Imports the generated module and gives the message's descriptor. */
  readonly load: () => Promise<Desc>
}

/**
 * LDS: `envoy.config.listener.v3.Listener`.
 *
 * @since 0.1.0
 */
export const Listener: ResourceType<typeof ListenerSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.listener.v3.Listener",
  typeName: "envoy.config.listener.v3.Listener",
  api: "v3",
  shortName: "LDS",
  nameField: "name",
  nameNumber: 1,
  family: "full-state",
  order: 6,
  wildcardByDefault: true,
  service: "envoy.service.listener.v3.ListenerDiscoveryService",
  stream: "StreamListeners",
  delta: "DeltaListeners",
  fetch: "FetchListeners",
  restPath: "/v3/discovery:listeners",
  load: async () => (await import("@effect-xds/proto/envoy/config/listener/v3/listener")).ListenerSchema
}

/**
 * FCDS: `envoy.config.listener.v3.FilterChain`, which a listener names in `fcds_config`. It has no service of its own: it
 * is on the aggregated stream.
 *
 * @since 0.1.0
 */
export const FilterChain: ResourceType<typeof FilterChainSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.listener.v3.FilterChain",
  typeName: "envoy.config.listener.v3.FilterChain",
  api: "v3",
  shortName: "FCDS",
  nameField: "name",
  nameNumber: 7,
  family: "by-name",
  order: 7,
  wildcardByDefault: false,
  service: undefined,
  stream: undefined,
  delta: undefined,
  fetch: undefined,
  restPath: undefined,
  load: async () => (await import("@effect-xds/proto/envoy/config/listener/v3/listener_components")).FilterChainSchema
}

/**
 * RDS: `envoy.config.route.v3.RouteConfiguration`.
 *
 * @since 0.1.0
 */
export const RouteConfiguration: ResourceType<typeof RouteConfigurationSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
  typeName: "envoy.config.route.v3.RouteConfiguration",
  api: "v3",
  shortName: "RDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 8,
  wildcardByDefault: true,
  service: "envoy.service.route.v3.RouteDiscoveryService",
  stream: "StreamRoutes",
  delta: "DeltaRoutes",
  fetch: "FetchRoutes",
  restPath: "/v3/discovery:routes",
  load: async () => (await import("@effect-xds/proto/envoy/config/route/v3/route")).RouteConfigurationSchema
}

/**
 * SRDS: `envoy.config.route.v3.ScopedRouteConfiguration`.
 *
 * @since 0.1.0
 */
export const ScopedRouteConfiguration: ResourceType<typeof ScopedRouteConfigurationSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.route.v3.ScopedRouteConfiguration",
  typeName: "envoy.config.route.v3.ScopedRouteConfiguration",
  api: "v3",
  shortName: "SRDS",
  nameField: "name",
  nameNumber: 1,
  family: "full-state",
  order: 9,
  wildcardByDefault: true,
  service: "envoy.service.route.v3.ScopedRoutesDiscoveryService",
  stream: "StreamScopedRoutes",
  delta: "DeltaScopedRoutes",
  fetch: "FetchScopedRoutes",
  restPath: "/v3/discovery:scoped-routes",
  load: async () =>
    (await import("@effect-xds/proto/envoy/config/route/v3/scoped_route")).ScopedRouteConfigurationSchema
}

/**
 * VHDS: `envoy.config.route.v3.VirtualHost`. The name of the resource is `<route configuration>/<host>`, which is not
 * the name inside the message.
 *
 * @since 0.1.0
 */
export const VirtualHost: ResourceType<typeof VirtualHostSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.route.v3.VirtualHost",
  typeName: "envoy.config.route.v3.VirtualHost",
  api: "v3",
  shortName: "VHDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 10,
  wildcardByDefault: false,
  service: "envoy.service.route.v3.VirtualHostDiscoveryService",
  stream: undefined,
  delta: "DeltaVirtualHosts",
  fetch: undefined,
  restPath: undefined,
  load: async () => (await import("@effect-xds/proto/envoy/config/route/v3/route_components")).VirtualHostSchema
}

/**
 * CDS: `envoy.config.cluster.v3.Cluster`.
 *
 * @since 0.1.0
 */
export const Cluster: ResourceType<typeof ClusterSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  typeName: "envoy.config.cluster.v3.Cluster",
  api: "v3",
  shortName: "CDS",
  nameField: "name",
  nameNumber: 1,
  family: "full-state",
  order: 2,
  wildcardByDefault: true,
  service: "envoy.service.cluster.v3.ClusterDiscoveryService",
  stream: "StreamClusters",
  delta: "DeltaClusters",
  fetch: "FetchClusters",
  restPath: "/v3/discovery:clusters",
  load: async () => (await import("@effect-xds/proto/envoy/config/cluster/v3/cluster")).ClusterSchema
}

/**
 * EDS: `envoy.config.endpoint.v3.ClusterLoadAssignment`.
 *
 * @since 0.1.0
 */
export const ClusterLoadAssignment: ResourceType<typeof ClusterLoadAssignmentSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
  typeName: "envoy.config.endpoint.v3.ClusterLoadAssignment",
  api: "v3",
  shortName: "EDS",
  nameField: "clusterName",
  nameNumber: 1,
  family: "by-name",
  order: 3,
  wildcardByDefault: true,
  service: "envoy.service.endpoint.v3.EndpointDiscoveryService",
  stream: "StreamEndpoints",
  delta: "DeltaEndpoints",
  fetch: "FetchEndpoints",
  restPath: "/v3/discovery:endpoints",
  load: async () => (await import("@effect-xds/proto/envoy/config/endpoint/v3/endpoint")).ClusterLoadAssignmentSchema
}

/**
 * LEDS: `envoy.config.endpoint.v3.LbEndpoint`, one endpoint of a locality. Incremental only; an assignment names the
 * collection in `leds_cluster_locality_config`.
 *
 * @since 0.1.0
 */
export const LbEndpoint: ResourceType<typeof LbEndpointSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.endpoint.v3.LbEndpoint",
  typeName: "envoy.config.endpoint.v3.LbEndpoint",
  api: "v3",
  shortName: "LEDS",
  nameField: undefined,
  nameNumber: undefined,
  family: "by-name",
  order: 4,
  wildcardByDefault: false,
  service: "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService",
  stream: undefined,
  delta: "DeltaLocalityEndpoints",
  fetch: undefined,
  restPath: undefined,
  load: async () => (await import("@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components")).LbEndpointSchema
}

/**
 * SDS: `envoy.extensions.transport_sockets.tls.v3.Secret`.
 *
 * @since 0.1.0
 */
export const Secret: ResourceType<typeof SecretSchema> = {
  typeUrl: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
  typeName: "envoy.extensions.transport_sockets.tls.v3.Secret",
  api: "v3",
  shortName: "SDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 1,
  wildcardByDefault: true,
  service: "envoy.service.secret.v3.SecretDiscoveryService",
  stream: "StreamSecrets",
  delta: "DeltaSecrets",
  fetch: "FetchSecrets",
  restPath: "/v3/discovery:secrets",
  load: async () => (await import("@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret")).SecretSchema
}

/**
 * RTDS: `envoy.service.runtime.v3.Runtime`.
 *
 * @since 0.1.0
 */
export const Runtime: ResourceType<typeof RuntimeSchema> = {
  typeUrl: "type.googleapis.com/envoy.service.runtime.v3.Runtime",
  typeName: "envoy.service.runtime.v3.Runtime",
  api: "v3",
  shortName: "RTDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 0,
  wildcardByDefault: true,
  service: "envoy.service.runtime.v3.RuntimeDiscoveryService",
  stream: "StreamRuntime",
  delta: "DeltaRuntime",
  fetch: "FetchRuntime",
  restPath: "/v3/discovery:runtime",
  load: async () => (await import("@effect-xds/proto/envoy/service/runtime/v3/rtds")).RuntimeSchema
}

/**
 * ECDS: `envoy.config.core.v3.TypedExtensionConfig`.
 *
 * @since 0.1.0
 */
export const TypedExtensionConfig: ResourceType<typeof TypedExtensionConfigSchema> = {
  typeUrl: "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
  typeName: "envoy.config.core.v3.TypedExtensionConfig",
  api: "v3",
  shortName: "ECDS",
  nameField: "name",
  nameNumber: 1,
  family: "by-name",
  order: 5,
  wildcardByDefault: true,
  service: "envoy.service.extension.v3.ExtensionConfigDiscoveryService",
  stream: "StreamExtensionConfigs",
  delta: "DeltaExtensionConfigs",
  fetch: "FetchExtensionConfigs",
  restPath: "/v3/discovery:extension_configs",
  load: async () => (await import("@effect-xds/proto/envoy/config/core/v3/extension")).TypedExtensionConfigSchema
}

/**
 * Every resource type, in `order`.
 *
 * @since 0.1.0
 */
export const all: ReadonlyArray<ResourceType> = [
  Runtime,
  Secret,
  Cluster,
  ClusterLoadAssignment,
  LbEndpoint,
  TypedExtensionConfig,
  Listener,
  FilterChain,
  RouteConfiguration,
  ScopedRouteConfiguration,
  VirtualHost
]

const older = (type: ResourceType, typeName: string, service: string): ResourceType => ({
  ...type,
  typeName,
  typeUrl: `type.googleapis.com/${typeName}`,
  api: "v2",
  service,
  restPath: type.restPath?.replace("/v3/", "/v2/"),
  load: async () => {
    const { load } = await import("./TypeRegistry.js")
    const schema = await load(typeName)
    if (schema === undefined) throw new Error(`${typeName} is of the v2 API: ${howToLoad}`)
    return schema
  }
})

const howToLoad =
  "TypeRegistry.add(GeneratedTypes.types), of @effect-xds/proto and @effect-xds/proto-v2, makes its types known"

/**
 * Every resource type of Envoy's v2 API, in `order`. Their messages are those of `@effect-xds/proto-v2`, whose `ResourceType` loads them
 * at once; here `load` rejects before `TypeRegistry.add` was given that package's `GeneratedTypes`. v2 has no ECDS.
 *
 * @since 0.1.0
 */
export const v2: ReadonlyArray<ResourceType> = [
  older(Runtime, "envoy.service.discovery.v2.Runtime", "envoy.service.discovery.v2.RuntimeDiscoveryService"),
  older(Secret, "envoy.api.v2.auth.Secret", "envoy.service.discovery.v2.SecretDiscoveryService"),
  older(Cluster, "envoy.api.v2.Cluster", "envoy.api.v2.ClusterDiscoveryService"),
  older(ClusterLoadAssignment, "envoy.api.v2.ClusterLoadAssignment", "envoy.api.v2.EndpointDiscoveryService"),
  older(Listener, "envoy.api.v2.Listener", "envoy.api.v2.ListenerDiscoveryService"),
  older(RouteConfiguration, "envoy.api.v2.RouteConfiguration", "envoy.api.v2.RouteDiscoveryService"),
  older(ScopedRouteConfiguration, "envoy.api.v2.ScopedRouteConfiguration", "envoy.api.v2.ScopedRoutesDiscoveryService"),
  older(VirtualHost, "envoy.api.v2.route.VirtualHost", "envoy.api.v2.VirtualHostDiscoveryService")
]

/**
 * The aggregated discovery service (ADS): every type on one stream.
 *
 * @since 0.1.0
 */
export const aggregated = {
  service: "envoy.service.discovery.v3.AggregatedDiscoveryService",
  stream: "StreamAggregatedResources",
  delta: "DeltaAggregatedResources"
} as const

/**
 * {@link aggregated} of the v2 API.
 *
 * @since 0.1.0
 */
export const aggregatedV2 = { ...aggregated, service: "envoy.service.discovery.v2.AggregatedDiscoveryService" } as const

/**
 * Every resource type of v3, then of v2.
 *
 * @since 0.1.0
 */
export const ofAllApis: ReadonlyArray<ResourceType> = [...all, ...v2]

const types: ReadonlyMap<string, ResourceType> = new Map(ofAllApis.map((type) => [type.typeUrl, type]))

/** The type URLs of v2. */
const olderTypeUrls: Readonly<Partial<Record<ResourceType["shortName"], string>>> = Object.fromEntries(
  v2.map(({ shortName, typeUrl }) => [shortName, typeUrl])
)

/**
 * The resource type with this type URL, `undefined` for one that is not in the table.
 *
 * @since 0.1.0
 */
export const byTypeUrl = (typeUrl: string): ResourceType | undefined => types.get(typeUrl)

/**
 * Whether a type URL is that of a type, or of what it was in v2: the rules of the protocol are the same for both.
 *
 * @param type of v3
 * @since 0.1.0
 */
export const isOf = (typeUrl: string, type: ResourceType): boolean =>
  typeUrl === type.typeUrl || typeUrl === olderTypeUrls[type.shortName]

/**
 * The type URL of a type in a version of the API; of a type that v2 does not have, that of v3.
 *
 * @param type of v3
 * @since 0.1.0
 */
export const typeUrlIn = (api: Api | undefined, type: ResourceType): string =>
  api === "v2" ? (olderTypeUrls[type.shortName] ?? type.typeUrl) : type.typeUrl

/**
 * {@link typeUrlIn} the version that another type URL is of: the endpoints for clusters of v2 are of v2. Beside a type that is not in the
 * table it is v3.
 *
 * @param type of v3
 * @since 0.1.0
 */
export const besides = (typeUrl: string, type: ResourceType): string => typeUrlIn(types.get(typeUrl)?.api, type)

/**
 * How a type is called in messages to people: `CDS`, or the name in the type URL for one that is not in the table.
 *
 * @since 0.1.0
 */
export const shortNameOf = (typeUrl: string): string =>
  types.get(typeUrl)?.shortName ?? typeUrl.slice(typeUrl.lastIndexOf("/") + 1)

/**
 * The name in a resource of one of these types, `undefined` when the message is not of the type or the type holds no name.
 *
 * @since 0.1.0
 */
export const nameOf = (type: ResourceType, message: Message): string | undefined => {
  if (message.$typeName !== type.typeName || type.nameField === undefined) return undefined
  const name: unknown = Reflect.get(message, type.nameField)
  return typeof name === "string" ? name : undefined
}

/**
 * The name in an encoded resource, read without loading the type. Empty when the field is not there, `undefined` when the
 * bytes are not a protobuf message with a string in that field.
 *
 * @param probable what the name probably is: it is compared then, which takes less than to make it
 * @param number of the field: `nameNumber` of the type
 * @since 0.1.0
 */
export const nameOfBytes = (bytes: Uint8Array, probable?: string, number = 1): string | undefined => {
  const scan = new FieldScan(bytes)
  let name: string | undefined = ""
  while (scan.next()) {
    if (scan.number !== number) continue
    if (scan.wireType !== lengthDelimited) return nameByReader(bytes, number)
    name = scan.text(probable)
  }
  return scan.isSure ? name : nameByReader(bytes, number)
}

const lengthDelimited: number = WireType.LengthDelimited

const nameByReader = (bytes: Uint8Array, number: number): string | undefined => {
  try {
    const reader = new BinaryReader(bytes)
    let name = ""
    while (reader.pos < reader.len) {
      const [field, wireType] = reader.tag()
      if (field !== number) reader.skip(wireType, field)
      else if (wireType === WireType.LengthDelimited) name = reader.string(true)
      else return undefined
    }
    return reader.pos === reader.len ? name : undefined
  } catch {
    return undefined
  }
}
