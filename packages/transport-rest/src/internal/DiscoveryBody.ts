/** Encodes the polls of a client, and decodes their answers. */
import type { JsonObject, JsonValue, Registry } from "@bufbuild/protobuf"
import { fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import type { StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import * as Wire from "@effect-xds/core/wire/Wire"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { parseObject, reasonOf } from "@effect-xds/transport-node/JsonText"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import * as Status from "@effect-xds/transport/Status"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Records from "effect/Record"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import type { Format } from "./DiscoveryResponse.js"
import type { Reply } from "./HttpPoll.js"
import * as Negotiation from "./Negotiation.js"
import type { Received } from "./PollLoop.js"

/** envoy.service.discovery.v3.DiscoveryResponse */
const field = { resources: 2, typeUrl: 4, nonce: 5 } as const

export type Encode = (request: StateOfTheWorldRequest) => Promise<Uint8Array>

/** An encoder that keeps the JSON of the node: it is the largest part of every poll. */
export const encoder = (format: Format): Encode => {
  if (format === "protobuf") {
    const requests = new ClientRequest.Encoder()
    return (request) => Promise.resolve(requests.encode(request))
  }
  let last: { readonly node: Uint8Array; readonly json: JsonValue } | undefined
  const nodeOf = async (node: Uint8Array): Promise<JsonValue> => {
    if (last?.node === node) return last.json
    const message = fromBinary(NodeSchema, node)
    const json = toJson(NodeSchema, message, { registry: await TypeRegistry.forMessage(NodeSchema, message) })
    last = { node, json }
    return json
  }
  return async ({ errorDetail, node, resourceNames, responseNonce, typeUrl, versionInfo }) =>
    Wire.utf8(
      JSON.stringify({
        ...(versionInfo !== "" && { versionInfo }),
        ...(node !== undefined && { node: await nodeOf(node) }),
        ...(resourceNames.length > 0 && { resourceNames }),
        typeUrl,
        ...(responseNonce !== "" && { responseNonce }),
        ...(errorDetail !== undefined && { errorDetail: { code: errorDetail.code, message: errorDetail.message } })
      })
    )
}

const malformed = (message: string): Status.Status => Status.make("INTERNAL", message)

/** One after the other, since thousands take a tenth of a second. */
async function* resourcesOf(
  all: ReadonlyArray<JsonValue>,
  own: Registry | undefined,
  signal: AbortSignal
): AsyncGenerator<Uint8Array> {
  for (const json of all) {
    if (signal.aborted) return
    const options = { registry: await TypeRegistry.forJson(json, own), ignoreUnknownFields: true }
    const any = toBinary(AnySchema, fromJson(AnySchema, json, options))
    yield new BinaryWriter().tag(field.resources, WireType.LengthDelimited).bytes(any).finish()
  }
}

const encoded = async (
  { resources, ...rest }: JsonObject,
  own: Registry | undefined,
  slices: TimeSlices.TimeSlices,
  signal: AbortSignal
): Promise<Uint8Array> => {
  const { DiscoveryResponseSchema } = await import("@effect-xds/proto/envoy/service/discovery/v3/discovery")
  // What is no list is for the library to judge.
  const others = Array.isArray(resources) || resources === undefined ? rest : { ...rest, resources }
  const registry = await TypeRegistry.forJson(others, own)
  const head = toBinary(
    DiscoveryResponseSchema,
    fromJson(DiscoveryResponseSchema, others, { registry, ignoreUnknownFields: true })
  )
  if (!Array.isArray(resources)) return head
  const parts = await TimeSlices.gather(slices, resourcesOf(resources, own, signal))
  const { buffer, byteLength, byteOffset } = Buffer.concat([head, ...parts])
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** Decodes JSON. Unknown fields are ignored: the server may be newer than this client. */
const ofJson = (
  bytes: Uint8Array,
  own: Registry | undefined,
  slices: TimeSlices.TimeSlices
): Effect.Effect<Uint8Array, Status.Status> =>
  Effect.gen(function* () {
    const json = yield* Either.mapLeft(parseObject(bytes, "the answer", "DiscoveryResponse"), malformed)
    return yield* Effect.tryPromise({
      try: async (signal) => {
        const bytes = await encoded(json, own, slices, signal)
        // ★ What a proxy answers in place of the server would say that there are no resources any more.
        if (bytes.byteLength === 0 && Object.keys(json).length > 0) throw new Error("it has none of its fields")
        return bytes
      },
      catch: (cause) => malformed(`the answer is not a DiscoveryResponse: ${reasonOf(cause)}`)
    })
  })

/** The last answer in JSON, by its hash: a server without versions gives the same again with each poll. */
interface Last {
  readonly hash: string
  readonly message: Uint8Array
}

/** Decodes the answers to the polls of one stream. */
export class Decoder {
  #last: Last | undefined

  constructor(
    private readonly slices: TimeSlices.TimeSlices,
    private readonly registry: Registry | undefined
  ) {}

  /**
   * The response in the body of a 200 answer. Fails if it is none, or one of another type than requested. If the server
   * sends no nonce, `ownNonce` takes its place: a client answers by nonce.
   */
  decode({ body, contentType }: Reply, typeUrl: string, ownNonce: string): Effect.Effect<Received, Status.Status> {
    // As in Envoy, a body without the protobuf content type is read as JSON.
    const message = Negotiation.formatOf(contentType) === "protobuf" ? Effect.succeed(body) : this.#ofJson(body)
    return Effect.flatMap(message, (bytes) => received(bytes, typeUrl, ownNonce))
  }

  #ofJson(body: Uint8Array): Effect.Effect<Uint8Array, Status.Status> {
    return Effect.suspend(() => {
      const digest = hash("sha256", body)
      if (this.#last?.hash === digest) return Effect.succeed(this.#last.message)
      return Effect.map(ofJson(body, this.registry, this.slices), (message) => {
        this.#last = { hash: digest, message }
        return message
      })
    })
  }
}

const received = (message: Uint8Array, typeUrl: string, ownNonce: string): Effect.Effect<Received, Status.Status> =>
  Effect.gen(function* () {
    const found = yield* Effect.try({
      try: () => {
        const head = { nonce: "", typeUrl: "" }
        Wire.fields(message, (reader, number) => {
          if (number === field.nonce) head.nonce = reader.string(true)
          else if (number === field.typeUrl) head.typeUrl = reader.string(true)
          else return false
          return true
        })
        return head
      },
      catch: (cause) => malformed(`the answer is not a DiscoveryResponse: ${reasonOf(cause)}`)
    })
    if (found.typeUrl !== "" && found.typeUrl !== typeUrl) {
      return yield* Effect.fail(malformed(`the answer is of type ${found.typeUrl}, not of ${typeUrl}`))
    }
    if (found.nonce !== "") return { nonce: found.nonce, isNonceGiven: true, message }
    return { nonce: ownNonce, isNonceGiven: false, message: Buffer.concat([message, Response.nonceField(ownNonce)]) }
  })

const codeOfHttp = (status: number): Status.Code => {
  switch (status) {
    case 400:
      return "INVALID_ARGUMENT"
    case 401:
      return "UNAUTHENTICATED"
    case 403:
      return "PERMISSION_DENIED"
    case 404:
    case 405:
    case 415:
      return "UNIMPLEMENTED"
    case 408:
    case 429:
    case 502:
    case 503:
    case 504:
      return "UNAVAILABLE"
    default:
      return "UNKNOWN"
  }
}

/** The most characters of a server's text. */
const maxReason = 1024

/** The status of an answer that is neither a response nor 304, with the server's text if it has one. */
export const refusalOf = ({ body, contentType, status }: Reply): Status.Status => {
  const code = codeOfHttp(status)
  const plain = Status.make(code, `the server answered with HTTP status ${status}`)
  if (Negotiation.formatOf(contentType) === "protobuf") return plain
  const json = Either.getOrUndefined(parseObject(body, "", ""))
  const message = json?.["message"]
  if (typeof message !== "string") return plain
  const named = Records.keys(Status.codes).find((name) => name === json?.["code"] && name !== "OK")
  return Status.make(named ?? code, `the server answered with HTTP status ${status}: ${message.slice(0, maxReason)}`)
}
