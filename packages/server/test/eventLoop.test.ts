import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, TestClock } from "effect"
import { collecting } from "./StoreWrites.js"

const { process } = EventLoop

/** Every slice is over as soon as it began, so that everything is put off. */
const impatient = () => {
  let milliseconds = 0
  return () => (milliseconds += 100)
}

const clusters = (count: number) => ({
  clusters: Array.from({ length: count }, (_, at) => create(ClusterSchema, { name: `c${at}` }))
})

const ask = Request.incremental({
  typeUrl: ResourceType.Cluster.typeUrl,
  node: toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: "edge" })),
  resourceNamesSubscribe: ["*"]
})

const fail = (): never => {
  throw new Error("no turn")
}

const turn = Effect.promise(() => new Promise(setImmediate))

/** Lets the process's loop turn often enough for all that is put off. */
const turns = Effect.repeatN(turn, 500)

/** The same, of a loop that does nothing before a second has passed. */
const late = Effect.repeatN(Effect.zipRight(TestClock.adjust("1 second"), turns), 2)

/** What is logged where a group of 1 500 is set, and a client of it is served, on such an event loop. */
const linesOn = (loop: Partial<EventLoop.Service>, pass = turns) => {
  const { layer: capture, lines } = collecting()
  const provided = { ...process, elapsed: impatient(), ...loop }
  return Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    const set = yield* Effect.fork(store.set("edge", clusters(1_500)))
    yield* pass
    yield* Fiber.join(set)
    const client = yield* MemoryClient.open()
    client.send(ask)
    const received = yield* Effect.fork(client.receive)
    yield* pass
    expect((yield* Fiber.join(received)).names).toHaveLength(1_500)
    const removed = yield* Effect.fork(store.update("edge", { remove: { clusters: ["c7"] } }))
    yield* pass
    yield* Fiber.join(removed)
    expect(client.unread()).toBe(1)
    return lines.filter((line) => line.includes("EventLoop"))
  }).pipe(
    Effect.provide(
      XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
        Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
        Layer.provide(Layer.merge(capture, Layer.succeed(EventLoop.EventLoop, provided)))
      )
    ),
    Effect.provideService(EventLoop.EventLoop, provided)
  )
}

describe("★ an event loop that breaks its contract is named, and what it was given is done", () => {
  it.effect.each([
    { what: "that throws", loop: { later: fail }, words: "later failed" },
    {
      what: "that never calls back",
      loop: { later: () => () => undefined },
      pass: late,
      words: "was not done within 1 s"
    },
    {
      what: "that does at once what it is to put off",
      loop: {
        later: (work: () => void) => {
          work()
          return () => undefined
        }
      },
      words: "later did the work at once"
    },
    { what: "whose clock throws", loop: { elapsed: fail }, words: "elapsed failed" },
    { what: "whose clock gives no number", loop: { elapsed: () => Number.NaN }, words: "elapsed gave no number" }
  ])("one $what", ({ loop, pass, words }) =>
    Effect.gen(function* () {
      const lines = yield* linesOn(loop, pass)
      expect(lines.length).toBeGreaterThan(0)
      for (const line of lines) {
        expect(line).toBe(
          `the EventLoop that was provided is not used any more: ${line.slice(line.indexOf(": ") + 2, line.lastIndexOf(";"))}; that of the process does the rest`
        )
        expect(line).toContain(words)
      }
    })
  )

  it.effect("one that calls back twice, and cannot take work back", () =>
    Effect.gen(function* () {
      const later = (work: () => void) => {
        process.later(work)
        process.later(work)
        return fail
      }
      expect(yield* linesOn({ later })).toEqual([])
    })
  )

  it("one whose clock stands still keeps the others waiting for a moment only", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { elapsed } = yield* EventLoop.guarded
        const start = elapsed()
        let readings = 0
        while (elapsed() < start + 1 && readings < 10_000_000) readings++
        expect(readings).toBeGreaterThan(1_000)
        expect(readings).toBeLessThan(10_000_000)
      }).pipe(
        Effect.provideService(EventLoop.EventLoop, { ...process, elapsed: () => 7 }),
        Effect.provide(Logger.remove(Logger.defaultLogger))
      )
    ))

  it.effect("one that is sound is used as long as it is, and nothing is done twice", () => {
    const given: Array<() => void> = []
    const later = (work: () => void) => {
      given.push(work)
      return () => undefined
    }
    return Effect.gen(function* () {
      const loop = yield* EventLoop.guarded
      const done: Array<string> = []
      loop.later(() => done.push("a"))
      loop.later(() => done.push("b"))()
      yield* TestClock.adjust("600 millis")
      loop.later(() => done.push("c"))
      // It calls back once too often, and for what was taken back.
      for (const work of given.slice(0, 2)) work()
      given[0]?.()
      expect(done).toEqual(["a"])
      // "c" has waited for 900 milliseconds now, and something for two seconds all the time.
      yield* TestClock.adjust("900 millis")
      given[2]?.()
      yield* TestClock.adjust("5 seconds")
      loop.later(() => done.push("d"))
      given[3]?.()
      expect(done).toEqual(["a", "c", "d"])
      expect(given).toHaveLength(4)
    }).pipe(Effect.provideService(EventLoop.EventLoop, { ...process, later }))
  })
})

it.effect("that of the process is used as it is", () =>
  Effect.map(EventLoop.guarded, (loop) => expect(loop).toBe(process))
)

it.effect("the status of many streams is made in slices; of one that ends meanwhile nothing is told", () =>
  Effect.gen(function* () {
    const waiting: Array<() => void> = []
    const later = (work: () => void) => {
      waiting.push(work)
      return () => undefined
    }
    const loop = { ...process, elapsed: impatient(), later }
    yield* Effect.gen(function* () {
      const clients = yield* Effect.forEach(Array.from({ length: 100 }), () => MemoryClient.open())
      const server = yield* XdsServer.XdsServer
      const status = yield* Effect.fork(server.status)
      yield* Effect.yieldNow()
      clients.at(-1)?.end()
      let turns = 0
      for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) {
        work()
        turns++
        yield* Effect.yieldNow()
      }
      expect(yield* Fiber.join(status)).toHaveLength(99)
      expect(turns).toBeGreaterThanOrEqual(3)
    }).pipe(
      Effect.provide(
        XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
          Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
          Layer.provide(Layer.succeed(EventLoop.EventLoop, loop))
        )
      )
    )
  })
)
