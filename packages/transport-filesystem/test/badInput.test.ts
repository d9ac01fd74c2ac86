/** What nobody should write into a file: a mistake with its place, in as many steps as the file is long. */
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { TypeRegistry } from "@effect-xds/proto"
import { BadFile, BadResource } from "@effect-xds/testing"
import { ResourceFile } from "@effect-xds/transport-filesystem"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import * as JsonProblem from "../src/internal/JsonProblem.js"

const scale = { levels: 10_000, size: 65_536 }

describe("texts", () => {
  for (const { bytes, file, isValid, what } of BadFile.all(scale)) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const read = yield* Effect.either(ResourceFile.parseResources({ file, bytes }))
        if (isValid) {
          expect(Either.getOrThrow(read)).toHaveLength(1)
          return
        }
        const error = Either.getOrThrow(Either.flip(read))
        expect(error.reason).toMatch(/^(?:Syntax|Schema|UnknownType|Empty)$/)
        // Where the file is empty there is no place in it.
        if (error.reason !== "Empty") expect(error.line).toBeGreaterThan(0)
        expect(error.all.length).toBeLessThanOrEqual(101)
        expect(error.message).not.toMatch(/call stack|RangeError/)
        expect(error.message.length).toBeLessThan(2_000)
        // The same of one response.
        const response = yield* Effect.either(ResourceFile.parseResponse({ file, bytes }))
        expect(Either.isLeft(response)).toBe(true)
      })
    )
  }
})

describe("binary", () => {
  for (const { isValid, path, typeUrl, value, what } of BadResource.all(scale)) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const response = create(DiscoveryResponseSchema, { typeUrl, resources: [{ typeUrl, value }] })
        const bytes = toBinary(DiscoveryResponseSchema, response)
        const read = yield* Effect.either(ResourceFile.parseResources({ file: "bad.pb", bytes }))
        if (isValid) {
          const [resource] = Either.getOrThrow(read)
          expect(Buffer.compare(resource?.value ?? new Uint8Array(), value)).toBe(0)
          return
        }
        const error = Either.getOrThrow(Either.flip(read))
        expect(error.message).toContain("bad.pb: resources[0]: ")
        expect(error.message).toContain(path === "" ? typeUrl : path)
      })
    )
  }
})

it("of a hundred thousand mistakes the first hundred are looked for", async () => {
  let looks = 0
  // A health check with a field that there is not; it counts how often somebody asks for its fields.
  const wrong = (): JsonObject =>
    new Proxy<JsonObject>(
      { unknown: 1 },
      {
        ownKeys: (target) => {
          looks++
          return Reflect.ownKeys(target)
        }
      }
    )
  const json = { name: "c", health_checks: Array.from({ length: 100_000 }, wrong) }
  const found = JsonProblem.find(ClusterSchema, json, await TypeRegistry.forJson({}))
  expect(found.length).toBeGreaterThanOrEqual(100)
  expect(found.length).toBeLessThan(200)
  expect(looks).toBeLessThan(1_000)
  expect(found[0]).toMatchObject({ path: ["health_checks", 0, "unknown"], at: "key" })
})
