import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryTransport } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Scope, Stream } from "effect"
import * as Subscribers from "../src/internal/Subscribers.js"

/** As the events of a server, told apart by a number. */
const publish = (subscribers: Subscribers.Subscribers, count: number) =>
  subscribers.publish(() => ({ _tag: "MissingRefused", group: "edge", typeUrl: "", names: [], omitted: count }))

const settled = Effect.repeatN(Effect.yieldNow(), 20)

/** What a subscriber gets, in words; it takes the next events when it is told to. */
const subscribe = (subscribers: Subscribers.Subscribers) =>
  Effect.gen(function* () {
    const got: Array<string> = []
    const goOn = yield* Effect.makeLatch(true)
    const fiber = yield* subscribers.stream.pipe(
      Stream.runForEachChunk((events) =>
        Effect.sync(() => {
          for (const event of events)
            got.push(
              event._tag === "Lost" ? `Lost ${event.count}` : event._tag === "MissingRefused" ? `${event.omitted}` : ""
            )
        }).pipe(Effect.zipRight(goOn.await))
      ),
      Effect.fork
    )
    yield* settled
    return { got, goOn, fiber }
  })

describe("events of a server", () => {
  for (const capacity of [0, 1, 2]) {
    it.effect(
      `★ that are lost are told when the subscriber takes the others, and no later one is lost for it: room for ${capacity}`,
      () =>
        Effect.gen(function* () {
          const subscribers = Subscribers.make(capacity)
          const { fiber, goOn, got } = yield* subscribe(subscribers)
          for (let count = 1; count <= 5; count++) publish(subscribers, count)
          yield* settled
          expect(got).toEqual(capacity === 2 ? ["1", "2", "Lost 3"] : ["1", "Lost 4"])
          got.length = 0
          for (let count = 6; count <= 8; count++) {
            publish(subscribers, count)
            yield* settled
          }
          expect(got).toEqual(["6", "7", "8"])
          yield* goOn.open
          subscribers.end()
          yield* Fiber.join(fiber)
        })
    )
  }

  it.effect("end when the server ends, after those that are kept, and at once for who comes later", () =>
    Effect.gen(function* () {
      const subscribers = Subscribers.make(8)
      const { fiber, goOn, got } = yield* subscribe(subscribers)
      yield* goOn.close
      for (let count = 1; count <= 3; count++) {
        publish(subscribers, count)
        yield* settled
      }
      subscribers.end()
      yield* goOn.open
      yield* Fiber.join(fiber)
      expect(got).toEqual(["1", "2", "3"])
      expect(yield* Stream.runCount(subscribers.stream)).toBe(0)
    })
  )

  it.effect("end when the scope of the server closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const layer = XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
        Layer.provide(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
        Layer.provide(Logger.remove(Logger.defaultLogger))
      )
      const server = Context.get(yield* Layer.buildWithScope(layer, scope), XdsServer.XdsServer)
      const begun = yield* Deferred.make<void>()
      const watching = Effect.zipRight(Deferred.succeed(begun, undefined), Stream.runDrain(server.events))
      const fiber = yield* Effect.fork(watching)
      yield* Deferred.await(begun)
      yield* settled
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(fiber)
      yield* Stream.runDrain(server.events)
    })
  )
})
