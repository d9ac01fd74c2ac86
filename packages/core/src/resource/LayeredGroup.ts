/**
 * A group whose content is its own resources over those of a base group. Nothing of the base is copied: the result shares the
 * base's maps and differs only by its own resources.
 *
 * - A name in both: the group's own resource is seen. After its removal, the base's is seen again.
 * - A name in one that is an alias in the other: the base's resource is hidden under all its names. So a name always leads to
 *   one resource.
 * - The version of a type is the digest of what is seen. A type without own resources is seen as in the base, with its label.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Steps from "../Steps.js"
import type { Before } from "./Before.js"
import * as ChangeLog from "./ChangeLog.js"
import * as Digest from "./Digest.js"
import type { Resource } from "./Resource.js"
import type { ResourceGroup } from "./ResourceGroup.js"
import * as ResourceGroups from "./ResourceGroup.js"
import type { ResourceSet } from "./ResourceSet.js"
import * as ResourceSets from "./ResourceSet.js"

/**
 * The two groups and the result, `seen`. Immutable.
 *
 * @since 0.1.0
 */
export interface LayeredGroup {
  readonly own: ResourceGroup
  readonly base: ResourceGroup
  readonly seen: ResourceGroup
  /**
   * Type URL → number of names changed since `seen` was last made from the base's maps. Each costs a part of a map that is no
   * longer shared, so this stays below the number of own resources.
   */
  readonly drift: ReadonlyMap<string, number>
}

const noDrift: ReadonlyMap<string, number> = new Map()

/**
 * A group without a base: the start for {@link layering} of a group that is already served.
 *
 * @since 0.1.0
 */
export const plain = (own: ResourceGroup): LayeredGroup => ({
  own,
  base: ResourceGroups.empty,
  seen: own,
  drift: noDrift
})

/**
 * One group over another.
 *
 * @since 0.1.0
 */
export const make = (own: ResourceGroup, base: ResourceGroup): LayeredGroup =>
  Steps.toEnd(layering(undefined, own, base))

/**
 * The result after a change of the own resources, the base or both: in time proportional to the change, if each changed at most
 * once. Equal resources stay as they are.
 *
 * @since 0.1.0
 */
export const change = (self: LayeredGroup, own: ResourceGroup, base: ResourceGroup): LayeredGroup =>
  Steps.toEnd(layering(self, own, base))

/**
 * {@link change} in steps: other work may run at each yield. `undefined`: the group was not served before.
 *
 * @since 0.1.0
 */
export const layering = function* (
  self: LayeredGroup | undefined,
  own: ResourceGroup,
  base: ResourceGroup
): Steps.Steps<LayeredGroup> {
  if (self !== undefined && self.own === own && self.base === base) return self
  const sets = new Map<string, ResourceSet>(self?.seen.sets)
  const drift = new Map<string, number>(self?.drift)
  for (const typeUrl of new Set([...sets.keys(), ...own.sets.keys(), ...base.sets.keys()])) {
    const now: Layers = { own: ResourceGroups.set(own, typeUrl), base: ResourceGroups.set(base, typeUrl) }
    if (self === undefined) {
      sets.set(typeUrl, yield* overlay(now))
      continue
    }
    const before: Seen = {
      own: ResourceGroups.set(self.own, typeUrl),
      base: ResourceGroups.set(self.base, typeUrl),
      seen: ResourceGroups.set(self.seen, typeUrl),
      drift: self.drift.get(typeUrl) ?? 0
    }
    if (before.own === now.own && before.base === now.base) continue
    const next = yield* changing(before, now)
    sets.set(typeUrl, next.seen)
    if (next.drift === 0) drift.delete(typeUrl)
    else drift.set(typeUrl, next.drift)
  }
  // A group without own resources is the base itself.
  const isBase =
    sets.size === base.sets.size && Array.from(sets).every(([typeUrl, set]) => base.sets.get(typeUrl) === set)
  return {
    own,
    base,
    seen: isBase ? base : new ResourceGroups.ResourceGroup(sets),
    drift: drift.size === 0 ? noDrift : drift
  }
}

/** The sets of one type. */
interface Layers {
  readonly own: ResourceSet
  readonly base: ResourceSet
}

interface Seen extends Layers {
  readonly seen: ResourceSet
  readonly drift: number
}

/** The version of the type. */
const versionOf = ({ base, own }: Layers, digest: Digest.Digest): string =>
  ResourceSets.size(own) === 0 ? base.version : Digest.toHex(digest)

/** Whether the own resources use one of a resource's names or aliases. */
const isHidden = (own: ResourceSet, { aliases, name }: Resource): boolean =>
  ResourceSets.isOwned(own, name) || aliases.some((alias) => ResourceSets.isOwned(own, alias))

/** The resource seen under a name. */
const winner = ({ base, own }: Layers, name: string): Resource | undefined => {
  const mine = ResourceSets.get(own, name)
  if (mine !== undefined) return mine
  const shared = ResourceSets.get(base, name)
  return shared === undefined || isHidden(own, shared) ? undefined : shared
}

/** Makes the result from the base's maps, in time proportional to the own resources. */
const overlay = function* (layers: Layers): Steps.Steps<ResourceSet> {
  const { base, own } = layers
  if (ResourceSets.size(own) === 0) return base
  const upsert = new Map<string, Resource>()
  const remove: Array<string> = []
  let looked = 0
  for (const [name, resource] of own.resources) {
    if (++looked % Steps.atOnce === 0) yield
    upsert.set(name, resource)
    for (const hidden of ResourceSets.ownersOf(base, resource)) remove.push(hidden)
  }
  const made = yield* ResourceSets.updating(base, { upsert, remove, own: ResourceSets.size(own) })
  // Cannot fail: no name leads to two resources any more.
  return Either.getOrThrow(made)
}

/** Names under which a set changed, as a set of their own; `undefined` if they are unknown. */
const changedNames = function* (before: ResourceSet, now: ResourceSet): Steps.Steps<Set<string> | undefined> {
  const names = new Set<string>()
  if (before.resources === now.resources) return names
  let looked = 0
  // Only labels changed, of any resource.
  if (before.cursor === now.cursor) {
    for (const name of now.resources.keys()) {
      names.add(name)
      if (++looked % Steps.atOnce === 0) yield
    }
    return names
  }
  const changes = ChangeLog.changesSince(now, before.cursor)
  if (changes === undefined) return undefined
  for (const change of changes) {
    for (const name of change.before.keys()) {
      names.add(name)
      if (++looked % Steps.atOnce === 0) yield
    }
  }
  return names
}

/** Names under which another resource may be seen now; `undefined`: any. */
const affected = function* (
  before: Layers,
  now: Layers
): Steps.Steps<{ readonly names: ReadonlySet<string> | undefined }> {
  const mine = yield* changedNames(before.own, now.own)
  const names = mine && (yield* changedNames(before.base, now.base))
  if (mine === undefined || names === undefined) return { names: undefined }
  let looked = 0
  for (const name of mine) {
    if (++looked % Steps.atOnce === 0) yield
    names.add(name)
    // Resources of the base that it hid or hides.
    for (const each of [ResourceSets.get(before.own, name), ResourceSets.get(now.own, name)]) {
      if (each !== undefined) for (const hidden of ResourceSets.ownersOf(now.base, each)) names.add(hidden)
    }
  }
  return { names }
}

const isSame = (one: Resource | undefined, other: Resource | undefined): boolean =>
  one === other ||
  (one !== undefined && other !== undefined && one.fingerprint === other.fingerprint && one.version === other.version)

const changing = function* (before: Seen, now: Layers): Steps.Steps<Pick<Seen, "seen" | "drift">> {
  const { seen } = before
  // The group had no own resources before, either.
  if (seen === before.base && ResourceSets.size(now.own) === 0) return { seen: now.base, drift: 0 }
  const { names } = yield* affected(before, now)
  const drift = before.drift + (names?.size ?? Number.POSITIVE_INFINITY)
  let looked = 0
  const own = ResourceSets.size(now.own)
  if (names !== undefined && drift < own) {
    const upsert = new Map<string, Resource>()
    const remove: Array<string> = []
    for (const name of names) {
      if (++looked % Steps.atOnce === 0) yield
      const resource = winner(now, name)
      if (resource === undefined) remove.push(name)
      else upsert.set(name, resource)
    }
    const next = yield* ResourceSets.updating(seen, { upsert, remove, own })
    return { seen: Either.getOrThrow(next), drift }
  }
  const content = yield* overlay(now)
  const different = new Map<string, Resource | undefined>()
  const compare = (name: string): void => {
    const old = ResourceSets.get(seen, name)
    const resource = ResourceSets.get(content, name)
    if (!isSame(old, resource)) different.set(name, old)
  }
  for (const name of names ?? seen.resources.keys()) {
    if (++looked % Steps.atOnce === 0) yield
    compare(name)
  }
  if (names === undefined) {
    for (const name of content.resources.keys()) {
      if (++looked % Steps.atOnce === 0) yield
      if (!seen.resources.has(name)) compare(name)
    }
  }
  const log = (yield* isAnyNew(different, content)) ? yield* sharedLog(different, before, now) : noChange
  return { seen: ResourceSets.withContentOf(seen, content, log, versionOf(now, content.digest), own), drift: 0 }
}

const noChange: Before = new Map()

/** Whether any content is new: a new label alone is no change. */
const isAnyNew = function* (different: Before, content: ResourceSet): Steps.Steps<boolean> {
  let looked = 0
  for (const [name, old] of different) {
    if (++looked % Steps.atOnce === 0) yield
    if (old?.fingerprint !== ResourceSets.get(content, name)?.fingerprint) return true
  }
  return false
}

/** The base's log entry if it is equal: a thousand groups over one base then keep one entry. */
const sharedLog = function* (different: Before, before: Layers, now: Layers): Steps.Steps<Before> {
  const changes = ChangeLog.changesSince(now.base, before.base.cursor)
  const shared = changes?.length === 1 ? changes[0]?.before : undefined
  if (shared?.size !== different.size) return different
  let looked = 0
  for (const [name, resource] of different) {
    if (++looked % Steps.atOnce === 0) yield
    if (!shared.has(name) || shared.get(name) !== resource) return different
  }
  return shared
}
