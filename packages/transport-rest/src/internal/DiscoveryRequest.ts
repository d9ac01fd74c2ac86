/** Polls as they come: JSON or protobuf bytes, and the node in them, which is 77 KB of JSON from an Envoy each time. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { fromJson, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/Request"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { createHash } from "node:crypto"
import type { Format } from "./DiscoveryResponse.js"
import { parseObject, reasonOf } from "./JsonText.js"
import { badRequest, type Refusal } from "./Refusal.js"

export interface DiscoveryRequest {
  /** Without the node; names in order, each once. */
  readonly request: Request.StateOfTheWorldRequest
  /** Two requests with the same have the same node. */
  readonly nodeKey: string
  /** The encoded node. Only a session that begins needs it, so only then it is read and checked. */
  readonly node: () => Either.Either<Uint8Array | undefined, Refusal>
}

const sortedOnce = (names: ReadonlyArray<string>): ReadonlyArray<string> => Array.from(new Set(names)).sort()

const hash = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("base64")

const parseJson = (bytes: Uint8Array): Either.Either<JsonObject, Refusal> =>
  Either.mapLeft(parseObject(bytes, "the body", "DiscoveryRequest"), badRequest)

const notRequest = (cause: unknown): Refusal => badRequest(`the body is not a DiscoveryRequest: ${reasonOf(cause)}`)
const notNode = (cause: unknown): Refusal =>
  badRequest(`the body is not a DiscoveryRequest: in field node: ${reasonOf(cause)}`)

const jsonNode = (
  node: JsonValue | undefined,
  ignoreUnknownFields: boolean
): Either.Either<Uint8Array | undefined, Refusal> =>
  node === undefined || node === null
    ? Either.right(undefined)
    : Either.try({
        try: () => toBinary(NodeSchema, fromJson(NodeSchema, node, { ignoreUnknownFields })),
        catch: notNode
      })

/** Reads a JSON body. Names of fields may be in camelCase or in snake_case. */
const ofJson = (bytes: Uint8Array, ignoreUnknownFields: boolean): Effect.Effect<DiscoveryRequest, Refusal> =>
  Effect.gen(function* () {
    const { node, ...rest } = yield* parseJson(bytes)
    const { DiscoveryRequestSchema } = yield* Effect.promise(
      () => import("@effect-xds/proto/envoy/service/discovery/v3/discovery")
    )
    const registry = yield* Effect.promise(() => TypeRegistry.forJson(rest))
    const { errorDetail, resourceNames, responseNonce, typeUrl, versionInfo } = yield* Effect.try({
      try: () => fromJson(DiscoveryRequestSchema, rest, { registry, ignoreUnknownFields }),
      catch: notRequest
    })
    return {
      request: Request.stateOfTheWorld({
        typeUrl,
        versionInfo,
        responseNonce,
        resourceNames: sortedOnce(resourceNames),
        errorDetail: errorDetail === undefined ? undefined : { code: errorDetail.code, message: errorDetail.message }
      }),
      nodeKey: yield* Effect.try({
        try: () => (node === undefined ? "" : hash(JSON.stringify(node))),
        catch: notNode
      }),
      node: () => jsonNode(node, ignoreUnknownFields)
    }
  })

const ofBinary = (bytes: Uint8Array): Either.Either<DiscoveryRequest, Refusal> => {
  const decoded = Request.decode("StateOfTheWorld", bytes)
  if (Either.isLeft(decoded)) return Either.left(badRequest(`the body is malformed: ${decoded.left.message}`))
  const request = decoded.right
  // Decoding for this protocol gives this kind only.
  if (request._tag !== "StateOfTheWorld") return Either.left(badRequest("the body is not a DiscoveryRequest"))
  const { node } = request
  return Either.right({
    request: { ...request, resourceNames: sortedOnce(request.resourceNames), node: undefined },
    nodeKey: node === undefined ? "" : hash(node),
    node: () => Either.right(node)
  })
}

/** Requests with more names are not remembered. */
const fewNames = 16

/** Reads a body; fails for what is not a `DiscoveryRequest`. */
export type Decode = (format: Format, bytes: Uint8Array) => Effect.Effect<DiscoveryRequest, Refusal>

/**
 * A reader that remembers so many JSON requests, but not their nodes. Most polls are the last one over again, byte for
 * byte, and to see that costs a part of what reading them does.
 */
export const decoder = (ignoreUnknownFields: boolean, capacity: number): Decode => {
  const known = new Map<string, Pick<DiscoveryRequest, "request" | "nodeKey">>()
  const decodeJson = (bytes: Uint8Array): Effect.Effect<DiscoveryRequest, Refusal> => {
    const key = hash(bytes)
    const before = known.get(key)
    if (before !== undefined) {
      known.delete(key)
      known.set(key, before)
      const node = () => Either.flatMap(parseJson(bytes), (json) => jsonNode(json["node"], ignoreUnknownFields))
      return Effect.succeed({ ...before, node })
    }
    return Effect.map(ofJson(bytes, ignoreUnknownFields), (decoded) => {
      const { nodeKey, request } = decoded
      if (request.resourceNames.length <= fewNames) known.set(key, { request, nodeKey })
      const [oldest] = known.keys()
      if (known.size > capacity && oldest !== undefined) known.delete(oldest)
      return decoded
    })
  }
  return (format, bytes) => (format === "json" ? decodeJson(bytes) : ofBinary(bytes))
}
