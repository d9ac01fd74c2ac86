/**
 * The position of a stream in the history of a {@link ResourceSet}.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Digest from "./Digest.js"
import * as NameTrie from "./NameTrie.js"
import type { Resource } from "./Resource.js"
import * as VirtualHostDiscovery from "./VirtualHostDiscovery.js"

/**
 * The state of the set that a stream was last brought up to: names and fingerprints. Contents are kept only after a move to
 * another set, which does not have them. Plain data: it can be printed and read again.
 *
 * @since 0.1.0
 */
export interface Cursor {
  /** Revision of the set; negative if this is not a state of a set. */
  readonly revision: number
  /**
   * Digest of the set's content. `undefined`: not a state of a set, because the client was sent only a part of it, or asked for
   * everything again.
   */
  readonly digest: Digest.Digest | undefined
  /** Name → fingerprint of the content. */
  readonly fingerprints: NameTrie.NameTrie<string>
  /** Alias → name. */
  readonly aliases: HashMap.HashMap<string, string>
  /** Virtual hosts: domains that match many hosts. */
  readonly domains: VirtualHostDiscovery.DomainIndex
  /** Whether any of the resources had a TTL. */
  readonly hasTtls: boolean
  /** After a move to another set: the resources of the set before, by name. Includes those of `fingerprints`. */
  readonly held?: NameTrie.NameTrie<Resource>
}

/**
 * Whether two cursors are the same state of a set. Revisions of unrelated sets may be equal numbers. If the digests are equal,
 * too, then so is the content, and the two are interchangeable.
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
 * Whether streams at the two cursors need the same: the cursors are the same state, or both hold nothing and ask for everything
 * again.
 *
 * @since 0.1.0
 */
export const isAlike = (one: Cursor, other: Cursor): boolean =>
  isSame(one, other) || (isNothing(one) && isNothing(other) && one.aliases === other.aliases)

const isNothing = ({ fingerprints, revision }: Cursor): boolean => revision < 0 && fingerprints.size === 0

/**
 * The name of the resource that a client has under a name or alias; the argument itself if there is none.
 *
 * @since 0.1.0
 */
export const nameAt = (self: Cursor, nameOrAlias: string): string => {
  const { aliases, domains, fingerprints } = self
  if (HashMap.isEmpty(aliases) && HashMap.isEmpty(domains)) return nameOrAlias
  // One without a fingerprint has lost its resource; see `ahead`.
  if ((fingerprints.get(nameOrAlias) ?? "") !== "") return nameOrAlias
  return leadsTo(aliases, domains, nameOrAlias, (name) => fingerprints.has(name)) ?? nameOrAlias
}

/**
 * The name of the resource with this alias, or with the domain that matches it best.
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
 * The cursor of a client that was sent some resources, or the absence of some names, ahead of the other changes of a set.
 * Without it the client would keep the wrong state if such a resource changed back, or was removed, before the rest is sent.
 *
 * @since 0.1.0
 */
export const ahead = (
  self: Cursor,
  sent: Iterable<Resource>,
  missing: Iterable<string>,
  /** Resource name → the aliases by which the client requested it. */
  asked: ReadonlyMap<string, ReadonlyArray<string>> = new Map()
): Cursor => {
  let { aliases } = self
  const draft = new NameTrie.NameTrieDraft(self.fingerprints)
  for (const resource of sent) {
    for (const alias of asked.get(resource.name) ?? []) {
      if (nameAt(self, alias) === resource.name) continue
      aliases = HashMap.set(aliases, alias, resource.name)
      // ★ A resource that had this name is not what the client has under it any more.
      if (draft.has(alias)) draft.set(alias, "")
    }
    if (draft.get(resource.name) === resource.fingerprint) continue
    draft.set(resource.name, resource.fingerprint)
    for (const alias of resource.aliases) aliases = HashMap.set(aliases, alias, resource.name)
  }
  for (const name of missing) {
    // Kept with an empty fingerprint: the removal of one of its aliases may still have to be sent.
    if (draft.has(name)) draft.set(name, "")
  }
  const fingerprints = draft.end()
  return fingerprints === self.fingerprints && aliases === self.aliases
    ? self
    : { ...self, digest: undefined, fingerprints, aliases }
}

/**
 * The cursor of a client that moves to another set. Equal cursors stay equal, so their difference is computed once.
 *
 * @param held the resources at the cursor. What the other set lacks is removed last, and served from here until then
 * @since 0.1.0
 */
export const elsewhere = (self: Cursor, held: NameTrie.NameTrie<Resource>): Cursor =>
  self.revision < 0 ? self : { ...self, revision: -1, held }

/**
 * The cursor of a client that asks for everything again and still holds only `fingerprints`.
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
 * The resource that a client has under a name; `undefined` if it has none, or its content is no longer known.
 *
 * @since 0.1.0
 */
export const resourceAt = ({ fingerprints, held }: Cursor, name: string): Resource | undefined => {
  const resource = held?.get(name)
  return resource !== undefined && fingerprints.get(name) === resource.fingerprint ? resource : undefined
}
