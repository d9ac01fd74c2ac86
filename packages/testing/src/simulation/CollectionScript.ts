/**
 * Random scripts of glob collections, for simulations.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as fc from "fast-check"
import * as ReferenceModel from "../reference/ReferenceModel.js"
import { collectionsOf } from "./Naming.js"
import type { ResourceSpec } from "./ResourceSpec.js"
import type { Step } from "./Script.js"
import { key } from "./StoreChange.js"

/**
 * Scripts of clusters and their assignments in glob collections, for simulations of incremental clients. Clients watch
 * collections, single members and `*`. Stores add and change members, some with the content `bad`, which watches reject, and remove
 * one or all of a collection. If members have TTLs, the last step removes all of these, so that everything comes to rest.
 *
 * @since 0.1.0
 */
export const collectionScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly group?: string | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 15 to 50. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** Whether some members have a TTL. Default: false. */
  readonly ttl?: boolean | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { clients, group = "group", maxLength = 50, minLength = 15, within = 60_000 } = options
  const { Cluster, ClusterLoadAssignment } = ResourceType
  const at = fc.nat(within)
  const client = fc.constantFrom(...clients)
  const typeUrl = fc.constantFrom(Cluster.typeUrl, Cluster.typeUrl, ClusterLoadAssignment.typeUrl)
  const naming = typeUrl.map((url) => ({ typeUrl: url, ...collectionsOf(url) }))
  const watched = naming.chain(({ asked, typeUrl }) =>
    fc.record({ typeUrl: fc.constant(typeUrl), name: fc.constantFrom(...asked, "*") })
  )
  const stored = naming.chain(({ names, typeUrl }) =>
    fc.record({ typeUrl: fc.constant(typeUrl), name: fc.constantFrom(...names) })
  )
  const ttl = fc.option(fc.constantFrom(2_500, 10_000), { nil: undefined })
  const spec = fc
    .record({ of: stored, content: fc.nat(9), ttl: options.ttl === true ? ttl : fc.constant(undefined) })
    .map(({ content, of, ttl }): ResourceSpec => {
      // The assignment of a cluster has its path.
      const assignment = of.name.replace(typeNameOf(Cluster.typeUrl), typeNameOf(ClusterLoadAssignment.typeUrl))
      const isEds = of.typeUrl === Cluster.typeUrl && content % 2 === 0
      return { ...of, content: content === 0 ? "bad" : content % 4, ttl, ...(isEds ? { assignment } : {}) }
    })
  /** All that a name covers. */
  const covered = watched.map(({ name, typeUrl }) =>
    collectionsOf(typeUrl)
      .names.filter((each) => ReferenceModel.covers(name, each))
      .map((name) => ({ typeUrl, name }))
  )
  const publish = { at, _tag: fc.constant("Publish" as const), group: fc.constant(group) }
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(at, client, watched).map(([at, client, of]): Step => ({ at, _tag: "Watch", client, ...of }))
    },
    {
      weight: 3,
      arbitrary: fc.tuple(at, client, watched).map(([at, client, of]): Step => ({ at, _tag: "Unwatch", client, ...of }))
    },
    {
      weight: 6,
      arbitrary: fc.record({
        ...publish,
        upsert: fc.uniqueArray(spec, { minLength: 1, maxLength: 3, selector: key }),
        remove: fc.array(stored, { maxLength: 1 })
      })
    },
    { weight: 2, arbitrary: fc.record({ ...publish, upsert: fc.constant([]), remove: covered }) }
  )
  return fc.array(step, { minLength, maxLength, size: "max" }).map((steps) => {
    const inOrder = steps.toSorted((one, other) => one.at - other.at)
    const specs = new Map<string, ResourceSpec>()
    for (const each of inOrder) {
      if (each._tag !== "Publish") continue
      for (const of of each.remove) specs.delete(key(of))
      for (const of of each.upsert) specs.set(key(of), of)
    }
    const upsert = Array.from(specs.values()).flatMap((each) =>
      each.ttl === undefined ? [] : [{ ...each, ttl: undefined }]
    )
    return upsert.length === 0 ? inOrder : [...inOrder, { at: within + 1, _tag: "Publish", group, upsert, remove: [] }]
  })
}

const typeNameOf = (typeUrl: string): string => typeUrl.slice(typeUrl.lastIndexOf("/") + 1)
