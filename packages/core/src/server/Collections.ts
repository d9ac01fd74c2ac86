/**
 * Glob collections of a subscription. Members are subscribed like names that the client listed: when it subscribes to the
 * collection, and when the group gets a new member. So answers, changes, removals and versions of a returning client need no rules
 * of their own.
 *
 * | event | rule |
 * |---|---|
 * | subscribe to a collection, also again | as if every member was listed |
 * | it has no members | incremental: the collection itself is in `removed_resources` |
 * | a new member | sent |
 * | a member is removed from the group | incremental: in `removed_resources` by its own name |
 * | subscribe to a member by its name | answered, as under a wildcard |
 * | unsubscribe a name that the collection covers | as under a wildcard: the client keeps it, and is answered |
 * | unsubscribe a name that only the collection covers | ignored |
 * | unsubscribe the collection | its members that were not listed by name, too; under a wildcard these are answered |
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP1-xds-transport-next.md "Glob"
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Collection from "../protocol/Collection.js"
import * as CollectionIndex from "../resource/CollectionIndex.js"
import { isSame } from "../resource/Cursor.js"
import * as Difference from "../resource/Difference.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { Request } from "../wire/Request.js"
import { HeldNamesDraft } from "./HeldNames.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import type { Draft, Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"
import * as NameTable from "./NameTable.js"

/**
 * The request with its collections in canonical form; the same request if they are.
 *
 * @since 0.1.0
 */
export const canonical = (request: Request): Request => {
  if (request._tag === "StateOfTheWorld") {
    const resourceNames = canonicalNames(request.resourceNames)
    return resourceNames === request.resourceNames ? request : { ...request, resourceNames }
  }
  const resourceNamesSubscribe = canonicalNames(request.resourceNamesSubscribe)
  const resourceNamesUnsubscribe = canonicalNames(request.resourceNamesUnsubscribe)
  const isCanonical =
    resourceNamesSubscribe === request.resourceNamesSubscribe &&
    resourceNamesUnsubscribe === request.resourceNamesUnsubscribe
  return isCanonical ? request : { ...request, resourceNamesSubscribe, resourceNamesUnsubscribe }
}

const canonicalNames = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.some((name) => Collection.canonical(name) !== name) ? names.map(Collection.canonical) : names

/**
 * Whether a subscribed collection covers a name.
 *
 * @since 0.1.0
 */
export const isMember = ({ collections }: Subscription, name: string): boolean => {
  if (collections === undefined) return false
  const glob = Collection.of(name)
  return glob !== undefined && collections.globs.has(glob)
}

/**
 * Whether the client listed a name.
 *
 * @since 0.1.0
 */
export const isAsked = (self: Subscription, name: string): boolean => Subscriptions.askedNames(self).has(name)

/**
 * Whether a requested name is a collection that has members in a set: those are its answer.
 *
 * @since 0.1.0
 */
export const isAnsweredByMembers = function* (
  { collections }: Subscription,
  set: ResourceSet.ResourceSet,
  name: string
): Steps.Steps<boolean> {
  if (collections === undefined || !collections.globs.has(name)) return false
  return HashSet.size(yield* CollectionIndex.membersOf(set, name)) > 0
}

/**
 * Notes that the client listed names, which are subscribed already. Collections among them need {@link expand}.
 *
 * @since 0.1.0
 */
export const note = (self: Draft, names: ReadonlyArray<string>): void => {
  const globs = names.filter(Collection.isGlob)
  if (globs.length === 0 && self.collections === undefined) return
  const { asked, fresh, globs: known, gone } = self.collections ?? none(self.names)
  self.collections = {
    globs: NameSet.addAll(known, globs),
    asked: NameSet.addAll(NameSet.ofTable(asked), names).table,
    fresh: globs.length === 0 ? fresh : [...fresh, ...globs],
    gone
  }
}

const none = (asked: NameTable.NameTable<unknown>): Subscriptions.Collections => ({
  globs: NameSet.empty,
  asked,
  fresh: [],
  gone: 0
})

/**
 * Notes that the client no longer lists a name. Returns whether a collection covers it: then it stays subscribed, as a member.
 *
 * @since 0.1.0
 */
export const giveUp = (self: Draft, name: string): boolean => {
  const { collections } = self
  if (collections === undefined) return false
  self.collections = { ...collections, asked: NameTable.remove(collections.asked, name) }
  return isMember(self, name)
}

/**
 * Subscribes to the members that the wildcard sent, before it ends: the client keeps them, so their removals must be sent.
 *
 * @since 0.1.0
 */
export const keepMembers = function* (self: Draft): Steps.Steps<void> {
  const { collections, cursor, pendingRemovals } = self
  if (collections === undefined || cursor === undefined || !Subscriptions.isWild(self)) return
  const names = new HeldNamesDraft(self.names)
  for (const held of [cursor.fingerprints.keys(), pendingRemovals.keys()]) {
    for (const name of yield* Steps.filter(held, (each) => isMember(self, each))) names.setNew(name)
  }
  self.names = names.end()
}

/**
 * Unsubscribes from a collection, with those members that were not listed by name. Returns those that a wildcard may have sent.
 *
 * @since 0.1.0
 */
export const leave = function* (self: Draft, glob: string): Steps.Steps<ReadonlyArray<string>> {
  const { collections } = self
  if (collections === undefined) return []
  const isLeft = (name: string) => !collections.asked.has(name) && Collection.of(name) === glob
  const members = yield* Steps.filter(self.names.keys(), isLeft)
  const { cursor } = self
  const isHeld = (name: string) => cursor === undefined || cursor.fingerprints.has(name)
  RequestedNames.removeNames(self, [glob, ...members])
  self.requested = NameSet.remove(self.requested, glob)
  // The client drops what it no longer subscribes to: no removal is needed.
  if (!Subscriptions.isWild(self))
    self.pendingRemovals = yield* PendingRemovals.withoutMany(self.pendingRemovals, members)
  const globs = NameSet.remove(collections.globs, glob)
  self.collections =
    globs.size === 0
      ? undefined
      : {
          ...collections,
          globs,
          asked: NameTable.remove(collections.asked, glob),
          fresh: collections.fresh.filter((each) => each !== glob)
        }
  const left = yield* Steps.filter(members, isHeld)
  // ★ A returning client drops these, too. If they are in the group again, they are sent even if it said that it holds them.
  const quoted: Array<string> = []
  let count = 0
  for (const [name] of self.initial) {
    if (++count % Steps.atOnce === 0) yield
    if (isLeft(name)) quoted.push(name)
  }
  RequestedNames.resendHeld(self, [...quoted, ...left])
  return left
}

/** Subscribes to members. Those of a collection that is not answered yet are its answer. */
const withMembers = function* (self: Subscription, members: Iterable<string>): Steps.Steps<Draft> {
  const { requested, resendEvenIfHeld } = self
  const names = new HeldNamesDraft(self.names)
  const asked: Array<string> = []
  const again: Array<string> = []
  let count = 0
  for (const name of members) {
    if (++count % Steps.atOnce === 0) yield
    const glob = Collection.of(name) ?? ""
    names.setNew(name)
    if (requested.has(glob)) asked.push(name)
    if (resendEvenIfHeld.has(glob)) again.push(name)
  }
  const next = Subscriptions.draft(self)
  next.names = names.end()
  if (asked.length > 0) next.requested = yield* NameSet.addAllInSteps(requested, asked)
  if (again.length > 0) next.resendEvenIfHeld = yield* NameSet.addAllInSteps(resendEvenIfHeld, again)
  return next
}

/**
 * Subscribes to the members of collections that the client just subscribed to.
 *
 * @since 0.1.0
 */
export const expand = function* (self: Subscription, group: ResourceGroup | undefined): Steps.Steps<Subscription> {
  const { collections } = self
  if (group === undefined || collections === undefined || collections.fresh.length === 0) return self
  return yield* expanded(self, collections, ResourceGroups.set(group, self.typeUrl), new Set(collections.fresh))
}

const expanded = function* (
  self: Subscription,
  collections: Subscriptions.Collections,
  set: ResourceSet.ResourceSet,
  globs: ReadonlySet<string>
): Steps.Steps<Subscription> {
  const members: Array<string> = []
  let count = 0
  for (const glob of globs) {
    for (const name of yield* CollectionIndex.membersOf(set, glob)) {
      members.push(name)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  const next = yield* withMembers(self, members)
  next.collections = { ...collections, fresh: [] }
  return next
}

/**
 * The subscription whose collections are all looked up again by {@link expand}.
 *
 * @since 0.1.0
 */
export const renewed = (self: Subscription): Subscription => {
  if (self.collections === undefined) return self
  const next = Subscriptions.draft(self)
  next.collections = { ...self.collections, fresh: Array.from(self.collections.globs) }
  return next
}

/**
 * Subscribes to members that a change of the group brought.
 *
 * @param before `undefined`: the group was not set, or is another one
 * @since 0.1.0
 */
export const follow = function* (
  subscriptions: ReadonlyArray<Subscription>,
  before: ResourceGroup | undefined,
  after: ResourceGroup | undefined
): Steps.Steps<ReadonlyArray<Subscription>> {
  if (after === undefined || !isAny(subscriptions)) return subscriptions
  const followed: Array<Subscription> = []
  for (const each of subscriptions) {
    const { collections, typeUrl } = each
    const set = ResourceGroups.set(after, typeUrl)
    if (collections === undefined) followed.push(each)
    else if (before === undefined) followed.push(yield* expanded(each, collections, set, new Set(collections.globs)))
    else followed.push(yield* changed(each, collections, ResourceGroups.set(before, typeUrl), set))
  }
  return followed
}

/**
 * Whether any collection is subscribed.
 *
 * @since 0.1.0
 */
export const isAny = (subscriptions: ReadonlyArray<Subscription>): boolean =>
  subscriptions.some(({ collections }) => collections !== undefined)

/** Names are freed of removed members when there are more of them than this, and more than there are others. */
const fewGone = 64

const changed = function* (
  self: Subscription,
  collections: Subscriptions.Collections,
  before: ResourceSet.ResourceSet,
  set: ResourceSet.ResourceSet
): Steps.Steps<Subscription> {
  if (isSame(before.cursor, set.cursor)) return self
  const { touched } = yield* Difference.inSteps(set, before.cursor)
  const members: Array<string> = []
  let { gone } = collections
  let count = 0
  for (const name of touched.keys()) {
    if (++count % Steps.atOnce === 0) yield
    if (!isMember(self, name)) continue
    if (ResourceSet.get(set, name) === undefined) gone++
    else members.push(name)
  }
  const next = yield* withMembers(self, members)
  next.collections = { ...collections, gone }
  if (gone > fewGone && 2 * gone > next.names.size) yield* free(next, set)
  // A collection that waits for its answer is looked up in the newest set, which must take no time then.
  if (isAnyOf(next.requested, collections.globs)) yield* CollectionIndex.of(set)
  return next
}

/** Whether a set has a name of another one. */
const isAnyOf = (set: Iterable<string>, others: NameSet.NameSet): boolean => {
  for (const name of set) if (others.has(name)) return true
  return false
}

/** Drops the names of removed members under which the client holds nothing. */
const free = function* (self: Draft, set: ResourceSet.ResourceSet): Steps.Steps<void> {
  const { collections, pendingRemovals, requested } = self
  if (collections === undefined) return
  const next = new HeldNamesDraft(self.names)
  let count = 0
  for (const [name, held] of self.names) {
    if (++count % Steps.atOnce === 0) yield
    if (held !== "" || collections.asked.has(name) || set.resources.has(name)) continue
    if (requested.has(name) || pendingRemovals.has(name)) continue
    next.delete(name)
  }
  self.names = next.end()
  self.collections = { ...collections, gone: 0 }
}
