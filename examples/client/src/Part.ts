/** What is shown of a resource, and the types that decode a listener, route, cluster or endpoints to that. Pure. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import { anyIs } from "@bufbuild/protobuf/wkt"
import { WatchableType } from "@effect-xds/client"
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { Address } from "@effect-xds/proto/envoy/config/core/v3/address"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { type Listener, ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { type RouteConfiguration, RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { Route } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Either from "effect/Either"

export interface Resource {
  readonly kind: "listener" | "route" | "cluster" | "endpoints"
  readonly name: string
}

/** A resource that another one names, and what that says of it: `90 %`. */
export interface Link extends Resource {
  readonly label: string
}

export interface Part {
  readonly text: string
  readonly links: ReadonlyArray<Link>
}

/** Left: why the resource is of no use here. The server is told so: it is what the NACK says. */
type Shown = Either.Either<Part, string>

const decode = <Desc extends DescMessage>(schema: Desc, bytes: Uint8Array): Either.Either<MessageShape<Desc>, string> =>
  Either.try({
    try: () => fromBinary(schema, bytes),
    catch: (cause) => `not a ${schema.typeName}: ${cause instanceof Error ? cause.message : String(cause)}`
  })

const typeOf = <Desc extends DescMessage>(schema: Desc, show: (message: MessageShape<Desc>) => Shown) =>
  WatchableType.make<Part>({
    typeUrl: WatchableType.typeUrlOf(schema),
    decode: (bytes) => Either.flatMap(decode(schema, bytes), show)
  })

const textOf = (address: Address | undefined): string => {
  if (address?.address.case === "pipe") return address.address.value.path
  if (address?.address.case !== "socketAddress") return ""
  const { address: host, portSpecifier } = address.address.value
  return `${host.includes(":") ? `[${host}]` : host}:${portSpecifier.value ?? 0}`
}

/** The routes that its HttpConnectionManagers take from RDS, or hold themselves. */
const listener = ({ address, apiListener, defaultFilterChain, filterChains }: Listener): Shown =>
  Either.gen(function* () {
    const filters = [...filterChains, ...(defaultFilterChain === undefined ? [] : [defaultFilterChain])]
      .flatMap((chain) => chain.filters)
      .map(({ configType }) => (configType.case === "typedConfig" ? configType.value : undefined))
    const links = new Map<string, Link>()
    for (const config of [apiListener?.apiListener, ...filters]) {
      if (config === undefined || !anyIs(config, HttpConnectionManagerSchema)) continue
      const { routeSpecifier } = yield* decode(HttpConnectionManagerSchema, config.value)
      if (routeSpecifier.case === "rds") {
        const name = routeSpecifier.value.routeConfigName
        links.set(name, { kind: "route", name, label: "" })
      } else if (routeSpecifier.case === "routeConfig") {
        for (const link of clustersOf(routeSpecifier.value)) links.set(`${link.label} ${link.name}`, link)
      }
    }
    return { text: address === undefined ? "" : `on ${textOf(address)}`, links: Array.from(links.values()) }
  })

/** Where the requests go: `90 %`, and in front of it the path if there are several routes. */
const clustersOf = ({ virtualHosts }: RouteConfiguration): ReadonlyArray<Link> => {
  const all = virtualHosts.flatMap(({ domains, routes }) => routes.map((route) => ({ domains, route })))
  return all.flatMap(({ domains, route }) => {
    const path = all.length === 1 ? "" : `${domains.join(",")} ${pathOf(route)}  `
    return sharesOf(route).map(([name, share]) => ({ kind: "cluster", name, label: `${path}${share}` }))
  })
}

const pathOf = ({ match }: Route): string =>
  typeof match?.pathSpecifier.value === "string" ? match.pathSpecifier.value : (match?.pathSpecifier.case ?? "")

const sharesOf = ({ action }: Route): ReadonlyArray<readonly [cluster: string, share: string]> => {
  if (action.case !== "route") return []
  const { clusterSpecifier } = action.value
  if (clusterSpecifier.case === "cluster") return [[clusterSpecifier.value, "100 %"]]
  if (clusterSpecifier.case !== "weightedClusters") return []
  const { clusters } = clusterSpecifier.value
  const total = clusters.reduce((sum, { weight }) => sum + (weight ?? 0), 0)
  return clusters.map(({ name, weight = 0 }) => [name, `${Number(((100 * weight) / total).toFixed(1))} %`])
}

/** Its endpoints come by EDS, or it holds them itself. */
const cluster = ({ clusterDiscoveryType, edsClusterConfig, loadAssignment, name }: Cluster): Shown => {
  if (clusterDiscoveryType.case !== "type" || clusterDiscoveryType.value !== Cluster_DiscoveryType.EDS) {
    return loadAssignment === undefined ? Either.right({ text: "", links: [] }) : endpoints(loadAssignment)
  }
  const serviceName = edsClusterConfig?.serviceName ?? ""
  return Either.right({
    text: "",
    links: [{ kind: "endpoints", name: serviceName === "" ? name : serviceName, label: "" }]
  })
}

const endpoints = (assignment: ClusterLoadAssignment): Shown => {
  const all = assignment.endpoints
    .flatMap(({ lbEndpoints }) => lbEndpoints)
    .map(({ hostIdentifier }) => (hostIdentifier.case === "endpoint" ? textOf(hostIdentifier.value.address) : ""))
  const bad = all.find((address) => address === "" || address.endsWith(":0"))
  if (bad !== undefined)
    return Either.left(bad === "" ? "an endpoint has no address" : `endpoint ${bad.slice(0, -2)} has no port`)
  const text = all.length > 5 ? `${all.slice(0, 5).join(" ")} and ${all.length - 5} more` : all.join(" ")
  return Either.right({ text: text === "" ? "(no endpoints)" : text, links: [] })
}

/** One of each kind for the whole program: a client takes one decoder for a type. */
export const types: Readonly<Record<Resource["kind"], WatchableType.WatchableType<Part>>> = {
  listener: typeOf(ListenerSchema, listener),
  route: typeOf(RouteConfigurationSchema, (route) => Either.right({ text: "", links: clustersOf(route) })),
  cluster: typeOf(ClusterSchema, cluster),
  endpoints: typeOf(ClusterLoadAssignmentSchema, endpoints)
}
