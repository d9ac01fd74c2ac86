/**
 * Variants of a resource (TP2): one name, several contents, each with constraints on the dynamic parameters of a client. A set holds them
 * as one resource. A stream is served from a view of the group in which each name has the variant for its client, or is not there.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP2-dynamically-generated-cacheable-xds-resources.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import type { ByAuthority, Constraints } from "../protocol/DynamicParameters.js"
import * as DynamicParameters from "../protocol/DynamicParameters.js"
import type * as Digest from "./Digest.js"
import type { Options, Resource, Variant } from "./Resource.js"
import * as Resources from "./Resource.js"
import { ResourceGroup } from "./ResourceGroup.js"
import type { ResourceSet } from "./ResourceSet.js"
import * as ResourceSets from "./ResourceSet.js"

/**
 * The content of a variant.
 *
 * @since 0.1.0
 */
export interface Input extends Pick<Options, "version" | "ttl"> {
  readonly constraints: Constraints
  readonly value: Uint8Array
}

/**
 * Makes a resource of variants. Fails with `InvalidResource`, also if there are parameters that match two of them.
 *
 * @since 0.1.0
 */
export const make = (
  { name, typeUrl }: { readonly typeUrl: string; readonly name: string },
  inputs: ReadonlyArray<Input>,
  hasher?: Digest.Hasher
): Either.Either<Resource, Resources.InvalidResource> => {
  const invalid = (reason: string) => Either.left(new Resources.InvalidResource({ typeUrl, name, reason }))
  if (inputs.length === 0) return invalid("it has no variants; give at least one")
  const fault = DynamicParameters.overlap(inputs.map(({ constraints }) => constraints))
  if (fault !== undefined) return invalid(`its variants do not exclude each other: ${fault}`)
  const variants: Array<Variant> = []
  const identities: Array<string> = []
  for (const { constraints, ttl, value, version } of inputs) {
    const made = Resources.make({ typeUrl, name, value, version, ttl }, hasher)
    if (Either.isLeft(made)) return Either.left(made.left)
    const plain = made.right
    const bytes = DynamicParameters.encode(constraints)
    const identity = `${plain.fingerprint} ${plain.version} ${Array.from(bytes).join()}`
    // Constraints are a part of what a client holds.
    const marked = Resources.make({ typeUrl, name, value: new TextEncoder().encode(identity) }, hasher)
    if (Either.isLeft(marked)) return Either.left(marked.left)
    const { digest, fingerprint } = marked.right
    variants.push({ constraints, plain, constrained: { ...plain, digest, fingerprint, constraints: bytes } })
    identities.push(identity)
  }
  const whole = Resources.make({ typeUrl, name, value: new TextEncoder().encode(identities.join("\n")) }, hasher)
  return Either.map(whole, (resource) => ({ ...resource, value: new Uint8Array(), variants }))
}

/** Whether a resource of a set has variants. Found once for a set. */
const areIn = (set: ResourceSet): boolean => (set.computed.hasVariants ??= HashMap.some(set.resources, isOne))

const isOne = ({ variants }: Resource): boolean => variants !== undefined

/** Most views of a group that are kept. */
const maxViews = 64

/**
 * The group as a client sees it. Without variants it is the group itself. Clients with the same parameters share the view.
 *
 * @param parameters `undefined`: the client gave no locators
 * @since 0.1.0
 */
export const viewOf = (group: ResourceGroup, parameters: ByAuthority | undefined): ResourceGroup => {
  if (!(group.hasVariants ??= someSet(group))) return group
  const key = parameters === undefined ? "" : DynamicParameters.keyOf(parameters)
  const known = group.views.get(key)
  if (known !== undefined) return known
  const sets = new Map(group.sets)
  for (const [typeUrl, set] of group.sets) if (areIn(set)) sets.set(typeUrl, seen(set, parameters))
  const view = new ResourceGroup(sets, group)
  const [oldest] = group.views.keys()
  if (group.views.size >= maxViews && oldest !== undefined) group.views.delete(oldest)
  group.views.set(key, view)
  return view
}

const someSet = ({ sets }: ResourceGroup): boolean => {
  for (const set of sets.values()) if (areIn(set)) return true
  return false
}

/** The set with the variants for a client; a name without one for it is not there. */
const seen = (set: ResourceSet, parameters: ByAuthority | undefined): ResourceSet => {
  const upsert: Array<Resource> = []
  const remove: Array<string> = []
  for (const { name, variants } of HashMap.values(set.resources)) {
    if (variants === undefined) continue
    const own = DynamicParameters.ofName(parameters ?? noParameters, name)
    const variant = variants.find(({ constraints }) => DynamicParameters.isMatch(constraints, own))
    if (variant === undefined) remove.push(name)
    else upsert.push(parameters === undefined ? variant.plain : variant.constrained)
  }
  // Cannot fail: variants have no aliases.
  return Either.getOrThrow(ResourceSets.update(set, { upsert, remove }))
}

const noParameters: ByAuthority = new Map()
