/**
 * Load-balancing policies by name and by type URL: what a service config or a cluster may ask for. Anybody's own policy is
 * added to it and then as good as ours.
 *
 * @see https://github.com/grpc/proposal/blob/master/A52-xds-custom-lb-policies.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import * as Reason from "@effect-xds/proto/Reason"
import type { LoadBalancingPolicy } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { LeastRequestSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/least_request/v3/least_request"
import { PickFirstSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/pick_first/v3/pick_first"
import {
  RingHashSchema,
  RingHash_HashFunction as HashFunction
} from "@effect-xds/proto/envoy/extensions/load_balancing_policies/ring_hash/v3/ring_hash"
import { RoundRobinSchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin"
import { WrrLocalitySchema } from "@effect-xds/proto/envoy/extensions/load_balancing_policies/wrr_locality/v3/wrr_locality"
import { TypedStructSchema } from "@effect-xds/proto/xds/type/v3/typed_struct"
import * as Either from "effect/Either"
import type { Configured } from "./Policy.js"
import type { Json, JsonObject } from "./ServiceConfig.js"
import * as TypedFilter from "./TypedFilter.js"
import * as LeastRequest from "./policy/LeastRequest.js"
import * as PickFirst from "./policy/PickFirst.js"
import * as RingHash from "./policy/RingHash.js"
import * as RoundRobin from "./policy/RoundRobin.js"
import * as WrrLocality from "./policy/WrrLocality.js"

/**
 * A policy that can be asked for.
 *
 * @since 0.1.0
 */
export interface Entry {
  /** As a service config names it; the last part of a `TypedStruct`'s type URL names it, too. */
  readonly name: string
  /** The type URL of its configuration in clusters; `undefined`: it has none. */
  readonly typeUrl: string | undefined
  /** Reads its config of JSON. Left: why it is not valid, for people. */
  readonly fromJson: (config: JsonObject, registry: PolicyRegistry, depth: number) => Either.Either<Configured, string>
  /** Reads its encoded configuration; may throw where the bytes are no such message. */
  readonly fromBytes: (bytes: Uint8Array, registry: PolicyRegistry, depth: number) => Either.Either<Configured, string>
}

/**
 * Policies.
 *
 * @since 0.1.0
 */
export interface PolicyRegistry {
  readonly byName: ReadonlyMap<string, Entry>
  readonly byTypeUrl: ReadonlyMap<string, Entry>
}

/**
 * How deep policies may be nested.
 *
 * @since 0.1.0
 */
export const maxDepth = 16

/**
 * A registry with more policies; one of the same name or type URL replaces the other.
 *
 * @since 0.1.0
 */
export const add = (self: PolicyRegistry, ...entries: ReadonlyArray<Entry>): PolicyRegistry => {
  const byName = new Map(self.byName)
  const byTypeUrl = new Map(self.byTypeUrl)
  for (const entry of entries) {
    byName.set(entry.name, entry)
    if (entry.typeUrl !== undefined) byTypeUrl.set(entry.typeUrl, entry)
  }
  return { byName, byTypeUrl }
}

const prefix = "type.googleapis.com/"

const isList = (json: Json | undefined): json is ReadonlyArray<Json> => Array.isArray(json)

const isObject = (json: Json | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/**
 * The policy that a list of a service config asks for: the first that is known. ★ If its config is not valid, the list is
 * not: the next one is not tried.
 *
 * @since 0.1.0
 */
export const fromJson = (
  self: PolicyRegistry,
  list: Json | undefined,
  depth = 0
): Either.Either<Configured, string> => {
  if (depth >= maxDepth) return Either.left(`policies are nested deeper than ${maxDepth}`)
  if (!isList(list)) return Either.left("a list of policies is missing")
  const names: Array<string> = []
  for (const each of list) {
    const [entry, ...more] = isObject(each) ? Object.entries(each) : []
    if (entry === undefined || more.length > 0)
      return Either.left("each policy of a list is an object with one key, its name")
    const [name, config] = entry
    names.push(name)
    const known = self.byName.get(name)
    if (known === undefined) continue
    if (!isObject(config)) return Either.left(`the config of ${name} is not an object`)
    return Either.mapLeft(known.fromJson(config, self, depth + 1), (problem) => `${name}: ${problem}`)
  }
  return Either.left(`no policy of the list is known: ${names.join(", ")}`)
}

/**
 * The policy that a cluster's `load_balancing_policy` asks for: the first that is supported.
 *
 * @since 0.1.0
 */
export const fromMessage = (
  self: PolicyRegistry,
  { policies }: LoadBalancingPolicy,
  depth = 0
): Either.Either<Configured, string> => {
  if (depth >= maxDepth) return Either.left(`policies are nested deeper than ${maxDepth}`)
  const names: Array<string> = []
  for (const { typedExtensionConfig } of policies) {
    const any = typedExtensionConfig?.typedConfig
    if (any === undefined) return Either.left("a policy has no typed_extension_config.typed_config")
    try {
      if (TypedFilter.isTypedStruct(any)) {
        const struct = fromBinary(TypedStructSchema, any.value)
        const name = struct.typeUrl.slice(struct.typeUrl.lastIndexOf("/") + 1)
        names.push(name)
        const known = self.byName.get(name)
        if (known === undefined) continue
        const config: JsonObject = struct.value ?? {}
        return Either.mapLeft(known.fromJson(config, self, depth + 1), (problem) => `${name}: ${problem}`)
      }
      names.push(any.typeUrl)
      const known = self.byTypeUrl.get(any.typeUrl)
      if (known === undefined) continue
      return Either.mapLeft(known.fromBytes(any.value, self, depth + 1), (problem) => `${known.name}: ${problem}`)
    } catch (cause) {
      return Either.left(`${any.typeUrl}: ${Reason.of(cause)}`)
    }
  }
  return Either.left(
    names.length === 0 ? "there are no policies" : `no policy of the list is supported: ${names.join(", ")}`
  )
}

const numberOf = (json: Json | undefined): number | undefined => (typeof json === "number" ? json : undefined)

const maxRing = 8_388_608

/**
 * `ring_hash` with these sizes, if they are valid. 0, or none: the default.
 *
 * @since 0.1.0
 */
export const ringHash = (min: number | undefined, max: number | undefined): Either.Either<Configured, string> => {
  // ★ 0 is the default, as in grpc-go: a ring without entries would let every call wait.
  const [least, most] = [min === undefined || min === 0 ? 1_024 : min, max === undefined || max === 0 ? maxRing : max]
  const odd = [least, most].find((size) => !Number.isSafeInteger(size) || size < 0)
  if (odd !== undefined) return Either.left(`the size of the ring is ${odd}; it must be a whole number`)
  if (least > maxRing || most > maxRing) return Either.left(`the size of the ring is over ${maxRing}`)
  if (least > most) return Either.left(`the minimum size of the ring, ${least}, is over its maximum, ${most}`)
  return Either.right(RingHash.policy.with({ minRingSize: least, maxRingSize: most }))
}

/**
 * `least_request` with this number of choices, if it is valid.
 *
 * @since 0.1.0
 */
export const leastRequest = (choiceCount: number | undefined): Either.Either<Configured, string> => {
  if (choiceCount !== undefined && !Number.isSafeInteger(choiceCount)) {
    return Either.left(`choice_count is ${choiceCount}; it must be a whole number`)
  }
  return choiceCount !== undefined && choiceCount < 2
    ? Either.left(`choice_count is ${choiceCount}; it must be at least 2`)
    : Either.right(LeastRequest.policy.with({ choiceCount }))
}

const sizeOf = (size: bigint | undefined): number | undefined => (size === undefined ? undefined : Number(size))

/**
 * The policies of gRPC.
 *
 * @since 0.1.0
 */
export const standard: PolicyRegistry = add(
  { byName: new Map(), byTypeUrl: new Map() },
  {
    name: "round_robin",
    typeUrl: `${prefix}${RoundRobinSchema.typeName}`,
    fromJson: () => Either.right(RoundRobin.policy.with(null)),
    fromBytes: (bytes) => {
      fromBinary(RoundRobinSchema, bytes)
      return Either.right(RoundRobin.policy.with(null))
    }
  },
  {
    name: "pick_first",
    typeUrl: `${prefix}${PickFirstSchema.typeName}`,
    fromJson: ({ shuffleAddressList }) => Either.right(PickFirst.policy.with({ shuffle: shuffleAddressList === true })),
    fromBytes: (bytes) =>
      Either.right(PickFirst.policy.with({ shuffle: fromBinary(PickFirstSchema, bytes).shuffleAddressList }))
  },
  {
    name: "least_request_experimental",
    typeUrl: `${prefix}${LeastRequestSchema.typeName}`,
    fromJson: ({ choiceCount }) => leastRequest(numberOf(choiceCount)),
    fromBytes: (bytes) => leastRequest(fromBinary(LeastRequestSchema, bytes).choiceCount)
  },
  {
    name: "ring_hash_experimental",
    typeUrl: `${prefix}${RingHashSchema.typeName}`,
    fromJson: ({ maxRingSize, minRingSize }) => ringHash(numberOf(minRingSize), numberOf(maxRingSize)),
    fromBytes: (bytes) => {
      const { hashFunction, maximumRingSize, minimumRingSize } = fromBinary(RingHashSchema, bytes)
      return hashFunction === HashFunction.XX_HASH || hashFunction === HashFunction.DEFAULT_HASH
        ? ringHash(sizeOf(minimumRingSize), sizeOf(maximumRingSize))
        : Either.left("the hash function is not XX_HASH")
    }
  },
  {
    name: "xds_wrr_locality_experimental",
    typeUrl: `${prefix}${WrrLocalitySchema.typeName}`,
    fromJson: ({ childPolicy }, registry, depth) =>
      Either.map(fromJson(registry, childPolicy, depth), (child) => WrrLocality.policy.with({ child })),
    fromBytes: (bytes, registry, depth) => {
      const { endpointPickingPolicy } = fromBinary(WrrLocalitySchema, bytes)
      return endpointPickingPolicy === undefined
        ? Either.left("endpoint_picking_policy is missing")
        : Either.map(fromMessage(registry, endpointPickingPolicy, depth), (child) => WrrLocality.policy.with({ child }))
    }
  }
)
