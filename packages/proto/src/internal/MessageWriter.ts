/**
 * Encodes a small message object at once, in one pass: a store encodes every resource that enters it.
 *
 * ★ It writes exactly the bytes that protobuf-es writes, or nothing: versions are digests of them. What is not exactly as its type
 * has it, is large, nested deeply, or rare, is left to protobuf-es, and so is every error message.
 */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt"
import { WireType } from "@bufbuild/protobuf/wire"
import { ByteWriter } from "../ByteWriter.js"
import {
  inOneof,
  keyTag,
  type Kind,
  kindOf,
  list,
  listValues,
  map,
  ofMessage,
  ofStruct,
  ofWrapper,
  one,
  type Shape,
  shapeOf,
  structFields,
  structValue,
  tagOf,
  valueBool,
  valueList,
  valueNull,
  valueNumber,
  valueString,
  valueStruct
} from "./FieldKind.js"
import { isProperties, type Properties } from "./MessageProperties.js"

/** The most bytes that are written here. */
const maxBytes = 32_768

/** The most messages in one. */
const maxMessages = 1_024

/** Levels of messages, lists and maps. A Struct is two messages for each of its levels, and 100 are read. */
const deepest = 45

interface FieldPlan {
  readonly shape: Shape
  readonly kind: Kind
  /** Of the field, or of its oneof. */
  readonly property: string
  /** What its oneof says if it is set. */
  readonly name: string
  /** What its oneof may say; of the first field of a oneof only. */
  readonly cases: ReadonlySet<unknown> | undefined
  /** With the wire type of one value, of a packed list, or of an entry of a map. */
  readonly tag: number
  /** Within an entry of a map. */
  readonly valueTag: number
  readonly isPacked: boolean
  /** Whether a zero is written. */
  readonly hasPresence: boolean
  readonly schema: DescMessage | undefined
  /** Of its messages. Made when the first one is written: a listener leads to half of the API. */
  message: Plan | undefined
}

interface Plan {
  readonly typeName: string
  /** In the order of their numbers, as they are written. */
  readonly fields: ReadonlyArray<FieldPlan>
}

// Descriptors never change.
const plans = new WeakMap<DescMessage, Plan>()

const planOf = (schema: DescMessage): Plan => {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan: Plan = {
    typeName: schema.typeName,
    fields: schema.fields.toSorted((left, right) => left.number - right.number).map(fieldPlan)
  }
  plans.set(schema, plan)
  return plan
}

const fieldPlan = (field: DescField): FieldPlan => {
  const { localName, message, number, oneof } = field
  const kind = kindOf(field)
  const isPacked = field.fieldKind === "list" && field.listKind !== "message" && field.packed
  return {
    shape: shapeOf(field),
    kind,
    property: oneof?.localName ?? localName,
    name: localName,
    cases: oneof?.fields[0] === field ? new Set(oneof.fields.map(({ localName }) => localName)) : undefined,
    tag: tagOf(number, isPacked || field.fieldKind === "map" ? WireType.LengthDelimited : wireTypeOf(kind)),
    valueTag: tagOf(2, wireTypeOf(kind)),
    isPacked,
    hasPresence: field.presence !== FeatureSet_FieldPresence.IMPLICIT,
    schema: message,
    message: undefined
  }
}

const wireTypeOf = (kind: Kind): WireType => {
  switch (kind) {
    case ScalarType.BOOL:
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return WireType.Varint
    case ScalarType.FLOAT:
      return WireType.Bit32
    case ScalarType.DOUBLE:
      return WireType.Bit64
    default:
      return WireType.LengthDelimited
  }
}

/** Whether a oneof says which of its fields is set, or that none is. */
const isCase = (oneof: Properties, cases: ReadonlySet<unknown>): boolean => {
  const set = oneof["case"]
  return set === undefined ? oneof["value"] === undefined && "case" in oneof : cases.has(set)
}

/** Says that protobuf-es is to do it. */
const unsure = new Error("unsure")

class Writer {
  readonly #out = new ByteWriter()
  #messages = 0

  encode(plan: Plan, message: Message, isLent: boolean): Uint8Array | undefined {
    this.#out.rewind(0)
    this.#messages = 0
    try {
      this.#message(plan, message, 1)
    } catch {
      // Not sure, or a property that throws: it is read again, and then told.
      return undefined
    }
    if (this.#out.at > maxBytes) return undefined
    return isLent ? this.#out.lend() : this.#out.finish()
  }

  #message(plan: Plan, message: unknown, depth: number): void {
    if (!isProperties(message) || message["$typeName"] !== plan.typeName) throw unsure
    if (depth > deepest || ++this.#messages > maxMessages) throw unsure
    // Nobody says that they are right.
    if (message["$unknown"] !== undefined) throw unsure
    const { fields } = plan
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index]
      if (field === undefined) throw unsure
      const value = message[field.property]
      switch (field.shape) {
        case one:
          if (!field.hasPresence) this.#implicit(field, value)
          // Others have defaults in their prototype.
          else if (value !== undefined && Object.hasOwn(message, field.property)) this.#tagged(field, value, depth)
          break
        case inOneof:
          if (!isProperties(value)) throw unsure
          if (field.cases !== undefined && !isCase(value, field.cases)) throw unsure
          if (value["case"] === field.name) this.#tagged(field, value["value"], depth)
          break
        case list:
          this.#list(field, value, depth)
          break
        case map:
          this.#map(field, value, depth)
          break
      }
    }
  }

  #tagged(field: FieldPlan, value: unknown, depth: number): void {
    this.#out.number(field.tag)
    this.#value(field, value, depth)
  }

  /** A field that is written unless it is zero. */
  #implicit(field: FieldPlan, value: unknown): void {
    switch (field.kind) {
      case ScalarType.STRING:
        if (value === "") return
        break
      case ScalarType.BOOL:
        if (value === false) return
        break
      case ScalarType.BYTES:
        if (value instanceof Uint8Array && value.byteLength === 0) return
        break
      case ScalarType.FLOAT:
      case ScalarType.DOUBLE:
        // -0 is written.
        if (Object.is(value, 0)) return
        break
      case ScalarType.INT64:
      case ScalarType.UINT64:
        if (value === 0n) return
        break
      default:
        if (value === 0) return
    }
    this.#tagged(field, value, 0)
  }

  #list(field: FieldPlan, value: unknown, depth: number): void {
    if (!Array.isArray(value)) throw unsure
    const { length } = value
    if (length === 0) return
    if (!field.isPacked) {
      for (let index = 0; index < length; index++) this.#tagged(field, value[index], depth + 1)
      return
    }
    this.#out.number(field.tag)
    const begin = this.#out.begin()
    for (let index = 0; index < length; index++) this.#value(field, value[index], depth)
    this.#out.end(begin)
  }

  #map(field: FieldPlan, value: unknown, depth: number): void {
    if (!isProperties(value)) throw unsure
    const keys = Object.keys(value)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]
      if (key === undefined) throw unsure
      this.#out.number(field.tag)
      const begin = this.#out.begin()
      this.#out.number(keyTag)
      this.#string(key)
      this.#out.number(field.valueTag)
      this.#value(field, value[key], depth + 1)
      this.#out.end(begin)
    }
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Values, without their tags

  #value(field: FieldPlan, value: unknown, depth: number): void {
    if (this.#out.at > maxBytes) throw unsure
    switch (field.kind) {
      case ScalarType.STRING:
        return this.#string(value)
      case ScalarType.BOOL:
        if (typeof value !== "boolean") throw unsure
        return this.#out.number(value ? 1 : 0)
      case ScalarType.INT32:
        return this.#int32(value)
      case ScalarType.UINT32:
        if (typeof value !== "number" || value !== value >>> 0) throw unsure
        return this.#out.number(value)
      case ScalarType.INT64:
        return this.#long(value, true)
      case ScalarType.UINT64:
        return this.#long(value, false)
      case ScalarType.FLOAT:
        return this.#float(value)
      case ScalarType.DOUBLE:
        return this.#double(value)
      case ScalarType.BYTES:
        return this.#bytes(value)
      case ofMessage:
      case ofStruct:
      case ofWrapper: {
        const begin = this.#out.begin()
        this.#inside(field, value, depth)
        return this.#out.end(begin)
      }
      default:
        throw unsure
    }
  }

  #inside(field: FieldPlan, value: unknown, depth: number): void {
    if (field.kind === ofStruct) return this.#struct(value, depth + 1)
    if (field.schema === undefined) throw unsure
    const plan = (field.message ??= planOf(field.schema))
    if (field.kind === ofMessage) return this.#message(plan, value, depth + 1)
    const wrapped = plan.fields[0]
    if (wrapped === undefined) throw unsure
    this.#implicit(wrapped, value)
  }

  /** The content of a `google.protobuf.Struct`. */
  #struct(json: unknown, depth: number): void {
    if (depth > deepest || !isProperties(json) || Array.isArray(json) || ++this.#messages > maxMessages) throw unsure
    // A message where JSON is wanted.
    if (typeof json["$typeName"] === "string") throw unsure
    const keys = Object.keys(json)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]
      if (key === undefined) throw unsure
      this.#out.number(structFields)
      const begin = this.#out.begin()
      this.#out.number(keyTag)
      this.#string(key)
      this.#out.number(structValue)
      this.#json(json[key], depth)
      this.#out.end(begin)
    }
  }

  /** A `google.protobuf.Value`, with its length. */
  #json(json: unknown, depth: number): void {
    if (++this.#messages > maxMessages || this.#out.at > maxBytes) throw unsure
    const begin = this.#out.begin()
    switch (typeof json) {
      case "string":
        this.#out.number(valueString)
        this.#string(json)
        break
      case "boolean":
        this.#out.number(valueBool)
        this.#out.number(json ? 1 : 0)
        break
      case "number":
        this.#out.number(valueNumber)
        this.#double(json)
        break
      case "object":
        this.#jsonObject(json, depth)
        break
      default:
        throw unsure
    }
    this.#out.end(begin)
  }

  #jsonObject(json: object | null, depth: number): void {
    if (json === null) {
      this.#out.number(valueNull)
      return this.#out.number(0)
    }
    this.#out.number(Array.isArray(json) ? valueList : valueStruct)
    const begin = this.#out.begin()
    if (!Array.isArray(json)) this.#struct(json, depth + 1)
    else if (depth >= deepest) throw unsure
    else {
      for (let index = 0; index < json.length; index++) {
        this.#out.number(listValues)
        this.#json(json[index], depth + 1)
      }
    }
    this.#out.end(begin)
  }

  #int32(value: unknown): void {
    if (typeof value !== "number" || value !== (value | 0)) throw unsure
    this.#out.int32(value)
  }

  #long(value: unknown, isSigned: boolean): void {
    if (typeof value !== "bigint") throw unsure
    const near = Number(value)
    if (near >= 0 && near <= Number.MAX_SAFE_INTEGER) return this.#out.number(near)
    if ((isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) !== value) throw unsure
    this.#out.long(value)
  }

  #float(value: unknown): void {
    // A finite number that is infinite with 32 bits is an error.
    if (typeof value !== "number" || (Number.isFinite(value) && !Number.isFinite(Math.fround(value)))) throw unsure
    this.#out.float(value)
  }

  #double(value: unknown): void {
    if (typeof value !== "number") throw unsure
    this.#out.double(value)
  }

  #bytes(value: unknown): void {
    if (!(value instanceof Uint8Array) || value.byteLength > maxBytes) throw unsure
    this.#out.bytes(value)
  }

  #string(value: unknown): void {
    if (typeof value !== "string" || value.length > maxBytes || !this.#out.string(value)) throw unsure
  }
}

/** One that nobody writes with: a property of a message may be a function that encodes another one. */
let free: Writer | undefined

/** One whose bytes are lent: nobody writes with it until they are given back. */
let lent: Writer | undefined

/**
 * The bytes of a message; `undefined`: they are left to protobuf-es. The work is bounded, but for the list of
 * the keys of a map.
 *
 * @param isLent whether the bytes are lent, until {@link giveBack}: who copies them needs no other copy
 */
export const write = (schema: DescMessage, message: Message, isLent = false): Uint8Array | undefined => {
  const writer = free ?? new Writer()
  free = undefined
  const bytes = writer.encode(planOf(schema), message, isLent)
  if (isLent && bytes !== undefined) lent = writer
  else free = writer
  return bytes
}

/** What was lent is not read any more. Without it the next message takes another buffer. */
export const giveBack = (): void => {
  free = lent ?? free
  lent = undefined
}
