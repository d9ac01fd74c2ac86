/**
 * An encoded message as JSON in parts: a discovery response may hold ten thousand resources, and whoever writes them may let
 * others have their turn in between.
 *
 * @since 0.1.0
 */
import type { DescMessage, Registry } from "@bufbuild/protobuf"
import { toJsonString } from "@bufbuild/protobuf"
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as MessageBytes from "./MessageBytes.js"
import * as TypeRegistry from "./TypeRegistry.js"

const encoder = new TextEncoder()

/**
 * The bytes of the JSON text, in parts that follow one another: the message without one of its fields, then each element of that,
 * by itself. Fails where an `Any` holds a type that is not known, as `toJson` does, and with bytes that are no such message.
 *
 * @param list the number of a repeated field of messages
 * @param own types in an `Any` that are not Envoy's
 * @since 0.1.0
 */
export async function* parts(
  schema: DescMessage,
  list: number,
  message: Uint8Array,
  own?: Registry
): AsyncGenerator<Uint8Array, void> {
  const field = schema.fields.find(({ number }) => number === list)
  const element = field?.fieldKind === "list" && field.listKind === "message" ? field.message : undefined
  const elements: Array<Uint8Array> = []
  const others = new BinaryWriter()
  const reader = new BinaryReader(message)
  while (reader.pos < reader.len) {
    const start = reader.pos
    const [number, type] = reader.tag()
    if (element !== undefined && number === list && type === WireType.LengthDelimited) elements.push(reader.bytes())
    else {
      reader.skip(type, number)
      others.raw(message.subarray(start, reader.pos))
    }
  }
  const rest = MessageBytes.decode(schema, others.finish())
  const head = toJsonString(schema, rest, { registry: await TypeRegistry.forMessage(schema, rest, own) })
  if (element === undefined || elements.length === 0) {
    yield encoder.encode(head)
    return
  }
  let before = `${head.slice(0, -1)}${head === "{}" ? "" : ","}${JSON.stringify(field?.jsonName)}:[`
  for (const bytes of elements) {
    const each = MessageBytes.decode(element, bytes)
    const registry = await TypeRegistry.forMessage(element, each, own)
    yield encoder.encode(`${before}${toJsonString(element, each, { registry })}`)
    before = ","
  }
  yield encoder.encode("]}")
}
