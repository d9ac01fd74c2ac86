/**
 * Names whose resources may be made on demand: the answer that a resource does not exist waits until this was tried.
 *
 * | event | rule |
 * |---|---|
 * | a request subscribes to a name that the group lacks | `Missing` output; the answer waits, for `missingWait` at most |
 * | other names of the request | answered at once |
 * | ★ the first request of a type has such names only | nothing is sent: an empty response would answer them |
 * | the group gets the resource | answered, even before `MissingDone` |
 * | `MissingDone`, or the wait is over | answered: does not exist |
 * | the client holds a resource under the name | removal at once; no request waits for it |
 * | the client holds one from an earlier stream | its removal waits, too |
 * | ★ it holds virtual hosts that the group lacks, under other names than it asks for | their removal waits as long: the host may lead to one of them |
 * | the client moves to another group | `Missing` for names that this group lacks; unanswered names wait anew |
 * | the group is set, or set again after it was cleared | `Missing` for names that it lacks, except those that wait already |
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Collection from "../protocol/Collection.js"
import * as CollectionIndex from "../resource/CollectionIndex.js"
import * as Cursor from "../resource/Cursor.js"
import * as HeldVersions from "../resource/HeldVersions.js"
import * as ResourceGroup from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import * as Steps from "../Steps.js"
import type { Protocol } from "../wire/Request.js"
import type { Draft, Output, ServerStream } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"

/** Most waiting names of a type on one stream, because each step searches them. Further names are answered at once. */
const mostOnDemand = 1_000

const isIn = (protocol: Protocol, set: ResourceSet.ResourceSet, name: string): boolean =>
  (protocol === "Incremental" ? ResourceSet.find(set, name) : ResourceSet.get(set, name)) !== undefined ||
  (Collection.isGlob(name) && CollectionIndex.isAny(set, name))

/**
 * The names whose resources could be made on demand: those that the group lacks, without duplicates.
 *
 * @since 0.1.0
 */
export const missing = function* (
  { group }: Pick<ServerStream, "group">,
  typeUrl: string,
  names: Iterable<string>
): Steps.Steps<ReadonlyArray<string>> {
  const set = group && ResourceGroup.set(group, typeUrl)
  const isHost = ResourceType.isOf(typeUrl, ResourceType.VirtualHost)
  const found = new Set<string>()
  let count = 0
  for (const name of names) {
    if (++count % Steps.atOnce === 0) yield
    if (set !== undefined && ResourceSet.find(set, name) !== undefined) continue
    if (set !== undefined && Collection.isGlob(name) && HashSet.size(yield* CollectionIndex.membersOf(set, name)) > 0)
      continue
    // An opener is the name of no host.
    if (!isHost || !VirtualHostDiscovery.isOpener(name)) found.add(name)
  }
  return Array.from(found)
}

/**
 * Whether the client was sent a resource under a name, and no removal since.
 *
 * @since 0.1.0
 */
export const isHeld = (self: Subscription, name: string): boolean => {
  const { cursor, names, pendingRemovals } = self
  if (pendingRemovals.has(name)) return true
  if (!Subscriptions.isWild(self)) return (names.get(name) ?? "") !== ""
  return cursor !== undefined && cursor.fingerprints.has(Cursor.nameAt(cursor, name))
}

/**
 * Lets the answers for requested names wait until a time, in milliseconds. A name that waits already keeps its time.
 *
 * @since 0.1.0
 */
export const wait = (self: Subscription, names: ReadonlyArray<string>, until: number): Subscription => {
  let onDemand = self.onDemand
  for (const name of names) {
    if (HashMap.size(onDemand) >= mostOnDemand) break
    if (!self.requested.has(name) || HashMap.has(onDemand, name) || isHeld(self, name)) continue
    onDemand = HashMap.set(onDemand, name, until)
  }
  return withOnDemand(self, onDemand)
}

/**
 * VHDS, the first request of a returning client: the virtual hosts that it quotes, and that the group lacks, wait with the hosts
 * that may be made. It asked for hosts by their domains, so one that is made may be one of these; to be told meanwhile that they
 * are gone would be a 404.
 *
 * @since 0.1.0
 */
export const waitQuoted = function* (
  self: Subscription,
  { group }: Pick<ServerStream, "group">,
  until: number
): Steps.Steps<Subscription> {
  const { cursor, initial, typeUrl } = self
  const isFirst = cursor === undefined && initial.size > 0
  if (!isFirst || group === undefined || !ResourceType.isOf(typeUrl, ResourceType.VirtualHost)) return self
  const set = ResourceGroup.set(group, typeUrl)
  const { others } = yield* HeldVersions.compare(initial, set)
  const names: Array<string> = []
  let count = 0
  for (const [name, version] of others) {
    if (++count % Steps.atOnce === 0) yield
    // ★ Envoy quotes openers and missing hosts without a version; it holds nothing under them.
    if (version === "" || Subscriptions.hasName(self, name) || ResourceSet.find(set, name) !== undefined) continue
    names.push(name)
    if (names.length === mostOnDemand) break
  }
  if (names.length === 0) return self
  const next = Subscriptions.draft(self)
  next.requested = yield* NameSet.addAllInSteps(self.requested, names)
  return wait(next, names, until)
}

const withOnDemand = (self: Subscription, onDemand: HashMap.HashMap<string, number>): Subscription => {
  if (self.onDemand === onDemand) return self
  const next = Subscriptions.draft(self)
  next.onDemand = onDemand
  return next
}

/**
 * The waiting names that still lack a resource, and the end of the first wait, in milliseconds; `undefined` if there are none.
 *
 * @since 0.1.0
 */
export const of = (
  protocol: Protocol,
  { onDemand, requested }: Subscription,
  newest: ResourceSet.ResourceSet
): { readonly names: NameSet.NameSet; readonly until: number } | undefined => {
  if (HashMap.size(onDemand) === 0) return undefined
  const names: Array<string> = []
  let until = Number.POSITIVE_INFINITY
  for (const [name, at] of onDemand) {
    if (!requested.has(name) || isIn(protocol, newest, name)) continue
    names.push(name)
    until = Math.min(until, at)
  }
  return names.length === 0 ? undefined : { names: NameSet.fromIterable(names), until }
}

/**
 * The names that this response may answer: those that do not wait, and those in `requested`.
 *
 * @since 0.1.0
 */
export const except = ({ onDemand, requested }: Subscription, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  HashMap.size(onDemand) === 0 ? names : names.filter((name) => requested.has(name) || !HashMap.has(onDemand, name))

/**
 * Whether the answer for a name waits.
 *
 * @since 0.1.0
 */
export const isPending = (self: ServerStream, typeUrl: string, name: string): boolean => {
  const subscription = find(self, typeUrl)
  return subscription !== undefined && HashMap.has(subscription.onDemand, name)
}

/**
 * The subscriptions after answers for these names stop waiting; unchanged if none did.
 *
 * @since 0.1.0
 */
export const without = (
  subscriptions: ReadonlyArray<Subscription>,
  typeUrl: string,
  names: ReadonlyArray<string>
): ReadonlyArray<Subscription> => {
  const known = subscriptions.find((each) => each.typeUrl === typeUrl)
  if (known === undefined) return subscriptions
  const asked = HashMap.removeMany(known.onDemand, names)
  // What is only quoted waits for no longer than what is asked for.
  const left = HashMap.some(asked, (_, name) => Subscriptions.hasName(known, name)) ? asked : Subscriptions.noneOnDemand
  return HashMap.size(left) === HashMap.size(known.onDemand)
    ? subscriptions
    : put(subscriptions, withOnDemand(known, left))
}

/**
 * Ends the waits whose time is over.
 *
 * @since 0.1.0
 */
export const expire = (self: Draft, now: number): void => {
  for (const each of self.subscriptions) {
    if (HashMap.size(each.onDemand) === 0) continue
    const left = HashMap.filter(each.onDemand, (until) => now < until)
    if (HashMap.size(left) < HashMap.size(each.onDemand)) {
      self.subscriptions = put(self.subscriptions, withOnDemand(each, left))
    }
  }
}

/**
 * After a move to another group, or after the group was set: reports the subscribed names that it lacks, and lets them wait.
 *
 * @param isMoved whether names that wait already are reported, too, and wait anew
 * @since 0.1.0
 */
export const ofGroup = function* (self: Draft, isMoved: boolean, now: number): Steps.Steps<ReadonlyArray<Output>> {
  const { missingWait } = self.options
  const outputs: Array<Output> = []
  if (missingWait === undefined) return outputs
  for (const each of self.subscriptions) {
    const left = isMoved ? withOnDemand(each, Subscriptions.noneOnDemand) : each
    const lacking = yield* missing(self, each.typeUrl, Subscriptions.askedNames(each).keys())
    const names = yield* Steps.filter(lacking, (name) => !HashMap.has(left.onDemand, name))
    self.subscriptions = put(self.subscriptions, wait(left, names, now + missingWait))
    if (names.length > 0) outputs.push({ _tag: "Missing", typeUrl: each.typeUrl, names })
  }
  return outputs
}
