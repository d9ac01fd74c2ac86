/** Answers in JSON: written a resource at a time, whatever protocol and compression they go out with. */
import { create, toBinary, toJson } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { gunzipSync } from "node:zlib"
import { vi } from "vitest"
import * as Http2Client from "./Http2Client.js"
import type { Behaviour } from "./RecordingServer.js"
import { adsPath, deltaPath, frame, serve } from "./RecordingServer.js"

const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const count = 300

const any = (index: number) =>
  create(AnySchema, { typeUrl, value: toBinary(ClusterSchema, create(ClusterSchema, { name: `cluster-${index}` })) })
const indices = Array.from({ length: count }, (_, index) => index)
const stateOfTheWorld = create(DiscoveryResponseSchema, {
  versionInfo: "1",
  typeUrl,
  resources: indices.map(any)
})
const incremental = create(DeltaDiscoveryResponseSchema, {
  typeUrl,
  resources: indices.map((index) => ({ name: `cluster-${index}`, version: "1", resource: any(index) })),
  removedResources: ["gone"]
})

/** Answers the first request of a stream. */
const answering: Behaviour = {
  onRequest: ({ requests, stream }) => {
    if (requests.length > 1) return
    const body =
      stream.method.protocol === "Incremental"
        ? toBinary(DeltaDiscoveryResponseSchema, incremental)
        : toBinary(DiscoveryResponseSchema, stateOfTheWorld)
    stream.write({ body, suffix: new Uint8Array() })
    stream.end({ code: "OK", message: "" })
  }
}

const unary = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"

/** Each turn has time for one part only; how many were taken. */
const countTurns = Effect.acquireRelease(
  Effect.sync(() => {
    vi.spyOn(TimeSlices.prototype, "isOver").mockReturnValue(true)
    return vi.spyOn(TimeSlices.prototype, "later")
  }),
  () => Effect.sync(() => vi.restoreAllMocks())
)

const messageIn = (body: Buffer): Buffer => {
  const message = body.subarray(5, 5 + body.readUInt32BE(1))
  return body[0] === 1 ? gunzipSync(message) : message
}

describe("an answer in JSON", () => {
  for (const [path, contentType] of [
    [unary, "application/json"],
    [unary, "application/grpc+json"],
    [unary, "application/grpc-web+json"],
    [adsPath, "application/connect+json"],
    [adsPath, "application/grpc+json"],
    [deltaPath, "application/grpc-web+json"],
    [deltaPath, "application/connect+json"]
  ] as const) {
    for (const encoding of ["identity", "gzip"]) {
      it.scopedLive(`to ${path} as ${contentType}, ${encoding}, is written a resource at a time`, () =>
        Effect.gen(function* () {
          const { port } = yield* serve({}, answering)
          const later = yield* countTurns
          const call = Http2Client.open(yield* Http2Client.connect(port), {
            ":path": path,
            "content-type": contentType,
            "accept-encoding": encoding,
            "connect-accept-encoding": encoding,
            "grpc-accept-encoding": encoding
          })
          const isBare = contentType === "application/json"
          call.stream.end(isBare ? "{}" : frame(Buffer.from("{}")))
          const headers = yield* Effect.promise(() => call.closed)
          const body = Buffer.concat(call.chunks)
          expect(headers[":status"]).toBe(200)
          if (isBare) expect(headers["content-length"]).toBe(String(body.length))
          const text = isBare ? (headers["content-encoding"] === "gzip" ? gunzipSync(body) : body) : messageIn(body)
          // Of a stream no compression is promised.
          const isCompressed = encoding === "gzip" && path === unary
          expect(isBare ? headers["content-encoding"] === "gzip" : body[0] === 1).toBe(isCompressed)
          const schema = path === deltaPath ? DeltaDiscoveryResponseSchema : DiscoveryResponseSchema
          const message = path === deltaPath ? incremental : stateOfTheWorld
          expect(JSON.parse(text.toString())).toEqual(
            toJson(schema, message, { registry: yield* Effect.promise(() => TypeRegistry.forMessage(schema, message)) })
          )
          expect(later.mock.calls.length).toBeGreaterThanOrEqual(count)
        })
      )
    }
  }
})
