/** What the two versions of the backend get, for Envoys and for gRPC clients. */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ApiVersion, ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { Http2ProtocolOptionsSchema } from "@effect-xds/proto/envoy/config/core/v3/protocol"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import type { Snapshot } from "@effect-xds/server"

export const versions = ["v1", "v2"] as const

export type Version = (typeof versions)[number]

/** The ports of the versions on this machine. */
export type Ports = Readonly<Record<Version, number>>

const inAggregate = { case: "ads", value: {} } as const
const ads = create(ConfigSourceSchema, { resourceApiVersion: ApiVersion.V3, configSourceSpecifier: inAggregate })

const http2 = anyPack(
  HttpProtocolOptionsSchema,
  create(HttpProtocolOptionsSchema, {
    upstreamProtocolOptions: {
      case: "explicitHttpConfig",
      value: { protocolConfig: { case: "http2ProtocolOptions", value: create(Http2ProtocolOptionsSchema) } }
    }
  })
)

const socketAddress = (portValue: number) =>
  ({
    case: "socketAddress",
    value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: portValue } }
  }) as const

/** The group `shared`, which the others are over: all calls go to one version. */
export const shared = (to: Version, ports: Ports): Snapshot.Snapshot => ({
  clusters: versions.map((name) =>
    create(ClusterSchema, {
      name,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      edsClusterConfig: { edsConfig: ads },
      connectTimeout: { seconds: 5n },
      typedExtensionProtocolOptions: { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2 }
    })
  ),
  endpoints: versions.map((clusterName) => {
    const endpoint = { case: "endpoint", value: { address: { address: socketAddress(ports[clusterName]) } } } as const
    return create(ClusterLoadAssignmentSchema, {
      clusterName,
      endpoints: [{ locality: {}, loadBalancingWeight: 1, lbEndpoints: [{ hostIdentifier: endpoint }] }]
    })
  }),
  routes: routes(to)
})

export const routes = (to: Version) => [
  create(RouteConfigurationSchema, {
    name: "greeter",
    virtualHosts: [
      {
        name: "greeter",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: to } } }
          }
        ]
      }
    ]
  })
]

const manager = anyPack(
  HttpConnectionManagerSchema,
  create(HttpConnectionManagerSchema, {
    statPrefix: "greeter",
    routeSpecifier: { case: "rds", value: { routeConfigName: "greeter", configSource: ads } },
    httpFilters: [
      { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } }
    ]
  })
)

/** The group `edge`, for Envoys: a listener on any port. */
export const edge: Snapshot.Snapshot = {
  over: "shared",
  listeners: [
    create(ListenerSchema, {
      name: "ingress",
      address: { address: socketAddress(0) },
      filterChains: [{ filters: [{ name: "http", configType: { case: "typedConfig", value: manager } }] }]
    })
  ]
}

/** The group `mesh`, for gRPC clients of `xds:///greeter`. */
export const mesh: Snapshot.Snapshot = {
  over: "shared",
  listeners: [create(ListenerSchema, { name: "greeter", apiListener: { apiListener: manager } })]
}
