/**
 * Incremental: the resources under the names that a response answers.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Cursor from "../resource/Cursor.js"
import * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { AskedAliases } from "./AskedAliases.js"
import * as Collections from "./Collections.js"
import { mayNotKnow, holds } from "./QuotedVersions.js"
import type { Subscription } from "./Subscription.js"
import * as NameSet from "./NameSet.js"

interface Answers {
  /** Each once. */
  readonly included: ReadonlyArray<Resource>
  /** Resources that the client still holds from an earlier stream. */
  readonly held: ReadonlyArray<Resource>
  readonly missing: ReadonlyArray<string>
  /** Names under which the client must no longer hold anything. */
  readonly lost: ReadonlyArray<string>
}

const noAnswers: Answers = { included: [], held: [], missing: [], lost: [] }

/**
 * The names to answer ahead of other changes: the requested ones, and subscribed names that led to a resource in the answer and
 * now lead elsewhere, or the other way round. The answer covers that change of the resource, so nothing else would report these
 * names.
 *
 * @since 0.1.0
 */
export const entailed = function* (self: Subscription, set: ResourceSet.ResourceSet): Steps.Steps<NameSet.NameSet> {
  const { cursor, names } = self
  let { requested } = self
  if (cursor === undefined || requested.size === 0) return requested
  if (HashMap.isEmpty(cursor.aliases) && HashMap.isEmpty(set.aliases)) return requested
  for (;;) {
    const sent = new Set(Array.from(requested, (name) => ResourceSet.find(set, name)?.name))
    const more: Array<string> = []
    let count = 0
    for (const [name, held] of names) {
      if (++count % Steps.atOnce === 0) yield
      const own = Cursor.nameAt(cursor, name)
      if (requested.has(name)) continue
      const now = ResourceSet.find(set, name)?.name
      const isLed = (own !== name && sent.has(own)) || (held !== "" && now !== undefined && sent.has(now))
      if (isLed && now !== own) more.push(name)
    }
    if (more.length === 0) return requested
    requested = NameSet.addAll(requested, more)
  }
}

/**
 * Whether the first response includes the resources of all names, each by its own name.
 *
 * @param included of the {@link answers}
 * @since 0.1.0
 */
export const areAllOwn = (
  { cursor, names, requested }: Subscription,
  set: ResourceSet.ResourceSet,
  included: ReadonlyArray<Resource>
): boolean =>
  cursor === undefined && requested.table === names && included.length === names.size && !ResourceSet.hasOtherNames(set)

/**
 * Looks up the names that are to be answered.
 *
 * @since 0.1.0
 */
export const answers = function* (
  self: Subscription,
  requested: NameSet.NameSet,
  set: ResourceSet.ResourceSet,
  asked: AskedAliases,
  before: HeldVersions.Comparison,
  heldMore: boolean
): Steps.Steps<Answers> {
  if (requested.size === 0) return noAnswers
  const included: Array<Resource> = []
  const held: Array<Resource> = []
  const missing: Array<string> = []
  const lost: Array<string> = []
  const { cursor } = self
  const isUnknown = mayNotKnow(self, requested, set, before, heldMore)
  /** Whether all of them are subscribed to, as before the first response. */
  const areSubscribed = requested.table === self.names
  let count = 0
  for (const name of requested) {
    if (++count % Steps.atOnce === 0) yield
    const resource = ResourceSet.find(set, name)
    // Requested by an alias: the client may hold it by its own name.
    const own = cursor === undefined ? name : Cursor.nameAt(cursor, name)
    // Before the first response nothing is.
    const isHeld = cursor !== undefined && (self.names.get(name) ?? "") !== ""
    if (own !== name && own !== resource?.name) yield* asked.ready(ResourceSet.get(set, own))
    const isOwnLost = () => !requested.has(own) && asked.isLost(own)
    if (resource === undefined) {
      if (yield* Collections.isAnsweredByMembers(self, set, name)) continue
      missing.push(name)
      if (own !== name && (isHeld || ResourceSet.get(set, own) === undefined) && isOwnLost()) lost.push(own)
    }
    // Unsubscribed under a `*` that is switched off: no wildcard covers it.
    else if (!(areSubscribed || self.names.has(name)) && !asked.isAsked(resource)) lost.push(name, resource.name)
    else {
      // ★ The client may hold the earlier resource of this name, which is another's alias now.
      if (isHeld && own !== resource.name && (own === name || isOwnLost())) lost.push(own)
      if (before !== HeldVersions.none && holds(self, before, name, resource) && !isUnknown(name, resource))
        held.push(resource)
      else included.push(resource)
    }
  }
  // Several names may lead to one resource.
  return { included: ResourceSet.hasOtherNames(set) ? Array.from(new Set(included)) : included, held, missing, lost }
}

/**
 * The aliases by which a client requested these resources.
 *
 * @since 0.1.0
 */
export const matchedAliases = function* (
  { names }: Subscription,
  asked: AskedAliases,
  resources: ReadonlyArray<Resource>
): Steps.Steps<ReadonlyMap<string, ReadonlyArray<string>>> {
  const matched = new Map<string, ReadonlyArray<string>>()
  if (names.size === 0) return matched
  let count = 0
  for (const resource of resources) {
    if (++count % Steps.atOnce === 0) yield
    if (asked.isLong(resource)) yield* asked.prepare()
    const aliases = asked.of(resource)
    if (aliases.length > 0) matched.set(resource.name, aliases)
  }
  return matched
}
