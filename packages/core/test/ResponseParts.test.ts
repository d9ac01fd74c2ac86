import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResponseParts from "@effect-xds/core/server/ResponseParts"
import * as Steps from "@effect-xds/core/Steps"
import * as Response from "@effect-xds/core/wire/Response"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

const types = [ResourceType.Cluster.typeUrl, ResourceType.Listener.typeUrl] as const

const resource = (typeUrl: string, name: string, bytes: number, keepBytes: boolean, ttl: boolean): Resource.Resource =>
  Either.getOrThrow(
    Resource.make({ typeUrl, name, value: new Uint8Array(bytes), keepBytes, ...(ttl && { ttl: 1_000 }) })
  )

const partsOf = (response: Response.Response): ReadonlyArray<Response.Response> => [
  response,
  ...(response.next === undefined ? [] : partsOf(response.next))
]

const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => text !== "*")

const error = fc
  .record({ name, code: fc.integer({ min: 1, max: 16 }), message: fc.string({ unit: "grapheme", maxLength: 200 }) })
  .map(({ code, message, name }) => ({ name, error: { code, message } }))

const response = fc
  .record({
    typeUrl: fc.constantFrom(...types),
    resources: fc.array(
      fc.record({ name, bytes: fc.integer({ min: 0, max: 300 }), keeps: fc.boolean(), hasTtl: fc.boolean() }),
      { maxLength: 40 }
    ),
    heartbeats: fc.array(name, { maxLength: 4 }),
    absent: fc.array(name, { maxLength: 4 }),
    removed: fc.array(name, { maxLength: 20 }),
    errors: fc.array(error, { maxLength: 8 }),
    alias: fc.option(name),
    ttl: fc.boolean()
  })
  .map(({ absent, alias, errors, heartbeats, removed, resources, ttl, typeUrl }) => {
    const made = resources.map((each) => resource(typeUrl, each.name, each.bytes, each.keeps, each.hasTtl))
    const [first] = made
    return Response.make({
      protocol: "Incremental",
      typeUrl,
      version: "v1",
      resources: made,
      heartbeats: heartbeats.map((each) => resource(typeUrl, each, 10, false, true)),
      absent,
      removed,
      errors,
      ttl,
      ...(alias !== null && first !== undefined && { aliases: new Map([[first.name, [alias]]]) })
    })
  })

/** Number of resources, names and errors. */
const countOf = ({ absent, errors, heartbeats, removed, resources }: Response.Response): number =>
  resources.length + heartbeats.length + absent.length + errors.length + removed.length

describe("the parts of a response", () => {
  it("★ tell errors, and remove nothing that is kept: each still fits, and there is one at least", () => {
    fc.assert(
      fc.property(
        response,
        fc.array(error, { maxLength: 40 }),
        fc.nat(3),
        fc.integer({ min: 300, max: 20_000 }),
        (whole, errors, every, maxBytes) => {
          const kept = new Set(whole.removed.filter((_, at) => at % 4 <= every))
          const split = Steps.toEnd(ResponseParts.split({ ...whole, errors: [] }, maxBytes))
          const parts = partsOf(Steps.toEnd(ResponseParts.telling(split, errors, kept, maxBytes)))
          for (const field of ["resources", "heartbeats", "absent"] as const)
            assert.deepStrictEqual(
              parts.flatMap((part): ReadonlyArray<unknown> => part[field]),
              [...whole[field]]
            )
          assert.deepStrictEqual(
            parts.flatMap((part) => part.removed),
            whole.removed.filter((each) => !kept.has(each))
          )
          assert.deepStrictEqual(
            parts.flatMap((part) => part.errors),
            errors
          )
          for (const part of parts) {
            if (countOf(part) > 1) assert.isAtMost(Response.body(part).byteLength, maxBytes)
            if (parts.length > 1) assert.isAbove(countOf(part), 0)
          }
        }
      ),
      { seed: 20260101, numRuns: 300 }
    )
  })

  it("have together what it has, in order, and each fits unless it is a single resource or name", () => {
    fc.assert(
      fc.property(response, fc.integer({ min: 300, max: 20_000 }), (whole, maxBytes) => {
        const parts = partsOf(Steps.toEnd(ResponseParts.split(whole, maxBytes)))
        for (const field of ["resources", "heartbeats", "absent", "errors", "removed"] as const)
          assert.deepStrictEqual(
            parts.flatMap((part): ReadonlyArray<unknown> => part[field]),
            [...whole[field]]
          )
        for (const part of parts) if (countOf(part) > 1) assert.isAtMost(Response.body(part).byteLength, maxBytes)
        // A response that fits is one message.
        if (Response.body(whole).byteLength + 70 * (whole.resources.length + 60) < maxBytes) assert.lengthOf(parts, 1)
      }),
      { seed: 20260101, numRuns: 500 }
    )
  })

  it("of ten thousand are of the size that is allowed, and are found in steps", () => {
    const resources = Array.from({ length: 10_000 }, (_, at) => resource(types[0], `c${at}`, 500, at % 2 === 0, false))
    const work = ResponseParts.split(
      Response.make({ protocol: "Incremental", typeUrl: types[0], version: "v1", resources }),
      1_000_000
    )
    for (let step = 0; step < 9; step++) assert.isFalse(work.next().done)
    const parts = partsOf(Steps.toEnd(work))
    const sizes = parts.map((part) => Response.body(part).byteLength)
    for (const size of sizes) assert.isAtMost(size, 1_000_000)
    for (const size of sizes.slice(0, -1)) assert.isAtLeast(size, 850_000)
  })

  it("are not made of a short response with long names, which is seen not to be small", () => {
    const large = resource(types[0], "n".repeat(1_000), 1, true, false)
    const make = (resources: ReadonlyArray<Resource.Resource>) =>
      Response.make({ protocol: "Incremental", typeUrl: types[0], version: "v1", resources })
    assert.isFalse(ResponseParts.isSmall(make([large]), 1_000))
    assert.isTrue(ResponseParts.isSmall(make([large]), 4_000))
    assert.isFalse(ResponseParts.isSmall(make([large, large]), 4_000))
  })
})
