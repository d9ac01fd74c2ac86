/** ★ What is written at once is what protobuf-es writes, to the byte, or it is left to protobuf-es. */
import type { DescMessage, JsonObject, JsonValue, Message } from "@bufbuild/protobuf"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import {
  DoubleValueSchema,
  DurationSchema,
  StructSchema,
  UInt32ValueSchema,
  UInt64ValueSchema
} from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { MetadataSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RetryPolicySchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { describe, expect, it } from "@effect/vitest"
import { isProperties, type Properties } from "../src/internal/MessageProperties.js"
import * as MessageWriter from "../src/internal/MessageWriter.js"
import * as ObjectWalk from "../src/internal/ObjectWalk.js"
import { type Random, randomOf, write } from "./RandomBytes.js"

const seeds = Number(process.env["SEEDS"] ?? 60)
const from = Number(process.env["FROM"] ?? 0)

const randomMessage = (schema: DescMessage, random: Random): Message => {
  for (;;) {
    const writer = new BinaryWriter()
    write(writer, schema, random, 0, 0)
    try {
      return fromBinary(schema, writer.finish(), { readUnknownFields: false })
    } catch {
      continue
    }
  }
}

/** The bytes; `undefined`: left to protobuf-es. Otherwise they are its own, and nothing is wrong. */
const written = (schema: DescMessage, message: Message, what: string): Uint8Array | undefined => {
  const bytes = MessageWriter.write(schema, message)
  if (bytes === undefined) return undefined
  expect(ObjectWalk.look(message), what).toMatchObject({ isSure: true })
  expect(Buffer.compare(bytes, toBinary(schema, message)), what).toBe(0)
  return bytes
}

/** All objects in a message. */
const objectsIn = (value: unknown, found: Array<Properties> = []): Array<Properties> => {
  if (!isProperties(value) || value instanceof Uint8Array) return found
  found.push(value)
  for (const key of Object.keys(value)) objectsIn(value[key], found)
  return found
}

const odd: ReadonlyArray<() => unknown> = [
  () => null,
  () => undefined,
  () => "x",
  () => "",
  () => "\ud800",
  () => "a\u{1f600}é",
  () => "long ".repeat(40),
  () => 0,
  () => -0,
  () => -1,
  () => 1.5,
  () => Number.NaN,
  () => Infinity,
  () => 1e39,
  () => 2 ** 31,
  () => 2 ** 32,
  () => 0n,
  () => -1n,
  () => 2n ** 53n + 1n,
  () => 2n ** 63n,
  () => 2n ** 64n,
  () => true,
  () => Symbol("x"),
  () => () => 1,
  () => [],
  () => [undefined],
  () => ({}),
  () => ({ case: "nothing", value: 1 }),
  () => ({ case: undefined, value: null }),
  () => ({ a: { b: [1, "x", null, { c: true }] } }),
  () => Uint8Array.of(1, 2, 3),
  () => create(DurationSchema, { seconds: 5n }),
  () => create(StructSchema),
  () => new Map([["a", 1]])
]

const spoil = (message: Message, random: Random): void => {
  const objects = objectsIn(message)
  const object = objects[random(objects.length)] ?? {}
  const keys = Object.keys(object)
  const key = keys[random(Math.max(1, keys.length))] ?? "x"
  const value = odd[random(odd.length)]?.()
  if (random(12) === 0) Reflect.deleteProperty(object, key)
  else {
    const isGetter = random(12) === 0
    const property = isGetter ? { get: () => value } : { writable: true, value }
    Object.defineProperty(object, key, { configurable: true, enumerable: true, ...property })
  }
}

describe("arbitrary messages", () => {
  it("are written as by protobuf-es, nearly all of them", async () => {
    const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
    let sure = 0
    let all = 0
    for (let seed = from; seed < from + 4 * seeds; seed++) {
      const random = randomOf(seed)
      for (const schema of schemas) {
        all++
        const message = randomMessage(schema, random)
        if (written(schema, message, `seed ${seed}, ${schema.typeName}`) !== undefined) sure++
      }
    }
    expect(sure / all).toBeGreaterThan(0.97)
  })

  it("with something wrong in them are written as by protobuf-es, or left to it", async () => {
    const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
    const seen = { sure: 0, left: 0, wrong: 0 }
    for (let seed = from; seed < from + 4 * seeds; seed++) {
      const random = randomOf(seed)
      for (const schema of schemas) {
        const message = randomMessage(schema, random)
        for (let left = 1 + random(2); left > 0; left--) spoil(message, random)
        if (written(schema, message, `seed ${seed}, ${schema.typeName}`) !== undefined) seen.sure++
        else if (typeof ObjectWalk.look(message) === "string") seen.wrong++
        else seen.left++
      }
    }
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100)
  })
})

const cluster = (): Cluster =>
  create(ClusterSchema, {
    name: "web",
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    connectTimeout: { seconds: 5n },
    perConnectionBufferLimitBytes: 0
  })

it("a cluster, by hand", () => {
  // Name, type, connect_timeout { seconds }, per_connection_buffer_limit_bytes {}, which is set and zero.
  const bytes = [0x0a, 3, 0x77, 0x65, 0x62, 0x10, 3, 0x22, 2, 0x08, 5, 0x2a, 0]
  expect(MessageWriter.write(ClusterSchema, cluster())).toEqual(Uint8Array.from(bytes))
})

it("★ -0 is written, and numbers of 64 bits up to their bounds", () => {
  expect(written(DoubleValueSchema, create(DoubleValueSchema, { value: -0 }), "-0")).toHaveLength(9)
  for (const seconds of [-(2n ** 63n), -1n, 2n ** 53n, 2n ** 63n - 1n])
    expect(written(DurationSchema, create(DurationSchema, { seconds }), `${seconds}`)).toBeDefined()
  expect(MessageWriter.write(DurationSchema, create(DurationSchema, { seconds: 2n ** 63n }))).toBeUndefined()
  expect(written(UInt64ValueSchema, create(UInt64ValueSchema, { value: 2n ** 64n - 1n }), "most")).toHaveLength(11)
  expect(MessageWriter.write(UInt64ValueSchema, create(UInt64ValueSchema, { value: 2n ** 64n }))).toBeUndefined()
})

it("a message with unknown fields is left", () => {
  const message = cluster()
  message.$unknown = [{ no: 999, wireType: WireType.Varint, data: Uint8Array.of(1) }]
  expect(MessageWriter.write(ClusterSchema, message)).toBeUndefined()
})

it("properties in any order are written by number", () => {
  const { clusterDiscoveryType, name, connectTimeout, ...rest } = cluster()
  const other = { ...rest, connectTimeout, clusterDiscoveryType, name }
  expect(MessageWriter.write(ClusterSchema, other)).toEqual(toBinary(ClusterSchema, cluster()))
})

it("★ a message that is made while another one is written disturbs nothing", () => {
  const outer = cluster()
  const name = outer.name
  let inner: Uint8Array | undefined
  Object.defineProperty(outer, "name", {
    enumerable: true,
    get: () => {
      inner = MessageWriter.write(ClusterSchema, create(ClusterSchema, { name: "another, with a longer name" }))
      return name
    }
  })
  expect(MessageWriter.write(ClusterSchema, outer)).toEqual(toBinary(ClusterSchema, cluster()))
  expect(inner).toEqual(toBinary(ClusterSchema, create(ClusterSchema, { name: "another, with a longer name" })))
})

it("a property that throws is left to who tells of it, and the next message is written", () => {
  const broken = cluster()
  Object.defineProperty(broken, "name", {
    enumerable: true,
    get: () => {
      throw new Error("no")
    }
  })
  expect(MessageWriter.write(ClusterSchema, broken)).toBeUndefined()
  expect(MessageWriter.write(ClusterSchema, cluster())).toEqual(toBinary(ClusterSchema, cluster()))
})

it("★ what is large, deep or holds itself is left: the work for one message is bounded", () => {
  const of = (count: number) =>
    create(RetryPolicySchema, { retriableStatusCodes: Array.from({ length: count }, () => 200) })
  expect(MessageWriter.write(RetryPolicySchema, of(16_000))).toEqual(toBinary(RetryPolicySchema, of(16_000)))
  expect(MessageWriter.write(RetryPolicySchema, of(17_000))).toBeUndefined()

  // However long a list is: it is not read to its end.
  let reads = 0
  const items = new Proxy([], {
    get: (target, key) => {
      if (key === "length") return 1_000_000
      if (typeof key === "string") reads++
      const value: unknown = typeof key === "string" ? 200 : Reflect.get(target, key)
      return value
    }
  })
  const retries = of(0)
  retries.retriableStatusCodes = items
  expect(MessageWriter.write(RetryPolicySchema, retries)).toBeUndefined()
  expect(reads).toBeLessThan(40_000)

  const list = (length: number) => create(MetadataSchema, { filterMetadata: { a: { list: Array(length).fill(null) } } })
  expect(MessageWriter.write(MetadataSchema, list(1_000))).toEqual(toBinary(MetadataSchema, list(1_000)))
  expect(MessageWriter.write(MetadataSchema, list(1_100))).toBeUndefined()

  const hosts = (count: number) =>
    create(RouteConfigurationSchema, { virtualHosts: Array.from({ length: count }, () => ({ name: "a" })) })
  expect(written(RouteConfigurationSchema, hosts(1_000), "hosts")).toBeDefined()
  expect(MessageWriter.write(RouteConfigurationSchema, hosts(1_024))).toBeUndefined()

  const nested = (depth: number) => {
    let json: JsonObject = {}
    for (let level = 0; level < depth; level++) json = { a: json }
    return create(MetadataSchema, { filterMetadata: { a: json } })
  }
  expect(MessageWriter.write(MetadataSchema, nested(40))).toEqual(toBinary(MetadataSchema, nested(40)))
  expect(MessageWriter.write(MetadataSchema, nested(50))).toBeUndefined()

  const round: JsonObject = {}
  round["a"] = round
  expect(MessageWriter.write(MetadataSchema, create(MetadataSchema, { filterMetadata: { a: round } }))).toBeUndefined()
  const lists: Array<JsonValue> = []
  lists.push(lists)
  expect(
    MessageWriter.write(MetadataSchema, create(MetadataSchema, { filterMetadata: { a: { lists } } }))
  ).toBeUndefined()
})

it("a message of another type is left", () => {
  expect(MessageWriter.write(ClusterSchema, create(UInt32ValueSchema, { value: 1 }))).toBeUndefined()
})
