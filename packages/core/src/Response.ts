/**
 * Discovery responses: what they say, and their bytes.
 *
 * One response value is shared by every stream that needs the same; its body is assembled once, from resources that
 * are already encoded. Only the nonce is a stream's own: protobuf fields may stand in any order, so a message is the
 * shared body followed by a few bytes.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import type { Protocol } from "./Request.js"
import type { Resource } from "./Resource.js"
import { fieldOf, sizeOfField, sizeOfVarint, utf8, Writer } from "./Wire.js"

/**
 * A `DiscoveryResponse` or `DeltaDiscoveryResponse` without its nonce.
 *
 * @since 0.1.0
 */
export interface Response {
  readonly protocol: Protocol
  readonly typeUrl: string
  /** `version_info`, or `system_version_info`, which is for people only. */
  readonly version: string
  readonly resources: ReadonlyArray<Resource>
  /** `removed_resources`. Incremental only. */
  readonly removed: ReadonlyArray<string>
  /** Sent without a body: they renew a TTL and are no update. */
  readonly heartbeats: ReadonlyArray<Resource>
  /** VHDS: names answered by a resource without a body, which says that the host does not exist. */
  readonly absent: ReadonlyArray<string>
  /** Resource name → the aliases by which this client asked for it. Incremental only. */
  readonly aliases: ReadonlyMap<string, ReadonlyArray<string>>
  /** Whether TTLs are given to this client. In state of the world it also means: wrapped in `Resource`. */
  readonly ttl: boolean
}

const noAliases: ReadonlyMap<string, ReadonlyArray<string>> = new Map()

/**
 * A response; what is left out is empty.
 *
 * @since 0.1.0
 */
export const make = (response: Pick<Response, "protocol" | "typeUrl" | "version"> & Partial<Response>): Response => ({
  resources: [],
  removed: [],
  heartbeats: [],
  absent: [],
  aliases: noAliases,
  ttl: false,
  ...response
})

const RESOURCE_TYPE_URL = utf8("type.googleapis.com/envoy.service.discovery.v3.Resource")

/** envoy.service.discovery.v3.DiscoveryResponse */
const SOTW = { version: 1, resources: 2, typeUrl: 4, nonce: 5, controlPlane: 6 } as const
/** envoy.service.discovery.v3.DeltaDiscoveryResponse */
const DELTA = { version: 1, resources: 2, typeUrl: 4, nonce: 5, removed: 6, controlPlane: 7 } as const
/** envoy.service.discovery.v3.Resource */
const RESOURCE = { version: 1, resource: 2, name: 3, aliases: 4, ttl: 6 } as const
/** google.protobuf.Any */
const ANY = { typeUrl: 1, value: 2 } as const
/** google.protobuf.Duration */
const DURATION = { seconds: 1, nanos: 2 } as const

/** A length-delimited field whose content is written in place: nothing is copied but into the final buffer. */
interface Part {
  readonly size: number
  readonly write: (writer: Writer) => void
}

const bytesPart = (field: number, bytes: Uint8Array): Part => ({
  size: bytes.byteLength === 0 ? 0 : sizeOfField(field, bytes.byteLength),
  write: (writer) => {
    if (bytes.byteLength > 0) writer.field(field, bytes)
  }
})

const messagePart = (field: number, parts: ReadonlyArray<Part>): Part => {
  let length = 0
  for (const part of parts) length += part.size
  return {
    size: sizeOfField(field, length),
    write: (writer) => {
      writer.head(field, length)
      for (const part of parts) part.write(writer)
    }
  }
}

const anyPart = (field: number, typeUrl: Uint8Array, value: Uint8Array): Part =>
  messagePart(field, [bytesPart(ANY.typeUrl, typeUrl), bytesPart(ANY.value, value)])

const durationPart = (field: number, milliseconds: number): Part => {
  const seconds = Math.floor(milliseconds / 1000)
  const nanos = Math.round((milliseconds - seconds * 1000) * 1e6)
  const length = (seconds > 0 ? 1 + sizeOfVarint(seconds) : 0) + (nanos > 0 ? 1 + sizeOfVarint(nanos) : 0)
  return {
    size: sizeOfField(field, length),
    write: (writer) => {
      writer.head(field, length)
      if (seconds > 0) {
        writer.varint(DURATION.seconds * 8)
        writer.varint(seconds)
      }
      if (nanos > 0) {
        writer.varint(DURATION.nanos * 8)
        writer.varint(nanos)
      }
    }
  }
}

/** An `envoy.service.discovery.v3.Resource`; without a body if there is no type URL. */
const resourceParts = (
  resource: { readonly name: string; readonly version: string; readonly ttl: number | undefined },
  aliases: ReadonlyArray<string>,
  body: { readonly typeUrl: Uint8Array; readonly value: Uint8Array } | undefined
): Array<Part> => {
  const parts = [bytesPart(RESOURCE.version, utf8(resource.version))]
  if (body !== undefined) parts.push(anyPart(RESOURCE.resource, body.typeUrl, body.value))
  parts.push(bytesPart(RESOURCE.name, utf8(resource.name)))
  for (const alias of aliases) parts.push(bytesPart(RESOURCE.aliases, utf8(alias)))
  if (resource.ttl !== undefined) parts.push(durationPart(RESOURCE.ttl, resource.ttl))
  return parts
}

const withoutTtl = (resource: Resource, response: Response): Pick<Resource, "name" | "version" | "ttl"> =>
  response.ttl || resource.ttl === undefined
    ? resource
    : { name: resource.name, version: resource.version, ttl: undefined }

const stateOfTheWorldParts = (response: Response): Array<Part> => {
  const typeUrl = utf8(response.typeUrl)
  const wrapped = (parts: ReadonlyArray<Part>): Part => {
    const wrapper = messagePart(ANY.value, parts)
    return messagePart(SOTW.resources, [bytesPart(ANY.typeUrl, RESOURCE_TYPE_URL), wrapper])
  }
  const parts = [bytesPart(SOTW.version, utf8(response.version))]
  for (const resource of response.resources) {
    parts.push(
      response.ttl && resource.ttl !== undefined
        ? wrapped(resourceParts(resource, [], { typeUrl, value: resource.value }))
        : anyPart(SOTW.resources, typeUrl, resource.value)
    )
  }
  for (const resource of response.heartbeats) parts.push(wrapped(resourceParts(resource, [], undefined)))
  parts.push(bytesPart(SOTW.typeUrl, typeUrl))
  return parts
}

const incrementalParts = (response: Response): Array<Part> => {
  const typeUrl = utf8(response.typeUrl)
  const aliasesOf = (name: string) => response.aliases.get(name) ?? []
  const parts = [bytesPart(DELTA.version, utf8(response.version))]
  for (const resource of response.resources) {
    const body = { typeUrl, value: resource.value }
    parts.push(
      messagePart(DELTA.resources, resourceParts(withoutTtl(resource, response), aliasesOf(resource.name), body))
    )
  }
  for (const resource of response.heartbeats)
    parts.push(messagePart(DELTA.resources, resourceParts(resource, aliasesOf(resource.name), undefined)))
  for (const name of response.absent)
    parts.push(messagePart(DELTA.resources, resourceParts({ name, version: "", ttl: undefined }, [name], undefined)))
  parts.push(bytesPart(DELTA.typeUrl, typeUrl))
  for (const name of response.removed) {
    const bytes = utf8(name)
    parts.push({ size: sizeOfField(DELTA.removed, bytes.byteLength), write: (w) => w.field(DELTA.removed, bytes) })
  }
  return parts
}

const bodies = new WeakMap<Response, Uint8Array>()

/**
 * The encoded response without its nonce. Assembled once for a response, however many streams send it; not to be
 * written into.
 *
 * @since 0.1.0
 */
export const body = (response: Response): Uint8Array => {
  const known = bodies.get(response)
  if (known !== undefined) return known
  const parts = response.protocol === "StateOfTheWorld" ? stateOfTheWorldParts(response) : incrementalParts(response)
  let size = 0
  for (const part of parts) size += part.size
  const writer = new Writer(size)
  for (const part of parts) part.write(writer)
  bodies.set(response, writer.bytes)
  return writer.bytes
}

/**
 * The bytes that follow a {@link body} to make it one stream's message: the nonce.
 *
 * @since 0.1.0
 */
export const nonceField = (nonce: string): Uint8Array => {
  // By hand: this is done for each response of each stream, and nonces are a few digits.
  if (nonce.length >= 0x80) return fieldOf(SOTW.nonce, utf8(nonce))
  const bytes = new Uint8Array(2 + nonce.length)
  bytes[0] = SOTW.nonce * 8 + 2
  bytes[1] = nonce.length
  for (let index = 0; index < nonce.length; index++) {
    const code = nonce.charCodeAt(index)
    if (code >= 0x80) return fieldOf(SOTW.nonce, utf8(nonce))
    bytes[2 + index] = code
  }
  return bytes
}

/**
 * A whole message in one piece: body and nonce. For transports that cannot write two.
 *
 * @since 0.1.0
 */
export const encode = (response: Response, nonce: string): Uint8Array => {
  const first = body(response)
  const second = nonceField(nonce)
  const bytes = new Uint8Array(first.byteLength + second.byteLength)
  bytes.set(first)
  bytes.set(second, first.byteLength)
  return bytes
}

/**
 * Bytes of `control_plane { identifier }`, to be sent after the nonce by servers that name themselves.
 *
 * @since 0.1.0
 */
export const controlPlaneField = (protocol: Protocol, identifier: string): Uint8Array =>
  fieldOf(protocol === "StateOfTheWorld" ? SOTW.controlPlane : DELTA.controlPlane, fieldOf(1, utf8(identifier)))
