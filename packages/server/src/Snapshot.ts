/**
 * The input of a store: the resources of a group, as protobuf-es messages, `google.protobuf.Any`s or encoded bytes. A
 * snapshot is a plain object. Its resources are encoded and checked when it enters a store; messages must not be
 * changed until then.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as Reason from "@effect-xds/proto/Reason"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { TypedExtensionConfig } from "@effect-xds/proto/envoy/config/core/v3/extension"
import type { ClusterLoadAssignment } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { ScopedRouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type { Secret } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import type { Runtime } from "@effect-xds/proto/envoy/service/runtime/v3/rtds"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import type * as GroupRules from "@effect-xds/validate/GroupRules"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import * as Slice from "./internal/Slice.js"

/**
 * An encoded resource. The name must equal the one in the bytes; for a VirtualHost it is `<route
 * configuration>/<name>`.
 *
 * @since 0.1.0
 */
export interface Encoded {
  /** With or without `type.googleapis.com/`. */
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
}

/**
 * The forms of a resource.
 *
 * @since 0.1.0
 */
export type Source<M extends Message = Message> = M | Any | Encoded

/**
 * Options of a resource beside its content.
 *
 * @since 0.1.0
 */
export interface ResourceOptions {
  /**
   * The name, if it is not in the message: for a VirtualHost, and for types that are no xDS resource types. Default:
   * the name in the message.
   */
  readonly name?: string | undefined
  /** The version that clients get. Default: a digest of the content, the same on every replica. */
  readonly version?: string | undefined
  /**
   * The time to live: the client drops the resource if it is not renewed in time. The server renews it at half of it.
   */
  readonly ttl?: Duration.DurationInput | undefined
  /** Further names under which incremental clients may subscribe to it. */
  readonly aliases?: ReadonlyArray<string> | undefined
  /**
   * Whether the given bytes are kept without a copy: they must not be modified later, nor be a view into a much larger
   * buffer. Default: they are copied.
   */
  readonly keepBytes?: boolean | undefined
  /**
   * Whether the type may be unknown to this version: a custom or newer one. Its resources are given as bytes with a
   * name, and served unchanged, as a by-name type. Default: false, since an unknown type URL is usually a mistake.
   */
  readonly isUnknownType?: boolean | undefined
  /** Where the resource comes from: `clusters.yaml:3`. Messages about broken rules begin with it. Default: nothing. */
  readonly place?: string | undefined
}

/**
 * A resource with options, from {@link resource} or {@link virtualHost}.
 *
 * @since 0.1.0
 */
export interface Entry<out S extends Source = Source> {
  readonly _tag: "Entry"
  readonly source: S
  readonly options: ResourceOptions
}

/**
 * A resource, with or without options.
 *
 * @since 0.1.0
 */
export type Item<M extends Message = Message> = Source<M> | Entry<Source<M>>

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

const slots: ReadonlyArray<Slot> = [
  "clusters",
  "endpoints",
  "listeners",
  "routes",
  "scopedRoutes",
  "virtualHosts",
  "secrets",
  "runtimes",
  "extensionConfigs"
]

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
 * Resources by type.
 *
 * @since 0.1.0
 */
export interface Resources {
  /** CDS */
  readonly clusters?: Iterable<Item<Cluster>> | undefined
  /** EDS */
  readonly endpoints?: Iterable<Item<ClusterLoadAssignment>> | undefined
  /** LDS */
  readonly listeners?: Iterable<Item<Listener>> | undefined
  /** RDS */
  readonly routes?: Iterable<Item<RouteConfiguration>> | undefined
  /** SRDS */
  readonly scopedRoutes?: Iterable<Item<ScopedRouteConfiguration>> | undefined
  /** VHDS; see {@link virtualHost} for their names. */
  readonly virtualHosts?: Iterable<Item<VirtualHost>> | undefined
  /** SDS */
  readonly secrets?: Iterable<Item<Secret>> | undefined
  /** RTDS */
  readonly runtimes?: Iterable<Item<Runtime>> | undefined
  /** ECDS */
  readonly extensionConfigs?: Iterable<Item<TypedExtensionConfig>> | undefined
  /** Resources of any type of the Envoy API, mixed. */
  readonly resources?: Iterable<Item> | undefined
}

/**
 * The resources of a group, as a plain object. Its iterables are consumed once.
 *
 * @example
 * import { create } from "@bufbuild/protobuf"
 * import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
 * import type { Snapshot } from "@effect-xds/server"
 *
 * const cluster = create(ClusterSchema, {
 *   name: "backend",
 *   clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS }
 * })
 *
 * export const snapshot: Snapshot.Snapshot = { clusters: [cluster], versions: { clusters: "release-7" } }
 *
 * @since 0.1.0
 */
export interface Snapshot extends Resources {
  readonly versions?: Versions | undefined
  /**
   * The group below this one: its resources are visible through this group, without a copy. If both have a resource,
   * this group's counts; when it is removed here, the other one is visible again. Until that group is set, the clients
   * of this one wait. A type with resources in this snapshot gets its version from the visible content, whatever
   * `versions` says. Default: none.
   */
  readonly over?: string | undefined
}

/**
 * Names of resources by slot, like {@link Resources}.
 *
 * @since 0.1.0
 */
export type Names = { readonly [S in Slot]?: Iterable<string> | undefined } & {
  /** Resources of any type, mixed. */
  readonly resources?: Iterable<ResourceGroup.ResourceKey> | undefined
}

/**
 * A resource that cannot be served, and why.
 *
 * - `UnknownType`: the type is not part of the Envoy API
 * - `WrongType`: a resource of another type than its slot's
 * - `EmptyName`: no name, or for VHDS one without a route configuration
 * - `NameMismatch`: the given name differs from the one in the message, by which clients know the resource
 * - `Undecodable`: the bytes are not a message of their type
 * - `Unencodable`: a field of the message has a value that its type cannot hold
 * - `Invalid`: version, TTL or aliases cannot be served
 *
 * @since 0.1.0
 */
export class SnapshotError extends Data.TaggedError("SnapshotError")<{
  readonly reason:
    "UnknownType" | "WrongType" | "EmptyName" | "NameMismatch" | "Undecodable" | "Unencodable" | "Invalid"
  readonly typeUrl: string
  /** Empty if it is unknown. */
  readonly name: string
  /** What is wrong and what to do. */
  readonly detail: string
}> {
  override get message(): string {
    const name = this.name === "" ? "a resource" : `resource ${JSON.stringify(this.name)}`
    return `${ResourceType.shortNameOf(this.typeUrl)}: ${name}: ${this.detail}`
  }
}

/** A resource with the type of its slot, if that has one. */
interface Slotted extends Entry {
  readonly expected: ResourceType.ResourceType | undefined
}

const isEntry = (item: Item): item is Entry => "_tag" in item

const noOptions: ResourceOptions = {}

const entryOf = (item: Item, expected: ResourceType.ResourceType | undefined): Slotted =>
  isEntry(item)
    ? { _tag: "Entry", source: item.source, options: item.options, expected }
    : { _tag: "Entry", source: item, options: noOptions, expected }

const typeUrlOfSlot = (key: string): string =>
  key === "clusters" ||
  key === "endpoints" ||
  key === "listeners" ||
  key === "routes" ||
  key === "scopedRoutes" ||
  key === "virtualHosts" ||
  key === "secrets" ||
  key === "runtimes" ||
  key === "extensionConfigs"
    ? slotTypes[key].typeUrl
    : key

/**
 * Version labels by type URL.
 *
 * @since 0.1.0
 */
export const versionsByTypeUrl = (versions: Versions): Readonly<Record<string, string>> => {
  const labels: Record<string, string> = {}
  for (const [key, label] of Object.entries(versions)) {
    if (typeof label === "string") labels[typeUrlOfSlot(key)] = label
  }
  return labels
}

/**
 * The keys of names by slot.
 *
 * @since 0.1.0
 */
export const keys = (names: Names): ReadonlyArray<ResourceGroup.ResourceKey> => {
  const found = Array.from(names.resources ?? [])
  for (const slot of slots) {
    for (const name of names[slot] ?? []) found.push({ typeUrl: slotTypes[slot].typeUrl, name })
  }
  return found
}

const entriesOf = (resources: Resources): ReadonlyArray<Slotted> => {
  const entries: Array<Slotted> = []
  for (const slot of slots) {
    for (const item of resources[slot] ?? []) entries.push(entryOf(item, slotTypes[slot]))
  }
  for (const item of resources.resources ?? []) entries.push(entryOf(item, undefined))
  return entries
}

/**
 * A resource with options: a version, a TTL, aliases or a name.
 *
 * @example
 * import { create } from "@bufbuild/protobuf"
 * import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
 * import { Snapshot } from "@effect-xds/server"
 *
 * const assignment = create(ClusterLoadAssignmentSchema, { clusterName: "backend" })
 *
 * const snapshot = { endpoints: [Snapshot.resource(assignment, { ttl: "30 seconds" })] }
 *
 * @since 0.1.0
 */
export const resource = <S extends Source>(source: S, options: ResourceOptions): Entry<S> => ({
  _tag: "Entry",
  source,
  options
})

/**
 * A virtual host for VHDS. Clients subscribe to `<route configuration>/<host>`. The resource is named `<route
 * configuration>/<virtual host name>`, with such an alias for each of its domains, in lower case as Envoy requests
 * them. A host is also found by the domains `*.example.com`, `*-x`, `x.*` and `*`; the best match counts. The message
 * gets the resource's name, too: Envoy finds a removed virtual host by the name in its message.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
export const virtualHost = (
  routeConfigurationName: string,
  message: VirtualHost,
  options: Pick<ResourceOptions, "version" | "ttl"> = {}
): Entry<VirtualHost> => {
  const name = VirtualHostDiscovery.nameOf(routeConfigurationName, message.name)
  const aliases = new Set(
    message.domains.map((domain) => VirtualHostDiscovery.nameOf(routeConfigurationName, domain.toLowerCase()))
  )
  aliases.delete(name)
  return resource({ ...message, name }, { ...options, name, aliases: Array.from(aliases) })
}

const isAny = (source: Source): source is Any => "$typeName" in source && source.$typeName === "google.protobuf.Any"

/** The bytes of a source that is given encoded. */
const bytesOf = (source: Source): Uint8Array | undefined =>
  isAny(source) ? source.value : "$typeName" in source ? undefined : source.value

/** Type URLs of the table by URL and by type name, so that all resources of a type share one string. */
const typeUrls: ReadonlyMap<string, string> = new Map(
  ResourceType.ofAllApis.flatMap(({ typeName, typeUrl }) => [
    [typeName, typeUrl],
    [typeUrl, typeUrl]
  ])
)

const typeUrlOf = (source: Source): string => {
  const given = isAny(source) || !("$typeName" in source) ? source.typeUrl : source.$typeName
  return typeUrls.get(given) ?? `type.googleapis.com/${TypeRegistry.typeName(given)}`
}

/** The name in a resource, for types that have it there. */
const nameInside = (typeUrl: string, source: Source, probable?: string): string | undefined => {
  const type = ResourceType.byTypeUrl(typeUrl)
  if (type?.nameNumber === undefined || ResourceType.isOf(typeUrl, ResourceType.VirtualHost)) return undefined
  const bytes = bytesOf(source)
  if (bytes !== undefined) return ResourceType.nameOfBytes(bytes, probable, type.nameNumber)
  return "$typeName" in source ? ResourceType.nameOf(type, source) : undefined
}

const nameBeside = ({ options, source }: Entry): string | undefined =>
  options.name ?? ("$typeName" in source ? undefined : source.name)

const resolveName = (entry: Entry, typeUrl: string): Either.Either<string, SnapshotError> => {
  const beside = nameBeside(entry)
  const inside = nameInside(typeUrl, entry.source, beside)
  const name = beside ?? inside ?? ""
  const fail = (reason: SnapshotError["reason"], detail: string) =>
    Either.left(new SnapshotError({ reason, typeUrl, name, detail }))
  if (beside !== undefined && inside !== undefined && beside !== inside) {
    return fail("NameMismatch", `the name inside the message is ${JSON.stringify(inside)}; clients go by that one`)
  }
  if (ResourceType.isOf(typeUrl, ResourceType.VirtualHost)) {
    return VirtualHostDiscovery.split(name) === undefined
      ? fail("EmptyName", "a virtual host is asked for as <route configuration>/<host>; use Snapshot.virtualHost")
      : Either.right(name)
  }
  if (name !== "") return Either.right(name)
  return fail(
    "EmptyName",
    ResourceType.byTypeUrl(typeUrl)?.nameNumber === undefined
      ? "messages of this type hold no resource name; give one with Snapshot.resource(message, { name })"
      : "the name is empty; give every resource a name"
  )
}

/** Never invalidated: schemas do not change, and only known types are in it. */
const schemas = new Map<string, DescMessage>()

/** Types of v2 are known if the application loaded `@effect-xds/proto-v2`. */
const schemaOf = (typeUrl: string): Promise<DescMessage | undefined> => {
  const type = ResourceType.byTypeUrl(typeUrl)
  return type?.api === "v3" ? type.load() : TypeRegistry.load(typeUrl)
}

/** Loads missing schemas; `undefined` if there are none, as for all but the first resources of a type. */
const loadSchemas = (entries: ReadonlyArray<Slotted>): Effect.Effect<void> | undefined => {
  let missing: Set<string> | undefined
  for (const { source } of entries) {
    const typeUrl = typeUrlOf(source)
    if (!schemas.has(typeUrl)) (missing ??= new Set()).add(typeUrl)
  }
  if (missing === undefined) return undefined
  return Effect.forEach(
    missing,
    (typeUrl) =>
      Effect.promise(() => schemaOf(typeUrl)).pipe(
        Effect.tap((schema) => {
          if (schema !== undefined) schemas.set(typeUrl, schema)
        })
      ),
    { discard: true }
  )
}

const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && Buffer.compare(left, right) === 0

const sameList = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index])

const noAliases: ReadonlyArray<string> = []

/** Node's hash, in a fraction of the time of the platform's. */
const sha256 = (bytes: Uint8Array): string => hash("sha256", bytes)

/**
 * Inspects resources while they are encoded.
 *
 * @since 0.1.0
 */
export interface Inspector {
  /** Called for every new or changed resource of a known type, with the type and the message or its bytes. */
  readonly look: (
    resource: Resource.Resource,
    type: DescMessage,
    content: Message | Uint8Array,
    place: string | undefined
  ) => void
  /** What to wait for before the next resource; `undefined`: nothing. */
  readonly rest: () => Effect.Effect<void> | undefined
}

/** Returns its error as a value: this runs for every resource of every snapshot. */
const encodeEntry = (
  entry: Slotted,
  held: ResourceGroup.ResourceGroup,
  inspector: Inspector | undefined
): Resource.Resource | SnapshotError => {
  const { expected, options, source } = entry
  const typeUrl = typeUrlOf(source)
  const fail = (reason: SnapshotError["reason"], name: string, detail: string) =>
    new SnapshotError({ reason, typeUrl, name, detail })

  if (expected !== undefined && expected.typeUrl !== typeUrl) {
    const name = nameBeside(entry) ?? nameInside(typeUrl, source) ?? ""
    return fail("WrongType", name, `it stands where ${expected.typeName} is wanted; move it to its own property`)
  }
  const schema = schemas.get(typeUrl)
  if (schema === undefined && (options.isUnknownType !== true || bytesOf(source) === undefined)) {
    const detail = `${typeUrl} is not a type of the Envoy v3 API; check the type URL`
    return fail("UnknownType", nameBeside(entry) ?? "", detail)
  }

  const encoded = encodeSource(source, schema)
  if (!(encoded instanceof Uint8Array)) {
    const name = nameBeside(entry) ?? nameInside(typeUrl, source) ?? ""
    return fail(encoded.reason, name, encoded.detail)
  }
  const resolved = resolveName(entry, typeUrl)
  if (Either.isLeft(resolved)) return resolved.left
  const name = resolved.right

  const ttl = options.ttl === undefined ? undefined : Option.getOrUndefined(Duration.decodeUnknown(options.ttl))
  if (options.ttl !== undefined && (ttl === undefined || !Duration.isFinite(ttl))) {
    return fail("Invalid", name, `the TTL is not a finite duration; leave it out for a resource that stays`)
  }
  const made = {
    aliases: options.aliases ?? noAliases,
    version: options.version,
    ttl: ttl === undefined ? undefined : Duration.toMillis(ttl)
  }
  const old = ResourceGroup.get(held, { typeUrl, name })
  if (
    old !== undefined &&
    old.ttl === made.ttl &&
    old.version === (made.version ?? old.fingerprint) &&
    sameList(old.aliases, made.aliases) &&
    sameBytes(old.value, encoded)
  ) {
    return old
  }
  // The caller's bytes are copied: they may change, or be a view into a much larger buffer. `slice` of a Buffer would
  // not copy.
  const value = encoded === bytesOf(source) && options.keepBytes !== true ? new Uint8Array(encoded) : encoded
  const resource = Resource.make({ typeUrl, name, value, ...made }, sha256)
  if (Either.isLeft(resource)) return fail("Invalid", name, resource.left.reason)
  if (schema !== undefined && inspector !== undefined) {
    inspector.look(resource.right, schema, "$typeName" in source && !isAny(source) ? source : value, options.place)
  }
  return resource.right
}

const encodeSource = (
  source: Source,
  schema: DescMessage | undefined
): Uint8Array | { readonly reason: SnapshotError["reason"]; readonly detail: string } => {
  const given = bytesOf(source)
  try {
    if (given !== undefined) {
      if (schema !== undefined) MessageBytes.check(schema, given)
      return given
    }
    if ("$typeName" in source && schema !== undefined) return MessageBytes.encode(schema, source)
    return { reason: "Unencodable", detail: "it is neither a message nor bytes" }
  } catch (cause) {
    return given === undefined
      ? { reason: "Unencodable", detail: `it cannot be encoded: ${Reason.of(cause)}` }
      : {
          reason: "Undecodable",
          detail: `${given.byteLength} bytes are not a message of type ${schema?.typeName ?? ""}: ${Reason.of(cause)}`
        }
  }
}

/**
 * Encodes and checks every resource of a snapshot, as a store does. Resources with the same content in `held` are
 * reused. A large snapshot is encoded in slices, so that the event loop is not blocked. The rules of Envoy's API are
 * checked by a validator, as the inspector.
 *
 * @since 0.1.0
 */
export const encode = (
  self: Resources,
  held: ResourceGroup.ResourceGroup = ResourceGroup.empty,
  inspector?: Inspector,
  /** Gets the places of resources that have one. */
  places?: WeakMap<Resource.Resource, string>
): Effect.Effect<ReadonlyArray<Resource.Resource>, SnapshotError> =>
  Effect.flatMap(EventLoop.guarded, (loop) => {
    const entries = entriesOf(self)
    const resources: Array<Resource.Resource> = []
    const go = (): Effect.Effect<ReadonlyArray<Resource.Resource>, SnapshotError> => {
      const slice = Slice.slice(loop)
      for (let entry = entries[resources.length]; entry !== undefined; entry = entries[resources.length]) {
        const resource = encodeEntry(entry, held, inspector)
        if (resource instanceof SnapshotError) return Exit.fail(resource)
        const { place } = entry.options
        if (place !== undefined) places?.set(resource, place)
        resources.push(resource)
        const rest = inspector?.rest()
        if (rest !== undefined) return Effect.flatMap(rest, go)
        if (slice.isOver()) return Effect.flatMap(Slice.breathe(loop), go)
      }
      return Exit.succeed(resources)
    }
    const loading = loadSchemas(entries)
    return loading === undefined ? go() : Effect.flatMap(loading, go)
  })

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
export const check = (self: Resources): Effect.Effect<ReadonlyArray<DanglingReference>> =>
  Effect.gen(function* () {
    const entries = entriesOf(self)
    yield* loadSchemas(entries) ?? Effect.void
    const resources: Array<GroupRules.Resource> = []
    for (const { options, source } of entries) {
      const typeUrl = typeUrlOf(source)
      const name = Either.getOrUndefined(resolveName({ _tag: "Entry", options, source }, typeUrl))
      const value = encodeSource(source, schemas.get(typeUrl))
      if (name !== undefined && value instanceof Uint8Array) resources.push({ typeUrl, name, value })
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
