/** A large resource is encoded, checked and compared with its group in many turns of the event loop. */
import { toBinary } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ResourceType } from "@effect-xds/proto"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { type Snapshot, SnapshotStore } from "@effect-xds/server"
import { BadMessage, LargeAssignment } from "@effect-xds/testing"
import { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"

const { typeUrl } = ResourceType.ClusterLoadAssignment

const assignment = LargeAssignment.make

/** Runs with slices that are over after eight steps, and counts the turns. */
const counting = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<readonly [A, turns: number], E> => {
  let turns = 0
  let readings = 0
  return Effect.provideService(
    Effect.map(effect, (result): readonly [A, number] => [result, turns]),
    EventLoop.EventLoop,
    {
      ...EventLoop.process,
      elapsed: () => readings++ / 4,
      later: (work) => {
        turns++
        return EventLoop.process.later(work)
      }
    }
  )
}

const count = 10_000

/** The types are loaded, and so is what checks them. */
const warm = Effect.gen(function* () {
  const store = yield* SnapshotStore.makeMemory()
  yield* store.set("g", { endpoints: [assignment(2)] })
  yield* store.broken("g")
})

const held = (store: SnapshotStore.MemoryStore): Effect.Effect<Uint8Array | undefined> =>
  Effect.map(store.get("g"), (stored) =>
    Option.isSome(stored) ? ResourceGroup.get(stored.value.own, { typeUrl, name: "web" })?.value : undefined
  )

const message = assignment(count)
const bytes = toBinary(ClusterLoadAssignmentSchema, message)

describe("★ a large resource is taken in many turns", () => {
  const forms: ReadonlyArray<readonly [what: string, source: Snapshot.Source, steps: number]> = [
    // Objects are looked at, 256 in a step; endpoints are written and checked, 16 in a step.
    ["a message", message, (5 * count) / 256 + (2 * count) / 16],
    // Bytes are checked, and decoded for the rules.
    ["bytes", { typeUrl, name: "web", value: bytes }, (2 * bytes.byteLength) / 9_000 + count / 16],
    ["an Any", { $typeName: "google.protobuf.Any", typeUrl, value: bytes }, (2 * bytes.byteLength) / 9_000 + count / 16]
  ]
  it.effect.each(forms)("%s", ([, source, steps]) =>
    Effect.gen(function* () {
      yield* warm
      const [store] = yield* counting(SnapshotStore.makeMemory({ validate: { groupRules: "off" } }))
      const [, turns] = yield* counting(store.set("g", { resources: [source] }))
      expect(turns).toBeGreaterThan((0.8 * steps) / 8)
      expect(yield* held(store)).toEqual(bytes)
      // Unchanged, it is compared only.
      const [, again] = yield* counting(store.set("g", { resources: [{ typeUrl, name: "web", value: bytes }] }))
      expect(again).toBeLessThan(turns / 2)
    })
  )

  it.effect("when it is refused, too: with the words for a small one", () =>
    Effect.gen(function* () {
      yield* warm
      const store = yield* SnapshotStore.makeMemory()
      const [error, turns] = yield* counting(Effect.flip(store.set("g", { endpoints: [assignment(count, 70_000)] })))
      expect(turns).toBeGreaterThan((2 * count) / 16 / 10)
      expect(error.message).toContain(
        `endpoints "web": endpoints[0].lb_endpoints[${count - 1}].endpoint.address.socket_address.port_value must be`
      )
      const wrong = Uint8Array.from([...bytes, 0x0a, 0x7f])
      const [undecodable, more] = yield* counting(
        Effect.flip(store.set("g", { resources: [{ typeUrl, name: "web", value: wrong }] }))
      )
      expect(more).toBeGreaterThan(bytes.byteLength / 9_000 / 10)
      expect(undecodable.message).toContain("cluster_name has a length of 127 bytes, 0 are there")
    })
  )

  it.effect("by the rules of a group", () =>
    Effect.gen(function* () {
      yield* warm
      const [[broken, before], turns] = yield* counting(
        Effect.gen(function* () {
          const store = yield* SnapshotStore.makeMemory({ validate: { rules: "off" } })
          const [, turns] = yield* counting(store.set("g", { endpoints: [assignment(count, 0)] }))
          return [yield* store.broken("g"), turns] as const
        })
      )
      expect(before).toBeGreaterThan(0)
      expect(broken.rules).toMatchObject([
        {
          rule: "endpoint-port",
          path: `endpoints[0].lb_endpoints[${count - 1}].endpoint.address.socket_address.port_value`
        }
      ])
      // It is decoded, gone through once, and once more for gRPC.
      expect(turns).toBeGreaterThan((bytes.byteLength / 9_000 + (2 * count) / 64) / 10)
    })
  )

  it.effect("what is shared so that it would never end is refused in many turns", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      for (const { message, path, what } of BadMessage.all()) {
        if (!what.includes("power of 30") && !what.includes("10 000 times")) continue
        const [error, turns] = yield* counting(Effect.flip(store.set("g", { resources: [message] })))
        expect(error.message).toContain(path)
        expect(error.message).toContain("is behind the first 4194304 messages")
        expect(turns).toBeGreaterThan(4_194_304 / 600 / 10)
      }
    })
  )
})
