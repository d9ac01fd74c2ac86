/**
 * Counts the fields of an encoded node before it is decoded. A node of four megabytes may have two million fields, and
 * decoding them blocks the event loop for a second; counting up to a limit takes a millisecond.
 */
import type { DescMessage } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"

/** The message type in a field; for a map, that of its values. */
interface Inner {
  readonly schema: DescMessage
  readonly isEntry: boolean
}

const innerOf = (schema: DescMessage, number: number): Inner | undefined => {
  const field = schema.fields.find((each) => each.number === number)
  switch (field?.fieldKind) {
    case "message":
      return { schema: field.message, isEntry: false }
    case "list":
      return field.listKind === "message" ? { schema: field.message, isEntry: false } : undefined
    case "map":
      return field.mapKind === "message" ? { schema: field.message, isEntry: true } : undefined
    default:
      return undefined
  }
}

/** Messages in messages that are decoded. */
const maxDepth = 100

/** The field number of a map entry's value. */
const entryValue = 2

/**
 * The number of fields in a message and its submessages, known or not; it stops above `most`. Throws for bytes that are
 * no message.
 */
export const count = (schema: DescMessage, bytes: Uint8Array, most: number): number =>
  counted({ schema, isEntry: false }, bytes, most, 1)

const counted = ({ isEntry, schema }: Inner, bytes: Uint8Array, most: number, depth: number): number => {
  // A map's entry is no level to those who decode it.
  if (depth > 2 * maxDepth) throw new Error(`it is nested more than ${maxDepth} messages deep`)
  const reader = new BinaryReader(bytes)
  let fields = 0
  let groups = 0
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    if (++fields > most) return fields
    // Fields of a group, which no node has, are counted in sequence.
    if (type === WireType.StartGroup) groups++
    else if (type === WireType.EndGroup) groups--
    else if (type !== WireType.LengthDelimited) reader.skip(type, number)
    else {
      const value = reader.bytes()
      if (groups > 0) continue
      const inner = isEntry ? (number === entryValue ? { schema, isEntry: false } : undefined) : innerOf(schema, number)
      if (inner !== undefined) fields += counted(inner, value, most - fields, depth + 1)
      if (fields > most) return fields
    }
  }
  return fields
}
