import { create } from "@bufbuild/protobuf"
import { Request } from "@effect-xds/core"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { FanOuts } from "@effect-xds/server/FanOuts"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import * as Recording from "@effect-xds/testing/simulation/Recording"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { anHour, hour } from "./Hour.js"

const record = (plan: Simulation.Plan) =>
  Effect.gen(function* () {
    const recording = Recording.make()
    // Those of traces are checked elsewhere.
    const { duration, verdict } = yield* Simulation.run({ ...plan, invariants: {} }).pipe(
      Effect.provideService(FanOuts, recording.fanOuts)
    )
    assert.deepStrictEqual(verdict, [])
    assert.isAtLeast(duration, hour - 300_000)
    return recording.entries
  })

const count = (entries: ReadonlyArray<Recording.Entry>, tag: Recording.Entry["_tag"]) =>
  entries.filter(({ _tag }) => _tag === tag).length

it.effect("a recording has errors and variants in place of resources", () =>
  Effect.gen(function* () {
    const recording = Recording.make()
    const { typeUrl } = ResourceType.Cluster
    const cluster = (seconds: bigint) => create(ClusterSchema, { name: "b", connectTimeout: { seconds } })
    const served = Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const client = yield* MemoryClient.open()
      client.send(Request.incremental({ typeUrl, resourceNamesSubscribe: ["a", "b"], node: new Uint8Array() }))
      const unavailable = Snapshot.unavailable({ typeUrl, name: "a" }, { code: 14, message: "no registry" })
      const test = { _tag: "Value", key: "env", value: "test" } as const
      const variants = [
        Snapshot.resource(cluster(1n), { constraints: test }),
        Snapshot.resource(cluster(2n), { constraints: { _tag: "Not", constraints: test } })
      ]
      yield* store.set("edge", { resources: [unavailable, ...variants] })
      return yield* client.receive
    })
    const { message } = yield* Effect.provide(
      served,
      XdsServer.layer({ group: () => "edge" }).pipe(
        Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
        Layer.provide(Layer.succeed(FanOuts, recording.fanOuts))
      )
    )
    assert.lengthOf("resourceErrors" in message ? message.resourceErrors : [], 1)
    assert.deepStrictEqual(Recording.replay(structuredClone(recording.entries)), [])
  })
)

describe("The drivers decide nothing: an hour that was recorded, and is done again by core alone", () => {
  for (const { clear, move, seed } of [
    { seed: 1, clear: false, move: false },
    { seed: 2, clear: true, move: false },
    { seed: 3, clear: false, move: true },
    { seed: 4, clear: true, move: true }
  ]) {
    it.live(
      `has the same outputs, byte for byte (seed ${seed}${clear ? ", with groups that are cleared" : ""}${move ? ", with moves" : ""})`,
      () =>
        Effect.gen(function* () {
          const entries = yield* record(anHour(seed, { clear, move }))
          for (const [tag, least] of [
            ["Opened", 3],
            ["Published", move ? 150 : 200],
            ["Joined", 100],
            ["Left", 100],
            ["Requested", 1_000],
            ["DeadlineReached", 10],
            ["Took", 3_000],
            ["Moved", move ? 50 : 0]
          ] as const) {
            assert.isAtLeast(count(entries, tag), least, tag)
          }
          // As plain data: what a clone lacks, a file would lack, too.
          assert.deepStrictEqual(Recording.replay(structuredClone(entries)), [])
        })
    )
  }

  it.live("is different if one input is different", () =>
    Effect.gen(function* () {
      const entries = yield* record(anHour(3, { clear: true }))
      const isChange = (entry: Recording.Entry) => entry._tag === "Published" && (entry.change?.upsert.length ?? 0) > 0
      const without = entries.toSpliced(entries.findIndex(isChange), 1)
      assert.isNotEmpty(Recording.replay(without))
      const turn = entries.findIndex((entry) => entry._tag === "Took" && entry.outcome.startsWith("Send"))
      assert.isNotEmpty(Recording.replay(entries.toSpliced(turn, 1)))
    })
  )
})
