/**
 * What one type of a stream has to send, as of a state of the group.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Heartbeat from "./Heartbeat.js"
import type { Protocol } from "../wire/Request.js"
import { isSame } from "../resource/Cursor.js"
import * as Difference from "../resource/Difference.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import type { Round } from "./Round.js"
import * as StateOfTheWorldNames from "./StateOfTheWorldNames.js"
import * as Steps from "../Steps.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as Acknowledgement from "./Acknowledgement.js"
import * as AskedAliases from "./AskedAliases.js"
import * as AwaitedNames from "./AwaitedNames.js"
import * as CursorAdvance from "./CursorAdvance.js"
import * as RequestedNames from "./RequestedNames.js"
import * as SubscriptionChanges from "./SubscriptionChanges.js"
import * as VirtualHostOpeners from "./VirtualHostOpeners.js"

/**
 * What a subscription has to send.
 *
 * @since 0.1.0
 */
export interface Due {
  readonly set: ResourceSet.ResourceSet
  readonly changes: SubscriptionChanges.Changes
  /** Something was asked for and is not answered yet. */
  readonly reply: boolean
  readonly update: boolean
  /** Something is to be deleted, now or later. */
  readonly removal: boolean
  /** When a TTL must be renewed, in milliseconds. */
  readonly renewAt: number
  readonly openers: ReadonlyArray<string>
  /** When names must be answered that may still be made, in milliseconds. */
  readonly answerAt: number
  /** Names that were asked for and are not to be answered yet: in the group, but not in this state of it, or about to be made. */
  readonly deferred: HashSet.HashSet<string>
}

const nothing: ReadonlySet<string> = new Set()

/**
 * What changed for subscriptions, as it was found beforehand, in steps.
 *
 * @since 0.1.0
 */
export type Found = ReadonlyMap<Subscription, ReadonlyMap<ResourceSet.ResourceSet, SubscriptionChanges.Changes>>

/**
 * Nothing was found beforehand.
 *
 * @since 0.1.0
 */
export const nothingFound: Found = new Map()

/**
 * Whether it takes no time to find what changed on the way to each state that subscriptions may be brought to, and to note what
 * is gone, as after most changes: nothing is to be found beforehand.
 *
 * @since 0.1.0
 */
export const areNear = (
  { namesPerStep }: { readonly namesPerStep: number },
  subscriptions: ReadonlyArray<Subscription>,
  newest: ResourceGroup,
  round: Round
): boolean => {
  const isNear = (subscription: Subscription, group: ResourceGroup | undefined): boolean => {
    const { cursor, typeUrl } = subscription
    if (group === undefined || cursor === undefined) return true
    const set = ResourceGroups.set(group, typeUrl)
    if (subscription.pendingRemovals.size > Steps.atOnce || !Difference.isNear(set, cursor)) return false
    const { removed } = Difference.of(set, cursor)
    return removed.size <= Steps.atOnce && SubscriptionChanges.changesEffort(subscription, set) <= namesPerStep
  }
  const changes = round.changes?.group
  for (const each of subscriptions) {
    if (!isNear(each, newest)) return false
    if (round.group !== newest && !isNear(each, round.group)) return false
    if (changes !== newest && !isNear(each, changes)) return false
  }
  return true
}

/**
 * Finds what changed on the way to each state that subscriptions may be brought to, where that may take long: in steps, and what
 * is different in the sets for all streams that are where this one is. What is done with it after that finds it known.
 *
 * @since 0.1.0
 */
export const find = function* (
  { protocol }: { readonly protocol: Protocol },
  subscriptions: ReadonlyArray<Subscription>,
  newest: ResourceGroup,
  round: Round
): Steps.Steps<Found> {
  let found: Map<Subscription, Map<ResourceSet.ResourceSet, SubscriptionChanges.Changes>> | undefined
  for (const subscription of subscriptions) {
    const { cursor, typeUrl } = subscription
    if (cursor === undefined) continue
    let last: ResourceSet.ResourceSet | undefined
    for (const group of [newest, round.group, round.changes?.group]) {
      if (group === undefined) continue
      const set = ResourceGroups.set(group, typeUrl)
      if (set === last || isSame(set.cursor, cursor)) continue
      last = set
      yield* Difference.inSteps(set, cursor)
      found ??= new Map()
      const ofSets = found.get(subscription) ?? new Map<ResourceSet.ResourceSet, SubscriptionChanges.Changes>()
      found.set(subscription, ofSets)
      if (!ofSets.has(set))
        ofSets.set(set, yield* SubscriptionChanges.changesInSteps(subscription, set, protocol === "Incremental"))
    }
  }
  return found ?? nothingFound
}

const changesOf = (
  found: Found,
  protocol: Protocol,
  subscription: Subscription,
  set: ResourceSet.ResourceSet
): SubscriptionChanges.Changes =>
  found.get(subscription)?.get(set) ?? SubscriptionChanges.changes(subscription, set, protocol === "Incremental")

/** Whether the client is to have nothing by a name. */
const isLost = (protocol: Protocol, self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean =>
  protocol === "Incremental" ? AskedAliases.isLost(self, set, name) : ResourceSet.get(set, name) === undefined

/**
 * Whether a subscription has changes to send to come to a state of the group. What is only deleted is none.
 *
 * @since 0.1.0
 */
export const isChanged = (
  found: Found,
  protocol: Protocol,
  subscription: Subscription,
  group: ResourceGroup
): boolean => {
  const set = ResourceGroups.set(group, subscription.typeUrl)
  if (subscription.cursor === undefined || isSame(subscription.cursor, set.cursor)) return false
  const { changed, superseded } = changesOf(found, protocol, subscription, set)
  return changed.length + superseded.size > 0
}

interface Options {
  readonly protocol: Protocol
  readonly typeUrl: string | undefined
  readonly ttl: boolean
}

/**
 * A subscription as it is after {@link plan}, and what it has to send.
 *
 * @since 0.1.0
 */
export type Planned = readonly [Subscription, Due]

/**
 * Finds what a subscription has to send as of a state of the group, and brings it up to date where that is nothing. `newest`:
 * the group as it is now. On a separate stream there is nothing that deletions would have to come after: they are an update.
 * Where something lingers, in steps: it may be much.
 *
 * @since 0.1.0
 */
export const plan = (
  found: Found,
  options: Options,
  subscription: Subscription,
  group: ResourceGroup,
  newest: ResourceGroup
): Planned | Steps.Steps<Planned> => {
  const { protocol } = options
  const set = ResourceGroups.set(group, subscription.typeUrl)
  let changes = SubscriptionChanges.noChanges
  let isAbsorbed = false
  let silent = false
  if (subscription.cursor !== undefined && !isSame(subscription.cursor, set.cursor)) {
    changes = changesOf(found, protocol, subscription, set)
    silent = protocol === "StateOfTheWorld" && StateOfTheWorldNames.deletionsAreSilent(subscription)
    const lingers = changes.gone.size === 0 || silent || options.typeUrl === undefined
    // What was asked for by an alias is looked up in the cursor, so that stays until it is answered.
    const asked = protocol === "Incremental" && HashSet.size(subscription.requested) > 0
    isAbsorbed = changes.changed.length === 0 && changes.superseded.size === 0 && lingers && !asked
  }
  if (subscription.pendingRemovals.size > 0 || (isAbsorbed && changes.gone.size > 0)) {
    return planWithRemovals(options, subscription, set, changes, isAbsorbed ? silent : undefined, group, newest)
  }
  const current = isAbsorbed ? CursorAdvance.advanced(subscription, set, subscription, silent) : subscription
  const left = isAbsorbed ? SubscriptionChanges.noChanges : changes
  return planned(options, current, set, left, false, group, newest)
}

/** The same where something lingers. `silent`: it is brought up to the set, and deletions are never told, or are. */
const planWithRemovals = function* (
  options: Options,
  subscription: Subscription,
  set: ResourceSet.ResourceSet,
  changes: SubscriptionChanges.Changes,
  silent: boolean | undefined,
  group: ResourceGroup,
  newest: ResourceGroup
): Steps.Steps<Planned> {
  const current = silent === undefined ? subscription : yield* CursorAdvance.advance(subscription, set, changes, silent)
  const left = silent === undefined ? changes : SubscriptionChanges.noChanges
  return planned(options, current, set, left, yield* isLeaving(options.protocol, current, set), group, newest)
}

const planned = (
  options: Options,
  current: Subscription,
  set: ResourceSet.ResourceSet,
  changes: SubscriptionChanges.Changes,
  removal: boolean,
  group: ResourceGroup,
  newest: ResourceGroup
): Planned => {
  const { protocol } = options
  const [settled, openers] = VirtualHostOpeners.due(current, group)
  const newestSet = ResourceGroups.set(newest, current.typeUrl)
  // In state of the world a response without a name is its answer, and what comes to be is a change.
  const later = protocol === "Incremental" ? deferredOf(settled, set, newestSet) : Subscriptions.noNameSet
  const awaited = AwaitedNames.of(protocol, settled, newestSet)
  const deferred = awaited === undefined ? later : RequestedNames.joined(later, awaited.names)
  const isAllLater = HashSet.size(settled.requested) === HashSet.size(deferred)
  // The first answer is owed also if it is empty; but not before the names that are about to be made.
  const isOwed = settled.mustReply && (awaited === undefined || settled.wildcard !== "none" || !isAllLater)
  const due: Due = {
    set,
    changes,
    reply: isOwed || !isAllLater || openers.length > 0,
    update: changes.changed.length + changes.gone.size + changes.superseded.size > 0,
    removal,
    renewAt: options.ttl ? Heartbeat.dueAt(settled, set) : Number.POSITIVE_INFINITY,
    openers,
    answerAt: awaited === undefined ? Number.POSITIVE_INFINITY : awaited.until,
    deferred
  }
  return [settled, due]
}

/** Whether something is to be deleted: of what was, all may have come back. */
const isLeaving = function* (
  protocol: Protocol,
  self: Subscription,
  set: ResourceSet.ResourceSet
): Steps.Steps<boolean> {
  let count = 0
  for (const name of self.pendingRemovals.keys()) {
    if (isLost(protocol, self, set, name)) return true
    if (++count % Steps.atOnce === 0) yield
  }
  return false
}

/** Of more names than these it is not looked for what is to come: it comes when it is there. */
const manyNames = 1_000

/** A name that was asked for and is not in this state of the group, but will be, must not be said not to exist. */
const deferredOf = (
  { requested }: Subscription,
  set: ResourceSet.ResourceSet,
  newest: ResourceSet.ResourceSet
): HashSet.HashSet<string> => {
  if (set === newest || HashSet.size(requested) === 0 || HashSet.size(requested) > manyNames)
    return Subscriptions.noNameSet
  return HashSet.filter(
    requested,
    (name) => ResourceSet.find(set, name) === undefined && ResourceSet.find(newest, name) !== undefined
  )
}

/**
 * Deletions whose time has come, and those of what the client never accepted; but of nothing that is back. `held`: up to
 * which due time they wait nevertheless, for deletions of what refers to them.
 *
 * @since 0.1.0
 */
export const removable = function* (
  protocol: Protocol,
  self: Subscription,
  { gone }: SubscriptionChanges.Changes,
  group: ResourceGroup,
  now: number,
  held: number
): Steps.Steps<ReadonlySet<string>> {
  if (self.pendingRemovals.size === 0 && (gone.size === 0 || !Acknowledgement.isRejected(self))) return nothing
  const newest = ResourceGroups.set(group, self.typeUrl)
  const found = new Set<string>()
  const since = self.sent?.nonce ?? ""
  let count = 0
  for (const [name, each] of self.pendingRemovals) {
    if (++count % Steps.atOnce === 0) yield
    const waits = each.due > now || each.due >= held
    if (waits && !Acknowledgement.wasNeverAccepted(self, name, each)) continue
    if (isLost(protocol, self, newest, name)) found.add(name)
  }
  for (const [name, resource] of gone) {
    if (++count % Steps.atOnce === 0) yield
    if (!Acknowledgement.wasNeverAccepted(self, name, { resource, since })) continue
    if (isLost(protocol, self, newest, name)) found.add(name)
  }
  return found
}

/**
 * Whether deletions wait that have no time yet, and are deletions as of a state of the group.
 *
 * @since 0.1.0
 */
export const isUntimed = function* (
  protocol: Protocol,
  subscription: Subscription,
  group: ResourceGroup
): Steps.Steps<boolean> {
  if (subscription.pendingRemovals.size === 0) return false
  const set = ResourceGroups.set(group, subscription.typeUrl)
  let count = 0
  for (const [name, { due }] of subscription.pendingRemovals) {
    if (++count % Steps.atOnce === 0) yield
    if (due === Number.POSITIVE_INFINITY && isLost(protocol, subscription, set, name)) return true
  }
  return false
}

/**
 * Whether something is deleted as of a state, and is there again in a newer one.
 *
 * @since 0.1.0
 */
export const isReturning = function* (
  protocol: Protocol,
  subscription: Subscription,
  group: ResourceGroup,
  newer: ResourceGroup
): Steps.Steps<boolean> {
  if (subscription.pendingRemovals.size === 0) return false
  const set = ResourceGroups.set(group, subscription.typeUrl)
  const newerSet = ResourceGroups.set(newer, subscription.typeUrl)
  if (set === newerSet) return false
  let count = 0
  for (const name of subscription.pendingRemovals.keys()) {
    if (++count % Steps.atOnce === 0) yield
    if (isLost(protocol, subscription, set, name) && !isLost(protocol, subscription, newerSet, name)) return true
  }
  return false
}

/**
 * Gives those deletions a time.
 *
 * @since 0.1.0
 */
export const timed = function* (
  protocol: Protocol,
  subscription: Subscription,
  group: ResourceGroup,
  due: number
): Steps.Steps<Subscription> {
  if (!(yield* isUntimed(protocol, subscription, group))) return subscription
  const set = ResourceGroups.set(group, subscription.typeUrl)
  const pendingRemovals = new Map<string, Subscriptions.PendingRemoval>()
  let count = 0
  for (const [name, each] of subscription.pendingRemovals) {
    if (++count % Steps.atOnce === 0) yield
    const isTimed = each.due !== Number.POSITIVE_INFINITY || !isLost(protocol, subscription, set, name)
    pendingRemovals.set(name, isTimed ? each : { resource: each.resource, since: each.since, due })
  }
  const next = Subscriptions.draft(subscription)
  next.pendingRemovals = pendingRemovals
  return next
}

/**
 * When the next deletion has its time, in milliseconds; Infinity if none has one.
 *
 * @since 0.1.0
 */
export const nextRemovalAt = ({ pendingRemovals }: Subscription, now: number): number => {
  let next = Number.POSITIVE_INFINITY
  for (const { due } of pendingRemovals.values()) if (due > now) next = Math.min(next, due)
  return next
}
