/** What a control plane serves to the clients of a scenario: routes, clusters and hosts by name. */
import type { MessageInitShape } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { RouteSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { GrpcListener } from "@effect-xds/testing"

/** What clients call: `xds:///interop`. */
export const service = "interop"

export type Match = NonNullable<MessageInitShape<typeof RouteSchema>["match"]>

export interface RouteTo {
  /** Default: every call. */
  readonly match?: Match
  /** Clusters by weight. */
  readonly to: Readonly<Record<string, number>>
  /** `max_stream_duration`. */
  readonly limitMillis?: number
}

export interface ClusterOf {
  /** Hosts by name, those of a priority together; each priority is a locality. */
  readonly priorities: ReadonlyArray<ReadonlyArray<string>>
  readonly maxRequests?: number
}

export interface Mesh {
  readonly routes: ReadonlyArray<RouteTo>
  readonly clusters: Readonly<Record<string, ClusterOf>>
}

export interface Resources {
  readonly listeners: ReadonlyArray<Listener>
  readonly routes: ReadonlyArray<RouteConfiguration>
  readonly clusters: ReadonlyArray<Cluster>
  readonly endpoints: ReadonlyArray<ClusterLoadAssignment>
}

const self = { configSourceSpecifier: { case: "self" as const, value: {} } }
const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

const anyCall: Match = { pathSpecifier: { case: "prefix", value: "" } }

const listener = GrpcListener.make(service)

const route = ({ limitMillis, match = anyCall, to }: RouteTo): MessageInitShape<typeof RouteSchema> => ({
  match,
  action: {
    case: "route",
    value: {
      clusterSpecifier: {
        case: "weightedClusters",
        value: { clusters: Object.entries(to).map(([name, weight]) => ({ name, weight })) }
      },
      ...(limitMillis === undefined
        ? {}
        : {
            maxStreamDuration: {
              maxStreamDuration: {
                seconds: BigInt(Math.floor(limitMillis / 1_000)),
                nanos: (limitMillis % 1_000) * 1_000_000
              }
            }
          })
    }
  }
})

const cluster = (name: string, { maxRequests }: ClusterOf): Cluster =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads },
    // ★ grpc-java 1.79 counts open calls only where it is to report load.
    ...(maxRequests === undefined
      ? {}
      : {
          circuitBreakers: { thresholds: [{ maxRequests }] },
          lrsServer: self
        })
  })

const assignment = (
  clusterName: string,
  { priorities }: ClusterOf,
  portOf: (host: string) => number
): ClusterLoadAssignment =>
  create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: priorities.map((hosts, priority) => ({
      priority,
      locality: { zone: `zone-${priority}` },
      loadBalancingWeight: 1,
      lbEndpoints: hosts.map((host) => ({
        hostIdentifier: {
          case: "endpoint" as const,
          value: {
            address: {
              address: {
                case: "socketAddress" as const,
                value: { address: "127.0.0.1", portSpecifier: { case: "portValue" as const, value: portOf(host) } }
              }
            }
          }
        }
      }))
    }))
  })

export const hostsOf = ({ clusters }: Mesh): ReadonlyArray<string> =>
  Object.values(clusters).flatMap(({ priorities }) => priorities.flat())

export const resources = ({ clusters, routes }: Mesh, portOf: (host: string) => number): Resources => ({
  listeners: [listener],
  routes: [
    create(RouteConfigurationSchema, {
      name: service,
      virtualHosts: [{ name: service, domains: ["*"], routes: routes.map(route) }]
    })
  ],
  clusters: Object.entries(clusters).map(([name, of]) => cluster(name, of)),
  endpoints: Object.entries(clusters).map(([name, of]) => assignment(name, of, portOf))
})
