import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResponseParts from "@effect-xds/core/server/ResponseParts"
import * as Steps from "@effect-xds/core/Steps"
import * as Response from "@effect-xds/core/wire/Response"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as Bodies from "../src/internal/Bodies.js"
import { PieceRoom } from "../src/internal/PieceRoom.js"

const { typeUrl } = ResourceType.Cluster

const resources = Array.from({ length: 10_000 }, (_, at) =>
  Either.getOrThrow(Resource.make({ typeUrl, name: `c${at}`, value: new Uint8Array(400 + (at % 7)) }))
)

const response = (protocol: "Incremental" | "StateOfTheWorld"): Response.Response =>
  Response.make({ protocol, typeUrl, version: "1", resources })

/** Buffers of pieces with resources. */
const buffersOf = (pieces: ReadonlyArray<Uint8Array>): ReadonlySet<ArrayBufferLike> =>
  new Set(pieces.filter(({ byteLength }) => byteLength > 100).map(({ buffer }) => buffer))

describe("the room of a response", () => {
  it("★ has all its pieces in one buffer, and little more", () => {
    for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
      const pieces = Steps.toEnd(Response.pieces(Response.shared(response(protocol)), Bodies.make()))
      assert.isAbove(pieces.length, 8)
      const [buffer, ...others] = buffersOf(pieces)
      assert.deepStrictEqual(others, [])
      assert.isBelow(buffer?.byteLength ?? 0, 1.03 * Response.sizeOf(pieces))
    }
  })

  it("holds pieces that are known again, each by itself", () => {
    const bodies = Bodies.make()
    const shared = Response.shared(response("Incremental"))
    const pieces = Steps.toEnd(Response.pieces(shared, bodies))
    const known = Response.written(shared, bodies) ?? []
    assert.deepStrictEqual(
      known.map(({ byteLength }) => byteLength),
      pieces.map(({ byteLength }) => byteLength)
    )
    assert.strictEqual(Buffer.compare(Buffer.concat(known), Buffer.concat(pieces)), 0)
    const changed = Response.shared(
      Response.make({ ...response("Incremental"), resources: resources.toSpliced(77, 1) })
    )
    const again = Steps.toEnd(Response.pieces(changed, bodies))
    assert.strictEqual(Buffer.compare(Buffer.concat(again), Response.body(changed)), 0)
    assert.strictEqual(buffersOf(again).size, 2)
  })

  it("★ has those of the parts after it, too", () => {
    const parts = Response.shared(Steps.toEnd(ResponseParts.split(response("Incremental"), 1_000_000)))
    const bodies = Bodies.make()
    const pieces: Array<Uint8Array> = []
    let count = 0
    for (let part: Response.Response | undefined = parts; part !== undefined; part = part.next) {
      count++
      pieces.push(...Steps.toEnd(Response.pieces(part, bodies)))
    }
    assert.isAbove(count, 4)
    assert.strictEqual(buffersOf(pieces).size, 1)
  })

  it("is bounded, whatever the resources are before it: those that are left may be smaller", () => {
    assert.strictEqual(
      new PieceRoom().allocate(1_000_000, 1, 1_000_000).buffer.byteLength,
      1_000_000 + 64 * 1024 * 1024
    )
    assert.strictEqual(new PieceRoom().allocate(1_000_000, 1, 0).buffer.byteLength, 1_000_000)
  })

  it("gives no byte twice", () => {
    const piece = fc.record({ size: fc.integer({ min: 1, max: 5_000 }), count: fc.integer({ min: 1, max: 10 }) })
    fc.assert(
      fc.property(fc.array(piece), (given) => {
        const room = new PieceRoom()
        let left = given.reduce((sum, { count }) => sum + count, 0)
        const pieces = given.map(({ count, size }, at) => {
          left -= count
          const bytes = room.allocate(size, count, left)
          assert.strictEqual(bytes.byteLength, size)
          assert.isTrue(bytes.every((byte) => byte === 0))
          return bytes.fill(1 + (at % 255))
        })
        pieces.forEach((bytes, at) => assert.isTrue(bytes.every((byte) => byte === 1 + (at % 255))))
      })
    )
  })
})
