import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { Resource } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { assert, describe, it } from "@effect/vitest"
import { status, credentials, Client } from "@grpc/grpc-js"
import { Effect, Either, Queue } from "effect"
import { ControlPlane } from "../src/controlPlane.js"

const cluster = (name: string, content: string) =>
  Either.getOrThrow(
    Resource.make({ typeUrl: ResourceType.Cluster.typeUrl, name, value: new TextEncoder().encode(content) })
  )

/** A real gRPC client of incremental ADS: what it sends, and what comes back, in order. */
const connect = (port: number) =>
  Effect.gen(function* () {
    const responses = yield* Queue.unbounded<DeltaDiscoveryResponse | { readonly ended: number }>()
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new Client(`127.0.0.1:${port}`, credentials.createInsecure())),
      (client) => Effect.sync(() => client.close())
    )
    const call = client.makeBidiStreamRequest<DeltaDiscoveryRequest, DeltaDiscoveryResponse>(
      `/${ResourceType.aggregated.service}/${ResourceType.aggregated.delta}`,
      (request) => Buffer.from(toBinary(DeltaDiscoveryRequestSchema, request)),
      (bytes) => fromBinary(DeltaDiscoveryResponseSchema, bytes)
    )
    call.on("data", (response: DeltaDiscoveryResponse) => Queue.unsafeOffer(responses, response))
    call.on("error", () => undefined)
    call.on("status", ({ code }) => Queue.unsafeOffer(responses, { ended: code }))
    const send = (
      request: Partial<Pick<DeltaDiscoveryRequest, "typeUrl" | "responseNonce" | "resourceNamesSubscribe">>
    ) => Effect.sync(() => call.write(create(DeltaDiscoveryRequestSchema, request)))
    const take = Queue.take(responses).pipe(Effect.timeout("30 seconds"))
    return { send, take }
  })

const typeUrl = ResourceType.Cluster.typeUrl

const names = (response: DeltaDiscoveryResponse | { readonly ended: number }) =>
  "ended" in response ? [`ended ${response.ended}`] : response.resources.map((resource) => resource.name)

describe("a control plane on the core alone", () => {
  const plane = Effect.acquireRelease(
    Effect.sync(() => new ControlPlane(() => undefined)),
    (plane) => Effect.sync(() => plane.close())
  )

  it.scopedLive("sends what there is, then only what changed, then what was removed", () =>
    Effect.gen(function* () {
      const server = yield* plane
      server.update([cluster("a", "1"), cluster("b", "1")])
      const client = yield* connect(yield* Effect.promise(() => server.listen(0)))
      yield* client.send({ typeUrl })
      const first = yield* client.take
      assert.deepStrictEqual(names(first).sort(), ["a", "b"])
      yield* client.send({ typeUrl, responseNonce: "1" })
      server.update([cluster("b", "2")])
      assert.deepStrictEqual(names(yield* client.take), ["b"])
      // Deletions go out when the client has said that it took what was sent before.
      yield* client.send({ typeUrl, responseNonce: "2" })
      server.update([], [{ typeUrl, name: "a" }])
      const last = yield* client.take
      assert.deepStrictEqual("ended" in last ? last : last.removedResources, ["a"])
    })
  )

  it.scopedLive("answers a request of thousands of names", () =>
    Effect.gen(function* () {
      const server = yield* plane
      const all = Array.from({ length: 2_000 }, (_, index) => `cluster-${index}`)
      server.update(all.map((name) => cluster(name, "1")))
      const client = yield* connect(yield* Effect.promise(() => server.listen(0)))
      yield* client.send({ typeUrl, resourceNamesSubscribe: all })
      const received: Array<string> = []
      while (received.length < all.length) received.push(...names(yield* client.take))
      assert.sameMembers(received, all)
    })
  )

  it.scopedLive("ends a stream that breaks the protocol, and no other", () =>
    Effect.gen(function* () {
      const server = yield* plane
      server.update([cluster("a", "1")])
      const port = yield* Effect.promise(() => server.listen(0))
      const bad = yield* connect(port)
      const good = yield* connect(port)
      yield* bad.send({})
      assert.deepStrictEqual(names(yield* bad.take), [`ended ${status.INVALID_ARGUMENT}`])
      yield* good.send({ typeUrl })
      assert.deepStrictEqual(names(yield* good.take), ["a"])
    })
  )
})
