import type { DescMethod, DescService } from "@bufbuild/protobuf"
import { create, getOption, toBinary } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { describe, expect, it } from "@effect/vitest"
import { ResourceType } from "@effect-xds/proto"
import { resource } from "@effect-xds/proto/envoy/annotations/resource"
import { LbEndpointSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import { FilterChainSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import { AggregatedDiscoveryService } from "@effect-xds/proto/envoy/service/discovery/v3/ads"
import { http } from "@effect-xds/proto/google/api/annotations"
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
  it("names its message, and the field with the resource's name", async () => {
    const schema = await type.load()
    expect(schema.typeName).toBe(type.typeName)
    expect(type.typeUrl).toBe(`type.googleapis.com/${type.typeName}`)
    const message = reflect(schema)
    if (type.nameNumber === undefined) {
      expect([type.shortName, type.nameField]).toEqual(["LEDS", undefined])
      expect(schema.fields.map(({ localName }) => localName)).not.toContain("name")
      expect(ResourceType.nameOf(type, message.message)).toBeUndefined()
      return
    }
    const field = schema.fields.find((candidate) => candidate.number === type.nameNumber)
    expect(field?.localName).toBe(type.nameField)
    if (type.shortName !== "FCDS") expect(type.nameNumber).toBe(1)

    if (field?.fieldKind !== "scalar") throw new Error("the field with the name is no scalar")
    message.set(field, "the name")
    expect(ResourceType.nameOf(type, message.message)).toBe("the name")
    expect(ResourceType.nameOfBytes(toBinary(schema, message.message), undefined, type.nameNumber)).toBe("the name")
  })

  it("names its service's methods, all of them", async () => {
    const methods = [type.stream, type.delta, type.fetch].filter((name) => name !== undefined)
    const service = type.service === undefined ? undefined : await serviceOf(type.service)
    // FCDS is aggregated only.
    expect(service === undefined).toBe(type.shortName === "FCDS")
    expect(names(service)).toEqual(methods.sort())
    expect(pathOf(service?.methods.find((method) => method.name === type.fetch))).toBe(type.restPath)
  })

  it("is found by its type URL", () => {
    expect(ResourceType.byTypeUrl(type.typeUrl)).toBe(type)
    expect(ResourceType.shortNameOf(type.typeUrl)).toBe(type.shortName)
  })
})

it("lists the types in the order of their additions on ADS", () => {
  expect(ResourceType.all.map((type) => type.order)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(ResourceType.all.map((type) => type.shortName)).toEqual([
    "RTDS",
    "SDS",
    "CDS",
    "EDS",
    "LEDS",
    "ECDS",
    "LDS",
    "FCDS",
    "RDS",
    "SRDS",
    "VHDS"
  ])
})

it("has full state for LDS, CDS and SRDS, and no wildcard by default for VHDS, LEDS and FCDS", () => {
  const short = (types: ReadonlyArray<ResourceType.ResourceType>) => types.map((type) => type.shortName)
  expect(short(ResourceType.all.filter((type) => type.family === "full-state"))).toEqual(["CDS", "LDS", "SRDS"])
  expect(short(ResourceType.all.filter((type) => !type.wildcardByDefault))).toEqual(["LEDS", "FCDS", "VHDS"])
})

it("names the aggregated service", () => {
  const { delta, service, stream } = ResourceType.aggregated
  expect(AggregatedDiscoveryService.typeName).toBe(service)
  expect(names(AggregatedDiscoveryService)).toEqual([delta, stream])
})

it("knows nothing of other types", () => {
  expect(ResourceType.byTypeUrl("type.googleapis.com/no.such.Type")).toBeUndefined()
  expect(ResourceType.shortNameOf("type.googleapis.com/no.such.Type")).toBe("no.such.Type")
})

it("gives no name for a message of another type", async () => {
  const cluster = create(await ResourceType.Cluster.load(), { name: "a" })
  expect(ResourceType.nameOf(ResourceType.Listener, cluster)).toBeUndefined()
})

it("has for LEDS and FCDS what the API says of them", async () => {
  const leds = await serviceOf("envoy.service.endpoint.v3.LocalityEndpointDiscoveryService")
  expect(leds === undefined ? undefined : getOption(leds, resource).type).toBe(ResourceType.LbEndpoint.typeName)
  // Its name is in no message: it is not looked for in field 1, which is another message.
  const endpoint = create(LbEndpointSchema, { hostIdentifier: { case: "endpointName", value: "a" } })
  expect(ResourceType.nameOf(ResourceType.LbEndpoint, endpoint)).toBeUndefined()
  const chain = create(FilterChainSchema, { name: "a", filterChainMatch: { serverNames: ["b"] } })
  expect(ResourceType.nameOfBytes(toBinary(FilterChainSchema, chain), "b", 7)).toBe("a")
})

it.each([
  { title: "no bytes", bytes: [], name: "" },
  { title: "the last of two", bytes: [0x0a, 1, 0x61, 0x0a, 1, 0x62], name: "b" },
  { title: "another field first", bytes: [0x10, 5, 0x0a, 1, 0x61], name: "a" },
  { title: "a number in field 1", bytes: [0x08, 1], name: undefined },
  { title: "a string cut short", bytes: [0x0a, 5, 0x61], name: undefined },
  { title: "a skipped field cut short", bytes: [0x12, 5, 0x61], name: undefined },
  {
    title: "an endless varint",
    bytes: [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80],
    name: undefined
  },
  { title: "bytes that are not UTF-8", bytes: [0x0a, 1, 0xff], name: undefined }
])("nameOfBytes: $title", ({ bytes, name }) => {
  expect(ResourceType.nameOfBytes(new Uint8Array(bytes))).toBe(name)
})
