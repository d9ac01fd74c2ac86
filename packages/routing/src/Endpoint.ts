/**
 * An endpoint: the addresses at which one server can be reached.
 *
 * @see https://github.com/grpc/proposal/blob/master/A61-IPv4-IPv6-dualstack-backends.md
 * @since 0.1.0
 */

/**
 * An IP address and a port as one text: `10.0.0.1:80`, `[::1]:80`.
 *
 * @since 0.1.0
 */
export type Address = string

/**
 * What the control plane says of an endpoint that is in use.
 *
 * @since 0.1.0
 */
export type Health = "UNKNOWN" | "HEALTHY" | "DRAINING"

/**
 * An endpoint, as a load-balancing policy gets it.
 *
 * @since 0.1.0
 */
export interface Endpoint {
  /** At least one. */
  readonly addresses: ReadonlyArray<Address>
  /** Its share among others, at least 1; only some policies look at it. */
  readonly weight: number
  /** The name of its locality, by which `weighted_target` finds it; empty if there is none. */
  readonly locality: string
  /** The share of its locality among others, at least 1. */
  readonly localityWeight: number
  /** What `ring_hash` places it by; default: its first address. */
  readonly hashKey: string | undefined
  /** `:authority` of calls to it, if the route rewrites that. */
  readonly hostname: string | undefined
  /** It fails more than others, and is to get no calls; its connection stays. Default: false. */
  readonly isEjected?: boolean | undefined
  /** DRAINING: only sessions that are there go on with it. Default: UNKNOWN. */
  readonly health?: Health | undefined
  /** The member of a cluster that it is: who looks after that is told what becomes of calls. Default: none. */
  readonly member?: Member | undefined
}

/**
 * A member of a cluster that is looked after: checked, and ejected if it fails.
 *
 * @since 0.1.0
 */
export interface Member {
  readonly cluster: string
  /** What tells it from others of the cluster. */
  readonly id: string
}

/**
 * An endpoint as a member of a cluster that is looked after.
 *
 * @since 0.1.0
 */
export const withMember = (self: Endpoint, member: Member): Endpoint => ({
  addresses: self.addresses,
  weight: self.weight,
  locality: self.locality,
  localityWeight: self.localityWeight,
  hashKey: self.hashKey,
  hostname: self.hostname,
  isEjected: self.isEjected,
  health: self.health,
  member
})

/**
 * An endpoint of addresses alone.
 *
 * @since 0.1.0
 */
export const make = (
  addresses: ReadonlyArray<Address>,
  { hashKey, hostname, locality = "", localityWeight = 1, weight = 1 }: Partial<Omit<Endpoint, "addresses">> = {}
): Endpoint => ({ addresses, weight, locality, localityWeight, hashKey, hostname })

/**
 * What tells endpoints apart: ★ their set of addresses, whatever the order.
 *
 * @since 0.1.0
 */
export const keyOf = ({ addresses }: Endpoint): string =>
  addresses.length === 1 ? (addresses[0] ?? "") : Array.from(new Set(addresses)).sort().join(" ")

/**
 * Endpoints, or what else has a locality, by the names of their localities, in order.
 *
 * @since 0.1.0
 */
export const byLocality = <A extends Pick<Endpoint, "locality">>(
  endpoints: Iterable<A>
): ReadonlyMap<string, ReadonlyArray<A>> => {
  const found = new Map<string, Array<A>>()
  for (const endpoint of endpoints) {
    const same = found.get(endpoint.locality)
    if (same === undefined) found.set(endpoint.locality, [endpoint])
    else same.push(endpoint)
  }
  return found
}

/**
 * Endpoints by what tells them apart, in order; of those with the same addresses the first.
 *
 * @since 0.1.0
 */
export const byKey = (endpoints: Iterable<Endpoint>): ReadonlyMap<string, Endpoint> => {
  const found = new Map<string, Endpoint>()
  for (const endpoint of endpoints) {
    const key = keyOf(endpoint)
    if (!found.has(key)) found.set(key, endpoint)
  }
  return found
}
