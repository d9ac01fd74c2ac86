/**
 * Goes through the fields of an encoded message without making the message, at once or in steps.
 *
 * ★ It says that bytes are a message, or nothing: whatever it does not know for sure, what is wrong and why, is for the library.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import { bytesAtOnce, type Steps } from "./InSteps.js"
import * as JsonFields from "./JsonFields.js"
import { maxPieces } from "./MessageLimits.js"

/** How a field stands in the bytes. */
interface FieldPlan {
  readonly wireType: number
  /** A list of numbers may also stand as one string of bytes. */
  readonly packed: boolean
  readonly isText: boolean
  /** A bit, if each further piece of it may cost as much as all that is there already; else 0. */
  readonly costly: number
  /** Of a message, or of the entries of a map. */
  message: Plan | undefined
}

// As numbers, which is what stands in the bytes.
const varint: number = WireType.Varint
const bit64: number = WireType.Bit64
const bit32: number = WireType.Bit32
const delimited: number = WireType.LengthDelimited

interface Plan {
  /** By the numbers of the fields. */
  readonly fields: Array<FieldPlan | undefined>
  /** From this number on fields are left to the library. */
  unsureFrom: number
}

/** A field with a higher number is left to the library. */
const maxNumber = 1_000

/** Messages that are nested deeper are left to the library, which reads 100. */
const deepest = 90

// Descriptors never change.
const plans = new WeakMap<DescMessage, Plan>()

const planOf = (schema: DescMessage): Plan => {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plan: Plan = { fields: [], unsureFrom: Infinity }
  // Before its fields: a message may hold others of its own type.
  plans.set(schema, plan)
  let costly = 1
  for (const field of schema.fields) {
    put(plan, field.number, fieldPlan(field, costly))
    // What has no bit of its own shares the last one.
    if (field.fieldKind === "message" && JsonFields.isCostly(field) && costly < lastBit) costly *= 2
  }
  return plan
}

const lastBit = 2 ** 30

const put = (plan: Plan, number: number, field: FieldPlan | undefined): void => {
  if (number > maxNumber || field === undefined) {
    plan.unsureFrom = Math.min(plan.unsureFrom, number)
    return
  }
  // Without holes, which are slow.
  while (plan.fields.length <= number) plan.fields.push(undefined)
  plan.fields[number] = field
}

const ofMessage = (message: Plan, costly = 0): FieldPlan => ({
  wireType: delimited,
  packed: false,
  isText: false,
  costly,
  message
})

const ofScalar = (scalar: ScalarType, isList: boolean): FieldPlan => {
  const wireType = wireTypeOf(scalar)
  return {
    wireType,
    packed: isList && wireType !== delimited,
    isText: scalar === ScalarType.STRING,
    costly: 0,
    message: undefined
  }
}

const wireTypeOf = (scalar: ScalarType): number => {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return delimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return bit64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return bit32
    default:
      return varint
  }
}

const fieldPlan = (field: DescField, bit: number): FieldPlan | undefined => {
  const costly = JsonFields.isCostly(field) ? bit : 0
  switch (field.fieldKind) {
    case "scalar":
      return ofScalar(field.scalar, false)
    case "enum":
      return ofScalar(ScalarType.INT32, false)
    case "message":
      return field.delimitedEncoding ? undefined : ofMessage(planOf(field.message), costly)
    case "list":
      if (field.listKind !== "message")
        return ofScalar(field.listKind === "enum" ? ScalarType.INT32 : field.scalar, true)
      return field.delimitedEncoding ? undefined : ofMessage(planOf(field.message))
    case "map": {
      const entry: Plan = { fields: [], unsureFrom: Infinity }
      put(entry, 1, ofScalar(field.mapKey, false))
      put(
        entry,
        2,
        field.mapKind === "message"
          ? ofMessage(planOf(field.message), costly && 1)
          : ofScalar(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar, false)
      )
      return ofMessage(entry)
    }
  }
}

/** Goes through bytes; what it does not know for sure is no message to it. */
class Walk {
  #at = 0
  /** Pieces of costly fields, but for the first of each. */
  #pieces = 0
  /** The costly fields of the message that was gone through last. */
  #seen = 0
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /**
   * Whether the fields of a message stand up to the end, and nothing else: none of them ends behind it.
   *
   * @param seen the costly fields before
   */
  message(plan: Plan, end: number, depth: number, seen = 0): boolean {
    if (depth > deepest) return false
    const { fields, unsureFrom } = plan
    while (this.#at < end) {
      const tag = this.#uint32(end)
      const number = tag >>> 3
      const wireType = tag & 7
      const field = fields[number]
      if (field === undefined) {
        if (tag < 8 || number >= unsureFrom || !this.#unknown(wireType, end)) return false
      } else if (wireType === delimited) {
        if (field.costly !== 0) {
          if ((seen & field.costly) !== 0 && !this.#isMerged()) return false
          seen |= field.costly
        }
        if (!this.#delimited(field, end, depth)) return false
      } else if (wireType !== field.wireType || !this.#number(wireType, end)) {
        return false
      }
    }
    this.#seen = seen
    return true
  }

  /** The same in steps: runs of fields that are not large, and what is large by itself. */
  *steps(plan: Plan, end: number, depth: number): Steps<boolean> {
    if (depth > deepest) return false
    let seen = 0
    let from = this.#at
    const run = (to: number): boolean => {
      this.#at = from
      const isMessage = this.message(plan, to, depth, seen)
      seen = this.#seen
      return isMessage
    }
    while (this.#at < end) {
      const begin = this.#at
      const tag = this.#uint32(end)
      const isLong = (tag & 7) === delimited
      const length = isLong ? this.#uint32(end) : 0
      const value = this.#at
      const last = value + length
      if (length < 0 || last > end || (!isLong && !this.#number(tag & 7, end))) return false
      const field = length > bytesAtOnce ? plan.fields[tag >>> 3] : undefined
      if (field !== undefined) {
        if (!run(begin) || ((seen & field.costly) !== 0 && !this.#isMerged())) return false
        seen |= field.costly
        this.#at = value
        yield
        if (!(yield* this.#large(field, last, depth))) return false
        from = last
      } else if (isLong) this.#at = last
      if (this.#at - from < bytesAtOnce) continue
      const next = this.#at
      if (!run(next)) return false
      from = next
      yield
    }
    return run(end)
  }

  /** A value with a length, in steps. */
  *#large(field: FieldPlan, last: number, depth: number): Steps<boolean> {
    if (field.message !== undefined) return yield* this.steps(field.message, last, depth + 1)
    const decoder = new TextDecoder("utf-8", { fatal: true })
    while (this.#at < last) {
      const end = Math.min(last, this.#at + bytesAtOnce)
      if (field.packed) {
        while (this.#at < end) if (!this.#number(field.wireType, last)) return false
      } else if (field.isText) {
        if (!isPart(decoder, this.#bytes.subarray(this.#at, end), end === last)) return false
        this.#at = end
      } else if (field.wireType === delimited) this.#at = last
      else return false
      yield
    }
    return true
  }

  /** ★ Whether a costly field may come once more. */
  #isMerged(): boolean {
    return ++this.#pieces < maxPieces
  }

  #delimited(field: FieldPlan, end: number, depth: number): boolean {
    const length = this.#uint32(end)
    const last = this.#at + length
    if (length < 0 || last > end) return false
    if (field.message !== undefined) return this.message(field.message, last, depth + 1)
    if (field.packed) {
      while (this.#at < last) if (!this.#number(field.wireType, last)) return false
      return true
    }
    if (field.wireType !== delimited) return false
    if (field.isText && !isText(this.#bytes, this.#at, last)) return false
    this.#at = last
    return true
  }

  /** Goes over a field that is not known; groups are left to the library. */
  #unknown(wireType: number, end: number): boolean {
    if (wireType !== delimited) return this.#number(wireType, end)
    const length = this.#uint32(end)
    this.#at += length
    return length >= 0 && this.#at <= end
  }

  #number(wireType: number, end: number): boolean {
    if (wireType === varint) {
      // At most ten bytes; the last of ten holds one bit.
      const bytes = this.#bytes
      for (let left = 10; left > 0 && this.#at < end; left--) {
        const byte = bytes[this.#at++] ?? 0
        if (byte < 0x80) return left > 1 || byte <= 1
      }
      return false
    }
    if (wireType !== bit64 && wireType !== bit32) return false
    this.#at += wireType === bit64 ? 8 : 4
    return this.#at <= end
  }

  /** A number below 2^28, which is enough for a tag and a length; -1: something else. */
  #uint32(end: number): number {
    const bytes = this.#bytes
    let value = 0
    for (let shift = 0; shift < 28 && this.#at < end; shift += 7) {
      const byte = bytes[this.#at++] ?? 0
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return -1
  }
}

const isText = (bytes: Uint8Array, begin: number, end: number): boolean => {
  for (let at = begin; at < end; at++) {
    if ((bytes[at] ?? 0) > 0x7f) return isUtf8(bytes.subarray(at, end))
  }
  return true
}

const isUtf8 = (bytes: Uint8Array): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

const isPart = (decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array, isLast: boolean): boolean => {
  try {
    decoder.decode(bytes, { stream: !isLast })
    return true
  } catch {
    return false
  }
}

/** Whether bytes are a message of the type for sure. */
export const isMessage = (schema: DescMessage, bytes: Uint8Array): boolean =>
  new Walk(bytes).message(planOf(schema), bytes.byteLength, 1)

/** The same in steps. */
export const inSteps = (schema: DescMessage, bytes: Uint8Array): Steps<boolean> =>
  new Walk(bytes).steps(planOf(schema), bytes.byteLength, 1)
