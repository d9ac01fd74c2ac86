/**
 * A ClusterLoadAssignment, validated: the localities of each priority, their endpoints, and what is dropped.
 *
 * @see https://github.com/grpc/proposal/blob/master/A27-xds-global-load-balancing.md
 * @since 0.1.0
 */
import type { Address as AddressMessage } from "@effect-xds/proto/envoy/config/core/v3/address"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { LbEndpoint, LocalityLbEndpoints } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import { nameOf } from "@effect-xds/discovery/Locality"
import type { Tally } from "@effect-xds/discovery/PriorityLoad"
import * as Either from "effect/Either"
import type { Address, Endpoint, Health } from "./Endpoint.js"
import * as Fraction from "@effect-xds/discovery/Fraction"

import type { Drop } from "./Picker.js"
import type { RouteError } from "./RouteError.js"
import { Collector } from "./RouteError.js"

/**
 * A locality and its endpoints that can be used.
 *
 * @since 0.1.0
 */
export interface Locality {
  /** Region, zone and sub-zone as one text. */
  readonly name: string
  readonly weight: number
  readonly endpoints: ReadonlyArray<Endpoint>
  /** Endpoints that only sessions go on with. Default: none. */
  readonly draining?: ReadonlyArray<Endpoint> | undefined
}

/**
 * An assignment.
 *
 * @since 0.1.0
 */
export interface Assignment {
  readonly name: string
  /** The best first; there are no gaps. */
  readonly priorities: ReadonlyArray<ReadonlyArray<Locality>>
  /**
   * How much of the calls each of them gets, of those that can be connected to; 0: none. Default: the first that can be
   * connected to gets all (A56).
   */
  readonly shares?: ReadonlyArray<number> | undefined
  readonly drops: ReadonlyArray<Drop>
  /** Who is well, by the rules of Envoy: an aggregate shares its calls by it. Default: the first leaf gets all (A37). */
  readonly health?: Healths | undefined
}

/**
 * Who is well of a cluster.
 *
 * @since 0.1.0
 */
export interface Healths {
  /** How many are, by priority. */
  readonly tallies: ReadonlyArray<Tally>
  /** How much is there for calls to go to, in percent. */
  readonly total: number
  /** Of each of the `priorities` of the assignment: whose hosts they are; `fails`: in panic its calls are to fail. */
  readonly groups: ReadonlyArray<{
    readonly priority: number
    readonly health: "healthy" | "degraded"
    readonly fails: boolean
  }>
  /** Those who are well alone: what a leaf of an aggregate has while others can take its calls. Default: the same. */
  readonly calm?: Assignment | undefined
}

const maxWeight = 2 ** 32 - 1

/** ★ UNHEALTHY, TIMEOUT and DEGRADED are not used; DRAINING only for sessions that are kept (A55). */
const healthOf = ({ healthStatus }: LbEndpoint): Health | undefined => {
  switch (healthStatus) {
    case HealthStatus.UNKNOWN:
      return "UNKNOWN"
    case HealthStatus.HEALTHY:
      return "HEALTHY"
    case HealthStatus.DRAINING:
      return "DRAINING"
    default:
      return undefined
  }
}

/**
 * Reads an assignment. Left: all its mistakes. One without endpoints is valid: nothing can be reached.
 *
 * @since 0.1.0
 */
export const make = (message: ClusterLoadAssignment): Either.Either<Assignment, ReadonlyArray<RouteError>> => {
  const errors = new Collector()
  // ★ By number: 2³²−1 is no place in an array.
  const byPriority = new Map<number, Array<Locality>>()
  const sums = new Map<number, number>()
  const seen = new Map<Address, string>()
  for (const [index, group] of message.endpoints.entries()) {
    const path = `endpoints[${index}]`
    const weight = group.loadBalancingWeight ?? 0
    // ★ Before anything else is looked at: such a locality leaves no gap and has no mistakes.
    if (weight === 0) continue
    if (group.locality === undefined) {
      errors.add(`${path}.locality`, "Locality", "locality is missing; it is required")
      continue
    }
    const name = nameOf(group.locality)
    const same = byPriority.get(group.priority) ?? []
    byPriority.set(group.priority, same)
    if (same.some((other) => other.name === name)) {
      const text = `locality ${name} is there twice in priority ${group.priority}; join its endpoints`
      errors.add(`${path}.locality`, "Locality", text)
    }
    const sum = (sums.get(group.priority) ?? 0) + weight
    sums.set(group.priority, sum)
    if (sum > maxWeight) {
      const text = `the weights of priority ${group.priority} add up to ${sum}, which is over ${maxWeight}`
      errors.add(`${path}.load_balancing_weight`, "WeightSum", text)
    }
    const all = endpointsOf(group, name, path, seen, errors)
    const draining = all.filter(({ health }) => health === "DRAINING")
    same.push(
      draining.length === 0
        ? { name, weight, endpoints: all }
        : { name, weight, endpoints: all.filter(({ health }) => health !== "DRAINING"), draining }
    )
  }
  const priorities: Array<Array<Locality>> = []
  while (priorities.length < byPriority.size) {
    const localities = byPriority.get(priorities.length)
    if (localities === undefined) {
      const text = `no locality has priority ${priorities.length}, and one has a higher one; leave no gap`
      errors.add("endpoints", "PriorityGap", text)
      break
    }
    priorities.push(localities)
  }
  const drops = dropsOf(message, errors)
  return errors.count > 0 ? Either.left(errors.errors) : Either.right({ name: message.clusterName, priorities, drops })
}

const endpointsOf = (
  { lbEndpoints, loadBalancingWeight: localityWeight = 1 }: LocalityLbEndpoints,
  locality: string,
  path: string,
  seen: Map<Address, string>,
  errors: Collector
): ReadonlyArray<Endpoint> => {
  const endpoints: Array<Endpoint> = []
  let sum = 0
  for (const [index, each] of lbEndpoints.entries()) {
    const at = `${path}.lb_endpoints[${index}]`
    const { hostIdentifier, loadBalancingWeight: weight = 1, metadata } = each
    if (weight === 0)
      errors.add(`${at}.load_balancing_weight`, "EndpointWeight", "the weight is 0; leave it out, or say at least 1")
    sum += weight
    if (sum > maxWeight) {
      errors.add(
        `${at}.load_balancing_weight`,
        "WeightSum",
        `the weights of the locality add up to ${sum}, which is over ${maxWeight}`
      )
    }
    if (hostIdentifier.case !== "endpoint") {
      errors.add(at, "Address", "endpoint is missing; it is required")
      continue
    }
    const { additionalAddresses, address, hostname } = hostIdentifier.value
    const messages = [
      { message: address, where: `${at}.endpoint.address` },
      ...additionalAddresses.map((additional, place) => ({
        message: additional.address,
        where: `${at}.endpoint.additional_addresses[${place}].address`
      }))
    ]
    const addresses: Array<Address> = []
    for (const { message, where } of messages) {
      const made = addressOf(message, where, errors)
      if (made === undefined) continue
      const first = seen.get(made)
      // ★ Also of endpoints that are not used.
      if (first === undefined) seen.set(made, where)
      else errors.add(where, "Address", `${made} is there twice; the first is ${first}`)
      addresses.push(made)
    }
    const health = healthOf(each)
    if (health === undefined) continue
    const hashKey = metadata?.filterMetadata["envoy.lb"]?.["hash_key"]
    endpoints.push({
      addresses,
      weight,
      locality,
      localityWeight,
      hashKey: typeof hashKey === "string" && hashKey !== "" ? hashKey : undefined,
      hostname: hostname === "" ? undefined : hostname,
      ...(health === "UNKNOWN" ? {} : { health })
    })
  }
  return endpoints
}

const addressOf = (message: AddressMessage | undefined, path: string, errors: Collector): Address | undefined => {
  if (message?.address.case !== "socketAddress") {
    errors.add(path, "Address", "socket_address is missing; it is required")
    return undefined
  }
  const { address, portSpecifier } = message.address.value
  const port = portSpecifier.case === "portValue" ? portSpecifier.value : 0
  if (port === 0 || port > 65_535) {
    errors.add(`${path}.socket_address.port_value`, "Address", `the port is ${port}; it must be 1 to 65535`)
    return undefined
  }
  const text = IpAddress.withPort(address, port)
  if (text === undefined) {
    errors.add(`${path}.socket_address.address`, "Address", `${JSON.stringify(address)} is no IPv4 or IPv6 address`)
  }
  return text
}

const dropsOf = ({ policy }: ClusterLoadAssignment, errors: Collector): ReadonlyArray<Drop> => {
  const drops: Array<Drop> = []
  for (const [index, { category, dropPercentage }] of (policy?.dropOverloads ?? []).entries()) {
    const path = `policy.drop_overloads[${index}]`
    if (category === "") errors.add(`${path}.category`, "Drop", "the category is empty; name it")
    const numerator = dropPercentage === undefined ? 0 : Fraction.make(dropPercentage)
    if (numerator === undefined) {
      errors.add(
        `${path}.drop_percentage.denominator`,
        "Drop",
        "an unknown denominator; use HUNDRED, TEN_THOUSAND or MILLION"
      )
    } else drops.push({ category, numerator })
  }
  return drops
}

/** A113: a share of 2³¹. */
const shareOf = (weight: number, sum: number): bigint => (BigInt(weight) << 31n) / BigInt(sum)

/**
 * The endpoints of a priority with weights that say both what their locality and what they weigh in it, for policies that
 * look at the weights of endpoints. ★ Shares are multiplied, not weights: their product would not fit into 32 bits.
 *
 * @see https://github.com/grpc/proposal/blob/master/A113-pick-first-weighted-shuffling.md
 * @since 0.1.0
 */
export const weighed = (localities: ReadonlyArray<Locality>): ReadonlyArray<Endpoint> => {
  const sum = localities.reduce((total, { weight }) => total + weight, 0)
  return localities.flatMap(({ endpoints, weight }) => {
    const inLocality = endpoints.reduce((total, endpoint) => total + endpoint.weight, 0)
    return endpoints.map((endpoint) => {
      const product = (shareOf(weight, sum) * shareOf(endpoint.weight, inLocality)) >> 31n
      return { ...endpoint, weight: Math.max(1, Number(product)) }
    })
  })
}
