/**
 * A message as JSON in parts: a discovery response may hold ten thousand resources, and a resource ten thousand endpoints, and
 * whoever writes them may let others have their turn in between. What comes out is what `toJsonString` makes, to the letter.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf"
import { toJsonString } from "@bufbuild/protobuf"
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as JsonSteps from "./internal/JsonSteps.js"
import * as Pause from "./internal/Pause.js"
import * as MessageBytes from "./MessageBytes.js"
import * as MessageSteps from "./MessageSteps.js"
import * as TypeRegistry from "./TypeRegistry.js"

const encoder = new TextEncoder()

/**
 * The parts of the text; `undefined`: there is none yet. Others may have their turn at each. Fails as `toJson` does.
 *
 * @param registry the types in an `Any`
 * @param first a member in front of the others, for a message that is an object in JSON
 * @since 0.1.0
 */
export const text = (
  schema: DescMessage,
  message: Message,
  registry: Registry,
  first?: string
): Generator<string | undefined, void> => JsonSteps.write(schema, message, registry, first)

/**
 * Options of {@link encode}.
 *
 * @since 0.1.0
 */
export interface EncodeOptions {
  /** Types in an `Any` that are not Envoy's. */
  readonly own?: Registry | undefined
  /** Asked between two parts: a promise to wait for, if others are to have their turn. */
  readonly pause?: (() => Promise<void> | undefined) | undefined
}

/**
 * The bytes of the JSON text of an encoded message, in parts that follow one another: the message without one of its fields, then
 * the elements of that, each by itself. Fails where an `Any` holds a type that is not known, as `toJson` does, and with bytes that are
 * no such message.
 *
 * @param list the number of a repeated field of messages
 * @since 0.1.0
 */
export const encode = async (
  schema: DescMessage,
  list: number,
  message: Uint8Array,
  { own, pause = Pause.none }: EncodeOptions = {}
): Promise<ReadonlyArray<Uint8Array>> => {
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
  if (element === undefined || elements.length === 0) return [encoder.encode(head)]
  const parts: Array<Uint8Array> = []
  let before = `${head.slice(0, -1)}${head === "{}" ? "" : ","}${JSON.stringify(field?.jsonName)}:[`
  for (const bytes of elements) {
    const isLarge = bytes.byteLength >= MessageSteps.least
    const each = await Pause.decoded(element, bytes, pause)
    const registry = await TypeRegistry.forMessage(element, each, own, isLarge ? pause : undefined)
    if (isLarge) {
      parts.push(encoder.encode(before))
      for (const part of text(element, each, registry)) {
        if (part !== undefined) parts.push(encoder.encode(part))
        const wait = pause()
        if (wait !== undefined) await wait
      }
    } else parts.push(encoder.encode(`${before}${toJsonString(element, each, { registry })}`))
    before = ","
    const wait = pause()
    if (wait !== undefined) await wait
  }
  parts.push(encoder.encode("]}"))
  return parts
}
