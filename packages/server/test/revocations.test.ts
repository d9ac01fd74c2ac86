import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Queue, Stream } from "effect"

const CDS = ResourceType.Cluster.typeUrl

const node = (group: string) => toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: group }))

const ask = (group: string) => Request.incremental({ typeUrl: CDS, node: node(group), resourceNamesSubscribe: ["*"] })

const clusters = (...names: ReadonlyArray<string>) => ({
  clusters: names.map((name) => create(ClusterSchema, { name }))
})

const reason = (address: string) => `${address} may not go on`
const denied = (address: string) => Status.make("PERMISSION_DENIED", reason(address))

const except =
  (...addresses: ReadonlyArray<string>): XdsServer.Revocation =>
  ({ peer }, group) =>
    group === "edge" && addresses.includes(peer.address)
      ? new XdsServer.Refusal({ reason: reason(peer.address) })
      : undefined

const openAs = (address: string, group = "edge") =>
  Effect.gen(function* () {
    const client = yield* MemoryClient.open({ peer: { address } })
    client.send(ask(group))
    return client
  })

const run = <A, E>(
  options: Partial<XdsServer.Options>,
  effect: Effect.Effect<A, E, XdsServer.XdsServer | SnapshotStore.SnapshotStore | MemoryTransport.MemoryTransport>
) =>
  effect.pipe(
    Effect.provide(
      XdsServer.layer({ group: ({ cluster }) => cluster, ...options }).pipe(
        Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer))
      )
    ),
    Effect.provide(Logger.remove(Logger.defaultLogger))
  )

describe("What was allowed and is not any more", () => {
  it.scopedLive("ends the streams that it is about, and leaves the others as they are", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<XdsServer.Revocation>()
      yield* run(
        { revocations: Stream.fromQueue(queue) },
        Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          yield* store.set("edge", clusters("a"))
          yield* store.set("canary", clusters("a"))
          // More than are asked about at a time.
          const many = yield* Effect.forEach(Array.from({ length: 250 }), (_, index) => openAs(`m${index}`))
          const [one, other, elsewhere] = [yield* openAs("one"), yield* openAs("other"), yield* openAs("one", "canary")]
          for (const client of [...many, one, other, elsewhere]) expect((yield* client.receive).names).toEqual(["a"])
          yield* Queue.offer(queue, except("one", "m0", "m249"))
          expect(yield* one.ended).toEqual(denied("one"))
          const [last] = many.slice(-1)
          expect(last === undefined ? undefined : yield* last.ended).toEqual(denied("m249"))
          const server = yield* XdsServer.XdsServer
          expect((yield* server.status).map(({ peer }) => peer.address)).toHaveLength(250)
          yield* store.set("edge", clusters("a", "b"))
          yield* store.set("canary", clusters("a", "c"))
          for (const [client, name] of [
            [other, "b"],
            [elsewhere, "c"]
          ] as const) {
            client.send(Request.incremental({ typeUrl: CDS, responseNonce: "1" }))
            expect((yield* client.receive).names).toEqual([name])
          }
          // And it stays in force.
          expect(yield* (yield* openAs("one")).ended).toEqual(denied("one"))
          yield* Queue.offer(queue, except())
          yield* Effect.iterate(false, {
            while: (isServed) => !isServed,
            body: () =>
              Effect.flatMap(openAs("one"), (client) =>
                Effect.raceFirst(Effect.as(client.receive, true), Effect.as(client.ended, false))
              ).pipe(Effect.orElseSucceed(() => false))
          })
        })
      )
    })
  )

  for (const [what, endless] of [
    ["in the middle of something that is not interruptible", Stream.fromEffect(Effect.uninterruptible(Effect.never))],
    ["with a finalizer that hangs", Stream.ensuring(Stream.never, Effect.never)]
  ] as const) {
    it.scopedLive(`do not hold up the end of the server: ${what}`, () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const revocations = Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), endless))
        const open = yield* Effect.forkDaemon(
          run({ revocations }, Effect.zipRight(Deferred.await(begun), Effect.yieldNow()))
        )
        yield* Fiber.join(open).pipe(Effect.timeout("10 seconds"))
      })
    )
  }

  it.scopedLive("counts for a stream that was allowed before it, and is served only now", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<XdsServer.Revocation>()
      const [asked, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const seen = yield* Deferred.make<void>()
      yield* run(
        {
          group: ({ cluster }) =>
            Deferred.succeed(asked, undefined).pipe(Effect.zipRight(Deferred.await(goOn)), Effect.as(cluster)),
          revocations: Stream.tap(Stream.fromQueue(queue), () => Deferred.succeed(seen, undefined))
        },
        Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          yield* store.set("edge", clusters("a"))
          const client = yield* openAs("one")
          yield* Deferred.await(asked)
          yield* Queue.offer(queue, except("one"))
          yield* Deferred.await(seen)
          yield* Effect.yieldNow()
          yield* Deferred.succeed(goOn, undefined)
          expect(yield* client.ended).toEqual(denied("one"))
          expect(client.unread()).toBe(0)
        })
      )
    })
  )

  it.scopedLive("ends a stream, and no more, where the function itself fails", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<XdsServer.Revocation>()
      yield* run(
        { revocations: Stream.fromQueue(queue) },
        Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          yield* store.set("edge", clusters("a"))
          const [one, other] = [yield* openAs("one"), yield* openAs("other")]
          const fiber = yield* Effect.fork(one.ended)
          yield* other.receive
          yield* Queue.offer(queue, ({ peer }) => {
            if (peer.address === "one") throw new Error("no list")
            return undefined
          })
          expect((yield* Fiber.join(fiber)).code).toBe("INTERNAL")
          const server = yield* XdsServer.XdsServer
          expect((yield* server.status).map(({ peer }) => peer.address)).toEqual(["other"])
        })
      )
    })
  )
})
