/** The name of a resource in any of its forms: inside the message, or given beside it. */
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { SnapshotError } from "../snapshot/SnapshotError.js"
import type { Entry, Source } from "../snapshot/Source.js"
import * as SourceContent from "./SourceContent.js"

/** The name in a resource, for types that have it there. */
const inside = (typeUrl: string, source: Source, probable?: string): string | undefined => {
  const type = ResourceType.byTypeUrl(typeUrl)
  if (type?.nameNumber === undefined || ResourceType.isOf(typeUrl, ResourceType.VirtualHost)) return undefined
  const bytes = SourceContent.bytesOf(source)
  if (bytes !== undefined) return ResourceType.nameOfBytes(bytes, probable, type.nameNumber)
  return "$typeName" in source ? ResourceType.nameOf(type, source) : undefined
}

const beside = ({ options, source }: Entry): string | undefined =>
  options.name ?? ("$typeName" in source ? undefined : source.name)

/** The name as far as it is known; empty if it is not. */
export const probable = (entry: Entry, typeUrl: string): string => beside(entry) ?? inside(typeUrl, entry.source) ?? ""

/** The name, which is not empty, or why there is none that clients could ask for. */
export const resolve = (entry: Entry, typeUrl: string): string | SnapshotError => {
  const given = beside(entry)
  const read = inside(typeUrl, entry.source, given)
  const name = given ?? read ?? ""
  const fail = (reason: SnapshotError["reason"], detail: string) => new SnapshotError({ reason, typeUrl, name, detail })
  if (given !== undefined && read !== undefined && given !== read) {
    return fail("NameMismatch", `the name inside the message is ${JSON.stringify(read)}; clients go by that one`)
  }
  if (ResourceType.isOf(typeUrl, ResourceType.VirtualHost)) {
    const routes = VirtualHostDiscovery.split(name)?.routeConfiguration
    if (routes === undefined) {
      return fail("EmptyName", "a virtual host is asked for as <route configuration>/<host>; use Snapshot.virtualHost")
    }
    // ★ Envoy goes by the name alone, and would pass it over: requests for its hosts would wait for ever.
    const other = entry.options.aliases?.find(
      (alias) => VirtualHostDiscovery.split(alias)?.routeConfiguration !== routes
    )
    return other === undefined
      ? name
      : fail(
          "Invalid",
          `clients take it for one of the route configuration ${JSON.stringify(routes)}, and look for ` +
            `${JSON.stringify(other)} in another one; give it a name without a slash`
        )
  }
  if (name !== "") return name
  return fail(
    "EmptyName",
    ResourceType.byTypeUrl(typeUrl)?.nameNumber === undefined
      ? "messages of this type hold no resource name; give one with Snapshot.resource(message, { name })"
      : "the name is empty; give every resource a name"
  )
}
