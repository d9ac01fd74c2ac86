/**
 * What one type of a stream has to send, as of a state of the group.
 *
 * @since 0.1.0
 */
import * as CollectionIndex from "../resource/CollectionIndex.js"
import { isSame } from "../resource/Cursor.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { Protocol } from "../wire/Request.js"
import * as Acknowledgement from "./Acknowledgement.js"
import { AskedAliases } from "./AskedAliases.js"
import * as OnDemandNames from "./OnDemandNames.js"
import * as CursorAdvance from "./CursorAdvance.js"
import * as Heartbeat from "./Heartbeat.js"
import * as RequestedNames from "./RequestedNames.js"
import type { Round } from "./Round.js"
import * as StateOfTheWorldNames from "./StateOfTheWorldNames.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as SubscriptionChanges from "./SubscriptionChanges.js"
import * as VirtualHostOpeners from "./VirtualHostOpeners.js"
import * as NameSet from "./NameSet.js"

/**
 * What a subscription has to send.
 *
 * @since 0.1.0
 */
export interface Due {
  readonly set: ResourceSet.ResourceSet
  readonly changes: SubscriptionChanges.Changes
  /** Whether a request is not answered yet. */
  readonly reply: boolean
  /** Whether changes are due. On a separate stream, removals count, too. */
  readonly update: boolean
  /** Whether a removal is pending, to go out now or later. */
  readonly removal: boolean
  /** When a TTL must be renewed, in milliseconds. */
  readonly renewAt: number
  /** Resources to renew that this state of the group does not have. */
  readonly returning: Heartbeat.Returning | undefined
  readonly openers: ReadonlyArray<string>
  /** When waiting names must be answered at the latest, in milliseconds. */
  readonly answerAt: number
  /**
   * Requested names that must not be answered yet: their resource exists, but not in this state of the group, or may still be
   * made.
   */
  readonly deferred: NameSet.NameSet
}

const nothing: ReadonlySet<string> = new Set()

/**
 * Changes by subscription and set, computed before in steps.
 *
 * @since 0.1.0
 */
export type Found = ReadonlyMap<Subscription, ReadonlyMap<ResourceSet.ResourceSet, SubscriptionChanges.Changes>>

/**
 * No changes computed before.
 *
 * @since 0.1.0
 */
export const nothingFound: Found = new Map()

/**
 * Whether the changes and removals up to each possible state are cheap to find, as after most changes. Then nothing is computed
 * before.
 *
 * @since 0.1.0
 */
export const areNear = (
  { namesPerStep }: { readonly namesPerStep: number },
  subscriptions: ReadonlyArray<Subscription>,
  newest: ResourceGroup,
  round: Round
): boolean => {
  const isNear = (subscription: Subscription, group: ResourceGroup | undefined): boolean =>
    group === undefined ||
    SubscriptionChanges.areNear(subscription, ResourceGroups.set(group, subscription.typeUrl), namesPerStep)
  const changes = round.changes?.group
  return subscriptions.every(
    (each) =>
      isNear(each, newest) &&
      (round.group === newest || isNear(each, round.group)) &&
      (changes === newest || isNear(each, changes))
  )
}

/**
 * Finds the changes up to each possible state, in steps, because it may take long.
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

/** Whether the client must no longer hold anything under a name. */
const lostIn = (protocol: Protocol, self: Subscription, set: ResourceSet.ResourceSet): ((name: string) => boolean) => {
  if (protocol === "StateOfTheWorld") return (name) => ResourceSet.get(set, name) === undefined
  const asked = new AskedAliases(self, set)
  return (name) => asked.isLost(name)
}

/**
 * Whether a subscription has changes to send to reach a state of the group. Removals alone do not count.
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
 * A subscription after {@link plan}, and what it has to send.
 *
 * @since 0.1.0
 */
export type Planned = readonly [Subscription, Due]

/**
 * Finds what a subscription has to send as of a state of the group. If that is nothing, brings the subscription up to date. In
 * steps if removals are pending, which may be many. On a separate stream a removal counts as an update: there is nothing that
 * it must follow.
 *
 * @param newest the group as it is now
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
  let advances = false
  let silent = false
  if (subscription.cursor !== undefined && !isSame(subscription.cursor, set.cursor)) {
    changes = changesOf(found, protocol, subscription, set)
    silent = protocol === "StateOfTheWorld" && StateOfTheWorldNames.deletionsAreSilent(subscription)
    const mayWait = changes.gone.size === 0 || silent || options.typeUrl === undefined
    // Names requested by an alias are looked up in the cursor, so it stays until they are answered.
    const asked = protocol === "Incremental" && subscription.requested.size > 0
    advances = changes.changed.length === 0 && changes.superseded.size === 0 && mayWait && !asked
  }
  const mayReturn = options.ttl && changes.gone.size > 0 && set !== ResourceGroups.set(newest, subscription.typeUrl)
  if (subscription.pendingRemovals.size > 0 || (advances && changes.gone.size > 0) || mayReturn) {
    return planWithRemovals(options, subscription, set, changes, advances ? silent : undefined, group, newest)
  }
  const current = advances ? CursorAdvance.advanced(subscription, set, subscription, silent) : subscription
  const left = advances ? SubscriptionChanges.noChanges : changes
  return planned(options, current, set, left, false, undefined, group, newest)
}

/** {@link plan} with pending removals. `silent`: whether removals are never sent; `undefined`: the cursor does not advance. */
const planWithRemovals = function* (
  options: Options,
  subscription: Subscription,
  set: ResourceSet.ResourceSet,
  changes: SubscriptionChanges.Changes,
  silent: boolean | undefined,
  group: ResourceGroup,
  newest: ResourceGroup
): Steps.Steps<Planned> {
  const newestSet = ResourceGroups.set(newest, subscription.typeUrl)
  const returning =
    options.ttl && set !== newestSet
      ? yield* Heartbeat.returning(subscription, set, newestSet, changes.gone, options.protocol)
      : undefined
  const current = silent === undefined ? subscription : yield* CursorAdvance.advance(subscription, set, changes, silent)
  const left = silent === undefined ? changes : SubscriptionChanges.noChanges
  const isAnyLeaving = yield* isLeaving(options.protocol, current, set)
  return planned(options, current, set, left, isAnyLeaving, returning, group, newest)
}

const planned = (
  options: Options,
  current: Subscription,
  set: ResourceSet.ResourceSet,
  changes: SubscriptionChanges.Changes,
  removal: boolean,
  returning: Heartbeat.Returning | undefined,
  group: ResourceGroup,
  newest: ResourceGroup
): Planned => {
  const { protocol } = options
  const [self, openers] = VirtualHostOpeners.due(current, group)
  const newestSet = ResourceGroups.set(newest, current.typeUrl)
  // In state of the world a response without the name is its answer, and a resource made later is a change.
  const later = protocol === "Incremental" ? deferredOf(self, set, newestSet) : Subscriptions.noNameSet
  const waiting = OnDemandNames.of(protocol, self, newestSet)
  const deferred = waiting === undefined ? later : RequestedNames.joined(later, waiting.names)
  const isAllLater = self.requested.size === deferred.size
  // The first response is due even if it is empty, but not before the waiting names.
  const mustReply = self.mustReply && (waiting === undefined || self.wildcard !== "none" || !isAllLater)
  const due: Due = {
    set,
    changes,
    reply: mustReply || !isAllLater || openers.length > 0,
    update: changes.changed.length + changes.gone.size + changes.superseded.size > 0,
    removal,
    renewAt: options.ttl ? Heartbeat.dueAt(self, set, returning) : Number.POSITIVE_INFINITY,
    returning,
    openers,
    answerAt: waiting === undefined ? Number.POSITIVE_INFINITY : waiting.until,
    deferred
  }
  return [self, due]
}

/** Whether a removal is pending whose resource has not come back. */
const isLeaving = function* (
  protocol: Protocol,
  self: Subscription,
  set: ResourceSet.ResourceSet
): Steps.Steps<boolean> {
  const isLost = lostIn(protocol, self, set)
  let count = 0
  for (const name of self.pendingRemovals.keys()) {
    if (isLost(name)) return true
    if (++count % Steps.atOnce === 0) yield
  }
  return false
}

/** With more requested names than this, newer states are not searched for them. Their resources are sent with those states. */
const manyNames = 1_000

/** The requested names that lack a resource in this state but have one in the newest. They must not be reported as missing. */
const deferredOf = (
  { collections, requested }: Subscription,
  set: ResourceSet.ResourceSet,
  newest: ResourceSet.ResourceSet
): NameSet.NameSet => {
  if (set === newest || requested.size === 0 || requested.size > manyNames) return Subscriptions.noNameSet
  return NameSet.filter(
    requested,
    (name) =>
      ResourceSet.find(set, name) === undefined &&
      (ResourceSet.find(newest, name) !== undefined ||
        (collections !== undefined &&
          collections.globs.has(name) &&
          CollectionIndex.isAny(newest, name) &&
          !CollectionIndex.isAny(set, name)))
  )
}

/**
 * Removals that are due, and those of resources that the client never accepted. Not those of resources that came back.
 *
 * @param held removals due at this time or later wait for removals of resources that refer to them
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
  const isLost = lostIn(protocol, self, newest)
  let count = 0
  for (const [name, each] of self.pendingRemovals) {
    if (++count % Steps.atOnce === 0) yield
    const waits = each.due > now || each.due >= held
    if (waits && !Acknowledgement.wasNeverAccepted(self, name, each)) continue
    if (isLost(name)) found.add(name)
  }
  for (const [name, resource] of gone) {
    if (++count % Steps.atOnce === 0) yield
    if (!Acknowledgement.wasNeverAccepted(self, name, { resource, since })) continue
    if (isLost(name)) found.add(name)
  }
  return found
}

/**
 * Whether pending removals have no due time yet, and are removals as of a state of the group.
 *
 * @since 0.1.0
 */
export const isUntimed = function* (
  protocol: Protocol,
  subscription: Subscription,
  group: ResourceGroup
): Steps.Steps<boolean> {
  if (subscription.pendingRemovals.size === 0) return false
  const isLost = lostIn(protocol, subscription, ResourceGroups.set(group, subscription.typeUrl))
  let count = 0
  for (const [name, { due }] of subscription.pendingRemovals) {
    if (++count % Steps.atOnce === 0) yield
    if (due === Number.POSITIVE_INFINITY && isLost(name)) return true
  }
  return false
}

/**
 * Whether a resource is removed as of a state, and exists again in a newer one.
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
  const isLost = lostIn(protocol, subscription, set)
  const isLostLater = lostIn(protocol, subscription, newerSet)
  let count = 0
  for (const name of subscription.pendingRemovals.keys()) {
    if (++count % Steps.atOnce === 0) yield
    if (isLost(name) && !isLostLater(name)) return true
  }
  return false
}

/**
 * Sets the due time of the removals that {@link isUntimed} finds.
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
  const isLost = lostIn(protocol, subscription, ResourceGroups.set(group, subscription.typeUrl))
  const pendingRemovals = new Map<string, Subscriptions.PendingRemoval>()
  let count = 0
  for (const [name, each] of subscription.pendingRemovals) {
    if (++count % Steps.atOnce === 0) yield
    const isTimed = each.due !== Number.POSITIVE_INFINITY || !isLost(name)
    pendingRemovals.set(name, isTimed ? each : { resource: each.resource, since: each.since, due })
  }
  const next = Subscriptions.draft(subscription)
  next.pendingRemovals = pendingRemovals
  return next
}

/**
 * The next due time of a removal, in milliseconds; Infinity if there is none.
 *
 * @since 0.1.0
 */
export const nextRemovalAt = ({ pendingRemovals }: Subscription, now: number): number => {
  let next = Number.POSITIVE_INFINITY
  for (const { due } of pendingRemovals.values()) if (due > now) next = Math.min(next, due)
  return next
}
