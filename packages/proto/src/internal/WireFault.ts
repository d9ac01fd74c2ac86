/**
 * What is wrong with bytes that are no message of a type, and where: protobuf-es says what, and not where.
 *
 * ★ It asks for more than protobuf-es does. A known field of another wire type is an unknown one to Envoy, and something else to
 * protobuf-es, which does not look at it.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import * as FieldNumbers from "./FieldNumbers.js"
import { bytesAtOnce, type Steps, toEnd } from "./InSteps.js"
import * as JsonFields from "./JsonFields.js"
import { maxDepth, maxPieces } from "./MessageLimits.js"
import * as PathText from "./PathText.js"

// As numbers, which is what stands in the bytes.
const varint: number = WireType.Varint
const bit64: number = WireType.Bit64
const bit32: number = WireType.Bit32
const delimited: number = WireType.LengthDelimited
const startGroup: number = WireType.StartGroup
const endGroup: number = WireType.EndGroup

/** As in the documentation of the wire format. */
const wireTypeNames = ["VARINT", "I64", "LEN", "SGROUP", "EGROUP", "I32"] as const

class Wrong extends Error {}

/** A value in a field, as it must stand there. */
interface Expected {
  readonly wireType: number
  readonly isPackable: boolean
  readonly isText: boolean
  readonly message: DescMessage | undefined
}

const ofScalar = (scalar: ScalarType, isPackable: boolean): Expected => {
  const isDelimited = scalar === ScalarType.STRING || scalar === ScalarType.BYTES
  const is64 = scalar === ScalarType.DOUBLE || scalar === ScalarType.FIXED64 || scalar === ScalarType.SFIXED64
  const is32 = scalar === ScalarType.FLOAT || scalar === ScalarType.FIXED32 || scalar === ScalarType.SFIXED32
  return {
    wireType: isDelimited ? delimited : is64 ? bit64 : is32 ? bit32 : varint,
    isPackable: isPackable && !isDelimited,
    isText: scalar === ScalarType.STRING,
    message: undefined
  }
}

const ofMessage = (message: DescMessage): Expected => ({
  wireType: delimited,
  isPackable: false,
  isText: false,
  message
})

const expectedOf = (field: DescField): Expected => {
  switch (field.fieldKind) {
    case "scalar":
      return ofScalar(field.scalar, false)
    case "enum":
      return ofScalar(ScalarType.INT32, false)
    case "message":
      return ofMessage(field.message)
    case "list":
      return field.listKind === "message"
        ? ofMessage(field.message)
        : ofScalar(field.listKind === "enum" ? ScalarType.INT32 : field.scalar, true)
    case "map":
      return field.mapKind === "message"
        ? ofMessage(field.message)
        : ofScalar(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar, false)
  }
}

/**
 * What was there before of what is merged: of a field in several pieces, and of the fields in them. Of a message in a list there
 * was nothing.
 */
class Merged {
  #pieces = 0
  #fields: Map<number, Merged> | undefined

  /** The same of a field. */
  of(field: DescField): Merged | undefined {
    if (field.fieldKind !== "message" || !JsonFields.isCostly(field)) return undefined
    const fields = (this.#fields ??= new Map<number, Merged>())
    const merged = fields.get(field.number) ?? new Merged()
    fields.set(field.number, merged)
    return merged
  }

  /** One more piece of a Struct. */
  add(): void {
    if (++this.#pieces > maxPieces) throw new Wrong(`is a ${JsonFields.structName} in more than ${maxPieces} pieces`)
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true })

/** Goes through bytes up to the first fault, in steps; every byte is looked at once. */
class Search {
  /** To where it is. */
  readonly path: Array<PathText.Segment> = []
  private at = 0
  private pause = bytesAtOnce

  constructor(private readonly bytes: Uint8Array) {}

  *message(schema: DescMessage, end: number, depth: number, merged: Merged | undefined): Steps<void> {
    if (depth > maxDepth) throw new Wrong(`is nested more than ${maxDepth} messages deep`)
    const lists = new Map<number, number>()
    const fields = FieldNumbers.of(schema)
    const before = merged ?? new Merged()
    while (this.at < end) {
      if (this.at >= this.pause) yield* this.rest()
      const [number, wireType] = this.tag(end)
      const field = fields.get(number)
      if (field === undefined) {
        this.path.push(`field ${number}`)
        yield* this.skip(number, wireType, end, depth)
        this.path.pop()
        continue
      }
      this.path.push(field.name)
      if (field.fieldKind === "map") {
        yield* this.entry(field, wireType, end, depth)
      } else if (field.fieldKind === "list" && field.listKind === "message") {
        const index = lists.get(number) ?? 0
        lists.set(number, index + 1)
        this.path.push(index)
        yield* this.value(expectedOf(field), wireType, end, depth)
        this.path.pop()
      } else if (field.fieldKind === "message" && field.delimitedEncoding) {
        yield* this.skip(number, wireType, end, depth)
      } else {
        const pieces = before.of(field)
        if (JsonFields.isJson(field)) pieces?.add()
        yield* this.value(expectedOf(field), wireType, end, depth, pieces)
      }
      this.path.pop()
    }
  }

  private *rest(): Steps<void> {
    yield
    this.pause = this.at + bytesAtOnce
  }

  private *entry(
    field: DescField & { readonly fieldKind: "map" },
    wireType: number,
    end: number,
    depth: number
  ): Steps<void> {
    this.isOf(delimited, wireType)
    const last = this.last(end)
    let key = "?"
    const pieces = new Merged()
    while (this.at < last) {
      if (this.at >= this.pause) yield* this.rest()
      const [number, wireType] = this.tag(last)
      if (number === 1) {
        const begin = this.at
        yield* this.value(ofScalar(field.mapKey, false), wireType, last, depth)
        if (field.mapKey === ScalarType.STRING) key = this.textFrom(begin)
      } else if (number === 2) {
        this.path.push(PathText.key(key))
        if (JsonFields.isJson(field)) pieces.add()
        yield* this.value(expectedOf(field), wireType, last, depth, pieces)
        this.path.pop()
      } else yield* this.skip(number, wireType, last, depth)
    }
  }

  /** A text that was read from here on. */
  private textFrom(begin: number): string {
    const after = this.at
    this.at = begin
    this.last(this.bytes.byteLength)
    const text = decoder.decode(this.bytes.subarray(this.at, after))
    this.at = after
    return text
  }

  /** @param merged of a message: what it is merged with */
  private *value(expected: Expected, wireType: number, end: number, depth: number, merged?: Merged): Steps<void> {
    if (!(expected.isPackable && wireType === delimited)) this.isOf(expected.wireType, wireType)
    if (wireType !== delimited) return this.number(wireType, end)
    const last = this.last(end)
    if (expected.message !== undefined) return yield* this.message(expected.message, last, depth + 1, merged)
    if (expected.isPackable) {
      while (this.at < last) {
        if (this.at >= this.pause) yield* this.rest()
        this.number(expected.wireType, last)
      }
    } else if (expected.isText) yield* this.text(last)
    else this.at = last
  }

  private *text(last: number): Steps<void> {
    // One that is long in parts, for which it takes a decoder of its own.
    const text = last - this.at > bytesAtOnce ? new TextDecoder("utf-8", { fatal: true }) : decoder
    try {
      for (;;) {
        const end = Math.min(last, this.at + bytesAtOnce)
        text.decode(this.bytes.subarray(this.at, end), { stream: end < last })
        this.at = end
        if (end === last) return
        yield
      }
    } catch {
      throw new Wrong("is not UTF-8")
    }
  }

  private *skip(number: number, wireType: number, end: number, depth: number): Steps<void> {
    if (wireType === delimited) this.at = this.last(end)
    else if (wireType === startGroup) yield* this.group(number, end, depth)
    else if (wireType === endGroup) throw new Wrong("is the end of a group that did not begin")
    else this.number(wireType, end)
  }

  /** Without recursion: a group is two bytes. */
  private *group(number: number, end: number, depth: number): Steps<void> {
    const open = [number]
    while (open.length > 0) {
      if (depth + open.length > maxDepth) throw new Wrong(`holds groups that are nested more than ${maxDepth} deep`)
      if (this.at >= end) throw new Wrong("is a group without an end")
      if (this.at >= this.pause) yield* this.rest()
      const [inner, wireType] = this.tag(end)
      if (wireType === startGroup) open.push(inner)
      else if (wireType !== endGroup) yield* this.skip(inner, wireType, end, depth)
      else if (open.pop() !== inner) throw new Wrong("is a group that ends with the number of another")
    }
  }

  private isOf(wanted: number, wireType: number): void {
    if (wireType === wanted) return
    throw new Wrong(`has the wire type ${nameOf(wireType)}, not ${nameOf(wanted)}`)
  }

  private tag(end: number): readonly [number, number] {
    const tag = this.varint(end, "a tag")
    const number = Math.floor(tag / 8)
    const wireType = tag % 8
    if (number < 1 || number > 536_870_911) throw new Wrong(`holds field ${number}, which cannot be`)
    if (wireType > bit32) throw new Wrong(`holds field ${number} with wire type ${wireType}, which there is not`)
    return [number, wireType]
  }

  /** Where a value with a length ends. */
  private last(end: number): number {
    const length = this.varint(end, "a length")
    if (length <= end - this.at) return this.at + length
    throw new Wrong(`has a length of ${length} bytes, ${end - this.at} are there`)
  }

  private number(wireType: number, end: number): void {
    if (wireType === varint) this.varint(end, "a number")
    else if (wireType === bit64 || wireType === bit32) {
      this.at += wireType === bit64 ? 8 : 4
      if (this.at > end) throw new Wrong("ends in the middle of a number")
    }
  }

  /** Exact up to 2^53, which is enough for tags and lengths. */
  private varint(end: number, what: string): number {
    let value = 0
    let factor = 1
    for (let left = 10; left > 0; left--) {
      if (this.at >= end) throw new Wrong(`ends in the middle of ${what}`)
      const byte = this.bytes[this.at++] ?? 0
      value += (byte & 0x7f) * factor
      factor *= 128
      // The last of ten bytes holds one bit.
      if (byte < 0x80 && (left > 1 || byte <= 1)) return value
    }
    throw new Wrong(`holds ${what} of more than 64 bits`)
  }
}

const nameOf = (wireType: number): string => wireTypeNames[wireType] ?? String(wireType)

/** A fault, and where it is. */
interface Found {
  readonly path: string
  readonly problem: string
}

/** The words of an error. */
export const wordsOf = ({ path, problem }: Found): string => `${path === "" ? "the message" : path} ${problem}`

/** The first fault; `undefined`: there is none. */
export const find = (schema: DescMessage, bytes: Uint8Array): Found | undefined => toEnd(inSteps(schema, bytes))

/** The same in steps. */
export const inSteps = function* (schema: DescMessage, bytes: Uint8Array): Steps<Found | undefined> {
  const search = new Search(bytes)
  try {
    yield* search.message(schema, bytes.byteLength, 1, undefined)
    return undefined
  } catch (cause) {
    if (!(cause instanceof Wrong)) throw cause
    return { path: PathText.of(search.path), problem: cause.message }
  }
}
