/**
 * Names whose resources are made on demand: an answer that is "there is none" waits until that was tried.
 *
 * | event | rule |
 * |---|---|
 * | a request asks for a name that the group does not have | told by `Missing`; its answer waits, for `missingWait` at most |
 * | other names of the request | answered at once: they never wait |
 * | ★ nothing but such names is asked for by the first request of a type | nothing is sent: an empty answer would be one to them |
 * | the group has the resource | answered, whatever is still being done |
 * | `MissingDone`, or the time is over | answered: there is none |
 * | the client was sent something by the name | answered at once: it is to be deleted, and no request waits for it |
 * | it says that it holds something by the name from an earlier stream | it is not told to delete that before the answer |
 * | the client is moved to another group | what that does not have is told by `Missing`; what was not answered yet waits anew |
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Cursor from "../resource/Cursor.js"
import * as ResourceGroup from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import * as Steps from "../Steps.js"
import type { Protocol } from "../wire/Request.js"
import type { Draft, Output, ServerStream } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"

/** Names of a type that wait on one stream: they are looked at in each step. Of more the answers go out at once. */
const mostAwaited = 1_000

const isIn = (protocol: Protocol, set: ResourceSet.ResourceSet, name: string): boolean =>
  (protocol === "Incremental" ? ResourceSet.find(set, name) : ResourceSet.get(set, name)) !== undefined

/**
 * Which names could be made: those that the group does not have, each once.
 *
 * @since 0.1.0
 */
export const missing = function* (
  { group }: Pick<ServerStream, "group">,
  typeUrl: string,
  names: Iterable<string>
): Steps.Steps<ReadonlyArray<string>> {
  const set = group && ResourceGroup.set(group, typeUrl)
  const isHost = typeUrl === ResourceType.VirtualHost.typeUrl
  const found = new Set<string>()
  let count = 0
  for (const name of names) {
    if (++count % Steps.atOnce === 0) yield
    if (set !== undefined && ResourceSet.find(set, name) !== undefined) continue
    // It opens a listener, and is the name of no host.
    if (!isHost || !VirtualHostDiscovery.isOpener(name)) found.add(name)
  }
  return Array.from(found)
}

/** Whether the client was sent something by a name, and was not told that it is gone. */
const isHeld = (self: Subscription, name: string): boolean => {
  const { cursor, names, pendingRemovals } = self
  if (pendingRemovals.has(name)) return true
  if (!Subscriptions.isWild(self)) return Option.exists(HashMap.get(names, name), (content) => content !== "")
  return cursor !== undefined && HashMap.has(cursor.fingerprints, Cursor.nameAt(cursor, name))
}

/**
 * The answers for names that were asked for wait until a time, in milliseconds. For one that waits already it is the earlier time.
 *
 * @since 0.1.0
 */
export const wait = (self: Subscription, names: ReadonlyArray<string>, until: number): Subscription => {
  let awaited = self.awaited
  for (const name of names) {
    if (HashMap.size(awaited) >= mostAwaited) break
    if (!HashSet.has(self.requested, name) || HashMap.has(awaited, name) || isHeld(self, name)) continue
    awaited = HashMap.set(awaited, name, until)
  }
  return withAwaited(self, awaited)
}

const withAwaited = (self: Subscription, awaited: HashMap.HashMap<string, number>): Subscription => {
  if (self.awaited === awaited) return self
  const next = Subscriptions.draft(self)
  next.awaited = awaited
  return next
}

/**
 * The names that are not to be answered yet, and until when, in milliseconds. `undefined`: there are none.
 *
 * @since 0.1.0
 */
export const of = (
  protocol: Protocol,
  { awaited, requested }: Subscription,
  newest: ResourceSet.ResourceSet
): { readonly names: HashSet.HashSet<string>; readonly until: number } | undefined => {
  if (HashMap.size(awaited) === 0) return undefined
  let names = Subscriptions.noNameSet
  let until = Number.POSITIVE_INFINITY
  for (const [name, at] of awaited) {
    if (!HashSet.has(requested, name) || isIn(protocol, newest, name)) continue
    names = HashSet.add(names, name)
    until = Math.min(until, at)
  }
  return HashSet.size(names) === 0 ? undefined : { names, until }
}

/**
 * Those of many names that do not wait for an answer, in a response of what is requested now.
 *
 * @since 0.1.0
 */
export const except = ({ awaited, requested }: Subscription, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  HashMap.size(awaited) === 0
    ? names
    : names.filter((name) => HashSet.has(requested, name) || !HashMap.has(awaited, name))

/**
 * Whether the answer for a name waits.
 *
 * @since 0.1.0
 */
export const isAwaited = (self: ServerStream, typeUrl: string, name: string): boolean => {
  const subscription = find(self, typeUrl)
  return subscription !== undefined && HashMap.has(subscription.awaited, name)
}

/**
 * The subscriptions when the answers for names of a type wait no longer; the same ones if none did.
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
  const left = HashMap.removeMany(known.awaited, names)
  return HashMap.size(left) === HashMap.size(known.awaited)
    ? subscriptions
    : put(subscriptions, withAwaited(known, left))
}

/**
 * Answers whose time is over wait no longer.
 *
 * @since 0.1.0
 */
export const expire = (self: Draft, now: number): void => {
  for (const each of self.subscriptions) {
    if (HashMap.size(each.awaited) === 0) continue
    const left = HashMap.filter(each.awaited, (until) => now < until)
    if (HashMap.size(left) < HashMap.size(each.awaited)) {
      self.subscriptions = put(self.subscriptions, withAwaited(each, left))
    }
  }
}

/**
 * After the client was moved to another group: what of the names it subscribes to that group does not have.
 *
 * @since 0.1.0
 */
export const elsewhere = function* (self: Draft, now: number): Steps.Steps<ReadonlyArray<Output>> {
  const { missingWait } = self.options
  const outputs: Array<Output> = []
  if (missingWait === undefined) return outputs
  for (const each of self.subscriptions) {
    const names = yield* missing(self, each.typeUrl, HashMap.keys(each.names))
    const left = withAwaited(each, Subscriptions.noneAwaited)
    self.subscriptions = put(self.subscriptions, wait(left, names, now + missingWait))
    if (names.length > 0) outputs.push({ _tag: "Missing", typeUrl: each.typeUrl, names })
  }
  return outputs
}
