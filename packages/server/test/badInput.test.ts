/** What nobody should put into a store: an error that says what and where, and the last good state stays. */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { type Snapshot, SnapshotStore, StoreError } from "@effect-xds/server"
import { BadMessage, BadResource } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Option } from "effect"
import * as NodeFields from "../src/internal/NodeFields.js"

const scale = { levels: 10_000, size: 65_536 }

const good: Snapshot.Encoded = {
  typeUrl: ResourceType.Cluster.typeUrl,
  name: "good",
  value: Uint8Array.of(10, 4, 103, 111, 111, 100, 0x22, 2, 8, 1)
}

/** Puts a resource beside a good one, in both ways. Left: why it is refused; right: the bytes that are held. */
const put = (bad: Snapshot.Source, name: string, validate: "refuse" | "off") =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    yield* store.set("g", { resources: [good] })
    const held = Option.getOrThrow(yield* store.get("g"))
    const update = yield* Effect.either(store.update("g", { upsert: { resources: [bad] } }, { validate }))
    if (Either.isLeft(update)) {
      const set = yield* Effect.either(store.set("g", { resources: [good, bad] }, { validate }))
      expect(Either.isLeft(set) && set.left.message).toBe(update.left.message)
      // ★ The last good state is served on.
      expect(Option.getOrThrow(yield* store.get("g"))).toBe(held)
      return Either.left(update.left)
    }
    const { own } = Option.getOrThrow(yield* store.get("g"))
    return Either.right(ResourceGroup.all(own).find((each) => each.name === name)?.value)
  }).pipe(Effect.provide(SnapshotStore.layerMemory()))

describe("a store refuses, or keeps byte for byte", () => {
  for (const { isValid, name, path, typeUrl, value, what } of BadResource.all(scale)) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const result = yield* put({ typeUrl, name, value }, name, "off")
        if (isValid) {
          expect(Buffer.compare(Either.getOrThrow(result) ?? new Uint8Array(), value)).toBe(0)
          return
        }
        const error = Either.getOrThrow(Either.flip(result))
        expect(error.message).toContain(`${JSON.stringify(name)}: `)
        expect(error.message).toContain(path === "" ? typeUrl : path)
        expect(error.message.length).toBeLessThan(1_200)
      })
    )
  }
})

describe("a store refuses a message object, or takes it", () => {
  for (const { isValid, message, name, path, what } of BadMessage.all(scale)) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const result = yield* put(message, name, "off")
        if (isValid) {
          expect(Either.getOrThrow(result)).toBeInstanceOf(Uint8Array)
          return
        }
        const error = Either.getOrThrow(Either.flip(result))
        expect(error.message).toContain(`resource "c": it cannot be encoded: `)
        expect(error.message).toContain(path)
      })
    )
  }
})

// With rules these are not served.
it.effect("rules are checked of what is deep and large, too", () =>
  Effect.gen(function* () {
    const words = new Map<string, string>()
    for (const { name, typeUrl, value, what } of BadResource.all(scale).filter(({ isValid }) => isValid)) {
      const result = yield* put({ typeUrl, name, value }, name, "refuse")
      if (Either.isLeft(result)) {
        expect(result.left).toBeInstanceOf(StoreError.InvalidResources)
        words.set(what, result.left.message)
      }
    }
    expect(Array.from(words.keys()).sort()).toEqual([
      "a cluster in an Any in a cluster",
      "a newer value of an enum",
      "a oneof that is set again and again",
      "an Any in an Any"
    ])
    expect(words.get("an Any in an Any")).toMatch(
      /\[google\.protobuf\.Any\].* must not be nested more than 100 messages/
    )
    expect(words.get("a newer value of an enum")).toMatch(/clusters "c": lb_policy must be a value of .*, is 999/)
  })
)

it("a node that is nested deep is counted no deeper than it is decoded", () => {
  const { value = new Uint8Array() } = BadResource.all(scale).find(({ what }) => what === "a Struct in a Struct") ?? {}
  // Of any message: only the metadata of a node may be so deep.
  expect(() => NodeFields.count(ClusterSchema, value, 1_000_000)).toThrow(/nested more than 100 messages deep/)
})
