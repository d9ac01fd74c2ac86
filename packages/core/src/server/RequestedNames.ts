/**
 * Changes of the names that a subscription requests: subscriptions and unsubscriptions, start and end of a wildcard, and names
 * that a response answers.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "How the client specifies what resources to return"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Cursor from "../resource/Cursor.js"
import * as NameTrie from "../resource/NameTrie.js"
import * as Steps from "../Steps.js"
import { HeldNamesDraft } from "./HeldNames.js"
import { forgotten } from "./PendingRemovals.js"
import {
  type Draft,
  isWild,
  hasName,
  noNameSet,
  type PendingRemoval,
  type Subscription,
  draft
} from "./Subscription.js"
import * as NameSet from "./NameSet.js"
import * as NameTable from "./NameTable.js"

/**
 * Subscribes to names. They are answered even if the client has them.
 *
 * @since 0.1.0
 */
export const addNames = (self: Draft, names: ReadonlyArray<string>): void => {
  if (names.length === 0) return
  if (self.names.size === 0 && self.requested.size === 0) {
    self.names = NameTable.ofNames(names, "")
    self.requested = NameSet.ofTable(self.names)
    return
  }
  const next = new HeldNamesDraft(self.names)
  for (const name of names) next.setNew(name)
  self.names = next.end()
  self.requested = NameSet.addAll(self.requested, names)
}

/**
 * Unsubscribes from names. What was sent under them is forgotten, so that a new subscription gets it again. Under a wildcard,
 * names that are due for another reason stay due.
 *
 * @since 0.1.0
 */
export const removeNames = (self: Draft, names: ReadonlyArray<string>): void => {
  if (names.length === 0) return
  const next = new HeldNamesDraft(self.names)
  for (const name of names) next.delete(name)
  self.names = next.end()
  // Under a wildcard the answer says whether that covers the name. Whether its resource is made on demand does not matter.
  if (HashMap.size(self.onDemand) > 0) self.onDemand = HashMap.removeMany(self.onDemand, names)
  if (isWild(self)) return
  self.requested = NameSet.removeAll(self.requested, names)
}

/**
 * Records what was sent under an alias also under the resource's own name, if that is requested.
 *
 * @since 0.1.0
 */
export const keepAlias = (self: Draft, alias: string): void => {
  const { cursor, names } = self
  if (cursor === undefined || isWild(self)) return
  const own = Cursor.nameAt(cursor, alias)
  const held = names.get(alias) ?? ""
  if (own !== alias && held !== "" && names.get(own) === "") {
    self.names = NameTable.set(names, own, held)
  }
}

/**
 * Records under names what the wildcard sent, as the cursor of that time has it.
 *
 * @since 0.1.0
 */
export const keepHeld = function* (self: Draft, held: Cursor.Cursor, names: Iterable<string>): Steps.Steps<void> {
  const next = new HeldNamesDraft(self.names)
  let count = 0
  for (const name of names) {
    if (++count % Steps.atOnce === 0) yield
    next.set(name, held.fingerprints.get(Cursor.nameAt(held, name)) ?? "")
  }
  self.names = next.end()
}

/**
 * Ends the wildcard. The remaining names keep what the wildcard sent under them.
 *
 * @since 0.1.0
 */
export const dropWildcard = function* (self: Draft): Steps.Steps<void> {
  const held = self.cursor
  if (isWild(self) && held !== undefined) yield* keepHeld(self, held, self.names.keys())
  yield* endWildcard(self)
}

/**
 * The pending removals that are left when the wildcard ends: of subscribed names, and ★ of the resources that the client knows
 * by those. A resource that is none: it exists, but no subscribed name leads to it any more.
 */
const withoutWildcard = function* (
  self: Draft,
  pending: Draft["pendingRemovals"]
): Steps.Steps<Draft["pendingRemovals"]> {
  const known = new Set<string>()
  let count = 0
  for (const [name, { resource }] of pending) {
    if (++count % Steps.atOnce === 0) yield
    if (resource !== undefined && hasName(self, name)) known.add(resource.name)
  }
  const isLeft = ([name, { resource }]: readonly [string, PendingRemoval]) =>
    hasName(self, name) || known.has(name) || resource === undefined
  return new Map(yield* Steps.filter(pending, isLeft))
}

/**
 * {@link dropWildcard}, after {@link keepHeld} was done for every name.
 *
 * @since 0.1.0
 */
export const endWildcard = function* (self: Draft): Steps.Steps<void> {
  if (self.wildcard === "none") return
  if (isWild(self)) self.pendingRemovals = yield* withoutWildcard(self, self.pendingRemovals)
  self.wildcard = "none"
  self.requested = yield* NameSet.addAllInSteps(
    noNameSet,
    yield* Steps.filter(self.requested, (name) => hasName(self, name))
  )
}

/**
 * Starts the wildcard. What was sent under names becomes the cursor, from which removals are found. After a legacy wildcard
 * nothing changes for the client. A repeated `*` requests everything again.
 *
 * @since 0.1.0
 */
export const addWildcard = function* (self: Draft): Steps.Steps<void> {
  const before = self.wildcard
  self.wildcard = "explicit"
  self.sentOpeners = noNameSet
  self.sentOpenersCursor = undefined
  if (before === "legacy" || self.cursor === undefined) return
  self.mustReply = true
  self.resendAll = true
  if (before === "explicit" || !self.wildcardEnabled) {
    // The client may have forgotten resources with pending removals, too: one that comes back is sent.
    self.pendingRemovals = forgotten(self.pendingRemovals)
    return
  }
  const fingerprints = new NameTrie.NameTrieDraft<string>(NameTrie.empty())
  let count = 0
  for (const [name, fingerprint] of self.names) {
    if (++count % Steps.atOnce === 0) yield
    if (fingerprint !== "") fingerprints.set(Cursor.nameAt(self.cursor, name), fingerprint)
  }
  self.cursor = Cursor.again(self.cursor, fingerprints.end())
}

/**
 * Marks names that are sent even if the client quoted them as held.
 *
 * @since 0.1.0
 */
export const resendHeld = (self: Draft, names: Iterable<string>): void => {
  if (self.initial.size === 0) return
  self.resendEvenIfHeld = NameSet.addAll(self.resendEvenIfHeld, names)
}

/**
 * The cost of a name, in names of usual length. Most of it is the hash.
 *
 * @since 0.1.0
 */
export const effort = (name: string): number => 1 + (name.length >>> 7)

/**
 * The subscription without requested names that must not be answered yet.
 *
 * @since 0.1.0
 */
export const notYet = (self: Subscription, names: NameSet.NameSet): Subscription => {
  if (names.size === 0) return self
  const next = draft(self)
  next.requested = NameSet.removeAll(self.requested, names)
  return next
}

/**
 * Splits the requested names: a subscription with about `most` of them, and the rest for later responses.
 *
 * @since 0.1.0
 */
export const inPart = function* (
  self: Subscription,
  most: number
): Steps.Steps<readonly [part: Subscription, rest: NameSet.NameSet]> {
  const part = draft(self)
  const now: Array<string> = []
  let left = most
  for (const name of self.requested) {
    if (left <= 0) break
    left -= effort(name)
    now.push(name)
  }
  const rest = yield* NameSet.removeAllInSteps(self.requested, now)
  part.requested = yield* NameSet.addAllInSteps(noNameSet, now)
  return [part, rest]
}

/**
 * The union of two sets. The smaller one is added to the larger one, which may have a hundred thousand names after each of a
 * hundred responses.
 *
 * @since 0.1.0
 */
export const joined = (one: NameSet.NameSet, other: NameSet.NameSet): NameSet.NameSet => {
  return one.size < other.size ? NameSet.addAll(other, one) : NameSet.addAll(one, other)
}
