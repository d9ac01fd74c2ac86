/**
 * The beginning and the end of a watch.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as NameTrie from "../resource/NameTrie.js"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import type { ClientCache, Entry, Notice, Result, Step } from "./CachedType.js"
import {
  CacheDraft,
  countsOf,
  hasMembers,
  isBrought,
  isGone,
  noNotices,
  put,
  requested,
  resultOf,
  typeOf,
  updatedOf
} from "./CachedType.js"
import { onlyKept } from "./CacheRetention.js"
import { resultOfAll } from "./CacheUpdate.js"
import * as Retentions from "./Retention.js"

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
        : [{ typeUrl, name, watchers: [watcher], result: resultOfAll(type, failure.error) }]
    const each = Array.from(type.entries).flatMap(([of, entry]) => (Authority.isInWildcard(of) ? tell(of, entry) : []))
    return [next, [...each, ...whole]]
  }
  const entry = type.entries.get(name) ?? requested
  const watched = { ...entry, watchers: HashSet.add(entry.watchers, watcher) }
  const retained = Retentions.withoutName(type.retained, name)
  if (!Collection.isGlob(name)) {
    const entries = NameTrie.set(type.entries, name, watched)
    return [put(self, typeUrl, { ...type, entries, retained }), tell(name, entry)]
  }
  // A collection that is retained was answered.
  const isAnswered = Retentions.has(type.retained, name) && hasMembers(type.entries, name)
  const answered: Entry = isAnswered ? { ...watched, status: "Acked" } : watched
  const entries = NameTrie.set(type.entries, name, answered)
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
    for (const glob of changes.globsOf([name])) changes.lessened(glob, entry.failure.at)
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
  const entry = type.entries.get(glob)
  if (entry === undefined) return self
  const watchers = HashSet.remove(entry.watchers, watcher)
  if (HashSet.size(watchers) > 0)
    return put(self, typeUrl, { ...type, entries: NameTrie.set(type.entries, glob, { ...entry, watchers }) })
  const isKept = stream !== undefined && Retentions.count(type.retained) < Retentions.maxRetained
  const retained = isKept ? Retentions.withName(type.retained, stream, glob) : type.retained
  const rejected = type.rejected - countsOf(entry)[1]
  return put(self, typeUrl, onlyKept({ ...type, entries: NameTrie.remove(type.entries, glob), rejected, retained }))
}
