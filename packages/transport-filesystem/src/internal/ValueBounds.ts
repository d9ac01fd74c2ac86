/**
 * Finds values that protobuf-es takes and clients do not. Numbers outside the API's bounds, such as a port over 65535: the
 * bounds are the `(validate.rules)` of numeric fields, read from the descriptors. And in a `google.protobuf.Struct` texts that
 * are none, and numbers that JSON does not have.
 */
import type { DescField, DescMessage, JsonValue, Registry } from "@bufbuild/protobuf"
import { getOption, hasOption } from "@bufbuild/protobuf"
import { AnySchema, isWrapperDesc } from "@bufbuild/protobuf/wkt"
import { isSensitive } from "@effect-xds/proto/MessageRedaction"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import type { FieldRules } from "@effect-xds/proto/validate/validate"
import { disabled, rules as fieldRules } from "@effect-xds/proto/validate/validate"
import type { Problem } from "./JsonProblem.js"
import { isHidden } from "./JsonProblem.js"
import { isNoText, isObject, noText, type Path } from "./SourceDocument.js"

type Number64 = number | bigint

/** A numeric rule, for every number type. */
export interface Bounds {
  readonly lt?: Number64 | undefined
  readonly lte?: Number64 | undefined
  readonly gt?: Number64 | undefined
  readonly gte?: Number64 | undefined
  readonly ignoreEmpty?: boolean | undefined
}

/** The check for one field. */
interface Check {
  readonly field: DescField
  readonly bounds: Bounds | undefined
  /** The message type inside the field, if any. */
  readonly message: DescMessage | undefined
}

const boundsIn = (rules: FieldRules | undefined): Bounds | undefined => {
  switch (rules?.type.case) {
    case "float":
    case "double":
    case "int32":
    case "int64":
    case "uint32":
    case "uint64":
    case "sint32":
    case "sint64":
    case "fixed32":
    case "fixed64":
    case "sfixed32":
    case "sfixed64": {
      const { value } = rules.type
      // An unset field reads as its default.
      const bounds = {
        gt: Object.hasOwn(value, "gt") ? value.gt : undefined,
        gte: Object.hasOwn(value, "gte") ? value.gte : undefined,
        lt: Object.hasOwn(value, "lt") ? value.lt : undefined,
        lte: Object.hasOwn(value, "lte") ? value.lte : undefined
      }
      const isBounded = Object.values(bounds).some((bound) => bound !== undefined)
      return isBounded ? { ...bounds, ignoreEmpty: value.ignoreEmpty } : undefined
    }
    default:
      return undefined
  }
}

const itemRules = (field: DescField, rules: FieldRules | undefined): FieldRules | undefined => {
  if (field.fieldKind === "list") return rules?.type.case === "repeated" ? rules.type.value.items : undefined
  if (field.fieldKind === "map") return rules?.type.case === "map" ? rules.type.value.values : undefined
  return rules
}

const checkOf = (field: DescField): Check | undefined => {
  const rules = hasOption(field, fieldRules) ? getOption(field, fieldRules) : undefined
  const bounds = boundsIn(itemRules(field, rules))
  const message = isSkipped(rules) || isSkipped(itemRules(field, rules)) ? undefined : field.message
  return bounds === undefined && message === undefined ? undefined : { field, bounds, message }
}

const isSkipped = (rules: FieldRules | undefined): boolean => rules?.message?.skip === true

// Descriptors never change.
const known = new WeakMap<DescMessage, ReadonlyMap<string, Check>>()

/** The fields to check, by their JSON names. */
const checksOf = (schema: DescMessage): ReadonlyMap<string, Check> => {
  const found = known.get(schema)
  if (found !== undefined) return found
  const checks = new Map<string, Check>()
  known.set(schema, checks)
  if (getOption(schema, disabled)) return checks
  for (const field of schema.fields) {
    const check = checkOf(field)
    if (check === undefined) continue
    checks.set(field.name, check)
    checks.set(field.jsonName, check)
  }
  return checks
}

/** The bounds of a field, or of the elements of its list or map. */
export const boundsOf = (schema: DescMessage, field: DescField): Bounds | undefined =>
  checksOf(schema).get(field.name)?.bounds

/** A number in proto3 JSON. `undefined` if it is NaN, which passes every bound, or no number. */
const numberOf = (json: JsonValue, like: Number64): Number64 | undefined => {
  if (typeof json !== "number" && typeof json !== "string") return undefined
  try {
    if (typeof like === "bigint") return BigInt(json)
  } catch {
    return undefined
  }
  const number = Number(json)
  return Number.isNaN(number) ? undefined : number
}

/** What is wrong with a number. If the two ends of a range are swapped, numbers between them are forbidden. */
const wrongWith = (json: JsonValue, { gt, gte, ignoreEmpty, lt, lte }: Bounds, hidden: boolean): string | undefined => {
  const least = gte ?? gt
  const most = lte ?? lt
  const like = least ?? most
  const value = like === undefined ? undefined : numberOf(json, like)
  if (value === undefined || (ignoreEmpty === true && Number(value) === 0)) return undefined
  const shown = hidden ? "this number" : value
  const isUnder = least !== undefined && (gte === undefined ? value <= least : value < least)
  const isOver = most !== undefined && (lte === undefined ? value >= most : value > most)
  if (least !== undefined && most !== undefined && most < least) {
    return isUnder && isOver ? `${shown} is between ${most} and ${least}, which is not allowed` : undefined
  }
  if (isUnder)
    return gte === undefined ? `${shown} must be over ${least}` : `${shown} is under ${least}, the least allowed`
  if (isOver) return lte === undefined ? `${shown} must be under ${most}` : `${shown} is over ${most}, the most allowed`
  return undefined
}

/** Whether a number is out of its bounds. */
export const isOutside = (json: JsonValue, bounds: Bounds): boolean => wrongWith(json, bounds, true) !== undefined

const structs: ReadonlySet<string> = new Set([
  "google.protobuf.Struct",
  "google.protobuf.Value",
  "google.protobuf.ListValue"
])

/** All such mistakes in a value that was parsed as a message. */
export const find = (schema: DescMessage, json: JsonValue, registry: Registry, path: Path): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const here: Array<string | number> = Array.from(path)
  // Numbers in sensitive fields are not shown.
  let hidden = false
  const below = (part: string | number, look: () => void): void => {
    here.push(part)
    look()
    here.pop()
  }
  const inMessage = (schema: DescMessage, json: JsonValue): void => {
    if (!isObject(json)) return
    if (schema.typeName === AnySchema.typeName) {
      const type = json["@type"]
      const inner = typeof type === "string" ? registry.getMessage(TypeRegistry.typeName(type)) : undefined
      if (inner !== undefined) inMessage(inner, json)
      return
    }
    const checks = checksOf(schema)
    const outside = hidden
    for (const key of Object.keys(json)) {
      const check = checks.get(key)
      const value = json[key]
      if (check === undefined || value === undefined || value === null) continue
      hidden = outside || isHidden(schema) || isSensitive(check.field)
      below(key, () => inField(check, value))
      hidden = outside
    }
  }
  const inField = (check: Check, value: JsonValue): void => {
    if (check.field.fieldKind === "list") {
      if (Array.isArray(value)) value.forEach((item, index) => below(index, () => inItem(check, item)))
    } else if (check.field.fieldKind === "map") {
      if (isObject(value)) for (const [name, item] of Object.entries(value)) below(name, () => inItem(check, item))
    } else {
      inItem(check, value)
    }
  }
  const inItem = ({ bounds, message }: Check, value: JsonValue): void => {
    if (bounds !== undefined) {
      const detail = wrongWith(value, bounds, hidden)
      if (detail !== undefined) problems.push({ path: Array.from(here), at: "value", reason: "Schema", detail })
    } else if (message !== undefined && structs.has(message.typeName)) {
      inStruct(value)
    } else if (message !== undefined && !isWrapperDesc(message)) {
      inMessage(message, value)
    }
  }
  const wrong = (detail: string): void => {
    problems.push({ path: Array.from(here), at: "value", reason: "Schema", detail })
  }
  const inStruct = (value: JsonValue): void => {
    if (Array.isArray(value)) value.forEach((item, index) => below(index, () => inStruct(item)))
    else if (isObject(value)) {
      for (const [name, item] of Object.entries(value)) {
        below(name, () => {
          if (isNoText(name)) wrong(`its key has ${noText}`)
          inStruct(item)
        })
      }
    } else if (typeof value === "number" && !Number.isFinite(value)) {
      wrong("it is infinite or no number, which JSON does not have, and so no google.protobuf.Struct")
    } else if (typeof value === "string" && isNoText(value)) wrong(`it has ${noText}`)
  }
  inMessage(schema, json)
  return problems
}
