/**
 * What becomes of a call that a route matches: its cluster, its deadline, its retries and its hash.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @see https://github.com/grpc/proposal/blob/master/A31-xds-timeout-support-and-config-selector.md
 * @since 0.1.0
 */
import type { Any, Duration } from "@bufbuild/protobuf/wkt"
import * as Milliseconds from "@effect-xds/discovery/Milliseconds"
import type {
  RouteAction as RouteActionMessage,
  WeightedCluster as WeightedClusterMessage
} from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as Draws from "./Draw.js"
import * as HashPolicy from "./HashPolicy.js"
import * as RetryPolicy from "./RetryPolicy.js"
import type { Collector } from "./RouteError.js"
import type { Rules } from "./Rules.js"
import * as TypedFilter from "./TypedFilter.js"

/**
 * A cluster and its share.
 *
 * @since 0.1.0
 */
export interface Target {
  readonly cluster: string
  /** At least 1. */
  readonly weight: number
  /** Sum of the weights up to this one. */
  readonly end: number
  /** Settings of HTTP filters, by the filter's name. */
  readonly filters: ReadonlyMap<string, Any>
}

/**
 * Where calls go.
 *
 * @since 0.1.0
 */
export type Clusters =
  | { readonly _tag: "Cluster"; readonly cluster: string }
  | { readonly _tag: "Weighted"; readonly targets: ReadonlyArray<Target>; readonly sum: number }

/**
 * What a route does with a call.
 *
 * @since 0.1.0
 */
export interface RouteAction {
  readonly clusters: Clusters
  /**
   * Milliseconds a call may take at most, over queueing and all retries; 0: as long as the caller says; `undefined`: the
   * route does not say it, the listener's connection manager may.
   */
  readonly timeout: number | undefined
  readonly retry: RetryPolicy.RetryPolicy | undefined
  readonly hash: ReadonlyArray<HashPolicy.HashPolicy>
  /** `:authority` is the endpoint's host name, if the control plane is trusted. */
  readonly autoHostRewrite: boolean
}

/**
 * An action, or why the route that has it is ignored.
 *
 * @since 0.1.0
 */
export type Made =
  { readonly _tag: "Action"; readonly action: RouteAction } | { readonly _tag: "Ignored"; readonly why: string }

const maxSum = 2 ** 32 - 1
const ignored = (why: string): Made => ({ _tag: "Ignored", why })

/**
 * The action that a message means; `undefined` if it has mistakes, which are then with `errors`.
 *
 * @param filters type URLs of the HTTP filters that this client has
 * @since 0.1.0
 */
export const make = (
  message: RouteActionMessage,
  path: string,
  rules: Rules,
  filters: ReadonlySet<string>,
  errors: Collector
): Made | undefined => {
  const before = errors.count
  const { clusterSpecifier: specifier } = message
  let clusters: Clusters | undefined
  switch (specifier.case) {
    case "cluster":
      if (specifier.value === "")
        errors.add(`${path}.cluster`, "ClusterName", "the cluster's name is empty; name a cluster")
      clusters = { _tag: "Cluster", cluster: specifier.value }
      break
    case "weightedClusters":
      clusters = weightedOf(specifier.value, `${path}.weighted_clusters`, rules, filters, errors)
      break
    case "clusterHeader":
      return ignored("cluster_header is not supported; match the header instead")
    // ★ Also what a newer proto puts here: such a route is for clients that know it.
    default:
      if (rules === "current") return ignored("no cluster_specifier that is supported")
      errors.add(path, "ClusterSpecifier", "no cluster_specifier that is supported; set cluster or weighted_clusters")
  }
  const retry =
    message.retryPolicy === undefined
      ? undefined
      : RetryPolicy.make(message.retryPolicy, `${path}.retry_policy`, errors)
  const hash = message.hashPolicy.map((policy, index) =>
    HashPolicy.make(policy, `${path}.hash_policy[${index}]`, errors)
  )
  const timeout = timeoutOf(message, `${path}.max_stream_duration`, errors)
  if (clusters === undefined || errors.count > before) return undefined
  const { hostRewriteSpecifier: host } = message
  const autoHostRewrite = host.case === "autoHostRewrite" && host.value.value
  return { _tag: "Action", action: { clusters, timeout, retry, hash, autoHostRewrite } }
}

const weightedOf = (
  { clusters, totalWeight }: WeightedClusterMessage,
  path: string,
  rules: Rules,
  filters: ReadonlySet<string>,
  errors: Collector
): Clusters => {
  const targets: Array<Target> = []
  let sum = 0
  for (const [index, { name, typedPerFilterConfig, weight = 0 }] of clusters.entries()) {
    const at = `${path}.clusters[${index}]`
    if (name === "") errors.add(`${at}.name`, "ClusterName", "the cluster's name is empty; name a cluster")
    const overrides =
      rules === "A28"
        ? TypedFilter.none
        : TypedFilter.overrides(typedPerFilterConfig, filters, `${at}.typed_per_filter_config`, errors)
    sum += weight
    if (weight > 0) targets.push({ cluster: name, weight, end: sum, filters: overrides })
  }
  const total = totalWeight ?? 100
  if (sum === 0) errors.add(path, "WeightSum", "the weights add up to 0; give a cluster a weight")
  else if (sum > maxSum) errors.add(path, "WeightSum", `the weights add up to ${sum}, which is over ${maxSum}`)
  else if (rules === "A28" && sum !== total) {
    errors.add(path, "WeightSum", `the weights add up to ${sum}, and total_weight is ${total}`)
  }
  return { _tag: "Weighted", targets, sum }
}

/** ★ A 0 of the route hides the listener's; `timeout` and `idle_timeout` are not used. */
const timeoutOf = (
  { maxStreamDuration: durations }: RouteActionMessage,
  path: string,
  errors: Collector
): number | undefined => {
  if (durations === undefined) return undefined
  const max = millisecondsOf(durations.maxStreamDuration, `${path}.max_stream_duration`, errors)
  const headerMax = millisecondsOf(durations.grpcTimeoutHeaderMax, `${path}.grpc_timeout_header_max`, errors)
  return headerMax ?? max
}

const millisecondsOf = (duration: Duration | undefined, path: string, errors: Collector): number | undefined => {
  if (duration === undefined) return undefined
  const milliseconds = Milliseconds.make(duration)
  if (milliseconds !== undefined && milliseconds >= 0) return milliseconds
  errors.add(path, "Duration", milliseconds === undefined ? "not a valid duration" : `is negative: ${milliseconds} ms`)
  return undefined
}

/**
 * Milliseconds a call may take: the least of what the caller and the configuration say; Infinity if neither says it.
 *
 * @param listener `max_stream_duration` of the connection manager's `common_http_protocol_options`, in milliseconds
 * @param caller milliseconds until the caller's deadline
 * @since 0.1.0
 */
export const timeout = (self: RouteAction, listener: number | undefined, caller: number | undefined): number => {
  const configured = self.timeout ?? listener ?? 0
  return Math.min(configured === 0 ? Number.POSITIVE_INFINITY : configured, caller ?? Number.POSITIVE_INFINITY)
}

/**
 * Whether calls can go to a cluster. One without weight is none of them.
 *
 * @since 0.1.0
 */
export const has = (self: Clusters, cluster: string): boolean =>
  self._tag === "Cluster" ? self.cluster === cluster : self.targets.some((target) => target.cluster === cluster)

/**
 * The cluster of a call: ★ drawn against the sum of the weights, whatever the state of the clusters. Uses one draw if
 * there is a choice.
 *
 * @since 0.1.0
 */
export const cluster = (self: Clusters, draw: Draws.Draw): Target | { readonly cluster: string } => {
  if (self._tag === "Cluster") return self
  const { sum, targets } = self
  // Weights are at least 1 and add up to at least 1, so there is a first target.
  return targets[Draws.share(targets, Draws.at(draw, 0) * sum)] ?? { cluster: "" }
}
