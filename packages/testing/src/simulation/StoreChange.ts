/**
 * Random changes of a store, and aliases that move with them from one resource to another.
 *
 * @since 0.1.0
 */
import { type Naming, namesOf, aliasOf, hosts, names } from "./Naming.js"
import type { ResourceSpec } from "./ResourceSpec.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as fc from "fast-check"

/**
 * The key of a resource in a map: type URL and name.
 *
 * @since 0.1.0
 */
export const key = ({ name, typeUrl }: Pick<ResourceSpec, "name" | "typeUrl">): string => `${typeUrl} ${name}`

/**
 * Applies a change that takes its aliases from other resources. Returns the content after it, and the resulting change.
 *
 * @since 0.1.0
 */
export const withMovedAliases = (
  before: ReadonlyMap<string, ResourceSpec>,
  { remove, upsert, versions }: StoreChange
): readonly [after: ReadonlyMap<string, ResourceSpec>, change: StoreChange] => {
  const after = new Map(before)
  for (const each of remove) after.delete(key(each))
  for (const spec of upsert) after.set(key(spec), spec)
  const put = new Set(upsert.map(key))
  const owners = new Set<string>()
  // New resources get their aliases first. No alias equals a name.
  const inOrder = [...upsert.toReversed(), ...Array.from(before.values()).filter((spec) => !put.has(key(spec)))]
  for (const spec of inOrder) {
    if (!after.has(key(spec))) continue
    const aliases = (spec.aliases ?? []).filter((alias) => {
      const own = key({ typeUrl: spec.typeUrl, name: alias })
      if (owners.has(own) || after.has(own)) return false
      owners.add(own)
      return true
    })
    after.set(key(spec), { ...spec, aliases })
  }
  const changed = Array.from(after).filter(
    ([at, spec]) => put.has(at) || spec.aliases?.length !== before.get(at)?.aliases?.length
  )
  return [after, { upsert: changed.map(([, spec]) => spec), remove, versions }]
}

/**
 * Specs of one type. Clusters are often of type EDS. Different contents have different labels, if any.
 *
 * @since 0.1.0
 */
export const resourceSpec = (
  typeUrl: string,
  options: {
    readonly ttl?: boolean
    /** Default: {@link aliasOf}. */
    readonly naming?: Naming | undefined
  } = {}
): fc.Arbitrary<ResourceSpec> =>
  fc
    .record({
      name: fc.constantFrom(...namesOf(typeUrl, options.naming)),
      aliases:
        options.naming === undefined || options.naming.aliases.length === 0
          ? fc.constant([])
          : fc.uniqueArray(fc.constantFrom(...options.naming.aliases), { maxLength: 2 }),
      content: fc.integer({ min: 1, max: 4 }),
      isEds: fc.boolean(),
      label: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined, freq: 4 }),
      ttl: options.ttl === true ? fc.option(fc.constantFrom(2_500, 10_000), { nil: undefined }) : fc.constant(undefined)
    })
    .map(({ aliases, content, isEds, label, name, ttl }) => {
      const alias = aliasOf(name)
      return {
        typeUrl,
        name,
        content,
        aliases:
          options.naming !== undefined ? aliases.filter((each) => each !== name) : alias === undefined ? [] : [alias],
        onDemandVirtualHosts: options.naming === hosts && isEds,
        assignment: isEds && typeUrl === ResourceType.Cluster.typeUrl ? name : undefined,
        // Different contents have different labels, which fails if aliases move.
        version:
          label === undefined || options.naming !== undefined
            ? undefined
            : `label ${content}${isEds ? "e" : ""}${ttl ?? ""}.${label}`,
        ttl
      }
    })

/**
 * One atomic change of a store.
 *
 * @since 0.1.0
 */
export interface StoreChange {
  readonly upsert: ReadonlyArray<ResourceSpec>
  readonly remove: ReadonlyArray<{ readonly typeUrl: string; readonly name: string }>
  /** Type URL → label of the type. */
  readonly versions: Readonly<Record<string, string>>
}

/**
 * Changes that touch up to four resources and sometimes label a type.
 *
 * @since 0.1.0
 */
export const storeChange = (
  typeUrls: ReadonlyArray<string>,
  options: { readonly ttl?: boolean; readonly naming?: Naming | undefined } = {}
): fc.Arbitrary<StoreChange> => {
  const typeUrl = fc.constantFrom(...typeUrls)
  return fc.record({
    upsert: fc.uniqueArray(
      typeUrl.chain((url) => resourceSpec(url, options)),
      { maxLength: 4, selector: (spec) => `${spec.typeUrl} ${spec.name}` }
    ),
    remove: fc.array(
      options.naming === undefined
        ? fc.record({ typeUrl, name: fc.constantFrom(...names) })
        : typeUrl.chain((url) =>
            fc.record({ typeUrl: fc.constant(url), name: fc.constantFrom(...namesOf(url, options.naming)) })
          ),
      { maxLength: 2 }
    ),
    versions: fc.dictionary(typeUrl, fc.constantFrom("red", "blue"), { maxKeys: 1, noNullPrototype: true })
  })
}
