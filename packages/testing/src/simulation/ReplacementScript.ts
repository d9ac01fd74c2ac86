/**
 * Random scripts of replacements (make before break), for simulations.
 *
 * @since 0.1.0
 */
import { names } from "./Naming.js"
import type { ResourceSpec } from "./ResourceSpec.js"
import type { Step } from "./Script.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as fc from "fast-check"

/**
 * Scripts of replacements, for simulations. Every client watches listeners, routes, clusters and assignments. Each change leads
 * a listener to another route, or a route to another cluster; resources without a reference are removed in the same step.
 *
 * @since 0.1.0
 */
export const replacementScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly group?: string | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 5 to 30. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { clients, group = "group", maxLength = 30, minLength = 5, within = 60_000 } = options
  const { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration } = ResourceType
  const types = [Cluster, ClusterLoadAssignment, Listener, RouteConfiguration]
  const name = fc.constantFrom(...names)
  const move = fc.record({
    at: fc.integer({ min: 1_000, max: within }),
    listener: fc.constantFrom("a", "b"),
    route: name,
    cluster: name,
    /** Content of the cluster. */
    content: fc.nat(3)
  })
  const watches = fc.tuple(
    ...clients.flatMap((client) =>
      types.map(({ typeUrl }) =>
        fc
          .boolean()
          .map((isWildcard) =>
            (isWildcard ? ["*"] : names).map((name): Step => ({ at: 0, _tag: "Watch", client, typeUrl, name }))
          )
      )
    )
  )
  return fc.tuple(watches, fc.array(move, { minLength, maxLength, size: "max" })).map(([watched, moves]) => {
    const chains = new Map<string, { readonly route: string; readonly cluster: string; readonly content: number }>()
    let before: ReadonlyMap<string, ResourceSpec> = new Map()
    const publishes = moves
      .toSorted((one, other) => one.at - other.at)
      .map(({ at, listener, ...chain }): Step => {
        chains.set(listener, chain)
        const after = new Map<string, ResourceSpec>()
        const put = (spec: ResourceSpec) => after.set(`${spec.typeUrl} ${spec.name}`, spec)
        for (const [name, { cluster, content, route }] of chains) {
          const all = Array.from(chains.values()).filter((each) => each.route === route)
          const clusters = Array.from(new Set(all.map((each) => each.cluster)))
          put({ typeUrl: Listener.typeUrl, name, content: 1, route })
          put({ typeUrl: RouteConfiguration.typeUrl, name: route, content: 1, clusters })
          put({ typeUrl: Cluster.typeUrl, name: cluster, content, assignment: cluster })
          put({ typeUrl: ClusterLoadAssignment.typeUrl, name: cluster, content: 1 })
        }
        const isNew = (spec: ResourceSpec, key: string) => JSON.stringify(spec) !== JSON.stringify(before.get(key))
        const upsert = Array.from(after).flatMap(([key, spec]) => (isNew(spec, key) ? [spec] : []))
        const remove = Array.from(before).flatMap(([key, { name, typeUrl }]) =>
          after.has(key) ? [] : [{ name, typeUrl }]
        )
        before = after
        return { at, _tag: "Publish", group, upsert, remove }
      })
    return [...watched.flat(), ...publishes]
  })
}
