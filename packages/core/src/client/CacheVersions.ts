/**
 * What a client says it holds when it opens an incremental stream.
 *
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import type { ClientCache, TypeCache } from "./CachedType.js"
import { collectionOf, isUnusable, typeOf } from "./CachedType.js"
import type { Policy } from "./CacheUpdate.js"

/**
 * Placeholder version in `initial_resource_versions`: for a wildcard resource that came from another server, or that has an
 * error. No server uses it, so the server sends the resource or removes it.
 *
 * @since 0.1.0
 */
export const unknownVersion = "effect-xds: unknown version"

/**
 * Name → version for `initial_resource_versions` in the first request of an incremental stream to a server.
 *
 * ★ Left out: versions of another server, which may mean other content there, and resources with an error, which would not be
 * sent again, so the error would stay. If such a resource was requested by name, it is omitted and the server sends it. If only
 * the wildcard covers it, it is listed with a placeholder version. ★ Otherwise the server would not report its removal. So are
 * members of collections that were rejected or have an error, and are not held.
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
  for (const [name, entry] of type.entries) {
    const { held, status, watchers } = entry
    if (held === undefined) {
      const isMember = HashSet.size(watchers) === 0 && isUnusable(entry) && collectionOf(type, name) !== undefined
      if (isMember && isServed(name)) found.set(name, unknownVersion)
      continue
    }
    // The server does not have what it removed, even if a copy is still in use.
    if (status === "DoesNotExist" || !isServed(name)) continue
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
  Authority.isInWildcard(name) || collectionOf(type, name) !== undefined
