/**
 * Discovery responses: what they say, and their bytes.
 *
 * One response value is shared by every stream that needs the same; its body is assembled for all of them, from resources
 * that are already encoded. Only the nonce is a stream's own: protobuf fields may stand in any order, so a message is the
 * shared body followed by a few bytes.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Protocol } from "./Request.js"
import type { Resource } from "../resource/Resource.js"
import { atOnce, type Steps } from "../Steps.js"
import { fieldOf, sizeOfField, sizeOfText, sizeOfVarint, utf8, Writer } from "./Wire.js"

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
  /** What goes out right after it, because all in one would be too large; see `ResponseParts.split`. */
  readonly next: Response | undefined
}

const noAliases: ReadonlyMap<string, ReadonlyArray<string>> = new Map()
const noResources: ReadonlyArray<Resource> = []
const noNames: ReadonlyArray<string> = []

/**
 * A response; what is left out is empty.
 *
 * @since 0.1.0
 */
export const make = (response: Pick<Response, "protocol" | "typeUrl" | "version"> & Partial<Response>): Response => ({
  protocol: response.protocol,
  typeUrl: response.typeUrl,
  version: response.version,
  resources: response.resources ?? noResources,
  removed: response.removed ?? noNames,
  heartbeats: response.heartbeats ?? noResources,
  absent: response.absent ?? noNames,
  aliases: response.aliases ?? noAliases,
  ttl: response.ttl ?? false,
  next: response.next
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

/** The bytes of the type URLs of the table: each response has its type several times. */
const typeUrls: ReadonlyMap<string, Uint8Array> = new Map(
  ResourceType.all.map(({ typeUrl }) => [typeUrl, utf8(typeUrl)])
)

/**
 * Writes fields and nested messages. The same calls are made twice: first to measure, when the length of each text and
 * message is noted, then to write, when those are taken in the same order. So nothing is made for a single resource, of
 * which there may be a hundred thousand.
 */
class Encoder {
  private readonly lengths: Array<number> = []
  private taken = 0
  private size = 0
  private writer: Writer | undefined

  /** Ends the measuring. What is written from now on is in the result. */
  begin(): Uint8Array {
    this.writer = new Writer(this.size)
    return this.writer.bytes
  }

  /** Nothing if it is empty. */
  bytes(field: number, bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    if (this.writer === undefined) this.size += sizeOfField(field, bytes.byteLength)
    else this.writer.field(field, bytes)
  }

  /** Nothing if it is empty and `always` is not said. */
  text(field: number, text: string, always = false): void {
    if (text === "" && !always) return
    if (this.writer === undefined) {
      const length = sizeOfText(text)
      this.lengths.push(length)
      this.size += sizeOfField(field, length)
    } else {
      const length = this.take()
      this.writer.head(field, length)
      this.writer.text(text, length)
    }
  }

  /** Nothing if it is 0. */
  number(field: number, value: number): void {
    if (value === 0) return
    if (this.writer === undefined) this.size += sizeOfVarint(field * 8) + sizeOfVarint(value)
    else {
      this.writer.varint(field * 8)
      this.writer.varint(value)
    }
  }

  /** Begins a nested message; the result is for {@link close}. */
  open(field: number): number {
    if (this.writer === undefined) return this.lengths.push(this.size) - 1
    this.writer.head(field, this.take())
    return 0
  }

  close(field: number, opened: number): void {
    if (this.writer !== undefined) return
    const length = this.size - (this.lengths[opened] ?? 0)
    this.lengths[opened] = length
    this.size += sizeOfField(field, length) - length
  }

  private take(): number {
    return this.lengths[this.taken++] ?? 0
  }
}

const writeAny = (to: Encoder, field: number, typeUrl: Uint8Array, value: Uint8Array): void => {
  const any = to.open(field)
  to.bytes(ANY.typeUrl, typeUrl)
  to.bytes(ANY.value, value)
  to.close(field, any)
}

const writeDuration = (to: Encoder, field: number, milliseconds: number): void => {
  const seconds = Math.floor(milliseconds / 1000)
  const duration = to.open(field)
  to.number(DURATION.seconds, seconds)
  to.number(DURATION.nanos, Math.round((milliseconds - seconds * 1000) * 1e6))
  to.close(field, duration)
}

/** The content of an `envoy.service.discovery.v3.Resource`; without a body if there is no value. */
const writeResource = (
  to: Encoder,
  { name, ttl, version }: Pick<Resource, "name" | "ttl" | "version">,
  aliases: ReadonlyArray<string>,
  typeUrl: Uint8Array,
  value: Uint8Array | undefined
): void => {
  to.text(RESOURCE.version, version)
  if (value !== undefined) writeAny(to, RESOURCE.resource, typeUrl, value)
  to.text(RESOURCE.name, name)
  for (const alias of aliases) to.text(RESOURCE.aliases, alias)
  if (ttl !== undefined) writeDuration(to, RESOURCE.ttl, ttl)
}

/** Writes a response from a resource on and before another: its head is before the first one, what else there is after the last. */
type Write = (to: Encoder, response: Response, typeUrl: Uint8Array, from: number, before: number) => void

const writeStateOfTheWorld: Write = (to, response, typeUrl, from, before) => {
  const { resources } = response
  const writeWrapped = (resource: Resource, value: Uint8Array | undefined) => {
    const any = to.open(SOTW.resources)
    to.bytes(ANY.typeUrl, RESOURCE_TYPE_URL)
    const wrapper = to.open(ANY.value)
    writeResource(to, resource, noNames, typeUrl, value)
    to.close(ANY.value, wrapper)
    to.close(SOTW.resources, any)
  }
  if (from === 0) to.text(SOTW.version, response.version)
  for (let index = from; index < before; index++) {
    const resource = resources[index]
    if (resource === undefined) break
    if (response.ttl && resource.ttl !== undefined) writeWrapped(resource, resource.value)
    else writeAny(to, SOTW.resources, typeUrl, resource.value)
  }
  if (before < resources.length) return
  for (const resource of response.heartbeats) writeWrapped(resource, undefined)
  to.bytes(SOTW.typeUrl, typeUrl)
}

const withoutTtl = (resource: Resource, response: Response): Pick<Resource, "name" | "version" | "ttl"> =>
  response.ttl || resource.ttl === undefined
    ? resource
    : { name: resource.name, version: resource.version, ttl: undefined }

const writeIncremental: Write = (to, response, typeUrl, from, before) => {
  const { resources } = response
  const write = (
    resource: Pick<Resource, "name" | "version" | "ttl">,
    aliases: ReadonlyArray<string>,
    value: Uint8Array | undefined
  ) => {
    const wrapper = to.open(DELTA.resources)
    writeResource(to, resource, aliases, typeUrl, value)
    to.close(DELTA.resources, wrapper)
  }
  const aliasesOf = (name: string) => response.aliases.get(name) ?? noNames
  if (from === 0) to.text(DELTA.version, response.version)
  for (let index = from; index < before; index++) {
    const resource = resources[index]
    if (resource === undefined) break
    write(withoutTtl(resource, response), aliasesOf(resource.name), resource.value)
  }
  if (before < resources.length) return
  for (const resource of response.heartbeats) write(resource, aliasesOf(resource.name), undefined)
  for (const name of response.absent) write({ name, version: "", ttl: undefined }, [name], undefined)
  to.bytes(DELTA.typeUrl, typeUrl)
  for (const name of response.removed) to.text(DELTA.removed, name, true)
}

const writeOf = ({ protocol }: Response): Write =>
  protocol === "StateOfTheWorld" ? writeStateOfTheWorld : writeIncremental

const typeUrlOf = ({ typeUrl }: Response): Uint8Array => typeUrls.get(typeUrl) ?? utf8(typeUrl)

const encodeBody = (response: Response): Uint8Array => {
  const typeUrl = typeUrlOf(response)
  const write = writeOf(response)
  const { length } = response.resources
  const encoder = new Encoder()
  write(encoder, response, typeUrl, 0, length)
  const bytes = encoder.begin()
  write(encoder, response, typeUrl, 0, length)
  return bytes
}

/** {@link encodeBody} in steps. */
function* encoding(response: Response): Steps<Uint8Array> {
  const typeUrl = typeUrlOf(response)
  const write = writeOf(response)
  const encoder = new Encoder()
  const all = function* (): Steps<void> {
    for (let from = 0; ; from += atOnce) {
      write(encoder, response, typeUrl, from, from + atOnce)
      if (from + atOnce >= response.resources.length) return
      yield
    }
  }
  yield* all()
  const bytes = encoder.begin()
  yield* all()
  return bytes
}

/** Bytes. Up to here a body is kept with its response. All the resources of a group once more would be too much for that. */
const keepLimit = 16 * 1024

/**
 * A large body is known as long as anybody still holds bytes of it: by its buffer, because they may hold a part. Before it is
 * known it may be half written.
 */
const bodies = new WeakMap<Response, Uint8Array | WeakRef<ArrayBufferLike> | Steps<Uint8Array> | undefined>()

/** A body that is known. */
const knownBody = (response: Response): Uint8Array | undefined => {
  const known = bodies.get(response)
  if (known instanceof Uint8Array) return known
  const buffer = known instanceof WeakRef ? known.deref() : undefined
  return buffer === undefined ? undefined : new Uint8Array(buffer)
}

const keep = (response: Response, made: Uint8Array): Uint8Array => {
  bodies.set(response, made.byteLength <= keepLimit ? made : new WeakRef(made.buffer))
  return made
}

/** What is left to do for its body. */
const unwritten = (response: Response): Steps<Uint8Array> => {
  const begun = bodies.get(response)
  return begun === undefined || begun instanceof Uint8Array || begun instanceof WeakRef ? encoding(response) : begun
}

/**
 * A response whose {@link body} is kept: one that many streams send. To keep it for every response would take longer than
 * to assemble a small one.
 *
 * @since 0.1.0
 */
export const shared = (response: Response): Response => {
  bodies.set(response, undefined)
  return response
}

/**
 * The encoded response without its nonce; not to be written into. Of a {@link shared} response it is assembled once,
 * however many streams send it at a time. One of more than 16 KB is garbage when none of them has any of it left to
 * send, and is assembled again for who comes after that.
 *
 * @since 0.1.0
 */
export const body = (response: Response): Uint8Array => {
  if (!bodies.has(response)) return encodeBody(response)
  return knownBody(response) ?? keep(response, encodeBody(response))
}

/**
 * Some of the work that the {@link body} takes, for one of many resources: others may have their turn between this call and the
 * next. Gives the body when it is there; whoever is to send the same goes on with the same work.
 *
 * @since 0.1.0
 */
export const bodyInSteps = (response: Response): Uint8Array | undefined => {
  const known = knownBody(response)
  if (known !== undefined) return known
  const left = unwritten(response)
  const { done, value } = left.next()
  if (done === true) return keep(response, value)
  bodies.set(response, left)
  return undefined
}

/**
 * Whether to ask for the {@link body} takes no time: it is there already.
 *
 * @since 0.1.0
 */
export const isWritten = (response: Response): boolean => knownBody(response) !== undefined

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
