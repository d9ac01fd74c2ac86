/** A large resource is decoded in many turns of the event loop; what comes out, and in which order, is as if it were one. */
import { create, toBinary } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { LargeAssignment, ScriptedServer } from "@effect-xds/testing"
import { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Scope, Stream, TestClock } from "effect"
import { HandTurnedLoop } from "./HandTurnedLoop.js"

const { typeUrl } = ResourceType.ClusterLoadAssignment

const assignment = (count: number, last?: number): Uint8Array =>
  toBinary(ClusterLoadAssignmentSchema, LargeAssignment.make(count, last))

const response = (nonce: string, value: Uint8Array) =>
  toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, {
      typeUrl,
      nonce,
      versionInfo: nonce,
      resources: [create(AnySchema, { typeUrl, value })]
    })
  )

const settle = Effect.repeatN(Effect.yieldNow(), 50)

/** A client that watches `web` on a loop that turns by hand. */
const watching = (steps = 8) =>
  Effect.gen(function* () {
    const loop = new HandTurnedLoop(steps)
    const scope = yield* Scope.make()
    const context = yield* XdsClient.layer({
      bootstrap: Bootstrap.make({ servers: ["s:1"], node: { id: "n" } })
    }).pipe(
      Layer.provideMerge(ScriptedServer.layer),
      Layer.provideMerge(Logger.replace(Logger.defaultLogger, Logger.none)),
      Layer.provide(Layer.succeed(EventLoop.EventLoop, loop)),
      Layer.buildWithScope(scope)
    )
    const events: Array<ResourceEvent.ResourceEvent<ClusterLoadAssignment>> = []
    const [client, { streams }] = yield* Effect.provide(
      Effect.all([XdsClient.XdsClient, ScriptedServer.ScriptedServer]),
      context
    )
    const watch = Effect.forkIn(
      Stream.runForEach(client.watch(WatchableType.fromSchema(ClusterLoadAssignmentSchema), "web"), (event) =>
        Effect.sync(() => events.push(event))
      ),
      scope
    )
    yield* watch
    yield* settle
    yield* TestClock.adjust("1 second")
    const [stream] = streams
    stream?.accept()
    yield* settle
    if (stream === undefined) return yield* Effect.dieMessage("no stream")
    return { loop, events, stream, close: Scope.close(scope, Exit.void) }
  })

describe("a large resource", () => {
  it.effect("★ is decoded in many turns: in none of them more than a few steps are done", () =>
    Effect.gen(function* () {
      const { close, events, loop, stream } = yield* watching()
      stream.send(response("1", assignment(10_000)))
      yield* settle
      expect(events).toEqual([])
      expect(stream.requests.at(-1)?.responseNonce).toBe("")
      const turns = loop.turn()
      yield* settle
      // Rules are checked of 16 endpoints in a step, and 8 192 bytes are decoded.
      expect(turns).toBeGreaterThan(10_000 / 16 / 8)
      expect(events).toMatchObject([{ _tag: "Updated", name: "web" }])
      const [event] = events
      expect(event?._tag === "Updated" && event.value.endpoints[0]?.lbEndpoints.length).toBe(10_000)
      expect(stream.requests.at(-1)).toMatchObject({ responseNonce: "1", versionInfo: "1" })
      yield* close
    })
  )

  it.effect("that breaks a rule is rejected with the words for a small one, and the last one is kept", () =>
    Effect.gen(function* () {
      const { close, events, loop, stream } = yield* watching()
      stream.send(response("1", assignment(2_000)))
      yield* settle
      loop.turn()
      yield* settle
      stream.send(response("2", assignment(2_000, 70_000)))
      yield* settle
      loop.turn()
      yield* settle
      expect(stream.requests.at(-1)).toMatchObject({ responseNonce: "2", versionInfo: "1" })
      expect(stream.requests.at(-1)?.errorDetail?.message).toBe(
        'resource "web": endpoints[0].lb_endpoints[1999].endpoint.address.socket_address.port_value ' +
          "must be at most 65535, is 70000"
      )
      expect(events.map(({ _tag }) => _tag)).toEqual(["Updated", "AmbientError"])
      yield* close
    })
  )

  it.effect("that comes again unchanged is not decoded", () =>
    Effect.gen(function* () {
      const { close, loop, stream } = yield* watching()
      stream.send(response("1", assignment(2_000)))
      yield* settle
      expect(loop.turn()).toBeGreaterThan(10)
      yield* settle
      stream.send(response("2", assignment(2_000)))
      yield* settle
      expect(loop.turn()).toBe(0)
      expect(stream.requests.at(-1)).toMatchObject({ responseNonce: "2", versionInfo: "2" })
      yield* close
    })
  )

  it.effect("what comes meanwhile waits: the end of its stream is told after it", () =>
    Effect.gen(function* () {
      const { close, events, loop, stream } = yield* watching()
      stream.send(response("1", assignment(2_000)))
      yield* settle
      loop.turn(2)
      stream.end()
      yield* settle
      expect(events).toEqual([])
      loop.turn()
      yield* settle
      expect(events.map(({ _tag }) => _tag)[0]).toBe("Updated")
      yield* close
    })
  )

  it.effect("is dropped when the client ends", () =>
    Effect.gen(function* () {
      const { close, events, loop, stream } = yield* watching()
      stream.send(response("1", assignment(2_000)))
      yield* settle
      loop.turn(2)
      yield* close
      expect(loop.turn()).toBeLessThan(2)
      expect(events).toEqual([])
    })
  )
})
