/**
 * The resources of one group of nodes: a {@link ResourceSet} per type. Immutable.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Steps from "../Steps.js"
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"

/**
 * The resources of one group, by type URL.
 *
 * @since 0.1.0
 */
export class ResourceGroup {
  /** Empty sets of the types that clients requested and the group has nothing of. */
  #empty: Map<string, ResourceSet.ResourceSet> | undefined
  #departed: ResourceGroup | undefined
  /** `null` until it is computed. */
  #api: ResourceType.Api | undefined | null = null

  #isVaried: boolean | undefined
  #views: Map<string, ResourceGroup> | undefined

  /** @param whole of a view: the group that it is a view of */
  constructor(
    readonly sets: ReadonlyMap<string, ResourceSet.ResourceSet>,
    readonly whole?: ResourceGroup
  ) {
    if (whole !== undefined) this.#isVaried = false
  }

  /** Whether clients see another group in its place; see `ClientView`. */
  get isVaried(): boolean {
    return (this.#isVaried ??= Array.from(this.sets.values()).some(({ varied }) => !HashMap.isEmpty(varied)))
  }

  /** What clients see in its place, by what they said; see `ClientView`. */
  get views(): Map<string, ResourceGroup> {
    return (this.#views ??= new Map())
  }

  /** The empty set of a type. Always the same one for a type of the table, so that what is computed for it is shared. */
  emptySet(typeUrl: string): ResourceSet.ResourceSet {
    // Other type URLs come from clients; keeping them would let the map grow without bound.
    if (ResourceType.byTypeUrl(typeUrl) === undefined) return ResourceSet.empty(typeUrl)
    this.#empty ??= new Map()
    const known = this.#empty.get(typeUrl)
    if (known !== undefined) return known
    const made = ResourceSet.empty(typeUrl)
    this.#empty.set(typeUrl, made)
    return made
  }

  /** See {@link apiOf}. */
  get api(): ResourceType.Api | undefined {
    if (this.#api === null) this.#api = apiOfSets(this.sets)
    return this.#api
  }

  /** See {@link departed}. */
  get departed(): ResourceGroup {
    this.#departed ??= new ResourceGroup(
      new Map(Array.from(this.sets, ([typeUrl, set]) => [typeUrl, ResourceSet.departed(set)]))
    )
    return this.#departed
  }
}

/** The first type of a version that there are resources of; `undefined` if there is none. */
const typeUrlOf = (sets: ResourceGroup["sets"], api: ResourceType.Api): string | undefined => {
  for (const [typeUrl, each] of sets) {
    if (ResourceSet.size(each) > 0 && ResourceType.byTypeUrl(typeUrl)?.api === api) return typeUrl
  }
  return undefined
}

/** The version of the resources; `undefined` without types of the table. A layered group may have both: then v3. */
const apiOfSets = (sets: ResourceGroup["sets"]): ResourceType.Api | undefined =>
  (["v3", "v2"] as const).find((api) => typeUrlOf(sets, api) !== undefined)

/**
 * The version of Envoy's API of the resources of a group; `undefined` if it has no types of the table.
 *
 * @since 0.1.0
 */
export const apiOf = (self: ResourceGroup): ResourceType.Api | undefined => self.api

/**
 * The group as clients see it after they were moved away from it; see `ResourceSet.departed`. All of them share one value.
 *
 * @since 0.1.0
 */
export const departed = (self: ResourceGroup): ResourceGroup => self.departed

/**
 * Error: a change has the same name twice.
 *
 * @since 0.1.0
 */
export class DuplicateName extends Data.TaggedError("DuplicateName")<{
  readonly typeUrl: string
  readonly name: string
}> {
  override get message(): string {
    return (
      `${ResourceType.shortNameOf(this.typeUrl)}: the name ${JSON.stringify(this.name)} is given twice; ` +
      `a client would reject the whole response`
    )
  }
}

/**
 * Error: a group would have resources of both versions of Envoy's API. Nothing is translated, so no client could be served all
 * of it.
 *
 * @since 0.1.0
 */
export class MixedApis extends Data.TaggedError("MixedApis")<{
  readonly v2: string
  readonly v3: string
  /** The group with the other version, which this one is layered with. Default: none, both are in one group. */
  readonly layeredWith?: string | undefined
}> {
  override get message(): string {
    const other = this.layeredWith === undefined ? "" : ` (in group ${JSON.stringify(this.layeredWith)})`
    const what = other === "" ? "a group has" : "groups in layers have"
    return (
      `${this.v2} is of Envoy's v2 API, ${this.v3} of v3${other}: ${what} resources of one of them; ` +
      `clients of the other need a group of their own`
    )
  }
}

/**
 * Why two groups cannot be layered: their resources are of different versions of Envoy's API. `undefined`: they can.
 *
 * @param otherName the name of the other group, for the error
 * @since 0.1.0
 */
export const mixOf = (self: ResourceGroup, other: ResourceGroup, otherName: string): MixedApis | undefined => {
  if (self.api === undefined || other.api === undefined || self.api === other.api) return undefined
  const v2 = self.api === "v2" ? self : other
  const v3 = self.api === "v2" ? other : self
  return new MixedApis({
    v2: typeUrlOf(v2.sets, "v2") ?? "",
    v3: typeUrlOf(v3.sets, "v3") ?? "",
    layeredWith: otherName
  })
}

/** The group of these sets, unless they are of both versions. */
const ofOneApi = (sets: ReadonlyMap<string, ResourceSet.ResourceSet>): Either.Either<ResourceGroup, MixedApis> => {
  const v2 = typeUrlOf(sets, "v2")
  const v3 = v2 === undefined ? undefined : typeUrlOf(sets, "v3")
  return v2 === undefined || v3 === undefined
    ? Either.right(new ResourceGroup(sets))
    : Either.left(new MixedApis({ v2, v3 }))
}

/**
 * Why a change was rejected. The group stays as it was.
 *
 * @since 0.1.0
 */
export type ChangeError = DuplicateName | ResourceSet.AliasConflict | MixedApis

/**
 * The name of a resource and its type.
 *
 * @since 0.1.0
 */
export interface ResourceKey {
  readonly typeUrl: string
  readonly name: string
}

/**
 * A group that was set, with no resources.
 *
 * @since 0.1.0
 */
export const empty: ResourceGroup = new ResourceGroup(new Map())

/**
 * The set of a type; empty if the group has no resources of it.
 *
 * @since 0.1.0
 */
export const set = (self: ResourceGroup, typeUrl: string): ResourceSet.ResourceSet =>
  self.sets.get(typeUrl) ?? self.emptySet(typeUrl)

/**
 * The resource of a type with exactly this name; aliases do not count.
 *
 * @since 0.1.0
 */
export const get = (self: ResourceGroup, key: ResourceKey): Resource | undefined =>
  ResourceSet.get(set(self, key.typeUrl), key.name)

/**
 * Every resource of the group.
 *
 * @since 0.1.0
 */
export const all = (self: ResourceGroup): ReadonlyArray<Resource> =>
  Array.from(self.sets.values()).flatMap((each) => ResourceSet.all(each))

/** Resources by type and name. */
class ByType {
  readonly types = new Map<string, Map<string, Resource>>()

  /** Gives back the mistake if there is one of that name. */
  add(resource: Resource): DuplicateName | undefined {
    const { name, typeUrl } = resource
    let named = this.types.get(typeUrl)
    if (named === undefined) {
      named = new Map()
      this.types.set(typeUrl, named)
    }
    if (named.has(name)) return new DuplicateName({ typeUrl, name })
    named.set(name, resource)
    return undefined
  }
}

const byType = function* (resources: Iterable<Resource>): Steps.Steps<Either.Either<ByType["types"], DuplicateName>> {
  const sorted = new ByType()
  let looked = 0
  for (const resource of resources) {
    if (++looked % Steps.atOnce === 0) yield
    const duplicate = sorted.add(resource)
    if (duplicate !== undefined) return Either.left(duplicate)
  }
  return Either.right(sorted.types)
}

const noResources: ReadonlyMap<string, Resource> = new Map()

/**
 * An atomic change of a group: every stream sees all of it at once.
 *
 * @since 0.1.0
 */
export interface Change {
  readonly upsert?: Iterable<Resource> | undefined
  /** A key that is also in `upsert` is not removed. */
  readonly remove?: Iterable<ResourceKey> | undefined
  /** Type URL → label of the whole type. The version of a changed type without a label is a digest of its content. */
  readonly versions?: Readonly<Record<string, string>> | undefined
}

/**
 * Makes a group hold exactly these resources, of all types. Equal resources stay as they are and are not sent again.
 *
 * @param versions type URL → label of the whole type
 * @since 0.1.0
 */
export const replace = (
  self: ResourceGroup,
  resources: Iterable<Resource>,
  versions: Readonly<Record<string, string>> = {}
): Either.Either<ResourceGroup, ChangeError> => Steps.toEnd(replacing(self, resources, versions))

/**
 * {@link replace} in steps: other work may run at each yield. `self` stays as it is.
 *
 * @since 0.1.0
 */
export const replacing = function* (
  self: ResourceGroup,
  resources: Iterable<Resource>,
  versions: Readonly<Record<string, string>> = {}
): Steps.Steps<Either.Either<ResourceGroup, ChangeError>> {
  const types = yield* byType(resources)
  if (Either.isLeft(types)) return Either.left(types.left)
  const sets = new Map(self.sets)
  for (const typeUrl of new Set([...sets.keys(), ...types.right.keys(), ...Object.keys(versions)])) {
    const named = types.right.get(typeUrl) ?? noResources
    const next = yield* ResourceSet.replacing(set(self, typeUrl), named, versions[typeUrl])
    if (Either.isLeft(next)) return Either.left(next.left)
    sets.set(typeUrl, next.right)
  }
  return ofOneApi(sets)
}

/**
 * Adds, changes and removes resources, in one atomic step.
 *
 * @since 0.1.0
 */
export const update = (self: ResourceGroup, change: Change): Either.Either<ResourceGroup, ChangeError> => {
  const only = onlyOne(change)
  if (only !== undefined) return put(self, only)
  // As `updating` does it, without a generator: this is done for each small change.
  const sorted = new ByType()
  for (const resource of change.upsert ?? []) {
    const duplicate = sorted.add(resource)
    if (duplicate !== undefined) return Either.left(duplicate)
  }
  let removals: Map<string, Array<string>> | undefined
  for (const key of change.remove ?? []) removeFrom((removals ??= new Map<string, Array<string>>()), key)
  const draft = new Draft(self, sorted.types, removals, change.versions)
  for (const typeUrl of draft.typeUrls) {
    const after = ResourceSet.updateByName(set(self, typeUrl), draft.changeOf(typeUrl))
    if (Either.isLeft(after)) return Either.left(after.left)
    draft.put(typeUrl, after.right)
  }
  return draft.end()
}

/** The resource of a change of one resource and nothing else, as most are. */
const onlyOne = ({ remove, upsert, versions }: Change): Resource | undefined => {
  if (remove !== undefined || versions !== undefined || !isList(upsert)) return undefined
  return upsert.length === 1 ? upsert[0] : undefined
}

const isList = (resources: Iterable<Resource> | undefined): resources is ReadonlyArray<Resource> =>
  Array.isArray(resources)

const put = (self: ResourceGroup, resource: Resource): Either.Either<ResourceGroup, ChangeError> => {
  const before = set(self, resource.typeUrl)
  const after = ResourceSet.put(before, resource)
  if (Either.isLeft(after)) return Either.left(after.left)
  return after.right === before ? Either.right(self) : ofOneApi(new Map(self.sets).set(resource.typeUrl, after.right))
}

/**
 * {@link update} in steps; see {@link replacing}.
 *
 * @since 0.1.0
 */
export const updating = function* (
  self: ResourceGroup,
  change: Change
): Steps.Steps<Either.Either<ResourceGroup, ChangeError>> {
  const types = yield* byType(change.upsert ?? [])
  if (Either.isLeft(types)) return Either.left(types.left)
  const removals = new Map<string, Array<string>>()
  let looked = 0
  for (const key of change.remove ?? []) {
    if (++looked % Steps.atOnce === 0) yield
    removeFrom(removals, key)
  }
  const draft = new Draft(self, types.right, removals, change.versions)
  for (const typeUrl of draft.typeUrls) {
    const after = yield* ResourceSet.updating(set(self, typeUrl), draft.changeOf(typeUrl))
    if (Either.isLeft(after)) return Either.left(after.left)
    draft.put(typeUrl, after.right)
  }
  return draft.end()
}

const removeFrom = (removals: Map<string, Array<string>>, { name, typeUrl }: ResourceKey): void => {
  const names = removals.get(typeUrl)
  if (names === undefined) removals.set(typeUrl, [name])
  else names.push(name)
}

const noVersions: Readonly<Record<string, string>> = {}

/** A group that is being changed, type after type. */
class Draft {
  readonly typeUrls: Iterable<string>
  readonly #sets: Map<string, ResourceSet.ResourceSet>
  #isChanged = false

  constructor(
    private readonly self: ResourceGroup,
    private readonly upserts: ReadonlyMap<string, ReadonlyMap<string, Resource>>,
    private readonly removals: ReadonlyMap<string, ReadonlyArray<string>> | undefined,
    private readonly versions = noVersions
  ) {
    this.#sets = new Map(self.sets)
    const others = [...(removals?.keys() ?? []), ...Object.keys(versions)]
    this.typeUrls = others.length === 0 ? upserts.keys() : new Set([...upserts.keys(), ...others])
  }

  changeOf(typeUrl: string): ResourceSet.NamedChange {
    return {
      upsert: this.upserts.get(typeUrl) ?? noResources,
      remove: this.removals?.get(typeUrl),
      version: this.versions[typeUrl]
    }
  }

  put(typeUrl: string, after: ResourceSet.ResourceSet): void {
    this.#isChanged ||= after !== set(this.self, typeUrl)
    this.#sets.set(typeUrl, after)
  }

  end(): Either.Either<ResourceGroup, MixedApis> {
    return this.#isChanged ? ofOneApi(this.#sets) : Either.right(this.self)
  }
}
