/**
 * Where a stream is in the history of a {@link ResourceSet}.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Digest from "./Digest.js"
import type { Resource } from "./Resource.js"
import * as VirtualHostDiscovery from "./VirtualHostDiscovery.js"

/**
 * What a stream remembers of the set that it was last brought up to: which contents had which names, but not the contents, unless it
 * goes on with a set that does not know them.
 * Plain data: a cursor that is printed and read again is the same cursor.
 *
 * @since 0.1.0
 */
export interface Cursor {
  /** Number of changes of the set; negative if this is no state of a set. */
  readonly revision: number
  /**
   * Digest of the set's content. `undefined`: this is no state of a set, because the client was sent some resources and not the
   * others, or asked for everything again.
   */
  readonly digest: Digest.Digest | undefined
  /** Name → fingerprint of the content. */
  readonly fingerprints: HashMap.HashMap<string, string>
  /** Alias → name. */
  readonly aliases: HashMap.HashMap<string, string>
  /** Virtual hosts: which names and aliases stand for many hosts. */
  readonly domains: VirtualHostDiscovery.DomainIndex
  /** Whether any of the resources had a TTL. */
  readonly hasTtls: boolean
  /** After a move to a set of another history: the resources of the one before, by name, among them those of `fingerprints`. */
  readonly held?: HashMap.HashMap<string, Resource>
}

/**
 * Whether two cursors are the same state of a set. Revisions of unrelated sets have equal numbers; if the digests are equal,
 * too, so is the content, and nothing tells the two apart.
 *
 * @since 0.1.0
 */
export const isSame = (one: Cursor, other: Cursor): boolean =>
  one === other ||
  (one.revision === other.revision &&
    one.digest !== undefined &&
    other.digest !== undefined &&
    Digest.equals(one.digest, other.digest))

/**
 * Whether whoever is at one cursor needs the same as whoever is at the other: it is the same state, or they hold nothing and ask
 * for everything again.
 *
 * @since 0.1.0
 */
export const isAlike = (one: Cursor, other: Cursor): boolean =>
  isSame(one, other) || (isNothing(one) && isNothing(other) && one.aliases === other.aliases)

const isNothing = ({ fingerprints, revision }: Cursor): boolean => revision < 0 && HashMap.isEmpty(fingerprints)

/**
 * The name of the resource that a client had under a name or alias; the name itself if it had none.
 *
 * @since 0.1.0
 */
export const nameAt = (self: Cursor, nameOrAlias: string): string => {
  const { aliases, domains, fingerprints } = self
  if ((HashMap.isEmpty(aliases) && HashMap.isEmpty(domains)) || HashMap.has(fingerprints, nameOrAlias)) {
    return nameOrAlias
  }
  return leadsTo(aliases, domains, nameOrAlias, (name) => HashMap.has(fingerprints, name)) ?? nameOrAlias
}

/**
 * The name of the resource that has an alias, or a domain that matches best.
 *
 * @since 0.1.0
 */
export const leadsTo = (
  aliases: HashMap.HashMap<string, string>,
  domains: VirtualHostDiscovery.DomainIndex,
  alias: string,
  isName: (name: string) => boolean
): string | undefined =>
  Option.getOrUndefined(HashMap.get(aliases, alias)) ??
  VirtualHostDiscovery.best(domains, alias, (domain) =>
    isName(domain) ? domain : Option.getOrUndefined(HashMap.get(aliases, domain))
  )

/**
 * The cursor of a client that was sent some resources ahead of the other changes of a set, or was told that some names do
 * not exist. Without that, a resource that changes back, or goes, before the rest is sent would leave it with the wrong one.
 *
 * @since 0.1.0
 */
export const ahead = (
  self: Cursor,
  sent: Iterable<Resource>,
  missing: Iterable<string>,
  /** The aliases by which they were asked for, by name. */
  asked: ReadonlyMap<string, ReadonlyArray<string>> = new Map()
): Cursor => {
  let { aliases, fingerprints } = self
  for (const resource of sent) {
    for (const alias of asked.get(resource.name) ?? []) {
      if (nameAt(self, alias) !== resource.name) aliases = HashMap.set(aliases, alias, resource.name)
    }
    if (Option.contains(HashMap.get(fingerprints, resource.name), resource.fingerprint)) continue
    fingerprints = HashMap.set(fingerprints, resource.name, resource.fingerprint)
    for (const alias of resource.aliases) aliases = HashMap.set(aliases, alias, resource.name)
  }
  for (const name of missing) {
    // Not removed: an alias of it may still have to be told.
    if (HashMap.has(fingerprints, name)) fingerprints = HashMap.set(fingerprints, name, "")
  }
  return fingerprints === self.fingerprints && aliases === self.aliases
    ? self
    : { ...self, digest: undefined, fingerprints, aliases }
}

/**
 * The cursor of a client that goes on with a set of another history. Clients with equal cursors have equal ones after it, so that what
 * is different is found once for all of them.
 *
 * @param held the resources that it stands for: what is gone in the other set is deleted last, and kept as it is until then
 * @since 0.1.0
 */
export const elsewhere = (self: Cursor, held: HashMap.HashMap<string, Resource>): Cursor =>
  self.revision < 0 ? self : { ...self, revision: -1, held }

/**
 * The cursor of a client that asks for everything again, and holds only this from before.
 *
 * @since 0.1.0
 */
export const again = (self: Cursor, fingerprints: Cursor["fingerprints"]): Cursor => ({
  ...self,
  revision: -1,
  digest: undefined,
  fingerprints
})

/**
 * The resource that a client had under a name; `undefined`: it had none, or it is not known any more.
 *
 * @since 0.1.0
 */
export const resourceAt = ({ fingerprints, held }: Cursor, name: string): Resource | undefined => {
  const resource = held === undefined ? undefined : Option.getOrUndefined(HashMap.get(held, name))
  if (resource === undefined) return undefined
  return Option.contains(HashMap.get(fingerprints, name), resource.fingerprint) ? resource : undefined
}
