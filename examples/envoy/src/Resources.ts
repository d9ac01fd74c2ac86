/** The resources of a small edge: listeners, routes, clusters and endpoints, for any variant of the protocol. */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { TransportSocketSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import {
  ApiConfigSource_ApiType,
  ApiConfigSourceSchema,
  ApiVersion,
  ConfigSourceSchema
} from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { OnDemandSchema } from "@effect-xds/proto/envoy/extensions/filters/http/on_demand/v3/on_demand"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import type { HttpConnectionManager } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import {
  HttpConnectionManagerSchema,
  type HttpFilterSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Bootstrap from "./Bootstrap.js"

const ads = { case: "ads", value: {} } as const

const duration = (milliseconds: number) => ({
  seconds: BigInt(Math.floor(milliseconds / 1000)),
  nanos: (milliseconds % 1000) * 1_000_000
})

const separate = ({ apiType, polling }: Bootstrap.Variant) => {
  const value = create(ApiConfigSourceSchema, {
    apiType: ApiConfigSource_ApiType[apiType],
    transportApiVersion: ApiVersion.V3,
    ...(polling === undefined
      ? {
          setNodeOnFirstMessageOnly: true,
          grpcServices: [{ targetSpecifier: { case: "envoyGrpc", value: { clusterName: Bootstrap.controlPlane } } }]
        }
      : {
          clusterNames: [Bootstrap.controlPlane],
          refreshDelay: duration(polling.refreshDelay),
          requestTimeout: duration(polling.requestTimeout)
        })
  })
  return { case: "apiConfigSource", value } as const
}

/** Where Envoy gets what a resource names: from its aggregated stream, or from a service of its own. */
export const source = (variant: Bootstrap.Variant): ConfigSource =>
  create(ConfigSourceSchema, {
    resourceApiVersion: ApiVersion.V3,
    configSourceSpecifier: variant.aggregated ? ads : separate(variant)
  })

const socketAddress = (hostAndPort: string) => {
  const [address = "", port = ""] = hostAndPort.split(":")
  return {
    address: {
      case: "socketAddress",
      value: { address, portSpecifier: { case: "portValue", value: Number(port) } }
    }
  } as const
}

export const router = {
  name: "router",
  configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) }
} as const

/** A listener on any free port, whose requests go through an HttpConnectionManager; without a transport socket in plain text. */
export const listener = (
  name: string,
  manager: HttpConnectionManager,
  transportSocket?: MessageInitShape<typeof TransportSocketSchema>
): Listener =>
  create(ListenerSchema, {
    name,
    address: socketAddress("127.0.0.1:0"),
    filterChains: [
      {
        ...(transportSocket !== undefined && { transportSocket }),
        filters: [
          {
            name: "http",
            configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) }
          }
        ]
      }
    ]
  })

/** A filter that fetches what a request needs and Envoy does not have yet; it comes before the router. */
export const onDemand = (options: MessageInitShape<typeof OnDemandSchema> = {}) =>
  ({
    name: "on_demand",
    configType: { case: "typedConfig", value: anyPack(OnDemandSchema, create(OnDemandSchema, options)) }
  }) as const

/** An HttpConnectionManager that gets its routes by RDS; `filters` come before the router. */
export const manager = (
  variant: Bootstrap.Variant,
  routeConfigName: string,
  filters: ReadonlyArray<MessageInitShape<typeof HttpFilterSchema>> = []
): HttpConnectionManager =>
  create(HttpConnectionManagerSchema, {
    statPrefix: "edge",
    routeSpecifier: { case: "rds", value: { routeConfigName, configSource: source(variant) } },
    httpFilters: [...filters, router]
  })

/** A virtual host whose requests are divided between clusters by weight. */
export const virtualHost = (
  name: string,
  domains: ReadonlyArray<string>,
  weights: Readonly<Record<string, number>>
): VirtualHost =>
  create(VirtualHostSchema, {
    name,
    domains: [...domains],
    routes: [
      {
        match: { pathSpecifier: { case: "prefix", value: "/" } },
        action: {
          case: "route",
          value: {
            clusterSpecifier: {
              case: "weightedClusters",
              value: { clusters: Object.entries(weights).map(([name, weight]) => ({ name, weight })) }
            }
          }
        }
      }
    ]
  })

/** Routes of all hosts, divided between clusters by weight. */
export const route = (name: string, weights: Readonly<Record<string, number>>): RouteConfiguration =>
  create(RouteConfigurationSchema, { name, virtualHosts: [virtualHost("all", ["*"], weights)] })

/** A cluster that gets its endpoints by EDS. */
export const cluster = (variant: Bootstrap.Variant, name: string, connectTimeoutSeconds = 5): Cluster =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    connectTimeout: { seconds: BigInt(connectTimeoutSeconds) },
    edsClusterConfig: { edsConfig: source(variant) }
  })

export const assignment = (clusterName: string, addresses: ReadonlyArray<string>): ClusterLoadAssignment =>
  create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [
      {
        lbEndpoints: addresses.map((address) => {
          const endpoint = { case: "endpoint", value: { address: socketAddress(address) } } as const
          return { hostIdentifier: endpoint }
        })
      }
    ]
  })
