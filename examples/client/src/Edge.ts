/** What the demo's control plane is to serve, in short, and the resources that say it to a client. */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type { Snapshot } from "@effect-xds/server"
import * as Schema from "effect/Schema"

/** Cluster → its share of the requests and its endpoints; without these it is a cluster that waits for them. */
const Edge = Schema.Record({
  key: Schema.String,
  value: Schema.Struct({ weight: Schema.Int, endpoints: Schema.optional(Schema.Array(Schema.String)) })
})
export type Edge = typeof Edge.Type

const FromLine = Schema.parseJson(Edge)
export const decode = Schema.decode(FromLine)
export const encode = Schema.encodeSync(FromLine)

const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const

const socketAddress = (hostAndPort: string) => {
  const [address = "", port = "0"] = hostAndPort.split(":")
  const value = { address, portSpecifier: { case: "portValue", value: Number(port) } } as const
  return { address: { case: "socketAddress", value } } as const
}

const manager = create(HttpConnectionManagerSchema, {
  statPrefix: "ingress",
  routeSpecifier: { case: "rds", value: { routeConfigName: "main", configSource: ads } }
})

const listener = create(ListenerSchema, {
  name: "ingress",
  address: socketAddress("0.0.0.0:10000"),
  filterChains: [
    {
      filters: [
        { name: "http", configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } }
      ]
    }
  ]
})

const route = (edge: Edge) => {
  const clusters = Object.entries(edge).map(([name, { weight }]) => ({ name, weight }))
  const clusterSpecifier = { case: "weightedClusters", value: { clusters } } as const
  return create(RouteConfigurationSchema, {
    name: "main",
    virtualHosts: [
      {
        name: "main",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            action: { case: "route", value: { clusterSpecifier } }
          }
        ]
      }
    ]
  })
}

const cluster = (name: string) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads }
  })

const endpoint = (hostAndPort: string) =>
  ({ hostIdentifier: { case: "endpoint", value: { address: socketAddress(hostAndPort) } } }) as const

const assignment = (clusterName: string, addresses: ReadonlyArray<string>) =>
  create(ClusterLoadAssignmentSchema, { clusterName, endpoints: [{ lbEndpoints: addresses.map(endpoint) }] })

export const toSnapshot = (edge: Edge): Snapshot.Snapshot => ({
  listeners: [listener],
  routes: [route(edge)],
  clusters: Object.keys(edge).map(cluster),
  endpoints: Object.entries(edge).flatMap(([name, { endpoints }]) =>
    endpoints === undefined ? [] : [assignment(name, endpoints)]
  )
})
