import { create, toBinary } from "@bufbuild/protobuf"
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { FieldScan } from "@effect-xds/proto/FieldScan"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as fc from "fast-check"
import { assert, it } from "vitest"

/** As protobuf-es reads it. */
const nameOf = (bytes: Uint8Array): string | undefined => {
  try {
    const reader = new BinaryReader(bytes)
    let name = ""
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      if (field !== 1) reader.skip(type, field)
      else if (type === WireType.LengthDelimited) name = reader.string(true)
      else return undefined
    }
    return reader.pos === reader.len ? name : undefined
  } catch {
    return undefined
  }
}

const name = fc.oneof(fc.constantFrom("", "a", "cluster-1"), fc.string({ unit: "grapheme", maxLength: 400 }))

const message = fc
  .record({
    name,
    altStatName: name,
    type: fc.constantFrom(Cluster_DiscoveryType.STATIC, Cluster_DiscoveryType.EDS),
    retries: fc.nat(),
    timeout: fc.integer()
  })
  .map(({ altStatName, name, retries, timeout, type }) =>
    toBinary(
      ClusterSchema,
      create(ClusterSchema, {
        name,
        altStatName,
        clusterDiscoveryType: { case: "type", value: type },
        connectTimeout: { seconds: BigInt(timeout) },
        perConnectionBufferLimitBytes: retries
      })
    )
  )

/** Messages, several as one, with some bytes that are others, and what is left of them. */
const bytes = fc
  .tuple(
    fc.array(message, { maxLength: 3 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 3 }),
    fc.option(fc.nat(), { freq: 2 })
  )
  .map(([messages, changes, cut]) => {
    const all = Uint8Array.from(messages.flatMap((each) => Array.from(each)))
    for (const [at, byte] of changes) if (all.length > 0) all[at % all.length] = byte
    return cut === null ? all : all.slice(0, cut % (all.length + 1))
  })

it("names are those that protobuf-es reads, whatever they probably are", () => {
  fc.assert(
    fc.property(fc.oneof(bytes, fc.uint8Array({ maxLength: 24 })), name, (bytes, probable) => {
      const expected = nameOf(bytes)
      assert.strictEqual(ResourceType.nameOfBytes(bytes), expected)
      assert.strictEqual(ResourceType.nameOfBytes(bytes, probable), expected)
      assert.strictEqual(ResourceType.nameOfBytes(bytes, expected), expected)
    }),
    { numRuns: 2_000 }
  )
})

it("fields that it is sure of are those that protobuf-es reads", () => {
  let sure = 0
  fc.assert(
    fc.property(bytes, (bytes) => {
      const found: Array<string> = []
      const scan = new FieldScan(bytes)
      while (scan.next()) found.push(`${scan.number} ${scan.wireType} ${scan.end}`)
      if (!scan.isSure) return
      sure++
      const reader = new BinaryReader(bytes)
      const expected: Array<string> = []
      while (reader.pos < reader.len) {
        const [field, type] = reader.tag()
        reader.skip(type, field)
        expected.push(`${field} ${type} ${reader.pos}`)
      }
      assert.deepEqual(found, expected)
    }),
    { numRuns: 1_000 }
  )
  assert.isAbove(sure, 300)
})

it("numbers below 2^31 are those that protobuf-es reads, and of others nothing is known", () => {
  const number = fc.oneof(fc.nat(300), fc.nat(), fc.maxSafeNat(), fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32))
  fc.assert(
    fc.property(number, fc.nat(9), (number, more) => {
      const bytes = new BinaryWriter().tag(1, WireType.Varint).uint64(BigInt(number)).finish()
      // As encoders that leave room for more write it.
      const last = bytes.at(-1) ?? 0
      const padded =
        more === 0
          ? bytes
          : new Uint8Array([...bytes.slice(0, -1), last | 0x80, ...Array.from({ length: more - 1 }, () => 0x80), 0])
      const scan = new FieldScan(padded)
      if (!scan.next()) return
      const isKnown = number < 2 ** 31 && padded.length <= 6
      assert.strictEqual(scan.value, isKnown ? number : undefined)
      assert.strictEqual(scan.isSure, isKnown)
    })
  )
})

it("within a message it tells of the fields of that, and behind it of those that follow", () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 4 }), fc.nat(12), (messages, most) => {
      const writer = new BinaryWriter()
      for (const each of messages) writer.tag(2, WireType.LengthDelimited).bytes(each)
      const bytes = writer.tag(3, WireType.Varint).uint32(7).finish()
      const scan = new FieldScan(bytes)
      const whole = messages.map((each) => {
        const alone = new FieldScan(each)
        const fields: Array<string> = []
        while (alone.next()) fields.push(`${alone.number} ${alone.end - alone.begin}`)
        return fields
      })
      let left = most
      for (const fields of whole) {
        assert.isTrue(scan.next())
        const found: Array<string> = []
        const { begin, end, number, tag, wireType } = scan
        const isEvery = scan.every((field) => {
          if (left-- <= 0) return false
          found.push(`${field.number} ${field.end - field.begin}`)
          // `connect_timeout`, if it has anything, has `seconds`.
          if (field.tag === 34) assert.isTrue(field.every(({ tag }) => tag === 8))
          return true
        })
        assert.deepEqual(found, fields.slice(0, found.length))
        assert.strictEqual(isEvery, found.length === fields.length && left >= 0)
        assert.deepEqual(
          { begin, end, number, tag, wireType },
          {
            begin: scan.begin,
            end: scan.end,
            number: scan.number,
            tag: scan.tag,
            wireType: scan.wireType
          }
        )
      }
      assert.isTrue(scan.next())
      assert.strictEqual(scan.value, 7)
      assert.isFalse(scan.next())
      assert.isTrue(scan.isSure)
    })
  )
})

it("a message in it that ends behind its end is not known", () => {
  // Field 1 of the message in field 2 says that it has five bytes, of two.
  const scan = new FieldScan(Uint8Array.from([18, 4, 10, 5, 1, 1, 24, 7]))
  assert.isTrue(scan.next())
  assert.isFalse(scan.every(() => true))
  assert.isFalse(scan.isSure)
})
