/**
 * The names in the reference model: collections, and the resource that a requested name leads to.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import { VirtualHost } from "@effect-xds/proto/ResourceType"

/** Rank of a domain for a host: longer suffixes first, then longer prefixes, then `*`; 0 if it does not match. */
const rank = (domain: string, asked: string): number => {
  const start = asked.lastIndexOf("/") + 1
  if (start === 0 || start === asked.length || domain.lastIndexOf("/") + 1 !== start) return 0
  if (domain.slice(0, start) !== asked.slice(0, start)) return 0
  const [pattern, host] = [domain.slice(start), asked.slice(start)]
  if (pattern === "*") return 1
  if (pattern.split("*").length !== 2 || host.length < pattern.length) return 0
  if (pattern.startsWith("*")) return host.endsWith(pattern.slice(1)) ? 2_000 + pattern.length : 0
  return pattern.endsWith("*") && host.startsWith(pattern.slice(0, -1)) ? 1_000 + pattern.length : 0
}

/**
 * The glob collection that has a resource of this name directly below its path, with the same context parameters in any order.
 * Empty for old names.
 *
 * @since 0.1.0
 */
export const collectionOf = (name: string): string => {
  const [path = "", query = ""] = name.split("?")
  if (!path.startsWith("xdstp://") || path.endsWith("/*")) return ""
  return `${path.slice(0, path.lastIndexOf("/") + 1)}*${query === "" ? "" : `?${query.split("&").sort().join("&")}`}`
}

/**
 * Whether a name is a glob collection.
 *
 * @since 0.1.0
 */
export const isCollection = (name: string): boolean => /^xdstp:.*\/\*(\?|$)/.test(name)

/**
 * Whether names have this name, or the collection of which it is a member.
 *
 * @since 0.1.0
 */
export const isNamed = (names: ReadonlySet<string>, name: string): boolean =>
  names.has(name) || names.has(collectionOf(name))

/**
 * Whether a client that asks for one name gets the other: the same, or a member of its collection. `*` covers old names alone.
 *
 * @since 0.1.0
 */
export const covers = (asked: string, name: string): boolean =>
  asked === "*" ? !name.startsWith("xdstp:") : isNamed(new Set([asked]), name)

/**
 * Whether a name stands for many resources.
 *
 * @since 0.1.0
 */
export const isMany = (name: string): boolean => name === "*" || isCollection(name)

/**
 * A resource with the names and aliases that lead to it.
 *
 * @since 0.1.0
 */
export type Named = Pick<Resource, "typeUrl" | "name" | "aliases">

/**
 * The resource that an incremental client requests by a name: by name, by alias, or the virtual host with the best matching
 * domain.
 *
 * @since 0.1.0
 */
export const ledTo = <A extends Named>(resources: ReadonlyArray<A>, typeUrl: string, asked: string): A | undefined => {
  const all = resources.filter((resource) => resource.typeUrl === typeUrl)
  const exact = all.find(({ name }) => name === asked) ?? all.find(({ aliases }) => aliases.includes(asked))
  if (exact !== undefined || typeUrl !== VirtualHost.typeUrl) return exact
  const matches = all.flatMap((resource) =>
    [resource.name, ...resource.aliases].map((domain) => ({ resource, rank: rank(domain, asked) }))
  )
  return matches.filter(({ rank }) => rank > 0).toSorted((one, other) => other.rank - one.rank)[0]?.resource
}
