/** The encoding plan of a message type: for each field name how its values are written. */
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt"
import { WireType } from "@bufbuild/protobuf/wire"
import * as ValueBounds from "./ValueBounds.js"

/** The kind of a value: a scalar, or a message with a special JSON form. */
export type Kind =
  | "string"
  | "bool"
  | "int32"
  | "uint32"
  | "int64"
  | "uint64"
  | "float"
  | "double"
  | "bytes"
  | "enum"
  | "message"
  | "wrapper"
  | "duration"
  | "struct"
  | "value"
  | "any"

export interface FieldPlan {
  readonly number: number
  /** The tag of one value. */
  readonly tag: number
  readonly kind: Kind
  readonly shape: "one" | "list" | "map"
  /** Whether it is a packed list of numbers. */
  readonly isPacked: boolean
  /** Whether a default value is written. */
  readonly hasPresence: boolean
  /** The number of its oneof, from 1; 0 if it is in none. */
  readonly oneof: number
  /** The values of an enum by name. */
  readonly numbers: ReadonlyMap<string, number> | undefined
  readonly bounds: ValueBounds.Bounds | undefined
  /** The plan of a message field. Created lazily, since a listener leads to half of the API. */
  readonly message: (() => MessagePlan) | undefined
  /** The value field of a wrapper. */
  readonly wrapped: FieldPlan | undefined
}

/**
 * The plan of a message type. ★ A field without a plan is left to protobuf-es, like everything uncertain.
 */
export interface MessagePlan {
  /** Whether messages of this type are encoded here at all. */
  readonly isKnown: boolean
  readonly fields: ReadonlyMap<string, FieldPlan>
}

/** In the text format messages have no special forms, and fields have one name. */
export type Format = "json" | "text"

/** The plans of types in a format, cached: descriptors never change. */
const makePlans = (format: Format): ((schema: DescMessage) => MessagePlan) => {
  const known = new WeakMap<DescMessage, MessagePlan>()

  const planOf = (schema: DescMessage): MessagePlan => {
    const found = known.get(schema)
    if (found !== undefined) return found
    const fields = new Map<string, FieldPlan>()
    const plan = { isKnown: isPlain(schema), fields }
    known.set(schema, plan)
    for (const field of schema.fields) {
      const made = fieldPlan(schema, field)
      if (made === undefined) continue
      fields.set(field.name, made)
      if (format === "json") fields.set(field.jsonName, made)
    }
    return plan
  }

  const fieldPlan = (schema: DescMessage, field: DescField): FieldPlan | undefined => {
    if (field.fieldKind === "map" && (field.mapKey !== ScalarType.STRING || format === "text")) return undefined
    const kind = kindOf(field, format)
    if (kind === undefined) return undefined
    const { message } = field
    const [wrapped] = kind === "wrapper" && message !== undefined ? message.fields : []
    const isPacked = field.fieldKind === "list" && field.listKind !== "message" && field.packed
    let plan: MessagePlan | undefined
    return {
      number: field.number,
      tag: tagOf(field.number, isPacked || field.fieldKind === "map" ? WireType.LengthDelimited : wireTypeOf(kind)),
      kind,
      shape: field.fieldKind === "list" || field.fieldKind === "map" ? field.fieldKind : "one",
      isPacked,
      hasPresence: field.oneof !== undefined || field.presence !== FeatureSet_FieldPresence.IMPLICIT,
      oneof: field.oneof === undefined ? 0 : schema.oneofs.indexOf(field.oneof) + 1,
      numbers: field.enum === undefined ? undefined : numbersOf(field.enum, format),
      // Bounds are not checked in the text format.
      bounds: format === "json" ? ValueBounds.boundsOf(schema, field) : undefined,
      message: message === undefined ? undefined : () => (plan ??= planOf(message)),
      wrapped: wrapped === undefined ? undefined : fieldPlan(wrapped.parent, wrapped)
    }
  }

  return planOf
}

/**
 * Whether every name belongs to one field, and there are no required fields and no groups, whose names differ in text.
 */
const isPlain = ({ fields }: DescMessage): boolean => {
  const names = fields.flatMap(({ jsonName, name }) => Array.from(new Set([name, jsonName])))
  return (
    new Set(names).size === names.length &&
    fields.every((field) => field.presence !== FeatureSet_FieldPresence.LEGACY_REQUIRED && !isGroup(field))
  )
}

const isGroup = (field: DescField): boolean => "delimitedEncoding" in field && field.delimitedEncoding

/** Plans by format. */
export const plansOf: Readonly<Record<Format, (schema: DescMessage) => MessagePlan>> = {
  json: makePlans("json"),
  text: makePlans("text")
}

const kindOf = (field: DescField, format: Format): Kind | undefined => {
  if (field.enum !== undefined) return isOpen(field.enum) ? "enum" : undefined
  if (field.message !== undefined) {
    return kindOfMessage(field.message, format)
  }
  if ("longAsString" in field && field.longAsString) return undefined
  return scalars.get(field.scalar)
}

const kindOfMessage = (schema: DescMessage, format: Format): Kind | undefined => {
  if (schema.typeName === "google.protobuf.Any") return "any"
  if (format === "text") return "message"
  if (isWrapperDesc(schema)) return "wrapper"
  switch (schema.typeName) {
    case "google.protobuf.Duration":
      return "duration"
    case "google.protobuf.Struct":
      return "struct"
    case "google.protobuf.Value":
      return "value"
    case "google.protobuf.Timestamp":
    case "google.protobuf.FieldMask":
    case "google.protobuf.ListValue":
      return undefined
    default:
      return "message"
  }
}

/** Other scalar types are rare. */
const scalars: ReadonlyMap<ScalarType, Kind> = new Map([
  [ScalarType.STRING, "string"],
  [ScalarType.BOOL, "bool"],
  [ScalarType.INT32, "int32"],
  [ScalarType.UINT32, "uint32"],
  [ScalarType.INT64, "int64"],
  [ScalarType.UINT64, "uint64"],
  [ScalarType.FLOAT, "float"],
  [ScalarType.DOUBLE, "double"],
  [ScalarType.BYTES, "bytes"]
])

type DescEnum = NonNullable<DescField["enum"]>

/** Whether values without a name are allowed, as in open enums. For `NullValue`, null is a value. */
const isOpen = ({ open, typeName }: DescEnum): boolean => open && typeName !== "google.protobuf.NullValue"

const numbersOf = ({ values }: DescEnum, format: Format): ReadonlyMap<string, number> =>
  new Map([
    // In lower case, as many are written; otherwise spelled ones are rare, and left to protobuf-es.
    ...(format === "json" ? values.map(({ name, number }) => [name.toLowerCase(), number] as const) : []),
    ...(format === "json" ? values.map(({ jsonName, number }) => [jsonName, number] as const) : []),
    ...values.map(({ name, number }) => [name, number] as const)
  ])

/** The wire type of one value. */
export const wireTypeOf = (kind: Kind): WireType => {
  switch (kind) {
    case "bool":
    case "enum":
    case "int32":
    case "uint32":
    case "int64":
    case "uint64":
      return WireType.Varint
    case "float":
      return WireType.Bit32
    case "double":
      return WireType.Bit64
    default:
      return WireType.LengthDelimited
  }
}

export const tagOf = (number: number, wireType: WireType): number => number * 8 + wireType
