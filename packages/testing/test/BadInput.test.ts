/** What nobody should send, and how much work it is: bytes that are read, not milliseconds. */
import { create, fromBinary, toBinary, type DescMessage } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { TypeRegistry } from "@effect-xds/proto"
import { BadMessage, BadResource } from "../src/index.js"
import { describe, expect, it } from "@effect/vitest"

/** More of it by hand: `SIZE=52428800` for resources of 50 MB. */
const scale = { levels: 10_000, size: Number(process.env["SIZE"] ?? 65_536) }

const schemaOf = async (typeUrl: string): Promise<DescMessage> => {
  const schema = await TypeRegistry.load(typeUrl)
  if (schema === undefined) throw new Error(`no ${typeUrl}`)
  return schema
}

const wordsOf = (what: () => unknown): string | undefined => {
  try {
    what()
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/** Bytes that count how often one of them is read. */
const counting = (bytes: Uint8Array): { readonly bytes: Uint8Array; readonly reads: () => number } => {
  let reads = 0
  const counted = new Proxy(bytes, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d/.test(key)) reads++
      const value: unknown = Reflect.get(target, key)
      // A part is read by those who decode a text, once.
      if (key !== "subarray") return value
      return (begin: number, end: number) => {
        reads += end - begin
        return target.subarray(begin, end)
      }
    }
  })
  return { bytes: counted, reads: () => reads }
}

const known = BadResource.all(scale).filter(({ typeUrl }) => TypeRegistry.has(typeUrl))

describe("bytes", () => {
  it.each(known)("$what", async ({ isValid, path, typeUrl, value }) => {
    const schema = await schemaOf(typeUrl)
    const words = wordsOf(() => MessageBytes.decode(schema, value))
    expect(wordsOf(() => MessageBytes.check(schema, value))).toBe(words)
    if (isValid) {
      expect(words).toBeUndefined()
      return
    }
    expect(words).toMatch(/ /)
    expect(words?.slice(0, path?.length)).toBe(path)
    expect(words?.length).toBeLessThan(1_000)
  })

  it("each byte is read at most three times", async () => {
    // What counts takes a hundred times as long.
    const size = Math.min(scale.size, 1_048_576)
    for (const { typeUrl, value, what } of BadResource.all({ ...scale, size })) {
      if (!TypeRegistry.has(typeUrl)) continue
      const schema = await schemaOf(typeUrl)
      const { bytes, reads } = counting(value)
      MessageBytes.fault(schema, bytes)
      expect(reads(), what).toBeGreaterThan(0)
      expect(reads() / (value.byteLength + 100), what).toBeLessThan(3)
    }
  })

  it("a Struct may come in sixteen pieces, and in no more", () => {
    const inPieces = (count: number): Uint8Array => {
      const writer = new BinaryWriter()
      writer.tag(25, WireType.LengthDelimited).fork().tag(1, WireType.LengthDelimited).fork()
      writer.tag(1, WireType.LengthDelimited).string("x")
      for (let index = 0; index < count; index++) {
        const struct = create(StructSchema, { fields: { [`k${index}`]: { kind: { case: "boolValue", value: true } } } })
        writer.tag(2, WireType.LengthDelimited).bytes(toBinary(StructSchema, struct))
      }
      return writer.join().join().finish()
    }
    const { metadata } = MessageBytes.decode(ClusterSchema, inPieces(16))
    expect(Object.keys(metadata?.filterMetadata["x"] ?? {})).toHaveLength(16)
    expect(MessageBytes.fault(ClusterSchema, inPieces(17))).toEqual({
      path: 'metadata.filter_metadata["x"]',
      problem: "is a google.protobuf.Struct in more than 16 pieces"
    })
  })

  // It is an unknown field to Envoy; protobuf-es reads a text of five bytes, which stand there as other fields.
  it("a known field of another wire type is refused", () => {
    const bytes = Uint8Array.of(0x08, 0x05, 0x28, 0x01, 0x28, 0x01, 0x00)
    expect(fromBinary(ClusterSchema, bytes).name).toHaveLength(5)
    expect(MessageBytes.fault(ClusterSchema, bytes)).toEqual({
      path: "name",
      problem: "has the wire type VARINT, not LEN"
    })
  })
})

describe("message objects", () => {
  it.each(BadMessage.all(scale))("$what", async ({ isValid, message, path }) => {
    const schema = await schemaOf(message.$typeName)
    const words = wordsOf(() => MessageBytes.encode(schema, message))
    if (isValid) {
      expect(words).toBeUndefined()
      expect(Buffer.compare(MessageBytes.encode(schema, message), toBinary(schema, message))).toBe(0)
      return
    }
    expect(words).toContain(path)
    expect(words).not.toMatch(/call stack/)
    expect(words?.length).toBeLessThan(1_000)
  })

  it("what is written for a shared part is counted, and not the part", () => {
    let reads = 0
    const name = (): string => {
      reads++
      return "e"
    }
    const message = create(ClusterSchema, { name: "c", metadata: { filterMetadata: {} } })
    const leaf = Object.defineProperty({}, "a", { enumerable: true, get: name })
    let struct: object = leaf
    for (let level = 0; level < 40; level++) struct = { a: struct, b: struct }
    Reflect.set(message.metadata?.filterMetadata ?? {}, "x", struct)
    expect(wordsOf(() => MessageBytes.encode(ClusterSchema, message))).toMatch(/is behind the first 4194304 messages/)
    expect(reads).toBeGreaterThan(1_000_000)
    expect(reads).toBeLessThan(4_194_304)
  })
})
