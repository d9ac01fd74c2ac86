/**
 * What a cluster says of its localities: whether calls are shared among them by their weights.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/locality_weight
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Cluster, LoadBalancingPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Cluster_LbPolicy as LbPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { LocalityLbConfig } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/common/v3/common"
import { LeastRequestSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/least_request/v3/least_request"
import { RingHashSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash"
import { RoundRobinSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin"

/**
 * The rule.
 *
 * @since 0.1.0
 */
export interface LocalityRule {
  /** Calls are shared among localities by their weights. */
  readonly isWeighted: boolean
  /** ★ The policy hashes: weights are as they were told, whatever the health of hosts, and count in panic, too. */
  readonly isHashing: boolean
  /** In panic no host is used, instead of all. */
  readonly failTrafficOnPanic: boolean
}

const prefix = "type.googleapis.com/"

const ofConfig = (config: LocalityLbConfig | undefined): LocalityRule => {
  const { case: what, value } = config?.localityConfigSpecifier ?? { case: undefined }
  return {
    isWeighted: what === "localityWeightedLbConfig",
    isHashing: false,
    failTrafficOnPanic: what === "zoneAwareLbConfig" && value.failTrafficOnPanic
  }
}

const readers: ReadonlyMap<string, (bytes: Uint8Array) => LocalityRule> = new Map([
  [
    `${prefix}${RoundRobinSchema.typeName}`,
    (bytes: Uint8Array) => ofConfig(fromBinary(RoundRobinSchema, bytes).localityLbConfig)
  ],
  [
    `${prefix}${LeastRequestSchema.typeName}`,
    (bytes: Uint8Array) => ofConfig(fromBinary(LeastRequestSchema, bytes).localityLbConfig)
  ],
  [
    `${prefix}${RingHashSchema.typeName}`,
    (bytes: Uint8Array) => ({
      isWeighted: fromBinary(RingHashSchema, bytes).localityWeightedLbConfig !== undefined,
      isHashing: true,
      failTrafficOnPanic: false
    })
  ]
])

/** Of other policies, as `wrr_locality`: they look at the weights, or they do not. */
const ofOthers: LocalityRule = { isWeighted: true, isHashing: false, failTrafficOnPanic: false }

/**
 * The rule of a `load_balancing_policy`: that of the first policy that is read here. ★ Bytes that are no such message are a
 * mistake that who reads the policy tells.
 *
 * @since 0.1.0
 */
export const ofPolicy = ({ policies }: LoadBalancingPolicy): LocalityRule => {
  for (const { typedExtensionConfig } of policies) {
    const any = typedExtensionConfig?.typedConfig
    const read = any === undefined ? undefined : readers.get(any.typeUrl)
    if (any === undefined || read === undefined) continue
    try {
      return read(any.value)
    } catch {
      return ofOthers
    }
  }
  return ofOthers
}

/**
 * The rule of a cluster. ★ Beside a `load_balancing_policy`, `lb_policy` and what `common_lb_config` says of localities do not
 * count.
 *
 * @since 0.1.0
 */
export const of = ({ commonLbConfig, lbPolicy, loadBalancingPolicy }: Cluster): LocalityRule => {
  if (loadBalancingPolicy !== undefined) return ofPolicy(loadBalancingPolicy)
  const { case: what, value } = commonLbConfig?.localityConfigSpecifier ?? { case: undefined }
  return {
    isWeighted: what === "localityWeightedLbConfig",
    isHashing: lbPolicy === LbPolicy.RING_HASH || lbPolicy === LbPolicy.MAGLEV,
    failTrafficOnPanic: what === "zoneAwareLbConfig" && value.failTrafficOnPanic
  }
}
