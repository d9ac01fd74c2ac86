/** What a store promises to programs that write. */
import { create } from "@bufbuild/protobuf"
import { DurationSchema } from "@bufbuild/protobuf/wkt"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Snapshot from "@effect-xds/server/Snapshot"
import type * as StoreError from "@effect-xds/server/StoreError"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Check, check, cluster, clusters, listening, many, namesOf, sizeOf, tagOf } from "./StoreCheck.js"

export const writing: ReadonlyArray<Check> = [
  check("a group that was never set is none, and no empty one", (store, _, equal) =>
    Effect.gen(function* () {
      yield* equal(Option.isNone(yield* store.get("g")), true, "get of a group that was never set")
      yield* equal(store.unsafeGet("g") === undefined, true, "unsafeGet of it")
      yield* store.set("g", {})
      yield* equal(namesOf(store.unsafeGet("g")), [], "an empty group")
      yield* equal(yield* store.groups, ["g"], "groups")
    })
  ),
  check("set replaces all, update a part, clear makes it as if it was never set", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("g", clusters("a", "b"))
      yield* store.update("g", { upsert: clusters("c"), remove: { clusters: ["a", "phantom"] } })
      yield* equal(namesOf(store.unsafeGet("g")), ["b", "c"], "after an update")
      yield* store.update("g", { upsert: clusters("b"), remove: { clusters: ["b"] } })
      yield* equal(namesOf(store.unsafeGet("g")), ["b", "c"], "what is both put in and removed")
      const { own } = yield* store.set("g", clusters("d"))
      yield* equal(namesOf(own), ["d"], "what set gives back")
      yield* equal(namesOf(Option.getOrThrow(yield* store.get("g")).own), ["d"], "get after a set")
      yield* store.clear("g")
      yield* store.clear("g")
      yield* equal([Option.isNone(yield* store.get("g")), yield* store.groups], [true, []], "after clear")
    })
  ),
  check("an update of a group that was never set is refused", (store, _, equal) =>
    Effect.gen(function* () {
      const told = yield* listening(store)
      yield* equal(yield* tagOf(store.update("g", { upsert: clusters("a") })), "GroupNotSet")
      yield* store.set("g", {})
      yield* store.clear("g")
      yield* equal(yield* tagOf(store.update("g", { upsert: clusters("a") })), "GroupNotSet", "a cleared group")
      yield* equal(
        told.told,
        [
          ["g", []],
          ["g", undefined]
        ],
        "what was told"
      )
    })
  ),
  check("a refused change changes nothing, and is not told", (store, _, equal) =>
    Effect.gen(function* () {
      const { revision } = yield* store.set("g", clusters("a"))
      const before = store.unsafeGet("g")
      const told = yield* listening(store)
      const aliased = { clusters: [Snapshot.resource(cluster("b"), { aliases: ["a"] })] }
      yield* equal(yield* tagOf(store.set("g", clusters("b", "b"))), "DuplicateName")
      yield* equal(yield* tagOf(store.update("g", { upsert: aliased })), "AliasConflict")
      yield* equal(yield* tagOf(store.update("g", { upsert: clusters("") })), "SnapshotError")
      yield* equal(store.unsafeGet("g") === before, true, "the same group")
      yield* equal(Option.getOrThrow(yield* store.get("g")).revision, revision, "its revision")
      yield* equal(told.told, [])
      yield* store.update("g", { upsert: clusters("c") })
      yield* equal(namesOf(store.unsafeGet("g")), ["a", "c"], "the next change")
    })
  ),
  check("variants of a name come and go together, and an error stands in the place of a resource", (store, _, equal) =>
    Effect.gen(function* () {
      const variant = (env: string, connect: number) => {
        const constraints = { _tag: "Value", key: "env", value: env } as const
        const connectTimeout = create(DurationSchema, { seconds: BigInt(connect) })
        return Snapshot.resource(create(ClusterSchema, { name: "a", connectTimeout }), { constraints })
      }
      const error = { code: 14, message: "no database" }
      const gone = Snapshot.unavailable({ typeUrl: ResourceType.Cluster.typeUrl, name: "b" }, error)
      const clusterOf = (name: string) => {
        const group = store.unsafeGet("g") ?? ResourceGroup.empty
        return ResourceGroup.get(group, { typeUrl: ResourceType.Cluster.typeUrl, name })
      }
      const constraints = () => clusterOf("a")?.variants?.map((each) => each.constraints)
      const { revision } = yield* store.set("g", { clusters: [variant("prod", 1), gone, variant("test", 2)] })
      const value = (env: string) => ({ _tag: "Value", key: "env", value: env })
      yield* equal(constraints(), [value("prod"), value("test")], "variants")
      yield* equal(clusterOf("b")?.error, error, "the error")
      const again = yield* store.set("g", { clusters: [variant("prod", 1), gone, variant("test", 2)] })
      yield* equal(again.revision, revision, "the revision after the same")
      yield* store.update("g", { upsert: { clusters: [variant("prod", 1), cluster("b")] } })
      yield* equal(constraints(), [value("prod")], "variants after an update")
      yield* equal([clusterOf("b")?.error, clusterOf("b")?.value.byteLength], [undefined, 3], "after the error")
      const both = store.update("g", { upsert: { clusters: [variant("prod", 1), variant("prod", 2)] } })
      yield* equal(yield* tagOf(both), "SnapshotError", "variants that overlap")
      yield* store.update("g", { remove: { clusters: ["a"] } })
      yield* equal(namesOf(store.unsafeGet("g")), ["b"], "after the removal")
    })
  ),
  check("a change that nothing comes of is not told, and moves no revision", (store, _, equal) =>
    Effect.gen(function* () {
      const first = yield* store.set("g", clusters("a"))
      const told = yield* listening(store)
      const second = yield* store.set("g", clusters("a"))
      const third = yield* store.update("g", { upsert: clusters("a"), remove: { clusters: ["b"] } })
      yield* equal([second.revision, third.revision], [first.revision, first.revision], "revisions")
      yield* equal(told.told, [])
    })
  ),
  check("calls for one group take effect in their order, however long each takes", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("g", {})
      const told = yield* listening(store)
      const calls = [
        store.set("g", { clusters: many(2_000) }),
        store.update("g", { upsert: clusters("last") }),
        Effect.ignore(store.set("g", clusters(""))),
        store.set("g", clusters("gone")),
        store.update("g", { upsert: clusters("a"), remove: { clusters: ["gone"] } })
      ]
      const fibers = yield* Effect.forEach(calls, (call) => Effect.fork(call))
      yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      yield* equal(
        told.told.map(([, names]) => names?.length),
        [2_000, 2_001, 1, 1],
        "sizes that were told"
      )
      yield* equal(namesOf(store.unsafeGet("g")), ["a"], "at the end")
    })
  ),
  check("many writers of many groups: each group ends as its calls say", (store, _, equal) =>
    Effect.gen(function* () {
      const groups = Array.from({ length: 20 }, (_, index) => `group-${index}`)
      yield* Effect.forEach(groups, (group) => store.set(group, {}), { concurrency: "unbounded", discard: true })
      const models = new Map(groups.map((group) => [group, new Set<string>()]))
      const calls: Array<Effect.Effect<unknown, StoreError.UpdateError>> = []
      for (let count = 0; count < 400; count++) {
        const group = groups[(count * 7) % groups.length] ?? ""
        const [put, out] = [`r${count % 11}`, `r${(count * 3) % 11}`]
        models.get(group)?.delete(out)
        models.get(group)?.add(put)
        calls.push(store.update(group, { upsert: clusters(put), remove: { clusters: [out] } }))
      }
      yield* Effect.all(calls, { concurrency: "unbounded", discard: true })
      const held = groups.map((group) => namesOf(store.unsafeGet(group)))
      yield* equal(
        held,
        groups.map((group) => Array.from(models.get(group) ?? []).sort())
      )
    })
  ),
  check("revisions grow, and no two changes of the store have the same", (store, _, equal) =>
    Effect.gen(function* () {
      const revisions: Array<number> = []
      for (const group of ["g", "h", "g"]) {
        revisions.push((yield* store.set(group, clusters(`${revisions.length}`))).revision)
      }
      yield* store.clear("g")
      revisions.push((yield* store.set("g", clusters("a"))).revision)
      const sorted = [...revisions].sort((one, other) => one - other)
      yield* equal(revisions, sorted)
      yield* equal(new Set(revisions).size, 4, "different revisions")
      yield* equal(
        revisions.every((revision) => Number.isSafeInteger(revision) && revision > 0),
        true
      )
    })
  ),
  check(
    "compare and set: of two who saw the same revision one wins, and the other is told which it is",
    (store, _, equal) =>
      Effect.gen(function* () {
        yield* equal(yield* tagOf(store.set("g", {}, { ifRevision: 7 })), "Conflict", "a group that is not set, at 7")
        const { revision } = yield* store.set("g", clusters("a"), { ifRevision: 0 })
        const error = yield* Effect.flip(store.set("g", {}, { ifRevision: 0 })).pipe(Effect.orDie)
        const isConflict = error._tag === "Conflict" && error.expected === 0 && error.actual === revision
        yield* equal(isConflict, true, `${error._tag} of revision 0, at ${revision}`)
        const racing = ["b", "c"].map((name) =>
          tagOf(store.update("g", { upsert: clusters(name) }, { ifRevision: revision }))
        )
        yield* equal((yield* Effect.all(racing, { concurrency: "unbounded" })).sort(), ["Conflict", "none"])
        yield* equal(sizeOf(store.unsafeGet("g")), 2, "resources after the race")
        yield* equal(yield* tagOf(store.clear("g", { ifRevision: revision })), "Conflict", "clear at an old revision")
        const now = Option.getOrThrow(yield* store.get("g")).revision
        yield* equal(yield* tagOf(store.clear("g", { ifRevision: now })), "none", "clear at the revision that it is at")
      })
  ),
  check("a call that is interrupted has all of its effect or none, and those after it go on", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("g", clusters("a"))
      const first = yield* Effect.fork(store.set("g", { clusters: many(3_000) }))
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(store.update("g", { upsert: clusters("b") }))
      yield* Effect.yieldNow()
      const exit = yield* Fiber.interrupt(first)
      yield* Fiber.join(second)
      yield* equal(sizeOf(store.unsafeGet("g")), Exit.isSuccess(exit) ? 3_001 : 2)
    })
  ),
  check("changes gives every group as it is, then as it is when it is taken", (store, _, equal) =>
    Effect.gen(function* () {
      yield* store.set("early", clusters("x"))
      const pull = yield* Stream.toPull(store.changes)
      const take = Effect.map(Effect.orDie(Effect.mapError(pull, () => new Error("it ended"))), (chunk) =>
        Chunk.toReadonlyArray(chunk).map(({ group, resources }) => [group, namesOf(Option.getOrUndefined(resources))])
      )
      yield* equal(yield* take, [["early", ["x"]]], "first")
      for (let count = 0; count < 20; count++) yield* store.set("g", clusters(`${count}`))
      yield* store.clear("early")
      const second = (yield* take).sort()
      yield* equal(
        second,
        [
          ["early", undefined],
          ["g", ["19"]]
        ],
        "second"
      )
    })
  )
]
