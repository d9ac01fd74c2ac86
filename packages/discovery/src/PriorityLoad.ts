/**
 * How calls are shared among priorities, and when health is disregarded: panic. In integers, as Envoy reckons.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/priority
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/load_balancing/panic_threshold
 * @since 0.1.0
 */
import * as HealthFlags from "./HealthFlags.js"
import type { Member } from "./HostSet.js"

/**
 * How it is reckoned.
 *
 * @since 0.1.0
 */
export interface Settings {
  /** `overprovisioning_factor`, in percent. */
  readonly overprovisioningFactor: number
  /** `healthy_panic_threshold`, in percent, a whole number; 0: never panic. */
  readonly panicThreshold: number
  /** `fail_traffic_on_panic`: in panic no host is used, instead of all. */
  readonly failTrafficOnPanic: boolean
  /** `weighted_priority_health`: health by weights instead of hosts. */
  readonly weightedPriorityHealth: boolean
}

/**
 * The defaults of the proto.
 *
 * @since 0.1.0
 */
export const defaults: Settings = {
  overprovisioningFactor: 140,
  panicThreshold: 50,
  failTrafficOnPanic: false,
  weightedPriorityHealth: false
}

/**
 * So many hosts, or their weights in sum.
 *
 * @since 0.1.0
 */
export interface Sums {
  /** All. */
  readonly all: number
  /** Those that are in no ratio. */
  readonly excluded: number
  readonly healthy: number
  readonly degraded: number
}

/**
 * The hosts of a priority.
 *
 * @since 0.1.0
 */
export interface Tally {
  readonly hosts: Sums
  readonly weights: Sums
  /** As the settings say, for this priority alone: an aggregate has those of several clusters. */
  readonly overprovisioningFactor?: number | undefined
  readonly weightedPriorityHealth?: boolean | undefined
}

/**
 * What a priority gets, in percent.
 *
 * @since 0.1.0
 */
export interface Load {
  readonly healthy: number
  readonly degraded: number
  /** Health is disregarded. */
  readonly isPanicking: boolean
}

/**
 * The loads of the priorities, the best first; they add up to 100 unless there are no priorities.
 *
 * @since 0.1.0
 */
export interface PriorityLoad {
  readonly loads: ReadonlyArray<Load>
  /** How much is there for calls to go to, at most 100. */
  readonly total: number
  readonly failTrafficOnPanic: boolean
}

const noSums: Sums = { all: 0, excluded: 0, healthy: 0, degraded: 0 }

/**
 * The sums with one host more.
 *
 * @param by what it counts for; default: 1
 * @since 0.1.0
 */
export const plus = (self: Sums = noSums, { flags }: Pick<Member, "flags">, by = 1): Sums => {
  const health = HealthFlags.healthOf(flags)
  const isExcluded = HealthFlags.isExcluded(flags)
  return {
    all: self.all + by,
    excluded: self.excluded + (isExcluded ? by : 0),
    healthy: self.healthy + (health === "healthy" ? by : 0),
    degraded: self.degraded + (health === "degraded" ? by : 0)
  }
}

/**
 * The tallies of the priorities of these hosts, without gaps; a priority that nobody has has no hosts.
 *
 * @since 0.1.0
 */
export const tally = (members: Iterable<Member>): ReadonlyArray<Tally> => {
  const found = new Map<number, Tally>()
  let most = -1
  for (const member of members) {
    const { host } = member
    const { hosts, weights } = found.get(host.priority) ?? { hosts: noSums, weights: noSums }
    found.set(host.priority, { hosts: plus(hosts, member), weights: plus(weights, member, host.weight) })
    most = Math.max(most, host.priority)
  }
  return Array.from({ length: most + 1 }, (_, priority) => found.get(priority) ?? { hosts: noSums, weights: noSums })
}

const availability = (part: number, { all, excluded }: Sums, factor: number): number =>
  all === excluded ? 0 : Math.min(100, Math.floor((factor * part) / (all - excluded)))

const sum = (values: ReadonlyArray<number>): number => values.reduce((a, b) => a + b, 0)

/** Shares of `left`, in order; what is not given is told. */
const distribute = (
  available: ReadonlyArray<number>,
  total: number,
  left: number
): { readonly shares: Array<number>; readonly left: number } => {
  let remaining = left
  const shares = available.map((each) => {
    const share = Math.min(remaining, Math.floor((each * 100) / total))
    remaining -= share
    return share
  })
  return { shares, left: remaining }
}

/** ★ By hosts even where health is by weights; not truncated: a third and a sixth are half of all. */
const isBelow = ({ all, degraded, excluded, healthy }: Sums, threshold: number): boolean =>
  all === excluded ? threshold > 0 : 100 * (healthy + degraded) < threshold * (all - excluded)

/**
 * The loads of priorities with these hosts, the best first.
 *
 * @example
 * import { PriorityLoad } from "@effect-xds/discovery"
 *
 * const tallyOf = (all: number, healthy: number): PriorityLoad.Tally => {
 *   const sums = { all, healthy, degraded: 0, excluded: 0 }
 *   return { hosts: sums, weights: sums }
 * }
 * PriorityLoad.make([tallyOf(10, 7), tallyOf(10, 10)]).loads.map(({ healthy }) => healthy) // [98, 2]
 *
 * @since 0.1.0
 */
export const make = (tallies: ReadonlyArray<Tally>, given: Partial<Settings> = {}): PriorityLoad => {
  const settings = { ...defaults, ...given }
  const { failTrafficOnPanic } = settings
  const panicThreshold = Math.min(100, settings.panicThreshold)
  const availabilities = (health: "healthy" | "degraded"): ReadonlyArray<number> =>
    tallies.map(({ hosts, overprovisioningFactor, weightedPriorityHealth, weights }) => {
      const sums = (weightedPriorityHealth ?? settings.weightedPriorityHealth) ? weights : hosts
      return availability(sums[health], sums, overprovisioningFactor ?? settings.overprovisioningFactor)
    })
  const healthy = availabilities("healthy")
  const degraded = availabilities("degraded")
  const total = Math.min(100, sum(healthy) + sum(degraded))
  const panics = tallies.map(({ hosts }) => total < 100 && isBelow(hosts, panicThreshold))
  const made = (healthyShares: ReadonlyArray<number>, degradedShares: ReadonlyArray<number>): PriorityLoad => ({
    loads: panics.map((isPanicking, index) => ({
      healthy: healthyShares[index] ?? 0,
      degraded: degradedShares[index] ?? 0,
      isPanicking
    })),
    total,
    failTrafficOnPanic
  })
  const isTotal = panics.every((isPanicking) => isPanicking)
  if (isTotal || total === 0) {
    // Too few are well everywhere: by hosts, whatever their health. Without panic there is nobody to pick, and the load is
    // the first priority's all the same.
    const counts = isTotal ? tallies.map(({ hosts }) => hosts.all) : []
    const all = sum(counts)
    const { left, shares } = distribute(
      counts.map((count) => Math.floor((100 * count) / Math.max(1, all))),
      100,
      100
    )
    const first = Math.max(
      0,
      counts.findIndex((count) => count > 0)
    )
    shares[first] = (shares[first] ?? 0) + left
    return made(shares, [])
  }
  const toHealthy = distribute(healthy, total, 100)
  const toDegraded = distribute(degraded, total, toHealthy.left)
  const firstHealthy = healthy.findIndex((each) => each > 0)
  if (firstHealthy >= 0) toHealthy.shares[firstHealthy] = (toHealthy.shares[firstHealthy] ?? 0) + toDegraded.left
  else {
    const first = degraded.findIndex((each) => each > 0)
    toDegraded.shares[first] = (toDegraded.shares[first] ?? 0) + toDegraded.left
  }
  return made(toHealthy.shares, toDegraded.shares)
}

/**
 * Which hosts of which priority a call goes to.
 *
 * @since 0.1.0
 */
export interface Choice {
  readonly priority: number
  /** "all": whatever their health, ★ also draining and excluded ones; "none": the call fails. */
  readonly hosts: "healthy" | "degraded" | "all" | "none"
}

/**
 * The choice for a call; `undefined` if there are no priorities.
 *
 * @param random in [0, 1)
 * @since 0.1.0
 */
export const choose = ({ failTrafficOnPanic, loads }: PriorityLoad, random: number): Choice | undefined => {
  const drawn = Math.floor(random * 100) + 1
  let end = 0
  for (const hosts of ["healthy", "degraded"] as const) {
    for (const [priority, load] of loads.entries()) {
      end += load[hosts]
      if (drawn > end) continue
      return { priority, hosts: load.isPanicking ? (failTrafficOnPanic ? "none" : "all") : hosts }
    }
  }
  return undefined
}

/**
 * The weight of a locality, less the fewer of its hosts are there for calls; 0 if it has no weight.
 *
 * @param available its healthy hosts, or degraded ones where those are picked from
 * @param factor the overprovisioning factor, in percent
 * @since 0.1.0
 */
export const localityWeight = (
  weight: number,
  available: number,
  { all, excluded }: Pick<Sums, "all" | "excluded">,
  factor: number = defaults.overprovisioningFactor
): number => (all === excluded ? 0 : weight * Math.min(1, (factor / 100) * (available / (all - excluded))))
