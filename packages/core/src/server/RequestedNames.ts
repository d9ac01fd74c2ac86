/**
 * The names that a subscription asks for: they come and go, a wildcard begins and ends, and those that a response answers are
 * requested no longer.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "How the client specifies what resources to return"
 * @since 0.1.0
 */
import * as Steps from "../Steps.js"
import * as Cursor from "../resource/Cursor.js"
import { HeldNamesDraft } from "./HeldNames.js"
import { forgotten } from "./PendingRemovals.js"
import { type Draft, isWild, hasName, noNameSet, noNames, type Subscription, draft } from "./Subscription.js"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"

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
  const next = new HeldNamesDraft(self.names)
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
  const next = new HeldNamesDraft(self.names)
  for (const name of names) next.delete(name)
  self.names = next.end()
  // Under a wildcard the client is to be told whether that has them: it is no matter whether they are made.
  if (HashMap.size(self.awaited) > 0) self.awaited = HashMap.removeMany(self.awaited, names)
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
  const next = new HeldNamesDraft(self.names)
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
  const fingerprints = new HeldNamesDraft(noNames)
  let count = 0
  for (const [name, fingerprint] of self.names) {
    if (++count % Steps.atOnce === 0) yield
    if (fingerprint !== "") fingerprints.set(Cursor.nameAt(self.cursor, name), fingerprint)
  }
  self.cursor = Cursor.again(self.cursor, fingerprints.end())
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
