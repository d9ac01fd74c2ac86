/**
 * The resources that a resource refers to, read straight from its bytes: a listener to its route configuration, a route
 * configuration to its clusters, a cluster to its assignment. Only references within an aggregated stream count: routes by RDS,
 * clusters by name or weight, assignments by EDS.
 *
 * @since 0.1.0
 */
import { assignmentName } from "@effect-xds/core/resource/EdsCluster"
import { fields } from "@effect-xds/core/wire/Wire"
import { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration } from "@effect-xds/proto/ResourceType"
import { WireType } from "@bufbuild/protobuf/wire"

const text = new TextDecoder()

/** The contents of the length-delimited fields at a path of field numbers. */
const contents = (bytes: Uint8Array, path: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const [first, ...rest] = path
  if (first === undefined) return [bytes]
  const found: Array<Uint8Array> = []
  fields(bytes, (reader, field, type) => {
    if (field !== first || type !== WireType.LengthDelimited) return false
    found.push(reader.bytes())
    return true
  })
  return found.flatMap((content) => contents(content, rest))
}

/** From a RouteConfiguration: virtual_hosts, routes, route, cluster; and weighted_clusters, clusters, name. */
const clusterPaths = [
  [2, 3, 2, 1],
  [2, 3, 2, 3, 1, 1]
]
/** From a Listener: (default) filter chain, filters, typed_config, its value, rds, route_config_name; and api_listener. */
const routePaths = [
  [3, 3, 4, 2, 3, 2],
  [25, 3, 4, 2, 3, 2],
  [19, 1, 2, 3, 2]
]

const named = (
  typeUrl: string,
  bytes: Uint8Array,
  paths: ReadonlyArray<ReadonlyArray<number>>
): ReadonlyArray<string> =>
  paths.flatMap((path) => contents(bytes, path).map((name) => `${typeUrl} ${text.decode(name)}`))

/**
 * The references of a resource, each as `<type URL> <name>`; empty for types without references and for malformed bytes.
 *
 * @since 0.1.0
 */
export const of = (typeUrl: string, name: string, bytes: Uint8Array): ReadonlyArray<string> => {
  try {
    switch (typeUrl) {
      case Listener.typeUrl:
        return Array.from(new Set(named(RouteConfiguration.typeUrl, bytes, routePaths)))
      case RouteConfiguration.typeUrl:
        return Array.from(new Set(named(Cluster.typeUrl, bytes, clusterPaths)))
      case Cluster.typeUrl: {
        const assignment = assignmentName(name, bytes)
        return assignment === undefined ? [] : [`${ClusterLoadAssignment.typeUrl} ${assignment}`]
      }
      default:
        return []
    }
  } catch {
    // Malformed bytes have no references.
    return []
  }
}
