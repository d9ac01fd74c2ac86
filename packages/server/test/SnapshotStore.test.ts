import { create } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { HeldGroups } from "@effect-xds/server"
import { GroupSource, Snapshot, SnapshotStore } from "@effect-xds/server"
import { AutoYield } from "@effect-xds/testing"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Chunk, Effect, Exit, Fiber, FiberId, Option, Stream, TestClock } from "effect"
import { refused } from "./StoreWrites.js"

const cluster = (name: string, altStatName = "") => create(ClusterSchema, { name, altStatName })
const clusters = (...names: ReadonlyArray<string>) => ({ clusters: names.map((name) => cluster(name)) })
const namesOf = (group: ResourceGroup.ResourceGroup) =>
  ResourceGroup.all(group)
    .map(({ name }) => name)
    .sort()
/** Every slice is over as soon as it is asked for. */
const counting = () => {
  let time = 0
  return () => (time += 2)
}
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
/** Whether the call comes to its end. */
const isInTurn = <A, E>(call: Effect.Effect<A, E>) =>
  Effect.raceFirst(Effect.as(call, true), Effect.as(Effect.repeatN(turn, 10), false))
const held = (group: string) =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    return Option.map(yield* store.get(group), ({ own }) => namesOf(own))
  })

describe("SnapshotStore.layerMemory", () => {
  it.effect("sets, updates, gets, lists and clears", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const source = yield* GroupSource.GroupSource
      expect(yield* held("edge")).toEqual(Option.none())
      yield* store.set("edge", clusters("a", "b"))
      yield* store.set("core", clusters())
      yield* store.update("edge", { upsert: clusters("c"), remove: { clusters: ["a", "phantom"] } })
      expect(yield* held("edge")).toEqual(Option.some(["b", "c"]))
      expect(yield* held("core")).toEqual(Option.some([]))
      expect(yield* store.groups).toEqual(["edge", "core"])
      yield* store.clear("edge")
      yield* store.clear("edge")
      expect(yield* store.groups).toEqual(["core"])
      expect(source.unsafeGet("edge")).toBeUndefined()
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("removes what a list names; nothing where a string is in its place or no such property exists", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("old", "o"))
      // @ts-expect-error -- a string is no list of names
      const string: SnapshotStore.Change = { remove: { clusters: "old" } }
      const misspelled = { cluster: ["old"], listeners: [] }
      const unknown = { versions: {}, updates: {} }
      for (const [change, message] of [
        [string, 'clusters is no list, but "old"'],
        [{ upsert: clusters("new"), ...string }, 'clusters is no list, but "old"'],
        [{ remove: misspelled }, '"cluster" is no property of a snapshot'],
        [unknown, '"updates" is no property of a change, which has upsert, remove, versions'],
        [{ versions: {}, ...clusters("new") }, '"clusters" is no property of a change, which has upsert, remove, vers']
      ] as const) {
        const error = yield* refused(store.update("edge", change))
        expect(error.message).toContain(message)
        expect(error).toMatchObject({ _tag: "SnapshotError", reason: "Malformed" })
      }
      expect(yield* held("edge")).toEqual(Option.some(["o", "old"]))
      yield* store.update("edge", { remove: { clusters: new Set(["old"]) } })
      expect(yield* held("edge")).toEqual(Option.some(["o"]))
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("labels versions, and forgets a label when the content changes without one", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
      const version = ({ own }: HeldGroups.Stored) => ResourceGroup.set(own, typeUrl).version
      const first = yield* store.set("edge", { clusters: [cluster("a")], versions: { clusters: "v1" } })
      expect(version(first)).toBe("v1")
      const second = yield* store.update("edge", { upsert: clusters("b"), versions: { clusters: "v2" } })
      expect(version(second)).toBe("v2")
      // By type URL, for types that have no property.
      expect(version(yield* store.set("edge", { ...clusters("c"), versions: { [typeUrl]: "v3" } }))).toBe("v3")
      expect(version(yield* store.set("edge", clusters("a")))).toMatch(/^[0-9a-f]{16}$/)
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("tells nobody of a set that changes nothing", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const source = yield* GroupSource.GroupSource
      const seen: Array<string> = []
      yield* source.listen((group) => void seen.push(group))
      const first = yield* store.set("edge", clusters("a"))
      const second = yield* store.set("edge", clusters("a"))
      expect(second).toBe(first)
      expect(seen).toEqual(["edge"])
    }).pipe(Effect.scoped, Effect.provide(SnapshotStore.layerMemory()))
  )

  const failing = (): Iterable<never> => ({
    [Symbol.iterator]: () => {
      throw new Error("no list")
    }
  })
  const broken = (): ReturnType<typeof cluster> =>
    Object.defineProperty(cluster("broken"), "altStatName", {
      enumerable: true,
      get: () => {
        throw new Error("no name")
      }
    })
  it.effect.each([
    { what: "a list", change: () => ({ upsert: { clusters: failing() } }), how: "a defect" },
    { what: "a list of names", change: () => ({ remove: { clusters: failing() } }), how: "a defect" },
    { what: "a message", change: () => ({ upsert: { clusters: [broken()] } }), how: "a failure" }
  ])(
    "$what that throws ends the call with $how: the group stays as it was, and the next call has its turn",
    ({ change, how }) =>
      Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.set("edge", clusters("a"))
        // At the first time something may have to be loaded, which is waited for.
        yield* Effect.exit(store.update("edge", change()))
        const exit = yield* Effect.exit(store.update("edge", change()))
        expect(Exit.isFailure(exit) && (Cause.isDie(exit.cause) ? "a defect" : "a failure")).toBe(how)
        expect(yield* held("edge")).toEqual(Option.some(["a"]))
        expect(yield* isInTurn(store.update("edge", { upsert: clusters("b") }))).toBe(true)
        expect(yield* held("edge")).toEqual(Option.some(["a", "b"]))
      }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("a refused set or update leaves the group as it was", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const source = yield* GroupSource.GroupSource
      const before = yield* store.set("edge", clusters("a"))
      const duplicate = yield* Effect.flip(store.set("edge", clusters("b", "b")))
      expect(duplicate.message).toBe('CDS: the name "b" is given twice; a client would reject the whole response')
      const conflict = yield* Effect.flip(
        store.update("edge", {
          upsert: { clusters: [Snapshot.resource(cluster("b"), { aliases: ["a"] })] }
        })
      )
      expect(conflict).toMatchObject({ _tag: "AliasConflict", alias: "a", name: "b", other: "a" })
      const empty = yield* Effect.flip(store.update("edge", { upsert: clusters("") }))
      expect(empty._tag).toBe("SnapshotError")
      expect(source.unsafeGet("edge")).toBe(before.own)
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("an update of a group that was never set is refused: it would delete the rest", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const error = yield* Effect.flip(store.update("edge", { upsert: clusters("a") }))
      expect(error).toMatchObject({ _tag: "GroupNotSet", group: "edge" })
      expect(yield* store.groups).toEqual([])
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("keeps its bounds", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a", "b"))
      const large = yield* Effect.flip(store.update("edge", { upsert: clusters("c") }))
      expect(large).toMatchObject({ _tag: "LimitExceeded", limit: "maxResourcesPerGroup", size: 3, maximum: 2 })
      expect(yield* held("edge")).toEqual(Option.some(["a", "b"]))
      const many = yield* Effect.flip(store.set("core", clusters()))
      expect(many).toMatchObject({ _tag: "LimitExceeded", limit: "maxGroups", group: "core" })
    }).pipe(Effect.provide(SnapshotStore.layerMemory({ maxGroups: 1, maxResourcesPerGroup: 2 })))
  )

  it.effect("calls take effect in their order, however long each takes to encode", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      // Encoding the first takes several turns of the event loop, the others none.
      const large = Array.from({ length: 5_000 }, (_, index) => `large-${index}`)
      const calls = yield* Effect.all(
        [
          Effect.fork(store.set("edge", clusters(...large))),
          Effect.fork(store.update("edge", { upsert: clusters("last") })),
          Effect.fork(store.set("edge", clusters("gone"))),
          Effect.fork(Effect.exit(store.set("edge", clusters("")))),
          Effect.fork(store.update("edge", { upsert: clusters("a"), remove: { clusters: ["gone"] } }))
        ] as const,
        { concurrency: 1 }
      )
      const second = yield* Fiber.join(calls[1])
      expect(namesOf(second.own)).toHaveLength(5_001)
      yield* Fiber.join(calls[4])
      expect(yield* held("edge")).toEqual(Option.some(["a"]))
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("applies a large change in slices: nobody sees a part of it, and what is called meanwhile waits", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const source = yield* GroupSource.GroupSource
      const names = Array.from({ length: 4_096 }, (_, index) => `large-${index}`)
      yield* store.set("edge", clusters(...names))
      const seen: Array<number> = []
      const sizeNow = () => {
        const group = source.unsafeGet("edge")
        return group === undefined ? 0 : ResourceGroup.all(group).length
      }
      const loop: EventLoop.Service = {
        ...EventLoop.process,
        elapsed: counting(),
        later: (work) =>
          EventLoop.process.later(() => {
            seen.push(sizeNow())
            work()
          })
      }
      // Nothing of it is to be encoded.
      const change = yield* Effect.fork(
        Effect.provideService(store.update("edge", { remove: { clusters: names } }), EventLoop.EventLoop, loop)
      )
      yield* Effect.yieldNow()
      const next = yield* Effect.fork(store.update("edge", { upsert: clusters("a") }))
      expect(namesOf((yield* Fiber.join(change)).own)).toEqual([])
      expect(namesOf((yield* Fiber.join(next)).own)).toEqual(["a"])
      // It looks at each name three times, at 64 before others may run.
      expect(seen.length).toBeGreaterThanOrEqual(32)
      expect(new Set(seen)).toEqual(new Set([4_096]))
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("a large change that is interrupted while it is applied changes nothing", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const source = yield* GroupSource.GroupSource
      const names = Array.from({ length: 2_000 }, (_, index) => `large-${index}`)
      const before = yield* store.set("edge", clusters(...names))
      // Its next slice never comes.
      const loop: EventLoop.Service = { ...EventLoop.process, elapsed: counting(), later: () => () => undefined }
      const change = yield* Effect.fork(
        Effect.provideService(store.update("edge", { remove: { clusters: names } }), EventLoop.EventLoop, loop)
      )
      yield* Effect.yieldNow()
      const next = yield* Effect.fork(store.update("edge", { upsert: clusters("a") }))
      yield* Effect.yieldNow()
      expect(source.unsafeGet("edge")).toBe(before.own)
      yield* Fiber.interrupt(change)
      expect(namesOf((yield* Fiber.join(next)).own)).toHaveLength(2_001)
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("an interrupted call gives its turn up", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const large = Array.from({ length: 5_000 }, (_, index) => `large-${index}`)
      const first = yield* Effect.fork(store.set("edge", clusters(...large)))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(store.set("edge", clusters("a")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      yield* Fiber.join(second)
      expect(yield* held("edge")).toEqual(Option.some(["a"]))
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("a call that is interrupted wherever it lets others run gives its turn up", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const large = clusters(...Array.from({ length: 200 }, (_, index) => `large-${index}`))
      const loop: EventLoop.Service = { ...EventLoop.process, elapsed: counting() }
      for (const place of AutoYield.places) {
        const group = `edge-${place}`
        const set = Effect.provideService(store.set(group, large), EventLoop.EventLoop, loop)
        yield* Fiber.interrupt(yield* AutoYield.fork(set, place))
        expect([place, yield* isInTurn(store.set(group, clusters("a")))]).toEqual([place, true])
      }
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("a call has its turn if the one before it ends wherever it lets others run", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const large = clusters(...Array.from({ length: 200 }, (_, index) => `large-${index}`))
      const loop: EventLoop.Service = { ...EventLoop.process, elapsed: counting() }
      for (const place of AutoYield.places) {
        const group = `edge-${place}`
        const first = yield* AutoYield.fork(Effect.provideService(store.set(group, large), EventLoop.EventLoop, loop))
        first.unsafeInterruptAsFork(FiberId.none)
        const second = yield* AutoYield.fork(store.set(group, clusters("a")), place)
        expect([place, yield* isInTurn(Fiber.join(second))]).toEqual([place, true])
        expect(yield* held(group)).toEqual(Option.some(["a"]))
      }
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("a call that has begun keeps what others change wherever it lets them run", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const names = Array.from({ length: 200 }, (_, index) => `large-${index}`)
      const loop: EventLoop.Service = { ...EventLoop.process, elapsed: counting() }
      const removal = Effect.provideService(
        store.update("edge", { remove: { clusters: names } }),
        EventLoop.EventLoop,
        loop
      )
      for (const place of AutoYield.places) {
        yield* store.set("edge", clusters(...names))
        const first = yield* AutoYield.fork(removal, place)
        yield* Fiber.join(yield* AutoYield.fork(store.update("edge", { upsert: clusters("a") })))
        yield* Fiber.join(first)
        expect([place, yield* held("edge")]).toEqual([place, Option.some(["a"])])
      }
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("a call ends with the groups over its own, even if they have the change before it waits for them", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters())
      yield* store.set("over", { ...clusters("b"), over: "edge" })
      const later = (work: () => void) => {
        queueMicrotask(work)
        return () => undefined
      }
      const loop: EventLoop.Service = { ...EventLoop.process, elapsed: counting(), later }
      for (const place of AutoYield.places) {
        const set = Effect.provideService(store.set("edge", clusters(`a${place}`)), EventLoop.EventLoop, loop)
        expect([place, yield* isInTurn(Fiber.join(yield* AutoYield.fork(set, place)))]).toEqual([place, true])
      }
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("changes gives every group as it is now, one element for each however many changes it missed", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("early", clusters("x"))
      const pulls = yield* Effect.scoped(
        Effect.gen(function* () {
          const pull = yield* Stream.toPull(store.changes)
          const take = Effect.map(pull, (chunk) =>
            Chunk.toReadonlyArray(chunk).map(({ group, resources }) => [
              group,
              Option.getOrUndefined(Option.map(resources, namesOf))
            ])
          )
          const first = yield* take
          for (let count = 0; count < 100; count++) yield* store.set("edge", clusters(`${count}`))
          yield* store.set("unseen", clusters("y"))
          yield* store.clear("unseen")
          yield* store.clear("early")
          const second = yield* take
          const waiting = yield* Effect.fork(take)
          yield* TestClock.adjust(0)
          yield* store.clear("edge")
          return [first, second, yield* Fiber.join(waiting)]
        })
      )
      expect(pulls).toEqual([
        [["early", ["x"]]],
        [
          ["edge", ["99"]],
          ["early", undefined]
        ],
        [["edge", undefined]]
      ])
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("changes misses nothing that changes where it lets others run", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      for (const place of AutoYield.places) {
        const group = `edge-${place}`
        yield* store.set(group, clusters("old"))
        const told: Array<ReadonlyArray<string>> = []
        // Its steps count from where its fiber goes on.
        const changes = Stream.unwrap(Effect.as(AutoYield.before(place), store.changes))
        const listening = Stream.runForEach(changes, (change) =>
          Effect.sync(() => {
            if (change.group === group) told.push(Option.match(change.resources, { onNone: () => [], onSome: namesOf }))
          })
        )
        const fiber = yield* AutoYield.fork(listening)
        // The fiber of the stream was put off once, and takes the steps before the change now.
        yield* Effect.yieldNow()
        yield* store.set(group, clusters("new"))
        yield* turn
        expect([place, told.at(-1)]).toEqual([place, ["new"]])
        yield* Fiber.interrupt(fiber)
      }
    }).pipe(Effect.provide(SnapshotStore.layerMemory()))
  )

  it.effect("stores do not share anything", () =>
    Effect.gen(function* () {
      const one = yield* SnapshotStore.makeMemory()
      const other = yield* SnapshotStore.makeMemory()
      yield* one.set("edge", clusters("a"))
      expect(yield* other.groups).toEqual([])
    })
  )
})
