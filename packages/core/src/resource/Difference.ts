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
 * What a difference says of some names. `removed`: at least those of these names, and of the names that they led to.
 *
 * @since 0.1.0
 */
export type OfNames = Pick<Difference, "touched" | "removed" | "domains">

/**
 * Whether the resource of a requested name may have changed.
 *
 * @since 0.1.0
 */
export const concerns = ({ domains, touched }: OfNames, name: string): boolean =>
  touched.has(name) || domains.some((domain) => VirtualHostDiscovery.matches(domain, name))

/**
 * The difference since a cursor: from the log, in time proportional to the changes; or by comparing contents, if the log does
 * not reach back that far. Computed once per pair and shared. A resource that changed and changed back is not in it.
 *
 * @since 0.1.0
 */
export const of = (self: ResourceSet, since: Cursor): Difference => {
  if (isSame(self.cursor, since)) return none
  return crossing(self, since).difference.toEnd()
}

/**
 * Whether the difference since a cursor takes no time: it is known or small.
 *
 * @since 0.1.0
 */
export const isNear = (self: ResourceSet, since: Cursor): boolean =>
  isSame(self.cursor, since) ||
  (ChangeLog.lengthSince(self, since, Steps.atOnce) ?? Steps.atOnce) < Steps.atOnce ||
  self.computed.known(since)?.difference.value !== undefined

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
  const see = (name: string, held: string | undefined, before: Resource | undefined) => {
    const hash = Hash.string(name)
    const now = self.resources.getHash(name, hash)
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
      // What was there at the cursor, which need not be asked for it.
      see(name, before?.fingerprint, before)
      if (++count % Steps.atOnce === 0) yield
    }
  } else {
    for (const [name, held] of since.fingerprints) {
      if (!self.resources.has(name)) see(name, held, Cursors.resourceAt(since, name))
      if (++count % Steps.atOnce === 0) yield
    }
    for (const name of self.resources.keys()) {
      see(name, since.fingerprints.get(name), undefined)
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

/**
 * Whether the difference since a cursor takes looking at more than so many names. Never with wildcard domains: they concern hosts
 * that they do not name.
 *
 * @since 0.1.0
 */
export const isLonger = (self: ResourceSet, since: Cursor, names: number): boolean =>
  HashMap.isEmpty(self.cursor.domains) &&
  HashMap.isEmpty(since.domains) &&
  (ChangeLog.lengthSince(self, since, names + 1) ?? Number.POSITIVE_INFINITY) > names

/**
 * What {@link of} says of some names, if {@link isLonger} holds for them. ★ It looks at nothing but these names, so a client that
 * subscribes to a few costs no more the further it is behind, and a server that fell behind catches up. Where that would be dearer
 * for many clients, it is the difference, which they share. Few names take no time.
 *
 * @since 0.1.0
 */
export const ofNames = function* (
  self: ResourceSet,
  since: Cursor,
  names: { readonly size: number; readonly keys: () => Iterable<string> }
): Steps.Steps<OfNames> {
  if (isSame(self.cursor, since)) return none
  const found = crossing(self, since)
  if (found.difference.value !== undefined) return found.difference.value
  return names.size > Steps.atOnce && found.pays(names.size, () => lengthOf(self, since))
    ? yield* inSteps(self, since)
    : yield* compareNames(self, since, names.keys())
}

/**
 * {@link ofNames} of few names, at most `Steps.atOnce`, at once.
 *
 * @since 0.1.0
 */
export const ofFewNames = (self: ResourceSet, since: Cursor, names: Iterable<string>): OfNames => {
  if (isSame(self.cursor, since)) return none
  const known = self.computed.known(since)?.difference.value
  if (known !== undefined) return known
  const compared = new NamesComparison(self, since)
  for (const name of names) compared.see(name)
  return compared.end(compared.lost === undefined ? none.removed : Steps.toEnd(lastOf(self, since, compared.lost)))
}

/** Number of names that the difference since a cursor looks at. */
const lengthOf = (self: ResourceSet, since: Cursor): number =>
  ChangeLog.lengthSince(self, since, Number.POSITIVE_INFINITY) ?? self.resources.size + since.fingerprints.size

/** What became of names since a cursor, one by one. */
class NamesComparison {
  readonly #touched = new Map<string, number>()
  /** Those that the set has lost. */
  lost: Set<string> | undefined

  constructor(
    private readonly self: ResourceSet,
    private readonly since: Cursor
  ) {}

  see(name: string): void {
    const { self, since } = this
    const hash = Hash.string(name)
    const isNow = this.#leadsToOther(self.aliases, name, hash)
    const wasThen = this.#leadsToOther(since.aliases, name, hash)
    if (this.#isOther(name, hash) || isNow || wasThen) this.#touched.set(name, hash)
  }

  end(removed: OfNames["removed"]): OfNames {
    return { touched: this.#touched, removed, domains: noDomains }
  }

  #isOther(name: string, hash: number): boolean {
    const now = this.self.resources.getHash(name, hash)
    const held = this.since.fingerprints.getHash(name, hash)
    if (now === undefined && held !== undefined) (this.lost ??= new Set()).add(name)
    return held !== now?.fingerprint
  }

  #leadsToOther(aliases: Cursor["aliases"], alias: string, hash: number): boolean {
    if (HashMap.isEmpty(aliases)) return false
    const name = Option.getOrUndefined(HashMap.getHash(aliases, alias, hash))
    return name !== undefined && this.#isOther(name, Hash.string(name))
  }
}

const compareNames = function* (self: ResourceSet, since: Cursor, names: Iterable<string>): Steps.Steps<OfNames> {
  const compared = new NamesComparison(self, since)
  let count = 0
  for (const name of names) {
    compared.see(name)
    if (++count % Steps.atOnce === 0) yield
  }
  return compared.end(compared.lost === undefined ? none.removed : yield* lastOf(self, since, compared.lost))
}

/** Names that a set has lost since a cursor, with their resources then. */
const lastOf = function* (
  self: ResourceSet,
  since: Cursor,
  lost: ReadonlySet<string>
): Steps.Steps<Difference["removed"]> {
  const found = new Map<string, Resource | undefined>()
  let count = 0
  const entries = ChangeLog.changesSince(self, since)
  if (entries === undefined) {
    for (const name of lost) found.set(name, Cursors.resourceAt(since, name))
    return found
  }
  for (const { before } of entries) {
    for (const [name, resource] of before) {
      if (lost.has(name) && !found.has(name)) found.set(name, resource)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  return found
}
