/**
 * Incremental: what there is under the names that a response answers.
 *
 * @since 0.1.0
 */
import * as Steps from "../Steps.js"
import * as Cursor from "../resource/Cursor.js"
import type * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as AskedAliases from "./AskedAliases.js"
import { mayNotKnow, holds } from "./QuotedVersions.js"
import type { Subscription } from "./Subscription.js"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"

interface Answers {
  readonly included: ReadonlyMap<string, Resource>
  /** What the client has from an earlier stream. */
  readonly held: ReadonlyArray<Resource>
  readonly missing: ReadonlyArray<string>
  /** What the client may hold and must not hold any more. */
  readonly lost: ReadonlyArray<string>
}

const noAnswers: Answers = { included: new Map(), held: [], missing: [], lost: [] }

/**
 * The names that are to be answered ahead of other changes, and those that lead elsewhere in what is sent with them: when it
 * is sent, the change that took these names from it is over, and nothing else would tell.
 *
 * @since 0.1.0
 */
export const entailed = (self: Subscription, set: ResourceSet.ResourceSet): HashSet.HashSet<string> => {
  const { cursor, names } = self
  let { requested } = self
  if (cursor === undefined || HashMap.isEmpty(cursor.aliases) || HashSet.size(requested) === 0) return requested
  for (;;) {
    const sent = new Set(Array.from(requested, (name) => ResourceSet.find(set, name)?.name))
    let next = requested
    for (const name of HashMap.keys(names)) {
      const own = Cursor.nameAt(cursor, name)
      if (own === name || !sent.has(own) || HashSet.has(requested, name)) continue
      if (ResourceSet.find(set, name)?.name !== own) next = HashSet.add(next, name)
    }
    if (next === requested) return requested
    requested = next
  }
}

/**
 * What there is under the names that are to be answered.
 *
 * @since 0.1.0
 */
export const answers = function* (
  self: Subscription,
  requested: HashSet.HashSet<string>,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  heldMore: boolean
): Steps.Steps<Answers> {
  if (HashSet.size(requested) === 0) return noAnswers
  const included = new Map<string, Resource>()
  const held: Array<Resource> = []
  const missing: Array<string> = []
  const lost: Array<string> = []
  const { cursor } = self
  const isUnknown = mayNotKnow(self, requested, set, before, heldMore)
  let count = 0
  for (const name of requested) {
    if (++count % Steps.atOnce === 0) yield
    const resource = ResourceSet.find(set, name)
    // Asked for by an alias: the client may hold it by its own name.
    const own = cursor === undefined ? name : Cursor.nameAt(cursor, name)
    const isHeld = own !== name && Option.exists(HashMap.get(self.names, name), (content) => content !== "")
    const isOwnLost = () => !HashSet.has(requested, own) && AskedAliases.isLost(self, set, own)
    if (resource === undefined) {
      missing.push(name)
      if (own !== name && (isHeld || ResourceSet.get(set, own) === undefined) && isOwnLost()) lost.push(own)
    }
    // Given up under a `*` that is switched off: there is no wildcard that would have it.
    else if (!AskedAliases.isAsked(self, set, resource)) lost.push(name, resource.name)
    else {
      if (isHeld && own !== resource.name && isOwnLost()) lost.push(own)
      if (holds(self, before, name, resource) && !isUnknown(name, resource)) held.push(resource)
      else included.set(resource.name, resource)
    }
  }
  return { included, held, missing, lost }
}

/**
 * The aliases under which a client asked for these resources.
 *
 * @since 0.1.0
 */
export const matchedAliases = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  resources: ReadonlyArray<Resource>
): Steps.Steps<ReadonlyMap<string, ReadonlyArray<string>>> {
  const matched = new Map<string, ReadonlyArray<string>>()
  if (HashMap.isEmpty(self.names)) return matched
  let count = 0
  for (const resource of resources) {
    if (++count % Steps.atOnce === 0) yield
    const aliases = AskedAliases.askedAliases(self, set, resource)
    if (aliases.length > 0) matched.set(resource.name, aliases)
  }
  return matched
}
