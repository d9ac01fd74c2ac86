/**
 * Random scripts for simulations: watches start and end, stores and groups change.
 *
 * @since 0.1.0
 */
import { names } from "./Naming.js"
import type { ResourceSpec } from "./ResourceSpec.js"
import type { Step } from "./Script.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as fc from "fast-check"

/**
 * Resources that refer to one another: listeners to routes, routes to clusters, clusters to assignments. Watches of simulations
 * reject the content `bad`.
 *
 * @since 0.1.0
 */
export const connectedResource = (options: {
  readonly typeUrls: ReadonlyArray<string>
  /** Whether some have the content `bad`. Default: true. */
  readonly bad?: boolean | undefined
}): fc.Arbitrary<ResourceSpec> =>
  fc
    .record({
      typeUrl: fc.constantFrom(...options.typeUrls),
      name: fc.constantFrom(...names),
      content: fc.integer({ min: options.bad === false ? 1 : 0, max: 9 }),
      others: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 })
    })
    .map(({ content, name, others, typeUrl }) => ({
      typeUrl,
      name,
      content: content === 0 ? "bad" : content % 4,
      ...(typeUrl === ResourceType.Cluster.typeUrl && content % 2 === 0 ? { assignment: name } : {}),
      ...(typeUrl === ResourceType.RouteConfiguration.typeUrl ? { clusters: others } : {}),
      ...(typeUrl === ResourceType.Listener.typeUrl ? { route: others[0] } : {})
    }))

/**
 * Scripts for simulations: watches start and end, and stores change.
 *
 * @since 0.1.0
 */
export const simulationScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly groups?: ReadonlyArray<string> | undefined
  /** Default: CDS, EDS, LDS and RDS. */
  readonly typeUrls?: ReadonlyArray<string> | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 20 to 60. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** Whether some resources are rejected. Default: true. */
  readonly bad?: boolean | undefined
  /** Whether there are wildcard watches. Default: true. */
  readonly wildcard?: boolean | undefined
  /** Whether groups are cleared. Default: false. */
  readonly clear?: boolean | undefined
  /** Whether clients are moved from one group to another. Default: false. */
  readonly move?: boolean | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { maxLength = 60, minLength = 20, within = 60_000 } = options
  const typeUrls = options.typeUrls ?? [
    ResourceType.Cluster.typeUrl,
    ResourceType.ClusterLoadAssignment.typeUrl,
    ResourceType.Listener.typeUrl,
    ResourceType.RouteConfiguration.typeUrl
  ]
  const at = fc.nat(within)
  const typeUrl = fc.constantFrom(...typeUrls)
  const client = fc.constantFrom(...options.clients)
  const group = fc.constantFrom(...(options.groups ?? ["group"]))
  const name = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constant("unknown") },
    { weight: options.wildcard === false ? 0 : 2, arbitrary: fc.constant("*") }
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ at, _tag: fc.constant("Watch" as const), client, typeUrl, name }) },
    { weight: 3, arbitrary: fc.record({ at, _tag: fc.constant("Unwatch" as const), client, typeUrl, name }) },
    {
      weight: 8,
      arbitrary: fc.record({
        at,
        _tag: fc.constant("Publish" as const),
        group,
        upsert: fc.array(connectedResource({ typeUrls, bad: options.bad }), { maxLength: 4 }),
        remove: fc.array(fc.record({ typeUrl, name: fc.constantFrom(...names) }), { maxLength: 2 })
      })
    },
    {
      weight: options.clear === true ? 1 : 0,
      arbitrary: fc.record({ at, _tag: fc.constant("Clear" as const), group })
    },
    {
      weight: options.move === true ? 4 : 0,
      arbitrary: fc.record({ at, _tag: fc.constant("Move" as const), client, group })
    }
  )
  return fc
    .array(step, { minLength, maxLength, size: "max" })
    .map((steps) => steps.toSorted((one, other) => one.at - other.at))
}
