/** What a store promises of groups that lie over others. */
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type * as StoreError from "@effect-xds/server/StoreError"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import {
  type Check,
  check,
  cluster,
  clusters,
  clustersOf,
  impatient,
  listening,
  many,
  namesOf,
  tagOf
} from "./StoreCheck.js"

export const layers: ReadonlyArray<Check> = [
  check("own resources over shared ones: own wins, and when it goes the shared one is seen again", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("shared", { clusters: [cluster("a", "shared"), cluster("b", "shared")] })
      const { own, over } = yield* store.set("g", { clusters: [cluster("a", "own")], over: "shared" })
      yield* equal([namesOf(own), over], [["a"], "shared"])
      yield* equal(namesOf(store.unsafeGet("g")), ["a", "b"], "what is seen")
      const shared = ResourceSet.get(clustersOf(store.unsafeGet("shared")), "a")
      yield* equal(ResourceSet.get(clustersOf(store.unsafeGet("g")), "a") === shared, false, "a is its own")
      yield* store.update("g", { remove: { clusters: ["a"] } })
      yield* equal(ResourceSet.get(clustersOf(store.unsafeGet("g")), "a") === shared, true, "a is the shared one")
      const versions = ["g", "shared"].map((group) => clustersOf(store.unsafeGet(group)).version)
      yield* equal(versions[0], versions[1], "the version of the same content")
    })
  ),
  check("a change of a shared group is told to those over it, and over those, in its order", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("shared", clusters("a"))
      yield* store.set("middle", { ...clusters("m"), over: "shared" })
      yield* store.set("top", { ...clusters("t"), over: "middle" })
      const told = yield* listening(store)
      yield* store.update("shared", { upsert: clusters("b") })
      yield* equal(told.told, [
        ["shared", ["a", "b"]],
        ["middle", ["a", "b", "m"]],
        ["top", ["a", "b", "m", "t"]]
      ])
      yield* equal(told.agreed, true, "unsafeGet agrees")
      told.told.length = 0
      yield* store.update("middle", { upsert: { clusters: [cluster("b", "own")] } })
      yield* equal(
        told.told.map(([group]) => group),
        ["middle", "top"],
        "what is told of a change in the middle"
      )
    })
  ),
  check(
    "a group over one that is not set waits as if it was not set; when that is cleared, so it is again",
    (store, _, equal) =>
      Effect.gen(function* () {
        const told = yield* listening(store)
        const { seen } = yield* store.set("g", { ...clusters("a"), over: "shared" })
        yield* equal([seen === undefined, store.unsafeGet("g") === undefined, told.told], [true, true, []])
        yield* equal(yield* tagOf(store.update("g", { upsert: clusters("b") })), "none", "an update of its own")
        yield* store.set("shared", clusters("s"))
        yield* equal(namesOf(store.unsafeGet("g")), ["a", "b", "s"], "once it is set")
        yield* store.clear("shared")
        yield* equal(store.unsafeGet("g") === undefined, true, "once it is cleared")
        yield* store.set("g", clusters("a"))
        yield* equal(namesOf(store.unsafeGet("g")), ["a"], "over nothing any more")
      })
  ),
  check("a group over itself, by way of others too, is refused with the way", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("a", { over: "b" })
      yield* store.set("b", { over: "c" })
      const error = yield* Effect.orDie(Effect.flip(store.set("c", { over: "a" })))
      yield* equal(
        error.message,
        `group "c" would be over itself: "c" over "a" over "b" over "c"; set one of them without \`over\``
      )
      yield* equal(yield* tagOf(store.set("a", { over: "a" })), "LayerCycle", "over itself at once")
      yield* equal(Option.isNone(yield* store.get("c")), true, "the refused group")
    })
  ),
  check("compare and set is about what was put into a group, not about what is below it", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("shared", clusters("a"))
      const { revision } = yield* store.set("g", { ...clusters("b"), over: "shared" })
      yield* store.update("shared", { upsert: clusters("c") })
      yield* equal(Option.getOrThrow(yield* store.get("g")).revision, revision)
      yield* equal(yield* tagOf(store.update("g", { upsert: clusters("d") }, { ifRevision: revision })), "none")
    })
  ),
  check("changes of both at the same time: what is seen ends as both say", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("shared", { clusters: many(500) })
      const groups = Array.from({ length: 20 }, (_, index) => `group-${index}`)
      yield* Effect.forEach(groups, (group) => store.set(group, { ...clusters(group), over: "shared" }), {
        discard: true
      })
      const calls: Array<Effect.Effect<unknown, StoreError.UpdateError>> = []
      for (let count = 0; count < 40; count++) {
        const group = groups[count % groups.length] ?? ""
        calls.push(store.update("shared", { upsert: { clusters: many(100, `${count}`) } }))
        calls.push(store.update(group, { upsert: { clusters: many(200, "own") } }))
        calls.push(store.update(group, { remove: { clusters: [`many-${count % 7}`] } }))
      }
      const all = Effect.all(calls, { concurrency: "unbounded", discard: true })
      yield* Effect.provideService(all, EventLoop.EventLoop, impatient)
      for (const group of groups) {
        const { own, seen } = Option.getOrThrow(yield* store.get(group))
        const wanted = new Map(ResourceSet.all(clustersOf(store.unsafeGet("shared"))).map((each) => [each.name, each]))
        for (const each of ResourceSet.all(clustersOf(own))) wanted.set(each.name, each)
        const fingerprints = (all: Iterable<{ readonly name: string; readonly fingerprint: string }>) =>
          Array.from(all, ({ fingerprint, name }) => `${name} ${fingerprint}`).sort()
        yield* equal(fingerprints(ResourceSet.all(clustersOf(seen))), fingerprints(wanted.values()), group)
      }
    })
  )
]
