/**
 * Decodes a message in steps. protobuf-es reads it in pieces, one after the other, and merges them into one message, which is what
 * the wire format means; what is large in it is read in pieces of its own.
 */
import type { DescField, DescMessage, Message, MessageShape } from "@bufbuild/protobuf"
import { create, mergeFromBinary, ScalarType } from "@bufbuild/protobuf"
import { isWrapperDesc, StructSchema } from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as FieldNumbers from "./FieldNumbers.js"
import { bytesAtOnce, type Steps } from "./InSteps.js"
import * as JsonFields from "./JsonFields.js"
import { isProperties, type Properties, propertiesOf, valueOf } from "./MessageProperties.js"
import { isJsonObject, setOwn, StructSteps } from "./StructSteps.js"

// As numbers, which is what stands in the bytes.
const varint: number = WireType.Varint
const bit64: number = WireType.Bit64
const delimited: number = WireType.LengthDelimited
const startGroup: number = WireType.StartGroup
const endGroup: number = WireType.EndGroup

/** Whether a field is read in pieces if it is large; wrappers hold one value, which cannot be divided. */
const isDivided = (field: DescField): boolean => {
  if (field.fieldKind === "list" && field.listKind !== "message") {
    return field.listKind === "enum" || (field.scalar !== ScalarType.STRING && field.scalar !== ScalarType.BYTES)
  }
  if (field.message === undefined || isWrapperDesc(field.message)) return false
  return field.fieldKind === "map" || !field.delimitedEncoding
}

const setValue = (target: Properties, field: DescField, value: unknown): void => {
  if (field.oneof === undefined) target[field.localName] = value
  else target[field.oneof.localName] = { case: field.localName, value }
}

/** Where a field begins, and its value, and where it ends. */
interface Place {
  readonly number: number
  readonly wireType: number
  readonly begin: number
  readonly value: number
  readonly end: number
}

/** Reads bytes that are known to be a message. */
class Decoding {
  readonly #structs: StructSteps

  constructor(
    private readonly bytes: Uint8Array,
    /** What is large. */
    private readonly large: WeakSet<object>,
    /** Bytes of one step. */
    private readonly atOnce: number
  ) {
    this.#structs = new StructSteps(large)
  }

  *into(schema: DescMessage, message: Message, begin: number, end: number): Steps<void> {
    const target = propertiesOf(message)
    const fields = FieldNumbers.of(schema)
    this.large.add(message)
    let from = begin
    let at = begin
    while (at < end) {
      const place = this.#next(at, end)
      const field = place.wireType === delimited ? fields.get(place.number) : undefined
      if (field !== undefined && isDivided(field) && (place.end - at > this.atOnce || this.#isLarge(target, field))) {
        this.#merge(schema, message, from, at)
        yield
        yield* this.#field(schema, target, field, place)
        from = place.end
      } else if (place.end - from >= this.atOnce) {
        this.#merge(schema, message, from, place.end)
        from = place.end
        yield
      }
      at = place.end
    }
    this.#merge(schema, message, from, end)
    // Of small items there may be many.
    for (const { fieldKind, localName } of schema.fields) {
      const items = fieldKind === "list" || fieldKind === "map" ? target[localName] : undefined
      if (isProperties(items)) this.large.add(items)
    }
    yield
  }

  /** ★ A small piece of what is large may cost as much as a large one. */
  #isLarge(target: Properties, field: DescField): boolean {
    const current = field.fieldKind === "message" ? valueOf(target, field) : undefined
    return isProperties(current) && this.large.has(current)
  }

  #merge(schema: DescMessage, message: Message, begin: number, end: number): void {
    if (begin < end) mergeFromBinary(schema, message, this.bytes.subarray(begin, end))
  }

  *#field(schema: DescMessage, target: Properties, field: DescField, place: Place): Steps<void> {
    const { end, value } = place
    if (field.fieldKind === "message") {
      setValue(target, field, yield* this.#child(field, valueOf(target, field), value, end))
    } else if (field.fieldKind === "map") {
      yield* this.#entry(schema, target, field, place)
    } else if (field.fieldKind === "list" && field.listKind === "message") {
      const list = target[field.localName]
      const item = yield* this.#child(field, undefined, value, end)
      if (Array.isArray(list)) list.push(item)
    } else if (field.fieldKind === "list") {
      yield* this.#numbers(schema, target, field, place)
    }
  }

  /** A message in a field, a list or a map, merged with what was there; a Struct as JSON. */
  *#child(field: DescField, current: unknown, begin: number, end: number): Steps<unknown> {
    if (field.message === undefined) return current
    if (!JsonFields.isJson(field)) {
      const message = isMessageOf(current, field.message) ? current : create(field.message)
      yield* this.into(field.message, message, begin, end)
      return message
    }
    const struct = isJsonObject(current) ? yield* this.#structs.struct(current) : create(StructSchema)
    yield* this.into(StructSchema, struct, begin, end)
    return yield* this.#structs.json(struct)
  }

  *#entry(schema: DescMessage, target: Properties, field: DescField, { end, value }: Place): Steps<void> {
    let key: Place | undefined
    let child: unknown
    for (let at = value; at < end;) {
      const place = this.#next(at, end)
      if (place.number === 1) key = place
      else if (place.number === 2) child = yield* this.#child(field, child, place.value, place.end)
      at = place.end
    }
    // An entry with this key and nothing else; what is made of the key is up to protobuf-es.
    const entry = new BinaryWriter().tag(field.number, WireType.LengthDelimited)
    entry.bytes(key === undefined ? new Uint8Array() : this.bytes.subarray(key.begin, key.end))
    const made = propertiesOf(propertiesOf(mergeFromBinary(schema, create(schema), entry.finish()))[field.localName])
    for (const name of Object.keys(made)) setOwn(propertiesOf(target[field.localName]), name, child ?? made[name])
  }

  /** A list of numbers in one string of bytes. */
  *#numbers(schema: DescMessage, target: Properties, field: DescField, { end, value }: Place): Steps<void> {
    for (let at = value; at < end;) {
      let last = Math.min(end, at + this.partOf(field))
      // Not in the middle of a number.
      if (isVarint(field)) while (last < end && (this.bytes[last - 1] ?? 0) > 0x7f) last++
      const part = new BinaryWriter().tag(field.number, WireType.LengthDelimited).bytes(this.bytes.subarray(at, last))
      const made = propertiesOf(mergeFromBinary(schema, create(schema), part.finish()))[field.localName]
      const list = target[field.localName]
      if (Array.isArray(made) && Array.isArray(list)) for (const each of made) list.push(each)
      at = last
      yield
    }
  }

  /** Bytes of a part of a list of numbers; of those of one size whole ones. */
  private partOf(field: DescField): number {
    return isVarint(field) ? this.atOnce : Math.ceil(this.atOnce / 8) * 8
  }

  #next(begin: number, end: number): Place {
    const [tag, value] = this.#varint(begin)
    const number = Math.floor(tag / 8)
    const wireType = tag % 8
    if (wireType === delimited) {
      const [length, first] = this.#varint(value)
      return { number, wireType, begin, value: first, end: Math.min(end, first + length) }
    }
    if (wireType === varint) return { number, wireType, begin, value, end: this.#varint(value)[1] }
    if (wireType !== startGroup) return { number, wireType, begin, value, end: value + (wireType === bit64 ? 8 : 4) }
    let at = value
    for (let open = 1; open > 0 && at < end;) {
      const tag = this.bytes[at] ?? 0
      if (tag % 8 === startGroup || tag % 8 === endGroup) {
        open += tag % 8 === startGroup ? 1 : -1
        at = this.#varint(at)[1]
      } else at = this.#next(at, end).end
    }
    return { number, wireType, begin, value, end: at }
  }

  /** A number, exact up to 2^53, and where it ends. */
  #varint(begin: number): readonly [value: number, end: number] {
    let value = 0
    let factor = 1
    for (let at = begin; ; at++) {
      const byte = this.bytes[at] ?? 0
      value += (byte & 0x7f) * factor
      factor *= 128
      if (byte < 0x80) return [value, at + 1]
    }
  }
}

const isMessageOf = (value: unknown, { typeName }: DescMessage): value is Message =>
  isProperties(value) && value["$typeName"] === typeName

const isVarint = (field: DescField): boolean => {
  switch (field.scalar) {
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return false
    default:
      return true
  }
}

/**
 * The message.
 *
 * @param bytes must be a message
 * @param large gets what in it is large: messages, lists and maps
 * @param atOnce bytes of one step
 */
export const decode = function* <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  large: WeakSet<object>,
  atOnce = bytesAtOnce
): Steps<MessageShape<Desc>> {
  const message = create(schema)
  yield* new Decoding(bytes, large, atOnce).into(schema, message, 0, bytes.byteLength)
  return message
}
