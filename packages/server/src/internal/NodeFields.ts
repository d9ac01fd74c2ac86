/**
 * How much there is in an encoded node, before it is decoded. A node of four megabytes may hold two million fields, and to decode
 * them takes the event loop for a second; to count them up to a limit takes a millisecond.
 */
import type { DescMessage } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"

/** What the message in a field is: of a map, that in its values. */
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

/** The number of the field in a map's entry that holds the value. */
const entryValue = 2

/**
 * Fields of a message and of all that is in it, known or not; more than `most` are not counted to their end. Throws for bytes
 * that are no message.
 */
export const count = (schema: DescMessage, bytes: Uint8Array, most: number): number =>
  counted({ schema, isEntry: false }, bytes, most)

const counted = ({ isEntry, schema }: Inner, bytes: Uint8Array, most: number): number => {
  const reader = new BinaryReader(bytes)
  let fields = 0
  let groups = 0
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag()
    if (++fields > most) return fields
    // What is in a group, which no node has, is counted as it comes.
    if (type === WireType.StartGroup) groups++
    else if (type === WireType.EndGroup) groups--
    else if (type !== WireType.LengthDelimited) reader.skip(type, number)
    else {
      const value = reader.bytes()
      if (groups > 0) continue
      const inner = isEntry ? (number === entryValue ? { schema, isEntry: false } : undefined) : innerOf(schema, number)
      if (inner !== undefined) fields += counted(inner, value, most - fields)
      if (fields > most) return fields
    }
  }
  return fields
}
