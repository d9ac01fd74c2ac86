/**
 * The members of a cluster as they are now, for those who call them.
 *
 * @since 0.1.0
 */
import * as AggregateLeaves from "@effect-xds/discovery/AggregateLeaves"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import type * as Host from "@effect-xds/discovery/Host"
import * as HostSet from "@effect-xds/discovery/HostSet"
import type { LocalityRule } from "@effect-xds/discovery/LocalityRule"
import * as MemberSet from "@effect-xds/discovery/MemberSet"
import * as PriorityLoad from "@effect-xds/discovery/PriorityLoad"
import type * as Assignment from "@effect-xds/routing/Assignment"
import * as Endpoint from "@effect-xds/routing/Endpoint"

/**
 * The hosts of a priority.
 *
 * @since 0.1.0
 */
export interface Priority {
  readonly load: PriorityLoad.Load
  readonly healthy: ReadonlyArray<Host.Host>
  readonly degraded: ReadonlyArray<Host.Host>
  /** Whatever their health. */
  readonly all: ReadonlyArray<Host.Host>
  /** How many each locality has, by its name. */
  readonly localities: ReadonlyMap<string, PriorityLoad.Sums>
  /** What each locality weighs, by its name; 0: nothing was said. */
  readonly weights: ReadonlyMap<string, number>
}

/**
 * A leaf of an aggregate; `members`: `undefined` while nothing is known of it.
 *
 * @since 0.1.0
 */
export interface Leaf {
  readonly cluster: string
  readonly members: Members | undefined
}

/**
 * A leaf of an aggregate that gets calls; of another cluster, itself.
 *
 * @since 0.1.0
 */
export interface Serving {
  readonly cluster: string
  /** How much of the calls it gets, in percent. */
  readonly share: number
  /** ★ As the aggregate reckons: what their priorities get is of all its calls, and they panic only where others cannot help. */
  readonly members: Members
}

/**
 * The members of a cluster at one time.
 *
 * @since 0.1.0
 */
export class Members {
  private known: ReadonlyArray<Priority> | undefined
  private made: Assignment.Assignment | undefined
  private counted: PriorityLoad.PriorityLoad | undefined
  private calmed: Members | undefined
  private tallied: ReadonlyArray<PriorityLoad.Tally> | undefined
  private shared: ReadonlyArray<Serving> | undefined

  constructor(
    readonly cluster: string,
    /** "Warming": there are none to use yet. "Failed": there is no such cluster, or it cannot be used. */
    readonly state: "Warming" | "Ready" | "Failed",
    /** Why it failed, or what a type's own code did wrong, for people; empty: nothing. */
    readonly message: string,
    /** The set in use. */
    readonly set: MemberSet.MemberSet | undefined,
    /** Of an aggregate: the clusters whose hosts it has, the best first. */
    readonly leaves?: ReadonlyArray<Leaf> | undefined,
    /** How calls are shared among priorities. Default: as their health and the cluster say. */
    private readonly given?: PriorityLoad.PriorityLoad | undefined
  ) {}

  /** Who is there, in the order in which they came. */
  get all(): ReadonlyArray<HostSet.Member> {
    return this.set === undefined ? [] : HostSet.inOrder(this.set.hosts)
  }

  /** How calls are shared among priorities. */
  get load(): PriorityLoad.PriorityLoad {
    this.counted ??=
      this.given ??
      (this.set === undefined
        ? { loads: [], total: 0, failTrafficOnPanic: false }
        : PriorityLoad.make(this.tallies, this.set.cluster.load))
    return this.counted
  }

  /** How many are well of the hosts of each priority. */
  get tallies(): ReadonlyArray<PriorityLoad.Tally> {
    this.tallied ??= this.set === undefined ? [] : MemberSet.talliesOf(this.set)
    return this.tallied
  }

  get drops(): ReturnType<typeof MemberSet.dropsOf> {
    return this.set === undefined ? [] : MemberSet.dropsOf(this.set)
  }

  /** The priorities, the best first, without gaps. */
  get priorities(): ReadonlyArray<Priority> {
    this.known ??= prioritiesOf(this)
    return this.known
  }

  /** Whether a call finds a host. */
  get canServe(): boolean {
    if (this.leaves !== undefined) return this.serving.length > 0
    return this.assignment.priorities.some((localities) => localities.length > 0)
  }

  /**
   * Of an aggregate: the leaves that get calls, shared by how many of the hosts of all of them are well, as Envoy shares them; of
   * another cluster, itself. Empty: nobody can serve.
   */
  get serving(): ReadonlyArray<Serving> {
    this.shared ??= this.share()
    return this.shared
  }

  private share(): ReadonlyArray<Serving> {
    const { cluster, leaves } = this
    if (leaves === undefined) return this.canServe ? [{ cluster, share: 100, members: this }] : []
    const { leaves: all, total } = AggregateLeaves.loadOf(
      leaves.map(({ members }) => members?.tallies ?? []),
      this.set?.cluster.load.panicThreshold
    )
    return leaves.flatMap(({ cluster, members: leaf }, at) => {
      const own = total === 100 ? leaf?.calm : leaf
      const shares = all[at] ?? []
      const share = shares.reduce((sum, { degraded, healthy }) => sum + healthy + degraded, 0)
      if (own === undefined || share === 0) return []
      const loads = own.load.loads.map(({ isPanicking }, priority) => {
        const { degraded = 0, healthy = 0 } = shares[priority] ?? {}
        return { healthy, degraded, isPanicking }
      })
      const given = { ...own.load, loads }
      const members = new Members(own.cluster, own.state, own.message, own.set, undefined, given)
      return members.canServe ? [{ cluster, share, members }] : []
    })
  }

  /** The same without panic: those who are well alone. */
  get calm(): Members {
    this.calmed ??=
      this.set !== undefined && this.load.loads.some(({ isPanicking }) => isPanicking)
        ? new Members(
            this.cluster,
            this.state,
            this.message,
            this.set,
            this.leaves,
            PriorityLoad.make(this.tallies, { ...this.set.cluster.load, panicThreshold: 0 })
          )
        : this
    return this.calmed
  }

  /** What keeps hosts from getting calls, for people; empty: nothing does, but they may all be in other priorities. */
  get hindrance(): string {
    const counts = new Map<string, number>()
    for (const { flags } of this.all) {
      const why = whys.find(([flag]) => HealthFlags.has(flags, flag))?.[1]
      if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1)
    }
    if (counts.size === 0) return ""
    const reasons = Array.from(counts, ([why, count]) => `${count} ${why}`)
    return `cluster ${JSON.stringify(this.cluster)}: of ${this.all.length} endpoints ${reasons.join(", ")}`
  }

  /**
   * What `Cds` and the policies below it take: of each priority those who get calls, by their localities, and which share of
   * the calls that is. ★ Those that are degraded come after all priorities, with a share of their own. In panic all get
   * calls, or nobody does, as the load says. Weights of localities count only where the cluster says so; else all hosts are
   * alike.
   */
  get assignment(): Assignment.Assignment {
    this.made ??= this.assign()
    return this.made
  }

  private assign(): Assignment.Assignment {
    const { failTrafficOnPanic } = this.load
    const factor = this.set === undefined ? undefined : MemberSet.overprovisioningFactorOf(this.set)
    const rule = this.set?.cluster.localities
    const groups = (["healthy", "degraded"] as const).flatMap((health) =>
      this.priorities.map((priority, at) => {
        const { all, load } = priority
        const localities = load.isPanicking
          ? inPanic(priority, failTrafficOnPanic ? [] : all, rule, this.cluster)
          : rule?.isWeighted === true
            ? localitiesOf(priority, health, rule.isHashing ? undefined : factor, this.cluster)
            : alike(priority[health], this.cluster)
        // Who is healthy and gets no calls now is told, too, for policies that do without shares.
        const isTold = health === "healthy" && localities.length > 0
        const fails = load.isPanicking && failTrafficOnPanic
        return { share: load[health], localities, group: { priority: at, health, fails }, isTold }
      })
    )
    const there = groups.filter(({ isTold, share }) => isTold || share > 0)
    const made = {
      name: this.cluster,
      priorities: there.map(({ localities }) => localities),
      shares: there.map(({ share }) => share),
      drops: this.drops
    }
    if (this.set === undefined) return made
    const health = {
      tallies: this.tallies,
      total: this.load.total,
      groups: there.map(({ group }) => group),
      calm: this.calm === this ? undefined : this.calm.assignment
    }
    return { ...made, health }
  }
}

const whys: ReadonlyArray<readonly [HealthFlags.Flag, string]> = [
  ["PENDING_ACTIVE_HC", "had no health check yet"],
  ["EXCLUDED_VIA_IMMEDIATE_HC_FAIL", "asked for no calls"],
  ["ACTIVE_HC_TIMEOUT", "did not answer the health check in time"],
  ["FAILED_ACTIVE_HC", "have not passed the health check"],
  ["FAILED_EDS_HEALTH", "are unhealthy, the control plane says"],
  ["EDS_STATUS_DRAINING", "are draining"],
  ["FAILED_OUTLIER", "are ejected as outliers"]
]

const prioritiesOf = (self: Members): ReadonlyArray<Priority> => {
  const { set } = self
  if (set === undefined) return []
  const lists = self.load.loads.map((load) => ({
    load,
    healthy: new Array<Host.Host>(),
    degraded: new Array<Host.Host>(),
    all: new Array<Host.Host>(),
    localities: new Map<string, PriorityLoad.Sums>(),
    weights: new Map<string, number>()
  }))
  for (const member of self.all) {
    const list = lists[member.host.priority]
    list?.all.push(member.host)
    const { locality, localityWeight } = member.host
    list?.localities.set(locality, PriorityLoad.plus(list.localities.get(locality), member))
    // ★ Who is listed no longer knows what its locality weighed then.
    const isListed = !HealthFlags.has(member.flags, "PENDING_DYNAMIC_REMOVAL")
    if (isListed || list?.weights.has(locality) === false) list?.weights.set(locality, localityWeight)
    if (!HostSet.isRouted(set.hosts, member)) continue
    const health = HealthFlags.healthOf(member.flags)
    if (health === "healthy") list?.healthy.push(member.host)
    else if (health === "degraded") list?.degraded.push(member.host)
  }
  return lists
}

/**
 * ★ By how many of its hosts are well a locality weighs less; without a weight it gets nothing if another has one.
 *
 * @param factor by how much hosts that are well make up for others, in percent; `undefined`: localities weigh what they were told
 */
const localitiesOf = (
  { localities, weights: given, ...hosts }: Pick<Priority, "all" | "degraded" | "healthy" | "localities" | "weights">,
  health: "healthy" | "degraded" | "all",
  factor: number | undefined,
  cluster: string
): ReadonlyArray<Assignment.Locality> => {
  const found = Array.from(Endpoint.byLocality(hosts[health]))
  const givenOf = (name: string): number => given.get(name) ?? 0
  if (!found.some(([name]) => givenOf(name) > 0)) return alike(hosts[health], cluster)
  const weights = found.map(([name]) => {
    if (factor === undefined) return givenOf(name)
    const sums = localities.get(name)
    return sums === undefined ? 0 : PriorityLoad.localityWeight(givenOf(name), sums[health], sums, factor)
  })
  // Policies take whole numbers: where there are others, all are told finely.
  const scale = weights.every(Number.isInteger) ? 1 : 2 ** 16
  return found.flatMap(([name, members], index) => {
    const weight = weights[index] ?? 0
    return weight > 0 ? [localityOf(cluster, name, Math.max(1, Math.round(weight * scale)), members)] : []
  })
}

/** Weights of localities count in panic for policies that hash alone. */
const inPanic = (
  priority: Priority,
  all: ReadonlyArray<Host.Host>,
  rule: LocalityRule | undefined,
  cluster: string
): ReadonlyArray<Assignment.Locality> =>
  rule?.isHashing === true && rule.isWeighted
    ? localitiesOf({ ...priority, all }, "all", undefined, cluster)
    : alike(all, cluster)

/** The localities of hosts that are all alike: each weighs what its hosts do. */
const alike = (hosts: ReadonlyArray<Host.Host>, cluster: string): ReadonlyArray<Assignment.Locality> =>
  Array.from(Endpoint.byLocality(hosts), ([name, members]) =>
    localityOf(
      cluster,
      name,
      members.reduce((sum, { weight }) => sum + weight, 0),
      members
    )
  )

const localityOf = (
  cluster: string,
  name: string,
  weight: number,
  hosts: ReadonlyArray<Host.Host>
): Assignment.Locality => ({
  name,
  weight,
  endpoints: hosts.map((host) => Endpoint.withMember(endpointOf(host, weight), { cluster, id: host.id }))
})

/**
 * A host as policies take it.
 *
 * @param localityWeight what its locality weighs, a whole number; default: as it was told, at least 1
 * @since 0.1.0
 */
export const endpointOf = (
  host: Host.Host,
  localityWeight: number = Math.max(1, host.localityWeight)
): Endpoint.Endpoint => ({
  addresses: host.addresses,
  weight: host.weight,
  locality: host.locality,
  localityWeight,
  hashKey: host.hashKey === "" ? undefined : host.hashKey,
  hostname: host.hostname === "" ? undefined : host.hostname
})
