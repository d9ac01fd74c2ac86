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
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { ClientCache, Entry, Notice, Result, Step, TypeCache } from "./CachedType.js"
import {
  CacheDraft,
  collectionOf,
  countsOf,
  hasMembers,
  inOrder,
  isBrought,
  isCached,
  isGone,
  noNotices,
  put,
  requested,
  resultOf,
  typeOf,
  updatedOf,
  watchersOf
} from "./CachedType.js"
import type { Policy } from "./CacheUpdate.js"
import { resultOfAll, useOf } from "./CacheUpdate.js"
import * as Ownerships from "./Ownership.js"
import * as Retentions from "./Retention.js"
import type { Placed, View } from "./Validation.js"
import * as Validations from "./Validation.js"

export type { ClientCache, Entry, Failure, Held, Notice, Result, Status } from "./CachedType.js"
export { isCached } from "./CachedType.js"
export type { Policy } from "./CacheUpdate.js"
export { apply } from "./CacheUpdate.js"

const never = Number.POSITIVE_INFINITY
const { NOT_FOUND, UNAVAILABLE } = StatusCode.codes

/**
 * Placeholder version in `initial_resource_versions`: for a wildcard resource that came from another server, or that has an
 * error. No server uses it, so the server sends the resource or removes it.
 */
const unknownVersion = "effect-xds: unknown version"

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
  Option.getOrUndefined(HashMap.get(typeOf(self, typeUrl).entries, name))

/**
 * The resources in use, for the validation of a response.
 *
 * @since 0.1.0
 */
export const inUse = (
  self: ClientCache,
  typeUrl: string,
  server: string
): Pick<View, "named" | "placed" | "ownership"> => {
  const { entries, order, ownership, revision } = typeOf(self, typeUrl)
  const places = order.server === server ? order.places : []
  // Fast path: as long as nothing has changed, the last response's order has all resources.
  const isCurrent = order.server === server && order.revision === revision
  let byName: Map<string, Placed> | undefined
  const look = (name: string): Placed | undefined => {
    const use = useOf(HashMap.get(entries, name), server)
    return use === undefined ? undefined : Validations.place(name, use)
  }
  return {
    ownership,
    named: (name) => {
      if (!isCurrent) return look(name)
      byName ??= new Map(places.map((place) => [place.name, place]))
      return byName.get(name) ?? look(name)
    },
    placed: (index) => {
      const place = places[index]
      return place === undefined || isCurrent ? place : look(place.name)
    }
  }
}

/**
 * Gives keys of a type to an owner beside its resources, which are rejected if they claim one. It gives up all others.
 *
 * @since 0.1.0
 */
export const own = (self: ClientCache, typeUrl: string, owner: string, keys: ReadonlyArray<string>): ClientCache => {
  const type = typeOf(self, typeUrl)
  return put(self, typeUrl, { ...type, ownership: Ownerships.withOther(type.ownership, owner, keys) })
}

/**
 * Number of known resources of a type, with or without content.
 *
 * @since 0.1.0
 */
export const size = (self: ClientCache, typeUrl: string): number => HashMap.size(typeOf(self, typeUrl).entries)

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
 * The types with a present or former watch.
 *
 * @since 0.1.0
 */
export const typeUrls = (self: ClientCache): Iterable<string> => self.types.keys()

/**
 * Whether a resource is retained: it has no watcher any more, by name or `*`, but is kept for its stream.
 *
 * @since 0.1.0
 */
export const isRetained = (self: ClientCache, typeUrl: string, name: string): boolean => {
  const type = typeOf(self, typeUrl)
  if (type.retained.size === 0) return false
  if (Retentions.has(type.retained, name)) return true
  const entry = HashMap.get(type.entries, name)
  return (
    Option.isSome(entry) &&
    HashSet.size(entry.value.watchers) === 0 &&
    ((Retentions.has(type.retained, "*") && Authority.isCovered(name)) || isOfRetained(type, name))
  )
}

/** Whether the collection of a resource is retained, and not watched. */
const isOfRetained = ({ collections, retained }: TypeCache, name: string): boolean => {
  const glob = collections && retained.size > 0 ? Collection.of(name) : undefined
  return glob !== undefined && Retentions.has(retained, glob)
}

/**
 * Whether the collection of a resource is retained.
 *
 * @since 0.1.0
 */
export const isOfRetainedCollection = (self: ClientCache, typeUrl: string, name: string): boolean =>
  isOfRetained(typeOf(self, typeUrl), name)

/**
 * Whether the client holds a resource of the type, or of a collection.
 *
 * @since 0.1.0
 */
export const isHolding = (self: ClientCache, typeUrl: string, glob = "*"): boolean => {
  const { entries, held } = typeOf(self, typeUrl)
  return held > 0 && (glob === "*" || hasMembers(entries, glob))
}

/** ★ The results that a late watcher gets at once: the resource, then its error. */
const presentOf = (entry: Entry): ReadonlyArray<Result> => [
  ...(entry.held === undefined ? [] : [updatedOf(entry.held)]),
  ...(entry.failure === undefined ? [] : [resultOf(entry, entry.failure.error)])
]

/**
 * Starts a watch of a resource, or with `*` of the type. A late watcher gets the known state at once.
 *
 * @since 0.1.0
 */
export const watch = (self: ClientCache, typeUrl: string, name: string, watcher: number): Step => {
  const type = typeOf(self, typeUrl)
  const tell = (of: string, entry: Entry): ReadonlyArray<Notice> =>
    presentOf(entry).map((result) => ({ typeUrl, name: of, watchers: [watcher], result }))
  if (name === "*") {
    const watchers = HashSet.add(type.watchers, watcher)
    const next = put(self, typeUrl, { ...type, watchers, retained: Retentions.withoutName(type.retained, name) })
    const { failure } = type
    const whole: ReadonlyArray<Notice> =
      failure === undefined
        ? noNotices
        : [{ typeUrl, name, watchers: [watcher], result: resultOfAll(type.held, failure.error) }]
    const each = Array.from(type.entries).flatMap(([of, entry]) => (Authority.isCovered(of) ? tell(of, entry) : []))
    return [next, [...each, ...whole]]
  }
  const entry = Option.getOrElse(HashMap.get(type.entries, name), () => requested)
  const watched = { ...entry, watchers: HashSet.add(entry.watchers, watcher) }
  const retained = Retentions.withoutName(type.retained, name)
  if (!Collection.isGlob(name)) {
    const entries = HashMap.set(type.entries, name, watched)
    return [put(self, typeUrl, { ...type, entries, retained }), tell(name, entry)]
  }
  // A collection that is retained was answered.
  const isAnswered = Retentions.has(type.retained, name) && hasMembers(type.entries, name)
  const answered: Entry = isAnswered ? { ...watched, status: "Acked" } : watched
  const entries = HashMap.set(type.entries, name, answered)
  const members = Array.from(type.entries).filter(([of]) => Collection.of(of) === name)
  const told = members.flatMap(([of, each]) => tell(of, each))
  const whole = tell(name, entry).map((notice) =>
    entry.failure !== undefined && members.some(([, { held }]) => held !== undefined)
      ? { ...notice, result: { _tag: "AmbientError", error: entry.failure.error } as const }
      : notice
  )
  return [put(self, typeUrl, { ...type, entries, retained, collections: true }), [...told, ...whole]]
}

/**
 * Ends a watch. After the last one of a name its resource is dropped. With a wildcard watcher it stays, because the server
 * decides about it, unless it never came. After the last wildcard watch, resources that nobody watches by name are dropped.
 *
 * ★ State of the world: a server ignores a request that crosses a response. So if a name is unsubscribed and soon subscribed
 * again, the server may never see the gap, and will not send the resource again. Therefore the resource is retained until the
 * server has certainly read the request.
 *
 * @param stream the stream that may still bring the resource, which is retained for it; `undefined`: nothing is retained
 * @since 0.1.0
 */
export const unwatch = (
  self: ClientCache,
  typeUrl: string,
  name: string,
  watcher: number,
  stream: string | undefined
): Step => {
  const type = typeOf(self, typeUrl)
  if (name === "*") {
    const watchers = HashSet.remove(type.watchers, watcher)
    if (HashSet.size(watchers) > 0) return [put(self, typeUrl, { ...type, watchers }), noNotices]
    const next = { ...type, watchers, failure: undefined }
    const after =
      stream === undefined ? onlyKept(next) : { ...next, retained: Retentions.withName(type.retained, stream, "*") }
    return [put(self, typeUrl, after), noNotices]
  }
  if (Collection.isGlob(name)) return [leave(self, typeUrl, name, watcher, stream), noNotices]
  const changes = new CacheDraft(self, typeUrl, type)
  const entry = changes.get(name)
  if (entry === undefined) return [self, noNotices]
  const next = { ...entry, watchers: HashSet.remove(entry.watchers, watcher) }
  const isLast = HashSet.size(next.watchers) === 0
  const isEverythingWatched = isBrought(type, name)
  if (isLast && (!isEverythingWatched || entry.held === undefined)) {
    const isKept =
      stream !== undefined && !isEverythingWatched && Retentions.count(type.retained) < Retentions.maxRetained
    changes.set(name, isKept && entry.status !== "DoesNotExist" ? next : { ...next, held: undefined })
    if (isKept) {
      const [cache] = changes.end()
      const kept = typeOf(cache, typeUrl)
      return [put(cache, typeUrl, { ...kept, retained: Retentions.withName(kept.retained, stream, name) }), noNotices]
    }
  } else if (isLast && entry.failure !== undefined && isGone(entry.status, entry.failure)) {
    // Only named watchers kept a removed resource in use.
    changes.fail(name, next, entry.status, entry.failure, true)
  } else {
    changes.set(name, next)
  }
  return changes.end()
}

/** Ends the watch of a collection. After the last one, members that nobody watches by name are dropped, or retained. */
const leave = (
  self: ClientCache,
  typeUrl: string,
  glob: string,
  watcher: number,
  stream: string | undefined
): ClientCache => {
  const type = typeOf(self, typeUrl)
  const entry = get(self, typeUrl, glob)
  if (entry === undefined) return self
  const watchers = HashSet.remove(entry.watchers, watcher)
  if (HashSet.size(watchers) > 0)
    return put(self, typeUrl, { ...type, entries: HashMap.set(type.entries, glob, { ...entry, watchers }) })
  const isKept = stream !== undefined && Retentions.count(type.retained) < Retentions.maxRetained
  const retained = isKept ? Retentions.withName(type.retained, stream, glob) : type.retained
  return put(self, typeUrl, onlyKept({ ...type, entries: HashMap.remove(type.entries, glob), retained }))
}

/**
 * Drops one retained resource: its server will send it again.
 *
 * @since 0.1.0
 */
export const dropRetained = (self: ClientCache, typeUrl: string, name: string): ClientCache => {
  if (!isRetained(self, typeUrl, name)) return self
  const type = typeOf(self, typeUrl)
  if (Collection.isGlob(name)) {
    return put(self, typeUrl, onlyKept({ ...type, retained: Retentions.withoutName(type.retained, name) }))
  }
  const entry = get(self, typeUrl, name)
  const [held, rejected] = countsOf(entry)
  return put(self, typeUrl, {
    ...type,
    ownership: Ownerships.replace(type.ownership, name, entry?.held, undefined),
    entries: HashMap.remove(type.entries, name),
    held: type.held - held,
    rejected: type.rejected - rejected,
    retained: Retentions.withoutName(type.retained, name)
  })
}

/**
 * Drops the retained resources of a stream: its server has read the request, or the stream is over. ★ Those of other streams
 * stay.
 *
 * @since 0.1.0
 */
export const dropRetainedOf = (self: ClientCache, typeUrl: string, stream: string): ClientCache => {
  const type = typeOf(self, typeUrl)
  if (!type.retained.has(stream)) return self
  const retained = new Map(type.retained)
  retained.delete(stream)
  return put(self, typeUrl, onlyKept({ ...type, retained }))
}

/** The type without resources that nobody watches and that are not retained. */
const onlyKept = (type: TypeCache): TypeCache => {
  const isAny = HashSet.size(type.watchers) > 0 || Retentions.has(type.retained, "*")
  const entries = HashMap.filter(
    type.entries,
    (entry, name) =>
      HashSet.size(entry.watchers) > 0 ||
      (isAny && Authority.isCovered(name)) ||
      Retentions.has(type.retained, name) ||
      collectionOf(type, name) !== undefined ||
      isOfRetained(type, name)
  )
  if (HashMap.size(entries) === HashMap.size(type.entries)) return type
  let [held, rejected] = [0, 0]
  let ownership: Ownerships.Ownership = { ...Ownerships.none, others: type.ownership.others }
  for (const [name, entry] of entries) {
    const counts = countsOf(entry)
    held += counts[0]
    rejected += counts[1]
    ownership = Ownerships.replace(ownership, name, undefined, entry.held)
  }
  return { ...type, entries, held, rejected, ownership }
}

/**
 * Sets the end of retention of a stream, after a request was written to its server.
 *
 * @param until milliseconds
 * @since 0.1.0
 */
export const retain = (self: ClientCache, typeUrl: string, stream: string, until: number): ClientCache => {
  const type = typeOf(self, typeUrl)
  const retained = type.retained.get(stream)
  if (retained === undefined) return self
  return put(self, typeUrl, { ...type, retained: new Map(type.retained).set(stream, { ...retained, until }) })
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
  const changes = new CacheDraft(self, typeUrl, typeOf(self, typeUrl))
  const message = `${server.name} did not send it within ${server.resourceTimeout} ms`
  const error = { code: isTransient ? UNAVAILABLE : NOT_FOUND, message }
  for (const name of names) {
    const entry = changes.get(name)
    if (entry === undefined || isCached(entry)) continue
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
 * Removes resources whose TTL or retention has ended.
 *
 * @since 0.1.0
 */
export const expire = (self: ClientCache, now: number): Step => {
  let cache = self
  let notices = noNotices
  for (const typeUrl of self.types.keys()) {
    for (const [stream, { until }] of typeOf(cache, typeUrl).retained) {
      if (now >= until) cache = dropRetainedOf(cache, typeUrl, stream)
    }
    const type = typeOf(cache, typeUrl)
    if (now < type.expiresAt) continue
    const changes = new CacheDraft(cache, typeUrl, type)
    let expiresAt = never
    const gone: Array<string> = []
    for (const [name, entry] of type.entries) {
      if (entry.held === undefined || entry.held.expiresAt === never) continue
      if (entry.held.expiresAt > now) {
        expiresAt = Math.min(expiresAt, entry.held.expiresAt)
        continue
      }
      const error = { code: NOT_FOUND, message: `the TTL of ${name} is over and it was not renewed` }
      changes.fail(name, entry, "DoesNotExist", { error, version: "", at: now }, true)
      if (type.collections) gone.push(name)
    }
    changes.removed(gone, now)
    const [next, told] = changes.end(expiresAt)
    cache = next
    notices = [...notices, ...told]
  }
  return [cache, notices]
}

/**
 * Name → version for `initial_resource_versions` in the first request of an incremental stream to a server.
 *
 * ★ Left out: versions of another server, which may mean other content there, and resources with an error, which would not be
 * sent again, so the error would stay. If such a resource was requested by name, it is omitted and the server sends it. If only
 * the wildcard covers it, it is listed with a placeholder version. ★ Otherwise the server would not report its removal.
 *
 * @since 0.1.0
 */
export const versions = (
  self: ClientCache,
  typeUrl: string,
  { isServed, server }: Pick<Policy, "server" | "isServed">
): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const type = typeOf(self, typeUrl)
  for (const [name, { held, status, watchers }] of type.entries) {
    // The server does not have what it removed, even if a copy is still in use.
    if (held === undefined || status === "DoesNotExist" || !isServed(name)) continue
    const isFree = HashSet.size(watchers) === 0
    const isWell = status !== "ReceivedError" && (type.failure === undefined || !isFree)
    if (held.server === server && held.version !== "" && isWell) found.set(held.ownName, held.version)
    else if (isFree && isUnnamed(type, name)) found.set(name, unknownVersion)
  }
  return found
}

/**
 * Whether the client holds resources from another server that only the wildcard covers.
 *
 * @since 0.1.0
 */
export const isHoldingOfOthers = (self: ClientCache, typeUrl: string, server: string): boolean => {
  const type = typeOf(self, typeUrl)
  for (const [name, { held, watchers }] of type.entries) {
    if (held !== undefined && held.server !== server && HashSet.size(watchers) === 0 && isUnnamed(type, name))
      return true
  }
  return false
}

/** Whether only a wildcard or a collection can bring a resource that nobody watches by name. */
const isUnnamed = (type: TypeCache, name: string): boolean =>
  Authority.isCovered(name) || collectionOf(type, name) !== undefined

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

const tellAll = (
  self: ClientCache,
  isServed: (typeUrl: string, name: string) => boolean,
  resultOfEntry: (entry: Entry) => Result | undefined
): ReadonlyArray<Notice> => {
  const notices: Array<Notice> = []
  for (const [typeUrl, type] of self.types) {
    for (const [name, entry] of type.entries) {
      // Watchers of a collection with members are told of those.
      if (!isServed(typeUrl, name) || (type.collections && entry.status === "Acked" && Collection.isGlob(name)))
        continue
      const result = resultOfEntry(entry)
      const watchers = watchersOf(type, name, entry)
      if (result !== undefined && watchers.length > 0) notices.push({ typeUrl, name, watchers, result })
    }
    // Wildcard watchers of a type without entries get the error once, for `*`.
    if (HashSet.size(type.watchers) > 0 && HashMap.isEmpty(type.entries) && isServed(typeUrl, "*")) {
      const result = resultOfEntry(requested)
      if (result !== undefined) notices.push({ typeUrl, name: "*", watchers: inOrder(type.watchers), result })
    }
  }
  return notices
}
