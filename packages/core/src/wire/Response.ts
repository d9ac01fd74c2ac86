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
import * as Steps from "../Steps.js"
import { ControlPlane, DeltaDiscoveryResponse, DiscoveryResponse, tagOf } from "./Fields.js"
import { MeasuredWriter } from "./MeasuredWriter.js"
import type { NamedError, RemovedVariant, Response } from "./ResponseContent.js"
import { formOf } from "./ResponseForm.js"
import * as ResponsePieces from "./ResponsePieces.js"
import { encodedTypeUrl } from "./TypeUrlBytes.js"
import { fieldOf, joining, utf8 } from "./Wire.js"

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
  /** Keeps a large body. */
  readonly set: (response: Response, body: Uint8Array) => void
  /** Absent: pieces are not kept, and none goes into another response. */
  readonly pieces?: KeptPieces | undefined
}

/**
 * Allocator of the pieces of one response, and of the parts after it: they may lie in one buffer.
 *
 * @since 0.1.0
 */
export interface PieceRoom {
  /**
   * A zeroed piece of `size` bytes that shares no byte with another.
   *
   * @param count the resources in it
   * @param left the resources that are still to come, of the parts after it, too
   */
  readonly allocate: (size: number, count: number, left: number) => Uint8Array
}

/**
 * A cache for the pieces of large bodies.
 *
 * @since 0.1.0
 */
export interface KeptPieces {
  /** Absent: each piece has a buffer of its own. */
  readonly room?: ((response: Response) => PieceRoom) | undefined
  /** The body of a response in pieces, if all of them are still kept. */
  readonly get: (response: Response) => ReadonlyArray<Uint8Array> | undefined
  readonly set: (response: Response, pieces: ReadonlyArray<ResponsePieces.Piece>) => void
  /** Pieces that are kept, of responses that write a resource in the same way, the latest first: see {@link formName}. */
  readonly earlier: (response: Response) => Iterable<ResponsePieces.Piece>
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

/** The bytes of what `write` writes: the first time it is measured. */
const encoded = (write: (to: MeasuredWriter) => void, allocate: Bodies["allocate"]): Uint8Array => {
  const encoder = new MeasuredWriter()
  write(encoder)
  const bytes = encoder.begin(allocate)
  write(encoder)
  return bytes
}

const encodeBody = (response: Response, bodies: Bodies): Uint8Array => {
  const typeUrl = encodedTypeUrl(response.typeUrl)
  const { head, heartbeats, resources, tail } = formOf(response)
  return encoded((to) => {
    head(to, response)
    resources(to, response, typeUrl, 0, response.resources.length)
    heartbeats(to, response, typeUrl, 0, response.heartbeats.length)
    tail(to, response, typeUrl)
  }, bodies.allocate)
}

const noPieces: ReadonlyArray<ResponsePieces.Piece> = []

/** Encodes the items `from` ≤ index < `before` in steps and in pieces. `write` writes some of them: first they are measured. */
function* inPieces(
  write: (to: MeasuredWriter, from: number, before: number) => void,
  from: number,
  before: number,
  allocate: (size: number, from: number, before: number) => Uint8Array,
  made: (bytes: Uint8Array, from: number, before: number) => void
): Steps.Steps<void> {
  for (let start = from; start < before;) {
    const encoder = new MeasuredWriter()
    let end = start
    while (end < before && encoder.measured < ResponsePieces.leastBytes) {
      const next = Math.min(end + Steps.atOnce, before)
      write(encoder, end, next)
      end = next
      yield
    }
    const [first, last] = [start, end]
    const bytes = encoder.begin((size) => allocate(size, first, last))
    for (let at = start; at < end; at += Steps.atOnce) {
      if (at > start) yield
      write(encoder, at, Math.min(at + Steps.atOnce, end))
    }
    made(bytes, start, end)
    start = end
  }
}

/** {@link encodeBody} in steps and in pieces, of which some may be encoded already. */
function* encoding(response: Response, bodies: Bodies): Steps.Steps<ReadonlyArray<ResponsePieces.Piece>> {
  const typeUrl = encodedTypeUrl(response.typeUrl)
  const { head, heartbeats, resources, tail } = formOf(response)
  // Aliases are those that one client requested.
  const isForAll = response.aliases.size === 0
  const earlier = isForAll ? (bodies.pieces?.earlier(response) ?? noPieces) : noPieces
  const contentOf = (from: number, before: number) => (isForAll ? response.resources.slice(from, before) : noResources)
  const pieces: Array<ResponsePieces.Piece> = []
  /** A piece of other fields. */
  const put = (write: (to: MeasuredWriter) => void): void => {
    const bytes = encoded(write, ownBuffer)
    if (bytes.byteLength > 0) pieces.push({ resources: noResources, bytes })
  }
  put((to) => head(to, response))
  const segments = yield* ResponsePieces.divide(response.resources, earlier)
  // Beside earlier pieces there are few new ones.
  const isAllNew = segments.every(({ piece }) => piece === undefined)
  const room = isAllNew ? bodies.pieces?.room?.(response) : undefined
  const later = resourcesAfter(response)
  for (const { before, from, piece } of segments) {
    if (piece !== undefined) {
      pieces.push(piece)
      continue
    }
    yield* inPieces(
      (to, start, end) => resources(to, response, typeUrl, start, end),
      from,
      before,
      (size, start, end) => room?.allocate(size, end - start, before - end + later) ?? ownBuffer(size),
      (bytes, start, end) => pieces.push({ resources: contentOf(start, end), bytes })
    )
  }
  yield* inPieces(
    (to, start, end) => heartbeats(to, response, typeUrl, start, end),
    0,
    response.heartbeats.length,
    ownBuffer,
    (bytes) => pieces.push({ resources: noResources, bytes })
  )
  put((to) => tail(to, response, typeUrl))
  return pieces
}

/** The resources of the parts after a response. */
const resourcesAfter = ({ next }: Response): number => {
  let count = 0
  for (let part = next; part !== undefined; part = part.next) count += part.resources.length
  return count
}

/** What keeps a piece knows by its buffer whether somebody still sends it. */
const ownBuffer = (size: number): Uint8Array => new Uint8Array(size)

const bytesOf = (pieces: ReadonlyArray<ResponsePieces.Piece>): ReadonlyArray<Uint8Array> =>
  pieces.map(({ bytes }) => bytes)

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
  /** Pieces in the making, and a body of them. */
  readonly #pieces = new Steps.InTurns<ReadonlyArray<ResponsePieces.Piece>, ReadonlyArray<Uint8Array>>()
  readonly #whole = new Steps.InTurns<Uint8Array, Uint8Array>()

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

  knownPieces(bodies: Bodies): ReadonlyArray<Uint8Array> | undefined {
    const known = this.known(bodies)
    return known === undefined ? bodies.pieces?.get(this) : [known]
  }

  pieces(bodies: Bodies): Steps.Steps<ReadonlyArray<Uint8Array>> {
    return this.#pieces.steps(
      () => this.knownPieces(bodies),
      () => encoding(this, bodies),
      (made) => {
        bodies.pieces?.set(this, made)
        return bytesOf(made)
      }
    )
  }

  writing(bodies: Bodies): Steps.Steps<Uint8Array> {
    return this.#whole.steps(
      () => this.known(bodies),
      () => this.#joining(bodies),
      (body) => this.#keep(body, bodies)
    )
  }

  *#joining(bodies: Bodies): Steps.Steps<Uint8Array> {
    return yield* joining(yield* this.pieces(bodies), bodies.allocate)
  }

  #keep(body: Uint8Array, bodies: Bodies): Uint8Array {
    if (body.byteLength <= keepLimit) this.#small = body
    else bodies.set(this, body)
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
export const writing = (response: Response, bodies: Bodies = noBodies): Steps.Steps<Uint8Array> =>
  response instanceof SharedResponse ? response.writing(bodies) : writingBody(response, bodies)

function* writingBody(response: Response, bodies: Bodies): Steps.Steps<Uint8Array> {
  return yield* joining(bytesOf(yield* encoding(response, bodies)), bodies.allocate)
}

/**
 * {@link writing} for a transport that sends a body in pieces, one after the other: they are not copied into one buffer, and most of them
 * are those of the response before the latest change.
 *
 * @since 0.1.0
 */
export const pieces = (response: Response, bodies: Bodies = noBodies): Steps.Steps<ReadonlyArray<Uint8Array>> =>
  response instanceof SharedResponse ? response.pieces(bodies) : encodingPieces(response, bodies)

function* encodingPieces(response: Response, bodies: Bodies): Steps.Steps<ReadonlyArray<Uint8Array>> {
  return bytesOf(yield* encoding(response, bodies))
}

/**
 * The bytes of pieces together.
 *
 * @since 0.1.0
 */
export const sizeOf = (pieces: ReadonlyArray<Uint8Array>): number =>
  pieces.reduce((size, { byteLength }) => size + byteLength, 0)

/**
 * The {@link pieces} or the {@link body} of a response, if they are already made and kept.
 *
 * @since 0.1.0
 */
export const written = (response: Response, bodies: Bodies = noBodies): ReadonlyArray<Uint8Array> | undefined =>
  response instanceof SharedResponse ? response.knownPieces(bodies) : undefined

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
