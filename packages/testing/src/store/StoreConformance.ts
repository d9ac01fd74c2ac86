/**
 * Store conformance: the promises of a store, as checks for any store. They cover `SnapshotStore` for programs and
 * `GroupSource` for servers. `describeStore` of `@effect-xds/testing/vitest` defines a test for each. Without vitest, run the
 * checks directly.
 *
 * @since 0.1.0
 */
import { create } from "@bufbuild/protobuf"
import { DurationSchema } from "@bufbuild/protobuf/wkt"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Snapshot from "@effect-xds/server/Snapshot"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type * as StoreError from "@effect-xds/server/StoreError"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Chunk from "effect/Chunk"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/**
 * Error: a promise that a store breaks.
 *
 * @since 0.1.0
 */
export class BrokenPromise extends Data.TaggedError("BrokenPromise")<{
  readonly promise: string
  /** The actual and the expected value, as JSON. */
  readonly detail: string
}> {
  override get message(): string {
    return `${this.promise}: ${this.detail}`
  }
}

/**
 * One promise and its check. Each run needs two empty stores.
 *
 * @since 0.1.0
 */
export interface Check {
  readonly promise: string
  readonly run: (
    store: SnapshotStore.Store,
    another: SnapshotStore.Store
  ) => Effect.Effect<void, BrokenPromise, Scope.Scope>
}

/** The errors of a check. Unexpected ones are broken promises, too. */
type Body = (
  store: SnapshotStore.Store,
  another: SnapshotStore.Store,
  equal: (is: unknown, shouldBe: unknown, what?: string) => Effect.Effect<void, BrokenPromise>
) => Effect.Effect<void, BrokenPromise | StoreError.UpdateError, Scope.Scope>

const check = (promise: string, body: Body): Check => ({
  promise,
  run: (store, another) => {
    const equal = (is: unknown, shouldBe: unknown, what = ""): Effect.Effect<void, BrokenPromise> => {
      const texts = [JSON.stringify(is), JSON.stringify(shouldBe)] as const
      if (texts[0] === texts[1]) return Effect.void
      return Effect.fail(new BrokenPromise({ promise, detail: `${what} is ${texts[0]}, should be ${texts[1]}`.trim() }))
    }
    return Effect.mapError(body(store, another, equal), (error) =>
      error._tag === "BrokenPromise" ? error : new BrokenPromise({ promise, detail: `it failed: ${error.message}` })
    )
  }
})

const typeUrl = ResourceType.Cluster.typeUrl
const cluster = (name: string, altStatName = ""): Cluster => create(ClusterSchema, { name, altStatName })
const clusters = (...names: ReadonlyArray<string>): { readonly clusters: ReadonlyArray<Cluster> } => ({
  clusters: names.map((name) => cluster(name))
})
const many = (count: number, altStatName = ""): ReadonlyArray<Cluster> =>
  Array.from({ length: count }, (_, index) => cluster(`many-${index}`, altStatName))

const namesOf = (group: ResourceGroup.ResourceGroup | undefined): ReadonlyArray<string> | undefined =>
  group &&
  ResourceGroup.all(group)
    .map(({ name }) => name)
    .sort()
const clustersOf = (group: ResourceGroup.ResourceGroup | undefined): ResourceSet.ResourceSet =>
  ResourceGroup.set(group ?? ResourceGroup.empty, typeUrl)
const sizeOf = (group: ResourceGroup.ResourceGroup | undefined): number => ResourceSet.size(clustersOf(group))

/** Records what a listener receives, and whether `unsafeGet` agreed each time. */
const listening = (store: SnapshotStore.Store) => {
  const told: Array<readonly [group: string, names: ReadonlyArray<string> | undefined]> = []
  const state = { told, agreed: true }
  return Effect.as(
    store.listen((group, resources) => {
      told.push([group, namesOf(resources)])
      state.agreed &&= store.unsafeGet(group) === resources
    }),
    state
  )
}

/** The tag of an effect's error, or "none". */
const tagOf = <A>(effect: Effect.Effect<A, StoreError.UpdateError>): Effect.Effect<string> =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "none" })

/** Counts turns of the event loop until an effect ends, and records the view of a group in each. */
const watching = <A, E>(effect: Effect.Effect<A, E>, see: () => unknown) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    const seen: Array<unknown> = []
    for (let turns = 0; turns < 100_000 && fiber.unsafePoll() === null; turns++) {
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      seen.push(see())
    }
    yield* Fiber.join(fiber)
    return seen
  })

/** Ends every slice of work at once. */
const impatient: EventLoop.Service = { ...EventLoop.process, elapsed: () => (slices += 1_000) }
let slices = 0

const writing: ReadonlyArray<Check> = [
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

const serving: ReadonlyArray<Check> = [
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

const layers: ReadonlyArray<Check> = [
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

/**
 * All promises.
 *
 * @since 0.1.0
 */
export const checks: ReadonlyArray<Check> = [...writing, ...serving, ...layers]
