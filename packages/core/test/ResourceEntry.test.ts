import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "@effect/vitest"

const { Cluster, LbEndpoint, VirtualHost } = ResourceType

const typeUrls = [Cluster.typeUrl, LbEndpoint.typeUrl, VirtualHost.typeUrl, "type.googleapis.com/not.Known"]

const spec = FastCheck.record({
  name: FastCheck.oneof(
    FastCheck.string({ minLength: 1 }),
    FastCheck.constantFrom("größer", "名前", "x".repeat(200))
  ).filter((name) => name !== "*"),
  value: FastCheck.uint8Array({ maxLength: 300 }),
  version: FastCheck.option(FastCheck.constantFrom("1", "é", "v".repeat(130)), { nil: undefined }),
  ttl: FastCheck.option(FastCheck.constantFrom(100, 1_500), { nil: undefined })
})

const responses = FastCheck.record({
  typeUrl: FastCheck.constantFrom(...typeUrls),
  specs: FastCheck.uniqueArray(spec, { selector: ({ name }) => name, maxLength: 5 }),
  protocol: FastCheck.constantFrom("Incremental" as const, "StateOfTheWorld" as const),
  ttl: FastCheck.boolean(),
  aliased: FastCheck.boolean()
})

const made = (input: Parameters<typeof Resource.make>[0]): Resource.Resource => Either.getOrThrow(Resource.make(input))

/** As what is no entry: a copy of its fields. */
const copied = (resource: Resource.Resource): Resource.Resource => ({ ...resource })

const bytesOf = (response: Response.Response): Uint8Array => Response.encode(response, "1")

describe("a resource that was encoded when it was made", () => {
  it.prop("is sent in the bytes in which it is encoded for a response", [responses], ([given]) => {
    const { aliased, protocol, specs, ttl, typeUrl } = given
    const resources = specs.map((each) => made({ typeUrl, ...each }))
    const [first] = resources
    const aliases = new Map(aliased && first !== undefined ? [[first.name, ["other"]]] : [])
    const response = Response.make({ protocol, typeUrl, version: "1", resources, ttl, aliases })
    expect(resources.every((each) => Resource.entryOf(each) !== undefined)).toBe(true)
    const plain = Response.make({ ...response, resources: resources.map(copied) })
    expect(plain.resources.some((each) => Resource.entryOf(each) !== undefined)).toBe(false)
    expect(bytesOf(response)).toEqual(bytesOf(plain))
    const kept = specs.map((each) => made({ typeUrl, ...each, keepBytes: true }))
    expect(bytesOf(Response.make({ ...response, resources: kept }))).toEqual(bytesOf(plain))
  })

  it("is another one with other fields, which is sent with these", () => {
    const { typeUrl } = Cluster
    const resource = made({ typeUrl, name: "a", value: new Uint8Array([10, 1, 97]) })
    const other = { ...resource, name: "b", version: "2" }
    expect(Resource.entryOf(other)).toBe(undefined)
    for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
      const response = (resources: ReadonlyArray<Resource.Resource>) =>
        bytesOf(Response.make({ protocol, typeUrl, version: "1", resources }))
      const expected = made({ typeUrl, name: "b", version: "2", value: resource.value })
      expect(response([other])).toEqual(response([expected]))
    }
  })

  it("has a copy of the bytes, unless they are to be kept", () => {
    const value = new Uint8Array([10, 1, 97])
    const input = { typeUrl: Cluster.typeUrl, name: "a", value }
    const [copy, kept] = [made(input), made({ ...input, keepBytes: true })]
    expect([copy.value, kept.value === value]).toEqual([value, true])
    value.fill(0)
    expect([...copy.value]).toEqual([10, 1, 97])
    expect([copy.digest, copy.version]).toEqual([kept.digest, kept.version])
    expect(Resource.entryOf(kept)).toBe(undefined)
  })
})
