/** What the control plane serves: the service `shop`, whose calls go to the clusters v1 and v2 by weight. */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type { Resources } from "@effect-xds/server/Snapshot"

export interface Mesh {
  /** By cluster: its weight, and the ports of its endpoints. */
  readonly [cluster: string]: { readonly weight: number; readonly ports: ReadonlyArray<number> }
}

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

const listener = create(ListenerSchema, {
  name: "shop",
  apiListener: {
    apiListener: anyPack(
      HttpConnectionManagerSchema,
      create(HttpConnectionManagerSchema, {
        statPrefix: "shop",
        routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName: "shop" } },
        httpFilters: [
          { name: "router", configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) } }
        ]
      })
    )
  }
})

const routes = (clusters: ReadonlyArray<{ readonly name: string; readonly weight: number }>) =>
  create(RouteConfigurationSchema, {
    name: "shop",
    virtualHosts: [
      {
        name: "shop",
        domains: ["shop"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: "" } },
            action: {
              case: "route",
              value: {
                clusterSpecifier: { case: "weightedClusters", value: { clusters: [...clusters] } },
                // A server that is killed takes calls with it: those are made again.
                retryPolicy: { retryOn: "unavailable", numRetries: 3 },
                maxStreamDuration: { maxStreamDuration: { seconds: 5n } }
              }
            }
          }
        ]
      }
    ]
  })

const assignment = (clusterName: string, ports: ReadonlyArray<number>) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: [
      {
        locality: { zone: "here" },
        loadBalancingWeight: 1,
        lbEndpoints: ports.map((port) => ({
          hostIdentifier: {
            case: "endpoint" as const,
            value: {
              address: {
                address: {
                  case: "socketAddress" as const,
                  value: { address: "127.0.0.1", portSpecifier: { case: "portValue" as const, value: port } }
                }
              }
            }
          }
        }))
      }
    ]
  })

export const resources = (mesh: Mesh): Resources => {
  const clusters = Object.entries(mesh)
  return {
    listeners: [listener],
    routes: [routes(clusters.map(([name, { weight }]) => ({ name, weight })))],
    clusters: clusters.map(([name]) =>
      create(ClusterSchema, {
        name,
        clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
        edsClusterConfig: { edsConfig: ads }
      })
    ),
    endpoints: clusters.map(([name, { ports }]) => assignment(name, ports))
  }
}
