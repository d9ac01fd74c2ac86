import type { DescMethod, DescService } from "@bufbuild/protobuf"
import { getOption, toBinary } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { describe, expect, it } from "@effect/vitest"
import { ResourceType as Current, TypeRegistry } from "@effect-xds/proto"
import { http } from "@effect-xds/proto/google/api/annotations"
import { GeneratedTypes, ResourceType } from "@effect-xds/proto-v2"
import { AggregatedDiscoveryService } from "@effect-xds/proto-v2/envoy/service/discovery/v2/ads"
import { files, types } from "#generated-types"

const serviceOf = async (name: string): Promise<DescService | undefined> => {
  const index = types.get(name)
  const file = index === undefined ? undefined : await files[index]?.()
  return file?.services.find((service) => service.typeName === name)
}

const names = (service: DescService | undefined): ReadonlyArray<string> =>
  (service?.methods ?? []).map((method) => method.name).sort()

const pathOf = (method: DescMethod | undefined): string | undefined => {
  if (method === undefined) return undefined
  const { pattern } = getOption(method, http)
  return pattern.case === "post" ? pattern.value : undefined
}

describe.each(ResourceType.all.map((type) => ({ shortName: type.shortName, type })))("$shortName", ({ type }) => {
  it("names its message, with the resource's name in field 1", async () => {
    const schema = await type.load()
    expect(schema.typeName).toBe(type.typeName)
    expect(type.typeUrl).toBe(`type.googleapis.com/${type.typeName}`)

    const message = reflect(schema)
    const field = schema.fields.find((candidate) => candidate.number === 1)
    if (field?.fieldKind !== "scalar") throw new Error("field 1 is no scalar")
    expect(field.localName).toBe(type.nameField)
    message.set(field, "the name")
    expect(Current.nameOf(type, message.message)).toBe("the name")
    expect(Current.nameOfBytes(toBinary(schema, message.message))).toBe("the name")
  })

  it("names its service's methods, all of them, and the path of REST", async () => {
    const service = await serviceOf(type.service ?? "")
    expect(names(service)).toEqual([type.stream, type.delta, type.fetch].filter((name) => name !== undefined).sort())
    expect(pathOf(service?.methods.find((method) => method.name === type.fetch))).toBe(type.restPath)
    if (type.restPath !== undefined) expect(type.restPath).toMatch(/^\/v2\/discovery:/)
  })

  it("is found by its type URL, and is in all that is not its version what the type of v3 is", () => {
    expect(ResourceType.byTypeUrl(type.typeUrl)).toBe(type)
    const current = Current.all.find(({ shortName }) => shortName === type.shortName)
    const { delta, family, fetch, nameField, stream, wildcardByDefault } = type
    expect(current).toMatchObject({ delta, family, fetch, nameField, stream, wildcardByDefault })
    expect(current?.restPath).toBe(type.restPath?.replace("/v2/", "/v3/"))
    expect(current?.typeUrl).not.toBe(type.typeUrl)
  })
})

it("lists the types in the order of their additions on ADS, which is that of v3", () => {
  const orders = ResourceType.all.map((type) => type.order)
  expect(orders).toEqual(orders.toSorted((a, b) => a - b))
  const current = Current.all.map(({ shortName }) => shortName)
  const shortNames = ResourceType.all.map(({ shortName }) => shortName)
  expect(shortNames).toEqual(current.filter((name) => shortNames.includes(name)))
  expect(shortNames).toHaveLength(8)
})

it("names the aggregated service", () => {
  const { delta, service, stream } = ResourceType.aggregated
  expect(AggregatedDiscoveryService.typeName).toBe(service)
  expect(names(AggregatedDiscoveryService)).toEqual([delta, stream])
})

it("knows nothing of v3", () => {
  expect(ResourceType.byTypeUrl("type.googleapis.com/envoy.config.cluster.v3.Cluster")).toBeUndefined()
})

it("has the rows v2 of the table, whose messages are found where an application has loaded them", async () => {
  for (const { load, ...type } of ResourceType.all) {
    expect(Current.byTypeUrl(type.typeUrl)).toMatchObject(type)
    expect(Current.byTypeUrl(type.typeUrl)?.api).toBe("v2")
    expect((await load()).typeName).toBe(type.typeName)
  }
  const { load } = Current.byTypeUrl("type.googleapis.com/envoy.api.v2.Cluster") ?? Current.Cluster
  await expect(load()).rejects.toThrow("envoy.api.v2.Cluster is of the v2 API: TypeRegistry.add(GeneratedTypes.types)")
  TypeRegistry.add(GeneratedTypes.types)
  expect((await load()).typeName).toBe("envoy.api.v2.Cluster")
})
