import { fromBinary } from "@bufbuild/protobuf"
import { anyUnpack } from "@bufbuild/protobuf/wkt"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import * as Steps from "@effect-xds/core/Steps"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import { describe, expect, it } from "@effect/vitest"

const { typeUrl } = ResourceType.TypedExtensionConfig

const resource = (name: string, bytes: number): Resource.Resource =>
  Either.getOrThrow(Resource.make({ typeUrl, name, value: new Uint8Array(bytes), version: "é1" }))

const response = (resources: ReadonlyArray<Resource.Resource>): Response.Response =>
  Response.shared(Response.make({ protocol: "Incremental", typeUrl, version: "1", resources, removed: ["größer", ""] }))

/** What keeps large bodies, and what it keeps. */
const keeping = (): readonly [Response.Bodies, Map<Response.Response, Uint8Array>] => {
  const kept = new Map<Response.Response, Uint8Array>()
  const bodies: Response.Bodies = {
    allocate: (size) => new Uint8Array(size),
    get: (response) => kept.get(response),
    set: (response, body) => void kept.set(response, body)
  }
  return [bodies, kept]
}

/** The result of work that ends in a hundred steps. */
const soonEnded = <A>(work: Steps.Steps<A>): A => {
  for (let step = 0; step < 100; step++) {
    const { done, value } = work.next()
    if (done === true) return value
  }
  throw new Error("it begins again and again")
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
      const [bodies] = keeping()
      const shared = Response.shared(make())
      for (const [stepped, others] of [
        [make(), 1],
        [shared, 1],
        [Response.shared(make()), 5]
      ] as const) {
        const works = Array.from({ length: others }, () => Response.writing(stepped, bodies))
        for (let step = 0; step < 2 * Math.floor(600 / Steps.atOnce); step++)
          expect(works[step % others]?.next()).toEqual({ done: false, value: undefined })
        expect(Response.isWritten(stepped, bodies)).toBe(false)
        for (const work of works) expect(Buffer.compare(soonEnded(work), expected)).toBe(0)
        expect(Buffer.compare(Response.body(stepped, bodies), expected)).toBe(0)
      }
      expect(Response.isWritten(shared, bodies)).toBe(true)
      expect(Response.body(shared, bodies)).toBe(Steps.toEnd(Response.writing(shared, bodies)))
      const begun = Response.shared(make())
      Response.writing(begun, bodies).next()
      expect(Buffer.compare(Response.body(begun, bodies), expected)).toBe(0)
      expect(Steps.toEnd(Response.writing(begun, bodies))).toBe(Response.body(begun, bodies))
    }
  })

  it("is the same in steps, also where the last of them is full, or there is nothing", () => {
    for (const count of [0, 1, Steps.atOnce - 1, Steps.atOnce, Steps.atOnce + 1, 3 * Steps.atOnce]) {
      const resources = Array.from({ length: count }, (_, at) => resource(`${at}`, at % 7))
      for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
        const made = Response.make({ protocol, typeUrl, version: "1", resources, removed: ["gone"] })
        expect(Steps.toEnd(Response.writing(made))).toEqual(Response.body(made))
        const renewed = Response.make({ ...made, heartbeats: resources, resources: resources.slice(7), ttl: true })
        expect(Buffer.compare(Steps.toEnd(Response.writing(renewed)), Response.body(renewed))).toBe(0)
      }
    }
  })

  it("★ has renewals without bodies in steps, too: there may be ten thousand", () => {
    const heartbeats = Array.from({ length: 50 * Steps.atOnce }, (_, at) => resource(`${at}`, 7))
    for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
      const made = Response.make({ protocol, typeUrl, version: "1", resources: [], heartbeats, ttl: true })
      const work = Response.writing(made)
      for (let step = 0; step < 2 * 49; step++) expect(work.next().done).toBe(false)
      expect(Buffer.compare(Steps.toEnd(work), Response.body(made))).toBe(0)
    }
  })

  it("is kept with each part of the response if it is small", () => {
    const small = response([resource("small", 10_000)])
    const parts = Response.shared({ ...small, next: Response.make({ ...small, version: "2", next: small }) })
    for (const part of [small, parts, parts.next, parts.next?.next]) {
      if (part === undefined) throw new Error("there is no such part")
      expect(Response.body(part)).toBe(Response.body(part))
    }
    expect(parts.next?.next?.next).toBe(undefined)
  })

  it("is kept by whoever sends it if it is large, and only by them", () => {
    const large = response([resource("large", Response.keepLimit)])
    const [bodies, kept] = keeping()
    expect(Response.body(large)).not.toBe(Response.body(large))
    const body = Response.body(large, bodies)
    expect(Response.body(large, bodies)).toBe(body)
    expect(Steps.toEnd(Response.writing(large, bodies))).toBe(body)
    expect([Response.isWritten(large), Response.isWritten(large, bodies)]).toEqual([false, true])
    kept.clear()
    expect(Response.isWritten(large, bodies)).toBe(false)
    expect(Response.body(large, bodies)).toEqual(body)
    Response.body(response([resource("small", 10_000)]), bodies)
    expect(kept.size).toBe(1)
  })
})

it("state of the world: an endpoint, which holds no name, has one in a wrapper", () => {
  const { typeUrl } = ResourceType.LbEndpoint
  const name = "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/1"
  const endpoint = Either.getOrThrow(Resource.make({ typeUrl, name, value: new Uint8Array([16, 1]), ttl: 1_000 }))
  for (const ttl of [false, true]) {
    const made = Response.make({ protocol: "StateOfTheWorld", typeUrl, version: "1", resources: [endpoint], ttl })
    const [any] = fromBinary(DiscoveryResponseSchema, Response.body(made)).resources
    const wrapper = any === undefined ? undefined : anyUnpack(any, ResourceSchema)
    expect([wrapper?.name, wrapper?.resource?.typeUrl, wrapper?.ttl?.seconds]).toEqual([
      name,
      typeUrl,
      ttl ? 1n : undefined
    ])
  }
})
