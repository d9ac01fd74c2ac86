/**
 * All resources of one type in one group: an immutable set with a revision and a bounded log of changes.
 *
 * A stream that is up to date is a {@link Cursor} into that log; it holds no map of names and versions. The difference between
 * a cursor and a set is computed once and shared by all streams that need it. If the log no longer reaches back to the cursor
 * of a slow stream, the two are compared by content.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Hash from "effect/Hash"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Steps from "../Steps.js"
import { type Before, BeforeDraft } from "./Before.js"
import * as ChangeLog from "./ChangeLog.js"
import * as CollectionIndex from "./CollectionIndex.js"
import { Computed } from "./Computed.js"
import type { Cursor } from "./Cursor.js"
import { elsewhere, isSame, leadsTo } from "./Cursor.js"
import * as Digest from "./Digest.js"
import * as NameTrie from "./NameTrie.js"
import type { Resource } from "./Resource.js"
import * as VirtualHostDiscovery from "./VirtualHostDiscovery.js"

/** The fields of a {@link ResourceSet}. */
interface Fields extends ChangeLog.ChangeLog {
  readonly typeUrl: string
  readonly resources: NameTrie.NameTrie<Resource>
  /** Alias → name. */
  readonly aliases: HashMap.HashMap<string, string>
  /** Name → TTL in milliseconds, for those that have one. */
  readonly ttls: HashMap.HashMap<string, number>
  /** Those that a client does not see as they are: variants, and errors in place of a resource; see `ClientView`. */
  readonly varied: HashMap.HashMap<string, Resource>
  /** Sum of the members' digests. */
  readonly digest: Digest.Digest
  /** The version of the type that clients see. */
  readonly version: string
  readonly cursor: Cursor
}

/**
 * All resources of one type in one group.
 *
 * @since 0.1.0
 */
export class ResourceSet implements Fields {
  readonly typeUrl: string
  readonly resources: NameTrie.NameTrie<Resource>
  readonly aliases: HashMap.HashMap<string, string>
  readonly ttls: HashMap.HashMap<string, number>
  readonly varied: HashMap.HashMap<string, Resource>
  readonly digest: Digest.Digest
  readonly version: string
  readonly cursor: Cursor
  readonly blocks: ChangeLog.ChangeLog["blocks"]
  readonly recent: ReadonlyArray<ChangeLog.LogEntry>
  readonly logged: number
  #computed: Computed | undefined

  constructor(fields: Fields) {
    this.typeUrl = fields.typeUrl
    this.resources = fields.resources
    this.aliases = fields.aliases
    this.ttls = fields.ttls
    this.varied = fields.varied
    this.digest = fields.digest
    this.version = fields.version
    this.cursor = fields.cursor
    this.blocks = fields.blocks
    this.recent = fields.recent
    this.logged = fields.logged
  }

  /** Cache of what is computed once for this set. */
  get computed(): Computed {
    return (this.#computed ??= new Computed())
  }

  /**
   * Goes on with what is computed of a set before, after a change of these names.
   *
   * @param isNext whether the set before has ended; a set in layers is made from another one, which goes on
   */
  follow(before: ResourceSet, changed: Before, isNext: boolean): void {
    // All groups begin with the same empty sets: what a client of one of them asked for would be kept up in the others.
    if (before.#computed === undefined || before.resources.size === 0) return
    if (isNext) this.#computed = before.#computed.after(this.resources, changed)
    CollectionIndex.follow(before, this, changed)
  }
}

/**
 * Error: two resources of a set have the same name or alias.
 *
 * @since 0.1.0
 */
export class AliasConflict extends Data.TaggedError("AliasConflict")<{
  readonly typeUrl: string
  readonly alias: string
  readonly name: string
  readonly other: string
}> {
  override get message(): string {
    return (
      `${ResourceType.shortNameOf(this.typeUrl)}: alias ${JSON.stringify(this.alias)} of ${JSON.stringify(this.name)} ` +
      `already belongs to ${JSON.stringify(this.other)}; a name can lead to one resource only`
    )
  }
}

/**
 * The set of a type without resources.
 *
 * @since 0.1.0
 */
export const empty = (typeUrl: string): ResourceSet =>
  new ResourceSet({
    typeUrl,
    resources: NameTrie.empty(),
    aliases: HashMap.empty(),
    ttls: HashMap.empty(),
    varied: HashMap.empty(),
    digest: Digest.zero,
    version: Digest.toHex(Digest.zero),
    cursor: {
      revision: 0,
      digest: Digest.zero,
      fingerprints: NameTrie.empty(),
      aliases: HashMap.empty(),
      domains: VirtualHostDiscovery.noDomains,
      hasTtls: false
    },
    ...ChangeLog.empty
  })

/**
 * The resource with exactly this name; aliases do not count.
 *
 * @since 0.1.0
 */
export const get = (self: ResourceSet, name: string): Resource | undefined => self.resources.get(name)

/**
 * Whether a resource may be found by another name than its own.
 *
 * @since 0.1.0
 */
export const hasOtherNames = ({ aliases, cursor }: ResourceSet): boolean =>
  !HashMap.isEmpty(aliases) || !HashMap.isEmpty(cursor.domains)

/**
 * The resource that a client requests by a name: it has this name or alias or, for virtual hosts, the domain that matches it
 * best.
 *
 * @since 0.1.0
 */
export const find = (self: ResourceSet, nameOrAlias: string): Resource | undefined => {
  // Clients request many by name from one set. A store looks into one that it is about to replace, by `get`.
  const mapped = self.computed.byName(self.resources)
  const found = mapped === undefined ? get(self, nameOrAlias) : mapped.get(nameOrAlias)
  if (found !== undefined || !hasOtherNames(self)) return found
  const name = leadsTo(self.aliases, self.cursor.domains, nameOrAlias, (each) => self.resources.has(each))
  return name === undefined ? undefined : get(self, name)
}

/** The name of the resource that has this name or alias. */
const ownerOf = (self: ResourceSet, nameOrAlias: string): string | undefined =>
  self.resources.has(nameOrAlias) ? nameOrAlias : Option.getOrUndefined(HashMap.get(self.aliases, nameOrAlias))

/**
 * Whether a resource has this name or alias.
 *
 * @since 0.1.0
 */
export const isOwned = (self: ResourceSet, nameOrAlias: string): boolean => ownerOf(self, nameOrAlias) !== undefined

/**
 * The names of the resources that have one of these names and aliases.
 *
 * @since 0.1.0
 */
export const ownersOf = (
  self: ResourceSet,
  { aliases, name }: Pick<Resource, "name" | "aliases">
): ReadonlyArray<string> => [name, ...aliases].flatMap((each) => ownerOf(self, each) ?? [])

/**
 * Whether a name or alias of a removed resource now belongs to another. ★ A client must never hold both: Envoy rejects two
 * virtual hosts with one domain.
 *
 * @since 0.1.0
 */
export const isReplaced = (self: ResourceSet, { aliases, name }: Pick<Resource, "name" | "aliases">): boolean =>
  !self.resources.has(name) &&
  (HashMap.has(self.aliases, name) || aliases.some((alias) => ownerOf(self, alias) !== undefined))

/**
 * The version of a set together with removed resources: what a client has while removals wait. A label of the caller stays.
 *
 * @since 0.1.0
 */
export const versionWith = (self: ResourceSet, others: ReadonlyArray<Resource>): string =>
  others.length === 0 || self.version !== Digest.toHex(self.digest)
    ? self.version
    : Digest.toHex(others.reduce((sum, resource) => Digest.add(sum, resource.digest), self.digest))

/**
 * The version of a set without a label: a digest of its content.
 *
 * @since 0.1.0
 */
export const versionOf = ({ digest }: ResourceSet): string => Digest.toHex(digest)

/**
 * Number of resources.
 *
 * @since 0.1.0
 */
export const size = (self: ResourceSet): number => self.resources.size

const listingOf = (self: ResourceSet): Steps.Once<ReadonlyArray<Resource>> => self.computed.listing(self.resources)

/**
 * Every resource, in an order that depends on the content alone. The array is made once per set.
 *
 * @since 0.1.0
 */
export const all = (self: ResourceSet): ReadonlyArray<Resource> => listingOf(self).toEnd()

/**
 * {@link all} in steps.
 *
 * @since 0.1.0
 */
export const listing = (self: ResourceSet): Steps.Steps<ReadonlyArray<Resource>> => listingOf(self).steps()

/**
 * An atomic change of a set. A name in both `upsert` and `remove` is not removed.
 *
 * @since 0.1.0
 */
export interface Change {
  readonly upsert?: Iterable<Resource> | undefined
  readonly remove?: Iterable<string> | undefined
  /**
   * The version of the type that clients see from now on. Default: a digest of the content. A label never decides what is sent:
   * changes are found from the content.
   */
  readonly version?: string | undefined
}

/**
 * {@link Change} with its resources by name.
 *
 * @since 0.1.0
 */
export interface NamedChange extends Omit<Change, "upsert"> {
  readonly upsert: ReadonlyMap<string, Resource>
  /**
   * How many resources the set has of its own, if it shares the others with another set. Its log is as long as for these: there may be
   * a thousand such sets. Default: all are its own.
   */
  readonly own?: number | undefined
}

/**
 * Changes a set in time proportional to the change. Returns the same set if nothing is different.
 *
 * @since 0.1.0
 */
export const update = (self: ResourceSet, change: Change): Either.Either<ResourceSet, AliasConflict> =>
  updateByName(self, { ...change, upsert: byName(change.upsert ?? []) })

/**
 * {@link update} with the resources by name.
 *
 * @since 0.1.0
 */
export const updateByName = (self: ResourceSet, change: NamedChange): Either.Either<ResourceSet, AliasConflict> => {
  // As `updating` does it, without a generator: this is done for each small change.
  const { upsert } = change
  const draft = new Draft(self, change)
  for (const name of change.remove ?? []) if (!upsert.has(name)) draft.remove(name)
  for (const resource of upsert.values()) draft.put(resource)
  for (const name of draft.names()) {
    const conflict = draft.place(upsert.get(name))
    if (conflict !== undefined) return Either.left(conflict)
  }
  return Either.right(draft.end())
}

const nothingElse: Pick<NamedChange, "version" | "own"> = {}

/**
 * {@link update} with one resource, which is added or replaced: most changes are such ones.
 *
 * @since 0.1.0
 */
export const put = (self: ResourceSet, resource: Resource): Either.Either<ResourceSet, AliasConflict> => {
  const draft = new Draft(self, nothingElse)
  const conflict = draft.put(resource) ? draft.place(resource) : undefined
  return conflict === undefined ? Either.right(draft.end()) : Either.left(conflict)
}

/** Whether a client sees something else in its place. */
const isVaried = ({ error, variants }: Resource): boolean => variants !== undefined || error !== undefined

const byName = (resources: Iterable<Resource>): ReadonlyMap<string, Resource> => {
  const named = new Map<string, Resource>()
  for (const resource of resources) named.set(resource.name, resource)
  return named
}

/**
 * {@link update} in steps, for a large change: other work may run at each yield. `self` stays as it is.
 *
 * @since 0.1.0
 */
export const updating = function* (
  self: ResourceSet,
  change: NamedChange
): Steps.Steps<Either.Either<ResourceSet, AliasConflict>> {
  const { upsert } = change
  const draft = new Draft(self, change)
  let looked = 0
  for (const name of change.remove ?? []) {
    if (++looked % Steps.atOnce === 0) yield
    if (!upsert.has(name)) draft.remove(name)
  }
  for (const resource of upsert.values()) {
    if (++looked % Steps.atOnce === 0) yield
    draft.put(resource)
  }
  for (const name of draft.names()) {
    if (++looked % Steps.atOnce === 0) yield
    const conflict = draft.place(upsert.get(name))
    if (conflict !== undefined) return Either.left(conflict)
  }
  return Either.right(draft.end())
}

/** A set that is being changed: names are removed, then resources are put, then each of {@link names} is placed. */
class Draft {
  readonly #before = new BeforeDraft()
  #labelled: Array<string> | undefined
  #aliases: ResourceSet["aliases"]
  #digest: Digest.Digest
  #ttls: ResourceSet["ttls"]
  #varied: ResourceSet["varied"]
  #domains: Cursor["domains"]
  readonly #hasDomains: boolean
  // Mutable copies until the end: a large change copies the inner nodes of the maps once.
  readonly #resources: NameTrie.NameTrieDraft<Resource>
  readonly #fingerprints: NameTrie.NameTrieDraft<string>

  constructor(
    private readonly self: ResourceSet,
    private readonly change: Pick<NamedChange, "version" | "own">
  ) {
    this.#aliases = self.aliases
    this.#digest = self.digest
    this.#ttls = self.ttls
    this.#varied = self.varied
    this.#domains = self.cursor.domains
    this.#hasDomains = ResourceType.isOf(self.typeUrl, ResourceType.VirtualHost)
    this.#resources = new NameTrie.NameTrieDraft(self.resources)
    this.#fingerprints = new NameTrie.NameTrieDraft(self.cursor.fingerprints)
  }

  /** The names whose content changes. */
  names(): Iterable<string> {
    return this.#before.keys()
  }

  remove(name: string): void {
    if (this.#before.has(name)) return
    const old = get(this.self, name)
    if (old === undefined) return
    this.#before.set(name, old)
    this.#forget(old)
    this.#resources.remove(name)
    this.#fingerprints.remove(name)
  }

  /** Whether the content changes. */
  put(resource: Resource): boolean {
    const { name } = resource
    const hash = Hash.string(name)
    const old = this.self.resources.getHash(name, hash)
    if (old !== undefined && old.fingerprint === resource.fingerprint) {
      // Equal content: at most the label is new, which is no change.
      if (old.version === resource.version) return false
      ;(this.#labelled ??= []).push(name)
      this.#resources.setHash(name, hash, resource)
      return false
    }
    this.#before.set(name, old)
    if (old !== undefined) this.#forget(old)
    this.#digest = Digest.add(this.#digest, resource.digest)
    this.#resources.setHash(name, hash, resource)
    this.#fingerprints.setHash(name, hash, resource.fingerprint)
    if (resource.ttl !== undefined) this.#ttls = HashMap.set(this.#ttls, name, resource.ttl)
    if (isVaried(resource)) this.#varied = HashMap.set(this.#varied, name, resource)
    return true
  }

  /**
   * The aliases and domains of one that was put; nothing of one that was removed. After all removals: an alias may move from one resource
   * to another in one step.
   */
  place(resource: Resource | undefined): AliasConflict | undefined {
    if (resource === undefined) return undefined
    const { name } = resource
    const { typeUrl } = this.self
    if (this.#hasDomains)
      this.#domains = [name, ...resource.aliases].reduce(VirtualHostDiscovery.withDomain, this.#domains)
    for (const alias of resource.aliases) {
      const owner = HashMap.get(this.#aliases, alias)
      const other = Option.isSome(owner) ? owner.value : this.#resources.has(alias) ? alias : undefined
      if (other !== undefined) return new AliasConflict({ typeUrl, alias, name, other })
      this.#aliases = HashMap.set(this.#aliases, alias, name)
    }
    if (HashMap.size(this.#aliases) === 0) return undefined
    const owner = HashMap.get(this.#aliases, name)
    return Option.isSome(owner)
      ? new AliasConflict({ typeUrl, alias: name, name: owner.value, other: name })
      : undefined
  }

  end(): ResourceSet {
    const { change, self } = this
    const before = this.#before
    const labelled = this.#labelled
    const version = change.version ?? Digest.toHex(this.#digest)
    if (before.size === 0 && labelled === undefined && version === self.version) return self
    const resources = this.#resources.end()
    if (before.size === 0) return relabelled(self, resources, version)
    // Layered sets need the names with new labels, too. No difference contains them.
    for (const name of labelled ?? []) before.set(name, get(self, name))
    const fingerprints = this.#fingerprints.end()
    const content = {
      resources,
      aliases: this.#aliases,
      ttls: this.#ttls,
      varied: this.#varied,
      digest: this.#digest,
      version
    }
    return changed(self, before, content, fingerprints, this.#domains, change.own, change.own === undefined)
  }

  #forget(resource: Resource): void {
    this.#digest = Digest.subtract(this.#digest, resource.digest)
    for (const alias of resource.aliases) this.#aliases = HashMap.remove(this.#aliases, alias)
    if (this.#hasDomains)
      this.#domains = [resource.name, ...resource.aliases].reduce(VirtualHostDiscovery.withoutDomain, this.#domains)
    if (resource.ttl !== undefined) this.#ttls = HashMap.remove(this.#ttls, resource.name)
    if (isVaried(resource)) this.#varied = HashMap.remove(this.#varied, resource.name)
  }
}

/** A set with other labels, which is no change. */
const relabelled = (
  { aliases, blocks, cursor, digest, logged, recent, ttls, typeUrl, varied }: ResourceSet,
  resources: ResourceSet["resources"],
  version: string
): ResourceSet =>
  new ResourceSet({ typeUrl, resources, aliases, ttls, varied, digest, version, cursor, blocks, recent, logged })

/** A set with new content and one more change in its log. */
const changed = (
  self: ResourceSet,
  before: Before,
  {
    aliases,
    digest,
    resources,
    ttls,
    varied,
    version
  }: Pick<ResourceSet, "resources" | "aliases" | "ttls" | "varied" | "digest" | "version">,
  fingerprints: Cursor["fingerprints"],
  domains: Cursor["domains"],
  own: number | undefined,
  isNext: boolean
): ResourceSet => {
  const { digest: from, typeUrl } = self
  const revision = self.cursor.revision + 1
  const cursor: Cursor = { revision, digest, fingerprints, aliases, domains, hasTtls: HashMap.size(ttls) > 0 }
  const { blocks, logged, recent } = ChangeLog.withChange(self, { from, before }, own ?? resources.size)
  // Field by field: in Node 20 an object with a spread one takes several times as long.
  const made = new ResourceSet({
    typeUrl,
    resources,
    aliases,
    ttls,
    varied,
    digest,
    version,
    cursor,
    blocks,
    recent,
    logged
  })
  made.follow(self, before, isNext)
  return made
}

/**
 * The resources of a set at a cursor. If the log does not reach back that far: the current ones.
 *
 * @since 0.1.0
 */
export const resourcesAt = function* (self: ResourceSet, cursor: Cursor): Steps.Steps<ResourceSet["resources"]> {
  const entries = isSame(self.cursor, cursor) ? [] : (ChangeLog.changesSince(self, cursor) ?? [])
  if (entries.length === 0) return self.resources
  const resources = new NameTrie.NameTrieDraft(self.resources)
  let count = 0
  for (const { before } of entries.toReversed()) {
    for (const [name, resource] of before) {
      if (resource === undefined) resources.remove(name)
      else resources.set(name, resource)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  return resources.end()
}

/**
 * The set as clients see it that were moved away from it and are still sent some of it: same content, but its cursor has left
 * this history; see `Cursor.elsewhere`.
 *
 * @since 0.1.0
 */
export const departed = (self: ResourceSet): ResourceSet => {
  const { aliases, cursor, digest, resources, ttls, typeUrl, varied, version } = self
  if (cursor.revision < 0) return self
  const left = elsewhere(cursor, resources)
  return new ResourceSet({
    typeUrl,
    resources,
    aliases,
    ttls,
    varied,
    digest,
    version,
    cursor: left,
    ...ChangeLog.empty
  })
}

/**
 * A set with the content of another one. Revision and log continue, so that streams are sent only the difference.
 *
 * @param before what this set has under all names that differ; empty if none do
 * @param own see {@link NamedChange}
 * @since 0.1.0
 */
export const withContentOf = (
  self: ResourceSet,
  content: ResourceSet,
  before: Before,
  version: string,
  own?: number
): ResourceSet => {
  const { aliases, digest, resources, ttls, varied } = content
  if (before.size > 0) {
    const { fingerprints, domains } = content.cursor
    const all = { resources, aliases, ttls, varied, digest, version }
    return changed(self, before, all, fingerprints, domains, own, true)
  }
  return resources === self.resources && version === self.version ? self : relabelled(self, resources, version)
}

/**
 * Makes a set hold exactly these resources. Revision and log continue, so that streams are sent only the difference.
 *
 * @since 0.1.0
 */
export const replace = (
  self: ResourceSet,
  resources: Iterable<Resource>,
  version?: string
): Either.Either<ResourceSet, AliasConflict> => Steps.toEnd(replacing(self, byName(resources), version))

/**
 * {@link replace} in steps, with the resources by name; see {@link updating}.
 *
 * @since 0.1.0
 */
export const replacing = function* (
  self: ResourceSet,
  upsert: ReadonlyMap<string, Resource>,
  version?: string
): Steps.Steps<Either.Either<ResourceSet, AliasConflict>> {
  const remove: Array<string> = []
  let looked = 0
  for (const name of self.resources.keys()) {
    if (++looked % Steps.atOnce === 0) yield
    if (!upsert.has(name)) remove.push(name)
  }
  return yield* updating(self, { upsert, remove, version })
}
