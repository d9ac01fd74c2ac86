/**
 * Encodes a parsed text directly, without creating messages: a file may hold a hundred thousand, and creating and
 * encoding them takes most of the time that reading takes.
 *
 * ★ It writes exactly the bytes that protobuf-es writes, or nothing: versions are digests of them. Everything
 * uncertain, and every error message, is left to protobuf-es.
 */
import type { DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf"
import { base64Decode, WireType } from "@bufbuild/protobuf/wire"
import { ByteWriter } from "@effect-xds/proto/ByteWriter"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import type { FieldPlan, Format, MessagePlan } from "./MessagePlan.js"
import { plansOf, tagOf, wireTypeOf } from "./MessagePlan.js"
import { isObject } from "./SourceDocument.js"
import * as ValueBounds from "./ValueBounds.js"

/** An encoded message with its type: an `Any`. */
export interface Encoded {
  readonly typeUrl: string
  readonly value: Uint8Array
}

/** Deeper nesting is left to protobuf-es, which reads 100 messages deep and counts an `Any` and its content as two. */
const deepest = 45

export class MessageEncoder {
  readonly #planOf: (schema: DescMessage) => MessagePlan
  readonly #out = new ByteWriter()
  /** The fields of the open messages with their values, outer messages first. */
  readonly #fields: Array<FieldPlan> = []
  readonly #values: Array<JsonValue> = []

  constructor(
    format: Format,
    readonly registry: Registry
  ) {
    this.#planOf = plansOf[format]
  }

  /** Encodes an `Any`, given as an object with `@type`; `undefined` if protobuf-es must do it. */
  any(json: JsonValue): Encoded | undefined {
    if (!isObject(json)) return undefined
    const schema = this.#typeOf(json)
    if (schema === undefined) return undefined
    this.#out.rewind(0)
    if (this.#message(this.#planOf(schema), json, 1, true)) {
      return { typeUrl: `type.googleapis.com/${schema.typeName}`, value: this.#out.finish() }
    }
    this.#fields.length = 0
    this.#values.length = 0
    return undefined
  }

  /** The type of the content of an `Any`. */
  #typeOf(json: JsonObject): DescMessage | undefined {
    const url = Object.hasOwn(json, "@type") ? json["@type"] : undefined
    if (typeof url !== "string") return undefined
    const name = TypeRegistry.typeName(url)
    // Well-known types have a different form in an `Any`.
    return name.startsWith("google.protobuf.") ? undefined : this.registry.getMessage(name)
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Messages

  #message(plan: MessagePlan, json: JsonValue, depth: number, isAny: boolean): boolean {
    if (depth > deepest || !plan.isKnown || !isObject(json)) return false
    const first = this.#fields.length
    let oneofs = false
    for (const key of Object.keys(json)) {
      const field = plan.fields.get(key)
      const value = json[key]
      if (field === undefined || value === undefined) {
        if (isAny && key === "@type") continue
        return false
      }
      this.#put(field, value, first)
      if (field.oneof > 0) oneofs = true
    }
    const end = this.#fields.length
    if (oneofs && !this.#hasOneOfEach(first, end)) return false
    for (let index = first; index < end; index++) {
      const field = this.#fields[index]
      const value = this.#values[index]
      if (field === undefined || value === undefined) return false
      // The field is given under both of its names.
      if (index > first && this.#fields[index - 1] === field) return false
      if (!this.#field(field, value, depth)) return false
    }
    this.#fields.length = first
    this.#values.length = first
    return true
  }

  /** Inserts a field in the order of field numbers. */
  #put(field: FieldPlan, value: JsonValue, first: number): void {
    const fields = this.#fields
    const values = this.#values
    let at = fields.length
    fields.push(field)
    values.push(value)
    for (; at > first; at--) {
      const before = fields[at - 1]
      const valueBefore = values[at - 1]
      if (before === undefined || valueBefore === undefined || before.number <= field.number) break
      fields[at] = before
      values[at] = valueBefore
    }
    fields[at] = field
    values[at] = value
  }

  #hasOneOfEach(first: number, end: number): boolean {
    for (let one = first; one < end; one++) {
      const oneof = this.#fields[one]?.oneof ?? 0
      if (oneof === 0) continue
      for (let other = one + 1; other < end; other++) if (this.#fields[other]?.oneof === oneof) return false
    }
    return true
  }

  #field(field: FieldPlan, value: JsonValue, depth: number): boolean {
    // A null field is not set, but null is a valid `Value`.
    if (value === null && (field.kind !== "value" || field.shape !== "one")) return true
    if (field.shape === "list") return Array.isArray(value) && this.#list(field, value, depth)
    if (field.shape === "map") return isObject(value) && this.#map(field, value, depth)
    if (field.hasPresence) {
      this.#number(field.tag)
      return this.#value(field, value, depth)
    }
    const before = this.#out.at
    this.#number(field.tag)
    const content = this.#out.at
    if (!this.#value(field, value, depth)) return false
    // A default value is not written; for strings and bytes that is a length of zero.
    if (this.#out.isZero(content)) this.#out.rewind(before)
    return true
  }

  #list(field: FieldPlan, list: ReadonlyArray<JsonValue>, depth: number): boolean {
    if (list.length === 0) return true
    if (!field.isPacked) {
      for (const value of list) {
        if (value === null) return false
        this.#number(field.tag)
        if (!this.#value(field, value, depth)) return false
      }
      return true
    }
    this.#number(field.tag)
    const begin = this.#out.begin()
    for (const value of list) if (value === null || !this.#value(field, value, depth)) return false
    this.#out.end(begin)
    return true
  }

  #map(field: FieldPlan, map: JsonObject, depth: number): boolean {
    for (const key of Object.keys(map)) {
      const value = map[key]
      if (value === undefined || value === null) return false
      this.#number(field.tag)
      const begin = this.#out.begin()
      this.#number(keyTag)
      if (!this.#out.string(key)) return false
      this.#number(valueTag | wireTypeOf(field.kind))
      if (!this.#value(field, value, depth)) return false
      this.#out.end(begin)
    }
    return true
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Values, without their tags

  #value(field: FieldPlan, value: JsonValue, depth: number): boolean {
    if (field.bounds !== undefined && ValueBounds.isOutside(value, field.bounds)) return false
    switch (field.kind) {
      case "string":
        return typeof value === "string" && this.#out.string(value)
      case "bool":
        return typeof value === "boolean" && this.#number(value ? 1 : 0)
      case "enum":
        return this.#enum(field, value)
      case "int32":
        return isInteger(value, -0x80000000, 0x7fffffff) && this.#integer(value)
      case "uint32":
        return isInteger(value, 0, 0xffffffff) && this.#number(value)
      case "int64":
        return this.#long(value, -(2n ** 63n), 2n ** 63n - 1n)
      case "uint64":
        return this.#long(value, 0n, 2n ** 64n - 1n)
      case "float":
        return this.#float(value)
      case "double":
        return this.#double(value)
      case "bytes":
        return typeof value === "string" && this.#base64(value)
      default:
        return this.#delimited(field, value, depth)
    }
  }

  #delimited(field: FieldPlan, value: JsonValue, depth: number): boolean {
    const begin = this.#out.begin()
    if (!this.#inside(field, value, depth)) return false
    this.#out.end(begin)
    return true
  }

  #inside(field: FieldPlan, value: JsonValue, depth: number): boolean {
    switch (field.kind) {
      case "message":
        return field.message !== undefined && this.#message(field.message(), value, depth + 1, false)
      case "wrapper":
        return field.wrapped !== undefined && this.#field(field.wrapped, value, depth)
      case "duration":
        return this.#duration(value)
      case "struct":
        return this.#struct(value, depth + 1)
      case "value":
        return this.#anything(value, depth + 1)
      case "any":
        return this.#any(value, depth + 1)
      default:
        return false
    }
  }

  #any(json: JsonValue, depth: number): boolean {
    if (!isObject(json)) return false
    const schema = this.#typeOf(json)
    if (schema === undefined) return false
    this.#number(anyType)
    this.#out.string(`type.googleapis.com/${schema.typeName}`)
    const before = this.#out.at
    this.#number(anyValue)
    const begin = this.#out.begin()
    if (!this.#message(this.#planOf(schema), json, depth, true)) return false
    if (this.#out.at === begin) this.#out.rewind(before)
    else this.#out.end(begin)
    return true
  }

  #enum({ numbers }: FieldPlan, value: JsonValue): boolean {
    if (typeof value !== "string") return isInteger(value, -0x80000000, 0x7fffffff) && this.#integer(value)
    const number = numbers?.get(value)
    return number !== undefined && this.#integer(number)
  }

  /** A duration without a sign and with at most nine fraction digits. */
  #duration(value: JsonValue): boolean {
    const whole = typeof value === "string" ? wholeSeconds(value) : -1
    if (whole >= 0) {
      this.#positive(durationSeconds, whole)
      return true
    }
    const match = typeof value === "string" ? /^(\d{1,11})(?:\.(\d{1,9}))?s$/.exec(value) : null
    if (match === null) return false
    const [, seconds = "", fraction = ""] = match
    this.#positive(durationSeconds, Number(seconds))
    this.#positive(durationNanos, Number(fraction.padEnd(9, "0")))
    return true
  }

  #positive(tag: number, value: number): void {
    if (value === 0) return
    this.#number(tag)
    this.#number(value)
  }

  #struct(json: JsonValue, depth: number): boolean {
    if (!isObject(json)) return false
    for (const key of Object.keys(json)) {
      const value = json[key]
      if (value === undefined) return false
      this.#number(structFields)
      const begin = this.#out.begin()
      this.#number(keyTag)
      if (!this.#out.string(key)) return false
      this.#number(valueTag | WireType.LengthDelimited)
      const inner = this.#out.begin()
      if (!this.#anything(value, depth + 1)) return false
      this.#out.end(inner)
      this.#out.end(begin)
    }
    return true
  }

  /** A `google.protobuf.Value`. */
  #anything(json: JsonValue, depth: number): boolean {
    if (depth > deepest) return false
    switch (typeof json) {
      case "string":
        this.#number(valueString)
        return this.#out.string(json)
      case "boolean":
        this.#number(valueBool)
        return this.#number(json ? 1 : 0)
      case "number":
        this.#number(valueNumber)
        return this.#double(json)
      default:
    }
    if (json === null) {
      this.#number(valueNull)
      return this.#number(0)
    }
    if (isObject(json)) {
      this.#number(valueStruct)
      const begin = this.#out.begin()
      if (!this.#struct(json, depth + 1)) return false
      this.#out.end(begin)
      return true
    }
    if (!Array.isArray(json)) return false
    this.#number(valueList)
    const begin = this.#out.begin()
    for (const item of json) {
      this.#number(listValues)
      const inner = this.#out.begin()
      if (!this.#anything(item, depth + 1)) return false
      this.#out.end(inner)
    }
    this.#out.end(begin)
    return true
  }

  // -------------------------------------------------------------------------------------------------------------------
  // Scalars

  /** Writes an integer from 0 to 2^53. */
  #number(value: number): true {
    this.#out.number(value)
    return true
  }

  #integer(value: number): true {
    this.#out.int32(value)
    return true
  }

  /** Writes a 64-bit number, given as a number or as digits. */
  #long(value: JsonValue, least: bigint, most: bigint): boolean {
    const isDigits = typeof value === "string" && /^(?:0|-?[1-9]\d{0,19})$/.test(value)
    if (!isDigits && !(typeof value === "number" && Number.isSafeInteger(value))) return false
    const big = BigInt(value)
    if (big < least || big > most) return false
    this.#out.long(big)
    return true
  }

  #float(value: JsonValue): boolean {
    if (typeof value !== "number") return false
    const near = Math.fround(value)
    // protobuf-es writes a number that rounds to zero as a zero that is set.
    if (!Number.isFinite(near) || (near === 0 && value !== 0)) return false
    this.#out.float(value)
    return true
  }

  #double(value: JsonValue): boolean {
    if (typeof value !== "number" || !Number.isFinite(value)) return false
    this.#out.double(value)
    return true
  }

  #base64(value: string): boolean {
    let bytes: Uint8Array
    try {
      bytes = base64Decode(value)
    } catch {
      return false
    }
    this.#out.bytes(bytes)
    return true
  }
}

/** The seconds of a duration with up to six digits and no fraction; -1 for any other. */
const wholeSeconds = (text: string): number => {
  const last = text.length - 1
  if (last < 1 || last > 6 || text.charCodeAt(last) !== 0x73) return -1
  let seconds = 0
  for (let index = 0; index < last; index++) {
    const digit = text.charCodeAt(index) - 0x30
    if (digit < 0 || digit > 9) return -1
    seconds = seconds * 10 + digit
  }
  return seconds
}

const isInteger = (value: JsonValue, least: number, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= least && value <= most

// Fields of messages with a special JSON form.
const keyTag = tagOf(1, WireType.LengthDelimited)
const valueTag = tagOf(2, WireType.Varint)
const anyType = tagOf(1, WireType.LengthDelimited)
const anyValue = tagOf(2, WireType.LengthDelimited)
const durationSeconds = tagOf(1, WireType.Varint)
const durationNanos = tagOf(2, WireType.Varint)
const structFields = tagOf(1, WireType.LengthDelimited)
const listValues = tagOf(1, WireType.LengthDelimited)
const valueNull = tagOf(1, WireType.Varint)
const valueNumber = tagOf(2, WireType.Bit64)
const valueString = tagOf(3, WireType.LengthDelimited)
const valueBool = tagOf(4, WireType.Varint)
const valueStruct = tagOf(5, WireType.LengthDelimited)
const valueList = tagOf(6, WireType.LengthDelimited)
