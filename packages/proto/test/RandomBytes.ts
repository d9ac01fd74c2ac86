/** Random bytes that are nearly messages of a type. */
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import type { BinaryWriter } from "@bufbuild/protobuf/wire"
import { WireType } from "@bufbuild/protobuf/wire"

/** Numbers that look random, the same for the same seed. */
export const randomOf = (seed: number): ((below: number) => number) => {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

export type Random = ReturnType<typeof randomOf>

const texts = ["", "a", "0123456789".repeat(20), "é", "\u{1f600}", "\ufeff"].map((text) =>
  new TextEncoder().encode(text)
)
const noText = [Uint8Array.of(0xff), Uint8Array.of(0x61, 0xc3), Uint8Array.of(0xed, 0xa0, 0x80)]

/** Writes fields of a message, now and then wrong ones. */
export const write = (writer: BinaryWriter, schema: DescMessage, random: Random, odd: number, depth: number): void => {
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

export const mutated = (bytes: Uint8Array, random: Random): Uint8Array => {
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
