/**
 * Makes message objects of bytes that are known to be a message, in one pass.
 *
 * ★ It makes exactly what protobuf-es makes, or nothing: what is rare, and fields that come again and are merged, are left to
 * protobuf-es.
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt"
import { WireType } from "@bufbuild/protobuf/wire"
import {
  inOneof,
  keyTag,
  type Kind,
  kindOf,
  list,
  listValues,
  map,
  ofRare,
  ofStruct,
  ofWrapper,
  one,
  type Shape,
  shapeOf,
  structFields,
  structValue,
  valueBool,
  valueList,
  valueNull,
  valueNumber,
  valueString,
  valueStruct
} from "./FieldKind.js"
import { EmptyMessage } from "./EmptyMessage.js"
import type { Properties } from "./MessageProperties.js"
import { setOwn } from "./StructSteps.js"

interface FieldPlan {
  readonly shape: Shape
  readonly kind: Kind
  /** Of the field, or of its oneof. */
  readonly property: string
  /** What its oneof says if it is set. */
  readonly name: string
  /** Whether it is a field of one message, or of a wrapper: if it comes again, it is merged. */
  readonly isMerged: boolean
  readonly schema: DescMessage | undefined
  /** Of its messages. Made when the first one is read: a listener leads to half of the API. */
  message: Plan | undefined
}

interface Plan {
  readonly empty: EmptyMessage
  /** By their numbers. `undefined`: left to protobuf-es. */
  readonly fields: ReadonlyArray<FieldPlan | undefined>
}

/** A field with a higher number is left to protobuf-es. */
const maxNumber = 1_000

// Descriptors never change. `undefined`: messages of the type are left to protobuf-es.
const plans = new WeakMap<DescMessage, Plan | undefined>()

const planOf = (schema: DescMessage): Plan | undefined => {
  if (plans.has(schema)) return plans.get(schema)
  const plan = isPlain(schema) ? makePlan(schema) : undefined
  plans.set(schema, plan)
  return plan
}

/** Others have defaults in their prototype. */
const isPlain = ({ fields }: DescMessage): boolean =>
  fields.every(
    ({ fieldKind, oneof, presence }) =>
      presence === FeatureSet_FieldPresence.IMPLICIT ||
      fieldKind === "message" ||
      oneof !== undefined ||
      fieldKind === "list" ||
      fieldKind === "map"
  )

const makePlan = (schema: DescMessage): Plan => {
  const fields: Array<FieldPlan | undefined> = []
  for (const field of schema.fields) {
    if (field.number > maxNumber) continue
    // Without holes, which are slow.
    while (fields.length <= field.number) fields.push(undefined)
    fields[field.number] = fieldPlan(field)
  }
  return { empty: new EmptyMessage(schema), fields }
}

const fieldPlan = (field: DescField): FieldPlan | undefined => {
  const { localName, message, oneof } = field
  const kind = kindOf(field)
  if (kind === ofRare) return undefined
  return {
    shape: shapeOf(field),
    kind,
    property: oneof?.localName ?? localName,
    name: localName,
    isMerged: field.fieldKind === "message",
    schema: message,
    message: undefined
  }
}

/** Says that protobuf-es is to do it. */
const unsure = new Error("unsure")

/** Longer texts are decoded by the platform, which takes some 200 ns for any of them. */
const shortText = 32

// What is decoded is known to be a text. A byte order mark is a part of it.
const text = new TextDecoder("utf-8", { ignoreBOM: true })

const delimited: number = WireType.LengthDelimited

class Reader {
  readonly #bytes: Uint8Array
  #view: DataView | undefined
  #at = 0

  constructor(
    bytes: Uint8Array,
    private readonly isForStructs: boolean
  ) {
    this.#bytes = bytes
  }

  message(plan: Plan, end: number): Message & Properties {
    const message = plan.empty.make()
    const { fields } = plan
    while (this.#at < end) {
      const tag = this.#number()
      const field = fields[tag >>> 3]
      if (field === undefined) throw unsure
      switch (field.shape) {
        case one:
          // ★ A wrapper or a message that comes again is merged.
          if (field.isMerged && message[field.property] !== undefined) throw unsure
          message[field.property] = this.#value(field)
          break
        case inOneof:
          message[field.property] = this.#inOneof(field, message[field.property])
          break
        case list:
          this.#list(field, message[field.property], (tag & 7) === delimited)
          break
        case map:
          this.#entry(field, message[field.property])
          break
      }
    }
    return message
  }

  #inOneof(field: FieldPlan, before: unknown): Properties {
    const value = this.#value(field)
    if (field.isMerged && isSet(before, field.name)) throw unsure
    return { case: field.name, value }
  }

  #list(field: FieldPlan, items: unknown, isDelimited: boolean): void {
    if (!Array.isArray(items)) throw unsure
    const { kind } = field
    if (!isDelimited || kind === ScalarType.STRING || kind === ScalarType.BYTES || field.schema !== undefined) {
      items.push(this.#value(field))
      return
    }
    const length = this.#number()
    const end = this.#at + length
    while (this.#at < end) items.push(this.#value(field))
  }

  #entry(field: FieldPlan, record: unknown): void {
    const length = this.#number()
    const end = this.#at + length
    // As encoders write it: the key, then the value. Where one of them is missing or comes again, protobuf-es knows best.
    if (this.#number() !== keyTag) throw unsure
    const key = this.#string()
    if (this.#at >= end || this.#number() >>> 3 !== 2) throw unsure
    const value = this.#value(field)
    if (this.#at !== end || !isRecord(record)) throw unsure
    setOwn(record, key, value)
  }

  #value(field: FieldPlan): unknown {
    switch (field.kind) {
      case ScalarType.STRING:
        return this.#string()
      case ScalarType.BOOL: {
        const value = this.#varint()
        return typeof value === "number" ? value !== 0 : value !== 0n
      }
      case ScalarType.INT32: {
        const value = this.#varint()
        return typeof value === "number" ? value | 0 : Number(BigInt.asIntN(32, value))
      }
      case ScalarType.UINT32: {
        const value = this.#varint()
        return typeof value === "number" ? value >>> 0 : Number(BigInt.asUintN(32, value))
      }
      case ScalarType.INT64: {
        const value = this.#varint()
        return typeof value === "number" ? BigInt(value) : BigInt.asIntN(64, value)
      }
      case ScalarType.UINT64: {
        const value = this.#varint()
        return typeof value === "number" ? BigInt(value) : BigInt.asUintN(64, value)
      }
      case ScalarType.FLOAT:
        this.#at += 4
        return this.#viewed().getFloat32(this.#at - 4, true)
      case ScalarType.DOUBLE:
        this.#at += 8
        return this.#viewed().getFloat64(this.#at - 8, true)
      case ScalarType.BYTES: {
        const length = this.#number()
        this.#at += length
        return this.#bytes.subarray(this.#at - length, this.#at)
      }
      default:
        return this.#inside(field)
    }
  }

  #inside(field: FieldPlan): unknown {
    const length = this.#number()
    const end = this.#at + length
    if (field.kind === ofStruct) return this.isForStructs ? this.#struct(end) : this.#over(end)
    const plan = (field.message ??= field.schema && planOf(field.schema))
    if (plan === undefined) throw unsure
    const message = this.message(plan, end)
    return field.kind === ofWrapper ? message["value"] : message
  }

  /** A `google.protobuf.Struct` that nobody looks at. */
  #over(end: number): Properties {
    this.#at = end
    return {}
  }

  /** The content of a `google.protobuf.Struct`. */
  #struct(end: number): Properties {
    const json: Properties = {}
    while (this.#at < end) {
      if (this.#number() !== structFields) throw unsure
      const length = this.#number()
      const last = this.#at + length
      if (this.#number() !== keyTag) throw unsure
      const key = this.#string()
      if (this.#at >= last || this.#number() !== structValue) throw unsure
      // A key that comes again keeps its place, and has the last value: as in protobuf-es.
      setOwn(json, key, this.#json())
      if (this.#at !== last) throw unsure
    }
    return json
  }

  /** A `google.protobuf.Value`, with its length. */
  #json(): unknown {
    const length = this.#number()
    const end = this.#at + length
    if (length === 0) throw unsure
    const value = this.#jsonOf(this.#number())
    // One that says two things.
    if (this.#at !== end) throw unsure
    return value
  }

  #jsonOf(tag: number): unknown {
    switch (tag) {
      case valueNull:
        this.#varint()
        return null
      case valueNumber:
        this.#at += 8
        return this.#viewed().getFloat64(this.#at - 8, true)
      case valueString:
        return this.#string()
      case valueBool: {
        const value = this.#varint()
        return typeof value === "number" ? value !== 0 : value !== 0n
      }
      case valueStruct: {
        const length = this.#number()
        return this.#struct(this.#at + length)
      }
      case valueList: {
        const length = this.#number()
        const end = this.#at + length
        const items: Array<unknown> = []
        while (this.#at < end) {
          if (this.#number() !== listValues) throw unsure
          items.push(this.#json())
        }
        return items
      }
      default:
        throw unsure
    }
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Bytes

  #viewed(): DataView {
    const { buffer, byteLength, byteOffset } = this.#bytes
    return (this.#view ??= new DataView(buffer, byteOffset, byteLength))
  }

  /** A tag or a length, which is below 2^28. */
  #number(): number {
    const bytes = this.#bytes
    let value = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = bytes[this.#at++] ?? 0
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw unsure
  }

  /** A number below 2^49, or 64 bits. */
  #varint(): number | bigint {
    const bytes = this.#bytes
    const begin = this.#at
    let value = 0
    let factor = 1
    for (let left = 7; left > 0; left--) {
      const byte = bytes[this.#at++] ?? 0
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 128
    }
    this.#at = begin
    let long = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[this.#at++] ?? 0
      long |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return long
    }
  }

  #string(): string {
    const length = this.#number()
    const bytes = this.#bytes
    const begin = this.#at
    this.#at += length
    if (length > shortText) return text.decode(bytes.subarray(begin, this.#at))
    const codes: Array<number> = []
    for (let at = begin; at < this.#at; at++) {
      const code = bytes[at] ?? 0
      if (code > 0x7f) return text.decode(bytes.subarray(begin, this.#at))
      codes.push(code)
    }
    // eslint-disable-next-line no-restricted-syntax -- they are few
    return String.fromCharCode(...codes)
  }
}

const isRecord = (value: unknown): value is Properties => typeof value === "object" && value !== null

/** Whether a oneof says that this field of it is set. */
const isSet = (oneof: unknown, name: string): boolean => isRecord(oneof) && oneof["case"] === name

/**
 * The message; `undefined`: it is left to protobuf-es.
 *
 * @param bytes a message of the type: `MessageWalk.isMessage`
 * @param isForStructs `false`: every `google.protobuf.Struct` is empty
 */
export const read = (schema: DescMessage, bytes: Uint8Array, isForStructs = true): Message | undefined => {
  const plan = planOf(schema)
  if (plan === undefined) return undefined
  try {
    return new Reader(bytes, isForStructs).message(plan, bytes.byteLength)
  } catch (cause) {
    if (cause === unsure) return undefined
    throw cause
  }
}
