/**
 * Random scripts of virtual hosts (VHDS), for simulations.
 *
 * @since 0.1.0
 */
import { hosts, routeConfigurations, namesOf } from "./Naming.js"
import type { ResourceSpec } from "./ResourceSpec.js"
import type { Step } from "./Script.js"
import { resourceSpec, key, withMovedAliases } from "./StoreChange.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as fc from "fast-check"

/**
 * Scripts of virtual hosts that are renamed, get and lose domains, some with a TTL, for simulations of incremental clients.
 * Clients watch hosts by name and by domain, and route configurations. The last step removes all TTLs, so that everything comes
 * to rest.
 *
 * @since 0.1.0
 */
export const hostScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly group?: string | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 15 to 50. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { clients, group = "group", maxLength = 50, minLength = 15, within = 60_000 } = options
  const { RouteConfiguration, VirtualHost } = ResourceType
  const at = fc.nat(within)
  const client = fc.constantFrom(...clients)
  const watched = fc.oneof(
    fc.constantFrom(...hosts.asked).map((name) => ({ typeUrl: VirtualHost.typeUrl, name })),
    fc.constantFrom(...routeConfigurations).map((name) => ({ typeUrl: RouteConfiguration.typeUrl, name }))
  )
  const typeUrl = fc.constantFrom(VirtualHost.typeUrl, VirtualHost.typeUrl, RouteConfiguration.typeUrl)
  const spec = typeUrl.chain((url) => resourceSpec(url, { ttl: true, naming: hosts }))
  const removed = typeUrl.chain((url) =>
    fc.record({ typeUrl: fc.constant(url), name: fc.constantFrom(...namesOf(url, hosts)) })
  )
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
      weight: 8,
      arbitrary: fc.record({
        at,
        _tag: fc.constant("Publish" as const),
        group: fc.constant(group),
        upsert: fc.uniqueArray(spec, { minLength: 1, maxLength: 3, selector: key }),
        remove: fc.array(removed, { maxLength: 1 })
      })
    }
  )
  return fc.array(step, { minLength, maxLength, size: "max" }).map((steps) => {
    const inOrder = steps.toSorted((one, other) => one.at - other.at)
    let specs: ReadonlyMap<string, ResourceSpec> = new Map()
    for (const each of inOrder)
      if (each._tag === "Publish") specs = withMovedAliases(specs, { ...each, versions: {} })[0]
    const upsert = Array.from(specs.values()).flatMap((each) =>
      each.ttl === undefined ? [] : [{ ...each, ttl: undefined }]
    )
    return [...inOrder, { at: within + 1, _tag: "Publish", group, upsert, remove: [] }]
  })
}
