/** ★ What is read at once is what protobuf-es reads, or it is left to protobuf-es. */
import { create, type DescMessage, equals, fromBinary, type Message, toBinary } from "@bufbuild/protobuf"
import { isReflectMessage, reflect } from "@bufbuild/protobuf/reflect"
import { DurationSchema, FieldOptionsSchema, StructSchema, UInt32ValueSchema } from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { ResourceType } from "@effect-xds/proto"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { MetadataSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { expect, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInThisContext } from "node:vm"
import * as MessageReader from "../src/internal/MessageReader.js"
import * as MessageWalk from "../src/internal/MessageWalk.js"
import { mutated, randomOf, write } from "./RandomBytes.js"

const seeds = Number(process.env["SEEDS"] ?? 60)
const from = Number(process.env["FROM"] ?? 0)

it("arbitrary messages are read as by protobuf-es, nearly all that an encoder writes", async () => {
  const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
  const seen = { all: 0, sure: 0, odd: 0, oddSure: 0 }
  for (let seed = from; seed < from + 3 * seeds; seed++) {
    const random = randomOf(seed)
    for (const schema of schemas) {
      const writer = new BinaryWriter()
      write(writer, schema, random, [0, 20][random(2)] ?? 0, 0)
      const whole = writer.finish()
      for (const bytes of [whole, mutated(whole, random)]) {
        if (!MessageWalk.isMessage(schema, bytes)) continue
        const message = fromBinary(schema, bytes)
        const odd = MessageReader.read(schema, bytes)
        seen.odd++
        if (odd !== undefined) {
          seen.oddSure++
          expect(odd, `seed ${seed}, ${schema.typeName}`).toStrictEqual(message)
        }
        const written = toBinary(schema, message, { writeUnknownFields: false })
        seen.all++
        const read = MessageReader.read(schema, written)
        if (read === undefined) continue
        seen.sure++
        const whole = fromBinary(schema, written)
        expect(read, `seed ${seed}, ${schema.typeName}`).toStrictEqual(whole)
        expect(Object.keys(read)).toEqual(Object.keys(whole))
      }
    }
  }
  expect(seen.sure / seen.all).toBeGreaterThan(0.95)
  expect(seen.oddSure).toBeGreaterThan(seen.odd / 3)
  expect(seen.odd).toBeGreaterThan(10 * seeds)
})

/** With every Struct empty. */
const emptied = (schema: DescMessage, message: Message): Message => {
  const at = reflect(schema, message)
  for (const field of schema.fields) {
    if (field.message === undefined || !at.isSet(field)) continue
    const isStruct = field.message.typeName === StructSchema.typeName
    if (field.fieldKind === "message") {
      if (isStruct) at.set(field, reflect(StructSchema))
      else emptied(field.message, at.get(field).message)
    } else if (field.fieldKind === "list") {
      for (const [index, item] of Array.from(at.get(field)).entries()) {
        if (isStruct) at.get(field).set(index, reflect(StructSchema))
        else if (isReflectMessage(item)) emptied(field.message, item.message)
      }
    } else {
      for (const [key, item] of Array.from(at.get(field))) {
        if (isStruct) at.get(field).set(key, reflect(StructSchema))
        else if (isReflectMessage(item)) emptied(field.message, item.message)
      }
    }
  }
  return message
}

it("for who looks into no Struct all of them are empty, and the rest is what it is", async () => {
  let differ = 0
  for (const type of ResourceType.all) {
    const schema = await type.load()
    for (let seed = from; seed < from + seeds; seed++) {
      const writer = new BinaryWriter()
      write(writer, schema, randomOf(seed), 0, 0)
      const written = writer.finish()
      if (!MessageWalk.isMessage(schema, written)) continue
      const bytes = toBinary(schema, fromBinary(schema, written), { writeUnknownFields: false })
      const whole = MessageReader.read(schema, bytes)
      const read = MessageReader.read(schema, bytes, false)
      if (whole === undefined || read === undefined) continue
      if (!equals(schema, whole, read)) differ++
      expect(read, `seed ${seed}, ${schema.typeName}`).toStrictEqual(emptied(schema, whole))
    }
  }
  expect(differ).toBeGreaterThan(seeds / 3)
  const metadata = create(MetadataSchema, { filterMetadata: { a: { b: 1 } } })
  const options = { structs: "any" } as const
  expect(MessageBytes.decode(MetadataSchema, toBinary(MetadataSchema, metadata), options)).toStrictEqual(
    create(MetadataSchema, { filterMetadata: { a: {} } })
  )
})

it("a cluster, by hand", () => {
  const bytes = Uint8Array.of(0x0a, 3, 0x77, 0x65, 0x62, 0x10, 3, 0x22, 2, 0x08, 5, 0x2a, 0)
  expect(MessageReader.read(ClusterSchema, bytes)).toStrictEqual(
    create(ClusterSchema, {
      name: "web",
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
      connectTimeout: { seconds: 5n },
      perConnectionBufferLimitBytes: 0
    })
  )
})

it("a message of many fields is no table for V8: a client holds thousands, and looks into them", async () => {
  setFlagsFromString("--allow-natives-syntax")
  const inV8: unknown = runInThisContext("(message) => %HasFastProperties(message)")
  const isFast = (message: unknown): unknown =>
    typeof inV8 === "function" ? Reflect.apply(inV8, undefined, [message]) : undefined
  // V8 reads it when it is called first.
  expect(isFast({})).toBe(true)
  setFlagsFromString("--no-allow-natives-syntax")
  const bytes = toBinary(ClusterSchema, create(ClusterSchema, { name: "web", connectTimeout: { seconds: 5n } }))
  expect(isFast(MessageReader.read(ClusterSchema, bytes))).toBe(true)
  let larger = 0
  for (const type of ResourceType.all) {
    const schema = await type.load()
    expect(isFast(MessageReader.read(schema, new Uint8Array())), schema.typeName).toBe(true)
    if (schema.members.length > 12) larger++
  }
  expect(larger).toBeGreaterThan(3)
})

it("★ numbers of any length that stand for one", () => {
  for (const [bytes, value] of [
    [[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 0],
    [[0x08, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 1],
    [[0x08, 0xff, 0xff, 0xff, 0xff, 0x0f], 0xffff_ffff],
    [[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], 0xffff_ffff]
  ] as const) {
    const wrapper = Uint8Array.from(bytes)
    expect(MessageReader.read(UInt32ValueSchema, wrapper)).toStrictEqual(fromBinary(UInt32ValueSchema, wrapper))
    expect(MessageReader.read(UInt32ValueSchema, wrapper)).toMatchObject({ value })
  }
  for (const seconds of [-(2n ** 63n), -1n, 0n, 2n ** 48n, 2n ** 53n + 1n, 2n ** 63n - 1n]) {
    const bytes = toBinary(DurationSchema, create(DurationSchema, { seconds }))
    expect(MessageReader.read(DurationSchema, bytes)).toMatchObject({ seconds })
  }
})

it("★ a message that comes again is merged, by protobuf-es", () => {
  const twice = new BinaryWriter()
  for (const field of [1, 2]) {
    twice.tag(4, WireType.LengthDelimited).fork().tag(field, WireType.Varint).uint32(7).join()
  }
  const bytes = twice.finish()
  expect(MessageReader.read(ClusterSchema, bytes)).toBeUndefined()
  expect(MessageBytes.decode(ClusterSchema, bytes)).toMatchObject({ connectTimeout: { seconds: 7n, nanos: 7 } })
})

it("entries of a map as no encoder writes them are left", () => {
  const entry = (write: (writer: BinaryWriter) => unknown): Uint8Array => {
    const writer = new BinaryWriter().tag(1, WireType.LengthDelimited).fork()
    write(writer)
    return writer.join().finish()
  }
  const key = (writer: BinaryWriter) => writer.tag(1, WireType.LengthDelimited).string("a")
  const value = (writer: BinaryWriter, number: number) =>
    writer
      .tag(2, WireType.LengthDelimited)
      .fork()
      .raw(
        toBinary(
          StructSchema,
          create(StructSchema, { fields: { [`n${number}`]: { kind: { case: "numberValue", value: number } } } })
        )
      )
      .join()
  const odd = [
    entry((writer) => value(value(key(writer), 1), 2)),
    entry((writer) => key(value(writer, 1))),
    entry((writer) => key(writer)),
    entry((writer) => value(writer, 1))
  ]
  for (const bytes of odd) {
    expect(MessageReader.read(MetadataSchema, bytes)).toBeUndefined()
    expect(MessageBytes.decode(MetadataSchema, bytes)).toStrictEqual(fromBinary(MetadataSchema, bytes))
  }
})

it("a message of proto2 is left: its defaults are in its prototype", () => {
  expect(MessageReader.read(FieldOptionsSchema, Uint8Array.of())).toBeUndefined()
  expect(MessageBytes.decode(FieldOptionsSchema, Uint8Array.of()).jstype).toBe(0)
})

it("a message with an unknown field is left", () => {
  const bytes = new BinaryWriter().tag(900, WireType.Varint).uint32(1).finish()
  expect(MessageReader.read(ClusterSchema, bytes)).toBeUndefined()
  expect(MessageBytes.decode(ClusterSchema, bytes).$unknown).toHaveLength(1)
})

it("★ JSON in a message: every kind of value, and a key like any other", () => {
  const metadata = create(MetadataSchema, {
    filterMetadata: {
      a: {
        text: "é",
        yes: true,
        no: false,
        nothing: null,
        number: -1.5,
        list: [1, ["x", {}], null],
        object: { b: {} }
      },
      b: {}
    }
  })
  const bytes = toBinary(MetadataSchema, metadata)
  expect(MessageReader.read(MetadataSchema, bytes)).toStrictEqual(metadata)
  const named = Buffer.from(
    toBinary(MetadataSchema, create(MetadataSchema, { filterMetadata: { a: { __prot__x: 1 } } }))
  )
  named.write("__proto__", named.indexOf("__prot__x"))
  const read = MessageReader.read(MetadataSchema, named)
  expect(read).toStrictEqual(fromBinary(MetadataSchema, named))
  expect(JSON.stringify(read)).toContain('"__proto__":1')
})
