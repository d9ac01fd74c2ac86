/** Clusters. */
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { OutlierDetection } from "@effect-xds/proto/envoy/config/cluster/v3/outlier_detection"
import type { BindConfig } from "@effect-xds/proto/envoy/config/core/v3/address"
import type { TransportSocket } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { GrpcService_EnvoyGrpc } from "@effect-xds/proto/envoy/config/core/v3/grpc_service"
import type { HealthCheck } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import type { HttpUri } from "@effect-xds/proto/envoy/config/core/v3/http_uri"
import type { ClusterConfig } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import type { TcpProxy } from "@effect-xds/proto/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy"
import type { Maglev } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/maglev/v3/maglev"
import type { RingHash } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash"
import type { HttpProtocolOptions } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Addresses from "./Addresses.js"
import * as Durations from "./Durations.js"
import type { Segment, Site } from "./Facts.js"
import * as ConfigSources from "./ConfigSources.js"
import * as Reading from "./Reading.js"
import * as Sockets from "./Sockets.js"

export const clusterName = "envoy.config.cluster.v3.Cluster"

/** How a cluster finds its endpoints, as far as rules ask. */
export type Discovery = "STATIC" | "STRICT_DNS" | "LOGICAL_DNS" | "EDS" | "ORIGINAL_DST" | "other"

/** In the order of their numbers. */
const discoveries: ReadonlyArray<Discovery> = ["STATIC", "STRICT_DNS", "LOGICAL_DNS", "EDS", "ORIGINAL_DST"]

export const discoveryOf = ({ clusterDiscoveryType: { case: kind, value } }: Cluster): Discovery =>
  kind === "clusterType" ? "other" : (discoveries[value ?? 0] ?? "other")

const ofCluster = (self: Cluster, site: Site): void => {
  const discovery = discoveryOf(self)
  ofEds(self, discovery, site)
  if (discovery === "LOGICAL_DNS") ofLogicalDns(self, site)
  if (discovery === "ORIGINAL_DST" && self.loadAssignment !== undefined) {
    site.fault("original-dst", "must not be set: connections say where they go", ["load_assignment"])
  }
  ofBalancing(self, discovery, site)
  if (self.upstreamBindConfig !== undefined) ofBinding(self.upstreamBindConfig, site)
  ofNames(self.healthChecks, site)
  const hasGrpcChecks = self.healthChecks.some(({ healthChecker }) => healthChecker.case === "grpcHealthCheck")
  const hasOptions = Object.values(self.typedExtensionProtocolOptions).some(isHttpOptions)
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
  if (hasGrpcChecks && !hasOptions && self.http2ProtocolOptions === undefined) {
    site.fault("health-check-http2", "must have http2_protocol_options: a health check is gRPC")
  }
  ofSocket(site, self.transportSocket, ["transport_socket"])
  for (const [index, { transportSocket }] of self.transportSocketMatches.entries()) {
    const path = ["transport_socket_matches", index, "transport_socket"]
    if (transportSocket === undefined) site.fault("typed-config", "must be set", path)
    else ofSocket(site, transportSocket, path)
  }
}

const ofSocket = (site: Site, socket: TransportSocket | undefined, path: ReadonlyArray<Segment>): void => {
  if (!Sockets.typeOf(socket).endsWith(".tls.v3.DownstreamTlsContext")) return
  site.fault("extension-category", "must be an UpstreamTlsContext", [...path, "typed_config"])
}

const ofEds = ({ edsClusterConfig, name }: Cluster, discovery: Discovery, site: Site): void => {
  if (discovery !== "EDS") {
    if (edsClusterConfig !== undefined) {
      site.fault("eds-config", "must not be set: the type of the cluster is not EDS", ["eds_cluster_config"])
    }
    return
  }
  const source = edsClusterConfig?.edsConfig
  if (source?.configSourceSpecifier.case === undefined) {
    site.fault("eds-config", "must say where the endpoints come from", ["eds_cluster_config", "eds_config"])
  }
  if (source !== undefined && !ConfigSources.isHere(source)) return
  const service = edsClusterConfig?.serviceName ?? ""
  const path = service === "" ? ["name"] : ["eds_cluster_config", "service_name"]
  site.refer("endpoints-reference", ResourceType.ClusterLoadAssignment, service === "" ? name : service, path)
}

/** ★ What another selector does with the addresses is its own. */
const ofBinding = (self: BindConfig, site: Site): void => {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
  const { additionalSourceAddresses, extraSourceAddresses, localAddressSelector, sourceAddress } = self
  if (localAddressSelector !== undefined) return
  const isExtra = extraSourceAddresses.length > 0
  const field = isExtra ? "extra_source_addresses" : "additional_source_addresses"
  const fault = (problem: string): void => site.fault("source-addresses", problem, ["upstream_bind_config", field])
  const others = isExtra ? extraSourceAddresses.map(({ address }) => address) : additionalSourceAddresses
  if (others.length === 0) return
  if (isExtra && additionalSourceAddresses.length > 0) return fault("must be empty beside additional_source_addresses")
  if (sourceAddress === undefined) return fault("must be empty without a source_address")
  if (others.length > 1) return fault("must have one address")
  const [one, other] = [sourceAddress.address, others[0]?.address ?? ""]
  if (!Addresses.isIp(one) || !Addresses.isIp(other)) return
  if (one.includes(":") === other.includes(":")) fault("must be of the other version of IP than source_address")
}

const ofNames = (healthChecks: Cluster["healthChecks"], site: Site): void => {
  if (healthChecks.length < 2) return
  const seen = new Set<string>()
  for (const [index, { name }] of healthChecks.entries()) {
    const path = ["health_checks", index, "name"]
    if (name === "") site.fault("health-check-name", "must be set: there are several checks", path)
    else if (seen.has(name)) site.fault("health-check-name", "must not be that of another check", path)
    seen.add(name)
  }
}

const ofLogicalDns = ({ loadAssignment }: Cluster, site: Site): void => {
  const localities = loadAssignment?.endpoints ?? []
  if (localities.length === 1 && localities[0]?.lbEndpoints.length === 1) return
  site.fault("logical-dns-endpoint", "must have one locality with one endpoint", ["load_assignment", "endpoints"])
}

// ---------------------------------------------------------------------------------------------------------------------
// Balancing

// Numbers of enums, so that nothing is loaded for them.
const ringHash: number = 2
const maglev: number = 5
const clusterProvided: number = 6
const byList: number = 7

/** Custom types that balance themselves. */
const balancesItself = /^envoy\.extensions\.clusters\.(?:aggregate|dynamic_forward_proxy)\./

const ofBalancing = (self: Cluster, discovery: Discovery, site: Site): void => {
  const { lbConfig, lbSubsetConfig, loadBalancingPolicy } = self
  const lbPolicy: number = self.lbPolicy
  ofSubsets(self, site)
  const isProvided = lbPolicy === clusterProvided
  // ★ Of these it is asked even where a list of policies stands beside it.
  if (discovery === "ORIGINAL_DST" && !isProvided) {
    site.fault("cluster-provided", "must be CLUSTER_PROVIDED: ORIGINAL_DST clusters balance themselves", ["lb_policy"])
  }
  if (loadBalancingPolicy !== undefined) {
    const path = "load_balancing_policy"
    if (lbSubsetConfig !== undefined) {
      site.fault("load-balancing-policy", "must not be set beside load_balancing_policy", ["lb_subset_config"])
    }
    const isKnown = loadBalancingPolicy.policies.some(({ typedExtensionConfig }) => {
      const typeUrl = typedExtensionConfig?.typedConfig?.typeUrl ?? ""
      return /[./](?:xds|udpa)\.type\.|\.load_balancing_policies\./.test(typeUrl) || !TypeRegistry.has(typeUrl)
    })
    if (!isKnown) site.fault("load-balancing-policy", "must have a policy that is one", [path, "policies"])
    return
  }
  if (lbPolicy === byList) {
    site.fault("load-balancing-policy", "must be set: lb_policy says that it is used", ["load_balancing_policy"])
  }
  const customType = self.clusterDiscoveryType.case === "clusterType" ? self.clusterDiscoveryType.value : undefined
  const custom = TypeRegistry.typeName(customType?.typedConfig?.typeUrl ?? "")
  const mayProvide = discovery === "ORIGINAL_DST" || discovery === "other"
  if (balancesItself.test(custom) && !isProvided) {
    site.fault("cluster-provided", "must be CLUSTER_PROVIDED: the cluster balances itself", ["lb_policy"])
  } else if (isProvided && !mayProvide) {
    site.fault("cluster-provided", `must not be CLUSTER_PROVIDED: ${discovery} clusters do not balance`, ["lb_policy"])
  } else if (isProvided && lbSubsetConfig !== undefined && lbSubsetConfig.subsetSelectors.length > 0) {
    site.fault("load-balancing-policy", "must not be set: the cluster balances itself", ["lb_subset_config"])
  }
  // What is set for another policy is not looked at.
  if (lbPolicy === ringHash && lbConfig.case === "ringHashLbConfig") {
    ringSize(site, lbConfig.value, ["ring_hash_lb_config"])
  } else if (lbPolicy === maglev && lbConfig.case === "maglevLbConfig") {
    tableSize(site, lbConfig.value, ["maglev_lb_config"])
  }
}

/** `KEYS_SUBSET` of a selector. */
const keysSubset: number = 4

const ofSubsets = ({ lbSubsetConfig, loadBalancingPolicy }: Cluster, site: Site): void => {
  if (loadBalancingPolicy !== undefined) return
  for (const [index, selector] of (lbSubsetConfig?.subsetSelectors ?? []).entries()) {
    const { fallbackKeysSubset, keys } = selector
    const fallbackPolicy: number = selector.fallbackPolicy
    // ★ Without keys a selector counts for nothing.
    if (keys.length === 0) continue
    const path = ["lb_subset_config", "subset_selectors", index, "fallback_keys_subset"]
    if (fallbackPolicy !== keysSubset) {
      if (fallbackKeysSubset.length > 0) site.fault("subset-fallback", "must be empty: it is for KEYS_SUBSET", path)
      continue
    }
    const all = new Set(keys)
    const isPart = fallbackKeysSubset.length > 0 && fallbackKeysSubset.every((key) => all.has(key))
    if (isPart && new Set(fallbackKeysSubset).size < all.size) continue
    site.fault("subset-fallback", "must be some of the keys, but not all", path)
  }
}

interface Sizes {
  readonly minimumRingSize?: bigint | undefined
  readonly maximumRingSize?: bigint | undefined
}

const ringSize = (
  site: Site,
  { maximumRingSize, minimumRingSize }: Sizes,
  inside: ReadonlyArray<Segment> = []
): void => {
  const least = minimumRingSize ?? 1024n
  const most = maximumRingSize ?? 8_388_608n
  if (least > most) {
    site.fault("ring-size", `must not be over the largest: ${least} > ${most}`, [...inside, "minimum_ring_size"])
  }
}

const isPrime = (number: number): boolean => {
  if (number < 2) return false
  for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) return false
  return true
}

/** Over that the rules of the field refuse it. */
const maxTableSize = 5_000_011n

const tableSize = (
  site: Site,
  { tableSize: size }: { readonly tableSize?: bigint | undefined },
  inside: ReadonlyArray<Segment> = []
): void => {
  if (size === undefined || size > maxTableSize || isPrime(Number(size))) return
  site.fault("maglev-table-size", `must be a prime number, is ${size}`, [...inside, "table_size"])
}

// ---------------------------------------------------------------------------------------------------------------------
// Health and protocols

const ofHealthCheck = ({ healthChecker }: HealthCheck, site: Site): void => {
  if (healthChecker.case === "tcpHealthCheck") {
    const { receive, send } = healthChecker.value
    const payloads = [
      { payload: send, path: ["send"] },
      ...receive.map((payload, index) => ({ payload, path: ["receive", index] }))
    ]
    for (const { path, payload } of payloads) {
      if (payload?.payload.case !== "text" || /^(?:[0-9a-fA-F]{2})*$/.test(payload.payload.value)) continue
      site.fault("health-check-payload", "must be pairs of hexadecimal digits", ["tcp_health_check", ...path, "text"])
    }
  }
  if (healthChecker.case !== "httpHealthCheck") return
  statuses(site, healthChecker.value.expectedStatuses, "expected_statuses")
  statuses(site, healthChecker.value.retriableStatuses, "retriable_statuses")
}

const statuses = (
  site: Site,
  ranges: ReadonlyArray<{ readonly start: bigint; readonly end: bigint }>,
  field: string
): void => {
  for (const [index, { end, start }] of ranges.entries()) {
    if (start >= 100n && end <= 600n && start < end) continue
    const problem = `must be from 100 to 600, and begin before its end, is ${start} to ${end}`
    site.fault("health-check-statuses", problem, ["http_health_check", field, index])
  }
}

const isHttpOptions = ({ typeUrl }: { readonly typeUrl: string }): boolean =>
  TypeRegistry.typeName(typeUrl) === optionsName

const optionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

const ofHttpOptions = (options: HttpProtocolOptions, site: Site): void => {
  const { case: kind, value } = options.upstreamProtocolOptions
  const cluster = site.inside<Cluster>(clusterName)
  if (cluster === undefined) return
  if (cluster.healthChecks.some(({ healthChecker }) => healthChecker.case === "grpcHealthCheck")) {
    if (kind === "explicitHttpConfig" && value.protocolConfig.case === "httpProtocolOptions") {
      const path = ["explicit_http_config", "http_protocol_options"]
      site.fault("health-check-http2", "must be http2_protocol_options: a health check is gRPC", path)
    } else if (kind === "useDownstreamProtocolConfig" && value.http2ProtocolOptions === undefined) {
      const path = ["use_downstream_protocol_config", "http2_protocol_options"]
      site.fault("health-check-http2", "must be set: a health check is gRPC", path)
    }
  }
  // ★ What matches none of the matches has the socket of the cluster.
  const sockets = [cluster.transportSocket, ...cluster.transportSocketMatches.map((each) => each.transportSocket)]
  if (kind === "autoConfig" && sockets.some(Sockets.hasNoAlpn)) {
    site.fault("alpn", "must not be set: the cluster has a transport_socket without ALPN, or none", ["auto_config"])
  }
  ofHttp3(options, cluster, site)
}

/** ★ The sockets of matches are not asked for. */
const ofHttp3 = (
  { upstreamProtocolOptions: { case: kind, value } }: HttpProtocolOptions,
  { transportSocket }: Cluster,
  site: Site
): void => {
  if (kind === "autoConfig" && value.http3ProtocolOptions !== undefined) {
    if (value.alternateProtocolsCacheOptions === undefined) {
      const path = ["auto_config", "alternate_protocols_cache_options"]
      site.fault("http3-cluster", "must be set: it says which servers speak HTTP/3", path)
    }
    if (Sockets.isNotQuic(transportSocket)) http3Fault(site, ["auto_config"])
  } else if (kind === "useDownstreamProtocolConfig" && value.http3ProtocolOptions !== undefined) {
    if (Sockets.isNotQuic(transportSocket)) http3Fault(site, ["use_downstream_protocol_config"])
  } else if (kind === "explicitHttpConfig" && value.protocolConfig.case === "http3ProtocolOptions") {
    if (Sockets.isNotQuic(transportSocket)) http3Fault(site, ["explicit_http_config"])
  }
}

const http3Fault = (site: Site, path: ReadonlyArray<Segment>): void => {
  const problem = "must not be set: the cluster has no transport_socket of the name envoy.transport_sockets.quic"
  site.fault("http3-cluster", problem, [...path, "http3_protocol_options"])
}

/** Milliseconds. */
const defaultEjectionTime = 30_000n

const ofOutliers = ({ baseEjectionTime, maxEjectionTime }: OutlierDetection, site: Site): void => {
  if (maxEjectionTime === undefined) return
  const base = baseEjectionTime === undefined ? defaultEjectionTime : Durations.milliseconds(baseEjectionTime)
  if (Durations.milliseconds(maxEjectionTime) >= base) return
  site.fault("ejection-time", "must not be shorter than base_ejection_time", ["max_ejection_time"])
}

// ---------------------------------------------------------------------------------------------------------------------
// What names clusters, but for routes

const ofTcpProxy = ({ clusterSpecifier: { case: kind, value } }: TcpProxy, site: Site): void => {
  if (kind === "cluster") site.refer("cluster-reference", ResourceType.Cluster, value, ["cluster"])
  if (kind !== "weightedClusters") return
  for (const [index, { name }] of value.clusters.entries()) {
    site.refer("cluster-reference", ResourceType.Cluster, name, ["weighted_clusters", "clusters", index, "name"])
  }
}

const ofAggregate = ({ clusters }: ClusterConfig, site: Site): void => {
  for (const [index, name] of clusters.entries()) {
    site.refer("cluster-reference", ResourceType.Cluster, name, ["clusters", index])
  }
}

/** ★ Where resources come from is a cluster that the peer was started with. */
const isOfSource = (site: Site): boolean => site.inside("envoy.config.core.v3.ConfigSource") !== undefined

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<Cluster>(clusterName, ofCluster),
  Reading.of<HealthCheck>("envoy.config.core.v3.HealthCheck", ofHealthCheck),
  Reading.of<HttpProtocolOptions>(optionsName, ofHttpOptions),
  Reading.of<OutlierDetection>("envoy.config.cluster.v3.OutlierDetection", ofOutliers),
  Reading.of<RingHash>("envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash", (self, site) =>
    ringSize(site, self)
  ),
  Reading.of<Maglev>("envoy.extensions.load_balancing_policies.maglev.v3.Maglev", (self, site) =>
    tableSize(site, self)
  ),
  Reading.of<TcpProxy>("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", ofTcpProxy),
  Reading.of<ClusterConfig>("envoy.extensions.clusters.aggregate.v3.ClusterConfig", ofAggregate),
  ...ConfigSources.readings,
  Reading.of<GrpcService_EnvoyGrpc>("envoy.config.core.v3.GrpcService.EnvoyGrpc", ({ clusterName: name }, site) => {
    if (!isOfSource(site)) site.refer("service-cluster-reference", ResourceType.Cluster, name, ["cluster_name"])
  }),
  Reading.of<HttpUri>("envoy.config.core.v3.HttpUri", ({ httpUpstreamType: { case: kind, value } }, site) => {
    if (kind === "cluster") site.refer("service-cluster-reference", ResourceType.Cluster, value, ["cluster"])
  })
]
