/**
 * A group as one client sees it: each name with the variant for the client (TP2), or without a resource if there is none for it, or an
 * error in its place (TP3). A stream is served from it. Clients that said the same share it.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import type { ByAuthority } from "../protocol/DynamicParameters.js"
import * as DynamicParameters from "../protocol/DynamicParameters.js"
import * as Steps from "../Steps.js"
import { isSame } from "./Cursor.js"
import * as Difference from "./Difference.js"
import type { Resource } from "./Resource.js"
import { ResourceGroup } from "./ResourceGroup.js"
import type { ResourceSet } from "./ResourceSet.js"
import * as ResourceSets from "./ResourceSet.js"

/** Most views of a group that are kept. */
const maxViews = 64

const keyOf = (parameters: ByAuthority | undefined): string =>
  parameters === undefined ? "" : DynamicParameters.keyOf(parameters)

/**
 * The view if it takes no time: without variants and errors it is the group itself; it is known; or it differs little from the one
 * before. `undefined`: use {@link viewing}.
 *
 * @param parameters what the client said of itself; `undefined`: it gave no locators
 * @param before the view of the same client of an earlier state of the group
 * @since 0.1.0
 */
export const near = (
  group: ResourceGroup,
  parameters: ByAuthority | undefined,
  before: ResourceGroup | undefined
): ResourceGroup | undefined => {
  if (!group.isVaried) return group
  const known = group.views.get(keyOf(parameters))
  if (known !== undefined) return known
  if (before?.whole === undefined) return undefined
  for (const [typeUrl, set] of group.sets) {
    const since = before.whole.sets.get(typeUrl)
    if (since === undefined ? !HashMap.isEmpty(set.varied) : !Difference.isNear(set, since.cursor)) return undefined
  }
  return Steps.toEnd(viewing(group, parameters, before))
}

/**
 * The view, in steps; see {@link near}.
 *
 * @since 0.1.0
 */
export const viewing = function* (
  group: ResourceGroup,
  parameters: ByAuthority | undefined,
  before: ResourceGroup | undefined
): Steps.Steps<ResourceGroup> {
  if (!group.isVaried) return group
  const key = keyOf(parameters)
  const known = group.views.get(key)
  if (known !== undefined) return known
  const sets = new Map<string, ResourceSet>()
  for (const [typeUrl, set] of group.sets) {
    const since = before?.whole?.sets.get(typeUrl)
    const seen = before?.sets.get(typeUrl)
    // Other labels are in no difference.
    const isRelabelled = since !== undefined && since !== set && isSame(since.cursor, set.cursor)
    if (since !== undefined && seen !== undefined && seen !== since && !isRelabelled) {
      sets.set(typeUrl, yield* changed(seen, set, since, parameters))
    } else sets.set(typeUrl, HashMap.isEmpty(set.varied) ? set : yield* changed(set, set, undefined, parameters))
  }
  const view = new ResourceGroup(sets, group)
  const [oldest] = group.views.keys()
  if (group.views.size >= maxViews && oldest !== undefined) group.views.delete(oldest)
  group.views.set(key, view)
  return view
}

/**
 * The view.
 *
 * @since 0.1.0
 */
export const of = (group: ResourceGroup, parameters: ByAuthority | undefined, before?: ResourceGroup): ResourceGroup =>
  Steps.toEnd(viewing(group, parameters, before))

/** What the client sees after a change of a set since another one; without that, all in it that it does not see as it is. */
const changed = function* (
  seen: ResourceSet,
  set: ResourceSet,
  since: ResourceSet | undefined,
  parameters: ByAuthority | undefined
): Steps.Steps<ResourceSet> {
  if (set === since) return seen
  const upsert = new Map<string, Resource>()
  const remove: Array<string> = []
  let looked = 0
  const put = (resource: Resource) => {
    const given = chosen(resource, parameters)
    if (given === undefined) remove.push(resource.name)
    else upsert.set(given.name, given)
  }
  if (since === undefined) {
    for (const resource of HashMap.values(set.varied)) {
      put(resource)
      if (++looked % Steps.atOnce === 0) yield
    }
  } else {
    const difference = yield* Difference.inSteps(set, since.cursor)
    for (const resource of difference.changed) {
      put(resource)
      if (++looked % Steps.atOnce === 0) yield
    }
    for (const name of difference.removed.keys()) {
      remove.push(name)
      if (++looked % Steps.atOnce === 0) yield
    }
  }
  const version = set.version === ResourceSets.versionOf(set) ? undefined : set.version
  const own = HashMap.size(set.varied)
  const next = yield* ResourceSets.updating(seen, { upsert, remove, version, own })
  // There is no left: the whole set has no conflicts, and variants no aliases.
  return Either.getOrElse(next, () => seen)
}

/** What the client gets of a resource. */
const chosen = (resource: Resource, parameters: ByAuthority | undefined): Resource | undefined => {
  const { error, name, variants } = resource
  if (error !== undefined) return undefined
  if (variants === undefined) return resource
  const own = DynamicParameters.ofName(parameters ?? noParameters, name)
  const variant = variants.find(({ constraints }) => DynamicParameters.isMatch(constraints, own))
  return parameters === undefined ? variant?.plain : variant?.constrained
}

const noParameters: ByAuthority = new Map()
