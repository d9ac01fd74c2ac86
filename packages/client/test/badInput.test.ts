/** What a server should not send: a NACK that says what and where, the other resources are taken, the last good one is kept. */
import { toBinary } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { BadResource, ScriptedServer } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Stream, TestClock } from "effect"

const { typeUrl } = ResourceType.Cluster

const cluster = (name: string, altStatName: string) =>
  toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName }))

const response = (nonce: string, values: ReadonlyArray<Uint8Array>) =>
  toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, {
      typeUrl,
      nonce,
      versionInfo: nonce,
      resources: values.map((value) => create(AnySchema, { typeUrl, value }))
    })
  )

/** Some turns of the event loop, too: large resources are decoded in several. */
const settle = Effect.zipRight(
  Effect.repeatN(
    Effect.promise(() => new Promise(setImmediate)),
    20
  ),
  Effect.repeatN(Effect.yieldNow(), 50)
)

const layer = XdsClient.layer({ bootstrap: Bootstrap.make({ servers: ["s:1"], node: { id: "n" } }) }).pipe(
  Layer.provideMerge(ScriptedServer.layer),
  Layer.provideMerge(Logger.replace(Logger.defaultLogger, Logger.none))
)

const samples = BadResource.all({ levels: 10_000, size: 65_536 }).filter(
  (each) => each.typeUrl === typeUrl && each.name === "c" && !each.what.includes("large name")
)

describe("over the wire", () => {
  for (const { isValid, path, value, what } of samples) {
    it.scoped(what, () =>
      Effect.gen(function* () {
        const client = yield* XdsClient.XdsClient
        const { streams } = yield* ScriptedServer.ScriptedServer
        const events: Array<ResourceEvent.ResourceEvent<Cluster>> = []
        const watch = (name: string) =>
          Effect.forkScoped(
            Stream.runForEach(client.watch(WatchableType.fromSchema(ClusterSchema, { rules: false }), name), (event) =>
              Effect.sync(() => events.push(event))
            )
          )
        yield* watch("c")
        yield* settle
        yield* TestClock.adjust("1 second")
        const [stream] = streams
        stream?.accept()
        yield* settle
        stream?.send(response("1", [cluster("c", "first")]))
        yield* settle
        const before = events.length
        expect(before).toBeGreaterThan(0)
        stream?.send(response("2", [value, cluster("d", "other")]))
        yield* settle
        const last = stream?.requests.at(-1)
        expect(last?.responseNonce).toBe("2")
        if (isValid) expect(last?.errorDetail).toBeUndefined()
        else {
          expect(last?.errorDetail?.message).toMatch(/^resource /)
          expect(last?.errorDetail?.message).toContain(path)
          // Not malformed as a response: the stream goes on.
          expect(stream?.isOpen()).toBe(true)
        }
      }).pipe(Effect.provide(layer))
    )
  }
})
