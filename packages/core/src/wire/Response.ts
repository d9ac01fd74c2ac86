/**
 * Discovery responses and their bytes.
 *
 * Streams that need the same response share one value, and its body is assembled once, from resources that are already encoded.
 * Only the nonce belongs to one stream. Protobuf fields may stand in any order, so a message is the shared body followed by the
 * nonce.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Protocol } from "../protocol/Protocol.js"
import type { Resource, ResourceError } from "../resource/Resource.js"
import type { Steps } from "../Steps.js"
import {
  Any,
  ControlPlane,
  DeltaDiscoveryResponse,
  DiscoveryResponse,
  Duration,
  Resource as Fields,
  ResourceError as Errors,
  ResourceName,
  Status,
  tagOf
} from "./Fields.js"
import * as ResponseBlocks from "./ResponseBlocks.js"
import { fieldOf, sizeOfField, sizeOfText, sizeOfVarint, utf8, Writer } from "./Wire.js"

/**
 * A `DiscoveryResponse` or `DeltaDiscoveryResponse` without its nonce.
 *
 * @since 0.1.0
 */
export interface Response {
  readonly protocol: Protocol
  readonly typeUrl: string
  /** `version_info` in state of the world; in incremental `system_version_info`, which is for debugging only. */
  readonly version: string
  readonly resources: ReadonlyArray<Resource>
  /** `removed_resources`. Incremental only. */
  readonly removed: ReadonlyArray<string>
  /** Variants that are removed, by name and encoded constraints: `removed_resource_names` (TP2). Incremental only. */
  readonly removedVariants: ReadonlyArray<RemovedVariant>
  /** Why resources cannot be given: `resource_errors` (TP3). */
  readonly errors: ReadonlyArray<NamedError>
  /** Resources sent without a body: they renew a TTL and are no update. */
  readonly heartbeats: ReadonlyArray<Resource>
  /** VHDS: names of missing hosts, each answered by a resource without a body. */
  readonly absent: ReadonlyArray<string>
  /** Resource name → the aliases by which the client requested it. Incremental only. */
  readonly aliases: ReadonlyMap<string, ReadonlyArray<string>>
  /**
   * Whether resources carry their TTLs. In state of the world such resources are wrapped in `Resource`, and those of a type that holds
   * no name (LEDS).
   */
  readonly ttl: boolean
  /** The next part of a response that is too large for one message; see `ResponseParts.split`. */
  readonly next: Response | undefined
}

/**
 * A variant of a resource that a client has, and is removed.
 *
 * @since 0.1.0
 */
export interface RemovedVariant {
  readonly name: string
  readonly constraints: Uint8Array
}

/**
 * Why the resource of a name cannot be given.
 *
 * @since 0.1.0
 */
export interface NamedError {
  readonly name: string
  readonly error: ResourceError
}

const noErrors: ReadonlyArray<NamedError> = []
const noVariants: ReadonlyArray<RemovedVariant> = []
const noAliases: ReadonlyMap<string, ReadonlyArray<string>> = new Map()
const noResources: ReadonlyArray<Resource> = []
const noNames: ReadonlyArray<string> = []

/**
 * A response; omitted fields are empty.
 *
 * @since 0.1.0
 */
export const make = (response: Pick<Response, "protocol" | "typeUrl" | "version"> & Partial<Response>): Response => ({
  protocol: response.protocol,
  typeUrl: response.typeUrl,
  version: response.version,
  resources: response.resources ?? noResources,
  removed: response.removed ?? noNames,
  removedVariants: response.removedVariants ?? noVariants,
  errors: response.errors ?? noErrors,
  heartbeats: response.heartbeats ?? noResources,
  absent: response.absent ?? noNames,
  aliases: response.aliases ?? noAliases,
  ttl: response.ttl ?? false,
  next: response.next
})

const RESOURCE_TYPE_URL = utf8("type.googleapis.com/envoy.service.discovery.v3.Resource")

/** Encoded type URLs: a response repeats its type URL for each resource. */
const typeUrls: ReadonlyMap<string, Uint8Array> = new Map(
  ResourceType.ofAllApis.map(({ typeUrl }) => [typeUrl, utf8(typeUrl)])
)

/**
 * Writes fields and nested messages, in two passes of the same calls. The first measures and notes the length of each text and
 * message. The second writes and takes these lengths in the same order. So nothing is allocated per resource, of which there
 * may be a hundred thousand.
 */
class Encoder {
  private readonly lengths: Array<number> = []
  private taken = 0
  private size = 0
  private writer: Writer | undefined

  /** Ends the measuring pass. Later calls write into the result. */
  begin(bodies: Bodies): Uint8Array {
    const bytes = bodies.allocate(this.size)
    this.writer = new Writer(bytes)
    return bytes
  }

  /** What is encoded already. */
  encoded(bytes: Uint8Array): void {
    if (this.writer === undefined) this.size += bytes.byteLength
    else this.writer.raw(bytes)
  }

  /** Number of bytes written so far. */
  get written(): number {
    return this.writer?.written ?? 0
  }

  /** Omitted if empty. */
  bytes(field: number, bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    if (this.writer === undefined) this.size += sizeOfField(field, bytes.byteLength)
    else this.writer.field(field, bytes)
  }

  /** Omitted if empty, unless `always`. */
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

  /** Omitted if 0. */
  number(field: number, value: number): void {
    if (value === 0) return
    if (this.writer === undefined) this.size += sizeOfVarint(field * 8) + sizeOfVarint(value)
    else {
      this.writer.varint(field * 8)
      this.writer.varint(value)
    }
  }

  /** Begins a nested message. The result is the argument of {@link close}. */
  open(field: number): number {
    if (this.writer === undefined) return this.lengths.push(this.size) - 1
    this.writer.head(field, this.take())
    return 0
  }

  close(field: number, place: number): void {
    if (this.writer !== undefined) return
    const length = this.size - (this.lengths[place] ?? 0)
    this.lengths[place] = length
    this.size += sizeOfField(field, length) - length
  }

  private take(): number {
    return this.lengths[this.taken++] ?? 0
  }
}

const writeAny = (to: Encoder, field: number, typeUrl: Uint8Array, value: Uint8Array): void => {
  const any = to.open(field)
  to.bytes(Any.typeUrl, typeUrl)
  to.bytes(Any.value, value)
  to.close(field, any)
}

const writeDuration = (to: Encoder, field: number, milliseconds: number): void => {
  const seconds = Math.floor(milliseconds / 1000)
  const duration = to.open(field)
  to.number(Duration.seconds, seconds)
  to.number(Duration.nanos, Math.round((milliseconds - seconds * 1000) * 1e6))
  to.close(field, duration)
}

/** `envoy.service.discovery.v3.ResourceName` */
const writeName = (to: Encoder, field: number, name: string, constraints: Uint8Array): void => {
  const place = to.open(field)
  to.text(ResourceName.name, name)
  to.bytes(ResourceName.dynamicParameterConstraints, constraints)
  to.close(field, place)
}

/** `envoy.service.discovery.v3.ResourceError` */
const writeError = (to: Encoder, field: number, { error, name }: NamedError): void => {
  const opened = to.open(field)
  writeName(to, Errors.resourceName, name, noConstraints)
  const detail = to.open(Errors.errorDetail)
  to.number(Status.code, error.code)
  to.text(Status.message, error.message)
  to.close(Errors.errorDetail, detail)
  to.close(field, opened)
}

const noConstraints = new Uint8Array()

/** What is written of a resource beside its content. */
type Written = Pick<Resource, "name" | "ttl" | "version" | "constraints">

/** The fields of an `envoy.service.discovery.v3.Resource`; no body if the value is `undefined`. */
const writeResource = (
  to: Encoder,
  { constraints, name, ttl, version }: Written,
  aliases: ReadonlyArray<string>,
  typeUrl: Uint8Array,
  value: Uint8Array | undefined
): void => {
  to.text(Fields.version, version)
  if (value !== undefined) writeAny(to, Fields.resource, typeUrl, value)
  if (constraints === undefined) to.text(Fields.name, name)
  else writeName(to, Fields.resourceName, name, constraints)
  for (const alias of aliases) to.text(Fields.aliases, alias)
  if (ttl !== undefined) writeDuration(to, Fields.ttl, ttl)
}

/** How the parts of a response are written. */
interface Form {
  /** What comes before the resources. */
  readonly head: (to: Encoder, response: Response) => void
  /** The resources `from` ≤ index < `before`. */
  readonly resources: (to: Encoder, response: Response, typeUrl: Uint8Array, from: number, before: number) => void
  /** All other fields. */
  readonly tail: (to: Encoder, response: Response, typeUrl: Uint8Array) => void
}

const writeWrapped = (to: Encoder, typeUrl: Uint8Array, resource: Written, value: Uint8Array | undefined): void => {
  const any = to.open(DiscoveryResponse.resources)
  to.bytes(Any.typeUrl, RESOURCE_TYPE_URL)
  const wrapper = to.open(Any.value)
  writeResource(to, resource, noNames, typeUrl, value)
  to.close(Any.value, wrapper)
  to.close(DiscoveryResponse.resources, any)
}

const stateOfTheWorld: Form = {
  head: (to, { version }) => to.text(DiscoveryResponse.versionInfo, version),
  resources: (to, response, typeUrl, from, before) => {
    // An endpoint (LEDS) holds no name.
    const isNamed = response.typeUrl !== ResourceType.LbEndpoint.typeUrl
    for (let index = from; index < before; index++) {
      const resource = response.resources[index]
      if (resource === undefined) break
      if (isNamed && resource.constraints === undefined && (!response.ttl || resource.ttl === undefined))
        writeAny(to, DiscoveryResponse.resources, typeUrl, resource.value)
      else writeWrapped(to, typeUrl, withoutTtl(resource, response), resource.value)
    }
  },
  tail: (to, { errors, heartbeats }, typeUrl) => {
    for (const resource of heartbeats) writeWrapped(to, typeUrl, resource, undefined)
    to.bytes(DiscoveryResponse.typeUrl, typeUrl)
    for (const each of errors) writeError(to, DiscoveryResponse.resourceErrors, each)
  }
}

const withoutTtl = (resource: Resource, response: Response): Written => {
  if (response.ttl || resource.ttl === undefined) return resource
  const { constraints, name, version } = resource
  return { name, version, ttl: undefined, ...(constraints !== undefined && { constraints }) }
}

const writeEntry = (
  to: Encoder,
  typeUrl: Uint8Array,
  resource: Written,
  aliases: ReadonlyArray<string>,
  value: Uint8Array | undefined
): void => {
  const wrapper = to.open(DeltaDiscoveryResponse.resources)
  writeResource(to, resource, aliases, typeUrl, value)
  to.close(DeltaDiscoveryResponse.resources, wrapper)
}

const aliasesOf = ({ aliases }: Response, name: string): ReadonlyArray<string> =>
  // A look into an empty map would hash each name.
  aliases.size === 0 ? noNames : (aliases.get(name) ?? noNames)

const incremental: Form = {
  head: (to, { version }) => to.text(DeltaDiscoveryResponse.systemVersionInfo, version),
  resources: (to, response, typeUrl, from, before) => {
    for (let index = from; index < before; index++) {
      const resource = response.resources[index]
      if (resource === undefined) break
      writeEntry(to, typeUrl, withoutTtl(resource, response), aliasesOf(response, resource.name), resource.value)
    }
  },
  tail: (to, response, typeUrl) => {
    for (const resource of response.heartbeats) {
      writeEntry(to, typeUrl, resource, aliasesOf(response, resource.name), undefined)
    }
    for (const name of response.absent)
      writeEntry(to, typeUrl, { name, version: "", ttl: undefined }, [name], undefined)
    to.bytes(DeltaDiscoveryResponse.typeUrl, typeUrl)
    for (const name of response.removed) to.text(DeltaDiscoveryResponse.removedResources, name, true)
    for (const { constraints, name } of response.removedVariants)
      writeName(to, DeltaDiscoveryResponse.removedResourceNames, name, constraints)
    for (const each of response.errors) writeError(to, DeltaDiscoveryResponse.resourceErrors, each)
  }
}

const formOf = ({ protocol }: Response): Form => (protocol === "StateOfTheWorld" ? stateOfTheWorld : incremental)

const typeUrlOf = ({ typeUrl }: Response): Uint8Array => typeUrls.get(typeUrl) ?? utf8(typeUrl)

/**
 * Allocator and cache for bodies; belongs to the sender. A response itself keeps no body of more than {@link keepLimit} bytes:
 * that would be a second copy of all resources of a group.
 *
 * @since 0.1.0
 */
export interface Bodies {
  /** A zeroed buffer of `size` bytes that shares no byte with another body. */
  readonly allocate: (size: number) => Uint8Array
  /** The large body of a response, if it is still kept. */
  readonly get: (response: Response) => Uint8Array | undefined
  /** Keeps a large body; with `blocks`, parts of it may go into others. */
  readonly set: (response: Response, body: Uint8Array, blocks?: ResponseBlocks.Blocks) => void
  /** Bodies that are kept, of responses that write a resource in the same way: see {@link formName}. Absent: none. */
  readonly earlier?: ((response: Response) => ReadonlyArray<ResponseBlocks.Earlier>) | undefined
}

/**
 * What responses have in common that write a resource in the same way, if they have no aliases.
 *
 * @since 0.1.0
 */
export const formName = ({ protocol, ttl, typeUrl }: Response): string => `${protocol} ${String(ttl)} ${typeUrl}`

/** Each body has a buffer of its own, and large ones are not kept. */
const noBodies: Bodies = { allocate: (size) => new Uint8Array(size), get: () => undefined, set: () => undefined }

/**
 * Largest body that a {@link shared} response keeps itself, in bytes.
 *
 * @since 0.1.0
 */
export const keepLimit = 16 * 1024

const encodeBody = (response: Response, bodies: Bodies): Uint8Array => {
  const typeUrl = typeUrlOf(response)
  const { head, resources, tail } = formOf(response)
  const encoder = new Encoder()
  const all = (): void => {
    head(encoder, response)
    resources(encoder, response, typeUrl, 0, response.resources.length)
    tail(encoder, response, typeUrl)
  }
  all()
  const bytes = encoder.begin(bodies)
  all()
  return bytes
}

/** A body, and where its resources lie. */
interface Encoded {
  readonly bytes: Uint8Array
  /** `undefined`: it has aliases, which are those that one client requested. */
  readonly blocks: ResponseBlocks.Blocks | undefined
}

/** {@link encodeBody} in steps, with what is encoded already. */
function* encoding(response: Response, bodies: Bodies): Steps<Encoded> {
  const typeUrl = typeUrlOf(response)
  const { head, resources, tail } = formOf(response)
  const isForAll = response.aliases.size === 0
  const earlier = isForAll ? (bodies.earlier?.(response) ?? noneEarlier) : noneEarlier
  const segments = yield* ResponseBlocks.divide(response.resources, earlier)
  const encoder = new Encoder()
  const [froms, starts]: [Array<number>, Array<number>] = [[], []]
  const all = function* (): Steps<void> {
    head(encoder, response)
    for (const { before, encoded, from } of segments) {
      if (from > 0) yield
      froms.push(from)
      starts.push(encoder.written)
      if (encoded === undefined) resources(encoder, response, typeUrl, from, before)
      else encoder.encoded(encoded)
    }
    froms.push(response.resources.length)
    starts.push(encoder.written)
    tail(encoder, response, typeUrl)
  }
  yield* all()
  froms.length = starts.length = 0
  const bytes = encoder.begin(bodies)
  yield* all()
  return { bytes, blocks: isForAll ? { resources: response.resources, froms, starts } : undefined }
}

const noneEarlier: ReadonlyArray<ResponseBlocks.Earlier> = []

function* encodingBody(response: Response, bodies: Bodies): Steps<Uint8Array> {
  return (yield* encoding(response, bodies)).bytes
}

/** A response that keeps its body. A copy of its fields does not. */
class SharedResponse implements Response {
  readonly protocol: Protocol
  readonly typeUrl: string
  readonly version: string
  readonly resources: ReadonlyArray<Resource>
  readonly removed: ReadonlyArray<string>
  readonly removedVariants: ReadonlyArray<RemovedVariant>
  readonly errors: ReadonlyArray<NamedError>
  readonly heartbeats: ReadonlyArray<Resource>
  readonly absent: ReadonlyArray<string>
  readonly aliases: ReadonlyMap<string, ReadonlyArray<string>>
  readonly ttl: boolean
  readonly next: Response | undefined
  /** The body, once it is made, if it is small. */
  #small: Uint8Array | undefined
  /** A body in the making: the next caller goes on with it. */
  #work: Steps<Encoded> | undefined

  constructor(response: Response, next: Response | undefined) {
    this.protocol = response.protocol
    this.typeUrl = response.typeUrl
    this.version = response.version
    this.resources = response.resources
    this.removed = response.removed
    this.removedVariants = response.removedVariants
    this.errors = response.errors
    this.heartbeats = response.heartbeats
    this.absent = response.absent
    this.aliases = response.aliases
    this.ttl = response.ttl
    this.next = next
  }

  known(bodies: Bodies): Uint8Array | undefined {
    return this.#small ?? bodies.get(this)
  }

  body(bodies: Bodies): Uint8Array {
    return this.known(bodies) ?? this.#keep(encodeBody(this, bodies), bodies)
  }

  *writing(bodies: Bodies): Steps<Uint8Array> {
    for (;;) {
      const known = this.known(bodies)
      if (known !== undefined) return known
      const work = this.#work ?? encoding(this, bodies)
      this.#work = undefined
      const { done, value } = work.next()
      if (done === true) return this.#keep(value.bytes, bodies, value.blocks)
      this.#work = work
      yield
    }
  }

  #keep(body: Uint8Array, bodies: Bodies, blocks?: ResponseBlocks.Blocks): Uint8Array {
    if (body.byteLength <= keepLimit) this.#small = body
    else bodies.set(this, body, blocks)
    return body
  }
}

/**
 * A response for many streams: its {@link body}, and that of all parts after it, is made once and kept. For a small response of
 * one stream this would cost more than it saves.
 *
 * @since 0.1.0
 */
export const shared = (response: Response): Response => {
  const after: Array<Response> = []
  for (let part = response.next; part !== undefined; part = part.next) after.push(part)
  const next = after.reduceRight<Response | undefined>((later, part) => new SharedResponse(part, later), undefined)
  return new SharedResponse(response, next)
}

/**
 * The encoded response without its nonce. Do not write into it. For a {@link shared} response it is made once, if it has at
 * most {@link keepLimit} bytes or `bodies` keeps it.
 *
 * @since 0.1.0
 */
export const body = (response: Response, bodies: Bodies = noBodies): Uint8Array =>
  response instanceof SharedResponse ? response.body(bodies) : encodeBody(response, bodies)

/**
 * {@link body} in steps, for many resources: other work may run at each yield. Streams that send the same {@link shared}
 * response share this work.
 *
 * @since 0.1.0
 */
export const writing = (response: Response, bodies: Bodies = noBodies): Steps<Uint8Array> =>
  response instanceof SharedResponse ? response.writing(bodies) : encodingBody(response, bodies)

/**
 * Whether the {@link body} is already made and kept.
 *
 * @since 0.1.0
 */
export const isWritten = (response: Response, bodies: Bodies = noBodies): boolean =>
  response instanceof SharedResponse && response.known(bodies) !== undefined

/**
 * The encoded nonce, which follows the {@link body} in a message.
 *
 * @since 0.1.0
 */
export const nonceField = (nonce: string): Uint8Array => {
  // By hand: this runs for each response of each stream, and a nonce is a few digits.
  if (nonce.length >= 0x80) return fieldOf(DiscoveryResponse.nonce, utf8(nonce))
  const bytes = new Uint8Array(2 + nonce.length)
  bytes[0] = tagOf(DiscoveryResponse.nonce)
  bytes[1] = nonce.length
  for (let index = 0; index < nonce.length; index++) {
    const code = nonce.charCodeAt(index)
    if (code >= 0x80) return fieldOf(DiscoveryResponse.nonce, utf8(nonce))
    bytes[2 + index] = code
  }
  return bytes
}

/**
 * A whole message: body and nonce. For transports that cannot write two buffers.
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
 * The encoded `control_plane { identifier }` field, for servers that identify themselves. It follows the nonce.
 *
 * @since 0.1.0
 */
export const controlPlaneField = (protocol: Protocol, identifier: string): Uint8Array =>
  fieldOf(
    protocol === "StateOfTheWorld" ? DiscoveryResponse.controlPlane : DeltaDiscoveryResponse.controlPlane,
    fieldOf(ControlPlane.identifier, utf8(identifier))
  )
