/** Endpoints, in a cluster or by EDS. */
import type { Address } from "@effect-xds/proto/envoy/config/core/v3/address"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type {
  LbEndpoint,
  LedsClusterLocalityConfig
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import type { CaresDnsResolverConfig } from "@effect-xds/proto/envoy/extensions/network/dns_resolver/cares/v3/cares_dns_resolver"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as Addresses from "./Addresses.js"
import * as Clusters from "./Clusters.js"
import type { Segment, Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/** Endpoints of one step. */
const atOnce = 64

const ofAssignment = function* (self: ClusterLoadAssignment, site: Site): MessageSteps.Steps<void> {
  const cluster = site.inside<Cluster>(Clusters.clusterName)
  const discovery = cluster === undefined ? "EDS" : Clusters.discoveryOf(cluster)
  drops(self, site)
  if (cluster === undefined) yield* ofGrpc(self, site)
  // What is in an EDS cluster counts for nothing, and what another type does with its endpoints is its own.
  if ((cluster !== undefined && discovery === "EDS") || discovery === "other") return
  for (const [index, { lbConfig, lbEndpoints }] of self.endpoints.entries()) {
    if (lbConfig.case === "ledsClusterLocalityConfig") {
      const where = ["endpoints", index, "leds_cluster_locality_config"]
      if (cluster === undefined) ofCollection(site, lbConfig.value, where)
      else site.fault("leds", "must not be set: the type of the cluster is not EDS", where)
    }
    for (let at = 0; at < lbEndpoints.length; at++) {
      const endpoint = lbEndpoints[at]
      // The way to each is made as the reader goes: most have no fault, and there are many.
      const depth = site.path.length
      site.path.push("endpoints", index, "lb_endpoints", at)
      if (endpoint !== undefined) ofEndpoint(site, endpoint, discovery)
      site.path.length = depth
      if (at % atOnce === atOnce - 1) yield
    }
  }
}

/** Of a file Envoy only asks whether it is there. */
const collectionName = /^(?:file:|xdstp:\/\/[^/?#]*\/envoy\.config\.endpoint\.v3\.LbEndpoint\/[^?#])/

const ofCollection = (
  site: Site,
  { ledsCollectionName, ledsConfig }: LedsClusterLocalityConfig,
  path: ReadonlyArray<Segment>
): void => {
  if (!collectionName.test(ledsCollectionName)) {
    const form = "xdstp://<authority>/envoy.config.endpoint.v3.LbEndpoint/<path>/*"
    site.fault("leds-collection", `must be of the form ${form}`, [...path, "leds_collection_name"])
  }
  const source = ledsConfig?.configSourceSpecifier
  if (source?.case === "ads" || ledsCollectionName.startsWith("file:")) return
  if (source?.case !== "apiConfigSource") {
    return site.fault("leds-source", "must be ads or an api_config_source", [...path, "leds_config"])
  }
  if (stateOfTheWorld.includes(source.value.apiType)) {
    const where = [...path, "leds_config", "api_config_source", "api_type"]
    site.fault("leds-source", "must be DELTA_GRPC, AGGREGATED_DELTA_GRPC or AGGREGATED_GRPC", where)
  }
}

/** `REST` and `GRPC`. What an aggregated stream speaks is not known here. */
const stateOfTheWorld: ReadonlyArray<number> = [1, 2]

const ofEndpoint = (site: Site, { hostIdentifier }: LbEndpoint, discovery: Clusters.Discovery): void => {
  const endpoint = hostIdentifier.case === "endpoint" ? hostIdentifier.value : undefined
  if (endpoint?.address?.address.case === undefined) {
    // ★ Envoy takes it where names are looked up: of an empty one it finds no address.
    if (isDns(discovery)) return site.fault("endpoint-port", "must be set: without one nobody listens", ofOne)
    return site.fault("endpoint-address", "must be set", ["endpoint", "address"])
  }
  ofAddress(site, endpoint.address, discovery, ofOne)
  const checked = endpoint.healthCheckConfig?.address
  if (checked !== undefined && !isDns(discovery)) {
    Addresses.check(site, checked, ["endpoint", "health_check_config", "address"])
  }
  for (const [index, { address }] of endpoint.additionalAddresses.entries()) {
    const path = ["endpoint", "additional_addresses", index, "address"]
    if (address !== undefined) ofAddress(site, address, discovery, path)
    else if (!isDns(discovery)) site.fault("endpoint-address", "must be set", path)
  }
}

const isDns = (discovery: Clusters.Discovery): boolean => discovery === "STRICT_DNS" || discovery === "LOGICAL_DNS"

const ofOne: ReadonlyArray<Segment> = ["endpoint", "address"]

const ofAddress = (site: Site, self: Address, discovery: Clusters.Discovery, path: ReadonlyArray<Segment>): void => {
  const socket = self.address.case === "socketAddress" ? self.address.value : undefined
  if (!isDns(discovery)) Addresses.check(site, self, path)
  else if (socket !== undefined && socket.resolverName !== "") {
    site.fault("dns-resolver-name", `must be empty in ${discovery} clusters`, [
      ...path,
      "socket_address",
      "resolver_name"
    ])
  }
  if (socket?.portSpecifier.case === "portValue" && socket.portSpecifier.value === 0) {
    site.fault("endpoint-port", "must not be 0: nobody listens there", [...path, "socket_address", "port_value"])
  }
}

/** Of the denominators, in the order of their numbers. */
const wholes: ReadonlyArray<number> = [100, 10_000, 1_000_000]

const drops = ({ policy }: ClusterLoadAssignment, site: Site): void => {
  const list = policy?.dropOverloads ?? []
  if (list.length > 1) {
    return site.fault("drop-overload", "must have one category: Envoy reads no more", ["policy", "drop_overloads"])
  }
  const percentage = list[0]?.dropPercentage
  if (percentage === undefined) return
  const whole = wholes[percentage.denominator] ?? 100
  if (percentage.numerator > whole) {
    site.fault("drop-overload", "must be at most 100 %", ["policy", "drop_overloads", 0, "drop_percentage"])
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// gRPC

/** ★ What A27 refuses and Envoy does not; localities without weight are left out before it looks. */
const ofGrpc = function* ({ endpoints }: ClusterLoadAssignment, site: Site): MessageSteps.Steps<void> {
  const localities = new Set<string>()
  const priorities = new Set<number>()
  const addresses = new Set<string>()
  for (const [index, each] of endpoints.entries()) {
    if ((each.loadBalancingWeight ?? 0) === 0) continue
    const { locality, lbEndpoints, priority } = each
    priorities.add(priority)
    const key = JSON.stringify([priority, locality?.region, locality?.zone, locality?.subZone])
    if (localities.has(key)) site.fault("locality-unique", "must not be there twice", ["endpoints", index, "locality"])
    localities.add(key)
    for (let at = 0; at < lbEndpoints.length; at++) {
      if (at % atOnce === atOnce - 1) yield
      const host = lbEndpoints[at]?.hostIdentifier
      const address = host?.case === "endpoint" ? host.value.address?.address : undefined
      if (address?.case !== "socketAddress") continue
      const key = `${address.value.address}:${address.value.portSpecifier.value ?? 0}`
      if (addresses.has(key)) {
        site.fault("endpoint-unique", `must not be there twice: ${key}`, ["endpoints", index, "lb_endpoints", at])
      }
      addresses.add(key)
    }
  }
  const gap = Array.from({ length: priorities.size }, (_, priority) => priority).find((each) => !priorities.has(each))
  if (gap !== undefined) site.fault("priority-gap", `must have priority ${gap} before the next`, ["endpoints"])
}

/** ★ Of clusters that look nothing up the resolver is not made; what else has one may make it later. */
const ofResolvers = ({ resolvers }: CaresDnsResolverConfig, site: Site): void => {
  const cluster = site.inside<Cluster>(Clusters.clusterName)
  if (cluster === undefined || !isDns(Clusters.discoveryOf(cluster))) return
  for (const [index, each] of resolvers.entries()) Addresses.check(site, each, ["resolvers", index])
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<CaresDnsResolverConfig>(
    "envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
    ofResolvers
  ),
  Reading.inSteps<ClusterLoadAssignment>("envoy.config.endpoint.v3.ClusterLoadAssignment", ofAssignment)
]
