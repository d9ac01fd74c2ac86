import * as Resource from "@effect-xds/core/resource/Resource"
import * as Steps from "@effect-xds/core/Steps"
import * as Response from "@effect-xds/core/wire/Response"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as Timers from "node:timers/promises"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import * as Bodies from "../src/internal/Bodies.js"

const { typeUrl } = ResourceType.TypedExtensionConfig

const response = (name: string, bytes: number): Response.Response =>
  Response.shared(
    Response.make({
      protocol: "Incremental",
      typeUrl,
      version: "1",
      resources: [Either.getOrThrow(Resource.make({ typeUrl, name, value: new Uint8Array(bytes), version: "1" }))]
    })
  )

/** Collects garbage, in a turn in which nothing of the last ones is held any more. */
const collect = async (): Promise<void> => {
  await Timers.setImmediate()
  V8.setFlagsFromString("--expose_gc")
  new Vm.Script("gc()").runInNewContext()
}

describe("the bodies that a server sends", () => {
  it("a large one is made once while a part of it is being sent, and is not kept after that", async () => {
    const bodies = Bodies.make()
    const large = response("large", 100_000)
    const expected = Response.encode(large, "1")
    await collect()
    let part: Uint8Array | undefined = Response.body(large, bodies).subarray(50_000)
    const buffer = new WeakRef(part.buffer)
    await collect()
    expect(Response.body(large, bodies).buffer === part.buffer).toBe(true)
    part = undefined
    await collect()
    expect(buffer.deref() === undefined).toBe(true)
    expect(Response.encode(large, "1")).toEqual(expected)
  })

  it("a small one is kept with the response", async () => {
    const bodies = Bodies.make()
    const small = response("small", 10_000)
    const body = new WeakRef(Response.body(small, bodies))
    await collect()
    expect(body.deref() === Response.body(small, bodies)).toBe(true)
  })

  it("of one server only", () => {
    const large = response("large", 100_000)
    const [one, other] = [Bodies.make(), Bodies.make()]
    const body = Response.body(large, one)
    expect(Response.isWritten(large, other)).toBe(false)
    expect(Response.body(large, other)).toEqual(body)
  })

  it("pieces of one that is being sent go into others of its form, and into no others", async () => {
    const bodies = Bodies.make()
    const make = (typeUrl: string, ttl = false) => {
      const resources = Array.from({ length: 200 }, (_, at) =>
        Either.getOrThrow(Resource.make({ typeUrl, name: `${at}`, value: new Uint8Array(200), version: "1" }))
      )
      return Response.shared(Response.make({ protocol: "Incremental", typeUrl, version: "1", resources, ttl }))
    }
    const buffersOf = (response: Response.Response) =>
      Array.from(bodies.pieces?.earlier(response) ?? [], ({ bytes }) => bytes.buffer)
    const first = make(typeUrl)
    let pieces: ReadonlyArray<Uint8Array> = Steps.toEnd(Response.pieces(first, bodies))
    expect(pieces).toHaveLength(3)
    expect(buffersOf(make(typeUrl))).toEqual(pieces.map(({ buffer }) => buffer))
    expect(Response.written(first, bodies)).toEqual(pieces)
    expect(buffersOf(make(typeUrl, true))).toEqual([])
    expect(buffersOf(make(ResourceType.Cluster.typeUrl))).toEqual([])
    // The latest eight.
    const others = Array.from({ length: 9 }, () => Steps.toEnd(Response.pieces(make(typeUrl), bodies)))
    expect(buffersOf(first).length).toBeLessThanOrEqual(8 * 3)
    expect(buffersOf(first)[0]).toBe(others.at(-1)?.[0]?.buffer)
    // A part of one piece does not keep the others.
    const [, piece] = pieces
    const part = piece?.subarray(100)
    pieces = []
    others.length = 0
    await collect()
    expect(Response.written(first, bodies)).toBe(undefined)
    expect(part?.byteLength).toBeGreaterThan(40_000)
  })
})
