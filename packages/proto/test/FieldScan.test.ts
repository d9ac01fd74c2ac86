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
