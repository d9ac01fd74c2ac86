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

  it("parts of one that is being sent go into others of its form, and into no others", () => {
    const bodies = Bodies.make()
    const make = (typeUrl: string, ttl = false) => {
      const resources = Array.from({ length: 200 }, (_, at) =>
        Either.getOrThrow(Resource.make({ typeUrl, name: `${at}`, value: new Uint8Array(200), version: "1" }))
      )
      return Response.shared(Response.make({ protocol: "Incremental", typeUrl, version: "1", resources, ttl }))
    }
    const first = make(typeUrl)
    const body = Steps.toEnd(Response.writing(first, bodies))
    expect(bodies.earlier?.(make(typeUrl)).map(({ body }) => body.buffer)).toEqual([body.buffer])
    expect(bodies.earlier?.(make(typeUrl, true))).toEqual([])
    expect(bodies.earlier?.(make(ResourceType.Cluster.typeUrl))).toEqual([])
    // The latest eight.
    const others = Array.from({ length: 9 }, () => Steps.toEnd(Response.writing(make(typeUrl), bodies)))
    expect(bodies.earlier?.(first).length).toBeLessThanOrEqual(8)
    expect(bodies.earlier?.(first)[0]?.body.buffer).toBe(others.at(-1)?.buffer)
  })
})
