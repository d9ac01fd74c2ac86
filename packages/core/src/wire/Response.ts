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
import type { Protocol } from "../protocol/Protocol.js"
import type { Resource } from "../resource/Resource.js"
import type { Steps } from "../Steps.js"
import { ControlPlane, DeltaDiscoveryResponse, DiscoveryResponse, tagOf } from "./Fields.js"
import { MeasuredWriter } from "./MeasuredWriter.js"
import * as ResponseBlocks from "./ResponseBlocks.js"
import type { NamedError, RemovedVariant, Response } from "./ResponseContent.js"
import { formOf } from "./ResponseForm.js"
import { encodedTypeUrl } from "./TypeUrlBytes.js"
import { fieldOf, utf8 } from "./Wire.js"

export type { NamedError, RemovedVariant, Response } from "./ResponseContent.js"

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
  const typeUrl = encodedTypeUrl(response.typeUrl)
  const { head, resources, tail } = formOf(response)
  const encoder = new MeasuredWriter()
  const all = (): void => {
    head(encoder, response)
    resources(encoder, response, typeUrl, 0, response.resources.length)
    tail(encoder, response, typeUrl)
  }
  all()
  const bytes = encoder.begin(bodies.allocate)
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
  const typeUrl = encodedTypeUrl(response.typeUrl)
  const { head, resources, tail } = formOf(response)
  const isForAll = response.aliases.size === 0
  const earlier = isForAll ? (bodies.earlier?.(response) ?? noneEarlier) : noneEarlier
  const segments = yield* ResponseBlocks.divide(response.resources, earlier)
  const encoder = new MeasuredWriter()
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
  const bytes = encoder.begin(bodies.allocate)
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
