/**
 * The resources of a group as the static ones of a bootstrap, so that an Envoy can be asked about them without a server. What
 * refers to a server goes on to do so; what would come from it is put where Envoy reads it.
 *
 * @since 0.1.0
 */
import type { JsonValue } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import { redacted } from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Effect from "effect/Effect"
import * as ResourceText from "./ResourceText.js"

type Json = { readonly [name: string]: JsonValue }

/**
 * A resource, and what stands for it in the bootstrap.
 *
 * @since 0.1.0
 */
export interface Item<R> {
  readonly resource: R
  readonly section: "secrets" | "clusters" | "listeners"
  readonly json: Json
  /** What of it is in no message: secrets, and the values of headers. */
  readonly secrets: Effect.Effect<ReadonlyArray<string>>
}

const isJson = (value: JsonValue | undefined): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const adsCluster = "effect-xds ads"

const any = (type: string, value: Json = {}): Json => ({ "@type": `type.googleapis.com/${type}`, ...value })

const extensions = "envoy.extensions"

/** Nobody connects to it. */
const anyPort: Json = { socket_address: { address: "127.0.0.1", port_value: 0 } }

/** A listener with a table of routes in it, whose clusters are asked for as by RDS. */
const routeCarrier = (name: string, table: Json): Json => {
  const manager = any(`${extensions}.filters.network.http_connection_manager.v3.HttpConnectionManager`, {
    stat_prefix: "effect-xds",
    route_config: { validate_clusters: false, ...table },
    http_filters: [{ name: "router", typed_config: any(`${extensions}.filters.http.router.v3.Router`) }]
  })
  const filters = [{ name: "manager", typed_config: manager }]
  return { name: `effect-xds ${name}`, address: anyPort, filter_chains: [{ filters }] }
}

const usesLeds = (value: JsonValue): boolean => JSON.stringify(value).includes('"leds_cluster_locality_config"')

/** ★ Clusters come before what asks for them: a part of the list from its beginning is a configuration, too. */
const order: ReadonlyArray<ResourceType.ResourceType> = [
  ResourceType.Secret,
  ResourceType.Cluster,
  ResourceType.ClusterLoadAssignment,
  ResourceType.RouteConfiguration,
  ResourceType.VirtualHost,
  ResourceType.Listener
]

/** All texts in a value. */
const textsIn = (value: JsonValue, found: Array<string>): void => {
  if (typeof value === "string") found.push(value)
  else if (Array.isArray(value)) for (const each of value) textsIn(each, found)
  else if (isJson(value)) for (const each of Object.values(value)) textsIn(each, found)
}

/** The texts that are not in the copy, and the values of headers, which Envoy's API does not mark. */
const secretsIn = (value: JsonValue, copy: JsonValue | undefined, found: Array<string>): void => {
  if (copy === redacted) textsIn(value, found)
  else if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) secretsIn(each, Array.isArray(copy) ? copy[index] : undefined, found)
  } else if (isJson(value)) {
    const isHeader = typeof value["key"] === "string" && typeof value["value"] === "string"
    for (const [name, each] of Object.entries(value)) {
      if (isHeader && name === "value") textsIn(each, found)
      else secretsIn(each, isJson(copy) ? copy[name] : undefined, found)
    }
  }
}

type Carried = Pick<Item<unknown>, "section" | "json">

const carried = (type: ResourceType.ResourceType, name: string, json: Json): Carried | undefined => {
  switch (type) {
    case ResourceType.Secret:
      return { section: "secrets", json }
    case ResourceType.Cluster:
      return { section: "clusters", json }
    case ResourceType.Listener:
      // One for gRPC is not for Envoy.
      return "api_listener" in json ? undefined : { section: "listeners", json }
    case ResourceType.ClusterLoadAssignment:
      // A static cluster may not have what only EDS has.
      if (usesLeds(json)) return undefined
      return {
        section: "clusters",
        json: { name: `effect-xds endpoints ${name}`, type: "STATIC", load_assignment: json }
      }
    case ResourceType.RouteConfiguration:
      return { section: "listeners", json: routeCarrier(`routes ${name}`, json) }
    case ResourceType.VirtualHost:
      return {
        section: "listeners",
        json: routeCarrier(`virtual host ${name}`, { name, virtual_hosts: [json] })
      }
    default:
      return undefined
  }
}

interface Resource {
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
}

/**
 * The items of resources, clusters first. What Envoy reads only from a server (scopes, extensions, runtimes) has none, nor has
 * what cannot be read.
 *
 * @since 0.1.0
 */
export const items = <R extends Resource>(resources: ReadonlyArray<R>): Effect.Effect<ReadonlyArray<Item<R>>> =>
  Effect.promise(async () => {
    const all: Array<Item<R>> = []
    for (const type of order) {
      const schema = await type.load()
      for (const resource of resources) {
        if (resource.typeUrl !== type.typeUrl) continue
        let json: JsonValue
        try {
          json = await ResourceText.json(schema, fromBinary(schema, resource.value), true)
        } catch {
          continue
        }
        // One that cannot be written as JSON is its bytes.
        if (!isJson(json) || "value" in json) continue
        const made = carried(type, resource.name, json)
        if (made === undefined) continue
        const secrets = Effect.promise(async () => {
          const found: Array<string> = []
          secretsIn(json, await ResourceText.json(schema, fromBinary(schema, resource.value), false), found)
          return found
        })
        all.push({ ...made, resource, secrets })
      }
    }
    return all
  })

/** `self` is the server that a resource came from; a static one came from none. */
const withoutSelf = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(withoutSelf)
  if (!isJson(value)) return value
  const isSelf = isJson(value["self"]) && "resource_api_version" in value
  const entries = Object.entries(value).map(([name, each]): [string, JsonValue] =>
    isSelf && name === "self" ? ["ads", {}] : [name, withoutSelf(each)]
  )
  return Object.fromEntries(entries)
}

/** The clusters of servers that resources come from: an Envoy is started with them, so they are not in the group. */
const sourcesIn = (value: JsonValue, found: Set<string>): void => {
  if (Array.isArray(value)) for (const each of value) sourcesIn(each, found)
  if (!isJson(value)) return
  const source = value["api_config_source"]
  if (isJson(source)) {
    const { cluster_names: names, grpc_services: services } = source
    for (const name of Array.isArray(names) ? names : []) if (typeof name === "string") found.add(name)
    for (const service of Array.isArray(services) ? services : []) {
      const envoy = isJson(service) ? service["envoy_grpc"] : undefined
      const name = isJson(envoy) ? envoy["cluster_name"] : undefined
      if (typeof name === "string") found.add(name)
    }
  }
  for (const each of Object.values(value)) sourcesIn(each, found)
}

const serverCluster = (name: string): Json => ({
  name,
  type: "STATIC",
  typed_extension_protocol_options: {
    [`${extensions}.upstreams.http.v3.HttpProtocolOptions`]: any(
      `${extensions}.upstreams.http.v3.HttpProtocolOptions`,
      {
        explicit_http_config: { http2_protocol_options: {} }
      }
    )
  },
  load_assignment: {
    cluster_name: name,
    endpoints: [{ lb_endpoints: [{ endpoint: { address: { pipe: { path: "/nowhere" } } } }] }]
  }
})

/**
 * A bootstrap with the items in it. Of clusters that are left out there is one of the same name, so that what names them is
 * no mistake.
 *
 * @since 0.1.0
 */
export const make = (kept: ReadonlyArray<Item<unknown>>, left: ReadonlyArray<Item<unknown>>): Json => {
  const section = (name: Item<unknown>["section"]): Array<Json> =>
    kept.filter((item) => item.section === name).map(({ json }) => json)
  const clusters = section("clusters")
  const names = new Set(clusters.map(({ name }) => name))
  const sources = new Set<string>()
  for (const { json } of [...kept, ...left]) sourcesIn(json, sources)
  for (const { json, section } of left) {
    const { name } = json
    if (section === "clusters" && typeof name === "string") sources.add(name)
  }
  const others = Array.from(sources).filter((name) => !names.has(name))
  const bootstrap = {
    node: { id: "effect-xds", cluster: "effect-xds" },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        grpc_services: [{ envoy_grpc: { cluster_name: adsCluster } }]
      }
    },
    static_resources: {
      secrets: section("secrets"),
      clusters: [...clusters, ...[adsCluster, ...others].map(serverCluster)],
      listeners: section("listeners")
    }
  }
  const json = withoutSelf(bootstrap)
  return isJson(json) ? json : {}
}
