/**
 * What one stream asked for of one type, and what it was sent: the state both protocol variants share.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import type { HeldVersions } from "../resource/HeldVersions.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { Resource } from "../resource/Resource.js"
import * as Cursor from "../resource/Cursor.js"
import * as Difference from "../resource/Difference.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import type { Response } from "../wire/Response.js"
import * as Steps from "../Steps.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"

/**
 * Whether everything is asked for. `legacy`: because no name was ever given on this stream for this type. `explicit`:
 * by the name `*`.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "How the client specifies what resources to return"
 * @since 0.1.0
 */
export type Wildcard = "none" | "legacy" | "explicit"

/**
 * A response that was sent.
 *
 * @since 0.1.0
 */
export interface Sent {
  readonly nonce: string
  readonly version: string
  /** Milliseconds, as given to the reducer. */
  readonly at: number
}

/**
 * A response that may still be answered.
 *
 * @since 0.1.0
 */
export interface Outstanding extends Sent {
  /** What it renewed without a body. */
  readonly heartbeats: ReadonlyArray<string>
}

/**
 * A response that was rejected, in the client's words. The version is empty if it is not known which: the NACK had no nonce,
 * or that of a response of long ago.
 *
 * @since 0.1.0
 */
export interface Rejected extends Sent {
  readonly error: ErrorDetail
}

/**
 * A deleted resource that the client still has, because deletions go out last on an aggregated stream.
 *
 * @since 0.1.0
 */
export interface PendingRemoval {
  /** As the client has it; `undefined` if the log no longer knows, or the client may have forgotten it. */
  readonly resource: Resource | undefined
  /** Nonce of the last response of the type when it went; empty if there was none. */
  readonly since: string
  /** When its deletion may go out, in milliseconds; Infinity until the phases before it are over. */
  readonly due: number
}

/**
 * What a client had before a response that it rejected.
 *
 * @since 0.1.0
 */
export interface BeforeRejection {
  /** Of the first response that was rejected since the last ACK. */
  readonly nonce: string
  /** Name → fingerprint, before that response. */
  readonly before: HashMap.HashMap<string, string>
}

/**
 * The state of one type on one stream.
 *
 * @since 0.1.0
 */
export interface Subscription {
  readonly typeUrl: string
  /** What absence from a state-of-the-world response means; see the table of types. */
  readonly family: "full-state" | "by-name"
  /** Place among the types of an aggregated stream. */
  readonly order: number
  /** Whether the server has a wildcard of this type for this client. */
  readonly wildcardEnabled: boolean
  readonly wildcard: Wildcard
  /**
   * The names asked for, without `*`, and the fingerprint of what was sent under each; empty if nothing was, or if the
   * client was told that there is nothing. While a wildcard is covered the fingerprints are not kept up: `cursor` has them.
   */
  readonly names: HashMap.HashMap<string, string>
  /** Incremental: how many names there were when it was last seen that not too many have one hash. */
  readonly namesChecked: number
  /** State of the world: the list as it came last, to see at a glance that an ACK changes nothing. */
  readonly lastNames: ReadonlyArray<string>
  /** The set that the client was last brought up to; `undefined` before the first answer. */
  readonly cursor: Cursor.Cursor | undefined
  /** An answer is owed even if there is nothing to say: the first request. */
  readonly mustReply: boolean
  /** Everything is to be sent again, whatever the client was sent before: it asked for `*`. */
  readonly resendAll: boolean
  /** Names that were asked for and are to be answered whatever the client was sent before. */
  readonly requested: HashSet.HashSet<string>
  /** Incremental, until the first answer: what the client holds from an earlier stream. */
  readonly initial: HeldVersions
  /** Names that are sent even if `initial` says that the client holds them. */
  readonly resendEvenIfHeld: HashSet.HashSet<string>
  /** By name. */
  readonly pendingRemovals: ReadonlyMap<string, PendingRemoval>
  /** VHDS without a wildcard: route configurations whose listener was opened, and the set they were looked up in. */
  readonly openedRoutes: HashSet.HashSet<string>
  readonly openedRoutesCursor: Cursor.Cursor | undefined
  /** When TTLs were last renewed, in milliseconds. */
  readonly renewedAt: number
  /** Names of resources whose heartbeat was rejected: the client may have lost them. */
  readonly rejectedHeartbeats: HashSet.HashSet<string>
  readonly sent: Sent | undefined
  /** Sent and neither ACKed nor NACKed, oldest first; bounded. */
  readonly outstanding: ReadonlyArray<Outstanding>
  readonly acked: Sent | undefined
  readonly nacked: Rejected | undefined
  /** The latest update, if it is not ACKed: later phases wait for it, for one deadline from its sending. */
  readonly unackedUpdate: Sent | undefined
  /** Name → fingerprint of what the client had before the last response, until that is ACKed; `undefined`: not known. */
  readonly before: HashMap.HashMap<string, string> | undefined
  /** From a NACK to the next ACK, if it is known what the client had before. */
  readonly beforeRejection: BeforeRejection | undefined
}

const noNames = HashMap.empty<string, string>()
/**
 * Nothing is to be answered.
 *
 * @since 0.1.0
 */
export const noNameSet = HashSet.empty<string>()

/**
 * The client holds nothing from an earlier stream.
 *
 * @since 0.1.0
 */
export const noVersions: HeldVersions = new Map()

const noPendingRemovals: ReadonlyMap<string, PendingRemoval> = new Map()
const noList: ReadonlyArray<string> = []
const noneOutstanding: ReadonlyArray<Outstanding> = []

/**
 * No response: what notes of responses are copies of. ★ Where a herd of newcomers has come, V8 takes it that what a literal makes
 * lives long, and makes it where only full collections find it: a hundred megabytes of notes that an ACK had ended. Of copies,
 * as spreading and `with` make them, it does not. `at` is a number with a fraction from the beginning, so that none is made anew.
 */
export const noSent: Sent = { nonce: "", version: "", at: Number.POSITIVE_INFINITY }
const noOutstanding: Outstanding = { ...noSent, heartbeats: noList }
const oneOutstanding: ReadonlyArray<Outstanding> = [noOutstanding]

/** Types that are not in the table come last: nothing the table knows refers to them. */
const lastOrder = 100

/**
 * A type that was just heard of on a stream.
 *
 * @since 0.1.0
 */
export const make = (typeUrl: string, wildcardEnabled: boolean): Subscription => {
  const type = ResourceType.byTypeUrl(typeUrl)
  return {
    typeUrl,
    family: type?.family ?? "by-name",
    order: type?.order ?? lastOrder,
    wildcardEnabled,
    wildcard: "none",
    names: noNames,
    namesChecked: 0,
    lastNames: noList,
    cursor: undefined,
    mustReply: true,
    resendAll: false,
    requested: noNameSet,
    initial: noVersions,
    resendEvenIfHeld: noNameSet,
    pendingRemovals: noPendingRemovals,
    openedRoutes: noNameSet,
    openedRoutesCursor: undefined,
    renewedAt: Number.NEGATIVE_INFINITY,
    rejectedHeartbeats: noNameSet,
    sent: undefined,
    outstanding: noneOutstanding,
    acked: undefined,
    nacked: undefined,
    unackedUpdate: undefined,
    before: noNames,
    beforeRejection: undefined
  }
}

/**
 * A subscription that whoever made it may still change.
 *
 * @since 0.1.0
 */
export type Draft = { -readonly [Key in keyof Subscription]: Subscription[Key] }

/**
 * A copy to change. Written out, because this is done for every response and every ACK, and V8 up to version 11 takes ten
 * times as long for `{ ...self }` of so many fields.
 *
 * @since 0.1.0
 */
export const draft = (self: Subscription): Draft => ({
  typeUrl: self.typeUrl,
  family: self.family,
  order: self.order,
  wildcardEnabled: self.wildcardEnabled,
  wildcard: self.wildcard,
  names: self.names,
  namesChecked: self.namesChecked,
  lastNames: self.lastNames,
  cursor: self.cursor,
  mustReply: self.mustReply,
  resendAll: self.resendAll,
  requested: self.requested,
  initial: self.initial,
  resendEvenIfHeld: self.resendEvenIfHeld,
  pendingRemovals: self.pendingRemovals,
  openedRoutes: self.openedRoutes,
  openedRoutesCursor: self.openedRoutesCursor,
  renewedAt: self.renewedAt,
  rejectedHeartbeats: self.rejectedHeartbeats,
  sent: self.sent,
  outstanding: self.outstanding,
  acked: self.acked,
  nacked: self.nacked,
  unackedUpdate: self.unackedUpdate,
  before: self.before,
  beforeRejection: self.beforeRejection
})

/**
 * A subscription of a client that holds something else from an earlier stream; the same one if it is the same.
 *
 * @since 0.1.0
 */
export const withInitial = (self: Subscription, initial: HeldVersions): Subscription => {
  if (self.initial === initial) return self
  const next = draft(self)
  next.initial = initial
  return next
}

/**
 * Whether the client is sent every resource of the type.
 *
 * @since 0.1.0
 */
export const isWild = (self: Subscription): boolean => self.wildcardEnabled && self.wildcard !== "none"

/**
 * Whether a name was asked for by name.
 *
 * @since 0.1.0
 */
export const hasName = (self: Subscription, name: string): boolean => HashMap.has(self.names, name)

/**
 * A set with more names. It is copied once for all of them: what is copied for each, of a hundred thousand, is garbage by the
 * hundred megabytes.
 *
 * @since 0.1.0
 */
export const withNames = function* (
  set: HashSet.HashSet<string>,
  names: Iterable<string>
): Steps.Steps<HashSet.HashSet<string>> {
  const copy = HashSet.beginMutation(set)
  let count = 0
  for (const name of names) {
    HashSet.add(copy, name)
    if (++count % Steps.atOnce === 0) yield
  }
  return HashSet.endMutation(copy)
}

/**
 * Asks for more names; they are to be answered even if the client has them.
 *
 * @since 0.1.0
 */
export const addNames = (self: Draft, names: ReadonlyArray<string>): void => {
  if (names.length === 0) return
  const next = new Changing(self.names)
  for (const name of names) next.setNew(name)
  self.names = next.end()
  self.requested = Steps.toEnd(withNames(self.requested, names))
}

/**
 * No longer asks for names. What was sent under them is forgotten: if they are asked for again, it is sent again. Under a
 * wildcard they may be due for another reason: they still are.
 *
 * @since 0.1.0
 */
export const removeNames = (self: Draft, names: ReadonlyArray<string>): void => {
  if (names.length === 0) return
  const next = new Changing(self.names)
  for (const name of names) next.delete(name)
  self.names = next.end()
  if (isWild(self)) return
  const requested = HashSet.beginMutation(self.requested)
  for (const name of names) HashSet.remove(requested, name)
  self.requested = HashSet.endMutation(requested)
}

/**
 * Notes under the name of a resource, if that is asked for, what came under an alias of it.
 *
 * @since 0.1.0
 */
export const keepAlias = (self: Draft, alias: string): void => {
  const { cursor, names } = self
  if (cursor === undefined || isWild(self)) return
  const own = Cursor.nameAt(cursor, alias)
  const held = Option.getOrElse(HashMap.get(names, alias), () => "")
  if (own !== alias && held !== "" && Option.contains(HashMap.get(names, own), "")) {
    self.names = HashMap.set(names, own, held)
  }
}

/**
 * Notes under names what the wildcard brought under them, as the cursor of that time has it.
 *
 * @since 0.1.0
 */
export const keepHeld = function* (self: Draft, held: Cursor.Cursor, names: Iterable<string>): Steps.Steps<void> {
  const next = new Changing(self.names)
  let count = 0
  for (const name of names) {
    if (++count % Steps.atOnce === 0) yield
    const fingerprint = HashMap.get(held.fingerprints, Cursor.nameAt(held, name))
    next.set(
      name,
      Option.getOrElse(fingerprint, () => "")
    )
  }
  self.names = next.end()
}

/**
 * No longer asks for everything. The names that remain keep what the wildcard brought under them.
 *
 * @since 0.1.0
 */
export const dropWildcard = function* (self: Draft): Steps.Steps<void> {
  const held = self.cursor
  if (isWild(self) && held !== undefined) yield* keepHeld(self, held, HashMap.keys(self.names))
  yield* endWildcard(self)
}

/**
 * The same after {@link keepHeld} was done for every name.
 *
 * @since 0.1.0
 */
export const endWildcard = function* (self: Draft): Steps.Steps<void> {
  if (self.wildcard === "none") return
  if (isWild(self))
    self.pendingRemovals = new Map(yield* Steps.filter(self.pendingRemovals, ([name]) => hasName(self, name)))
  self.wildcard = "none"
  self.requested = yield* withNames(noNameSet, yield* Steps.filter(self.requested, (name) => hasName(self, name)))
}

/**
 * Asks for everything. What was sent under names becomes the state that deletions are found from; from a legacy
 * wildcard nothing changes for the client, and a `*` that is given again asks for everything again.
 *
 * @since 0.1.0
 */
export const addWildcard = function* (self: Draft): Steps.Steps<void> {
  const before = self.wildcard
  self.wildcard = "explicit"
  self.openedRoutes = noNameSet
  self.openedRoutesCursor = undefined
  if (before === "legacy" || self.cursor === undefined) return
  self.mustReply = true
  self.resendAll = true
  if (before === "explicit" || !self.wildcardEnabled) {
    // The client may have forgotten also what lingers: if that comes back, it is sent.
    self.pendingRemovals = forgotten(self.pendingRemovals)
    return
  }
  const fingerprints = new Changing(noNames)
  let count = 0
  for (const [name, fingerprint] of self.names) {
    if (++count % Steps.atOnce === 0) yield
    if (fingerprint !== "") fingerprints.set(Cursor.nameAt(self.cursor, name), fingerprint)
  }
  self.cursor = Cursor.again(self.cursor, fingerprints.end())
}

/**
 * What lingers after the client asked for everything again: it may have forgotten it, so if that comes back, it is sent.
 *
 * @since 0.1.0
 */
export const forgotten = (pendingRemovals: ReadonlyMap<string, PendingRemoval>): ReadonlyMap<string, PendingRemoval> =>
  new Map(Array.from(pendingRemovals, ([name, each]) => [name, { ...each, resource: undefined }]))

/**
 * What lingers when more resources are gone, after the response that was `sent` last.
 *
 * @since 0.1.0
 */
export const leaving = function* (
  pendingRemovals: ReadonlyMap<string, PendingRemoval>,
  sent: Sent | undefined,
  gone: ReadonlyMap<string, Resource | undefined>
): Steps.Steps<ReadonlyMap<string, PendingRemoval>> {
  if (gone.size === 0) return pendingRemovals
  const next = new Map(pendingRemovals)
  let count = 0
  for (const [name, resource] of gone) {
    const known = pendingRemovals.get(name)
    next.set(name, { resource, since: known?.since ?? sent?.nonce ?? "", due: known?.due ?? Number.POSITIVE_INFINITY })
    if (++count % Steps.atOnce === 0) yield
  }
  return next
}

/**
 * A map without some keys; the same map if it has none of them.
 *
 * @since 0.1.0
 */
export const without = <A>(map: ReadonlyMap<string, A>, names: Iterable<string>): ReadonlyMap<string, A> => {
  let copy: Map<string, A> | undefined
  for (const name of names) if (map.has(name)) (copy ??= new Map(map)).delete(name)
  return copy ?? map
}

/**
 * {@link without} in steps, for many names.
 *
 * @since 0.1.0
 */
export const withoutMany = function* <A>(
  map: ReadonlyMap<string, A>,
  ...lists: ReadonlyArray<Iterable<string>>
): Steps.Steps<ReadonlyMap<string, A>> {
  const dropped = new Set<string>()
  let count = 0
  for (const names of lists) {
    for (const name of names) {
      if (map.has(name)) dropped.add(name)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  if (dropped.size === 0) return map
  return new Map(yield* Steps.filter(map, ([name]) => !dropped.has(name)))
}

/**
 * Wants names answered even if the client said that it holds them.
 *
 * @since 0.1.0
 */
export const resendHeld = (self: Draft, names: Iterable<string>): void => {
  if (self.initial.size === 0) return
  self.resendEvenIfHeld = Steps.toEnd(withNames(self.resendEvenIfHeld, names))
}

/**
 * Whether the client asked for something that was not answered yet.
 *
 * @since 0.1.0
 */
export const isUnanswered = (self: Subscription): boolean => self.mustReply || HashSet.size(self.requested) > 0

/**
 * What is different for this subscription since its cursor.
 *
 * @since 0.1.0
 */
export interface Changes {
  /** Resources that are new to the client or have another content. */
  readonly changed: ReadonlyArray<Resource>
  /** Names, as the client knows them, under which there was something and is nothing now. */
  readonly gone: ReadonlyMap<string, Resource | undefined>
  /** Names of resources whose removal was pending that came back just as the client has them. */
  readonly returned: ReadonlyArray<string>
  /**
   * Names of resources that the client has by a name that is another's now, and by no other that it asked for. They go with
   * that one, and not later: of two resources that claim one name a client takes neither.
   */
  readonly superseded: ReadonlySet<string>
}

const noneSuperseded: ReadonlySet<string> = new Set()

/**
 * Nothing is different.
 *
 * @since 0.1.0
 */
export const noChanges: Changes = { changed: [], gone: new Map(), returned: [], superseded: noneSuperseded }

/**
 * Whether a subscription is by name alone, was answered, and has nothing of its own to say.
 *
 * @since 0.1.0
 */
export const isIdle = (self: Subscription): boolean =>
  self.wildcard === "none" &&
  self.cursor !== undefined &&
  !self.mustReply &&
  self.pendingRemovals.size === 0 &&
  HashSet.size(self.requested) === 0

/** What is found at the names that were asked for, one after the other. */
class Finding {
  private readonly find: typeof ResourceSet.find
  private changed: Map<string, Resource> | undefined
  private gone: Map<string, Resource | undefined> | undefined
  private returned: Array<string> | undefined
  private superseded: Set<string> | undefined

  constructor(
    private readonly self: Subscription,
    private readonly cursor: Cursor.Cursor,
    private readonly set: ResourceSet.ResourceSet,
    private readonly difference: Difference.Difference,
    private readonly incremental: boolean
  ) {
    this.find = incremental ? ResourceSet.find : ResourceSet.get
  }

  see(name: string, held: string): void {
    const { difference, incremental, cursor, self, set } = this
    const now = this.find(set, name)
    const own = held === "" || !incremental ? name : Cursor.nameAt(cursor, name)
    if (now === undefined) {
      if (held === "") return
      // The client may know it by the name it asked for or by its own: both are told, unless another name leads to it.
      const before = difference.removed.get(own)
      this.gone ??= new Map()
      this.gone.set(name, before)
      if (own !== name && !isServed(self, set, own)) this.gone.set(own, before)
      return
    }
    if (held !== "" && own !== now.name && !isServed(self, set, own)) (this.superseded ??= new Set()).add(own)
    if (now.fingerprint === held) return
    if (isBack(self, name, now)) (this.returned ??= []).push(name)
    else (this.changed ??= new Map()).set(now.name, now)
  }

  end(): Changes {
    const { changed, gone, returned, superseded } = this
    return {
      changed: changed === undefined ? noChanges.changed : Array.from(changed.values()),
      gone: gone ?? noChanges.gone,
      returned: returned ?? noChanges.returned,
      superseded: superseded ?? noneSuperseded
    }
  }
}

/** Whether a resource lingers under a name, just as it is now. */
const isBack = ({ pendingRemovals }: Subscription, name: string, { fingerprint }: Resource): boolean =>
  pendingRemovals.get(name)?.resource?.fingerprint === fingerprint

/**
 * Looks at what changed in the set since the subscription's mark: for a wildcard the shared difference as it is, for
 * names those that the difference touches. Nothing else is looked at. Aliases are of incremental xDS only.
 *
 * @since 0.1.0
 */
export const changes = (self: Subscription, set: ResourceSet.ResourceSet, incremental: boolean): Changes => {
  const { cursor, names } = self
  if (cursor === undefined || Cursor.isSame(cursor, set.cursor)) return noChanges
  const difference = Difference.of(set, cursor)
  if (isWild(self)) {
    if (self.pendingRemovals.size > 0 || (incremental && !HashMap.isEmpty(names))) {
      return Steps.toEnd(changing(self, set, incremental))
    }
    const { changed, removed, replaced } = difference
    return { changed, gone: removed, returned: noList, superseded: incremental ? replaced : noneSuperseded }
  }
  const finding = new Finding(self, cursor, set, difference, incremental)
  if (isSmaller(self, difference)) {
    for (const [name, hash] of difference.touched) {
      const held = HashMap.getHash(names, name, hash)
      if (Option.isSome(held)) finding.see(name, held.value)
    }
  } else {
    for (const [name, held] of names) if (Difference.concerns(difference, name)) finding.see(name, held)
  }
  return finding.end()
}

/**
 * The same in steps: a client may have asked for a hundred thousand names.
 *
 * @since 0.1.0
 */
export const changing = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  incremental: boolean
): Steps.Steps<Changes> {
  if (self.cursor === undefined || Cursor.isSame(self.cursor, set.cursor)) return noChanges
  const { pendingRemovals, cursor } = self
  const difference = Difference.of(set, cursor)
  if (!isWild(self)) {
    const finding = new Finding(self, cursor, set, difference, incremental)
    yield* seeNames(self, difference, (name, held) => finding.see(name, held))
    return finding.end()
  }
  const { removed, replaced } = difference
  let { changed } = difference
  const superseded = incremental ? replaced : noneSuperseded
  let gone = removed
  if (incremental && !HashMap.isEmpty(self.names)) {
    const named = new Map<string, Resource | undefined>()
    let count = 0
    for (const [name, resource] of removed) {
      named.set(name, resource)
      if (++count % Steps.atOnce === 0) yield
    }
    const moved = new Set<Resource>()
    yield* seeNames(self, difference, (name) => {
      const own = Cursor.nameAt(cursor, name)
      // Beside a wildcard, too, the client may know it by the name it asked for.
      const now = ResourceSet.find(set, name)
      if (now === undefined) {
        if (HashMap.has(cursor.fingerprints, own)) named.set(name, removed.get(own))
      } else if (own !== now.name) moved.add(now)
    })
    gone = named
    if (moved.size > 0) {
      for (const each of changed) {
        moved.delete(each)
        if (++count % Steps.atOnce === 0) yield
      }
      // A name that led elsewhere leads to what is as it was.
      changed = [...changed, ...moved]
    }
  }
  if (pendingRemovals.size === 0) return { changed, gone, returned: noChanges.returned, superseded }
  const others: Array<Resource> = []
  const returned: Array<string> = []
  let count = 0
  for (const resource of changed) {
    if (isBack(self, resource.name, resource)) returned.push(resource.name)
    else others.push(resource)
    if (++count % Steps.atOnce === 0) yield
  }
  return { changed: others, gone, returned, superseded }
}

/** Whether a difference is looked up among the names that were asked for; else the names in it. */
const isSmaller = ({ names }: Subscription, difference: Difference.Difference): boolean =>
  difference.domains.length === 0 && difference.touched.size < HashMap.size(names)

/**
 * How many resources or names are looked at to find what changed in the set: nothing is asked again for those that are few.
 *
 * @since 0.1.0
 */
export const lookedAt = (self: Subscription, set: ResourceSet.ResourceSet): number => {
  const { pendingRemovals, cursor, names } = self
  if (cursor === undefined || Cursor.isSame(cursor, set.cursor)) return 0
  // All that a wildcard brought may be back.
  const isMatched = pendingRemovals.size > 0 && isWild(self)
  if (!isMatched && HashMap.isEmpty(names)) return 0
  const difference = Difference.of(set, cursor)
  const named = isSmaller(self, difference) ? difference.touched.size : HashMap.size(names)
  return isMatched ? Math.max(named, difference.changed.length) : named
}

/** Visits the names that were asked for and that a difference concerns. */
const seeNames = function* (
  self: Subscription,
  difference: Difference.Difference,
  see: (name: string, held: string) => void
): Steps.Steps<void> {
  const { names } = self
  let count = 0
  if (isSmaller(self, difference)) {
    for (const [name, hash] of difference.touched) {
      const held = HashMap.getHash(names, name, hash)
      if (Option.isSome(held)) see(name, held.value)
      if (++count % Steps.atOnce === 0) yield
    }
  } else {
    for (const [name, held] of names) {
      if (Difference.concerns(difference, name)) see(name, held)
      if (++count % Steps.atOnce === 0) yield
    }
  }
}

const noAliases: ReadonlyArray<string> = []

/**
 * Incremental: the names beside its own by which a resource was asked for.
 *
 * @since 0.1.0
 */
export const askedAliases = (
  { names, typeUrl }: Subscription,
  set: ResourceSet.ResourceSet,
  { aliases, name }: Resource
): ReadonlyArray<string> => {
  if (HashMap.isEmpty(names)) return noAliases
  const isHost =
    typeUrl === ResourceType.VirtualHost.typeUrl && [name, ...aliases].some(VirtualHostDiscovery.isWildcard)
  if (!isHost) return aliases.length === 0 ? noAliases : aliases.filter((alias) => HashMap.has(names, alias))
  // ★ A host that one of its domains stands for is an alias that the resource does not know.
  const isOther = (asked: string) => asked !== name && ResourceSet.find(set, asked)?.name === name
  return Array.from(HashMap.keys(names)).filter(isOther)
}

/**
 * Incremental: whether a resource is asked for, by wildcard, name or alias.
 *
 * @since 0.1.0
 */
export const isAsked = (self: Subscription, set: ResourceSet.ResourceSet, resource: Resource): boolean =>
  isWild(self) || hasName(self, resource.name) || askedAliases(self, set, resource).length > 0

/** Incremental: whether there is a resource of that very name, and it is asked for. */
const isServed = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean => {
  const resource = ResourceSet.get(set, name)
  return resource !== undefined && isAsked(self, set, resource)
}

/**
 * Incremental: whether a client that has something by a name is to have nothing by it: a name that it asked for leads
 * nowhere, or a resource of which it knows the name is gone or not asked for any more.
 *
 * @since 0.1.0
 */
export const isLost = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean =>
  hasName(self, name) ? ResourceSet.find(set, name) === undefined : !isServed(self, set, name)

/** Changes of a map of names. Of a copy that nobody has yet many are made at the price of one. */
class Changing {
  private copy: HashMap.HashMap<string, string> | undefined

  constructor(private readonly names: HashMap.HashMap<string, string>) {}

  set(name: string, fingerprint: string): void {
    this.copy ??= HashMap.beginMutation(this.names)
    HashMap.set(this.copy, name, fingerprint)
  }

  /** A name of which nothing is noted; one that is there stays as it is. */
  setNew(name: string): void {
    if (!HashMap.has(this.copy ?? this.names, name)) this.set(name, "")
  }

  delete(name: string): void {
    if (!HashMap.has(this.copy ?? this.names, name)) return
    this.copy ??= HashMap.beginMutation(this.names)
    HashMap.remove(this.copy, name)
  }

  /** The same for a name that was asked for; another one is passed over. */
  setKnown(name: string, fingerprint: string): void {
    if (HashMap.has(this.copy ?? this.names, name)) this.set(name, fingerprint)
  }

  /** The map with the changes; the same one if there were none. */
  end(): HashMap.HashMap<string, string> {
    return this.copy === undefined ? this.names : HashMap.endMutation(this.copy)
  }
}

/**
 * Notes the fingerprints of resources under every name by which they were asked for.
 *
 * @param aliasesOf incremental: {@link askedAliases}
 * @since 0.1.0
 */
export const hold = function* (
  names: HashMap.HashMap<string, string>,
  resources: Iterable<Resource>,
  aliasesOf: (resource: Resource) => ReadonlyArray<string> = () => noAliases
): Steps.Steps<HashMap.HashMap<string, string>> {
  const next = new Changing(names)
  let count = 0
  for (const resource of resources) {
    if (++count % Steps.atOnce === 0) yield
    next.setKnown(resource.name, resource.fingerprint)
    for (const alias of aliasesOf(resource)) next.set(alias, resource.fingerprint)
  }
  return next.end()
}

/**
 * {@link hold} of few resources, which were asked for by no other names than their own.
 *
 * @since 0.1.0
 */
export const holdFew = (
  names: HashMap.HashMap<string, string>,
  resources: ReadonlyArray<Resource>
): HashMap.HashMap<string, string> => {
  const next = new Changing(names)
  for (const { fingerprint, name } of resources) next.set(name, fingerprint)
  return next.end()
}

/**
 * Notes that what lingered under these names is there again as it was.
 *
 * @since 0.1.0
 */
export const holdAgain = function* (
  names: HashMap.HashMap<string, string>,
  returned: Iterable<string>,
  pendingRemovals: ReadonlyMap<string, PendingRemoval>
): Steps.Steps<HashMap.HashMap<string, string>> {
  const next = new Changing(names)
  let count = 0
  for (const name of returned) {
    const resource = pendingRemovals.get(name)?.resource
    if (resource !== undefined) next.setKnown(name, resource.fingerprint)
    if (++count % Steps.atOnce === 0) yield
  }
  return next.end()
}

/**
 * Notes that nothing is held under these names.
 *
 * @since 0.1.0
 */
export const release = function* (
  names: HashMap.HashMap<string, string>,
  released: Iterable<string>
): Steps.Steps<HashMap.HashMap<string, string>> {
  const next = new Changing(names)
  let count = 0
  for (const name of released) {
    next.setKnown(name, "")
    if (++count % Steps.atOnce === 0) yield
  }
  return next.end()
}

/**
 * The outcome of an answer to a response.
 *
 * @since 0.1.0
 */
export type Reply =
  | { readonly _tag: "Acked"; readonly sent: Sent }
  | { readonly _tag: "Nacked"; readonly sent: Sent }
  /** A nonce that is not the last one, or that was answered before. */
  | { readonly _tag: "Unrelated" }

/**
 * Takes the ACK or NACK in a request. ★ A NACK is what has an `error_detail`: the version is only a hint. Nothing is
 * sent for it; the next response goes out when something changes.
 *
 * @since 0.1.0
 */
export const reply = (
  self: Subscription,
  nonce: string,
  error: ErrorDetail | undefined,
  now: number
): readonly [Subscription, Reply] => {
  const index = nonce === "" ? -1 : self.outstanding.findIndex((sent) => sent.nonce === nonce)
  const sent = index < 0 ? undefined : self.outstanding[index]
  if (sent === undefined) return [self, { _tag: "Unrelated" }]
  // Responses are answered in order; Envoy answers only the last of several.
  const open = index + 1 === self.outstanding.length ? noneOutstanding : self.outstanding.slice(index + 1)
  const next = draft(self)
  next.outstanding = open
  const { nonce: answered, version } = sent
  if (error !== undefined) {
    next.nacked = { nonce: answered, version, at: now, error }
    for (const name of sent.heartbeats) next.rejectedHeartbeats = HashSet.add(next.rejectedHeartbeats, name)
    const { before, beforeRejection } = self
    // Of an older response it is not known what the client had before.
    const isLast = self.sent?.nonce === answered
    if (beforeRejection === undefined && isLast && before !== undefined)
      next.beforeRejection = { nonce: answered, before }
    return [next, { _tag: "Nacked", sent }]
  }
  if (self.unackedUpdate !== undefined && !open.some((later) => later.nonce === self.unackedUpdate?.nonce))
    next.unackedUpdate = undefined
  next.acked = { ...noSent, nonce: answered, version, at: now }
  next.beforeRejection = undefined
  if (open.length === 0) next.before = undefined
  return [next, { _tag: "Acked", sent }]
}

/**
 * Whether a NACK says something that the last one noted did not: of another response, or other words. A client may repeat
 * an old NACK with each request.
 *
 * @since 0.1.0
 */
export const isNewRejection = (
  { nacked }: Subscription,
  nonce: string,
  error: ErrorDetail | undefined
): error is ErrorDetail =>
  error !== undefined &&
  (nacked?.nonce !== nonce || nacked.error.code !== error.code || nacked.error.message !== error.message)

/**
 * Notes the words of a NACK that is no answer to a response: of an older one, or without a nonce. They are for people; nothing
 * else comes of them.
 *
 * @since 0.1.0
 */
export const noteRejection = (
  self: Subscription,
  nonce: string,
  error: ErrorDetail | undefined,
  now: number
): Subscription => {
  if (!isNewRejection(self, nonce, error)) return self
  const rejected = nonce === self.sent?.nonce ? self.sent : self.outstanding.find((sent) => sent.nonce === nonce)
  const next = draft(self)
  next.nacked = { nonce, version: rejected?.version ?? "", at: now, error }
  return next
}

/** Most responses of a type whose answers are still told apart. */
const maxOpen = 64

/**
 * Whether the client rejected the last response, so that whatever is sent next corrects it.
 *
 * @since 0.1.0
 */
export const isRejected = ({ acked, nacked, sent }: Subscription): boolean =>
  nacked !== undefined && nacked.nonce === sent?.nonce && nacked.nonce !== acked?.nonce

/**
 * ★ Whether the client never accepted what it was sent under a name that is gone: it was new or changed in the response
 * that it rejected, or later. Its deletion is a part of the correction and waits for nothing.
 *
 * @since 0.1.0
 */
export const wasNeverAccepted = (
  self: Subscription,
  name: string,
  { resource, since }: Omit<PendingRemoval, "due">
): boolean => {
  const { beforeRejection } = self
  if (beforeRejection === undefined || !isRejected(self) || Number(since) < Number(beforeRejection.nonce)) return false
  // Under a wildcard it may have been asked for by an alias, too; what it had is known by its own name.
  const before = HashMap.get(beforeRejection.before, isWild(self) ? (resource?.name ?? name) : name)
  if (Option.isNone(before)) return isWild(self) && (resource !== undefined || HashMap.isEmpty(self.names))
  return before.value === "" || (resource !== undefined && before.value !== resource.fingerprint)
}

/**
 * Notes a response that goes out. `update`: it tells the client of a change, so that later phases wait for its ACK.
 * `before`: the subscription that the response was made from; `undefined`: it is a later part of one.
 *
 * @since 0.1.0
 */
export const send = (
  self: Draft,
  sent: Sent,
  { heartbeats, resources }: Pick<Response, "heartbeats" | "resources">,
  update: boolean,
  before: Subscription | undefined
): void => {
  const open: Outstanding = {
    ...noOutstanding,
    nonce: sent.nonce,
    version: sent.version,
    at: sent.at,
    heartbeats: heartbeats.length === 0 ? noList : heartbeats.map(({ name }) => name)
  }
  if (HashSet.size(self.rejectedHeartbeats) > 0) {
    for (const { name } of resources) self.rejectedHeartbeats = HashSet.remove(self.rejectedHeartbeats, name)
  }
  if (before?.cursor !== undefined) self.before = isWild(before) ? before.cursor.fingerprints : before.names
  self.sent = sent
  self.outstanding =
    self.outstanding.length === 0
      ? oneOutstanding.with(0, open)
      : [...self.outstanding.slice(self.outstanding.length < maxOpen ? 0 : 1), open]
  if (update) self.unackedUpdate = sent
}

/**
 * What it costs to look at a name, in names of usual length: most is to compute its hash.
 *
 * @since 0.1.0
 */
export const effort = (name: string): number => 1 + (name.length >>> 7)

/**
 * A subscription of which some names are not to be answered yet.
 *
 * @since 0.1.0
 */
export const notYet = (self: Subscription, names: HashSet.HashSet<string>): Subscription => {
  if (HashSet.size(names) === 0) return self
  const next = draft(self)
  next.requested = HashSet.difference(self.requested, names)
  return next
}

/**
 * A subscription of which only so many names are to be answered, of more, and those that are left for the responses after it.
 *
 * @since 0.1.0
 */
export const inPart = function* (
  self: Subscription,
  most: number
): Steps.Steps<readonly [part: Subscription, rest: HashSet.HashSet<string>]> {
  const part = draft(self)
  const rest = HashSet.beginMutation(self.requested)
  const now: Array<string> = []
  let left = most
  for (const name of self.requested) {
    if (left <= 0) break
    left -= effort(name)
    now.push(name)
  }
  let count = 0
  for (const name of now) {
    HashSet.remove(rest, name)
    if (++count % Steps.atOnce === 0) yield
  }
  part.requested = yield* withNames(noNameSet, now)
  return [part, HashSet.endMutation(rest)]
}

/**
 * The names of both. The fewer are added to the others, of which there may be a hundred thousand after each of a hundred
 * responses: those are not gone through.
 *
 * @since 0.1.0
 */
export const joined = (one: HashSet.HashSet<string>, other: HashSet.HashSet<string>): HashSet.HashSet<string> => {
  const isOneSmaller = HashSet.size(one) < HashSet.size(other)
  let all = isOneSmaller ? other : one
  for (const name of isOneSmaller ? one : other) all = HashSet.add(all, name)
  return all
}

/**
 * The names that are to be deleted with a response.
 *
 * @since 0.1.0
 */
export type Removals = "all" | "none" | ReadonlySet<string>

/**
 * Whether a deletion goes out with a response.
 *
 * @since 0.1.0
 */
export const isRemoved = (removals: Removals, name: string): boolean =>
  removals === "all" || (removals !== "none" && removals.has(name))

/**
 * What both variants know when they make a response.
 *
 * @since 0.1.0
 */
export interface Flush {
  readonly set: ResourceSet.ResourceSet
  readonly changes: Changes
  /** Whether changes may go out, or only answers to what was asked. */
  readonly updates: boolean
  /** Which deletions may go out. */
  readonly removals: Removals
  /** Whether this client is given TTLs. */
  readonly ttl: boolean
  /** Bytes of a response, where it may be split. */
  readonly maxBytes: number
}

/**
 * Brings a subscription up to a set without sending anything, if all that happened is that resources went or came back
 * unchanged. What went lingers until deletions go out, unless deletions of the type are never told (`silent`).
 *
 * @since 0.1.0
 */
export const absorb = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  changes: Changes,
  silent: boolean
): Steps.Steps<Draft> {
  let { pendingRemovals, names } = self
  if (changes.returned.length > 0) {
    if (!HashMap.isEmpty(names)) names = yield* holdAgain(names, changes.returned, pendingRemovals)
    pendingRemovals = yield* withoutMany(pendingRemovals, changes.returned)
  }
  if (changes.gone.size > 0) {
    if (!silent) pendingRemovals = yield* leaving(pendingRemovals, self.sent, changes.gone)
    if (!HashMap.isEmpty(names)) names = yield* release(names, changes.gone.keys())
  }
  return absorbed(self, set, { pendingRemovals, names }, silent)
}

/**
 * The same where it is known what lingers then, and what is held under the names.
 *
 * @since 0.1.0
 */
export const absorbed = (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  { pendingRemovals, names }: Pick<Subscription, "pendingRemovals" | "names">,
  silent: boolean
): Draft => {
  const next = draft(self)
  next.cursor = set.cursor
  next.pendingRemovals = pendingRemovals
  next.names = names
  // ★ Where deletions are silent, what was rejected may be corrected without a response: nothing is waited for then.
  if (silent && isRejected(self) && !isDoubtful(self, names)) next.unackedUpdate = undefined
  return next
}

/** Whether something is held that the client did not accept. */
const isDoubtful = ({ beforeRejection }: Subscription, names: HashMap.HashMap<string, string>): boolean => {
  if (beforeRejection === undefined) return false
  for (const [name, fingerprint] of names) {
    if (fingerprint !== "" && !Option.contains(HashMap.get(beforeRejection.before, name), fingerprint)) return true
  }
  return false
}
