/**
 * What one group of nodes is served: a {@link ResourceSet} for each type. Immutable.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import * as Steps from "../Steps.js"

/**
 * The resources of one group, by type URL.
 *
 * @since 0.1.0
 */
export class ResourceGroup {
  /** Sets of types that the group has nothing of and that somebody asked for. */
  #empty: Map<string, ResourceSet.ResourceSet> | undefined
  #departed: ResourceGroup | undefined

  constructor(readonly sets: ReadonlyMap<string, ResourceSet.ResourceSet>) {}

  /** The empty set of a type; for a type of the table always the same one, so that what is computed for it is shared. */
  emptySet(typeUrl: string): ResourceSet.ResourceSet {
    // Other types are not kept: they come from clients, and the map must not grow with what those invent.
    if (ResourceType.byTypeUrl(typeUrl) === undefined) return ResourceSet.empty(typeUrl)
    this.#empty ??= new Map()
    const known = this.#empty.get(typeUrl)
    if (known !== undefined) return known
    const made = ResourceSet.empty(typeUrl)
    this.#empty.set(typeUrl, made)
    return made
  }

  /** See {@link departed}. */
  get departed(): ResourceGroup {
    this.#departed ??= new ResourceGroup(
      new Map(Array.from(this.sets, ([typeUrl, set]) => [typeUrl, ResourceSet.departed(set)]))
    )
    return this.#departed
  }
}

/**
 * A group for clients that were moved away from it; see `ResourceSet.departed`. The same one for all of them.
 *
 * @since 0.1.0
 */
export const departed = (self: ResourceGroup): ResourceGroup => self.departed

/**
 * One step given the same name twice.
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
 * Why a change of a group was refused. The group is as it was.
 *
 * @since 0.1.0
 */
export type ChangeError = DuplicateName | ResourceSet.AliasConflict

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
 * A group that was set and has nothing.
 *
 * @since 0.1.0
 */
export const empty: ResourceGroup = new ResourceGroup(new Map())

/**
 * The set of a type; an empty one if the group has none of it.
 *
 * @since 0.1.0
 */
export const set = (self: ResourceGroup, typeUrl: string): ResourceSet.ResourceSet =>
  self.sets.get(typeUrl) ?? self.emptySet(typeUrl)

/**
 * The resource of that type and very name.
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

const byType = function* (
  resources: Iterable<Resource>
): Steps.Steps<Either.Either<Map<string, Map<string, Resource>>, DuplicateName>> {
  const types = new Map<string, Map<string, Resource>>()
  let looked = 0
  for (const resource of resources) {
    if (++looked % Steps.atOnce === 0) yield
    let named = types.get(resource.typeUrl)
    if (named === undefined) {
      named = new Map()
      types.set(resource.typeUrl, named)
    }
    if (named.has(resource.name))
      return Either.left(new DuplicateName({ typeUrl: resource.typeUrl, name: resource.name }))
    named.set(resource.name, resource)
  }
  return Either.right(types)
}

const noResources: ReadonlyMap<string, Resource> = new Map()

/**
 * What to do to a group, in one step that every stream sees as one.
 *
 * @since 0.1.0
 */
export interface Change {
  readonly upsert?: Iterable<Resource> | undefined
  /** A key that is also put in is put in. */
  readonly remove?: Iterable<ResourceKey> | undefined
  /** Labels for whole types, by type URL; a type that is changed without one is labelled by its content. */
  readonly versions?: Readonly<Record<string, string>> | undefined
}

/**
 * Makes a group hold exactly these resources, of all types. What is equal stays as it is: no client is sent anything
 * for it. `versions` are labels for whole types, by type URL.
 *
 * @since 0.1.0
 */
export const replace = (
  self: ResourceGroup,
  resources: Iterable<Resource>,
  versions: Readonly<Record<string, string>> = {}
): Either.Either<ResourceGroup, ChangeError> => Steps.toEnd(replacing(self, resources, versions))

/**
 * {@link replace} in steps: others may run wherever it yields, and the group that is replaced stays as it is.
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
  return Either.right(new ResourceGroup(sets))
}

/**
 * Puts resources in and takes others out, in one step that every stream sees as one.
 *
 * @since 0.1.0
 */
export const update = (self: ResourceGroup, change: Change): Either.Either<ResourceGroup, ChangeError> =>
  Steps.toEnd(updating(self, change))

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
  for (const { name, typeUrl } of change.remove ?? []) {
    if (++looked % Steps.atOnce === 0) yield
    const names = removals.get(typeUrl)
    if (names === undefined) removals.set(typeUrl, [name])
    else names.push(name)
  }
  const versions = change.versions ?? {}
  const sets = new Map(self.sets)
  let changed = false
  for (const typeUrl of new Set([...types.right.keys(), ...removals.keys(), ...Object.keys(versions)])) {
    const before = set(self, typeUrl)
    const after = yield* ResourceSet.updating(before, {
      upsert: types.right.get(typeUrl) ?? noResources,
      remove: removals.get(typeUrl),
      version: versions[typeUrl]
    })
    if (Either.isLeft(after)) return Either.left(after.left)
    changed ||= after.right !== before
    sets.set(typeUrl, after.right)
  }
  return Either.right(changed ? new ResourceGroup(sets) : self)
}
