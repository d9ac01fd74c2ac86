/**
 * The types of clusters that are here: what `type` says and `cluster_type` of the newer API, registered like anybody's own.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
 * @since 0.1.0
 */
import { create, fromBinary } from "@bufbuild/protobuf"
import type { Duration } from "@bufbuild/protobuf/wkt"
import type { Cluster as ClusterMessage } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  Cluster_DnsLookupFamily as Family,
  Cluster_LbPolicy as LbPolicy
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ApiConfigSource, ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { ApiConfigSource_ApiType, ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { ClusterConfigSchema } from "@effect-xds/proto/envoy/extensions/clusters/aggregate/v3/cluster"
import { DnsLookupFamily as DnsFamily } from "@effect-xds/proto/envoy/extensions/clusters/common/dns/v3/dns"
import { DnsClusterSchema } from "@effect-xds/proto/envoy/extensions/clusters/dns/v3/dns_cluster"
import * as ReasonOf from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import * as Assignments from "./Assignment.js"
import type { ClusterError, Reason } from "./ClusterError.js"
import { Collector } from "./ClusterError.js"
import type { AssignmentSource, ClusterType, Definition, EndpointSource, Given, Registry } from "./ClusterType.js"
import { define, registry } from "./ClusterType.js"
import * as Discoveries from "./Discovery.js"
import type { LookupFamily, Settings as DnsSettings } from "./DnsTarget.js"
import * as Milliseconds from "./Milliseconds.js"
import * as OriginalDst from "./OriginalDst.js"

const provided = "type.googleapis.com/envoy.extensions.load_balancing_policies.cluster_provided.v3.ClusterProvided"

/**
 * Whether a cluster leaves picking to its type. ★ `load_balancing_policy` goes before `lb_policy`.
 *
 * @since 0.1.0
 */
export const leavesPicking = ({ lbPolicy, loadBalancingPolicy }: ClusterMessage): boolean =>
  loadBalancingPolicy === undefined
    ? lbPolicy === LbPolicy.CLUSTER_PROVIDED
    : loadBalancingPolicy.policies.some(
        ({ typedExtensionConfig }) => typedExtensionConfig?.typedConfig?.typeUrl === provided
      )

interface Bounds {
  /** In milliseconds. */
  readonly least: number
  readonly words: string
}

const aboveZero: Bounds = { least: Number.MIN_VALUE, words: "it must be more than 0" }
const aboveOne: Bounds = { least: 1 + Number.EPSILON, words: "it must be more than 1 ms" }
const atLeastZero: Bounds = { least: 0, words: "it must not be negative" }
const atLeastSecond: Bounds = { least: 1_000, words: "it must be at least 1 s" }

/** Milliseconds; `undefined`: there are none, or none that can be used. */
const duration = (
  given: Duration | undefined,
  { least, words }: Bounds,
  path: string,
  errors: Collector
): number | undefined => {
  if (given === undefined) return undefined
  const milliseconds = Milliseconds.make(given)
  if (milliseconds !== undefined && milliseconds >= least) return milliseconds
  errors.add(path, "Duration", `not a valid duration, or too short; ${words}`)
  return undefined
}

/** What is decoded, unless there are mistakes; what only its reducer finds has a reason of the type. */
const decoded = (
  errors: Collector,
  reason: Reason,
  at: string,
  cluster: Discoveries.Cluster
): Either.Either<Discoveries.Cluster, ReadonlyArray<ClusterError>> => {
  if (errors.count > 0) return Either.left(errors.errors)
  const made = Discoveries.make(cluster)
  if (Either.isRight(made)) return Either.right(cluster)
  for (const { field, message } of made.left) {
    errors.add(field.startsWith("load_assignment") ? field : `${at}${field}`, reason, message)
  }
  return Either.left(errors.errors)
}

/** A type whose reducer is `Discovery`. */
const builtIn = (
  typeUrl: string,
  decode: (given: Given) => Either.Either<Discoveries.Cluster, ReadonlyArray<ClusterError>>
): Definition => define<Discoveries.Cluster, Discoveries.Discovery>({ ...reducer, typeUrl, decode })

const reducer: Pick<ClusterType<Discoveries.Cluster, Discoveries.Discovery>, "make" | "step" | "deadline"> = {
  // Decoded is what has no mistakes.
  make: (cluster) => Either.getOrThrowWith(Discoveries.make(cluster), () => new Error("the cluster has mistakes")),
  step: Discoveries.step,
  deadline: Discoveries.deadline
}

const endpointsOf = (
  { loadAssignment }: ClusterMessage,
  addresses: Assignments.Addresses,
  errors: Collector
): Assignments.Assignment["endpoints"] =>
  loadAssignment === undefined ? [] : Assignments.read(loadAssignment, addresses, "load_assignment.", errors).endpoints

const isStatic = builtIn("STATIC", ({ cluster }) => {
  const errors = new Collector()
  const endpoints = endpointsOf(cluster, "ip", errors)
  return decoded(errors, "Address", "", { type: "STATIC", endpoints })
})

const dnsOf = (
  cluster: ClusterMessage,
  type: "STRICT_DNS" | "LOGICAL_DNS",
  dns: Partial<Omit<DnsSettings, "uses">>,
  at: string,
  errors: Collector
): Either.Either<Discoveries.Cluster, ReadonlyArray<ClusterError>> => {
  const endpoints = endpointsOf(cluster, "name", errors)
  const localities = cluster.loadAssignment?.endpoints.length ?? 0
  if (type === "LOGICAL_DNS" && localities > 1) {
    const text = `there are ${localities} localities; LOGICAL_DNS has exactly one, with one endpoint`
    errors.add("load_assignment.endpoints", "LogicalDns", text)
  }
  const { waitForWarmOnInit } = cluster
  return decoded(errors, type === "LOGICAL_DNS" ? "LogicalDns" : "Dns", at, { type, endpoints, dns, waitForWarmOnInit })
}

/** The fields of DNS, of whichever message. */
interface Dns {
  readonly family: LookupFamily | undefined
  readonly refreshRate: Duration | undefined
  readonly failure: { readonly base: Duration | undefined; readonly max: Duration | undefined } | undefined
  readonly respectTtl: boolean
  readonly minRefreshRate: Duration | undefined
  readonly jitter: Duration | undefined
}

const dnsSettings = (
  { failure, family, jitter, minRefreshRate, refreshRate, respectTtl }: Dns,
  at: string,
  errors: Collector
): Partial<Omit<DnsSettings, "uses">> => {
  if (family === undefined) {
    const text = "is not known; use AUTO, V4_ONLY, V6_ONLY, V4_PREFERRED or ALL"
    errors.add(`${at}dns_lookup_family`, "Dns", text)
  }
  const failureAt = `${at}dns_failure_refresh_rate`
  const base = duration(failure?.base, aboveOne, `${failureAt}.base_interval`, errors)
  const max = duration(failure?.max, aboveOne, `${failureAt}.max_interval`, errors)
  if (failure !== undefined && failure.base === undefined) {
    errors.add(`${failureAt}.base_interval`, "Dns", "base_interval is missing; it is required")
  }
  const rate = duration(refreshRate, aboveOne, `${at}dns_refresh_rate`, errors)
  const least = duration(minRefreshRate, atLeastSecond, `${at}dns_min_refresh_rate`, errors)
  return {
    ...(family === undefined ? {} : { family }),
    ...(rate === undefined ? {} : { refreshRate: rate }),
    ...(base === undefined ? {} : { failureRefreshRate: { base, max: max ?? 10 * base } }),
    respectTtl,
    ...(least === undefined ? {} : { minRefreshRate: least }),
    jitter: duration(jitter, atLeastZero, `${at}dns_jitter`, errors) ?? 0
  }
}

const families: ReadonlyMap<Family, LookupFamily> = new Map([
  [Family.AUTO, "AUTO"],
  [Family.V4_ONLY, "V4_ONLY"],
  [Family.V6_ONLY, "V6_ONLY"],
  [Family.V4_PREFERRED, "V4_PREFERRED"],
  [Family.ALL, "ALL"]
])

const byField = (type: "STRICT_DNS" | "LOGICAL_DNS"): Definition =>
  builtIn(type, ({ cluster }) => {
    const errors = new Collector()
    const { dnsFailureRefreshRate: failure } = cluster
    const dns = dnsSettings(
      {
        family: families.get(cluster.dnsLookupFamily),
        refreshRate: cluster.dnsRefreshRate,
        failure: failure === undefined ? undefined : { base: failure.baseInterval, max: failure.maxInterval },
        respectTtl: cluster.respectDnsTtl,
        minRefreshRate: undefined,
        jitter: cluster.dnsJitter
      },
      "",
      errors
    )
    return dnsOf(cluster, type, dns, "", errors)
  })

const dnsCluster = "type.googleapis.com/envoy.extensions.clusters.dns.v3.DnsCluster"

/** ★ Of another enum than a cluster's, with other numbers. */
const dnsFamilies: ReadonlyMap<DnsFamily, LookupFamily> = new Map([
  [DnsFamily.UNSPECIFIED, "AUTO"],
  [DnsFamily.AUTO, "AUTO"],
  [DnsFamily.V4_ONLY, "V4_ONLY"],
  [DnsFamily.V6_ONLY, "V6_ONLY"],
  [DnsFamily.V4_PREFERRED, "V4_PREFERRED"],
  [DnsFamily.ALL, "ALL"]
])

const dnsExtension = builtIn(dnsCluster, ({ cluster, config }) => {
  const errors = new Collector()
  const at = "cluster_type.typed_config."
  const message = fromBinary(DnsClusterSchema, config)
  const { dnsFailureRefreshRate: failure } = message
  const dns = dnsSettings(
    {
      family: dnsFamilies.get(message.dnsLookupFamily),
      refreshRate: message.dnsRefreshRate,
      failure: failure === undefined ? undefined : { base: failure.baseInterval, max: failure.maxInterval },
      respectTtl: message.respectDnsTtl,
      minRefreshRate: message.dnsMinRefreshRate,
      jitter: message.dnsJitter
    },
    at,
    errors
  )
  return dnsOf(cluster, message.allAddressesInSingleEndpoint ? "LOGICAL_DNS" : "STRICT_DNS", dns, at, errors)
})

interface OriginalDstConfig {
  readonly cluster: Discoveries.Cluster
  readonly settings: OriginalDst.Settings
}

/**
 * The type ORIGINAL_DST with a bound of its own: `ClusterTypes.withTypes(ClusterTypes.originalDst({ maxHosts: 20_000 }))`.
 *
 * @since 0.1.0
 */
export const originalDst = ({
  maxHosts
}: {
  /** How many hosts there may be at a time; calls to others are refused. Default: {@link Discovery.maxPicked}. */
  readonly maxHosts?: number | undefined
} = {}): Definition =>
  define<OriginalDstConfig, Discoveries.Discovery>({
    typeUrl: "ORIGINAL_DST",
    decode: ({ cluster }) => {
      const errors = new Collector()
      const { lbConfig, loadAssignment } = cluster
      const given = lbConfig.case === "originalDstLbConfig" ? lbConfig.value : undefined
      const at = "original_dst_lb_config"
      if (loadAssignment !== undefined) {
        errors.add("load_assignment", "OriginalDst", "the hosts are where calls go to; leave it out")
      }
      if (given !== undefined && given.httpHeaderName !== "" && !given.useHttpHeader) {
        errors.add(
          `${at}.http_header_name`,
          "OriginalDst",
          "is not used without use_http_header; set that, or leave it out"
        )
      }
      const portOverride = given?.upstreamPortOverride
      if (portOverride !== undefined && portOverride > 65_535) {
        errors.add(`${at}.upstream_port_override`, "OriginalDst", `is ${portOverride}; at most 65535 is possible`)
      }
      const cleanupInterval = duration(cluster.cleanupInterval, aboveZero, "cleanup_interval", errors) ?? 5_000
      if (errors.count > 0) return Either.left(errors.errors)
      const header = given?.httpHeaderName === "" ? "x-envoy-original-dst-host" : given?.httpHeaderName.toLowerCase()
      const { metadataKey } = given ?? {}
      return Either.right({
        cluster: { type: "ORIGINAL_DST", cleanupInterval, maxHosts },
        settings: {
          header: given?.useHttpHeader === true ? header : undefined,
          metadataKey:
            metadataKey === undefined
              ? undefined
              : {
                  key: metadataKey.key,
                  path: metadataKey.path.flatMap(({ segment }) => (segment.case === "key" ? [segment.value] : []))
                },
          portOverride,
          cleanupInterval
        }
      })
    },
    make: ({ cluster }) => reducer.make(cluster),
    step: reducer.step,
    deadline: reducer.deadline,
    looksAtMembers: false,
    pick: ({ settings }, _members, call) => OriginalDst.pick(settings, call)
  })

const noSource = create(ConfigSourceSchema)

interface EdsConfig {
  readonly cluster: Discoveries.Cluster
  readonly assignment: AssignmentSource
}

const kinds: ReadonlyMap<number, "REST" | "GRPC" | "DELTA_GRPC"> = new Map([
  [ApiConfigSource_ApiType.REST, "REST"],
  [ApiConfigSource_ApiType.GRPC, "GRPC"],
  [ApiConfigSource_ApiType.DELTA_GRPC, "DELTA_GRPC"]
])

/** `undefined`: there is none, or one with a mistake, which is noted. */
const sourceOf = (
  { configSourceSpecifier: given }: ConfigSource,
  at: string,
  errors: Collector
): EndpointSource | undefined => {
  switch (given.case) {
    case "ads":
    case "self":
      return { _tag: "Client", as: given.case }
    case "path":
    case "pathConfigSource": {
      const path = given.case === "path" ? given.value : given.value.path
      if (path !== "") return { _tag: "File", path }
      errors.add(`${at}.path`, "EdsConfig", "the path is empty")
      return undefined
    }
    case "apiConfigSource":
      return apiOf(given.value, `${at}.api_config_source`, errors)
    default:
      errors.add(at, "EdsConfig", "there is no source of endpoints; say ads, self or another")
      return undefined
  }
}

const apiOf = (api: ApiConfigSource, at: string, errors: Collector): EndpointSource | undefined => {
  const kind = kinds.get(api.apiType)
  const servers = api.grpcServices.flatMap(({ targetSpecifier: target }) =>
    target.case === "envoyGrpc" ? target.value.clusterName : target.case === "googleGrpc" ? target.value.targetUri : []
  )
  const refreshDelay = duration(api.refreshDelay, aboveZero, `${at}.refresh_delay`, errors)
  const requestTimeout = duration(api.requestTimeout, aboveZero, `${at}.request_timeout`, errors)
  if (kind === undefined) {
    errors.add(`${at}.api_type`, "EdsConfig", "say REST, GRPC or DELTA_GRPC: the others are of no type alone")
    return undefined
  }
  if (kind !== "REST") {
    if (servers.length === 0) errors.add(`${at}.grpc_services`, "EdsConfig", "there is no service to ask")
    return { _tag: "Api", kind, servers, refreshDelay, requestTimeout }
  }
  if (api.clusterNames.length !== 1) errors.add(`${at}.cluster_names`, "EdsConfig", "REST has one cluster, no more")
  if (api.refreshDelay === undefined) errors.add(`${at}.refresh_delay`, "EdsConfig", "REST must say how often it polls")
  return { _tag: "Api", kind, servers: api.clusterNames, refreshDelay, requestTimeout }
}

const eds = define<EdsConfig, Discoveries.Discovery>({
  typeUrl: "EDS",
  decode: ({ cluster: { edsClusterConfig, name } }) => {
    const errors = new Collector()
    const at = "eds_cluster_config"
    const source = sourceOf(edsClusterConfig?.edsConfig ?? noSource, `${at}.eds_config`, errors)
    const serviceName = edsClusterConfig?.serviceName ?? ""
    // ★ The name of a cluster that is of xdstp is none of its assignment.
    if (serviceName === "" && name.startsWith("xdstp:")) {
      const text = "service_name is required where the cluster's name is of xdstp"
      errors.add(`${at}.service_name`, "EdsConfig", text)
    }
    const timeoutAt = `${at}.eds_config.initial_fetch_timeout`
    const given = edsClusterConfig?.edsConfig?.initialFetchTimeout
    const initialFetchTimeout = duration(given, atLeastZero, timeoutAt, errors)
    if (source === undefined || errors.count > 0) return Either.left(errors.errors)
    return Either.right({
      cluster: { type: "EDS", initialFetchTimeout },
      assignment: { name: serviceName === "" ? name : serviceName, source }
    })
  },
  make: ({ cluster }) => reducer.make(cluster),
  step: reducer.step,
  deadline: reducer.deadline,
  assignment: ({ assignment }) => assignment
})

const aggregate = define<ReadonlyArray<string>, Discoveries.Discovery>({
  typeUrl: `type.googleapis.com/${ClusterConfigSchema.typeName}`,
  decode: ({ config }) => {
    const path = "cluster_type.typed_config.clusters"
    const rejected = (message: string) => Either.left([{ path, reason: "Aggregate", message } as const])
    try {
      const { clusters } = fromBinary(ClusterConfigSchema, config)
      return clusters.length > 0 ? Either.right(clusters) : rejected("there are no clusters; name at least one")
    } catch (cause) {
      return rejected(`not a ClusterConfig: ${ReasonOf.of(cause)}`)
    }
  },
  // Hosts are those of its leaves.
  make: () => reducer.make({ type: "STATIC", endpoints: [] }),
  step: reducer.step,
  deadline: reducer.deadline,
  clusters: (clusters) => clusters
})

/**
 * All of them.
 *
 * @since 0.1.0
 */
export const standard: Registry = registry([
  isStatic,
  byField("STRICT_DNS"),
  byField("LOGICAL_DNS"),
  eds,
  originalDst(),
  dnsExtension,
  aggregate
])

/**
 * All of them and these; one of these with the type URL of another takes its place.
 *
 * @since 0.1.0
 */
export const withTypes = (...types: ReadonlyArray<Definition>): Registry =>
  registry(Array.from(standard.values()).concat(types))
