/**
 * Encodes a message object in steps, to the bytes that protobuf-es writes: it writes some fields, or some items of a list, at a
 * time, and the parts are put one behind the other.
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import { create, toBinary } from "@bufbuild/protobuf"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { Carrier, fieldsOf } from "./Carrier.js"
import type { Steps } from "./InSteps.js"
import * as JsonFields from "./JsonFields.js"
import * as MessageWriter from "./MessageWriter.js"
import { isProperties, type Properties, propertiesOf, valueOf } from "./MessageProperties.js"
import { isJsonObject, setOwn, StructSteps } from "./StructSteps.js"

/** Items of a list, or entries of a map, of one step; none of them is large. */
const atOnce = 16

/** Numbers, and unknown fields. */
const manyAtOnce = 1_024

const isMessage = (value: unknown): value is Message => isProperties(value) && "$typeName" in value

const encodeSmall = (schema: DescMessage, message: Message): Uint8Array =>
  MessageWriter.write(schema, message) ?? toBinary(schema, message)

const bytesOf = (schema: DescMessage, { message }: Carrier): Uint8Array =>
  message === undefined ? new Uint8Array() : encodeSmall(schema, message)

class Encoding {
  readonly #structs: StructSteps

  constructor(private readonly large: WeakSet<object>) {
    this.#structs = new StructSteps(large)
  }

  *message(schema: DescMessage, message: Message): Steps<Uint8Array> {
    if (!this.large.has(message)) return encodeSmall(schema, message)
    const properties = propertiesOf(message)
    const writer = new BinaryWriter()
    let some = new Carrier(schema)
    for (const field of fieldsOf(schema)) {
      const value = valueOf(properties, field)
      const parts = isProperties(value) && this.large.has(value) ? this.field(schema, field, value) : undefined
      if (parts === undefined) {
        some.take(properties, field)
        continue
      }
      writer.raw(bytesOf(schema, some))
      yield
      some = new Carrier(schema)
      for (;;) {
        const part = parts.next()
        if (part.done === true) break
        if (part.value !== undefined) writer.raw(part.value)
        yield
      }
    }
    writer.raw(bytesOf(schema, some))
    for (const each of unknownIn(properties)) {
      const carrier = new Carrier(schema)
      carrier.put("$unknown", each)
      writer.raw(bytesOf(schema, carrier))
      yield
    }
    return writer.finish()
  }

  /** The parts of a large field; `undefined`: it is not divided. */
  private field(schema: DescMessage, field: DescField, value: Properties): Parts | undefined {
    switch (field.fieldKind) {
      case "message":
        return field.delimitedEncoding ? undefined : this.inside(field, value)
      case "list":
        if (!Array.isArray(value)) return undefined
        if (field.listKind !== "message")
          return field.packed ? this.packed(schema, field, value) : listParts(schema, field, value, manyAtOnce)
        return field.delimitedEncoding ? listParts(schema, field, value, atOnce) : this.list(schema, field, value)
      case "map":
        return this.map(schema, field, value)
      default:
        return undefined
    }
  }

  private *inside(field: DescField, value: unknown): Parts {
    yield new BinaryWriter()
      .tag(field.number, WireType.LengthDelimited)
      .bytes(yield* this.child(field, value))
      .finish()
  }

  /** The bytes of a message in a field, a list or a map. */
  private *child(field: DescField, value: unknown): Parts<Uint8Array> {
    const schema = field.message ?? StructSchema
    if (!JsonFields.isJson(field)) return yield* this.message(schema, isMessage(value) ? value : create(schema))
    const struct = yield* this.#structs.struct(isJsonObject(value) ? value : {})
    return yield* this.message(StructSchema, struct)
  }

  private *list(schema: DescMessage, field: DescField, list: ReadonlyArray<unknown>): Parts {
    let some: Array<unknown> = []
    for (const item of list) {
      const isLarge = isProperties(item) && this.large.has(item)
      if (!isLarge) some.push(item)
      if (some.length > 0 && (isLarge || some.length === atOnce)) {
        yield partOf(schema, field, some)
        some = []
      }
      if (isLarge) yield* this.inside(field, item)
    }
    yield partOf(schema, field, some)
  }

  /** ★ Numbers of a list stand in one string of bytes. */
  private *packed(schema: DescMessage, field: DescField, list: ReadonlyArray<unknown>): Parts {
    const writer = new BinaryWriter()
    for (const part of listParts(schema, field, list, manyAtOnce)) {
      const reader = new BinaryReader(part ?? new Uint8Array())
      reader.tag()
      writer.raw(reader.bytes())
      yield
    }
    yield new BinaryWriter().tag(field.number, WireType.LengthDelimited).bytes(writer.finish()).finish()
  }

  private *map(schema: DescMessage, field: DescField, map: Properties): Parts {
    let some: Properties = {}
    let count = 0
    for (const key of Object.keys(map)) {
      const value = map[key]
      const isLarge = isProperties(value) && this.large.has(value)
      if (!isLarge) {
        setOwn(some, key, value)
        count++
      }
      if (count > 0 && (isLarge || count === atOnce)) {
        yield partOf(schema, field, some)
        some = {}
        count = 0
      }
      if (isLarge) yield yield* this.entry(schema, field, key, value)
    }
    yield partOf(schema, field, some)
  }

  /** An entry of a map with a large value. */
  private *entry(schema: DescMessage, field: DescField, key: string, value: unknown): Parts<Uint8Array> {
    if (field.fieldKind !== "map" || field.mapKind !== "message") return partOf(schema, field, withOwn(key, value))
    // What is made of the key is up to protobuf-es; it is the first field of an entry, and the empty value the second.
    const empty = JsonFields.isJson(field) ? {} : create(field.message)
    const reader = new BinaryReader(partOf(schema, field, withOwn(key, empty)))
    reader.tag()
    const head = reader.bytes()
    const entry = new BinaryWriter()
    entry.raw(head.subarray(0, head.byteLength - emptyValue))
    entry.tag(2, WireType.LengthDelimited).bytes(yield* this.child(field, value))
    return new BinaryWriter().tag(field.number, WireType.LengthDelimited).bytes(entry.finish()).finish()
  }
}

/** Bytes of a message field without content: its tag and its length. */
const emptyValue = 2

/** A record of one entry. */
const withOwn = (key: string, value: unknown): Properties => {
  const record: Properties = {}
  setOwn(record, key, value)
  return record
}

/** Parts of what is written, one after the other; `undefined`: there is none yet. */
type Parts<A = void> = Generator<Uint8Array | undefined, A>

const partOf = (schema: DescMessage, { localName }: DescField, value: unknown): Uint8Array => {
  const carrier = new Carrier(schema)
  carrier.put(localName, value)
  return bytesOf(schema, carrier)
}

const listParts = function* (
  schema: DescMessage,
  field: DescField,
  list: ReadonlyArray<unknown>,
  count: number
): Parts {
  for (let at = 0; at < list.length; at += count) yield partOf(schema, field, list.slice(at, at + count))
}

/** Unknown fields, some at a time. */
const unknownIn = function* ({ $unknown }: Properties): Generator<ReadonlyArray<unknown>, void> {
  if (!Array.isArray($unknown)) return
  for (let at = 0; at < $unknown.length; at += manyAtOnce) yield $unknown.slice(at, at + manyAtOnce)
}

/**
 * The bytes of a message. Fails as `toBinary` does.
 *
 * @param large what in it is large: {@link ObjectWalk.inSteps}
 */
export const encode = (schema: DescMessage, message: Message, large: WeakSet<object>): Steps<Uint8Array> =>
  new Encoding(large).message(schema, message)
