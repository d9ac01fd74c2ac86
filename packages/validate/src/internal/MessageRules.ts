/**
 * The rules of a message type, compiled from its descriptor into one check per field and oneof when the first message of the
 * type comes; the types of messages inside wait for theirs.
 */
import type { DescEnum, DescField, DescMessage, DescOneof, Message } from "@bufbuild/protobuf"
import { getOption, ScalarType } from "@bufbuild/protobuf"
import { isWrapperDesc } from "@bufbuild/protobuf/wkt"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { isSensitive } from "@effect-xds/proto/MessageRedaction"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import {
  disabled,
  type FieldRules,
  ignored,
  type MapRules,
  required,
  type RepeatedRules,
  rules as rulesOption
} from "@effect-xds/proto/validate/validate"
import * as NumberRules from "./NumberRules.js"
import { type Check, counted, given, notA, type Report, shownText } from "./Report.js"
import * as TextRules from "./TextRules.js"
import * as TimeRules from "./TimeRules.js"

/** The rules of one message type. */
export interface MessageRules {
  readonly check: Check
  /** Whether a message of the type can break a rule at all; one that cannot is not entered. */
  readonly isNeeded: () => boolean
}

type Properties = Readonly<Record<string, unknown>>

const isProperties = (value: unknown): value is Properties => typeof value === "object" && value !== null

const anyName = "google.protobuf.Any"

/** Of the well-known types only `Any` can hold what has rules; and `Struct` and wrappers are no messages in protobuf-es. */
const isWellKnown = ({ typeName }: DescMessage): boolean =>
  typeName.startsWith("google.protobuf.") && typeName !== anyName

const isOff = (type: DescMessage): boolean => getOption(type, disabled) || getOption(type, ignored)

// Descriptors never change, so one table serves everyone.
const known = new WeakMap<DescMessage, MessageRules>()

/** The rules of a type. */
export const of = (type: DescMessage): MessageRules => {
  const found = known.get(type)
  if (found !== undefined) return found
  const made = type.typeName === anyName ? anyRules : make(type)
  known.set(type, made)
  return made
}

const make = (type: DescMessage): MessageRules => {
  let checks: ReadonlyArray<Check> | undefined
  let isNeeded: boolean | undefined
  return {
    isNeeded: () => (isNeeded ??= canBreak(type)),
    check: (message, report) => {
      if (!report.enter()) return
      checks ??= compile(type)
      for (const check of checks) check(message, report)
      report.depth--
    }
  }
}

/** Whether a rule, or an `Any`, can be reached from a type. */
const canBreak = (type: DescMessage): boolean => {
  const seen = new Set([type])
  // A set may grow while it is gone through.
  for (const each of seen) {
    if (each.typeName === anyName) return true
    if (isOff(each) || isWellKnown(each)) continue
    if (each.oneofs.some((oneof) => getOption(oneof, required))) return true
    for (const field of each.fields) {
      const { message, type } = getOption(field, rulesOption)
      if (type.case !== undefined || message !== undefined) return true
      if (field.message !== undefined) seen.add(field.message)
    }
  }
  return false
}

/** ★ Fields come before oneofs, and those that are `optional` last: the order of protoc-gen-validate's reports. */
const compile = (type: DescMessage): ReadonlyArray<Check> => {
  if (isOff(type)) return []
  const plain = type.fields.filter((field) => field.oneof === undefined)
  return [
    ...plain.filter(({ proto }) => !proto.proto3Optional).map(fieldCheck),
    ...type.oneofs.map(oneofCheck),
    ...plain.filter(({ proto }) => proto.proto3Optional).map(fieldCheck)
  ].filter((check) => check !== undefined)
}

/** Envoy's API does not mark it, and it may be that of `authorization`. */
const isHeaderValue = (field: DescField): boolean =>
  /\.core\.(v3\.)?HeaderValue$/.test(field.parent.typeName) && field.name !== "key"

/** The check of the value of a field that is set; faults inside of it get the name of the field. */
const named = (field: DescField, check: Check): Check => {
  if (isSensitive(field) || isHeaderValue(field)) {
    return (value, report) => {
      const before = report.found.length
      report.sensitive++
      check(value, report)
      report.sensitive--
      if (report.found.length > before) report.inside(before, field.name)
    }
  }
  return (value, report) => {
    const before = report.found.length
    check(value, report)
    if (report.found.length > before) report.inside(before, field.name)
  }
}

const fieldCheck = (field: DescField): Check | undefined => {
  const check = valueOf(field)
  if (check === undefined) return undefined
  const { localName } = field
  const inField = named(field, check)
  // ★ What has no presence is checked at its default; what `optional` gives presence to only where it is set.
  const isOptional = field.proto.proto3Optional
  const isAlwaysThere = field.fieldKind === "message" && requiredRule(getOption(field, rulesOption)) !== undefined
  const isSkipped = isOptional || (field.fieldKind === "message" && !isAlwaysThere)
  return (message, report) => {
    const value = isProperties(message) ? message[localName] : undefined
    if (value !== undefined || !isSkipped) inField(value, report)
  }
}

/** The member that is set is checked, also where `required` asks only for one. */
const oneofCheck = (oneof: DescOneof): Check | undefined => {
  const checks = new Map<string, Check>()
  for (const field of oneof.fields) {
    const check = valueOf(field)
    if (check !== undefined) checks.set(field.localName, named(field, check))
  }
  const isNeeded = getOption(oneof, required)
  if (checks.size === 0 && !isNeeded) return undefined
  const problem = `must be set: one of ${oneof.fields.map(({ name }) => name).join(", ")}`
  return (message, report) => {
    const set = isProperties(message) ? message[oneof.localName] : undefined
    if (isProperties(set) && typeof set["case"] === "string") checks.get(set["case"])?.(set["value"], report)
    else if (isNeeded) {
      const before = report.found.length
      report.add("oneof.required", problem)
      report.inside(before, oneof.name)
    }
  }
}

/** The check of a field's value, list or map; `undefined`: there is nothing that it could break. */
const valueOf = (field: DescField): Check | undefined => {
  const rules = getOption(field, rulesOption)
  switch (field.fieldKind) {
    case "scalar":
      return scalarCheck(rules)
    case "enum":
      return enumCheck(rules, field.enum)
    case "message":
      return messageCheck(rules, field.message, field.oneof === undefined)
    case "list":
      return listCheck(
        rules.type.case === "repeated" ? rules.type.value : undefined,
        elementCheck(rules.type.case === "repeated" ? rules.type.value.items : undefined, field)
      )
    case "map": {
      const own = rules.type.case === "map" ? rules.type.value : undefined
      return mapCheck(
        own,
        own?.keys === undefined ? undefined : keyCheck(own.keys),
        elementCheck(own?.values, field),
        field.mapKey === ScalarType.STRING
      )
    }
  }
}

interface Element {
  readonly scalar: ScalarType | undefined
  readonly enum: DescEnum | undefined
  readonly message: DescMessage | undefined
}

const elementCheck = (rules: FieldRules | undefined, element: Element): Check | undefined => {
  if (element.message !== undefined) return messageCheck(rules, element.message, false)
  if (rules === undefined) return undefined
  return element.enum === undefined ? scalarCheck(rules) : enumCheck(rules, element.enum)
}

const scalarCheck = ({ type }: FieldRules): Check | undefined => {
  switch (type.case) {
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
    case "sfixed64":
      return NumberRules.numbers(type.case, type.value)
    case "bool":
      return NumberRules.booleans(type.value)
    case "string":
      return TextRules.strings(type.value)
    case "bytes":
      return TextRules.bytes(type.value)
    default:
      return undefined
  }
}

const enumCheck = ({ type }: FieldRules, desc: DescEnum): Check | undefined =>
  type.case === "enum" ? NumberRules.enums(type.value, desc) : undefined

/** The rule by which a message must be there, if there is one. ★ It means presence: an empty message passes. */
const requiredRule = ({ message, type }: FieldRules): string | undefined => {
  if (type.case === "any" || type.case === "duration" || type.case === "timestamp") {
    return type.value.required ? `${type.case}.required` : undefined
  }
  return message?.required === true ? "message.required" : undefined
}

/** @param isUnwrapped a wrapper is its value in protobuf-es, but in oneofs, lists and maps */
const messageCheck = (rules: FieldRules | undefined, type: DescMessage, isUnwrapped: boolean): Check | undefined => {
  const inside = rules === undefined ? insideCheck(undefined, type) : contentCheck(rules, type, isUnwrapped)
  const rule = rules && requiredRule(rules)
  if (rule === undefined) return inside
  return (value, report) => {
    if (value === undefined) report.add(rule, "must be set")
    else inside?.(value, report)
  }
}

const contentCheck = (rules: FieldRules, type: DescMessage, isUnwrapped: boolean): Check | undefined => {
  if (isWrapperDesc(type)) {
    const check = scalarCheck(rules)
    if (check === undefined || isUnwrapped) return check
    return (value, report) => check(isProperties(value) ? value["value"] : undefined, report)
  }
  switch (rules.type.case) {
    case "any":
      // ★ ExtensionConfigSource.config_source has rules for an `Any` and is none: what is in it is not checked.
      return type.typeName === anyName ? anyCheck(rules, type) : undefined
    case "duration":
      return TimeRules.durations(rules.type.value)
    case "timestamp":
      return TimeRules.timestamps(rules.type.value)
    default:
      return insideCheck(rules, type)
  }
}

const insideCheck = (rules: FieldRules | undefined, type: DescMessage): Check | undefined => {
  if (rules?.message?.skip === true || isWellKnown(type)) return undefined
  const inside = of(type)
  return inside.isNeeded() ? inside.check : undefined
}

const anyCheck = (rules: FieldRules, type: DescMessage): Check => {
  const inside = insideCheck(rules, type)
  const own = rules.type.case === "any" ? rules.type.value : undefined
  const oneOf = own?.in ?? []
  const noneOf = own?.notIn ?? []
  return (value, report) => {
    const typeUrl = isProperties(value) ? value["typeUrl"] : undefined
    if (typeof typeUrl !== "string") return notA(report, "an Any", value)
    if (oneOf.length > 0) {
      if (!oneOf.includes(typeUrl))
        report.add("any.in", `must be of one of the types ${oneOf.join(", ")}`, shownText(typeUrl))
    } else if (noneOf.includes(typeUrl)) {
      report.add("any.not_in", `must be of none of the types ${noneOf.join(", ")}`, shownText(typeUrl))
    }
    inside?.(value, report)
  }
}

/** ★ The rules of Envoy's API end at an `Any`; Envoy checks what is in it when it comes to use it, and so do we. */
const anyRules: MessageRules = {
  isNeeded: () => true,
  check: (any, report) => {
    if (report.isFull || !isProperties(any)) return
    const { typeUrl, value } = any
    if (typeof typeUrl !== "string" || !(value instanceof Uint8Array)) return notA(report, "an Any", any)
    const type = report.typeOf(typeUrl)
    if (type === undefined) return
    // What is in it counts by itself, but for an `Any`: that may hold another, and so on.
    const isAny = type.typeName === anyName
    if (isAny && !report.enter()) return
    const before = report.found.length
    decoded(type, value, report)
    if (isAny) report.depth--
    if (report.found.length > before) report.inside(before, `[${TypeRegistry.typeName(typeUrl)}]`)
  }
}

/** Checks a message that is encoded. Bytes that are none of the type are a fault. */
export const decoded = (type: DescMessage, bytes: Uint8Array, report: Report): void => {
  let message: Message
  try {
    message = MessageBytes.decode(type, bytes)
  } catch (cause) {
    const fault = MessageBytes.fault(type, bytes)
    const before = report.found.length
    const words = fault?.problem ?? Redaction.ofParser(Reason.of(cause))
    report.add("decode", fault?.path ? words : `must be a ${type.typeName}: it ${words}`)
    if (fault !== undefined && fault.path !== "") report.inside(before, fault.path)
    return
  }
  const rules = of(type)
  if (rules.isNeeded()) rules.check(message, report)
}

const listCheck = (rules: RepeatedRules | undefined, item: Check | undefined): Check | undefined => {
  const least = rules === undefined ? undefined : given(rules, "minItems")
  const most = rules === undefined ? undefined : given(rules, "maxItems")
  const isUnique = rules?.unique ?? false
  const size = sizeCheck("repeated", "item", least, most)
  if (size === undefined && !isUnique && item === undefined) return undefined
  return (value, report) => {
    if (!Array.isArray(value)) return notA(report, "a list", value)
    if (value.length === 0 && rules?.ignoreEmpty === true) return
    size?.(value.length, report)
    if (!isUnique && item === undefined) return
    const seen = isUnique ? new Set<unknown>() : undefined
    for (let index = 0; index < value.length && !report.isFull; index++) {
      const before = report.found.length
      const each: unknown = value[index]
      if (seen !== undefined) unique(each, seen, report)
      item?.(each, report)
      if (report.found.length > before) report.inside(before, `[${index}]`)
    }
  }
}

const unique = (item: unknown, seen: Set<unknown>, report: Report): void => {
  // ★ No NaN is another one, as in Go; to a Set they all are one. Bytes are compared by what they hold.
  if (Number.isNaN(item)) return
  const key = item instanceof Uint8Array ? item.join() : item
  if (seen.has(key)) report.add("repeated.unique", "must not be in the list twice")
  seen.add(key)
}

const sizeCheck = (
  kind: "repeated" | "map",
  unit: "item" | "pair",
  least: bigint | undefined,
  most: bigint | undefined
): ((size: number, report: Report) => void) | undefined => {
  if (least === undefined && most === undefined) return undefined
  const problem =
    least !== undefined && least === most
      ? `must have exactly ${counted(least, unit)}`
      : [
          ...(least === undefined ? [] : [`at least ${counted(least, unit)}`]),
          ...(most === undefined ? [] : [`at most ${counted(most, unit)}`])
        ].join(" and ")
  const said = problem.startsWith("must") ? problem : `must have ${problem}`
  return (size, report) => {
    const isSmall = least !== undefined && size < least
    if (!isSmall && !(most !== undefined && size > most)) return
    report.add(`${kind}.${isSmall ? "min" : "max"}_${unit}s`, said, counted(size, unit))
  }
}

/** protobuf-es has all keys as strings. */
const keyCheck = (rules: FieldRules): Check | undefined => {
  const check = scalarCheck(rules)
  if (check === undefined) return undefined
  const isText = rules.type.case === "string"
  const isBoolean = rules.type.case === "bool"
  return (key, report) => {
    if (isText) check(key, report)
    else if (isBoolean) check(key === "true", report)
    else if (typeof key === "string" && /^-?\d+$/.test(key)) check(BigInt(key), report)
    else notA(report, "a number", key)
  }
}

const mapCheck = (
  rules: MapRules | undefined,
  key: Check | undefined,
  element: Check | undefined,
  isKeyText: boolean
): Check | undefined => {
  const size = sizeCheck(
    "map",
    "pair",
    rules === undefined ? undefined : given(rules, "minPairs"),
    rules === undefined ? undefined : given(rules, "maxPairs")
  )
  const isDense = rules?.noSparse ?? false
  if (size === undefined && !isDense && key === undefined && element === undefined) return undefined
  return (value, report) => {
    if (!isProperties(value)) return notA(report, "a map", value)
    const keys = Object.keys(value)
    if (keys.length === 0 && rules?.ignoreEmpty === true) return
    size?.(keys.length, report)
    if (!isDense && key === undefined && element === undefined) return
    // Always the same order, whatever the order on the wire.
    if (keys.length > 1) keys.sort(isKeyText ? undefined : (a, b) => Number(a) - Number(b))
    for (const each of keys) {
      if (report.isFull) return
      const before = report.found.length
      if (isDense && value[each] === undefined) report.add("map.no_sparse", "must have a value")
      key?.(each, report)
      element?.(value[each], report)
      if (report.found.length > before) report.inside(before, `[${shownText(each)}]`)
    }
  }
}
