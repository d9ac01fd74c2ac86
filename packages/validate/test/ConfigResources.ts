/** Configurations as the resources that a server would send. */
import { fromJson, toBinary, type JsonValue } from "@bufbuild/protobuf"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import type { GroupRules } from "../src/index.js"
import type { Config, Json } from "./Config.js"

/** A field that is `undefined` is not there. */
const plain = (value: unknown): JsonValue => {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === "object" && value !== null) {
    const set = Object.entries(value).filter(([, each]) => each !== undefined)
    return Object.fromEntries(set.map(([name, each]) => [name, plain(each)]))
  }
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null
}

const kinds: Readonly<Record<keyof Config, ResourceType.ResourceType>> = {
  listeners: ResourceType.Listener,
  routes: ResourceType.RouteConfiguration,
  scopes: ResourceType.ScopedRouteConfiguration,
  virtualHosts: ResourceType.VirtualHost,
  clusters: ResourceType.Cluster,
  endpoints: ResourceType.ClusterLoadAssignment,
  secrets: ResourceType.Secret,
  extensions: ResourceType.TypedExtensionConfig
}

const isKind = (name: string): name is keyof Config => Object.hasOwn(kinds, name)

const encode = async (type: ResourceType.ResourceType, value: Json): Promise<GroupRules.Resource> => {
  const json = plain(value)
  const schema = await type.load()
  const message = fromJson(schema, json, { registry: await TypeRegistry.forJson(json) })
  return { typeUrl: type.typeUrl, name: ResourceType.nameOf(type, message) ?? "", value: toBinary(schema, message) }
}

/** The resources, in the order of the kinds. Throws where something is no message of its type. */
export const resources = async (config: Config): Promise<ReadonlyArray<GroupRules.Resource>> => {
  const entries = Object.entries(kinds).flatMap(([kind, type]) =>
    isKind(kind) ? (config[kind] ?? []).map((value) => encode(type, value)) : []
  )
  return Promise.all(entries)
}
