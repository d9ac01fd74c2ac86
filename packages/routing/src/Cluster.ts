/**
 * A Cluster, validated: how its endpoints are found and how calls are shared among them.
 *
 * @see https://github.com/grpc/proposal/blob/master/A37-xds-aggregate-and-logical-dns-clusters.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import * as LocalityRules from "@effect-xds/discovery/LocalityRule"
import * as Milliseconds from "@effect-xds/discovery/Milliseconds"
import * as OutlierSettings from "@effect-xds/discovery/OutlierSettings"
import * as Reason from "@effect-xds/proto/Reason"
import type { Cluster as ClusterMessage } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  Cluster_DiscoveryType as DiscoveryType,
  Cluster_LbPolicy as LbPolicy,
  Cluster_RingHashLbConfig_HashFunction as HashFunction
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { OutlierDetection } from "@effect-xds/proto/envoy/config/cluster/v3/outlier_detection"
import { RoutingPriority } from "@effect-xds/proto/envoy/config/core/v3/base"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import * as Either from "effect/Either"
import type { Assignment } from "./Assignment.js"
import type { Health } from "./Endpoint.js"
import * as HttpVersion from "./HttpVersion.js"
import type { Configured } from "./Policy.js"
import type { PolicyRegistry } from "./PolicyRegistry.js"
import * as Registry from "./PolicyRegistry.js"
import type { RouteError } from "./RouteError.js"
import { Collector } from "./RouteError.js"
import * as LeastRequest from "./policy/LeastRequest.js"
import * as OverrideHost from "./policy/OverrideHost.js"
import * as RoundRobin from "./policy/RoundRobin.js"
import * as WrrLocality from "./policy/WrrLocality.js"

/**
 * How the endpoints of a cluster are found.
 *
 * @since 0.1.0
 */
export type Discovery =
  /** By the ClusterLoadAssignment of this name. */
  | { readonly _tag: "Eds"; readonly name: string }
  /** All addresses of a name are one endpoint. */
  | { readonly _tag: "LogicalDns"; readonly host: string; readonly port: number }
  /** In those of other clusters, the best first. `panicThreshold`: by the rules of Envoy, in percent; default: 50. */
  | {
      readonly _tag: "Aggregate"
      readonly clusters: ReadonlyArray<string>
      readonly panicThreshold?: number | undefined
    }
  /** They come with the cluster, from who finds and looks after its members. `note`: why there are none, for people. */
  | { readonly _tag: "Members"; readonly assignment: Assignment; readonly note: string }

/**
 * Whose rules are kept: those of gRPC clients, or those of Envoy, where the members of a cluster are found and looked after
 * by others, whatever its type.
 *
 * @since 0.1.0
 */
export type Profile = "grpc" | "envoy"

/**
 * A cluster.
 *
 * @since 0.1.0
 */
export interface Cluster {
  readonly name: string
  readonly discovery: Discovery
  /** The policy within a priority. */
  readonly policy: Configured
  /** Calls in flight; `undefined`: the default. */
  readonly maxRequests: number | undefined
  /** By the rules of gRPC clients; `undefined`: nobody is ejected. */
  readonly outlierDetection: OutlierSettings.OutlierSettings | undefined
  /** Which endpoints sessions go on with. Default: {@link OverrideHost.standard}. */
  readonly sessions?: OverrideHost.Settings | undefined
  /** How connections are secured, by name and configuration; `undefined`: they are not. */
  readonly transportSocket: { readonly name: string; readonly config: Any | undefined } | undefined
  /** What servers speak; `undefined`: the cluster does not say. */
  readonly httpVersion?: HttpVersion.HttpVersion | undefined
}

const aggregate = `type.googleapis.com/${ClusterConfigSchema.typeName}`

/**
 * Reads a cluster. Left: all its mistakes.
 *
 * @param profile with "envoy" every cluster that is no aggregate has members, none for now
 * @since 0.1.0
 */
export const make = (
  message: ClusterMessage,
  registry: PolicyRegistry = Registry.standard,
  profile: Profile = "grpc"
): Either.Either<Cluster, ReadonlyArray<RouteError>> => {
  const errors = new Collector()
  const discovery = profile === "envoy" ? membersOf(message, errors) : discoveryOf(message, errors)
  const policy =
    profile === "envoy" && discovery?._tag === "Aggregate"
      ? Either.right(ofLeaves)
      : policyOf(message, registry, profile)
  if (Either.isLeft(policy)) {
    const path = message.loadBalancingPolicy === undefined ? "lb_policy" : "load_balancing_policy"
    errors.add(path, "LoadBalancingPolicy", policy.left)
  }
  const { outlierDetection, transportSocket, transportSocketMatches } = message
  // ★ Passed over, they would leave connections without the TLS that they ask for.
  if (transportSocketMatches.length > 0) {
    errors.add("transport_socket_matches", "TransportSocket", "is not supported; use transport_socket")
  }
  const outliers =
    outlierDetection === undefined || profile === "envoy" ? undefined : outlierDetectionOf(outlierDetection, errors)
  const sessions = sessionsOf(message, errors)
  // ★ The first threshold of the DEFAULT priority.
  const thresholds = message.circuitBreakers?.thresholds.find(({ priority }) => priority === RoutingPriority.DEFAULT)
  if (discovery === undefined || Either.isLeft(policy) || errors.count > 0) return Either.left(errors.errors)
  return Either.right({
    name: message.name,
    discovery,
    policy: policy.right,
    maxRequests: thresholds?.maxRequests,
    outlierDetection: outliers,
    sessions,
    httpVersion: HttpVersion.make(message),
    transportSocket:
      transportSocket === undefined
        ? undefined
        : {
            name: transportSocket.name,
            config: transportSocket.configType.case === "typedConfig" ? transportSocket.configType.value : undefined
          }
  })
}

const discoveryOf = (message: ClusterMessage, errors: Collector): Discovery | undefined => {
  const { clusterDiscoveryType: type } = message
  if (type.case === "clusterType") {
    const any = type.value.typedConfig
    if (any?.typeUrl !== aggregate) {
      errors.add(
        "cluster_type",
        "DiscoveryType",
        `${any?.typeUrl ?? "no type"} is not supported; only aggregate clusters are`
      )
      return undefined
    }
    return aggregateOf(any.value, errors)
  }
  // A type that is not set is STATIC, the first of the enum.
  const value = type.case === "type" ? type.value : DiscoveryType.STATIC
  if (value === DiscoveryType.EDS) return edsOf(message, errors)
  if (value === DiscoveryType.LOGICAL_DNS) return logicalDnsOf(message, errors)
  errors.add("type", "DiscoveryType", `${DiscoveryType[value]} is not supported; use EDS, LOGICAL_DNS or an aggregate`)
  return undefined
}

/** The policy of an aggregate that names none: calls are shared by those of its leaves. */
const ofLeaves = RoundRobin.policy.with(null)

const membersOf = (message: ClusterMessage, errors: Collector): Discovery | undefined => {
  const { clusterDiscoveryType: type, commonLbConfig, name } = message
  const any = type.case === "clusterType" ? type.value.typedConfig : undefined
  if (any?.typeUrl === aggregate) {
    const threshold = commonLbConfig?.healthyPanicThreshold?.value
    const discovery = aggregateOf(any.value, errors)
    if (discovery === undefined || threshold === undefined) return discovery
    return { ...discovery, panicThreshold: Math.round(threshold) }
  }
  return { _tag: "Members", assignment: { name, priorities: [], drops: [] }, note: "" }
}

const aggregateOf = (
  bytes: Uint8Array,
  errors: Collector
): (Discovery & { readonly _tag: "Aggregate" }) | undefined => {
  const path = "cluster_type.typed_config.clusters"
  try {
    const { clusters } = fromBinary(ClusterConfigSchema, bytes)
    if (clusters.length > 0) return { _tag: "Aggregate", clusters }
    errors.add(path, "Aggregate", "there are no clusters; name at least one")
  } catch (cause) {
    errors.add(path, "Aggregate", `not a ClusterConfig: ${Reason.of(cause)}`)
  }
  return undefined
}

const edsOf = ({ edsClusterConfig, name }: ClusterMessage, errors: Collector): Discovery | undefined => {
  const source = edsClusterConfig?.edsConfig?.configSourceSpecifier.case
  if (source !== "ads" && source !== "self") {
    errors.add(
      "eds_cluster_config.eds_config",
      "EdsConfig",
      "only ads and self are supported as the source of endpoints"
    )
    return undefined
  }
  const serviceName = edsClusterConfig?.serviceName ?? ""
  // ★ The name of a cluster that is of xdstp is none of its assignment.
  if (serviceName === "" && name.startsWith("xdstp:")) {
    errors.add(
      "eds_cluster_config.service_name",
      "EdsConfig",
      "service_name is required where the cluster's name is of xdstp"
    )
    return undefined
  }
  return { _tag: "Eds", name: serviceName === "" ? name : serviceName }
}

const logicalDnsOf = ({ loadAssignment }: ClusterMessage, errors: Collector): Discovery | undefined => {
  const path = "load_assignment"
  const [locality, ...localities] = loadAssignment?.endpoints ?? []
  const [endpoint, ...endpoints] = locality?.lbEndpoints ?? []
  if (endpoint === undefined || localities.length > 0 || endpoints.length > 0) {
    errors.add(path, "LogicalDns", "exactly one locality with one endpoint is required")
    return undefined
  }
  const identifier = endpoint.hostIdentifier
  const address = identifier.case === "endpoint" ? identifier.value.address?.address : undefined
  const at = `${path}.endpoints[0].lb_endpoints[0].endpoint.address.socket_address`
  if (identifier.case !== "endpoint" || address?.case !== "socketAddress") {
    errors.add(at, "LogicalDns", "socket_address is missing; it is required")
    return undefined
  }
  const { address: host, portSpecifier, resolverName } = address.value
  const port = portSpecifier.case === "portValue" ? portSpecifier.value : 0
  if (host === "") errors.add(`${at}.address`, "LogicalDns", "the host is empty; name it")
  if (port === 0 || port > 65_535)
    errors.add(`${at}.port_value`, "LogicalDns", `the port is ${port}; it must be 1 to 65535`)
  if (resolverName !== "")
    errors.add(`${at}.resolver_name`, "LogicalDns", "resolver_name is not supported; leave it out")
  return { _tag: "LogicalDns", host, port }
}

/** Policies that do not look at localities by themselves, and which Envoy lets share calls among them. */
const flat: ReadonlySet<string> = new Set([RoundRobin.policy.name, LeastRequest.policy.name])

const policyOf = (
  message: ClusterMessage,
  registry: PolicyRegistry,
  profile: Profile
): Either.Either<Configured, string> => {
  const byLocality = (child: Configured) => WrrLocality.policy.with({ child })
  // ★ It wins over lb_policy.
  if (message.loadBalancingPolicy !== undefined) {
    const policy = Registry.fromMessage(registry, message.loadBalancingPolicy)
    // gRPC does not look at `locality_lb_config` (A52).
    if (profile === "grpc" || !LocalityRules.ofPolicy(message.loadBalancingPolicy).isWeighted) return policy
    return Either.map(policy, (made) => (flat.has(made.policy.name) ? byLocality(made) : made))
  }
  const { lbConfig, lbPolicy } = message
  switch (lbPolicy) {
    case LbPolicy.ROUND_ROBIN:
      return Either.right(byLocality(RoundRobin.policy.with(null)))
    case LbPolicy.LEAST_REQUEST: {
      const choices = lbConfig.case === "leastRequestLbConfig" ? lbConfig.value.choiceCount : undefined
      return Either.map(Registry.leastRequest(choices), byLocality)
    }
    case LbPolicy.RING_HASH: {
      if (lbConfig.case !== "ringHashLbConfig") return Registry.ringHash(undefined, undefined)
      const { hashFunction, maximumRingSize, minimumRingSize } = lbConfig.value
      if (hashFunction !== HashFunction.XX_HASH) return Either.left("the hash function is not XX_HASH")
      return Registry.ringHash(
        minimumRingSize === undefined ? undefined : Number(minimumRingSize),
        maximumRingSize === undefined ? undefined : Number(maximumRingSize)
      )
    }
    default:
      return Either.left(`${LbPolicy[lbPolicy]} is not supported; use ROUND_ROBIN, LEAST_REQUEST or RING_HASH`)
  }
}

const healths: ReadonlyMap<HealthStatus, Health> = new Map([
  [HealthStatus.UNKNOWN, "UNKNOWN"],
  [HealthStatus.HEALTHY, "HEALTHY"],
  [HealthStatus.DRAINING, "DRAINING"]
])

/** ★ Of the states of endpoints others than UNKNOWN, HEALTHY and DRAINING are passed over, and no mistake. */
const sessionsOf = ({ commonLbConfig, upstreamConfig }: ClusterMessage, errors: Collector): OverrideHost.Settings => {
  const listed = commonLbConfig?.overrideHostStatus?.statuses
  const statuses =
    listed === undefined
      ? OverrideHost.standard.statuses
      : new Set(
          listed.flatMap((status) => {
            const health = healths.get(status)
            return health === undefined ? [] : [health]
          })
        )
  const any = upstreamConfig?.typedConfig
  const idleTimeout = upstreamConfig === undefined ? undefined : idleTimeoutOf(any, errors)
  return { statuses, idleTimeout: idleTimeout ?? OverrideHost.standard.idleTimeout }
}

const httpOptions = `type.googleapis.com/${HttpProtocolOptionsSchema.typeName}`

const idleTimeoutOf = (any: Any | undefined, errors: Collector): number | undefined => {
  const path = "upstream_config.typed_config"
  if (any?.typeUrl !== httpOptions) {
    errors.add(path, "UpstreamConfig", `${any?.typeUrl ?? "no type"} is not supported; use ${httpOptions}`)
    return undefined
  }
  try {
    const duration = fromBinary(HttpProtocolOptionsSchema, any.value).commonHttpProtocolOptions?.idleTimeout
    if (duration === undefined) return undefined
    const milliseconds = Milliseconds.make(duration)
    if (milliseconds !== undefined && milliseconds >= 0) return milliseconds
    const at = `${path}.common_http_protocol_options.idle_timeout`
    errors.add(at, "Duration", milliseconds === undefined ? "not a valid duration" : `is negative: ${milliseconds} ms`)
  } catch (cause) {
    errors.add(path, "UpstreamConfig", `not an HttpProtocolOptions: ${Reason.of(cause)}`)
  }
  return undefined
}

const outlierDetectionOf = (
  message: OutlierDetection,
  errors: Collector
): OutlierSettings.OutlierSettings | undefined => {
  const settings = OutlierSettings.fromMessage("A50", message)
  if (Either.isRight(settings)) return settings.right
  for (const { field, message: what } of settings.left)
    errors.add(`outlier_detection.${field}`, "OutlierDetection", what)
  return undefined
}
