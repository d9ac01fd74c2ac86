import { create, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { BufferSchema } from "@effect-xds/proto/envoy/extensions/filters/http/buffer/v3/buffer"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Snapshot, SnapshotStore, Validator, XdsServerMetrics } from "@effect-xds/server"
import { Remembered } from "../src/internal/Remembered.js"
import { EventLoop, process } from "@effect-xds/transport/EventLoop"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric, Option } from "effect"
import { collecting, refused } from "./StoreWrites.js"

const cluster = (name: string, seconds = 1n) => create(ClusterSchema, { name, connectTimeout: { seconds } })

const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const

const listener = (name: string, statPrefix: string) =>
  create(ListenerSchema, {
    name,
    filterChains: [
      {
        filters: [
          {
            name: "hcm",
            configType: {
              case: "typedConfig",
              value: anyPack(
                HttpConnectionManagerSchema,
                create(HttpConnectionManagerSchema, {
                  statPrefix,
                  routeSpecifier: {
                    case: "rds",
                    value: { routeConfigName: "r", configSource: ads }
                  }
                })
              )
            }
          }
        ]
      }
    ]
  })

const named = (group: ResourceGroup.ResourceGroup) =>
  ResourceGroup.all(group)
    .map(({ name }) => name)
    .sort()

describe("a store", () => {
  it.effect("refuses resources that break rules of Envoy's API, with every rule; the group stays as it was", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const before = yield* store.set("edge", { clusters: [cluster("a")] })
      const error = yield* refused(
        store.set("edge", {
          clusters: [cluster("b", -5n), cluster("c"), create(ClusterSchema, { name: "d", dnsRefreshRate: {} })],
          listeners: [Snapshot.resource(listener("l", ""), { place: "listeners.yaml:3" })]
        })
      )
      expect(error).toMatchObject({ _tag: "InvalidResources", group: "edge", more: false })
      expect("resources" in error && error.resources).toEqual([
        {
          typeUrl: ResourceType.Cluster.typeUrl,
          name: "b",
          faults: [{ path: "connect_timeout", rule: "duration.gt", problem: "must be greater than 0s", value: "-5s" }],
          more: false,
          message: 'clusters "b": connect_timeout must be greater than 0s, is -5s'
        },
        expect.objectContaining({
          name: "d",
          faults: [expect.objectContaining({ path: "dns_refresh_rate", rule: "duration.gt" })]
        }),
        expect.objectContaining({
          typeUrl: ResourceType.Listener.typeUrl,
          faults: [expect.objectContaining({ rule: "string.min_len" })]
        })
      ])
      expect(error.message).toMatch(
        /^group "edge" was not changed: clusters "b": connect_timeout must be greater than 0s/
      )
      expect(error.message).toMatch(
        /; listeners\.yaml:3: listeners "l": filter_chains\[0\]\.filters\[0\]\.typed_config\[envoy\..*HttpConnectionManager\]\.stat_prefix must have at least 1 character/
      )
      // As plain data.
      const plain: unknown = JSON.parse(JSON.stringify(error))
      expect(plain).toMatchObject({ group: "edge", resources: [{ name: "b" }, {}, {}] })
      const update = yield* refused(store.update("edge", { upsert: { clusters: [cluster("a", 0n)] } }))
      expect(update._tag).toBe("InvalidResources")
      expect(Option.getOrThrow(yield* store.get("edge"))).toBe(before)
    })
  )

  it.effect("checks messages, Anys and bytes; of types that are not known it serves what it is given", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const bad = cluster("b", 0n)
      const value = toBinary(ClusterSchema, bad)
      const forms = [bad, anyPack(ClusterSchema, bad), { typeUrl: ResourceType.Cluster.typeUrl, name: "b", value }]
      for (const form of forms) {
        const error = yield* refused(store.set("edge", { resources: [form] }))
        expect(error.message).toContain("connect_timeout must be greater than 0s, is 0s")
      }
      const own = { typeUrl: "type.googleapis.com/corp.Own", name: "b", value }
      yield* store.set("edge", { resources: [Snapshot.resource(own, { isUnknownType: true })] })
      expect(yield* store.groups).toEqual(["edge"])
    })
  )

  it.effect("★ waits for types within types that are not loaded yet, also of the last resource", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const buffer = anyPack(BufferSchema, create(BufferSchema))
      const httpFilters = [{ name: "buffer", configType: { case: "typedConfig" as const, value: buffer } }]
      const options = anyPack(HttpProtocolOptionsSchema, create(HttpProtocolOptionsSchema, { httpFilters }))
      const clusters = ["a", "b"].map((name) =>
        create(ClusterSchema, { name, typedExtensionProtocolOptions: { [name]: options } })
      )
      const error = yield* refused(store.set("edge", { clusters }))
      // The first one waits twice, for the options and for what is in them.
      for (const name of ["a", "b"]) {
        expect("resources" in error && error.resources).toContainEqual(expect.objectContaining({ name }))
      }
      expect(error.message).toContain("max_request_bytes")
    })
  )

  it.effect("warns: in the log, in a metric, and of the group as long as they are in force", () => {
    const { layer, lines } = collecting()
    return Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: "warn" })
      const served = Metric.tagged(Metric.tagged(XdsServerMetrics.invalidResources, "type", "CDS"), "outcome", "served")
      const before = (yield* Metric.value(served)).count
      const invalid = Effect.map(store.get("edge"), (stored) =>
        Option.getOrThrow(stored).invalid?.map(({ name }) => name)
      )
      yield* store.set("edge", { clusters: [cluster("a", 0n), cluster("b"), cluster("c", 0n)] })
      expect(named(Option.getOrThrow(yield* store.get("edge")).own)).toEqual(["a", "b", "c"])
      expect(lines).toEqual(
        ["a", "c"].map(
          (name) => `edge: clusters "${name}": connect_timeout must be greater than 0s, is 0s; clients may refuse it`
        )
      )
      expect((yield* Metric.value(served)).count).toBe(before + 2)
      expect(yield* invalid).toEqual(["a", "c"])
      // What is served as it was is not told again.
      yield* store.update("edge", { upsert: { clusters: [cluster("a", 0n), cluster("d", 0n)] } })
      expect(yield* invalid).toEqual(["a", "c", "d"])
      expect(lines).toHaveLength(3)
      yield* store.update("edge", { upsert: { clusters: [cluster("a")] }, remove: { clusters: ["c"] } })
      expect(yield* invalid).toEqual(["d"])
      yield* store.update("edge", { remove: { clusters: ["d"] } })
      expect(yield* invalid).toBeUndefined()
    }).pipe(Effect.provide(layer))
  })

  it.effect("does not look where it is off: of the store, of a call, or of one rule", () =>
    Effect.gen(function* () {
      const bad = { clusters: [cluster("a", 0n)] }
      yield* (yield* SnapshotStore.makeMemory({ validate: "off" })).set("edge", bad)
      yield* (yield* SnapshotStore.makeMemory({ validate: { off: ["duration.gt"] } })).set("edge", bad)
      const store = yield* SnapshotStore.makeMemory()
      yield* store.set("edge", bad, { validate: "off" })
      // It is served, and is not looked at again.
      yield* store.update("edge", { upsert: { clusters: [...bad.clusters, cluster("b")] } })
      const error = yield* refused(store.update("edge", { upsert: { clusters: [cluster("c", 0n)] } }))
      expect(error._tag).toBe("InvalidResources")
    })
  )

  it.effect("tells no more faults, and no more text, than it may", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 500 }, (_, index) => cluster(`c-${index}`, 0n))
      const most = yield* refused((yield* SnapshotStore.makeMemory()).set("edge", { clusters: many }))
      expect(most).toMatchObject({ more: true })
      expect("resources" in most && most.resources.length).toBe(100)
      expect(most.message).toMatch(/clusters "c-4": .*; and 95 more resources; there may be more/)
      const text = yield* refused(
        (yield* SnapshotStore.makeMemory({ validate: { maxText: 500 } })).set("edge", { clusters: many })
      )
      expect(JSON.stringify(text).length).toBeLessThan(3_000)
      // Also of one resource: 15 filters without a type.
      const nameless = Array.from({ length: 15 }, () => ({ filters: [{ name: "" }] }))
      const one = create(ListenerSchema, { name: "l", filterChains: nameless })
      const store = yield* SnapshotStore.makeMemory({ validate: { maxText: 500 } })
      const cut = yield* refused(store.set("edge", { listeners: [one] }))
      expect("resources" in cut && cut.resources[0]).toMatchObject({ more: true })
      expect(JSON.stringify(cut).length).toBeLessThan(2_500)
      const name = "n".repeat(100_000)
      const long = yield* refused((yield* SnapshotStore.makeMemory()).set("edge", { clusters: [cluster(name, 0n)] }))
      expect(long.message.length).toBeLessThan(1_000)
    })
  )

  it.effect("looks at a resource of more than some bytes once, in however many groups it is", () =>
    Effect.gen(function* () {
      const validator = Validator.make()
      let looked = 0
      const watched = (): Snapshot.Item => {
        const value = toBinary(ClusterSchema, { ...cluster("a"), altStatName: "x".repeat(2_000) })
        const { byteLength } = value
        Object.defineProperty(value, "byteLength", { get: () => (looked++, byteLength) })
        return Snapshot.resource({ typeUrl: ResourceType.Cluster.typeUrl, name: "a", value }, { keepBytes: true })
      }
      const { resources } = yield* validator.encode("one", { resources: [watched()] }, undefined)
      const once = looked
      looked = 0
      // That it is a message is seen each time, its rules are not checked again.
      yield* validator.encode("two", { resources: [watched()] }, undefined)
      expect(looked).toBeGreaterThan(0)
      expect(looked).toBeLessThan(once)
      expect(resources).toHaveLength(1)
    })
  )

  it.effect("goes on in turns of the event loop", () =>
    Effect.gen(function* () {
      let turns = 0
      let time = 0
      const store = yield* SnapshotStore.makeMemory()
      const clusters = Array.from({ length: 50 }, (_, index) => cluster(`c-${index}`, index === 49 ? 0n : 1n))
      const loop = {
        ...process,
        elapsed: () => (time += 2),
        later: (work: () => void) => {
          turns++
          return process.later(work)
        }
      }
      const error = yield* refused(Effect.provideService(store.set("edge", { clusters }), EventLoop, loop))
      expect(error._tag).toBe("InvalidResources")
      expect(turns).toBeGreaterThan(40)
    })
  )
})

describe("what is remembered", () => {
  it("is bounded, and forgotten when it was not asked for in a while", () => {
    const texts = new Remembered(10)
    for (let index = 0; index < 1_000; index++) {
      texts.add(`t-${index}`)
      expect(texts.has("t-0"), String(index)).toBe(true)
      expect(texts.size).toBeLessThanOrEqual(10)
    }
    expect(texts.has("t-500")).toBe(false)
    expect(texts.has("t-999")).toBe(true)
    const none = new Remembered(0)
    none.add("a")
    expect(none.has("a")).toBe(false)
  })
})
