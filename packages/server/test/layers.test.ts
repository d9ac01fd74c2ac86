import { create, toBinary } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Steps from "@effect-xds/core/Steps"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { GroupSource, HeldGroups, Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport, ResourceSpec } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Layer, Option } from "effect"
import * as Timers from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const cluster = (name: string, altStatName = "") => create(ClusterSchema, { name, altStatName })
const shared = Array.from({ length: 10_000 }, (_, index) => cluster(`shared-${index}`))
const groups = Array.from({ length: 1_000 }, (_, index) => `group-${index}`)

setFlagsFromString("--expose-gc")
/** In a turn in which nothing of the last ones is held any more: that is some hundred bytes a group, or nothing. */
const heap = Effect.promise(async () => {
  await Timers.setImmediate()
  runInNewContext("gc(); gc()")
  return process.memoryUsage().heapUsed
})

describe("★ A group over another one is no copy of it", () => {
  /** Bytes a group: of one resource by itself, of one resource over 10 000, and of that after 20 changes below. */
  const measured = (validate: "off" | undefined) =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate })
      yield* store.set("shared", { clusters: shared })
      // The rules over a group are checked in the background: what they know of it counts once that is done.
      const checked = (prefix: string) => Effect.forEach(groups, (group) => store.broken(`${prefix}${group}`))
      const alone = (prefix: string) =>
        Effect.forEach(groups, (group) => store.set(`${prefix}${group}`, { clusters: [cluster(group)] }))
      const over = (prefix: string, some: ReadonlyArray<string>) =>
        Effect.forEach(some, (group) => store.set(`${prefix}${group}`, { clusters: [cluster(group)], over: "shared" }))
      // What is compiled and kept once, whatever the number of groups, is there before anything is measured.
      yield* alone("first-")
      yield* over("first-over-", groups)
      yield* checked("first-")
      yield* checked("first-over-")
      yield* Effect.forEach(groups, (group) => store.clear(`first-over-${group}`))
      const before = yield* heap
      yield* alone("alone-")
      yield* checked("alone-")
      const start = yield* heap
      yield* over("", groups)
      yield* checked("")
      const layered = (yield* heap) - start
      for (let count = 0; count < 20; count++) {
        yield* store.update("shared", { upsert: { clusters: [cluster(`shared-${count * 37}`, "new")] } })
      }
      yield* checked("")
      const changed = (yield* heap) - start
      expect(ResourceGroup.all(store.unsafeGet("group-7") ?? ResourceGroup.empty)).toHaveLength(10_001)
      const each = [start - before, layered, changed].map((bytes) => Math.round(bytes / groups.length))
      console.log(`bytes a group: alone ${each[0]}, over 10 000: ${each[1]}, after 20 changes below: ${each[2]}`)
      const [own = 0, first = 0, last = 0] = each
      return { own, first: first - own, last: last - own }
    })

  it.live(
    "a thousand groups over one of 10 000 resources take less than 4 KB each beside what is their own, also after changes",
    () =>
      Effect.gen(function* () {
        const { first, last } = yield* measured("off")
        expect(first).toBeLessThan(4_096)
        expect(last).toBeLessThan(8_192)
      })
  )

  it.live("what the rules over a group know of one takes less than 4 KB, and little more over another group", () =>
    Effect.gen(function* () {
      const { first, last, own } = yield* measured(undefined)
      expect(own).toBeLessThan(6_144)
      expect(first).toBeLessThan(5_120)
      expect(last).toBeLessThan(9_216)
    })
  )
})

describe("★ What is seen of a group is of the last state of both", () => {
  it.effect("a change of what is below it comes while its own is being applied, and is done before", () =>
    Effect.gen(function* () {
      const held = yield* HeldGroups.make
      const resources = (...names: ReadonlyArray<string>) =>
        names.map((name) => ResourceSpec.toResource({ typeUrl: ResourceType.Cluster.typeUrl, name, content: 0 }))
      const made = (group: ResourceGroup.ResourceGroup, ...names: ReadonlyArray<string>) =>
        Either.getOrThrow(ResourceGroup.update(group, { upsert: resources(...names) }))
      const sizeOf = () => ResourceGroup.all(held.unsafeGet("edge") ?? ResourceGroup.empty).length
      const shared = made(ResourceGroup.empty, "a")
      held.put({ group: "shared", own: shared, over: undefined, revision: 1 })
      Steps.toEnd(held.put({ group: "edge", own: ResourceGroup.empty, over: "shared", revision: 2 }) ?? Steps.of({}))
      const names = Array.from({ length: 500 }, (_, index) => `own-${index}`)
      const own = made(ResourceGroup.empty, ...names)
      const slow = held.put({ group: "edge", own, over: "shared", revision: 3 })
      slow?.next()
      expect(sizeOf()).toBe(1)
      Steps.toEnd(held.put({ group: "shared", own: made(shared, "b"), over: undefined, revision: 4 }) ?? Steps.of({}))
      expect(sizeOf()).toBe(502)
      Steps.toEnd(slow ?? Steps.of({}))
      expect(sizeOf()).toBe(502)
    })
  )
})

describe("★ A change ends when all groups over its own have it", () => {
  const resources = (...names: ReadonlyArray<string>) =>
    names.map((name) => ResourceSpec.toResource({ typeUrl: ResourceType.Cluster.typeUrl, name, content: 0 }))
  const made = (group: ResourceGroup.ResourceGroup, ...names: ReadonlyArray<string>) =>
    Either.getOrThrow(ResourceGroup.update(group, { upsert: resources(...names) }))
  const tops = Array.from({ length: 200 }, (_, index) => `top-${index}`)

  /** Many groups over one over one. */
  const layered = Effect.map(HeldGroups.make, (held) => {
    let revision = 0
    const put = (group: string, over: string | undefined, ...names: ReadonlyArray<string>): Steps.Steps<object> => {
      const own = made(held.stored(group)?.own ?? ResourceGroup.empty, ...names)
      return held.put({ group, own, over, revision: ++revision }) ?? Steps.of({})
    }
    Steps.toEnd(put("base", undefined, "a"))
    Steps.toEnd(put("middle", "base", ...Array.from({ length: 500 }, (_, index) => `m-${index}`)))
    for (const top of tops) Steps.toEnd(put(top, "middle", "t"))
    const has = (group: string, name: string) =>
      ResourceGroup.get(held.unsafeGet(group) ?? ResourceGroup.empty, {
        typeUrl: ResourceType.Cluster.typeUrl,
        name
      }) !== undefined
    /** Goes on until it is seen in the middle, and on its way to those above. */
    const untilMiddle = (work: Steps.Steps<object>, name: string): void => {
      while (!has("middle", name)) expect(work.next().done).toBe(false)
      expect(has("top-199", name)).toBe(false)
    }
    return { held, put, has, untilMiddle }
  })

  it.effect("also if a change of the group between has shown it there", () =>
    Effect.gen(function* () {
      const { has, put, untilMiddle } = yield* layered
      const ofMiddle = put("middle", "base", ...Array.from({ length: 500 }, (_, index) => `n-${index}`))
      ofMiddle.next()
      const ofBase = put("base", undefined, "b")
      untilMiddle(ofMiddle, "b")
      Steps.toEnd(ofBase)
      expect(tops.filter((top) => !has(top, "b"))).toEqual([])
      Steps.toEnd(ofMiddle)
    })
  )

  it.effect("also if a change of the group below has shown it in its own", () =>
    Effect.gen(function* () {
      const { has, put, untilMiddle } = yield* layered
      const ofMiddle = put("middle", "base", ...Array.from({ length: 500 }, (_, index) => `n-${index}`))
      ofMiddle.next()
      const ofBase = put("base", undefined, "b")
      untilMiddle(ofBase, "n-7")
      Steps.toEnd(ofMiddle)
      expect(tops.filter((top) => !has(top, "n-7"))).toEqual([])
      Steps.toEnd(ofBase)
    })
  )

  it.effect("and it does end if groups are put over each other in a circle, which whoever puts them should not", () =>
    Effect.gen(function* () {
      const { held, put } = yield* layered
      expect(held.cycleOf("base", "middle")?._tag).toBe("LayerCycle")
      const work = put("base", "middle", "b")
      let steps = 0
      while (work.next().done !== true) expect(++steps).toBeLessThan(1_000)
    })
  )
})

describe("Clients of a group over another one", () => {
  const ask = (group: string) =>
    Request.incremental({
      typeUrl: ResourceType.Cluster.typeUrl,
      node: toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: group })),
      resourceNamesSubscribe: ["*"]
    })

  it.effect("are sent what changed in either, and what comes back when their own goes; without it they wait", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const client = yield* MemoryClient.open()
      client.send(ask("edge"))
      yield* store.set("edge", { clusters: [cluster("a", "own")], over: "shared" })
      expect(client.unread()).toBe(0)
      yield* store.set("shared", { clusters: [cluster("a", "shared"), cluster("b")] })
      expect((yield* client.receive).names.toSorted()).toEqual(["a", "b"])
      yield* store.update("shared", { upsert: { clusters: [cluster("c")] }, remove: { clusters: ["b"] } })
      const second = yield* client.receive
      expect([second.names, second.removed]).toEqual([["c"], ["b"]])
      // Not seen: it has its own.
      yield* store.update("shared", { upsert: { clusters: [cluster("a", "shared, new")] } })
      yield* store.update("edge", { remove: { clusters: ["a"] } })
      const third = yield* client.receive
      expect([third.names, third.removed]).toEqual([["a"], []])
      expect(third.version).toBe(
        (yield* GroupSource.GroupSource).unsafeGet("shared")?.sets.get(ResourceType.Cluster.typeUrl)?.version
      )
    }).pipe(
      Effect.provide(
        XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
          Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer))
        )
      )
    )
  )
})

describe("groups in layers are of one version of Envoy's API", () => {
  /** Why a change is refused. One that is not gives nothing: a report of the test could not hold a group. */
  const refused = <E>(change: Effect.Effect<unknown, E>): Effect.Effect<E, void> => Effect.flip(Effect.asVoid(change))
  const v2 = (name: string) =>
    Snapshot.resource(
      { typeUrl: "type.googleapis.com/envoy.api.v2.Cluster", name, value: Uint8Array.of(0x0a, 1, name.charCodeAt(0)) },
      { isUnknownType: true }
    )
  const words = (layeredWith: string) =>
    "type.googleapis.com/envoy.api.v2.Cluster is of Envoy's v2 API, type.googleapis.com/envoy.config.cluster.v3.Cluster of " +
    `v3 (in group "${layeredWith}"): groups in layers have resources of one of them; clients of the other need a group of their own`

  it.effect("one over another, below another, and with an empty one between them", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: "off" })
      yield* store.set("base", { clusters: [cluster("a")] })
      const over = yield* refused(store.set("older", { resources: [v2("b")], over: "base" }))
      expect(over.message).toBe(words("base"))
      expect(Option.isNone(yield* store.get("older"))).toBe(true)
      yield* store.set("middle", { over: "base" })
      const far = yield* refused(store.set("older", { resources: [v2("b")], over: "middle" }))
      expect(far.message).toBe(words("base"))
      // From below: those above are asked.
      yield* store.set("top", { clusters: [cluster("c")], over: "low" })
      const below = yield* refused(store.set("low", { resources: [v2("b")] }))
      expect(below.message).toBe(words("top"))
      yield* store.set("low", {})
      const later = yield* refused(store.update("low", { upsert: { resources: [v2("b")] } }))
      expect(later.message).toBe(words("top"))
      // One without resources joins what is below it with what is above it.
      yield* store.set("old", { resources: [v2("b")] })
      const joins = yield* refused(store.set("low", { over: "old" }))
      expect(joins._tag).toBe("MixedApis")
      yield* store.set("apart", { resources: [v2("b")], over: "old" })
    })
  )
})
