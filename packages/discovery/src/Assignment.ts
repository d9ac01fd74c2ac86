/**
 * A ClusterLoadAssignment, validated: endpoints, and how calls are shared among their priorities.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/endpoint/v3/endpoint.proto
 * @since 0.1.0
 */
import type { Duration } from "@bufbuild/protobuf/wkt"
import type { Address as AddressMessage } from "@effect-xds/proto/envoy/config/core/v3/address"
import { HealthStatus as Status } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type {
  Endpoint as EndpointMessage,
  LbEndpoint,
  LocalityLbEndpoints
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import * as Either from "effect/Either"
import type { ClusterError } from "./ClusterError.js"
import { Collector } from "./ClusterError.js"
import * as Decoders from "./Decoder.js"
import type { DropOverload } from "./DropOverload.js"
import * as Endpoints from "./Endpoint.js"
import * as Fraction from "./Fraction.js"
import type { HealthStatus } from "./Host.js"
import * as IpAddress from "./IpAddress.js"
import * as Localities from "./Locality.js"
import * as Milliseconds from "./Milliseconds.js"
import * as PriorityLoads from "./PriorityLoad.js"

/**
 * An assignment.
 *
 * @since 0.1.0
 */
export interface Assignment {
  readonly name: string
  readonly endpoints: ReadonlyArray<Endpoints.Endpoint>
  /** `endpoint_stale_after`, in milliseconds; `undefined`: never. */
  readonly staleAfter: number | undefined
  readonly drops: ReadonlyArray<DropOverload>
  /** In percent. */
  readonly overprovisioningFactor: number
  readonly weightedPriorityHealth: boolean
}

/**
 * What an endpoint of it may be at: "ip": an IP address or a pipe; "name": a name or an IP address.
 *
 * @since 0.1.0
 */
export type Addresses = "ip" | "name"

/**
 * The highest priority, as in the proto.
 *
 * @since 0.1.0
 */
export const maxPriority = 128

const maxWeight = 2 ** 32 - 1

/**
 * Reads an assignment. Left: all its mistakes. One without endpoints is valid.
 *
 * @since 0.1.0
 */
export const make = (
  message: ClusterLoadAssignment,
  addresses: Addresses = "ip"
): Either.Either<Assignment, ReadonlyArray<ClusterError>> => {
  const errors = new Collector()
  const assignment = read(message, addresses, "", errors)
  return errors.count > 0 ? Either.left(errors.errors) : Either.right(assignment)
}

/**
 * ClusterLoadAssignments, as EDS brings them.
 *
 * @since 0.1.0
 */
export const decoder: Decoders.Decoder<Assignment> = Decoders.make(ClusterLoadAssignmentSchema, (message) =>
  make(message)
)

/**
 * Reads an assignment that is part of another message, and adds its mistakes to those.
 *
 * @param at path of the assignment, with a dot at its end; empty: the assignment is the resource
 * @since 0.1.0
 */
export const read = (
  message: ClusterLoadAssignment,
  addresses: Addresses,
  at: string,
  errors: Collector
): Assignment => {
  const { overprovisioningFactor = PriorityLoads.defaults.overprovisioningFactor, weightedPriorityHealth = false } =
    message.policy ?? {}
  if (overprovisioningFactor === 0) {
    errors.add(`${at}policy.overprovisioning_factor`, "Policy", "is 0; leave it out, or say at least 1")
  }
  const sums = new Map<number, number>()
  const weights = weightsOf(message)
  const endpoints: Array<Endpoints.Endpoint> = []
  for (const [index, group] of message.endpoints.entries()) {
    const path = `${at}endpoints[${index}]`
    const { loadBalancingWeight: weight = 0, priority } = group
    if (priority > maxPriority) {
      errors.add(`${path}.priority`, "Priority", `is ${priority}; at most ${maxPriority} is possible`)
    }
    const sum = (sums.get(priority) ?? 0) + weight
    sums.set(priority, sum)
    if (sum > maxWeight) {
      const text = `the weights of priority ${priority} add up to ${sum}; at most ${maxWeight} is possible`
      errors.add(`${path}.load_balancing_weight`, "WeightSum", text)
    }
    const localityWeight = weights.get(placeOf(group)) ?? 0
    for (const endpoint of endpointsOf(group, localityWeight, message, addresses, at, path, errors)) {
      endpoints.push(endpoint)
    }
  }
  return {
    name: message.clusterName,
    endpoints,
    staleAfter: staleAfterOf(message.policy?.endpointStaleAfter, `${at}policy.endpoint_stale_after`, errors),
    drops: dropsOf(message, at, errors),
    overprovisioningFactor,
    weightedPriorityHealth
  }
}

const placeOf = ({ locality, priority }: LocalityLbEndpoints): string =>
  `${priority} ${locality === undefined ? "" : Localities.nameOf(locality)}`

/** ★ A locality that is there twice in a priority has one weight: the last, as in Envoy. */
const weightsOf = ({ endpoints }: ClusterLoadAssignment): ReadonlyMap<string, number> => {
  const weights = new Map<string, number>()
  for (const group of endpoints) {
    if (group.loadBalancingWeight !== undefined) weights.set(placeOf(group), group.loadBalancingWeight)
  }
  return weights
}

const staleAfterOf = (duration: Duration | undefined, path: string, errors: Collector): number | undefined => {
  if (duration === undefined) return undefined
  const staleAfter = Milliseconds.make(duration)
  if (staleAfter !== undefined && staleAfter > 0) return staleAfter
  errors.add(path, "Duration", "not a valid duration, or too short; it must be more than 0")
  return undefined
}

const dropsOf = ({ policy }: ClusterLoadAssignment, at: string, errors: Collector): ReadonlyArray<DropOverload> => {
  const drops: Array<DropOverload> = []
  for (const [index, { category, dropPercentage }] of (policy?.dropOverloads ?? []).entries()) {
    const path = `${at}policy.drop_overloads[${index}]`
    if (category === "") errors.add(`${path}.category`, "Drop", "the category is empty; name it")
    const scale = dropPercentage === undefined ? 0 : Fraction.make({ ...dropPercentage, numerator: 1 })
    if (scale === undefined) {
      const text = "an unknown denominator; use HUNDRED, TEN_THOUSAND or MILLION"
      errors.add(`${path}.drop_percentage.denominator`, "Drop", text)
      continue
    }
    const numerator = scale * (dropPercentage?.numerator ?? 0)
    // ★ Not cut down to 100 %: who says more means something else.
    if (numerator > Fraction.million) {
      errors.add(`${path}.drop_percentage.numerator`, "Drop", `is ${numerator / 10_000} %; at most 100 % is possible`)
    }
    drops.push({ category, numerator })
  }
  return drops
}

const endpointsOf = (
  group: LocalityLbEndpoints,
  localityWeight: number,
  { namedEndpoints }: ClusterLoadAssignment,
  addresses: Addresses,
  at: string,
  path: string,
  errors: Collector
): ReadonlyArray<Endpoints.Endpoint> => {
  const { lbConfig, locality, priority } = group
  if (lbConfig.case === "ledsClusterLocalityConfig") {
    const text = "LEDS is not supported; list the endpoints in lb_endpoints"
    errors.add(`${path}.leds_cluster_locality_config`, "Endpoints", text)
    return []
  }
  const isList = lbConfig.case === "loadBalancerEndpoints"
  const list = isList ? lbConfig.value.lbEndpoints : group.lbEndpoints
  const endpoints: Array<Endpoints.Endpoint> = []
  let sum = 0
  for (const [index, each] of list.entries()) {
    const where = `${path}.${isList ? "load_balancer_endpoints." : ""}lb_endpoints[${index}]`
    const { loadBalancingWeight: weight = 1, metadata } = each
    if (weight === 0) {
      errors.add(`${where}.load_balancing_weight`, "Weight", "the weight is 0; leave it out, or say at least 1")
    }
    sum += weight
    if (sum > maxWeight) {
      const text = `the weights of the locality add up to ${sum}; at most ${maxWeight} is possible`
      errors.add(`${where}.load_balancing_weight`, "WeightSum", text)
    }
    const healthStatus = healthStatusOf(each, `${where}.health_status`, errors)
    const found = messageOf(each, namedEndpoints, at, where, errors)
    if (found === undefined) continue
    const endpoint = endpointOf(found.message, addresses, found.path, errors)
    if (endpoint === undefined) continue
    const { canary, hash_key: hashKey } = metadata?.filterMetadata["envoy.lb"] ?? {}
    endpoints.push({
      ...endpoint,
      host: {
        weight,
        priority,
        locality: locality === undefined ? "" : Localities.nameOf(locality),
        localityWeight,
        isCanary: canary === true,
        healthStatus,
        ...endpoint.host,
        ...(typeof hashKey === "string" ? { hashKey } : {})
      }
    })
  }
  return endpoints
}

const statuses: ReadonlyMap<Status, HealthStatus> = new Map([
  [Status.UNKNOWN, "UNKNOWN"],
  [Status.HEALTHY, "HEALTHY"],
  [Status.UNHEALTHY, "UNHEALTHY"],
  [Status.DRAINING, "DRAINING"],
  [Status.TIMEOUT, "TIMEOUT"],
  [Status.DEGRADED, "DEGRADED"]
])

const healthStatusOf = ({ healthStatus }: LbEndpoint, path: string, errors: Collector): HealthStatus => {
  const status = statuses.get(healthStatus)
  if (status !== undefined) return status
  // ★ Not taken for UNKNOWN, which is healthy.
  errors.add(path, "HealthStatus", `${healthStatus} is not known; use one of the proto`)
  return "UNKNOWN"
}

/** What an entry stands for, and where that is. */
const messageOf = (
  { hostIdentifier: identifier }: LbEndpoint,
  named: ClusterLoadAssignment["namedEndpoints"],
  at: string,
  path: string,
  errors: Collector
): { readonly message: EndpointMessage; readonly path: string } | undefined => {
  if (identifier.case === "endpoint") return { message: identifier.value, path: `${path}.endpoint` }
  if (identifier.case === undefined) {
    errors.add(path, "Endpoints", "endpoint is missing; give it, or an endpoint_name")
    return undefined
  }
  const name = JSON.stringify(identifier.value)
  const message = Object.hasOwn(named, identifier.value) ? named[identifier.value] : undefined
  if (message !== undefined) return { message, path: `${at}named_endpoints[${name}]` }
  errors.add(`${path}.endpoint_name`, "NamedEndpoint", `named_endpoints has no ${name}; add it`)
  return undefined
}

const endpointOf = (
  { additionalAddresses, address, healthCheckConfig, hostname }: EndpointMessage,
  addresses: Addresses,
  path: string,
  errors: Collector
): Endpoints.Endpoint | undefined => {
  const main = addressOf(address, addresses, `${path}.address`, errors)
  const additional = additionalAddresses.map((each, index) => {
    const where = `${path}.additional_addresses[${index}].address`
    const made = socketOf(each.address, "ip", where, errors)
    return made === undefined ? undefined : IpAddress.withPort(made.host, made.port)
  })
  const check = checkOf(healthCheckConfig, main, `${path}.health_check_config`, errors)
  if (main === undefined) return undefined
  return Endpoints.make(main, {
    additionalAddresses: additional.filter((each) => each !== undefined),
    ...check,
    host: {
      checkHostname: healthCheckConfig?.hostname ?? "",
      isUnchecked: healthCheckConfig?.disableActiveHealthCheck ?? false,
      ...(hostname === "" ? {} : { hostname })
    }
  })
}

const checkOf = (
  config: EndpointMessage["healthCheckConfig"],
  main: Endpoints.Endpoint["address"] | undefined,
  path: string,
  errors: Collector
): Pick<Endpoints.Endpoint, "checkHost" | "checkPort"> => {
  const port = config?.portValue ?? 0
  if (port > 65_535) errors.add(`${path}.port_value`, "Address", `the port is ${port}; at most 65535 is possible`)
  if (main !== undefined && "pipe" in main && (port !== 0 || config?.address !== undefined)) {
    errors.add(path, "Address", "a pipe is checked where it is; leave out port_value and address")
  }
  if (config?.address === undefined) return { checkHost: "", checkPort: port }
  const address = socketOf(config.address, "ip", `${path}.address`, errors)
  // ★ Of the two ports port_value wins; without it, it is not the endpoint's.
  return { checkHost: address?.host ?? "", checkPort: port === 0 ? (address?.port ?? 0) : port }
}

const addressOf = (
  message: AddressMessage | undefined,
  addresses: Addresses,
  path: string,
  errors: Collector
): Endpoints.Endpoint["address"] | undefined => {
  if (message?.address.case !== "pipe") return socketOf(message, addresses, path, errors)
  const { path: pipe } = message.address.value
  if (addresses === "ip" && pipe !== "") return { pipe }
  const text = pipe === "" ? "the path is empty; name it" : "is a pipe; only names and IP addresses can be resolved"
  errors.add(`${path}.pipe`, "Address", text)
  return undefined
}

const socketOf = (
  message: AddressMessage | undefined,
  addresses: Addresses,
  path: string,
  errors: Collector
): { readonly host: string; readonly port: number } | undefined => {
  if (message?.address.case !== "socketAddress") {
    errors.add(path, "Address", "socket_address is missing; it is required")
    return undefined
  }
  const at = `${path}.socket_address`
  const { address: host, portSpecifier, resolverName } = message.address.value
  if (resolverName !== "") {
    errors.add(`${at}.resolver_name`, "Address", "resolver_name is not supported; leave it out")
    return undefined
  }
  if (host === "") {
    errors.add(`${at}.address`, "Address", "the address is empty; name it")
    return undefined
  }
  if (addresses === "ip" && !IpAddress.isValid(host)) {
    const text = `${JSON.stringify(host)} is no IPv4 or IPv6 address; say one, or make it a cluster of DNS`
    errors.add(`${at}.address`, "Address", text)
    return undefined
  }
  if (portSpecifier.case === "namedPort") {
    errors.add(`${at}.named_port`, "Address", "named_port is not supported; say the port as a number")
    return undefined
  }
  const port = portSpecifier.value ?? 0
  if (port > 0 && port <= 65_535) return { host, port }
  errors.add(`${at}.port_value`, "Address", `the port is ${port}; it must be 1 to 65535`)
  return undefined
}
