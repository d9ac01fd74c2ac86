/** Decodes polls from JSON or protobuf, with their node: 77 KB of JSON in each poll of an Envoy. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as JsonParts from "@effect-xds/transport-node/JsonParts"
import { reasonOf } from "@effect-xds/transport-node/JsonText"
import * as MessageParts from "@effect-xds/transport-node/MessageParts"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { createHash } from "node:crypto"
import type { Format } from "./DiscoveryResponse.js"
import * as Names from "./Names.js"
import { badRequest, Refusal } from "./Refusal.js"

export interface DiscoveryRequest {
  /** The request without its node; names sorted, without duplicates. */
  readonly request: Request.StateOfTheWorldRequest
  /** Equal for requests with the same node. */
  readonly nodeKey: string
  /** The encoded node. It is decoded and checked only for a new session. */
  readonly node: Effect.Effect<Uint8Array | undefined, Refusal>
}

export interface Limits {
  readonly ignoreUnknownFields: boolean
  readonly maxJsonValues: number
  readonly maxNames: number
  /** Bytes of remembered JSON requests. */
  readonly rememberedBytes: number
}

const hash = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("base64")

const notRequest = (cause: unknown): Refusal =>
  cause instanceof Refusal ? cause : badRequest(`the body is not a DiscoveryRequest: ${reasonOf(cause)}`)
const notNode = (cause: unknown): Refusal =>
  cause instanceof Refusal ? cause : badRequest(`the body is not a DiscoveryRequest: in field node: ${reasonOf(cause)}`)

/** JSON from this size, in bytes, is hashed in parts; an Envoy's node has 77 KB. */
const largeJson = 128 * 1024

/** Bytes that are hashed in one part. */
const hashedAtATime = 256 * 1024

function* hashInParts(bytes: Uint8Array): TimeSlices.Parts<string> {
  const digest = createHash("sha256")
  for (let at = 0; at < bytes.length; at += hashedAtATime) {
    if (at > 0) yield
    digest.update(bytes.subarray(at, at + hashedAtATime))
  }
  return digest.digest("base64")
}

/** Names that are processed, or fields that are decoded, in one part. */
const atATime = 2048

/** Bytes of a remembered request beside its texts. */
const overhead = 512

interface Known extends Pick<DiscoveryRequest, "request" | "nodeKey"> {
  readonly bytes: number
}

const sizeOf = ({
  errorDetail,
  resourceNames,
  responseNonce,
  typeUrl,
  versionInfo
}: Request.StateOfTheWorldRequest) => {
  let size = overhead + responseNonce.length + typeUrl.length + versionInfo.length + (errorDetail?.message.length ?? 0)
  for (const name of resourceNames) size += name.length + 32
  return size
}

/** Requests with more names, or more bytes of names, are not remembered. */
const fewNames = 16
const fewBytes = 4096

/** Decodes a body; fails if it is no `DiscoveryRequest`. */
export type Decode = (format: Format, bytes: Uint8Array) => Effect.Effect<DiscoveryRequest, Refusal>

/**
 * A decoder. Long work is done in time slices; work that cannot be divided is bounded. It remembers JSON requests
 * without their nodes: most polls equal the last one byte for byte, and comparing is cheaper than decoding.
 */
export const decoder = (limits: Limits, slices: Pick<TimeSlices.TimeSlices, "isOver" | "later">): Decode => {
  const { ignoreUnknownFields, maxJsonValues, maxNames, rememberedBytes } = limits
  const known = new Map<string, Known>()
  let remembered = 0

  const inSlices = <A>(parts: TimeSlices.Parts<A>, onFailure: (cause: unknown) => Refusal): Effect.Effect<A, Refusal> =>
    Effect.mapError(TimeSlices.inSlices(slices, parts), onFailure)
  function* namesOf(names: ReadonlyArray<string>): TimeSlices.Parts<ReadonlyArray<string>> {
    const sorted = yield* Names.sortedOnce(names, maxNames)
    if (sorted !== undefined) return sorted
    const message = `more than ${maxNames} names, the limit of this server`
    throw new Refusal({ status: 429, code: "RESOURCE_EXHAUSTED", message })
  }

  function* parse(bytes: Uint8Array): TimeSlices.Parts<JsonObject> {
    const expected = { subject: "the body", kind: "DiscoveryRequest", maxValues: maxJsonValues }
    const read = yield* JsonParts.readObject(bytes, expected)
    if (Either.isRight(read)) return read.right
    if (!read.left.isTooMuch) throw badRequest(read.left.message)
    const message = `${read.left.message}; send application/x-protobuf, which has no such limit`
    throw new Refusal({ status: 413, code: "RESOURCE_EXHAUSTED", message })
  }

  const jsonNode = (node: JsonValue | undefined): Effect.Effect<Uint8Array | undefined, Refusal> => {
    function* parts(): TimeSlices.Parts<Uint8Array | undefined> {
      if (node === undefined || node === null) return undefined
      return yield* MessageParts.encode(NodeSchema, node, { ignoreUnknownFields })
    }
    return Effect.suspend(() => inSlices(parts(), notNode))
  }

  /** Decodes a JSON body. Field names may be camelCase or snake_case. */
  const ofJson = (bytes: Uint8Array): Effect.Effect<DiscoveryRequest, Refusal> =>
    Effect.gen(function* () {
      const { node, ...rest } = yield* inSlices(parse(bytes), notRequest)
      const { DiscoveryRequestSchema } = yield* Effect.promise(
        () => import("@effect-xds/proto/envoy/service/discovery/v3/discovery")
      )
      const registry = yield* Effect.promise(() => TypeRegistry.forJson(rest))
      function* parts(): TimeSlices.Parts<Request.StateOfTheWorldRequest> {
        const encoded = yield* MessageParts.encode(DiscoveryRequestSchema, rest, { registry, ignoreUnknownFields })
        const { request } = yield* binaryParts(encoded)
        return request
      }
      function* keyParts(): TimeSlices.Parts<string> {
        if (node === undefined) return ""
        const digest = createHash("sha256")
        for (const text of JsonParts.texts(node)) {
          digest.update(text)
          yield
        }
        return digest.digest("base64")
      }
      const request = yield* inSlices(parts(), notRequest)
      return { request, nodeKey: yield* inSlices(keyParts(), notNode), node: jsonNode(node) }
    })

  const remember = (key: string, { nodeKey, request }: DiscoveryRequest): void => {
    if (request.resourceNames.length > fewNames) return
    const bytes = sizeOf(request)
    if (bytes > fewBytes) return
    // A concurrent request may have stored it.
    if (!known.has(key)) remembered += bytes
    known.set(key, { request, nodeKey, bytes })
    for (const [oldest, { bytes }] of known) {
      if (remembered <= rememberedBytes) return
      known.delete(oldest)
      remembered -= bytes
    }
  }

  const decodeJson = (bytes: Uint8Array): Effect.Effect<DiscoveryRequest, Refusal> => {
    if (bytes.length < largeJson) return decodeKeyed(bytes, hash(bytes))
    return Effect.flatMap(inSlices(hashInParts(bytes), notRequest), (key) => decodeKeyed(bytes, key))
  }

  const decodeKeyed = (bytes: Uint8Array, key: string): Effect.Effect<DiscoveryRequest, Refusal> => {
    const before = known.get(key)
    if (before === undefined) return Effect.tap(ofJson(bytes), (decoded) => Effect.sync(() => remember(key, decoded)))
    known.delete(key)
    known.set(key, before)
    const node = Effect.suspend(() => inSlices(parse(bytes), notRequest)).pipe(
      Effect.flatMap((json) => jsonNode(json["node"]))
    )
    return Effect.succeed({ ...before, node })
  }

  function* binaryParts(bytes: Uint8Array): TimeSlices.Parts<DiscoveryRequest> {
    const reader = new Request.Reader("StateOfTheWorld", bytes)
    let decoded = reader.read(atATime)
    for (; decoded === undefined; decoded = reader.read(atATime)) yield
    if (Either.isLeft(decoded)) throw badRequest(`the body is malformed: ${decoded.left.message}`)
    const request = decoded.right
    // Decoding with this protocol yields only this kind.
    if (request._tag !== "StateOfTheWorld") throw badRequest("the body is not a DiscoveryRequest")
    const { node } = request
    const resourceNames = yield* namesOf(request.resourceNames)
    return {
      request: { ...request, resourceNames, node: undefined },
      nodeKey: node === undefined ? "" : yield* hashInParts(node),
      node: Effect.succeed(node)
    }
  }

  return (format, bytes) =>
    format === "json" ? Effect.suspend(() => decodeJson(bytes)) : inSlices(binaryParts(bytes), notRequest)
}
