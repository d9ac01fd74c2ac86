/** The answers to polls, as a client decodes them. */
import { create, fromBinary, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { Buffer } from "node:buffer"
import * as DiscoveryBody from "../src/internal/DiscoveryBody.js"

const { typeUrl } = ResourceType.Cluster

const reply = (json: unknown) => ({
  status: 200,
  contentType: "application/json",
  body: Buffer.from(JSON.stringify(json))
})

const responseOf = async (names: ReadonlyArray<string>): Promise<JsonObject> => {
  const resources = names.map((name) => anyPack(ClusterSchema, create(ClusterSchema, { name })))
  const message = create(DiscoveryResponseSchema, { versionInfo: "7", typeUrl, nonce: "n", resources })
  const registry = await TypeRegistry.forMessage(DiscoveryResponseSchema, message)
  const json: JsonValue = toJson(DiscoveryResponseSchema, message, { registry })
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw new Error("it is no object")
  return json
}

/** Slices in which each step is one too many. */
const short = () => {
  const slices = new TimeSlices()
  const later = vi.spyOn(slices, "later")
  vi.spyOn(slices, "isOver").mockReturnValue(true)
  return { slices, later }
}

describe("an answer in JSON", () => {
  it.effect("is read resource by resource as the library reads the whole", () =>
    Effect.gen(function* () {
      const whole = yield* Effect.promise(() => responseOf(["a", "b", "c"]))
      const decoder = new DiscoveryBody.Decoder(new TimeSlices(), undefined)
      for (const json of [
        whole,
        { ...whole, controlPlane: { identifier: "cp" }, later: [{ "@type": "unknown" }] },
        { ...whole, resources: [] },
        { ...whole, resources: null }
      ]) {
        const registry = yield* Effect.promise(() => TypeRegistry.forJson(whole))
        const { message, nonce } = yield* decoder.decode(reply(json), typeUrl, "own")
        expect(nonce).toBe("n")
        expect(fromBinary(DiscoveryResponseSchema, message)).toEqual(
          fromJson(DiscoveryResponseSchema, json, { registry, ignoreUnknownFields: true })
        )
      }
    })
  )

  it.effect("that is none is refused, whatever is in place of its resources", () =>
    Effect.gen(function* () {
      const decoder = new DiscoveryBody.Decoder(new TimeSlices(), undefined)
      const whole = yield* Effect.promise(() => responseOf(["a"]))
      for (const resources of ["a", {}, 7, [null], ["a"], [{ "@type": "type.googleapis.com/none.Such" }], [[]]]) {
        const { code, message } = yield* Effect.flip(decoder.decode(reply({ ...whole, resources }), typeUrl, "own"))
        expect([resources, code]).toEqual([resources, "INTERNAL"])
        expect(message).toContain("the answer is not a DiscoveryResponse: ")
      }
      const { message } = yield* Effect.flip(decoder.decode(reply({ error: "gateway" }), typeUrl, "own"))
      expect(message).toContain("it has none of its fields")
    })
  )

  it.effect("★ holds no turn of the event loop for long: after each resource others may have theirs", () =>
    Effect.gen(function* () {
      const { later, slices } = short()
      const names = Array.from({ length: 50 }, (_, index) => `cluster-${index}`)
      const json = yield* Effect.promise(() => responseOf(names))
      const { message } = yield* new DiscoveryBody.Decoder(slices, undefined).decode(reply(json), typeUrl, "own")
      expect(fromBinary(DiscoveryResponseSchema, message).resources).toHaveLength(names.length)
      expect(later).toHaveBeenCalledTimes(names.length)
    })
  )

  it.effect("that comes again unchanged is not decoded again, and what comes after it is", () =>
    Effect.gen(function* () {
      const { later, slices } = short()
      const decoder = new DiscoveryBody.Decoder(slices, undefined)
      const [json, other] = yield* Effect.promise(() => Promise.all([responseOf(["a", "b"]), responseOf(["c"])]))
      const first = yield* decoder.decode(reply(json), typeUrl, "own-1")
      const again = yield* decoder.decode(reply(json), typeUrl, "own-2")
      expect(again.message).toBe(first.message)
      expect(later).toHaveBeenCalledTimes(2)
      const next = yield* decoder.decode(reply(other), typeUrl, "own-3")
      expect(fromBinary(DiscoveryResponseSchema, next.message).resources).toHaveLength(1)
      expect(later).toHaveBeenCalledTimes(3)
    })
  )
})
