/**
 * Responses as HTTP bodies. JSON and gzip are computed once for all clients with the same response: they are kept with
 * the shared bytes of the server's body.
 */
import type { Registry } from "@bufbuild/protobuf"
import * as Response from "@effect-xds/core/wire/Response"
import * as Wire from "@effect-xds/core/wire/Wire"
import * as MessageJson from "@effect-xds/proto/MessageJson"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import { Buffer } from "node:buffer"
import { createHash } from "node:crypto"
import { promisify } from "node:util"
import { gzip } from "node:zlib"

/** The fields of `envoy.service.discovery.v3.DiscoveryResponse` that are read here. */
const field = { version: 1, resources: 2, nonce: 5, controlPlane: 6 } as const

export type Format = "json" | "protobuf"

const compress = promisify(gzip)

/** One response, and the bodies computed so far. */
export class DiscoveryResponse {
  /** `version_info`. */
  readonly version: string
  /**
   * The nonce for clients: a hash of the content. The server's nonce belongs to one stream, so a body with it could not
   * be shared.
   */
  readonly nonce: string
  readonly #body: Uint8Array
  readonly #suffix: Uint8Array
  #json: Promise<Uint8Array> | undefined
  readonly #compressed = new Map<Format, Promise<Uint8Array>>()

  constructor(
    { body, suffix }: ServerTransport.Outgoing,
    private readonly slices: TimeSlices.TimeSlices,
    private readonly registry: Registry | undefined
  ) {
    let version = ""
    Wire.fields(body, (reader, number) => {
      if (number !== field.version) return false
      version = reader.string()
      return true
    })
    let controlPlane: Uint8Array = new Uint8Array()
    Wire.fields(suffix, (reader, number) => {
      if (number !== field.controlPlane) return false
      controlPlane = Wire.fieldOf(field.controlPlane, reader.bytes())
      return true
    })
    this.version = version
    this.nonce = createHash("sha256").update(body).digest("hex").slice(0, 16)
    this.#body = body
    this.#suffix = Buffer.concat([Response.nonceField(this.nonce), controlPlane])
  }

  /** The body. Rejects if the response has no JSON form: it holds an `Any` of an unknown type. */
  bytes(format: Format): Promise<Uint8Array> {
    return format === "protobuf"
      ? Promise.resolve(this.#message())
      : (this.#json ??= toJson(this.#message(), this.slices, this.registry))
  }

  #message(): Uint8Array {
    return Buffer.concat([this.#body, this.#suffix])
  }

  /** The body, gzip-compressed. */
  gzipped(format: Format): Promise<Uint8Array> {
    let compressed = this.#compressed.get(format)
    if (compressed === undefined) {
      compressed = this.bytes(format).then((bytes) => compress(bytes))
      this.#compressed.set(format, compressed)
    }
    return compressed
  }
}

/** Writes each resource by itself, in time slices: there may be ten thousand, or ten thousand endpoints in one. */
const toJson = async (
  message: Uint8Array,
  slices: TimeSlices.TimeSlices,
  registry: Registry | undefined
): Promise<Uint8Array> => {
  await TimeSlices.next(slices)
  const { DiscoveryResponseSchema } = await import("@effect-xds/proto/envoy/service/discovery/v3/discovery")
  const options = { own: registry, pause: TimeSlices.pauses(slices) }
  return Buffer.concat(await MessageJson.encode(DiscoveryResponseSchema, field.resources, message, options))
}

/** The server's nonce in a response, by which it recognises the ACK. */
export const streamNonce = ({ suffix }: ServerTransport.Outgoing): string => {
  let nonce = ""
  Wire.fields(suffix, (reader, number) => {
    if (number !== field.nonce) return false
    nonce = reader.string()
    return true
  })
  return nonce
}

/** Decodes an outgoing response; the registry is that of its type. */
export type Shared = (outgoing: ServerTransport.Outgoing, registry?: Registry) => DiscoveryResponse

/** Returns one object per shared body. For one server, whose responses all name the same control plane. */
export const shared = (slices: TimeSlices.TimeSlices): Shared => {
  const known = new WeakMap<Uint8Array, DiscoveryResponse>()
  return (outgoing, registry) => {
    let response = known.get(outgoing.body)
    if (response === undefined) {
      response = new DiscoveryResponse(outgoing, slices, registry)
      known.set(outgoing.body, response)
    }
    return response
  }
}
