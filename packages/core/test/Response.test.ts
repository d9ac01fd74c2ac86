import { fromBinary } from "@bufbuild/protobuf"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import * as Steps from "@effect-xds/core/Steps"
import { DeltaDiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as Timers from "node:timers/promises"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import { describe, expect, it } from "@effect/vitest"

const { typeUrl } = ResourceType.TypedExtensionConfig

const resource = (name: string, bytes: number): Resource.Resource =>
  Either.getOrThrow(Resource.make({ typeUrl, name, value: new Uint8Array(bytes), version: "é1" }))

const response = (resources: ReadonlyArray<Resource.Resource>): Response.Response =>
  Response.shared(Response.make({ protocol: "Incremental", typeUrl, version: "1", resources, removed: ["größer", ""] }))

/** Collects garbage, in a turn in which nothing of the last ones is held any more. */
const collect = async (): Promise<void> => {
  await Timers.setImmediate()
  V8.setFlagsFromString("--expose_gc")
  new Vm.Script("gc()").runInNewContext()
}

describe("the body of a shared response", () => {
  it("has names that are not ASCII, next to ones that are", () => {
    const names = ["plain", "größer", "名前", "😀", "x".repeat(200), "ü".repeat(64)]
    const decoded = fromBinary(
      DeltaDiscoveryResponseSchema,
      Response.body(response(names.map((name) => resource(name, 3))))
    )
    expect(decoded.resources.map(({ name, version }) => [name, version])).toEqual(names.map((name) => [name, "é1"]))
    expect(decoded.removedResources).toEqual(["größer", ""])
  })

  it("is the same in steps, whoever takes them, as at once", () => {
    const resources = Array.from({ length: 600 }, (_, at) => resource(`${at}`, at % 7))
    for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
      const make = () => Response.make({ protocol, typeUrl, version: "1", resources })
      const expected = Response.body(make())
      for (const stepped of [make(), Response.shared(make())]) {
        for (let step = 0; step < 2 * Math.floor(600 / Steps.atOnce); step++)
          expect(Response.bodyInSteps(stepped)).toBe(undefined)
        expect(Response.isWritten(stepped)).toBe(false)
        expect(Response.bodyInSteps(stepped)).toEqual(expected)
        expect(Response.isWritten(stepped)).toBe(true)
        expect(Response.body(stepped)).toEqual(expected)
      }
      const begun = make()
      Response.bodyInSteps(begun)
      expect(Response.body(begun)).toEqual(expected)
    }
  })

  it("is the same in steps, also where the last of them is full, or there is nothing", () => {
    for (const count of [0, 1, Steps.atOnce - 1, Steps.atOnce, Steps.atOnce + 1, 3 * Steps.atOnce]) {
      const resources = Array.from({ length: count }, (_, at) => resource(`${at}`, at % 7))
      for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
        const made = Response.make({ protocol, typeUrl, version: "1", resources, removed: ["gone"] })
        let body: Uint8Array | undefined
        while (body === undefined) body = Response.bodyInSteps(made)
        expect(body).toEqual(Response.body(Response.make({ ...made })))
      }
    }
  })

  it("is made once while a part of it is being sent, and a large one is not kept after that", async () => {
    const large = response([resource("large", 100_000)])
    const expected = Response.encode(large, "1")
    await collect()
    let part: Uint8Array | undefined = Response.body(large).subarray(50_000)
    const buffer = new WeakRef(part.buffer)
    await collect()
    expect(Response.body(large).buffer === part.buffer).toBe(true)
    part = undefined
    await collect()
    expect(buffer.deref() === undefined).toBe(true)
    expect(Response.encode(large, "1")).toEqual(expected)
  })

  it("is kept with the response if it is small", async () => {
    const small = response([resource("small", 10_000)])
    const body = new WeakRef(Response.body(small))
    await collect()
    expect(body.deref() === Response.body(small)).toBe(true)
  })
})
