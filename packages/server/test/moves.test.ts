import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { ServerEvent } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import type { Scope } from "effect"
import { Effect, Layer, Logger, Stream, SubscriptionRef } from "effect"

const CDS = ResourceType.Cluster.typeUrl
const LDS = ResourceType.Listener.typeUrl
const both = [CDS, LDS]

const content = (...names: ReadonlyArray<string>) => ({
  clusters: names.map((name) => create(ClusterSchema, { name })),
  listeners: names.map((name) => create(ListenerSchema, { name }))
})

const node = toBinary(NodeSchema, create(NodeSchema, { id: "n" }))

const open = MemoryClient.open().pipe(
  Effect.tap((client) => {
    for (const typeUrl of both) client.send(Request.incremental({ typeUrl, node }))
  })
)

const next = (client: Effect.Effect.Success<typeof open>) =>
  Effect.gen(function* () {
    const { names, nonce, removed, typeUrl } = yield* client.receive
    client.send(Request.incremental({ typeUrl, responseNonce: nonce }))
    return [ResourceType.shortNameOf(typeUrl), names, removed]
  })

type Services = XdsServer.XdsServer | SnapshotStore.SnapshotStore | MemoryTransport.MemoryTransport | Scope.Scope

/** Runs with a directory that says the group of every client. */
const run = <A, E>(
  effect: (directory: SubscriptionRef.SubscriptionRef<string>) => Effect.Effect<A, E, Services>,
  options: (directory: SubscriptionRef.SubscriptionRef<string>) => Partial<XdsServer.Options> = () => ({})
) =>
  Effect.gen(function* () {
    const directory = yield* SubscriptionRef.make("one")
    return yield* Effect.provide(
      Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.set("one", content("a", "same"))
        yield* store.set("two", content("same", "b"))
        return yield* effect(directory)
      }),
      XdsServer.layer({ group: () => directory.changes, ...options(directory) }).pipe(
        Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
        Layer.provide(Logger.remove(Logger.defaultLogger))
      )
    )
  })

const connected = Effect.gen(function* () {
  const client = yield* open
  expect(yield* next(client)).toEqual(["CDS", ["a", "same"], []])
  expect(yield* next(client)).toEqual(["LDS", ["a", "same"], []])
  return client
})

/** The event loop turns. */
const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve)))

const groups = Effect.flatMap(XdsServer.XdsServer, (server) =>
  Effect.map(server.status, (all) => all.map(({ group }) => group))
)

describe("a client whose group becomes another one", () => {
  it.scopedLive(
    "★ is moved: what is new goes out in the order of types, what is gone last, what is the same not at all",
    () =>
      run((directory) =>
        Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          const server = yield* XdsServer.XdsServer
          const client = yield* connected
          const events: Array<ServerEvent.ServerEvent> = []
          yield* Effect.forkScoped(Stream.runForEach(server.events, (event) => Effect.sync(() => events.push(event))))
          yield* Effect.yieldNow()
          yield* SubscriptionRef.set(directory, "two")
          expect(yield* next(client)).toEqual(["CDS", ["b"], []])
          expect(yield* next(client)).toEqual(["LDS", ["b"], ["a"]])
          expect(yield* next(client)).toEqual(["CDS", [], ["a"]])
          expect(yield* groups).toEqual(["two"])
          const moves = events.flatMap((event) => (event._tag === "Moved" ? [[event.from, event.client.group]] : []))
          expect(moves).toEqual([["one", "two"]])
          // Of the group that it left it hears nothing more.
          yield* store.set("one", content("c"))
          yield* store.set("two", content("same", "b", "d"))
          expect(yield* next(client)).toEqual(["CDS", ["d"], []])
          expect(yield* next(client)).toEqual(["LDS", ["d"], []])
          // And back again: nobody else was in it meanwhile.
          yield* SubscriptionRef.set(directory, "one")
          expect(yield* next(client)).toEqual(["CDS", ["c"], []])
          expect(yield* next(client)).toEqual(["LDS", ["c"], ["b", "d", "same"]])
        })
      )
  )

  it.scopedLive("to one that is not set: waits, keeps what it has, and is sent what is different when it is set", () =>
    run((directory) =>
      Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        const client = yield* connected
        yield* SubscriptionRef.set(directory, "three")
        yield* Effect.iterate(yield* groups, {
          while: ([group]) => group !== "three",
          body: () => Effect.zipRight(turn, groups)
        })
        expect(client.unread()).toBe(0)
        yield* store.set("three", content("a", "same", "c"))
        expect(yield* next(client)).toEqual(["CDS", ["c"], []])
      })
    )
  )

  it.scopedLive("many names at a time are one move, to the last", () =>
    run(
      () =>
        Effect.gen(function* () {
          const client = yield* open
          yield* Effect.iterate(yield* groups, {
            while: ([group]) => group !== "two",
            body: () => Effect.zipRight(turn, groups)
          })
          const first = yield* next(client)
          expect([
            ["CDS", ["a", "same"], []],
            ["CDS", ["b", "same"], []],
            ["CDS", ["same", "b"], []]
          ]).toContainEqual(first)
        }),
      () => ({ group: () => Stream.fromIterable(["one", "two", "one", "two", "one", "two"]) })
    )
  )

  for (const { phaseDeadline, ...how } of [
    { makeBeforeBreak: false, phaseDeadline: "1 hour" },
    { makeBeforeBreak: true, phaseDeadline: "1 millis" }
  ] as const) {
    it.scopedLive(
      `waits between phases as its new group says: ${how.makeBeforeBreak ? phaseDeadline : "not at all"}`,
      () =>
        run(
          (directory) =>
            Effect.gen(function* () {
              const client = yield* connected
              yield* SubscriptionRef.set(directory, "two")
              // Without an ACK.
              expect((yield* client.receive).typeUrl).toBe(CDS)
              expect((yield* client.receive).typeUrl).toBe(LDS)
            }),
          () => ({
            phaseDeadline: "1 hour",
            settings: (group) => (group === "two" ? { ...how, phaseDeadline } : undefined)
          })
        ),
      5_000
    )
  }

  it.scopedLive("is not moved by the name of the group that it is in", () =>
    run((directory) =>
      Effect.gen(function* () {
        const server = yield* XdsServer.XdsServer
        const store = yield* SnapshotStore.SnapshotStore
        const client = yield* connected
        const events: Array<ServerEvent.ServerEvent> = []
        yield* Effect.forkScoped(Stream.runForEach(server.events, (event) => Effect.sync(() => events.push(event))))
        yield* Effect.yieldNow()
        yield* SubscriptionRef.set(directory, "one")
        yield* turn
        yield* store.set("one", content("a", "same", "b"))
        expect(yield* next(client)).toEqual(["CDS", ["b"], []])
        yield* turn
        expect(events.filter(({ _tag }) => _tag === "Moved")).toEqual([])
      })
    )
  )

  it.scopedLive("is bound by the number of streams that the group has, and by what was taken back", () =>
    run(
      (directory) =>
        Effect.gen(function* () {
          const clients = [yield* connected, yield* connected]
          yield* SubscriptionRef.set(directory, "two")
          const ends = yield* Effect.raceAll(clients.map((client) => client.ended))
          expect(ends.message).toBe('group "two" has its 1 streams already, the limit for one group')
          expect(yield* groups).toEqual(["two"])
          yield* SubscriptionRef.set(directory, "forbidden")
          const all = yield* Effect.all(
            clients.map((client) => client.ended),
            { concurrency: 2 }
          )
          expect(all).toContainEqual(Status.make("PERMISSION_DENIED", "not for you"))
          expect(yield* groups).toEqual([])
        }),
      () => ({
        settings: (group) => (group === "two" ? { maxStreams: 1 } : undefined),
        revocations: Stream.succeed((_origin, group) =>
          group === "forbidden" ? new XdsServer.Refusal({ reason: "not for you" }) : undefined
        )
      })
    )
  )

  for (const [title, end, status] of [
    ["fails with a refusal", Stream.fail(new XdsServer.Refusal({ reason: "gone" })), "PERMISSION_DENIED"],
    ["dies", Stream.dieMessage("no directory"), "INTERNAL"]
  ] as const) {
    it.scopedLive(`ends when its stream of names ${title}`, () =>
      run(
        (directory) =>
          Effect.gen(function* () {
            const client = yield* connected
            yield* SubscriptionRef.set(directory, "end")
            expect((yield* client.ended).code).toBe(status)
            expect(yield* groups).toEqual([])
          }),
        (directory) => ({
          group: () => Stream.flatMap(directory.changes, (name) => (name === "end" ? end : Stream.succeed(name)))
        })
      )
    )
  }

  it.scopedLive("stays where it is when there are no more names; a stream without any is the end of the client's", () =>
    run(
      () =>
        Effect.gen(function* () {
          const client = yield* connected
          yield* Effect.yieldNow()
          expect(yield* groups).toEqual(["one"])
          const other = yield* MemoryClient.open({ headers: { empty: "yes" } })
          other.send(Request.incremental({ typeUrl: CDS, node }))
          expect((yield* other.ended).code).toBe("INTERNAL")
          const store = yield* SnapshotStore.SnapshotStore
          yield* store.set("one", content("a", "same", "z"))
          expect(yield* next(client)).toEqual(["CDS", ["z"], []])
        }),
      () => ({
        group: (_node, { headers }) => (headers["empty"] === "yes" ? Stream.empty : Stream.succeed("one"))
      })
    )
  )

  it.scopedLive("what finds its group ends with its stream", () => {
    let running = 0
    return run(
      (directory) =>
        Effect.gen(function* () {
          const client = yield* connected
          expect(running).toBe(1)
          yield* SubscriptionRef.set(directory, "two")
          yield* next(client)
          client.end()
          yield* Effect.iterate(running, { while: (count) => count > 0, body: () => Effect.map(turn, () => running) })
        }),
      (directory) => ({
        group: () =>
          Stream.unwrapScoped(
            Effect.as(
              Effect.acquireRelease(
                Effect.sync(() => running++),
                () => Effect.sync(() => running--)
              ),
              directory.changes
            )
          )
      })
    )
  })
})
