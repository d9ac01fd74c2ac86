/** Streams that a test plays by hand, at either end, and a network in its hands. */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { Resource, Response } from "@effect-xds/core"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport, ScriptedServer, TcpProxy, Waiting } from "@effect-xds/testing"
import { expect, it } from "@effect/vitest"
import { Effect, Either, Layer } from "effect"
import { connect, createServer } from "node:net"

const { typeUrl } = ResourceType.Cluster

it.scopedLive("a response that a test sends before it accepts the stream is delivered when it does", () =>
  Effect.gen(function* () {
    const client = yield* XdsClient.XdsClient
    const { open } = yield* ScriptedServer.ScriptedServer
    const cluster = yield* Effect.fork(client.get(ClusterSchema, "a"))
    const stream = yield* Waiting.found("a stream", () => open()[0])
    const resource = Either.getOrThrow(Resource.make({ typeUrl, name: "a", value: Uint8Array.of(10, 1, 97) }))
    stream.respond(Response.make({ protocol: "StateOfTheWorld", typeUrl, version: "1", resources: [resource] }), "1")
    expect(stream.credit()).toBe(1)
    stream.accept()
    expect(yield* cluster).toEqual(create(ClusterSchema, { name: "a" }))
  }).pipe(
    Effect.provide(
      XdsClient.layer({ bootstrap: Bootstrap.make({ servers: ["xds:1"], node: { id: "n" } }) }).pipe(
        Layer.provideMerge(ScriptedServer.layer)
      )
    )
  )
)

it.scopedLive("a stream that its client ended gives no response, and says so", () =>
  Effect.gen(function* () {
    const client = yield* MemoryClient.open()
    client.end("the test is over")
    const status = { code: "CANCELLED", message: "the test is over" }
    expect(yield* Effect.flip(client.receive)).toMatchObject(status)
    expect(yield* client.ended).toMatchObject(status)
  }).pipe(
    Effect.provide(
      XdsServer.layer({ group: () => "edge" }).pipe(
        Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer))
      )
    )
  )
)

/** A server that sends so many bytes, ends, and counts what comes. */
const sending = (bytes: number) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<{ readonly port: number; readonly received: () => number; readonly close: () => void }>(
          (resolve) => {
            let received = 0
            const server = createServer({ allowHalfOpen: true }, (socket) => {
              socket.on("error", () => undefined)
              socket.on("data", (chunk) => (received += chunk.length))
              socket.end(Buffer.alloc(bytes))
            })
            server.listen(0, "127.0.0.1", () => {
              const address = server.address()
              const port = typeof address === "object" && address !== null ? address.port : 0
              resolve({ port, received: () => received, close: () => server.close() })
            })
          }
        )
    ),
    ({ close }) => Effect.sync(close)
  )

it.scopedLive.each([
  { bytes: 1_000, delay: 20 },
  { bytes: 5_000_000, delay: 0 }
])("a proxy brings all that was sent before an end, in both directions: $bytes bytes, $delay ms", ({ bytes, delay }) =>
  Effect.gen(function* () {
    const server = yield* sending(bytes)
    const proxy = yield* TcpProxy.make(server.port)
    proxy.delay(delay)
    let arrived = 0
    const socket = connect({ port: proxy.port, host: "127.0.0.1", allowHalfOpen: true })
    // It writes after the server has ended.
    socket.on("data", (chunk) => (arrived += chunk.length)).on("end", () => socket.end("thank you"))
    yield* Waiting.eventually(() => expect([arrived, server.received()]).toEqual([bytes, 9]))
  })
)
