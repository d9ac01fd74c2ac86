/**
 * A host of a cluster, as discovery lists it.
 *
 * @since 0.1.0
 */
import * as HealthFlags from "./HealthFlags.js"

/**
 * `health_status` of an endpoint.
 *
 * @since 0.1.0
 */
export type HealthStatus = "UNKNOWN" | "HEALTHY" | "UNHEALTHY" | "DRAINING" | "TIMEOUT" | "DEGRADED"

/**
 * A host.
 *
 * @since 0.1.0
 */
export interface Host {
  /** What tells it from others: the one listed later under it is the same host. */
  readonly id: string
  /** `10.0.0.1:80`, `[::1]:80`, or the path of a pipe. */
  readonly address: string
  /** All addresses at which it can be reached, in order (A61); the first is `address`. */
  readonly addresses: ReadonlyArray<string>
  /** Where probes go. */
  readonly checkAddress: string
  /** Empty: none. */
  readonly hostname: string
  /** What probes name as their host; empty: what the checker says. */
  readonly checkHostname: string
  readonly weight: number
  readonly priority: number
  /** Region, zone and sub-zone as one text. */
  readonly locality: string
  /** The share of its locality among others; 0: none is said. */
  readonly localityWeight: number
  /** What hashing policies place it by; empty: its address. */
  readonly hashKey: string
  /** It runs what is being tried out (`canary` of `envoy.lb`): told to people, and of no weight here. */
  readonly isCanary: boolean
  readonly healthStatus: HealthStatus
  /** `disable_active_health_check`. */
  readonly isUnchecked: boolean
}

/**
 * A host at an address; the rest is as an endpoint without fields has it.
 *
 * @since 0.1.0
 */
export const make = (address: string, given: Partial<Host> = {}): Host => ({
  id: address,
  address,
  addresses: [address],
  checkAddress: address,
  hostname: "",
  checkHostname: "",
  weight: 1,
  priority: 0,
  locality: "",
  localityWeight: 0,
  hashKey: "",
  isCanary: false,
  healthStatus: "UNKNOWN",
  isUnchecked: false,
  ...given
})

const flags: Readonly<Record<HealthStatus, HealthFlags.HealthFlags>> = {
  UNKNOWN: HealthFlags.none,
  HEALTHY: HealthFlags.none,
  UNHEALTHY: HealthFlags.make("FAILED_EDS_HEALTH"),
  TIMEOUT: HealthFlags.make("FAILED_EDS_HEALTH"),
  DRAINING: HealthFlags.make("EDS_STATUS_DRAINING"),
  DEGRADED: HealthFlags.make("DEGRADED_EDS_HEALTH")
}

/**
 * The flags that its `health_status` sets.
 *
 * @since 0.1.0
 */
export const flagsOf = ({ healthStatus }: Host): HealthFlags.HealthFlags => flags[healthStatus]

/**
 * Whether nothing of a host has changed.
 *
 * @since 0.1.0
 */
export const isSame = (self: Host, other: Host): boolean =>
  self === other ||
  (self.id === other.id &&
    self.address === other.address &&
    self.checkAddress === other.checkAddress &&
    self.hostname === other.hostname &&
    self.checkHostname === other.checkHostname &&
    self.weight === other.weight &&
    self.priority === other.priority &&
    self.locality === other.locality &&
    self.localityWeight === other.localityWeight &&
    self.hashKey === other.hashKey &&
    self.healthStatus === other.healthStatus &&
    self.isCanary === other.isCanary &&
    self.isUnchecked === other.isUnchecked &&
    self.addresses.length === other.addresses.length &&
    self.addresses.every((address, index) => address === other.addresses[index]))
