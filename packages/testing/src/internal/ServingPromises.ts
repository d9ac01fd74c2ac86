/** What a store promises to servers. */
import * as Difference from "@effect-xds/core/resource/Difference"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Effect from "effect/Effect"
import { type Check, check, cluster, clusters, clustersOf, listening, many, namesOf, watching } from "./StoreCheck.js"

export const serving: ReadonlyArray<Check> = [
  check("who listens is told every change, after unsafeGet gives it, until the scope closes", (store, _, equal) =>
    Effect.gen(function* () {
      const state = yield* Effect.scoped(
        Effect.gen(function* () {
          const told = yield* listening(store)
          yield* store.set("g", clusters("a"))
          yield* store.update("g", { upsert: clusters("b") })
          yield* store.clear("g")
          return told
        })
      )
      yield* store.set("g", clusters("unheard"))
      yield* equal(state.told, [
        ["g", ["a"]],
        ["g", ["a", "b"]],
        ["g", undefined]
      ])
      yield* equal(state.agreed, true, "unsafeGet agrees")
    })
  ),
  check("a listener that throws is nobody else's trouble", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.listen(() => {
        throw new Error("a listener that throws")
      })
      const told = yield* listening(store)
      yield* store.set("g", clusters("a"))
      yield* store.clear("g")
      yield* equal(told.told, [
        ["g", ["a"]],
        ["g", undefined]
      ])
    })
  ),
  check("a large change is seen as a whole, and lets others run meanwhile", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("g", { clusters: many(4_000) })
      const change = store.update("g", { upsert: { clusters: many(4_000, "new") }, remove: { clusters: ["many-0"] } })
      const isOld = () => ResourceSet.get(clustersOf(store.unsafeGet("g")), "many-1") === old
      const old = ResourceSet.get(clustersOf(store.unsafeGet("g")), "many-1")
      const seen = yield* watching(change, isOld)
      yield* equal(seen.length > 1 && seen[0] === true, true, "others run before it is over, and see the old state")
      const all = ResourceSet.all(clustersOf(store.unsafeGet("g")))
      yield* equal(all.length, 4_000)
    })
  ),
  check("a group goes on from what it was: what changed is known, and not found by comparing all", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("g", { clusters: many(1_000) })
      const first = clustersOf(store.unsafeGet("g"))
      yield* store.update("g", { upsert: { clusters: [cluster("many-7", "new")] } })
      const second = clustersOf(store.unsafeGet("g"))
      yield* equal(Difference.isNear(second, first.cursor), true, "an update is near")
      const all = many(1_000).map((each) => (each.name === "many-8" ? cluster("many-8", "new") : each))
      yield* store.set("g", { clusters: all.map((each) => (each.name === "many-7" ? cluster("many-7", "new") : each)) })
      const third = clustersOf(store.unsafeGet("g"))
      yield* equal(Difference.isNear(third, second.cursor), true, "a set of mostly equal resources is near")
      yield* equal(ResourceSet.get(third, "many-1") === ResourceSet.get(first, "many-1"), true, "what is equal is kept")
    })
  ),
  check("versions are digests of the content: two stores that hold the same give the same", (store, another, equal) =>
    Effect.gen(function* () {
      yield* store.set("g", clusters("a", "b", "c"))
      yield* another.set("other", clusters("c"))
      yield* another.update("other", { upsert: clusters("b", "x"), remove: { clusters: ["phantom"] } })
      yield* another.update("other", { upsert: clusters("a"), remove: { clusters: ["x"] } })
      const { version } = clustersOf(store.unsafeGet("g"))
      yield* equal(clustersOf(another.unsafeGet("other")).version, version)
      yield* store.set("g", { ...clusters("a", "b", "c"), versions: { clusters: "release-7" } })
      yield* equal(clustersOf(store.unsafeGet("g")).version, "release-7", "a label")
      yield* store.update("g", { upsert: clusters("d") })
      yield* store.update("g", { remove: { clusters: ["d"] } })
      yield* equal(clustersOf(store.unsafeGet("g")).version, version, "the version without a label")
    })
  ),
  check("a thousand groups", (store, _, equal) =>
    Effect.gen(function* () {
      const groups = Array.from({ length: 1_000 }, (_, index) => `group-${index}`)
      yield* Effect.forEach(groups, (group) => store.set(group, clusters(group)), { discard: true })
      yield* equal([...(yield* store.groups)].sort(), [...groups].sort())
      yield* equal(
        groups.map((group) => namesOf(store.unsafeGet(group))),
        groups.map((group) => [group])
      )
    })
  )
]
