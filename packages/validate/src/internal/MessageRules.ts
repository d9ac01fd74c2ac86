/**
 * The rules of a message type, compiled from its descriptor into one check per field and oneof when the first message of the
 * type comes; the types of messages inside wait for theirs.
 */
import type { DescEnum, DescField, DescMessage, DescOneof, Message } from "@bufbuild/protobuf"
import { getOption, ScalarType } from "@bufbuild/protobuf"
import { isWrapperDesc } from "@bufbuild/protobuf/wkt"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import { isSensitive } from "@effect-xds/proto/MessageRedaction"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { disabled, type FieldRules, ignored, required, rules as rulesOption } from "@effect-xds/proto/validate/validate"
import * as CollectionRules from "./CollectionRules.js"
import * as NumberRules from "./NumberRules.js"
import { type Check, notA, type Report, run, shownText, withSteps } from "./Report.js"
import * as TextRules from "./TextRules.js"
import * as TimeRules from "./TimeRules.js"
import { isProperties } from "./Properties.js"
import * as Unopened from "./Unopened.js"

/** The rules of one message type. */
export interface MessageRules {
  readonly check: Check
  /** Whether a message of the type can break a rule at all; one that cannot is not entered. */
  readonly isNeeded: () => boolean
}

const anyName = "google.protobuf.Any"

/** Of the well-known types only `Any` can hold what has rules; and `Struct` and wrappers are no messages in protobuf-es. */
const isWellKnown = ({ typeName }: DescMessage): boolean =>
  typeName.startsWith("google.protobuf.") && typeName !== anyName

/** Whether nothing in a message of the type is checked. */
export const isOff = (type: DescMessage): boolean => getOption(type, disabled) || getOption(type, ignored)

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
    check: withSteps(
      (message, report) => {
        if (!report.enter()) return
        checks ??= compile(type)
        for (const check of checks) check(message, report)
        report.depth--
      },
      function* (message, report, large) {
        if (!report.enter()) return
        yield
        checks ??= compile(type)
        for (const check of checks) yield* run(check, message, report, large)
        report.depth--
      }
    )
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
    unopenedIn(type),
    ...plain.filter(({ proto }) => !proto.proto3Optional).map(fieldCheck),
    ...type.oneofs.map(oneofCheck),
    ...plain.filter(({ proto }) => proto.proto3Optional).map(fieldCheck)
  ].filter((check) => check !== undefined)
}

/** No rule: it finds the `Any`s of a message that are not opened, before its fields are looked at. */
const unopenedIn = (type: DescMessage): Check | undefined => {
  const find = Unopened.finderOf(type.typeName)
  return find && ((message, report) => Unopened.note(message, find, report))
}

/** Envoy's API does not mark it, and it may be that of `authorization`. */
const isHeaderValue = (field: DescField): boolean =>
  /\.core\.(v3\.)?HeaderValue$/.test(field.parent.typeName) && field.name !== "key"

/** The check of the value of a field that is set; faults inside of it get the name of the field. */
const named = (field: DescField, check: Check): Check => {
  const sensitive = isSensitive(field) || isHeaderValue(field) ? 1 : 0
  const { inSteps } = check
  return withSteps(
    (value, report) => {
      const before = report.found.length
      report.sensitive += sensitive
      check(value, report)
      report.sensitive -= sensitive
      if (report.found.length > before) report.inside(before, field.name)
    },
    inSteps &&
      function* (value, report, large) {
        const before = report.found.length
        report.sensitive += sensitive
        yield* inSteps(value, report, large)
        report.sensitive -= sensitive
        if (report.found.length > before) report.inside(before, field.name)
      }
  )
}

/** The check of a field, in the message that it is in; `undefined`: there is nothing that it could break. */
export const fieldCheck = (field: DescField): Check | undefined => {
  const check = valueOf(field)
  if (check === undefined) return undefined
  const { localName } = field
  const inField = named(field, check)
  // ★ What has no presence is checked at its default; what `optional` gives presence to only where it is set.
  const isOptional = field.proto.proto3Optional
  const isAlwaysThere = field.fieldKind === "message" && requiredRule(getOption(field, rulesOption)) !== undefined
  const isSkipped = isOptional || (field.fieldKind === "message" && !isAlwaysThere)
  return withSteps(
    (message, report) => {
      const value = isProperties(message) ? message[localName] : undefined
      if (value !== undefined || !isSkipped) inField(value, report)
    },
    inField.inSteps &&
      function* (message, report, large) {
        const value = isProperties(message) ? message[localName] : undefined
        if (value !== undefined || !isSkipped) yield* run(inField, value, report, large)
      }
  )
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
  const missing = (report: Report): void => {
    const before = report.found.length
    report.add("oneof.required", problem)
    report.inside(before, oneof.name)
  }
  return withSteps(
    (message, report) => {
      const set = isProperties(message) ? message[oneof.localName] : undefined
      if (isProperties(set) && typeof set["case"] === "string") checks.get(set["case"])?.(set["value"], report)
      else if (isNeeded) missing(report)
    },
    function* (message, report, large) {
      const set = isProperties(message) ? message[oneof.localName] : undefined
      if (isProperties(set) && typeof set["case"] === "string")
        yield* run(checks.get(set["case"]), set["value"], report, large)
      else if (isNeeded) missing(report)
    }
  )
}

/** The check of a field's value, list or map; `undefined`: there is nothing that it could break. */
export const valueOf = (field: DescField): Check | undefined => {
  const rules = getOption(field, rulesOption)
  switch (field.fieldKind) {
    case "scalar":
      return scalarCheck(rules)
    case "enum":
      return enumCheck(rules, field.enum)
    case "message":
      return messageCheck(rules, field.message, field.oneof === undefined)
    case "list":
      return CollectionRules.lists(
        rules.type.case === "repeated" ? rules.type.value : undefined,
        elementCheck(rules.type.case === "repeated" ? rules.type.value.items : undefined, field)
      )
    case "map": {
      const own = rules.type.case === "map" ? rules.type.value : undefined
      return CollectionRules.maps(
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

/** The check of an item of a list, or of the value of a map's entry. */
export const elementCheck = (rules: FieldRules | undefined, element: Element): Check | undefined => {
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
  const inside = insideOf(rules, type, isUnwrapped)
  const rule = rules && requiredRule(rules)
  if (rule === undefined) return inside
  return withSteps((value, report) => {
    if (value === undefined) report.add(rule, "must be set")
    else inside?.(value, report)
  }, inside?.inSteps)
}

/** The check of a message that is there. */
export const insideOf = (rules: FieldRules | undefined, type: DescMessage, isUnwrapped: boolean): Check | undefined =>
  rules === undefined ? insideCheck(undefined, type) : contentCheck(rules, type, isUnwrapped)

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
  /** Whether what is in it is to be checked. */
  const checkType = (value: unknown, report: Report): boolean => {
    const typeUrl = isProperties(value) ? value["typeUrl"] : undefined
    if (typeof typeUrl !== "string") {
      notA(report, "an Any", value)
      return false
    }
    if (oneOf.length > 0) {
      if (!oneOf.includes(typeUrl))
        report.add("any.in", `must be of one of the types ${oneOf.join(", ")}`, shownText(typeUrl))
    } else if (noneOf.includes(typeUrl)) {
      report.add("any.not_in", `must be of none of the types ${noneOf.join(", ")}`, shownText(typeUrl))
    }
    return true
  }
  return withSteps(
    (value, report) => {
      if (checkType(value, report)) inside?.(value, report)
    },
    function* (value, report, large) {
      if (checkType(value, report)) yield* run(inside, value, report, large)
    }
  )
}

/** The content of an `Any` whose type is known. */
interface Packed {
  readonly type: DescMessage
  readonly value: Uint8Array
  readonly segment: string
}

/** What is to be checked of an `Any`; `undefined`: nothing. */
const packedIn = (any: unknown, report: Report): Packed | undefined => {
  if (report.isFull || !isProperties(any) || report.unopened?.has(any) === true) return undefined
  const { typeUrl, value } = any
  if (typeof typeUrl !== "string" || !(value instanceof Uint8Array)) {
    notA(report, "an Any", any)
    return undefined
  }
  const type = report.typeOf(typeUrl)
  if (type === undefined) return undefined
  // What is in it counts by itself, but for an `Any`: that may hold another, and so on.
  if (type.typeName === anyName && !report.enter()) return undefined
  return { type, value, segment: `[${TypeRegistry.typeName(typeUrl)}]` }
}

/** ★ The rules of Envoy's API end at an `Any`; Envoy checks what is in it when it comes to use it, and so do we. */
const anyRules: MessageRules = {
  isNeeded: () => true,
  check: withSteps(
    (any, report) => {
      const packed = packedIn(any, report)
      if (packed === undefined) return
      const before = report.found.length
      decoded(packed.type, packed.value, report)
      if (packed.type.typeName === anyName) report.depth--
      if (report.found.length > before) report.inside(before, packed.segment)
    },
    function* (any, report) {
      const packed = packedIn(any, report)
      if (packed === undefined) return
      const before = report.found.length
      yield* decodedInSteps(packed.type, packed.value, report)
      if (packed.type.typeName === anyName) report.depth--
      if (report.found.length > before) report.inside(before, packed.segment)
    }
  )
}

/** Checks a message that is encoded. Bytes that are none of the type are a fault. */
export const decoded = (type: DescMessage, bytes: Uint8Array, report: Report): void => {
  let message: Message
  try {
    message = MessageBytes.decode(type, bytes)
  } catch (cause) {
    return undecodable(type, MessageBytes.fault(type, bytes), cause, report)
  }
  const rules = of(type)
  if (rules.isNeeded()) rules.check(message, report)
}

/** The same in steps. */
export const decodedInSteps = function* (
  type: DescMessage,
  bytes: Uint8Array,
  report: Report
): MessageSteps.Steps<void> {
  if (bytes.byteLength < MessageSteps.least) return decoded(type, bytes, report)
  let message: MessageSteps.Decoded
  try {
    message = yield* MessageSteps.decode(type, bytes)
  } catch (cause) {
    return undecodable(type, yield* MessageSteps.fault(type, bytes), cause, report)
  }
  const rules = of(type)
  if (rules.isNeeded()) yield* run(rules.check, message.message, report, message.large)
}

const undecodable = (
  type: DescMessage,
  fault: MessageBytes.Fault | undefined,
  cause: unknown,
  report: Report
): void => {
  const before = report.found.length
  const words = fault?.problem ?? Redaction.ofParser(Reason.of(cause))
  report.add("decode", fault?.path ? words : `must be a ${type.typeName}: it ${words}`)
  if (fault !== undefined && fault.path !== "") report.inside(before, fault.path)
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
