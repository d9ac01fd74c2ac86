/**
 * Difference between a cursor and a {@link ResourceSet}, computed once for all streams that make this crossing.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Hash from "effect/Hash"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Steps from "../Steps.js"
import * as ChangeLog from "./ChangeLog.js"
import { Crossing, type Difference } from "./Crossing.js"
import type { Cursor } from "./Cursor.js"
import * as Cursors from "./Cursor.js"
import { isSame } from "./Cursor.js"
import type { Resource } from "./Resource.js"
import type { ResourceSet } from "./ResourceSet.js"
import * as ResourceSets from "./ResourceSet.js"
import * as ScopeKey from "./ScopeKey.js"
import * as VirtualHostDiscovery from "./VirtualHostDiscovery.js"

export type { Difference } from "./Crossing.js"

const noDomains: ReadonlyArray<string> = []
const noAliases: ReadonlyArray<string> = []
const noneReplaced: ReadonlySet<string> = new Set()
const none: Difference = {
  changed: [],
  removed: new Map(),
  touched: new Map(),
  domains: noDomains,
  replaced: noneReplaced
}

/**
 * Whether the resource of a requested name may have changed.
 *
 * @since 0.1.0
 */
export const concerns = ({ domains, touched }: Difference, name: string): boolean =>
  touched.has(name) || domains.some((domain) => VirtualHostDiscovery.matches(domain, name))

/**
 * The difference since a cursor: from the log, in time proportional to the changes; or by comparing contents, if the log does
 * not reach back that far. Computed once per pair and shared. A resource that changed and changed back is not in it.
 *
 * @since 0.1.0
 */
export const of = (self: ResourceSet, since: Cursor): Difference => {
  if (isSame(self.cursor, since)) return none
  const { difference } = crossing(self, since)
  return difference.value ?? Steps.toEnd(difference.steps())
}

/**
 * Whether the difference since a cursor takes no time: it is known or small.
 *
 * @since 0.1.0
 */
export const isNear = (self: ResourceSet, since: Cursor): boolean => {
  if (isSame(self.cursor, since)) return true
  const steps = self.cursor.revision - since.revision
  const { recent } = self
  const start = recent.length - steps
  const first = recent[start]
  if (first !== undefined && ChangeLog.isFrom(first, since)) {
    let names = 0
    for (let index = start; index < recent.length; index++) names += recent[index]?.before.size ?? 0
    if (names < Steps.atOnce) return true
  }
  return self.computed.known(since)?.difference.value !== undefined
}

/**
 * {@link of} in steps.
 *
 * @since 0.1.0
 */
export const inSteps = function* (self: ResourceSet, since: Cursor): Steps.Steps<Difference> {
  if (isSame(self.cursor, since)) return none
  const found = crossing(self, since)
  const difference = yield* found.difference.steps()
  // Other crossings may have displaced it meanwhile.
  self.computed.keep(found)
  return difference
}

const crossing = (self: ResourceSet, since: Cursor): Crossing => {
  const known = self.computed.known(since)
  if (known !== undefined) return known
  const made = new Crossing(since, new Steps.Once(() => compare(self, since)))
  self.computed.keep(made)
  return made
}

const compare = function* (self: ResourceSet, since: Cursor): Steps.Steps<Difference> {
  let count = 0
  const changed: Array<Resource> = []
  const removed = new Map<string, Resource | undefined>()
  const touched = new Map<string, number>()
  const touch = (name: string) => void touched.set(name, Hash.string(name))
  let replaced: Set<string> | undefined
  const replace = (name: string) => void (replaced ??= new Set()).add(name)
  const see = (name: string, before: Resource | undefined) => {
    const hash = Hash.string(name)
    const now = Option.getOrUndefined(HashMap.getHash(self.resources, name, hash))
    const held = Option.getOrUndefined(HashMap.getHash(since.fingerprints, name, hash))
    if (now === undefined) {
      if (held === undefined) return
      removed.set(name, before)
      if (ResourceSets.isReplaced(self, before ?? { name, aliases: noAliases })) replace(name)
    } else {
      if (held === now.fingerprint) return
      changed.push(now)
      for (const alias of now.aliases) touch(alias)
    }
    touched.set(name, hash)
    if (before !== undefined) for (const alias of before.aliases) touch(alias)
  }
  const entries = ChangeLog.changesSince(self, since)
  if (entries !== undefined) {
    const oldest = new Map<string, Resource | undefined>()
    for (const entry of entries) {
      for (const [name, before] of entry.before) {
        if (!oldest.has(name)) oldest.set(name, before)
        if (++count % Steps.atOnce === 0) yield
      }
    }
    for (const [name, before] of oldest) {
      see(name, before)
      if (++count % Steps.atOnce === 0) yield
    }
  } else {
    for (const name of HashMap.keys(since.fingerprints)) {
      if (!HashMap.has(self.resources, name)) see(name, Cursors.resourceAt(since, name))
      if (++count % Steps.atOnce === 0) yield
    }
    for (const name of HashMap.keys(self.resources)) {
      see(name, undefined)
      if (++count % Steps.atOnce === 0) yield
    }
    for (const [alias, name] of since.aliases) {
      if (!touched.has(name)) continue
      touch(alias)
      if (removed.has(name) && ResourceSets.isOwned(self, alias)) replace(name)
    }
  }
  if (removed.size > 0) {
    const isTaken = yield* ScopeKey.takenBy(self.typeUrl, changed)
    for (const [name, before] of removed) {
      if (before !== undefined && isTaken(before)) replace(name)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  const domains = ResourceType.isOf(self.typeUrl, ResourceType.VirtualHost)
    ? Array.from(touched.keys()).filter(VirtualHostDiscovery.isWildcard)
    : noDomains
  return { changed, removed, touched, domains, replaced: replaced ?? noneReplaced }
}
