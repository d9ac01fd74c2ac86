/**
 * Encodes JSON as a protobuf message in parts, with the meaning of `toBinary(schema, fromJson(schema, json))`. A large
 * field is encoded by itself and appended: a protobuf reader merges it into the message.
 *
 * @since 0.1.0
 */
import type { DescField, DescMessage, JsonObject, JsonReadOptions, JsonValue } from "@bufbuild/protobuf"
import { fromJson, ScalarType, toBinary } from "@bufbuild/protobuf"
import { ListValueSchema, StructSchema, ValueSchema } from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { isSmall } from "./JsonParts.js"
import { isObject } from "./JsonText.js"
import type { Parts } from "./TimeSlices.js"

/** Values that are encoded in one part. */
const valuesAtATime = 256

/** Field numbers of `struct_value` and `list_value` in `google.protobuf.Value`, and of a map entry. */
const value = { struct: 5, list: 6 } as const
const entry = { key: 1, value: 2 } as const

type Options = Partial<JsonReadOptions>

/** Without a prototype `__proto__` is an ordinary name. */
const noMembers = (): JsonObject => ({ __proto__: null })

const field = (number: number, bytes: Uint8Array): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(bytes).finish()

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const writer = new BinaryWriter()
  for (const part of parts) writer.raw(part)
  return writer.finish()
}

const whole = (schema: DescMessage, json: JsonValue, options: Options, depth: number): Uint8Array =>
  toBinary(schema, fromJson(schema, json, { ...options, recursionLimit: Math.max(0, 100 - depth) }))

/** Corrects list indexes in an error: a part begins at another index than the whole. */
const shifted = (cause: unknown, by: number): unknown =>
  cause instanceof Error
    ? new Error(
        cause.message.replace(/list item #(\d+)/, (_, place: string) => `list item #${Number(place) + by}`),
        {
          cause
        }
      )
    : cause

/**
 * The bytes of a message. Fails as `fromJson` does; of several mistakes it may report a different one.
 *
 * @since 0.1.0
 */
export function* encode(schema: DescMessage, json: JsonValue, options: Options, depth = 0): Parts<Uint8Array> {
  yield
  // Values that are too deep are reported by the recursive call.
  if (isSmall(json) || depth >= 100) return whole(schema, json, options, depth)
  const { typeName } = schema
  if (typeName === ValueSchema.typeName) return yield* encodeValue(json, options, depth)
  if (typeName === StructSchema.typeName && isObject(json)) return yield* encodeMembers(json, options, depth)
  if (typeName === ListValueSchema.typeName && Array.isArray(json)) return yield* encodeElements(json, options, depth)
  if (!isObject(json) || typeName.startsWith("google.protobuf.")) return whole(schema, json, options, depth)
  const rest = noMembers()
  const large: Array<readonly [DescField, string, JsonValue]> = []
  for (const key of Object.keys(json)) {
    const member = json[key] ?? null
    const of = schema.fields.find(({ jsonName, name }) => jsonName === key || name === key)
    const empty = of === undefined || isSmall(member) ? undefined : emptyOf(of, member)
    rest[key] = empty ?? member
    if (of !== undefined && empty !== undefined) large.push([of, key, member])
  }
  const encoded = [whole(schema, rest, options, depth)]
  for (const [of, key, member] of large) encoded.push(yield* encodeField(schema, of, key, member, options, depth))
  yield
  return joined(encoded)
}

/** A placeholder for a large field that is encoded by itself; `undefined` if it cannot be. */
const emptyOf = (of: DescField, json: JsonValue): JsonValue | undefined => {
  if (of.fieldKind === "list") return Array.isArray(json) ? [] : undefined
  if (of.fieldKind === "map") return isObject(json) && of.mapKey === ScalarType.STRING ? {} : undefined
  if (of.fieldKind !== "message" || of.delimitedEncoding) return undefined
  const { typeName } = of.message
  if (typeName === StructSchema.typeName) return isObject(json) ? {} : undefined
  if (typeName === ListValueSchema.typeName) return Array.isArray(json) ? [] : undefined
  return isObject(json) && !typeName.startsWith("google.protobuf.") ? {} : undefined
}

function* encodeField(
  schema: DescMessage,
  of: DescField,
  key: string,
  json: JsonValue,
  options: Options,
  depth: number
): Parts<Uint8Array> {
  if (of.fieldKind === "message") return field(of.number, yield* encode(of.message, json, options, depth + 1))
  const encoded: Array<Uint8Array> = []
  if (Array.isArray(json)) {
    const message =
      of.fieldKind === "list" && of.listKind === "message" && !of.delimitedEncoding ? of.message : undefined
    for (let at = 0; at < json.length;) {
      yield
      const start = at
      const some: Array<JsonValue> = []
      for (; at < json.length && some.length < valuesAtATime && isSmall(json[at] ?? null); at++)
        some.push(json[at] ?? null)
      const [first] = json.slice(at, at + 1)
      try {
        if (some.length > 0) encoded.push(whole(schema, { [key]: some }, options, depth))
        else if (message !== undefined)
          encoded.push(field(of.number, yield* encode(message, first ?? null, options, depth + 1)))
        else encoded.push(whole(schema, { [key]: [first ?? null] }, options, depth))
      } catch (cause) {
        throw shifted(cause, start)
      }
      if (some.length === 0) at++
    }
  } else if (isObject(json)) {
    const message = of.fieldKind === "map" && of.mapKind === "message" ? of.message : undefined
    for (const [some, large] of lots(json)) {
      yield
      if (large === undefined || message === undefined) encoded.push(whole(schema, { [key]: some }, options, depth))
      else {
        const [name, member] = large
        const bytes = yield* encode(message, member, options, depth + 1)
        encoded.push(field(of.number, namedBytes(name, bytes)))
      }
    }
  }
  yield
  return joined(encoded)
}

/** The members in batches, and each large one by itself. */
function* lots(json: JsonObject): Generator<readonly [JsonObject, readonly [string, JsonValue] | undefined], void> {
  let some = noMembers()
  let count = 0
  for (const key of Object.keys(json)) {
    const member = json[key] ?? null
    const isLarge = !isSmall(member)
    if (count === valuesAtATime || (isLarge && count > 0)) {
      yield [some, undefined]
      some = noMembers()
      count = 0
    }
    if (isLarge) {
      const alone = noMembers()
      alone[key] = member
      yield [alone, [key, member]]
      continue
    }
    some[key] = member
    count++
  }
  if (count > 0) yield [some, undefined]
}

const namedBytes = (name: string, bytes: Uint8Array): Uint8Array =>
  new BinaryWriter()
    .tag(entry.key, WireType.LengthDelimited)
    .string(name)
    .tag(entry.value, WireType.LengthDelimited)
    .bytes(bytes)
    .finish()

/** A `google.protobuf.Value`. */
function* encodeValue(json: JsonValue, options: Options, depth: number): Parts<Uint8Array> {
  if (Array.isArray(json)) return field(value.list, yield* encode(ListValueSchema, json, options, depth + 1))
  if (isObject(json)) return field(value.struct, yield* encode(StructSchema, json, options, depth + 1))
  return whole(ValueSchema, json, options, depth)
}

/** A `google.protobuf.Struct`. */
function* encodeMembers(json: JsonObject, options: Options, depth: number): Parts<Uint8Array> {
  const encoded: Array<Uint8Array> = []
  for (const [some, large] of lots(json)) {
    yield
    if (large === undefined) encoded.push(whole(StructSchema, some, options, depth))
    else encoded.push(field(1, namedBytes(large[0], yield* encode(ValueSchema, large[1], options, depth + 1))))
  }
  yield
  return joined(encoded)
}

/** A `google.protobuf.ListValue`. */
function* encodeElements(json: ReadonlyArray<JsonValue>, options: Options, depth: number): Parts<Uint8Array> {
  const encoded: Array<Uint8Array> = []
  let some: Array<JsonValue> = []
  const take = (): void => {
    if (some.length > 0) encoded.push(whole(ListValueSchema, some, options, depth))
    some = []
  }
  for (const element of json) {
    if (isSmall(element)) {
      some.push(element)
      if (some.length < valuesAtATime) continue
      take()
    } else {
      take()
      encoded.push(field(1, yield* encode(ValueSchema, element, options, depth + 1)))
    }
    yield
  }
  take()
  return joined(encoded)
}
