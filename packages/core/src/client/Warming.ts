/**
 * Warming: a cluster becomes active when its endpoints have come, a listener when its routes have come. Until then the version
 * before stays active. One reducer for a client that behaves like Envoy.
 *
 * Outputs watch the needed resources; inputs report which came. While an update of clusters is applied, requests for endpoints
 * wait. Then one request has all of them, and it leaves before the ACK of the clusters.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Resource warming"
 * @since 0.1.0
 */
import { ClusterLoadAssignment, RouteConfiguration } from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"

/**
 * The options of warming. Fixed.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Whether a cluster uses its previous assignment if no new one comes in time. Default: true. */
  readonly useEdsCacheForAds: boolean
  /** Default of `initial_fetch_timeout`: milliseconds that a cluster or listener waits. Default: 15 000. */
  readonly fetchTimeout: number
}

/**
 * A cluster or listener, as warming sees it.
 *
 * @since 0.1.0
 */
export interface Target {
  readonly name: string
  /** Identity of the content: an equal one means no change. */
  readonly fingerprint: string
  /** Names that it needs. A cluster of type EDS: its assignment. A listener: its route configurations. */
  readonly needs: ReadonlyArray<string>
  /** Milliseconds; 0: no timeout. Default: the option. */
  readonly fetchTimeout?: number | undefined
}

/**
 * The outcome of requests. `arrived`: the server sent the resource, even unchanged. ★ A resource from a cache has not arrived.
 * `missing`: the server said that it does not exist.
 *
 * @since 0.1.0
 */
export interface Arrival {
  readonly arrived?: ReadonlyArray<string>
  readonly rejected?: ReadonlyArray<string>
  readonly missing?: ReadonlyArray<string>
}

/**
 * An event. Clusters and listeners come as the update of one response.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Clusters"; readonly changed: ReadonlyArray<Target>; readonly removed: ReadonlyArray<string> }
  | { readonly _tag: "Listeners"; readonly changed: ReadonlyArray<Target>; readonly removed: ReadonlyArray<string> }
  | ({ readonly _tag: "Assignments" } & Arrival)
  | ({ readonly _tag: "Routes" } & Arrival)
  | { readonly _tag: "Deadline" }

/**
 * Why a cluster or listener became active: it needs nothing, all needs came, or it goes without them. Then it uses what was
 * there before, or nothing, because the need did not come in time, was rejected or does not exist.
 *
 * @since 0.1.0
 */
export type Reason = "NeedsNothing" | "Complete" | "Cached" | "TimedOut" | "Rejected" | "Missing"

/**
 * An instruction or event for the driver.
 *
 * @since 0.1.0
 */
export type Output =
  | { readonly _tag: "Watch" | "Unwatch" | "Refresh"; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Pause" | "Resume"; readonly typeUrl: string }
  | {
      readonly _tag: "Active"
      readonly kind: Kind
      readonly name: string
      readonly fingerprint: string
      readonly reason: Reason
    }
  | { readonly _tag: "Warming"; readonly kind: Kind; readonly name: string; readonly fingerprint: string }
  | { readonly _tag: "Removed"; readonly kind: Kind; readonly name: string }
  /** The first clusters are warm: listeners may be requested. */
  | { readonly _tag: "Initialized" }

/**
 * What warming applies to.
 *
 * @since 0.1.0
 */
export type Kind = "Cluster" | "Listener"

interface Version {
  readonly fingerprint: string
  readonly needs: ReadonlyArray<string>
}

interface WarmingVersion extends Version {
  /** Needs that have not come yet. */
  readonly waiting: HashSet.HashSet<string>
  /** End of the wait, in milliseconds. */
  readonly dueAt: number
}

interface Item {
  readonly active: Version | undefined
  readonly warming: WarmingVersion | undefined
}

interface Requirement {
  /** Number of versions that need it. */
  readonly users: number
  /** Whether it came and was not removed. */
  readonly isHeld: boolean
  /** Whether the outcome is known. */
  readonly isResolved: boolean
  /** Items that wait for it. */
  readonly waiting: HashSet.HashSet<string>
}

interface Pool {
  readonly items: HashMap.HashMap<string, Item>
  readonly needs: HashMap.HashMap<string, Requirement>
  /** Not later than the first {@link WarmingVersion.dueAt}. */
  readonly dueAt: number
}

/**
 * The state. Made by {@link make}, changed by {@link step}; its fields are private.
 *
 * @since 0.1.0
 */
export interface Warming {
  readonly options: Options
  readonly clusters: Pool
  readonly listeners: Pool
  /** Clusters of the first update that are not warm yet; `waiting`: for that update. */
  readonly first: HashSet.HashSet<string> | "waiting" | "done"
  /** When listeners are requested even without an update of clusters, in milliseconds. */
  readonly initializeAt: number
}

const never = Number.POSITIVE_INFINITY
const noNames = HashSet.empty<string>()
const unused: Requirement = { users: 0, isHeld: false, isResolved: false, waiting: noNames }
const emptyPool: Pool = { items: HashMap.empty(), needs: HashMap.empty(), dueAt: never }

/**
 * The state without clusters and listeners, when clusters are first requested.
 *
 * @param now milliseconds
 * @since 0.1.0
 */
export const make = (options: Partial<Options>, now: number): Warming => {
  const all = { useEdsCacheForAds: true, fetchTimeout: 15_000, ...options }
  const initializeAt = all.fetchTimeout === 0 ? never : now + all.fetchTimeout
  return { options: all, clusters: emptyPool, listeners: emptyPool, first: "waiting", initializeAt }
}

/**
 * Time of the next `Deadline` input in milliseconds; Infinity if none is due. May be too early.
 *
 * @since 0.1.0
 */
export const deadline = (self: Warming): number =>
  Math.min(self.clusters.dueAt, self.listeners.dueAt, self.first === "waiting" ? self.initializeAt : never)

/**
 * The fingerprints of the active and of the warming version of a cluster or listener.
 *
 * @since 0.1.0
 */
export const status = (
  self: Warming,
  kind: Kind,
  name: string
): { readonly active: string | undefined; readonly warming: string | undefined } => {
  const pool = kind === "Cluster" ? self.clusters : self.listeners
  const item = Option.getOrUndefined(HashMap.get(pool.items, name))
  return { active: item?.active?.fingerprint, warming: item?.warming?.fingerprint }
}

/**
 * Applies one input.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = (self: Warming, input: Input, now: number): readonly [Warming, ReadonlyArray<Output>] => {
  const clusters = new StepDraft(self.clusters, "Cluster", self.options, now)
  const listeners = new StepDraft(self.listeners, "Listener", self.options, now)
  let { first } = self
  switch (input._tag) {
    case "Clusters":
      clusters.update(input.changed, input.removed)
      if (first === "waiting") first = HashSet.fromIterable(input.changed.map((target) => target.name))
      break
    case "Listeners":
      listeners.update(input.changed, input.removed)
      break
    case "Assignments":
      clusters.arrive(input)
      break
    case "Routes":
      listeners.arrive(input)
      break
    case "Deadline":
      clusters.expire()
      listeners.expire()
      if (first === "waiting" && now >= self.initializeAt) first = noNames
      break
  }
  const [nextClusters, ofClusters] = clusters.end()
  const [nextListeners, ofListeners] = listeners.end()
  const outputs = [...ofClusters, ...ofListeners]
  if (typeof first === "object") {
    first = HashSet.filter(first, (name) => {
      const item = HashMap.get(nextClusters.items, name)
      return Option.isSome(item) && item.value.warming !== undefined
    })
    if (HashSet.size(first) === 0) {
      first = "done"
      outputs.push({ _tag: "Initialized" })
    }
  }
  return [{ ...self, clusters: nextClusters, listeners: nextListeners, first }, outputs]
}

/** The draft of one step, for clusters or for listeners. */
class StepDraft {
  private readonly items: HashMap.HashMap<string, Item>
  private readonly needs: HashMap.HashMap<string, Requirement>
  private dueAt: number
  /** Requests. They precede the outcomes. */
  private readonly requests: Array<Output> = []
  private readonly outputs: Array<Output> = []
  private readonly isCluster: boolean
  private readonly typeUrl: string

  constructor(
    pool: Pool,
    private readonly kind: Kind,
    private readonly options: Options,
    private readonly now: number
  ) {
    this.items = HashMap.beginMutation(pool.items)
    this.needs = HashMap.beginMutation(pool.needs)
    this.dueAt = pool.dueAt
    this.isCluster = kind === "Cluster"
    this.typeUrl = this.isCluster ? ClusterLoadAssignment.typeUrl : RouteConfiguration.typeUrl
  }

  end(): readonly [Pool, ReadonlyArray<Output>] {
    HashMap.endMutation(this.items)
    HashMap.endMutation(this.needs)
    return [{ items: this.items, needs: this.needs, dueAt: this.dueAt }, [...this.requests, ...this.outputs]]
  }

  update(changed: ReadonlyArray<Target>, removed: ReadonlyArray<string>): void {
    this.requests.push({ _tag: "Pause", typeUrl: this.typeUrl })
    for (const target of changed) this.change(target)
    for (const name of removed) this.remove(name)
    this.requests.push({ _tag: "Resume", typeUrl: this.typeUrl })
  }

  arrive({ arrived = [], missing = [], rejected = [] }: Arrival): void {
    for (const name of arrived) this.resolve(name, { isHeld: true, isResolved: true }, "Complete")
    for (const name of rejected) this.resolve(name, { isResolved: true }, "Rejected")
    for (const name of missing) {
      // A listener keeps waiting: its routes may still be created.
      if (this.isCluster) this.resolve(name, { isHeld: false, isResolved: true }, "Missing")
      else this.resolve(name, { isHeld: false, isResolved: false })
    }
  }

  expire(): void {
    if (this.now < this.dueAt) return
    this.dueAt = never
    const due: Array<readonly [name: string, warming: WarmingVersion]> = []
    for (const [name, { warming }] of this.items) {
      if (warming === undefined) continue
      if (warming.dueAt <= this.now) due.push([name, warming])
      else this.dueAt = Math.min(this.dueAt, warming.dueAt)
    }
    for (const [name, warming] of due) {
      const isHeld = Array.from(warming.waiting).every((need) => this.requirement(need).isHeld)
      for (const need of warming.waiting) this.setRequirement(need, { ...this.requirement(need), isResolved: true })
      this.activate(name, isHeld && this.options.useEdsCacheForAds ? "Cached" : "TimedOut")
    }
  }

  private item(name: string): Item {
    return Option.getOrElse(HashMap.get(this.items, name), (): Item => ({ active: undefined, warming: undefined }))
  }

  private requirement(name: string): Requirement {
    return Option.getOrElse(HashMap.get(this.needs, name), () => unused)
  }

  private setRequirement(name: string, need: Requirement): void {
    HashMap.set(this.needs, name, need)
  }

  private change({ fetchTimeout = this.options.fetchTimeout, fingerprint, name, needs: given }: Target): void {
    const item = this.item(name)
    if (item.warming?.fingerprint === fingerprint) return
    if (item.active?.fingerprint === fingerprint) {
      // ★ Back to the active version: the warming one must not become active later.
      if (item.warming === undefined) return
      HashMap.set(this.items, name, { ...item, warming: undefined })
      this.release(name, item.warming)
      this.outputs.push({ _tag: "Active", kind: this.kind, name, fingerprint, reason: "Complete" })
      return
    }
    const needs = Array.from(new Set(given))
    // ★ A cluster needs a new assignment each time, a listener only routes whose outcome is unknown.
    const missing = needs.filter((need) => this.isCluster || !this.requirement(need).isResolved)
    const dueAt = fetchTimeout === 0 ? never : this.now + fetchTimeout
    const warming = { fingerprint, needs, waiting: HashSet.fromIterable(missing), dueAt }
    for (const need of needs) this.retain(name, need, HashSet.has(warming.waiting, need))
    HashMap.set(this.items, name, { ...item, warming })
    // Not earlier, so that a need of both versions is not unwatched in between.
    if (item.warming !== undefined) this.release(name, item.warming, warming)
    if (missing.length === 0) return this.activate(name, needs.length === 0 ? "NeedsNothing" : "Complete")
    this.dueAt = Math.min(this.dueAt, dueAt)
    this.outputs.push({ _tag: "Warming", kind: this.kind, name, fingerprint })
  }

  private remove(name: string): void {
    const item = Option.getOrUndefined(HashMap.get(this.items, name))
    if (item === undefined) return
    HashMap.remove(this.items, name)
    if (item.warming !== undefined) this.release(name, item.warming)
    if (item.active !== undefined) this.release(name, item.active)
    this.outputs.push({ _tag: "Removed", kind: this.kind, name })
  }

  private retain(item: string, name: string, isWaiting: boolean): void {
    const need = this.requirement(name)
    const waiting = isWaiting ? HashSet.add(need.waiting, item) : need.waiting
    this.setRequirement(name, { ...need, users: need.users + 1, waiting })
    if (need.users === 0) this.requests.push({ _tag: "Watch", typeUrl: this.typeUrl, name })
    else if (isWaiting && this.isCluster) this.requests.push({ _tag: "Refresh", typeUrl: this.typeUrl, name })
  }

  /** Releases the needs of a version; `next` waits in its place. */
  private release(item: string, version: Version, next?: WarmingVersion): void {
    for (const name of version.needs) {
      const need = this.requirement(name)
      const isWaiting = next !== undefined && HashSet.has(next.waiting, name)
      const waiting = isWaiting ? need.waiting : HashSet.remove(need.waiting, item)
      if (need.users > 1) {
        this.setRequirement(name, { ...need, users: need.users - 1, waiting })
      } else {
        HashMap.remove(this.needs, name)
        this.requests.push({ _tag: "Unwatch", typeUrl: this.typeUrl, name })
      }
    }
  }

  /** Records the outcome of a need. Items that waited for nothing else become active for `reason`. */
  private resolve(name: string, known: Partial<Requirement>, reason?: Reason): void {
    const need = Option.getOrUndefined(HashMap.get(this.needs, name))
    if (need === undefined) return
    this.setRequirement(name, { ...need, ...known, waiting: reason === undefined ? need.waiting : noNames })
    if (reason === undefined) return
    for (const waiting of need.waiting) {
      const item = this.item(waiting)
      if (item.warming === undefined) continue
      const rest = HashSet.remove(item.warming.waiting, name)
      HashMap.set(this.items, waiting, { ...item, warming: { ...item.warming, waiting: rest } })
      if (HashSet.size(rest) === 0) this.activate(waiting, reason)
    }
  }

  private activate(name: string, reason: Reason): void {
    const { active, warming } = this.item(name)
    if (warming === undefined) return
    for (const each of warming.waiting) {
      const need = this.requirement(each)
      this.setRequirement(each, { ...need, waiting: HashSet.remove(need.waiting, name) })
    }
    const { fingerprint, needs } = warming
    HashMap.set(this.items, name, { active: { fingerprint, needs }, warming: undefined })
    if (active !== undefined) this.release(name, active)
    this.outputs.push({ _tag: "Active", kind: this.kind, name, fingerprint, reason })
  }
}
