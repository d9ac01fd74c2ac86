/**
 * The members of a cluster as they are now, for those who call them.
 *
 * @since 0.1.0
 */
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import type * as Host from "@effect-xds/discovery/Host"
import * as HostSet from "@effect-xds/discovery/HostSet"
import * as MemberSet from "@effect-xds/discovery/MemberSet"
import type * as PriorityLoad from "@effect-xds/discovery/PriorityLoad"
import type * as Assignment from "@effect-xds/routing/Assignment"
import type * as Endpoint from "@effect-xds/routing/Endpoint"

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
 * The members of a cluster at one time.
 *
 * @since 0.1.0
 */
export class Members {
  private known: ReadonlyArray<Priority> | undefined
  private counted: PriorityLoad.PriorityLoad | undefined

  constructor(
    readonly cluster: string,
    /** "Warming": there are none to use yet. "Failed": there is no such cluster, or it cannot be used. */
    readonly state: "Warming" | "Ready" | "Failed",
    /** Why it failed, or what a type's own code did wrong, for people; empty: nothing. */
    readonly message: string,
    /** The set in use. */
    readonly set: MemberSet.MemberSet | undefined,
    /** Of an aggregate: the clusters whose hosts it has, the best first. */
    readonly leaves?: ReadonlyArray<Leaf> | undefined
  ) {}

  /** Who is there, in the order in which they came. */
  get all(): ReadonlyArray<HostSet.Member> {
    return this.set === undefined ? [] : HostSet.inOrder(this.set.hosts)
  }

  /** How calls are shared among priorities. */
  get load(): PriorityLoad.PriorityLoad {
    this.counted ??=
      this.set === undefined ? { loads: [], total: 0, failTrafficOnPanic: false } : MemberSet.loadOf(this.set)
    return this.counted
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
    if (this.leaves !== undefined) return this.leaves.some(({ members }) => members?.canServe === true)
    return this.priorities.some((priority) => usableOf(this.load, priority).length > 0)
  }

  /** Of an aggregate: the first leaf that can serve; of another cluster, itself. `undefined`: none can. */
  get serving(): Members | undefined {
    if (this.leaves === undefined) return this.canServe ? this : undefined
    return this.leaves.find(({ members }) => members?.canServe === true)?.members
  }

  /**
   * What `Cds` and the policies below it take: of each priority those who get calls, by their localities. ★ In panic all, as
   * the load says.
   */
  get assignment(): Assignment.Assignment {
    return {
      name: this.cluster,
      priorities: this.priorities.map((priority) => localitiesOf(usableOf(this.load, priority))),
      drops: this.drops
    }
  }
}

const prioritiesOf = (self: Members): ReadonlyArray<Priority> => {
  const { set } = self
  if (set === undefined) return []
  const lists = self.load.loads.map((load) => ({
    load,
    healthy: new Array<Host.Host>(),
    degraded: new Array<Host.Host>(),
    all: new Array<Host.Host>()
  }))
  for (const member of self.all) {
    const list = lists[member.host.priority]
    list?.all.push(member.host)
    if (!HostSet.isRouted(set.hosts, member)) continue
    const health = HealthFlags.healthOf(member.flags)
    if (health === "healthy") list?.healthy.push(member.host)
    else if (health === "degraded") list?.degraded.push(member.host)
  }
  return lists
}

/** ★ Those that are degraded only where there are not enough that are healthy. */
const usableOf = (
  { failTrafficOnPanic }: PriorityLoad.PriorityLoad,
  { all, degraded, healthy, load }: Priority
): ReadonlyArray<Host.Host> => {
  if (load.isPanicking) return failTrafficOnPanic ? [] : all
  return load.degraded > 0 ? healthy.concat(degraded) : healthy
}

const localitiesOf = (hosts: ReadonlyArray<Host.Host>): ReadonlyArray<Assignment.Locality> => {
  const found = new Map<
    string,
    { readonly name: string; readonly weight: number; endpoints: Array<Endpoint.Endpoint> }
  >()
  for (const host of hosts) {
    const { locality: name } = host
    // Without a weight all are alike.
    const locality = found.get(name) ?? { name, weight: Math.max(1, host.localityWeight), endpoints: [] }
    found.set(name, locality)
    locality.endpoints.push(endpointOf(host))
  }
  return Array.from(found.values())
}

/**
 * A host as policies take it.
 *
 * @since 0.1.0
 */
export const endpointOf = (host: Host.Host): Endpoint.Endpoint => ({
  addresses: host.addresses,
  weight: host.weight,
  locality: host.locality,
  localityWeight: Math.max(1, host.localityWeight),
  hashKey: host.hashKey === "" ? undefined : host.hashKey,
  hostname: host.hostname === "" ? undefined : host.hostname
})
