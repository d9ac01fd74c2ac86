/**
 * The resources that a client holds, their watchers, sources and failures.
 *
 * An error does not remove a held resource, unless the server has `fail_on_data_errors`: the resource stays in use, and its
 * watchers get an ambient error.
 *
 * @see https://github.com/grpc/proposal/blob/master/A88-xds-data-error-handling.md
 * @see https://github.com/grpc/proposal/blob/master/A40-csds-support.md
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import * as ReceivedResources from "../wire/ReceivedResource.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { ClientCache, Entry, Notice, Result, Step, TypeCache } from "./CachedType.js"
import {
  CacheDraft,
  hasMembers,
  holdsAny,
  inOrder,
  isCached,
  isOfMembers,
  noNotices,
  put,
  requested,
  resultOf,
  typeOf,
  watchersOf
} from "./CachedType.js"
import { dropRetainedOf } from "./CacheRetention.js"
import { useOf } from "./CacheUpdate.js"
import * as Ownerships from "./Ownership.js"
import type { Placed } from "./ResponseOrder.js"
import * as ResponseOrders from "./ResponseOrder.js"
import type { View } from "./Validation.js"

export type { ClientCache, Entry, Failure, Held, Notice, Result, Status } from "./CachedType.js"
export { isCached } from "./CachedType.js"
export { dropRetained, dropRetainedOf, isOfRetainedCollection, isRetained, retain } from "./CacheRetention.js"
export type { Policy } from "./CacheUpdate.js"
export { apply, applyInSteps } from "./CacheUpdate.js"
export { isHoldingOfOthers, versions } from "./CacheVersions.js"
export { unwatch, watch } from "./CacheWatch.js"

const never = Number.POSITIVE_INFINITY
const { NOT_FOUND, UNAVAILABLE } = StatusCode.codes

/**
 * The cache without watches.
 *
 * @since 0.1.0
 */
export const empty: ClientCache = { types: new Map() }

/**
 * The state of a resource; `undefined` if it is unknown.
 *
 * @since 0.1.0
 */
export const get = (self: ClientCache, typeUrl: string, name: string): Entry | undefined =>
  typeOf(self, typeUrl).entries.get(name)

/**
 * The resources in use, for the validation of a response with so many resources.
 *
 * @since 0.1.0
 */
export const inUse = (
  self: ClientCache,
  typeUrl: string,
  server: string,
  size: number
): Pick<View, "named" | "placed" | "unchanged" | "ownership"> => {
  const { entries, order, ownership, revision } = typeOf(self, typeUrl)
  const places = order.server === server ? order.places : ResponseOrders.none.places
  // Fast path: as long as nothing has changed, the last response's order has all resources.
  const isCurrent = order.server === server && order.revision === revision
  // An index of many costs more than to look for a few.
  const isIndexed = isCurrent && ResponseOrders.isLarge(size, places)
  let index: ResponseOrders.PlaceIndex | undefined
  const byName = (): ResponseOrders.PlaceIndex => (index ??= new ResponseOrders.PlaceIndex(places))
  const look = (name: string): Placed | undefined => {
    const use = useOf(entries.get(name), server)
    return use === undefined ? undefined : ResponseOrders.place(name, use)
  }
  return {
    ownership,
    named: (name) => (isIndexed ? byName().named(name) : undefined) ?? look(name),
    placed: (at) => {
      const place = places[at]
      return place === undefined || isCurrent ? place : look(place.name)
    },
    unchanged: (resource, expected, comparison) => {
      if (expected !== undefined && ResponseOrders.isUnchanged(expected, resource, comparison)) return expected
      if (!isIndexed) return undefined
      const hash = ReceivedResources.nameHash(resource)
      // With the name of the one expected it has changed.
      return hash === expected?.hash ? undefined : byName().unchanged(hash, resource, comparison)
    }
  }
}

/**
 * Whether a heartbeat renews a resource. It is one of the version that its server sent last.
 *
 * ★ State of the world: some servers give a heartbeat no version of its own. Then that of the response counts: the last one
 * accepted, also if the resource was unchanged in it, so that it has an older one here.
 *
 * @param own the version of the heartbeat itself
 * @param last the versions of its response and of the last accepted one; `undefined` in incremental
 * @since 0.1.0
 */
export const isRenewed = (
  self: ClientCache,
  typeUrl: string,
  name: string,
  server: string,
  own: string | undefined,
  last: { readonly version: string; readonly accepted: string } | undefined
): boolean => {
  const { held, status } = get(self, typeUrl, name) ?? requested
  if (held?.server !== server) return false
  if (own !== undefined || last === undefined) return held.version === (own ?? "")
  return held.version === last.version || (last.version === last.accepted && status !== "Nacked")
}

/**
 * Gives keys of a type to an owner beside its resources, which are rejected if they have one. The claim gives up all others.
 *
 * @since 0.1.0
 */
export const own = (
  self: ClientCache,
  typeUrl: string,
  claim: number,
  owner: string,
  keys: ReadonlyArray<string>
): ClientCache => {
  const type = typeOf(self, typeUrl)
  return put(self, typeUrl, { ...type, ownership: Ownerships.withClaim(type.ownership, claim, owner, keys) })
}

/**
 * Number of known resources of a type, with or without content.
 *
 * @since 0.1.0
 */
export const size = (self: ClientCache, typeUrl: string): number => typeOf(self, typeUrl).entries.size

/**
 * Whether the type has a wildcard watcher.
 *
 * @since 0.1.0
 */
export const isWildcard = (self: ClientCache, typeUrl: string): boolean =>
  HashSet.size(typeOf(self, typeUrl).watchers) > 0

/**
 * Every resource of a type.
 *
 * @since 0.1.0
 */
export const entries = (self: ClientCache, typeUrl: string): Iterable<readonly [name: string, entry: Entry]> =>
  typeOf(self, typeUrl).entries

/**
 * Number of these entries.
 *
 * @since 0.1.0
 */
export const count = (self: ClientCache, typeUrl: string): number => typeOf(self, typeUrl).entries.size

/**
 * The types with a present or former watch.
 *
 * @since 0.1.0
 */
export const typeUrls = (self: ClientCache): Iterable<string> => self.types.keys()

/**
 * Whether the client holds a resource of a collection, or with `*` one that a wildcard covers.
 *
 * @since 0.1.0
 */
export const isHolding = (self: ClientCache, typeUrl: string, glob = "*"): boolean => {
  const type = typeOf(self, typeUrl)
  return glob === "*" ? holdsAny(type) : type.held > 0 && hasMembers(type.entries, glob)
}

/**
 * Records that requested resources did not come in time.
 *
 * @param isTransient whether a timeout means a slow server, not a missing resource
 * @since 0.1.0
 */
export const timeOut = (
  self: ClientCache,
  typeUrl: string,
  names: ReadonlyArray<string>,
  server: { readonly name: string; readonly resourceTimeout: number },
  isTransient: boolean,
  now: number
): Step => {
  const type = typeOf(self, typeUrl)
  const changes = new CacheDraft(self, typeUrl, type)
  const message = `${server.name} did not send it within ${server.resourceTimeout} ms`
  const error = { code: isTransient ? UNAVAILABLE : NOT_FOUND, message }
  for (const name of names) {
    const entry = changes.get(name)
    if (entry === undefined || isCached(entry)) continue
    // ★ The server had nothing to add to the members that the client says it holds.
    if (Collection.isGlob(name) && changes.hadMembers(name)) {
      changes.cameTo(name)
      continue
    }
    changes.fail(name, entry, isTransient ? "Timeout" : "DoesNotExist", { error, version: "", at: now }, false)
  }
  return changes.end()
}

/**
 * The next time at which a TTL or a retention may end, in milliseconds; Infinity if none.
 *
 * @since 0.1.0
 */
export const deadline = (self: ClientCache): number => {
  let at = never
  for (const { expiresAt, retained } of self.types.values()) {
    at = Math.min(at, expiresAt)
    for (const { until } of retained.values()) at = Math.min(at, until)
  }
  return at
}

/**
 * Removes resources whose TTL or retention has ended. `lost`: the types with a TTL that has.
 *
 * @since 0.1.0
 */
export const expire = (
  self: ClientCache,
  now: number
): readonly [ClientCache, ReadonlyArray<Notice>, lost: ReadonlyArray<string>] => {
  let cache = self
  const lost: Array<string> = []
  let notices = noNotices
  for (const typeUrl of self.types.keys()) {
    for (const [stream, { until }] of typeOf(cache, typeUrl).retained) {
      if (now >= until) cache = dropRetainedOf(cache, typeUrl, stream)
    }
    const type = typeOf(cache, typeUrl)
    if (now < type.expiresAt) continue
    const changes = new CacheDraft(cache, typeUrl, type)
    let expiresAt = never
    let isLost = false
    const gone: Array<string> = []
    for (const [name, entry] of type.entries) {
      if (entry.held === undefined || entry.held.expiresAt === never) continue
      if (entry.held.expiresAt > now) {
        expiresAt = Math.min(expiresAt, entry.held.expiresAt)
        continue
      }
      isLost = true
      const error = { code: NOT_FOUND, message: `the TTL of ${name} is over and it was not renewed` }
      changes.fail(name, entry, "DoesNotExist", { error, version: "", at: now }, true)
      if (type.collections) gone.push(name)
    }
    for (const glob of changes.globsOf(gone)) changes.lessened(glob, now)
    if (isLost) lost.push(typeUrl)
    const [next, told] = changes.end(expiresAt)
    cache = next
    notices = [...notices, ...told]
  }
  return [cache, notices, lost]
}

/**
 * The notices that a server is unreachable, for watchers of the resources that it serves.
 *
 * @since 0.1.0
 */
export const fail = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean,
  error: ErrorDetail
): ReadonlyArray<Notice> =>
  tellAll(self, isServed, (entry) =>
    entry.held === undefined ? { _tag: "Error", error } : { _tag: "AmbientError", error }
  )

/**
 * The notices that a server is reachable again: the ambient errors of {@link fail} end, errors of resources stay.
 *
 * @since 0.1.0
 */
export const restore = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean
): ReadonlyArray<Notice> =>
  tellAll(self, isServed, (entry) => {
    if (entry.failure !== undefined) return resultOf(entry, entry.failure.error)
    return entry.held === undefined ? undefined : { _tag: "Recovered" }
  })

const none: ReadonlySet<string> = new Set()

/** The collections of which a member is held. */
const collectionsInUse = (entries: TypeCache["entries"]): ReadonlySet<string> => {
  const used = new Set<string>()
  for (const [name, { held }] of entries) {
    const glob = held === undefined ? undefined : Collection.of(name)
    if (glob !== undefined) used.add(glob)
  }
  return used
}

const tellAll = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean,
  resultOfEntry: (entry: Entry) => Result | undefined
): ReadonlyArray<Notice> => {
  const notices: Array<Notice> = []
  for (const [typeUrl, type] of self.types) {
    const used = type.collections ? collectionsInUse(type.entries) : none
    let isAnyCovered = false
    for (const [name, entry] of type.entries) {
      isAnyCovered ||= Authority.isInWildcard(name)
      // Watchers of a collection with members are told of those.
      const isOfOthers = type.collections && (used.has(name) || isOfMembers(name, entry))
      if (isOfOthers || !isServed(typeUrl, name)) continue
      const result = resultOfEntry(entry)
      const watchers = watchersOf(type, name, entry)
      if (result !== undefined && watchers.length > 0) notices.push({ typeUrl, name, watchers, result })
    }
    // Wildcard watchers of a type without entries of theirs get the error once, for `*`.
    if (HashSet.size(type.watchers) > 0 && !isAnyCovered && isServed(typeUrl, "*")) {
      const result = resultOfEntry(requested)
      if (result !== undefined) notices.push({ typeUrl, name: "*", watchers: inOrder(type.watchers), result })
    }
  }
  return notices
}
