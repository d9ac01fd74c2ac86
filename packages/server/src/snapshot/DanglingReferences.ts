/**
 * The references of a snapshot that lead nowhere.
 *
 * @since 0.1.0
 */
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type * as GroupRules from "@effect-xds/validate/GroupRules"
import * as Effect from "effect/Effect"
import * as SourceContent from "../internal/SourceContent.js"
import * as SourceName from "../internal/SourceName.js"
import * as Slots from "./Slots.js"

/**
 * A reference to a resource that is not in the snapshot.
 *
 * @since 0.1.0
 */
export interface DanglingReference {
  readonly from: ResourceGroup.ResourceKey
  readonly to: ResourceGroup.ResourceKey
  /** The reference in words: `routes "r1": virtual_hosts[0].routes[0].route.cluster names cluster "a", which is not there`. */
  readonly message: string
}

/**
 * The dangling references of a snapshot: those of the rules `GroupRule.references` of `@effect-xds/validate`, such as listener to
 * route configuration, route to cluster, cluster to load assignment. Inline content, and references to another server or a file,
 * count as present. A store accepts such a snapshot and warns: clients subscribe and wait for the missing resource. Undecodable
 * resources are skipped here; a store refuses them.
 *
 * @since 0.1.0
 */
export const check = (self: Slots.Resources): Effect.Effect<ReadonlyArray<DanglingReference>> =>
  Effect.gen(function* () {
    const entries = Slots.entries(self)
    const loop = yield* EventLoop.guarded
    yield* SourceContent.loadSchemas(entries) ?? Effect.void
    const resources: Array<GroupRules.Resource> = []
    for (const entry of entries) {
      const typeUrl = SourceContent.typeUrlOf(entry.source)
      const name = SourceName.resolve(entry, typeUrl)
      let value = SourceContent.encodeSmall(entry.source, typeUrl)
      if (value === undefined) {
        const content = yield* Slices.steps(loop, SourceContent.encodeInSteps(entry.source, typeUrl))
        value = "bytes" in content ? content.bytes : content
      }
      if (typeof name === "string" && value instanceof Uint8Array) resources.push({ typeUrl, name, value })
    }
    const [rules, { all, references }, { toText }] = yield* Effect.promise(() =>
      Promise.all([
        import("@effect-xds/validate/GroupRules"),
        import("@effect-xds/validate/GroupRule"),
        import("@effect-xds/validate/GroupFault")
      ])
    )
    const off = all.flatMap(({ name }) => (references.includes(name) ? [] : [name]))
    const { faults } = yield* rules.check(resources, { off, maxFaults: Number.POSITIVE_INFINITY })
    return faults.flatMap((fault) => {
      const { name, to, typeUrl } = fault
      return to === undefined ? [] : [{ from: { typeUrl, name }, to, message: toText(fault) }]
    })
  })
