import * as Resource from "@effect-xds/core/resource/Resource"
import * as Steps from "@effect-xds/core/Steps"
import * as Response from "@effect-xds/core/wire/Response"
import * as ResponsePieces from "@effect-xds/core/wire/ResponsePieces"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

const { typeUrl } = ResourceType.Cluster

const made = new Map<string, Resource.Resource>()
const resource = (index: number, content: number): Resource.Resource => {
  const key = `${index} ${content}`
  const known =
    made.get(key) ??
    Either.getOrThrow(
      Resource.make({
        typeUrl,
        name: `c${index}`,
        value: new Uint8Array(content * 7).fill(content),
        // Some have a TTL, which is written or not.
        ...(index % 5 === 0 ? { ttl: 5_000 } : {})
      })
    )
  made.set(key, known)
  return known
}

/** Keeps all pieces, and gives those of one form as earlier ones. */
const keeping = (): Response.Bodies => {
  const kept = new Map<Response.Response, ReadonlyArray<Uint8Array>>()
  const earlier = new Map<string, ReadonlyArray<ResponsePieces.Piece>>()
  return {
    allocate: (size) => new Uint8Array(size),
    get: () => undefined,
    set: () => {},
    pieces: {
      get: (response) => kept.get(response),
      set: (response, pieces) => {
        kept.set(
          response,
          pieces.map(({ bytes }) => bytes)
        )
        const form = Response.formName(response)
        earlier.set(form, [...pieces, ...(earlier.get(form) ?? [])])
      },
      earlier: (response) => earlier.get(Response.formName(response)) ?? []
    }
  }
}

describe("the pieces of earlier responses", () => {
  it("make the same bytes as all encoded anew: after changes, insertions, removals and exchanges", () => {
    const change = fc.oneof(
      fc.record({ kind: fc.constant("change" as const), at: fc.nat(299), to: fc.nat(3) }),
      fc.record({ kind: fc.constant("remove" as const), at: fc.nat(299), to: fc.constant(0) }),
      fc.record({ kind: fc.constant("insert" as const), at: fc.nat(299), to: fc.integer({ min: 1_000, max: 1_010 }) }),
      fc.record({ kind: fc.constant("exchange" as const), at: fc.nat(298), to: fc.nat(298) })
    )
    const state = fc.record({
      changes: fc.array(change, { maxLength: 3 }),
      protocol: fc.constantFrom("Incremental" as const, "StateOfTheWorld" as const),
      ttl: fc.boolean(),
      withAliases: fc.boolean()
    })
    fc.assert(
      fc.property(fc.array(state, { minLength: 1, maxLength: 8 }), (states) => {
        const bodies = keeping()
        const resources = Array.from({ length: 300 }, (_, index) => resource(index, 60 + (index % 3)))
        for (const { changes, protocol, ttl, withAliases } of states) {
          for (const { at, kind, to } of changes) {
            const [one, other] = [resources[at % resources.length], resources[to % resources.length]]
            if (kind === "change") resources[at % resources.length] = resource(at, to)
            if (kind === "remove") resources.splice(at, 1)
            if (kind === "insert") resources.splice(at, 0, resource(to, 61))
            if (kind === "exchange" && one !== undefined && other !== undefined) {
              resources[at % resources.length] = other
              resources[to % resources.length] = one
            }
          }
          const aliases = withAliases && protocol === "Incremental" ? new Map([["c7", ["alias"]]]) : new Map()
          const fields = { protocol, typeUrl, version: `v${changes.length}`, resources: [...resources], ttl, aliases }
          const response = Response.make({ ...fields, removed: protocol === "Incremental" ? ["gone"] : [] })
          const shared = Response.shared(response)
          const pieces = Steps.toEnd(Response.pieces(shared, bodies))
          assert.strictEqual(Buffer.compare(Buffer.concat(pieces), Response.body(response)), 0)
          assert.strictEqual(Response.sizeOf(pieces), Response.body(response).byteLength)
          assert.strictEqual(Buffer.compare(Steps.toEnd(Response.writing(shared, bodies)), Response.body(response)), 0)
        }
      }),
      { seed: 20260101, numRuns: 150 }
    )
  })

  it("★ after a change of one resource among ten thousand one piece is encoded anew, and no other is copied", () => {
    const bodies = keeping()
    let resources = Array.from({ length: 10_000 }, (_, index) => resource(index, 60))
    let before = new Set<ArrayBufferLike>()
    const write = (): number => {
      const response = Response.make({ protocol: "Incremental", typeUrl, version: "1", resources })
      const pieces = Steps.toEnd(Response.pieces(Response.shared(response), bodies))
      // The fields before and after the resources are pieces, too.
      const made = pieces.slice(1, -1).filter(({ buffer }) => !before.has(buffer))
      before = new Set(pieces.map(({ buffer }) => buffer))
      return made.length
    }
    const all = write()
    assert.isAtLeast(all, 8)
    for (let change = 0; change < 20; change++) {
      resources = resources.with((change * 7_919) % 10_000, resource((change * 7_919) % 10_000, 61))
      assert.strictEqual(write(), 1)
    }
    // One that is inserted shifts all others.
    resources = [...resources.slice(0, 5_000), resource(20_000, 60), ...resources.slice(5_000)]
    assert.isAtMost(write(), 2)
    resources = resources.filter((_, at) => at !== 777)
    assert.isAtMost(write(), 2)
    assert.strictEqual(write(), 0)
  })

  it("are of a bounded size, and the resources of one step make one at least", () => {
    const large = Array.from({ length: 3 * Steps.atOnce }, (_, index) =>
      Either.getOrThrow(Resource.make({ typeUrl, name: `l${index}`, value: new Uint8Array(10_000) }))
    )
    const response = Response.make({ protocol: "Incremental", typeUrl, version: "1", resources: large })
    const pieces = Steps.toEnd(Response.pieces(response))
    assert.strictEqual(pieces.length, 3 + 2)
    for (const { byteLength } of pieces) assert.isAtMost(byteLength, ResponsePieces.leastBytes + Steps.atOnce * 10_100)
  })
})
