/**
 * The properties of a snapshot: which holds resources of which type.
 *
 * @since 0.1.0
 */
import type { Message } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { TypedExtensionConfig } from "@effect-xds/proto/envoy/config/core/v3/extension"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { ScopedRouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type { Secret } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import type { Runtime } from "@effect-xds/proto/envoy/service/runtime/v3/rtds"
import { SnapshotError } from "./SnapshotError.js"
import type { Entry, Item, ResourceOptions } from "./Source.js"

const slotTypes = {
  clusters: ResourceType.Cluster,
  endpoints: ResourceType.ClusterLoadAssignment,
  listeners: ResourceType.Listener,
  routes: ResourceType.RouteConfiguration,
  scopedRoutes: ResourceType.ScopedRouteConfiguration,
  virtualHosts: ResourceType.VirtualHost,
  secrets: ResourceType.Secret,
  runtimes: ResourceType.Runtime,
  extensionConfigs: ResourceType.TypedExtensionConfig
} as const

/**
 * The properties of {@link Resources} for resources of one type.
 *
 * @since 0.1.0
 */
export type Slot = keyof typeof slotTypes

const isSlot = (key: string): key is Slot => Object.hasOwn(slotTypes, key)

const slots: ReadonlyArray<Slot> = Object.keys(slotTypes).filter(isSlot)

/**
 * Version labels of whole types, which clients get as `version_info`, by slot or by type URL. Default: a digest of the
 * type's content. A label never decides what changed: that is found from the content.
 *
 * @since 0.1.0
 */
export type Versions = { readonly [S in Slot]?: string | undefined } & {
  readonly [typeUrl: `${string}/${string}`]: string
}

/**
 * Resources by type. In a group of v2 each has messages of v2, of `@effect-xds/proto-v2`.
 *
 * @since 0.1.0
 */
export interface Resources {
  /** CDS */
  readonly clusters?: Iterable<Item<Cluster | Message<"envoy.api.v2.Cluster">>> | undefined
  /** EDS */
  readonly endpoints?: Iterable<Item<ClusterLoadAssignment | Message<"envoy.api.v2.ClusterLoadAssignment">>> | undefined
  /** LDS */
  readonly listeners?: Iterable<Item<Listener | Message<"envoy.api.v2.Listener">>> | undefined
  /** RDS */
  readonly routes?: Iterable<Item<RouteConfiguration | Message<"envoy.api.v2.RouteConfiguration">>> | undefined
  /** SRDS */
  readonly scopedRoutes?:
    Iterable<Item<ScopedRouteConfiguration | Message<"envoy.api.v2.ScopedRouteConfiguration">>> | undefined
  /** VHDS; see `Snapshot.virtualHost` for their names. */
  readonly virtualHosts?: Iterable<Item<VirtualHost | Message<"envoy.api.v2.route.VirtualHost">>> | undefined
  /** SDS */
  readonly secrets?: Iterable<Item<Secret | Message<"envoy.api.v2.auth.Secret">>> | undefined
  /** RTDS */
  readonly runtimes?: Iterable<Item<Runtime | Message<"envoy.service.discovery.v2.Runtime">>> | undefined
  /** ECDS */
  readonly extensionConfigs?: Iterable<Item<TypedExtensionConfig>> | undefined
  /** Resources of any type of the Envoy API, mixed. */
  readonly resources?: Iterable<Item> | undefined
}

/**
 * Names of resources by slot, like {@link Resources}: lists of them, since a string would be the list of its characters.
 *
 * @since 0.1.0
 */
export type Names = { readonly [S in Slot]?: (Iterable<string> & object) | undefined } & {
  /** Resources of any type, mixed. */
  readonly resources?: Iterable<ResourceGroup.ResourceKey> | undefined
}

/**
 * Version labels by type URL.
 *
 * @param api of the group
 * @since 0.1.0
 */
export const versionsByTypeUrl = (
  versions: Versions,
  api: ResourceType.Api = "v3"
): Readonly<Record<string, string>> => {
  const labels: Record<string, string> = {}
  for (const [key, label] of Object.entries(versions)) {
    if (typeof label === "string") labels[isSlot(key) ? ResourceType.typeUrlIn(api, slotTypes[key]) : key] = label
  }
  return labels
}

/** What it is, in words. */
const shown = (value: unknown): string =>
  typeof value === "string"
    ? JSON.stringify(value.slice(0, 64))
    : value === null
      ? "null"
      : `a value of type ${typeof value}`

const unknownProperty = (key: string, where: string): SnapshotError => {
  const detail = `${JSON.stringify(key.slice(0, 64))} is no property of ${where}`
  return new SnapshotError({ reason: "Malformed", typeUrl: "", name: "", detail })
}

/**
 * What is wrong with the properties of a snapshot, or of names; `undefined`: nothing. Whoever gives one that the types do not show
 * would lose resources without a word.
 *
 * @since 0.1.0
 */
export const malformed = (given: Names | Resources): SnapshotError | undefined => {
  for (const key in given) {
    const value: unknown = Reflect.get(given, key)
    // The others of a snapshot.
    if (value === undefined || key === "versions" || key === "over") continue
    if (isSlot(key) || key === "resources") {
      if (typeof value === "object" && value !== null && Symbol.iterator in value) continue
      const typeUrl = isSlot(key) ? slotTypes[key].typeUrl : ""
      return new SnapshotError({
        reason: "Malformed",
        typeUrl,
        name: "",
        detail: `${key} is no list, but ${shown(value)}`
      })
    }
    return unknownProperty(key, `a snapshot, which has ${[...slots, "resources"].join(", ")}`)
  }
  return undefined
}

/**
 * What is wrong with a change of a group, beside the resources in it, which {@link malformed} is asked about; `undefined`: nothing.
 *
 * @since 0.1.0
 */
export const malformedChange = (change: { readonly remove?: Names | undefined }): SnapshotError | undefined => {
  for (const key in change) {
    if (key === "upsert" || key === "remove" || key === "versions" || Reflect.get(change, key) === undefined) continue
    const hint = isSlot(key) || key === "resources" ? "; put it into upsert or remove" : ""
    return unknownProperty(key, `a change, which has upsert, remove, versions${hint}`)
  }
  return change.remove && malformed(change.remove)
}

/**
 * The keys of names by slot.
 *
 * @param api of the group
 * @since 0.1.0
 */
export const keys = (names: Names, api: ResourceType.Api = "v3"): ReadonlyArray<ResourceGroup.ResourceKey> => {
  const found = Array.from(names.resources ?? [])
  for (const slot of slots) {
    const typeUrl = ResourceType.typeUrlIn(api, slotTypes[slot])
    for (const name of names[slot] ?? []) found.push({ typeUrl, name })
  }
  return found
}

/**
 * The version of Envoy's API of resources, else that of the group that they come into, else v3.
 *
 * @since 0.1.0
 */
export const apiOf = (
  resources: ReadonlyArray<Pick<ResourceGroup.ResourceKey, "typeUrl">>,
  held?: ResourceGroup.ResourceGroup
): ResourceType.Api => {
  for (const { typeUrl } of resources) {
    const type = ResourceType.byTypeUrl(typeUrl)
    if (type !== undefined) return type.api
  }
  return (held === undefined ? undefined : ResourceGroup.apiOf(held)) ?? "v3"
}

/**
 * A resource with the type of its slot, if that has one.
 *
 * @since 0.1.0
 */
export interface Slotted extends Entry {
  readonly expected: ResourceType.ResourceType | undefined
}

const noOptions: ResourceOptions = {}

const slotted = (item: Item, expected: ResourceType.ResourceType | undefined): Slotted =>
  "_tag" in item
    ? { _tag: "Entry", source: item.source, options: item.options, expected }
    : { _tag: "Entry", source: item, options: noOptions, expected }

/** A list that grows from nothing has room for seventeen, and most changes have one resource. */
const withItems = (
  all: Array<Slotted> | undefined,
  items: Iterable<Item> | undefined,
  expected: ResourceType.ResourceType | undefined
): Array<Slotted> | undefined => {
  if (items === undefined) return all
  let list = all
  for (const item of items) {
    const next = slotted(item, expected)
    if (list === undefined) list = [next]
    else list.push(next)
  }
  return list
}

const noEntries: ReadonlyArray<Slotted> = []

/**
 * All resources, slot after slot. The iterables are consumed.
 *
 * @since 0.1.0
 */
export const entries = (resources: Resources): ReadonlyArray<Slotted> => {
  // Property by property, in the order of the slots: of a property with a changing name V8 looks for the place each time.
  let all = withItems(undefined, resources.clusters, slotTypes.clusters)
  all = withItems(all, resources.endpoints, slotTypes.endpoints)
  all = withItems(all, resources.listeners, slotTypes.listeners)
  all = withItems(all, resources.routes, slotTypes.routes)
  all = withItems(all, resources.scopedRoutes, slotTypes.scopedRoutes)
  all = withItems(all, resources.virtualHosts, slotTypes.virtualHosts)
  all = withItems(all, resources.secrets, slotTypes.secrets)
  all = withItems(all, resources.runtimes, slotTypes.runtimes)
  all = withItems(all, resources.extensionConfigs, slotTypes.extensionConfigs)
  return withItems(all, resources.resources, undefined) ?? noEntries
}
