/**
 * A control plane on sockets, gRPC or REST, that answers with the bytes that a test gives it, right or wrong. For tests of
 * clients.
 *
 * @since 0.1.0
 */
import { create, fromBinary, fromJsonString, toBinary } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import type * as Net from "node:net"

/**
 * What a client asked for.
 *
 * @since 0.1.0
 */
export interface Asked {
  readonly isIncremental: boolean
  readonly typeUrl: string
  /** Of the response that is answered; over REST the version. Empty: none is. */
  readonly nonce: string
  /** Why the response is refused; empty: it is not. */
  readonly error: string
  /** Those that are named, in incremental those that are new. */
  readonly names: ReadonlyArray<string>
}

/**
 * The bytes of a response, or whatever is to stand for it; `undefined`: none.
 *
 * @since 0.1.0
 */
export type Answer = (asked: Asked) => Uint8Array | undefined

/**
 * A resource of a response.
 *
 * @since 0.1.0
 */
export interface Sent {
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
}

/**
 * A response with these resources, whatever they are.
 *
 * @since 0.1.0
 */
export const response = (
  { isIncremental, typeUrl }: Pick<Asked, "isIncremental" | "typeUrl">,
  nonce: string,
  resources: ReadonlyArray<Sent>
): Uint8Array => {
  const any = ({ typeUrl, value }: Sent) => create(AnySchema, { typeUrl, value })
  if (!isIncremental) {
    const sent = { typeUrl, nonce, versionInfo: nonce, resources: resources.map(any) }
    return toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, sent))
  }
  const each = resources.map((resource) => ({ name: resource.name, version: nonce, resource: any(resource) }))
  return toBinary(
    DeltaDiscoveryResponseSchema,
    create(DeltaDiscoveryResponseSchema, { typeUrl, nonce, resources: each })
  )
}

const stateOfTheWorld = (bytes: Uint8Array): Asked => {
  const { errorDetail, resourceNames, responseNonce, typeUrl } = fromBinary(DiscoveryRequestSchema, bytes)
  return {
    isIncremental: false,
    typeUrl,
    nonce: responseNonce,
    error: errorDetail?.message ?? "",
    names: resourceNames
  }
}

const incremental = (bytes: Uint8Array): Asked => {
  const { errorDetail, resourceNamesSubscribe, responseNonce, typeUrl } = fromBinary(DeltaDiscoveryRequestSchema, bytes)
  return {
    isIncremental: true,
    typeUrl,
    nonce: responseNonce,
    error: errorDetail?.message ?? "",
    names: resourceNamesSubscribe
  }
}

/** A message of gRPC. */
const framed = (message: Uint8Array): Buffer => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.byteLength, 1)
  return Buffer.concat([prefix, message])
}

const listening = (server: Net.Server): Effect.Effect<string> =>
  Effect.async((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(`127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`))
    })
  })

/**
 * Serves aggregated streams over gRPC until the scope closes; its address.
 *
 * @param answerOf of each stream that begins
 * @since 0.1.0
 */
export const grpc = (answerOf: () => Answer): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sessions = new Set<Http2.ServerHttp2Session>()
    const server = Http2.createServer()
    server.on("session", (session) => void sessions.add(session.on("error", () => undefined)))
    server.on("stream", (stream: Http2.ServerHttp2Stream, headers) => {
      const read = headers[":path"]?.includes("Delta") === true ? incremental : stateOfTheWorld
      const answer = answerOf()
      let received = Buffer.alloc(0)
      stream.on("error", () => undefined)
      stream.respond({ ":status": 200, "content-type": "application/grpc" })
      stream.on("data", (chunk: Buffer) => {
        received = Buffer.concat([received, chunk])
        while (received.length >= 5 && received.length >= 5 + received.readUInt32BE(1)) {
          const end = 5 + received.readUInt32BE(1)
          const bytes = answer(read(received.subarray(5, end)))
          received = received.subarray(end)
          if (bytes !== undefined) stream.write(framed(bytes))
        }
      })
      stream.on("end", () => stream.end())
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        server.close()
        // Not from within an event of a stream: Node 20 then never comes back from destroy().
        setImmediate(() => sessions.forEach((session) => session.destroy()))
      })
    )
    return yield* listening(server)
  })

/** A poll, in the format of its body. */
const polled = (contentType: string | undefined, body: Buffer): Asked => {
  if (contentType !== "application/json") return stateOfTheWorld(body)
  const options = { ignoreUnknownFields: true }
  return stateOfTheWorld(
    toBinary(DiscoveryRequestSchema, fromJsonString(DiscoveryRequestSchema, body.toString(), options))
  )
}

/**
 * Serves polls over REST until the scope closes; its address. Bytes are answered as protobuf, texts as JSON; where there is no
 * answer, nothing has changed.
 *
 * @since 0.1.0
 */
export const rest = (
  answer: (asked: Asked) => Uint8Array | string | undefined
): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const server = Http.createServer((request, reply) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        const body = answer(polled(request.headers["content-type"], Buffer.concat(chunks)))
        reply.statusCode = body === undefined ? 304 : 200
        reply.setHeader("content-type", typeof body === "string" ? "application/json" : "application/x-protobuf")
        reply.end(body)
      })
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    )
    return yield* listening(server)
  })
