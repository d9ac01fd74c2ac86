/**
 * Resources that nobody watches any more, and that are kept for their stream, because it may not send them again.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as NameTrie from "../resource/NameTrie.js"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import type { ClientCache, Entry, TypeCache } from "./CachedType.js"
import { collectionOf, countsOf, put, typeOf } from "./CachedType.js"
import * as Ownerships from "./Ownership.js"
import * as Retentions from "./Retention.js"

/**
 * Whether a resource is retained: it has no watcher any more, by name or `*`, but is kept for its stream.
 *
 * @since 0.1.0
 */
export const isRetained = (self: ClientCache, typeUrl: string, name: string): boolean => {
  const type = typeOf(self, typeUrl)
  if (type.retained.size === 0) return false
  if (Retentions.has(type.retained, name)) return true
  const entry = type.entries.get(name)
  return (
    entry !== undefined &&
    HashSet.size(entry.watchers) === 0 &&
    ((Retentions.has(type.retained, "*") && Authority.isInWildcard(name)) || isOfRetained(type, name))
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
  const entry = type.entries.get(name)
  const [held, rejected] = countsOf(entry)
  return put(self, typeUrl, {
    ...type,
    ownership: Ownerships.replace(type.ownership, name, entry?.held, undefined),
    entries: NameTrie.remove(type.entries, name),
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

/**
 * The type without resources that nobody watches and that are not retained.
 *
 * @since 0.1.0
 */
export const onlyKept = (type: TypeCache): TypeCache => {
  const isAny = HashSet.size(type.watchers) > 0 || Retentions.has(type.retained, "*")
  const isKept = (name: string, entry: Entry): boolean =>
    HashSet.size(entry.watchers) > 0 ||
    (isAny && Authority.isInWildcard(name)) ||
    Retentions.has(type.retained, name) ||
    collectionOf(type, name) !== undefined ||
    isOfRetained(type, name)
  const draft = new NameTrie.NameTrieDraft(type.entries)
  for (const [name, entry] of type.entries) if (!isKept(name, entry)) draft.remove(name)
  const entries = draft.end()
  if (entries === type.entries) return type
  let [held, rejected] = [0, 0]
  let ownership: Ownerships.Ownership = { ...Ownerships.none, claims: type.ownership.claims }
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
