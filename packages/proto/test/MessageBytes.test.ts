import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { ResourceType } from "@effect-xds/proto"
import { describe, expect, it } from "@effect/vitest"
import * as MessageWalk from "../src/internal/MessageWalk.js"

/** Numbers that look random, the same for the same seed. */
const randomOf = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

type Random = ReturnType<typeof randomOf>

const texts = ["", "a", "0123456789".repeat(20), "é", "\u{1f600}", "\ufeff"].map((text) =>
  new TextEncoder().encode(text)
)
const noText = [Uint8Array.of(0xff), Uint8Array.of(0x61, 0xc3), Uint8Array.of(0xed, 0xa0, 0x80)]

/** Writes fields of a message, now and then wrong ones. */
const write = (writer: BinaryWriter, schema: DescMessage, random: Random, odd: number, depth: number): void => {
  for (let left = random(depth > 3 ? 2 : 5); left > 0; left--) {
    const field = schema.fields[random(Math.max(1, schema.fields.length))]
    if (field === undefined) return
    const isOdd = odd > 0 && random(odd) === 0
    const number = isOdd && random(2) === 0 ? random(2_000) : field.number
    const wireType = wireTypes[isOdd ? random(wireTypes.length) : typeOf(field, random)] ?? WireType.Varint
    writer.tag(number, wireType)
    value(writer, field, wireType, random, isOdd ? 2 : odd, depth)
  }
}

const wireTypes = [WireType.Varint, WireType.Bit64, WireType.LengthDelimited, WireType.Bit32, WireType.StartGroup]

const typeOf = (field: DescField, random: Random): number => {
  if (field.fieldKind === "list" && random(2) === 0) return 2
  if (field.message !== undefined || field.fieldKind === "map") return 2
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return 2
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return 1
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return 3
    default:
      return 0
  }
}

const value = (
  writer: BinaryWriter,
  field: DescField,
  wireType: WireType,
  random: Random,
  odd: number,
  depth: number
): void => {
  if (wireType === WireType.Varint) {
    const long = random(4) === 0 ? random(12) : 0
    writer.raw(Uint8Array.from([...Array.from({ length: long }, () => 0x80 | random(128)), random(3)]))
  } else if (wireType === WireType.Bit64 || wireType === WireType.Bit32) {
    const length = wireType === WireType.Bit64 ? 8 : 4
    writer.raw(Uint8Array.from({ length }, () => random(256)))
  } else if (wireType === WireType.LengthDelimited) {
    writer.fork()
    if (field.message !== undefined && field.fieldKind !== "map") {
      write(writer, field.message, random, odd, depth + 1)
    } else if (field.fieldKind === "map") {
      if (random(4) > 0) writer.tag(1, WireType.LengthDelimited).bytes(texts[random(texts.length)] ?? Uint8Array.of())
      if (random(4) > 0 && field.message !== undefined) {
        writer.tag(2, WireType.LengthDelimited).fork()
        write(writer, field.message, random, odd, depth + 1)
        writer.join()
      }
    } else if (field.fieldKind === "list" && typeOf(field, () => 1) !== 2) {
      for (let left = random(4); left > 0; left--) {
        value(writer, field, wireTypes[typeOf(field, () => 1)] ?? WireType.Varint, random, odd, depth)
      }
    } else {
      const pool = odd > 0 && random(odd) === 0 ? noText : texts
      writer.raw(pool[random(pool.length)] ?? Uint8Array.of())
    }
    writer.join()
  }
}

const mutated = (bytes: Uint8Array, random: Random): Uint8Array => {
  if (bytes.length === 0) return bytes
  const at = random(bytes.length)
  switch (random(4)) {
    case 0:
      return bytes.slice(0, at)
    case 1:
      return Uint8Array.from([...bytes.subarray(0, at), random(256), ...bytes.subarray(at)])
    case 2:
      return Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + 1)])
    default: {
      const changed = bytes.slice()
      changed[at] = random(256)
      return changed
    }
  }
}

const throws = (what: () => unknown): string | undefined => {
  try {
    what()
    return undefined
  } catch (cause) {
    return String(cause)
  }
}

/** More of them by hand. */
const seeds = Number(process.env["SEEDS"] ?? 60)
const from = Number(process.env["FROM"] ?? 0)

/** What the library takes, and Envoy understands otherwise or not at all. */
const stricter =
  /has the wire type|has a length of|ends in the middle of|of more than 64 bits|is a google.protobuf.Struct in more/

describe("MessageBytes", () => {
  it("refuses what the library refuses, with its path, and what only the library takes", async () => {
    const schemas = await Promise.all(ResourceType.all.map((type) => type.load()))
    const seen = { read: 0, refused: 0, sure: 0, stricter: 0 }
    for (let seed = from; seed < from + seeds; seed++) {
      const random = randomOf(seed)
      for (const schema of schemas) {
        const writer = new BinaryWriter()
        write(writer, schema, random, [0, 3, 20][random(3)] ?? 0, 0)
        const whole = writer.finish()
        for (const bytes of [whole, mutated(whole, random), mutated(mutated(whole, random), random)]) {
          const library = throws(() => fromBinary(schema, bytes))
          const words = throws(() => MessageBytes.check(schema, bytes))
          expect(throws(() => MessageBytes.decode(schema, bytes))).toBe(words)
          if (library !== undefined) {
            seen.refused++
            // With words of its own: it knows everything that the library knows.
            expect(words, `seed ${seed}: ${library}`).toBeDefined()
            expect(words, `seed ${seed}`).not.toBe(library)
            expect(words).toMatch(/^Error: (?:the message|field \d+|[a-z]\w*)\S* /)
          } else if (words === undefined) {
            seen.read++
            // What the library writes is known for sure.
            expect(
              MessageWalk.isMessage(schema, toBinary(schema, fromBinary(schema, bytes), { writeUnknownFields: false }))
            ).toBe(true)
          } else {
            seen.stricter++
            expect(words, `seed ${seed}`).toMatch(stricter)
          }
          if (MessageWalk.isMessage(schema, bytes)) {
            seen.sure++
            expect(words).toBeUndefined()
          }
        }
      }
    }
    expect(seen.read).toBeGreaterThan(2 * seeds)
    expect(seen.refused).toBeGreaterThan(2 * seeds)
    expect(seen.sure).toBeGreaterThan(seeds)
    expect(seen.stricter).toBeGreaterThan(0)
  })
})
