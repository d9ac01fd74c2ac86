/**
 * Who owns what among the resources of a type: which names a resource answers, and keys that only one resource may have. The
 * keys of virtual hosts are their domains: a route configuration with a domain twice is invalid, so a virtual host with a domain
 * of another one is rejected. Other types have no keys.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds "Subscribing to Resources"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"

/** A resource under its own name. */
interface Owned {
  /** The names that were asked for and that it answers. Never empty. */
  readonly aliases: HashSet.HashSet<string>
  readonly keys: ReadonlyArray<string>
}

/** Keys that belong to an owner beside the resources. Several users of one client may claim for the same owner. */
interface Claim {
  readonly owner: string
  readonly keys: HashSet.HashSet<string>
}

/**
 * The held resources that have keys or came under another name than that asked for, and keys that belong to others.
 *
 * @since 0.1.0
 */
export interface Ownership {
  /** By the resource's own name. */
  readonly resources: HashMap.HashMap<string, Owned>
  /** Key → own name. */
  readonly owners: HashMap.HashMap<string, string>
  /** By claim. Those of route configurations are of the domains that came with them. */
  readonly claims: HashMap.HashMap<number, Claim>
}

/**
 * Nothing is owned.
 *
 * @since 0.1.0
 */
export const none: Ownership = { resources: HashMap.empty(), owners: HashMap.empty(), claims: HashMap.empty() }

/**
 * Whether no resource has keys or came under another name than that asked for.
 *
 * @since 0.1.0
 */
export const isNone = ({ resources }: Ownership): boolean => HashMap.isEmpty(resources)

/**
 * A resource that does not have keys.
 *
 * @since 0.1.0
 */
export const noKeys: ReadonlyArray<string> = []

const noNames = HashSet.empty<string>()

/** A held resource, as far as it concerns ownership. */
interface Held {
  readonly ownName: string
  readonly keys: ReadonlyArray<string>
}

const isOf = (name: string, held: Held | undefined): held is Held =>
  held !== undefined && (held.keys.length > 0 || held.ownName !== name)

/**
 * The ownership after the resource held under a name has changed.
 *
 * @since 0.1.0
 */
export const replace = (
  self: Ownership,
  name: string,
  before: Held | undefined,
  after: Held | undefined
): Ownership => {
  if (before === after) return self
  let next = self
  if (isOf(name, before)) next = without(next, name, before.ownName)
  if (isOf(name, after)) next = withAlias(next, name, after)
  return next
}

const get = (self: Ownership, ownName: string): Owned | undefined =>
  Option.getOrUndefined(HashMap.get(self.resources, ownName))

const withAlias = (self: Ownership, alias: string, { keys, ownName }: Held): Ownership => {
  const before = get(self, ownName)
  const owned: Owned = { aliases: HashSet.add(before?.aliases ?? noNames, alias), keys }
  const next = { ...self, resources: HashMap.set(self.resources, ownName, owned) }
  if (before?.keys === keys) return next
  let owners = before === undefined ? self.owners : release(self, ownName, before.keys)
  for (const key of keys) owners = HashMap.set(owners, key, ownName)
  return { ...next, owners }
}

const without = (self: Ownership, alias: string, ownName: string): Ownership => {
  const before = get(self, ownName)
  if (before === undefined) return self
  const aliases = HashSet.remove(before.aliases, alias)
  if (HashSet.size(aliases) > 0) {
    return { ...self, resources: HashMap.set(self.resources, ownName, { ...before, aliases }) }
  }
  const resources = HashMap.remove(self.resources, ownName)
  return { ...self, resources, owners: release(self, ownName, before.keys) }
}

const release = (self: Ownership, ownName: string, keys: ReadonlyArray<string>): Ownership["owners"] => {
  let { owners } = self
  for (const key of keys) {
    // Another resource of the same response may have taken it over.
    if (Option.getOrUndefined(HashMap.get(owners, key)) === ownName) owners = HashMap.remove(owners, key)
  }
  return owners
}

/**
 * The ownership in which a claim gives its owner, such as a route configuration, these keys and no others.
 *
 * @since 0.1.0
 */
export const withClaim = (self: Ownership, claim: number, owner: string, keys: Iterable<string>): Ownership => {
  const owned = HashSet.fromIterable(keys)
  const claims =
    HashSet.size(owned) === 0
      ? HashMap.remove(self.claims, claim)
      : HashMap.set(self.claims, claim, { owner, keys: owned })
  return { ...self, claims }
}

/**
 * The names that a resource answers, beside its own.
 *
 * @since 0.1.0
 */
export const aliasesOf = (self: Ownership, ownName: string): ReadonlyArray<string> => {
  if (HashMap.isEmpty(self.resources)) return noKeys
  const owned = get(self, ownName)
  return owned === undefined ? noKeys : Array.from(owned.aliases).filter((alias) => alias !== ownName)
}

/** A new or changed resource. */
type Changed = Held & { readonly name: string }

/**
 * The resources of a response that claim a key of another, with the reason. Those that stay in use have precedence over new
 * ones, and of two new ones the first. ★ A key may move from one resource to another in one response, in any order.
 *
 * All of them are added, and after that each is judged.
 *
 * @since 0.1.0
 */
export class Conflicts {
  readonly rejected = new Map<string, string>()
  readonly #changed = new Map<string, Changed>()
  /** Names that the resource before no longer answers. */
  readonly #taken: Set<string>
  readonly #claims = new Map<string, string>()

  /** @param removed names that lose their resource */
  constructor(
    private readonly self: Ownership,
    removed: ReadonlyArray<string>
  ) {
    this.#taken = new Set(removed)
  }

  /** Those to judge, in the order in which they were added. */
  get changed(): Iterable<Changed> {
    return this.#changed.values()
  }

  /** Adds a new or changed resource. One that comes under several names is added several times. */
  add(each: Changed): void {
    this.#changed.set(each.ownName, each)
    this.#taken.add(each.name)
  }

  judge({ keys, ownName }: Changed): void {
    for (const key of keys) {
      const holder = ownerOf(this.self, key) ?? this.#heldBy(key) ?? this.#claims.get(key)
      if (holder === undefined || holder === ownName) continue
      this.#reject(ownName, key, holder)
      break
    }
    if (!this.rejected.has(ownName)) for (const key of keys) this.#claims.set(key, ownName)
  }

  #reject(ownName: string, key: string, holder: string): void {
    const due: Array<readonly [ownName: string, reason: string]> = []
    due.push([ownName, `has ${JSON.stringify(key)}, which belongs to ${JSON.stringify(holder)}`])
    for (let each = due.pop(); each !== undefined; each = due.pop()) {
      const [name, reason] = each
      if (this.rejected.has(name)) continue
      this.rejected.set(name, reason)
      for (const claimed of this.#changed.get(name)?.keys ?? noKeys)
        if (this.#claims.get(claimed) === name) this.#claims.delete(claimed)
      // It stays in use as it was, so what it has already must not go to another.
      for (const kept of get(this.self, name)?.keys ?? noKeys) {
        const claimant = this.#claims.get(kept)
        if (claimant !== undefined) {
          due.push([claimant, `has ${JSON.stringify(kept)}, which belongs to ${JSON.stringify(name)}`])
        }
      }
    }
  }

  /** The resource that has the key and stays in use as it is. */
  #heldBy(key: string): string | undefined {
    const holder = Option.getOrUndefined(HashMap.get(this.self.owners, key))
    if (holder === undefined) return undefined
    if (this.#changed.has(holder)) return this.rejected.has(holder) ? holder : undefined
    const isFree = HashSet.every(get(this.self, holder)?.aliases ?? noNames, (alias) => this.#taken.has(alias))
    return isFree ? undefined : holder
  }
}

/** The owner beside the resources of the type. */
const ownerOf = (self: Ownership, key: string): string | undefined => {
  for (const { keys, owner } of HashMap.values(self.claims)) if (HashSet.has(keys, key)) return owner
  return undefined
}
