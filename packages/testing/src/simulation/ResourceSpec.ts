/**
 * A resource in a few words, and the bytes that it stands for.
 *
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Variants from "@effect-xds/core/resource/Variants"
import { fieldOf, fields, utf8 } from "@effect-xds/core/wire/Wire"
import * as Either from "effect/Either"

/**
 * A resource in a few words. Its content is a number, so that tests can name it.
 *
 * @since 0.1.0
 */
export interface ResourceSpec {
  readonly typeUrl: string
  readonly name: string
  readonly content: number | string
  readonly aliases?: ReadonlyArray<string> | undefined
  /** A Cluster: of type EDS, with this assignment. */
  readonly assignment?: string | undefined
  /** A RouteConfiguration: fetches its virtual hosts by VHDS. */
  readonly onDemandVirtualHosts?: boolean | undefined
  /** A Listener: uses this route configuration, by RDS. */
  readonly route?: string | undefined
  /** A RouteConfiguration: routes to these clusters. */
  readonly clusters?: ReadonlyArray<string> | undefined
  /** The version that clients see. Default: a digest of the content. */
  readonly version?: string | undefined
  /** Milliseconds. */
  readonly ttl?: number | undefined
  /** In place of the content: variants for clients that say `env` (TP2), by its values. */
  readonly variants?: Readonly<Record<string, number>> | undefined
  /** In place of the content: the code of an error (TP3). */
  readonly error?: number | undefined
}

/** A field number that no resource type uses, so that the content is legal in all of them. */
const CONTENT = 1000

/** envoy.config.cluster.v3.Cluster: `type: EDS`, a varint. */
const TYPE_EDS = Uint8Array.of(2 * 8, 3)

const EDS_CLUSTER_CONFIG = 3

const SERVICE_NAME = 2

/** envoy.config.route.v3.RouteConfiguration */
const VHDS = 9

/** Field of envoy.config.listener.v3.Listener, and the message in it that names an RDS route. */
const API_LISTENER = 19

const CONNECTION_MANAGER =
  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

/** The content within nested fields of these numbers. */
const nested = (path: ReadonlyArray<number>, content: Uint8Array): Uint8Array =>
  path.reduceRight<Uint8Array>((inner, field) => fieldOf(field, inner), content)

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => Array.from(part)))

/**
 * The resource of a spec. Its bytes parse as a message of its type.
 *
 * @since 0.1.0
 */
export const toResource = (spec: ResourceSpec): Resource.Resource => {
  const { error, variants } = spec
  if (error !== undefined) return Either.getOrThrow(Resource.unavailable(spec, { code: error, message: "no" }))
  if (variants !== undefined) {
    const inputs = Object.entries(variants).map(([value, content]) => ({
      constraints: { _tag: "Value", key: "env", value } as const,
      value: plain({ ...spec, content }).value
    }))
    return Either.getOrThrow(Variants.make(spec, inputs))
  }
  return plain(spec)
}

const plain = (spec: ResourceSpec): Resource.Resource => {
  const { aliases, assignment, clusters = [], content, name, onDemandVirtualHosts, route, ttl, typeUrl, version } = spec
  const parts = [fieldOf(1, utf8(name)), fieldOf(CONTENT, utf8(String(content)))]
  if (assignment !== undefined) {
    parts.push(TYPE_EDS, fieldOf(EDS_CLUSTER_CONFIG, fieldOf(SERVICE_NAME, utf8(assignment))))
  }
  if (route !== undefined) {
    // api_listener.api_listener: an Any of a connection manager with rds.route_config_name.
    const manager = concat([fieldOf(1, utf8(CONNECTION_MANAGER)), nested([2, 3, 2], utf8(route))])
    parts.push(nested([API_LISTENER, 1], manager))
  }
  // virtual_hosts.routes.route.cluster
  for (const cluster of clusters) parts.push(nested([2, 3, 2, 1], utf8(cluster)))
  if (onDemandVirtualHosts === true) parts.push(fieldOf(VHDS, new Uint8Array()))
  return Either.getOrThrow(Resource.make({ typeUrl, name, value: concat(parts), aliases, version, ttl }))
}

/**
 * The content in the bytes of such a resource; empty if it has none.
 *
 * @since 0.1.0
 */
export const contentOf = (bytes: Uint8Array): string => {
  let content = ""
  try {
    fields(bytes, (reader, field, type) => {
      if (field !== CONTENT || type !== WireType.LengthDelimited) return false
      content = reader.string()
      return true
    })
  } catch {
    // Not a message: it has no content.
  }
  return content
}
