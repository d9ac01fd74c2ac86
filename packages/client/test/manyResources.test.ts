/** A response with thousands of resources is worked on in many turns of the event loop; what comes out is as if it were one. */
import { create, toBinary } from "@bufbuild/protobuf"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { ScriptedServer } from "@effect-xds/testing"
import { EventLoop, Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Either, Exit, Layer, Logger, Scope, Stream, TestClock } from "effect"
import { HandTurnedLoop } from "./HandTurnedLoop.js"

const { typeUrl } = ResourceType.Cluster

const count = 2_000
const names = Array.from({ length: count }, (_, index) => `cluster-${index}`)

/** Clusters, by name; a stat name that begins with `bad` is rejected. */
const response = (nonce: string, clusters: ReadonlyArray<readonly [name: string, altStatName: string]>) =>
  toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, {
      typeUrl,
      nonce,
      versionInfo: nonce,
      resources: clusters.map(([name, altStatName]) =>
        create(AnySchema, { typeUrl, value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName })) })
      )
    })
  )

const all = (nonce: string, content = nonce) =>
  response(
    nonce,
    names.map((name) => [name, content])
  )

const changes = (nonce: string, clusters: ReadonlyArray<string>) =>
  toBinary(
    DeltaDiscoveryResponseSchema,
    create(DeltaDiscoveryResponseSchema, {
      typeUrl,
      nonce,
      resources: clusters.map((name) => ({
        name,
        version: nonce,
        resource: create(AnySchema, { typeUrl, value: toBinary(ClusterSchema, create(ClusterSchema, { name })) })
      }))
    })
  )

const settle = Effect.repeatN(Effect.yieldNow(), 50)

type Event = ResourceEvent.ResourceEvent<string>

const show = (event: Event): string =>
  event._tag === "Updated" ? `${event.name}=${event.value}@${event.version}` : `${event.name} ${event._tag}`

/** A client on a loop that turns by hand, whose slices are over after so many readings of the clock. */
const connected = (steps = 8, options?: Pick<XdsClient.Options, "bootstrap" | "protocol">) =>
  Effect.gen(function* () {
    const loop = new HandTurnedLoop(steps)
    const scope = yield* Scope.make()
    const context = yield* XdsClient.layer({
      bootstrap: Bootstrap.make({ servers: ["s:1"], node: { id: "n" } }),
      ...options
    }).pipe(
      Layer.provideMerge(ScriptedServer.layer),
      Layer.provideMerge(Logger.replace(Logger.defaultLogger, Logger.none)),
      Layer.provide(Layer.succeed(EventLoop.EventLoop, loop)),
      Layer.buildWithScope(scope)
    )
    const [client, { streams }] = yield* Effect.provide(
      Effect.all([XdsClient.XdsClient, ScriptedServer.ScriptedServer]),
      context
    )
    let decoded = 0
    const type = WatchableType.make<string>({
      typeUrl,
      decode: (bytes) => {
        decoded++
        const text = new TextDecoder().decode(bytes)
        const content = text.slice(text.indexOf("\u00e2\u0001") + 3)
        return content.includes("bad") ? Either.left("is bad") : Either.right(content.slice(-1))
      }
    })
    let taken = 0
    const watch = (name: string, take: (event: Event) => Effect.Effect<void> = () => Effect.void) => {
      const told: Array<string> = []
      const each = (event: Event) =>
        Effect.suspend(() => {
          taken++
          told.push(show(event))
          return take(event)
        })
      const events = name === "*" ? client.watchAll(type) : client.watch(type, name)
      return Effect.as(Effect.forkIn(Stream.runForEach(events, each), scope), told)
    }
    const acceptOf = (address: string) =>
      Effect.gen(function* () {
        yield* settle
        const stream = streams.findLast((each) => each.server.address === address)
        stream?.accept()
        yield* settle
        if (stream === undefined) return yield* Effect.dieMessage("no stream")
        return stream
      })
    const accept = Effect.zipRight(
      Effect.suspend(() => TestClock.adjust("1 second")),
      acceptOf("s:1")
    )
    /** Turns until nothing waits; the most that is decoded in one of them, and the most that watchers take after one. */
    const turns = (begin: () => void = () => undefined) =>
      Effect.gen(function* () {
        const most = { decoded: 0, taken: 0 }
        for (let left = 1, work = begin; left > 0; work = () => void (left = loop.turn(1))) {
          const before = { decoded, taken }
          work()
          yield* settle
          most.decoded = Math.max(most.decoded, decoded - before.decoded)
          most.taken = Math.max(most.taken, taken - before.taken)
        }
        return most
      })
    return { accept, acceptOf, streams, client, close: Scope.close(scope, Exit.void), loop, turns, watch }
  })

describe("thousands of resources in one response", () => {
  it.effect("★ are decoded, and told, in many turns: in none of them more than some are", () =>
    Effect.gen(function* () {
      const { accept, close, turns, watch } = yield* connected()
      const told = yield* watch("*")
      const stream = yield* accept
      const most = yield* turns(() => stream.send(all("1")))
      expect(told).toEqual(names.map((name) => `${name}=1@1`))
      expect(most.decoded).toBeLessThanOrEqual(8)
      expect(most.taken).toBeLessThanOrEqual(256)
      expect(stream.requests.at(-1)).toMatchObject({ responseNonce: "1", versionInfo: "1" })
      // Nothing is left: there are none any more.
      expect((yield* turns(() => stream.send(response("2", [])))).taken).toBeLessThanOrEqual(256)
      expect(told.slice(count).sort()).toEqual(names.map((name) => `${name} DoesNotExist`).sort())
      expect(stream.requests.at(-1)).toMatchObject({ responseNonce: "2", versionInfo: "2" })
      yield* close
    })
  )

  it.effect("★ wake no more than some watchers in one turn", () =>
    Effect.gen(function* () {
      const { accept, close, turns, watch } = yield* connected(1_000)
      const watched = names.slice(0, 300)
      const told = yield* Effect.forEach(watched, (name) => watch(name))
      const stream = yield* accept
      expect((yield* turns(() => stream.send(all("1")))).taken).toBeLessThanOrEqual(64)
      expect(told).toEqual(watched.map((name) => [`${name}=1@1`]))
      expect(stream.requests.at(-1)).toMatchObject({ responseNonce: "1" })
      yield* close
    })
  )

  it.effect("are rejected one by one: the others are used, and the answer is a NACK with each", () =>
    Effect.gen(function* () {
      const { accept, close, turns, watch } = yield* connected()
      const told = yield* watch("*")
      const stream = yield* accept
      const isBad = (index: number) => index === 70 || index === 1_999
      stream.send(
        response(
          "1",
          names.map((name, index) => [name, isBad(index) ? "bad" : "1"])
        )
      )
      yield* settle
      yield* turns()
      expect(told.filter((each) => !each.endsWith("Error"))).toHaveLength(count - 2)
      expect(told.filter((each) => each.endsWith("Error"))).toEqual(["cluster-70 Error", "cluster-1999 Error"])
      expect(stream.requests.at(-1)).toMatchObject({
        responseNonce: "1",
        versionInfo: "",
        errorDetail: { message: 'resource "cluster-70": is bad; resource "cluster-1999": is bad' }
      })
      yield* close
    })
  )

  it.effect("★ are answered when all of them are processed, and not before", () =>
    Effect.gen(function* () {
      const { accept, close, loop, turns, watch } = yield* connected()
      const [first, last] = yield* Effect.all([Deferred.make<void>(), Deferred.make<void>()])
      const waits = new Map([
        ["cluster-0", first],
        ["cluster-1999", last]
      ])
      const told = yield* watch("*", ({ name }) => waits.get(name) ?? Effect.void)
      const stream = yield* accept
      stream.send(response("1", [["cluster-0", "1"]]))
      yield* settle
      // It takes too long, so reading goes on without it.
      expect(stream.requests.at(-1)?.responseNonce).toBe("")
      yield* TestClock.adjust("10 seconds")
      yield* settle
      expect(stream.requests.at(-1)?.responseNonce).toBe("1")
      stream.send(all("2"))
      yield* settle
      loop.turn(3)
      // Now it has processed the first one. That it is not told yet of the second one does not mean that it has processed it.
      yield* Deferred.succeed(first, undefined)
      yield* settle
      yield* turns()
      expect(told.at(-1)).toBe("cluster-1999=2@2")
      expect(stream.requests.at(-1)?.responseNonce).toBe("1")
      yield* Deferred.succeed(last, undefined)
      yield* settle
      expect(stream.requests.at(-1)?.responseNonce).toBe("2")
      yield* close
    })
  )

  it.effect("what comes meanwhile waits: another watch, of a type that is new, and the end of the stream", () =>
    Effect.gen(function* () {
      const { accept, client, close, loop, turns, watch } = yield* connected()
      const told = yield* watch("*")
      const stream = yield* accept
      stream.send(all("1"))
      yield* settle
      loop.turn(3)
      const late = yield* watch("cluster-5")
      const get = yield* Effect.fork(client.get(WatchableType.fromSchema(ClusterSchema), "x", { timeout: "1 second" }))
      const listeners = WatchableType.make({ typeUrl: ResourceType.Listener.typeUrl, decode: Either.right })
      yield* Effect.fork(Stream.runDrain(client.watch(listeners, "l")))
      yield* settle
      stream.end()
      yield* settle
      expect([told, late]).toEqual([[], []])
      // The type of clusters has a decoder, and keeps it.
      expect((yield* Effect.exit(get))._tag).toBe("Failure")
      yield* turns()
      expect(told).toHaveLength(count)
      expect(late).toEqual(["cluster-5=1@1"])
      const next = yield* accept
      yield* turns()
      expect(next.requests.map((request) => request.typeUrl).sort()).toEqual([typeUrl, ResourceType.Listener.typeUrl])
      yield* close
    })
  )

  it.effect("★ what a stream said last is not taken for that of the stream that replaces it", () =>
    Effect.gen(function* () {
      const bootstrap = Bootstrap.make({ servers: ["first:1", "second:1"], node: { id: "n" } })
      const { acceptOf, close, loop, streams, turns, watch } = yield* connected(8, {
        bootstrap,
        protocol: "Incremental"
      })
      const told = yield* watch("*")
      yield* settle
      streams.at(-1)?.end(Status.make("UNAVAILABLE", "refused"))
      const second = yield* acceptOf("second:1")
      second.send(changes("1", ["a"]))
      yield* settle
      yield* TestClock.adjust("2 seconds")
      const first = yield* acceptOf("first:1")
      yield* TestClock.adjust("5 seconds")
      // The first server does not know of this one, so it must be told with another stream, before it is the one in use.
      second.send(changes("2", ["b"]))
      yield* settle
      first.send(changes("1", names))
      yield* settle
      loop.turn(3)
      first.end()
      yield* settle
      yield* turns()
      expect(told).toHaveLength(count + 2)
      yield* TestClock.adjust("10 seconds")
      yield* turns()
      const open = streams.filter((stream) => stream.isOpen())
      expect(open.map(({ server }) => server.address)).toEqual(["first:1"])
      yield* close
    })
  )

  it.effect("are dropped when the client ends", () =>
    Effect.gen(function* () {
      const { accept, close, loop, watch } = yield* connected()
      const told = yield* watch("*")
      const stream = yield* accept
      stream.send(all("1"))
      yield* settle
      loop.turn(2)
      yield* close
      expect(loop.turn()).toBeLessThan(2)
      expect(told).toEqual([])
    })
  )
})
