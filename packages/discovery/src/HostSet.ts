/**
 * The hosts of a cluster and their flags: listings, results of checks and ejections go in; who comes, who goes, whom to
 * check and whose connections to drain comes out. Nothing else knows who is there.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as HealthFlags from "./HealthFlags.js"
import * as Matrix from "./HealthMatrix.js"
import * as Hosts from "./Host.js"

/**
 * What of a cluster decides about its hosts.
 *
 * @since 0.1.0
 */
export interface Settings {
  /** The names of the active health checks; none: hosts are as discovery says. */
  readonly checkers: ReadonlyArray<string>
  /** `ignore_health_on_host_removal`: who is listed no longer is forgotten, even if it passes. */
  readonly ignoreHealthOnHostRemoval: boolean
  /** `ignore_new_hosts_until_first_hc`: a new host counts in no ratio until its first result. */
  readonly ignoreNewHostsUntilFirstHc: boolean
  /** `close_connections_on_host_health_failure`. */
  readonly closeConnectionsOnHostHealthFailure: boolean
}

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  /** ★ All hosts, of an answer: a query that failed, or a stream that was lost, lists nothing. */
  | { readonly _tag: "Listed"; readonly hosts: ReadonlyArray<Hosts.Host> }
  /** One host beside those that are there. */
  | { readonly _tag: "Found"; readonly host: Hosts.Host }
  /** One host is forgotten, ★ whatever its checks say: who is found one by one would be kept by them for ever. */
  | { readonly _tag: "Lost"; readonly host: string }
  /** Discovery has come to its first end. */
  | { readonly _tag: "Initialized" }
  /** What a checker says of a host: all flags of it. */
  | {
      readonly _tag: "Health"
      readonly host: string
      readonly checker: string
      readonly flags: HealthFlags.HealthFlags
    }
  /** A checker has its first result of a host, or will have none. */
  | { readonly _tag: "Checked"; readonly host: string; readonly checker: string }
  /** As outlier detection says it. */
  | { readonly _tag: "Ejected" | "Returned"; readonly host: string }

/**
 * What comes of it. Hosts are told by their `id`.
 *
 * @since 0.1.0
 */
export type Output =
  | { readonly _tag: "Added" | "Updated" | "Removed"; readonly host: string }
  /** No new streams, idle connections close, running streams finish; `isCut`: connections of TCP are closed at once. */
  | { readonly _tag: "Drain"; readonly host: string; readonly isCut: boolean }
  /** Start each checker on the host; stop them. */
  | { readonly _tag: "Check" | "Uncheck"; readonly host: string }
  /** Warming is over. Said once. */
  | { readonly _tag: "Ready" }

/**
 * A host and what is known of it.
 *
 * @since 0.1.0
 */
export interface Member {
  readonly host: Hosts.Host
  /** Its place among members: the order in which they came. */
  readonly place: number
  readonly flags: HealthFlags.HealthFlags
  /** What each checker says; empty: it is not checked. */
  readonly checks: ReadonlyArray<{
    readonly checker: string
    readonly flags: HealthFlags.HealthFlags
    readonly hasResult: boolean
  }>
}

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface HostSet {
  readonly settings: Settings
  readonly members: HashMap.HashMap<string, Member>
  /** Members that ever came. */
  readonly places: number
  readonly warming:
    | { readonly _tag: "Discovering" | "Ready" }
    /** Hosts that were there when discovery was initialized, and have no first result. */
    | { readonly _tag: "Checking"; readonly unchecked: HashSet.HashSet<string> }
}

/**
 * No hosts.
 *
 * @since 0.1.0
 */
export const make = (settings: Partial<Settings> = {}): HostSet => ({
  settings: {
    checkers: [],
    ignoreHealthOnHostRemoval: false,
    ignoreNewHostsUntilFirstHc: false,
    closeConnectionsOnHostHealthFailure: false,
    ...settings
  },
  members: HashMap.empty(),
  places: 0,
  warming: { _tag: "Discovering" }
})

/**
 * The host; `undefined` if it is not there.
 *
 * @since 0.1.0
 */
export const find = (self: Pick<HostSet, "members">, host: string): Member | undefined =>
  Option.getOrUndefined(HashMap.get(self.members, host))

/**
 * The members in the order in which they came.
 *
 * @since 0.1.0
 */
export const inOrder = (self: Pick<HostSet, "members">): ReadonlyArray<Member> =>
  Array.from(HashMap.values(self.members)).sort((a, b) => a.place - b.place)

/**
 * Whether warming is over: discovery is initialized, and each host that was there then has a first result, is gone, or is
 * checked no longer.
 *
 * @since 0.1.0
 */
export const isReady = ({ warming }: HostSet): boolean => warming._tag === "Ready"

/** ★ Nobody vouches for an absent host that is not checked, or whose health is not to be looked at. */
const cellOf = ({ checks, flags }: Member, settings: Settings): Matrix.Cell => {
  const isAbsent = HealthFlags.has(flags, "PENDING_DYNAMIC_REMOVAL")
  const isVouchedFor = !isAbsent || (checks.length > 0 && !settings.ignoreHealthOnHostRemoval)
  const passing = isVouchedFor && !HealthFlags.isFailing(flags) ? "ok" : "failing"
  return Matrix.table[isAbsent ? "absent" : "listed"][passing]
}

/**
 * Whether calls may go to a member where there is no panic.
 *
 * @since 0.1.0
 */
export const isRouted = (self: HostSet, member: Member): boolean =>
  cellOf(member, self.settings).isRouted && !HealthFlags.has(member.flags, "FAILED_OUTLIER")

type Draft = { -readonly [Key in keyof HostSet]: HostSet[Key] } & { readonly outputs: Array<Output> }

/**
 * Takes one input. Total: what is said of a host or a checker that is not there is nothing.
 *
 * @since 0.1.0
 */
export const step = (self: HostSet, input: Input): readonly [HostSet, ReadonlyArray<Output>] => {
  const draft: Draft = {
    settings: self.settings,
    members: self.members,
    places: self.places,
    warming: self.warming,
    outputs: []
  }
  switch (input._tag) {
    case "Listed":
      list(draft, input.hosts)
      break
    case "Found":
      take(draft, input.host)
      break
    case "Lost":
      lose(draft, input.host)
      break
    case "Initialized":
      initialize(draft)
      break
    case "Health":
      hear(draft, input.host, input.checker, (check) => ({ ...check, flags: HealthFlags.of(input.flags, "check") }))
      break
    case "Checked":
      hear(draft, input.host, input.checker, (check) => ({
        ...check,
        flags: HealthFlags.set(check.flags, "PENDING_ACTIVE_HC", false),
        hasResult: true
      }))
      break
    case "Ejected":
    case "Returned": {
      const member = find(self, input.host)
      if (member === undefined) break
      const flags = HealthFlags.set(member.flags, "FAILED_OUTLIER", input._tag === "Ejected")
      put(draft, member, { ...member, flags })
    }
  }
  const { members, outputs, places, settings, warming } = draft
  return [{ settings, members, places, warming }, outputs]
}

/** Each new host fails until a check passes. */
const unchecked = ({ checkers, ignoreNewHostsUntilFirstHc }: Settings): Member["checks"] => {
  const failing = HealthFlags.make("FAILED_ACTIVE_HC")
  const flags = HealthFlags.set(failing, "PENDING_ACTIVE_HC", ignoreNewHostsUntilFirstHc)
  return checkers.map((checker) => ({ checker, flags, hasResult: false }))
}

/** ★ A host passes when all its checkers say so. */
const withChecks = (member: Member, checks: Member["checks"]): Member => {
  const said = checks.reduce((all, { flags }) => all | flags, HealthFlags.none)
  return { ...member, checks, flags: HealthFlags.replace(member.flags, "check", said) }
}

const take = (self: Draft, host: Hosts.Host): void => {
  const checks = host.isUnchecked ? [] : unchecked(self.settings)
  const before = find(self, host.id)
  if (before === undefined) {
    const flags = Hosts.flagsOf(host)
    put(self, undefined, withChecks({ host, place: self.places++, flags, checks: [] }, checks))
    return
  }
  // ★ Whatever else has changed: health, ejection and connections stay.
  const present = HealthFlags.set(before.flags, "PENDING_DYNAMIC_REMOVAL", false)
  const flags = HealthFlags.replace(present, "discovery", Hosts.flagsOf(host))
  const member = { ...before, host: Hosts.isSame(before.host, host) ? before.host : host, flags }
  const isSwitched = checks.length === 0 || before.checks.length === 0
  put(self, before, isSwitched ? withChecks(member, checks) : member)
}

const list = (self: Draft, hosts: ReadonlyArray<Hosts.Host>): void => {
  const listed = new Set<string>()
  for (const host of hosts) {
    if (listed.has(host.id)) continue
    listed.add(host.id)
    take(self, host)
  }
  for (const member of inOrder(self)) {
    if (listed.has(member.host.id)) continue
    put(self, member, { ...member, flags: HealthFlags.set(member.flags, "PENDING_DYNAMIC_REMOVAL", true) })
  }
}

const lose = (self: Draft, host: string): void => {
  const member = find(self, host)
  if (member !== undefined) put(self, member, member, true)
}

const hear = (
  self: Draft,
  host: string,
  checker: string,
  change: (check: Member["checks"][number]) => Member["checks"][number]
): void => {
  const member = find(self, host)
  if (member === undefined) return
  const checks = member.checks.map((each) => (each.checker === checker ? change(each) : each))
  put(self, member, withChecks(member, checks))
  if (checks.every(({ hasResult }) => hasResult)) awaitNoLonger(self, host)
}

/** Puts a member in its cell, and says what comes of it. */
const put = (
  self: Draft,
  before: Member | undefined,
  member: Member,
  isPurged = cellOf(member, self.settings).isPurged
): void => {
  const host = member.host.id
  const wasChecked = before !== undefined && before.checks.length > 0
  const isChecked = member.checks.length > 0 && !isPurged
  const turnsFailing =
    before !== undefined && HealthFlags.isFailing(member.flags) && !HealthFlags.isFailing(before.flags)
  const isEjected = before !== undefined && HealthFlags.has(member.flags & ~before.flags, "FAILED_OUTLIER")
  self.members = isPurged ? HashMap.remove(self.members, host) : HashMap.set(self.members, host, member)
  if (wasChecked && !isChecked) self.outputs.push({ _tag: "Uncheck", host })
  if (isPurged) self.outputs.push({ _tag: "Removed", host })
  else if (before === undefined) self.outputs.push({ _tag: "Added", host })
  else if (before.host !== member.host || before.flags !== member.flags) self.outputs.push({ _tag: "Updated", host })
  if (isPurged || turnsFailing || isEjected) {
    const isCut = (turnsFailing || isEjected) && self.settings.closeConnectionsOnHostHealthFailure
    self.outputs.push({ _tag: "Drain", host, isCut })
  }
  if (isChecked && !wasChecked) self.outputs.push({ _tag: "Check", host })
  if (!isChecked) awaitNoLonger(self, host)
}

const initialize = (self: Draft): void => {
  if (self.warming._tag !== "Discovering") return
  // ★ Who is listed later does not prolong it.
  const unchecked = inOrder(self).filter(({ checks }) => checks.some(({ hasResult }) => !hasResult))
  warm(self, HashSet.fromIterable(unchecked.map(({ host }) => host.id)))
}

const awaitNoLonger = (self: Draft, host: string): void => {
  if (self.warming._tag !== "Checking") return
  warm(self, HashSet.remove(self.warming.unchecked, host))
}

const warm = (self: Draft, unchecked: HashSet.HashSet<string>): void => {
  self.warming = HashSet.size(unchecked) > 0 ? { _tag: "Checking", unchecked } : { _tag: "Ready" }
  if (self.warming._tag === "Ready") self.outputs.push({ _tag: "Ready" })
}
