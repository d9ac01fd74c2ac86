/**
 * Whether the bytes of a message break no rule, without making the message: a store asks it of a hundred thousand resources, and
 * to make a message takes several times as long as to look at its bytes.
 *
 * ★ It says that no rule is broken, or nothing: which one, where and why is for {@link MessageRules}. Every value is judged by the
 * same checks as there, so there are no second verdicts.
 */
import { create, type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { type FieldRules, required, rules as rulesOption, type StringRules } from "@effect-xds/proto/validate/validate"
import * as CollectionRules from "./CollectionRules.js"
import * as MessageRules from "./MessageRules.js"
import { type Check, Report } from "./Report.js"
import * as Unopened from "./Unopened.js"

const varint: number = WireType.Varint
const bit64: number = WireType.Bit64
const bit32: number = WireType.Bit32
const delimited: number = WireType.LengthDelimited

interface ValuePlan {
  /**
   * - `skip`: that it is there is all that counts
   * - `unsure`: it is left to {@link MessageRules}
   * - `notEmpty`: a string that must not be empty
   * - `message`: one with rules of its own
   * - `time`: a Duration or a Timestamp
   * - `wrapper`: a message with one scalar, which is the value
   */
  readonly kind: "skip" | "unsure" | "scalar" | "notEmpty" | "message" | "any" | "time" | "wrapper"
  readonly scalar: ScalarType
  readonly check: Check | undefined
  readonly message: MessagePlan | undefined
}

interface FieldPlan {
  readonly value: ValuePlan
  /** A bit, if the message breaks a rule where the field, or another of its oneof, is not there; else 0. */
  readonly needed: number
  /** A list or a map. */
  readonly isMany: boolean
  /** Of a map. */
  readonly key: ValuePlan | undefined
  readonly least: number
  readonly most: number
}

interface MessagePlan {
  /** By their numbers; what is not here needs no look. Compiled when the first message comes. */
  readonly fields: () => ReadonlyArray<FieldPlan | undefined>
  /** The bits of all that must be there. */
  needed: number
  /** Whether messages of the type are left to {@link MessageRules}. */
  isUnsure: boolean
}

/** A field with a higher number makes its message unsure. */
const maxNumber = 1_000

/** Messages that are nested deeper, `Any`s counted, are left to {@link MessageRules}, which reads 100. */
const deepest = 40

const maxBits = 30

// Descriptors never change.
const plans = new WeakMap<DescMessage, MessagePlan>()

const planOf = (type: DescMessage): MessagePlan => {
  const known = plans.get(type)
  if (known !== undefined) return known
  let fields: ReadonlyArray<FieldPlan | undefined> | undefined
  const plan: MessagePlan = { needed: 0, isUnsure: false, fields: () => (fields ??= compile(type, plan)) }
  plans.set(type, plan)
  return plan
}

const compile = (type: DescMessage, plan: MessagePlan): ReadonlyArray<FieldPlan | undefined> => {
  const fields: Array<FieldPlan | undefined> = []
  if (MessageRules.isOff(type)) return fields
  let bits = 0
  const bit = (): number => {
    if (++bits > maxBits) plan.isUnsure = true
    const one = plan.isUnsure ? 0 : 2 ** (bits - 1)
    plan.needed |= one
    return one
  }
  const neededOneofs = new Map(
    type.oneofs.filter((oneof) => getOption(oneof, required)).map((oneof) => [oneof, bit()] as const)
  )
  const empty = create(type)
  for (const field of type.fields) {
    const needed =
      field.oneof === undefined ? (breaksAbsent(field, empty) ? bit() : 0) : (neededOneofs.get(field.oneof) ?? 0)
    const made = fieldPlan(field, needed)
    if (made === undefined) continue
    if (field.number > maxNumber) {
      plan.isUnsure = true
      continue
    }
    // Without holes, which are slow.
    while (fields.length <= field.number) fields.push(undefined)
    fields[field.number] = made
  }
  return fields
}

const breaksAbsent = (field: DescField, empty: unknown): boolean => {
  const report = new Report(1, () => undefined, undefined, undefined)
  MessageRules.fieldCheck(field)?.(empty, report)
  return report.found.length > 0
}

/** A field of one value. */
const single = (value: ValuePlan, needed: number): FieldPlan => ({
  value,
  needed,
  isMany: false,
  key: undefined,
  least: 0,
  most: Infinity
})

/** A list, or a map with a plan for its keys. */
const many = (
  value: ValuePlan,
  needed: number,
  key: ValuePlan | undefined,
  { least, most }: Pick<FieldPlan, "least" | "most">
): FieldPlan => ({ value, needed, isMany: true, key, least, most })

const anyNumber = { least: 0, most: Infinity } as const
const atMostOne = { least: 0, most: 1 } as const

const limitsOf = ({ least, most }: ReturnType<typeof CollectionRules.itemsOf>) => ({
  least: Number(least ?? 0),
  most: Number(most ?? Infinity)
})

/** `undefined`: it needs no look. */
const fieldPlan = (field: DescField, needed: number): FieldPlan | undefined => {
  const name = `${field.parent.typeName}.${field.name}`
  if (Unopened.fields.unsure.some((each) => each === name)) return single(unsure, needed)
  if (MessageRules.valueOf(field) === undefined) return needed === 0 ? undefined : single(skip, needed)
  const rules = getOption(field, rulesOption)
  switch (field.fieldKind) {
    case "scalar":
    case "enum":
    case "message":
      return single(valuePlan(rules, field), needed)
    case "list": {
      const own = rules.type.case === "repeated" ? rules.type.value : undefined
      if (own?.unique === true) return many(unsure, needed, undefined, anyNumber)
      const limits = name === Unopened.fields.ofOne ? atMostOne : limitsOf(CollectionRules.itemsOf(own))
      const value = valuePlan(own?.items, field)
      // Numbers that are not looked at cannot be counted.
      const isCountable = value.kind !== "skip" || field.listKind === "message" || isLong(field.scalar)
      return many(isCountable ? value : unsure, needed, undefined, limits)
    }
    case "map": {
      const own = rules.type.case === "map" ? rules.type.value : undefined
      const limits = limitsOf(CollectionRules.pairsOf(own))
      if (name === Unopened.fields.never) return many(skip, needed, keyPlan(own?.keys, field.mapKey), limits)
      // ★ A key that is there twice is one pair.
      const value = own?.noSparse === true || limits.least > 1 ? unsure : valuePlan(own?.values, field)
      return many(value, needed, keyPlan(own?.keys, field.mapKey), limits)
    }
  }
}

/** All of one shape, since the walk looks at one for each field. */
const planned = (
  kind: ValuePlan["kind"],
  check?: Check,
  scalar: ScalarType = ScalarType.STRING,
  message?: MessagePlan
): ValuePlan => ({ kind, scalar, check, message })

const skip = planned("skip")
const unsure = planned("unsure")
const notEmpty = planned("notEmpty")

/** The value of a field, or of an item of a list or a map. */
const valuePlan = (rules: FieldRules | undefined, field: DescField): ValuePlan => {
  const { message } = field
  if (message !== undefined) return messagePlan(rules, message)
  const check = MessageRules.elementCheck(rules, field)
  if (check === undefined || rules === undefined) return skip
  if (field.enum !== undefined) {
    // What a closed enum does not have goes to the unknown fields.
    return field.enum.open ? planned("scalar", check, ScalarType.INT32) : unsure
  }
  if ("longAsString" in field && field.longAsString) return unsure
  if (rules.type.case === "string" && isNotEmpty(rules.type.value)) return notEmpty
  return planned("scalar", check, field.scalar)
}

/** Whether there is one rule, that a string is not empty: that of most strings. */
const isNotEmpty = (rules: StringRules): boolean => {
  let found = false
  for (const [key, value] of Object.entries(rules)) {
    if (key === "minLen" || key === "minBytes") {
      if (value !== 1n) return false
      found = true
    } else if (key === "in" || key === "notIn") {
      if (!Array.isArray(value) || value.length > 0) return false
    } else if (key === "wellKnown") {
      if (rules.wellKnown.case !== undefined) return false
    } else if (!key.startsWith("$")) return false
  }
  return found
}

const keyPlan = (rules: FieldRules | undefined, scalar: ScalarType): ValuePlan => {
  if (rules === undefined) return skip
  const check = MessageRules.elementCheck(rules, { scalar, enum: undefined, message: undefined })
  if (rules.type.case !== "string" || check === undefined) return unsure
  return isNotEmpty(rules.type.value) ? notEmpty : planned("scalar", check)
}

const messagePlan = (rules: FieldRules | undefined, type: DescMessage): ValuePlan => {
  const check = MessageRules.insideOf(rules, type, true)
  if (check === undefined) return skip
  const inner = type.fields.find(({ number }) => number === 1)
  switch (type.typeName) {
    case "google.protobuf.Any":
      return rules?.type.case === "any" && rules.type.value.in.length + rules.type.value.notIn.length > 0
        ? unsure
        : planned("any")
    case "google.protobuf.Duration":
    case "google.protobuf.Timestamp":
      return planned("time", check)
    default:
      if (!type.typeName.startsWith("google.protobuf."))
        return planned("message", undefined, ScalarType.STRING, planOf(type))
      return type.typeName.endsWith("Value") && inner?.fieldKind === "scalar"
        ? planned("wrapper", check, inner.scalar)
        : unsure
  }
}

const text = new TextDecoder()

const zeroOf = (scalar: ScalarType): unknown => {
  switch (scalar) {
    case ScalarType.STRING:
      return ""
    case ScalarType.BYTES:
      return new Uint8Array()
    case ScalarType.BOOL:
      return false
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return 0n
    default:
      return 0
  }
}

/** Goes through bytes that are a message; what it is not sure of breaks a rule to it. */
class Walk {
  #at = 0
  readonly #bytes: Uint8Array
  readonly #report: Report

  constructor(bytes: Uint8Array, report: Report) {
    this.#bytes = bytes
    this.#report = report
  }

  message(plan: MessagePlan, end: number, depth: number): boolean {
    const fields = plan.fields()
    if (plan.isUnsure || depth > deepest) return false
    this.#report.messages++
    let needed = plan.needed
    let last = 0
    while (this.#at < end) {
      const begin = this.#at
      const tag = this.#number(end)
      const number = tag >>> 3
      const field = fields[number]
      if (field === undefined) {
        if (tag < 8 || !this.#over(tag & 7, end)) return false
        continue
      }
      // ★ Pieces of one message, and lists with something in between, are put together by who decodes them.
      if (number <= last) return false
      last = number
      needed &= ~field.needed
      if (field.isMany) {
        this.#at = begin
        if (!this.#list(field, tag, end, depth)) return false
      } else if (!this.#value(field.value, tag & 7, end, depth)) return false
    }
    return needed === 0
  }

  /** All items that follow one another. */
  #list({ key, least, most, value }: FieldPlan, tag: number, end: number, depth: number): boolean {
    let count = 0
    while (this.#at < end) {
      const begin = this.#at
      if (this.#number(end) !== tag) {
        this.#at = begin
        break
      }
      if (key !== undefined) {
        if (!this.#entry(key, value, end, depth)) return false
        count++
      } else if ((tag & 7) === delimited && value.kind === "scalar" && !isLong(value.scalar)) {
        const packed = this.#end(end)
        if (packed < 0) return false
        for (; this.#at < packed; count++) if (!this.#scalar(value, packed)) return false
      } else {
        if (!this.#value(value, tag & 7, end, depth)) return false
        count++
      }
    }
    return count >= least && count <= most
  }

  /** An entry of a map. ★ The last one of a key counts, and only it; here each must be right. */
  #entry(key: ValuePlan, value: ValuePlan, end: number, depth: number): boolean {
    const last = this.#end(end)
    if (last < 0) return false
    let seen = 0
    while (this.#at < last) {
      const tag = this.#number(last)
      const number = tag >>> 3
      // What has another number is not known.
      if (number === seen + 1 || (number === 2 && key.kind === "skip" && seen === 0)) {
        seen = number
        if (!this.#value(number === 1 ? key : value, tag & 7, last, depth)) return false
      } else return false
    }
    // Without a value it is that of the type, which may break a rule.
    return seen === 2 || (value.kind === "skip" && (seen === 1 || key.kind === "skip"))
  }

  #value(plan: ValuePlan, wireType: number, end: number, depth: number): boolean {
    switch (plan.kind) {
      case "skip":
        return this.#over(wireType, end)
      case "unsure":
        return false
      case "scalar":
        return this.#scalar(plan, end)
      default:
        break
    }
    const last = this.#end(end)
    if (last < 0) return false
    switch (plan.kind) {
      case "notEmpty": {
        const isFilled = last > this.#at
        this.#at = last
        return isFilled
      }
      case "message":
        return plan.message !== undefined && this.message(plan.message, last, depth + 1)
      case "any":
        return this.#any(last, depth + 1)
      case "time":
        return this.#time(plan.check, last)
      case "wrapper":
        return this.#wrapper(plan, last)
    }
  }

  #any(end: number, depth: number): boolean {
    let type: DescMessage | undefined
    let seen = 0
    while (this.#at < end) {
      const tag = this.#number(end)
      // The type goes first, and nothing comes twice.
      if (tag !== seen * 8 + 10) return false
      seen++
      const last = this.#end(end)
      if (last < 0) return false
      if (seen === 1) type = this.#report.typeOf(text.decode(this.#bytes.subarray(this.#at, last)))
      else if (type !== undefined) return this.#content(type, last, depth) && last === end
      this.#at = last
    }
    // Without a value it is an empty message, which may break a rule.
    return type === undefined || this.#content(type, end, depth)
  }

  #content(type: DescMessage, end: number, depth: number): boolean {
    if (type.typeName === "google.protobuf.Any") return false
    if (!MessageBytes.isMessage(type, this.#bytes.subarray(this.#at, end))) return false
    if (MessageRules.of(type).isNeeded()) return this.message(planOf(type), end, depth)
    this.#at = end
    return true
  }

  #time(check: Check | undefined, end: number): boolean {
    const value = { seconds: 0n, nanos: 0 }
    while (this.#at < end) {
      const tag = this.#number(end)
      const number = tag === 8 || tag === 16 ? this.#number(end) : -1
      if (number < 0) return false
      if (tag === 8) value.seconds = BigInt(number)
      else value.nanos = number
    }
    return this.#passes(check, value)
  }

  #wrapper(plan: ValuePlan, end: number): boolean {
    if (this.#at === end) return this.#passes(plan.check, zeroOf(plan.scalar))
    if (this.#number(end) >>> 3 !== 1) return false
    return this.#scalar(plan, end) && this.#at === end
  }

  #scalar({ check, scalar }: ValuePlan, end: number): boolean {
    const bytes = this.#bytes
    switch (scalar) {
      case ScalarType.STRING:
      case ScalarType.BYTES: {
        const last = this.#end(end)
        if (last < 0) return false
        const part = bytes.subarray(this.#at, last)
        this.#at = last
        return this.#passes(check, scalar === ScalarType.STRING ? text.decode(part) : part)
      }
      case ScalarType.DOUBLE:
      case ScalarType.FLOAT: {
        const begin = this.#at
        this.#at += scalar === ScalarType.DOUBLE ? 8 : 4
        if (this.#at > end) return false
        const view = new DataView(bytes.buffer, bytes.byteOffset + begin)
        return this.#passes(check, scalar === ScalarType.DOUBLE ? view.getFloat64(0, true) : view.getFloat32(0, true))
      }
      case ScalarType.INT32:
      case ScalarType.UINT32:
      case ScalarType.INT64:
      case ScalarType.UINT64:
      case ScalarType.BOOL: {
        const number = this.#number(end)
        if (number < 0) return false
        if (scalar === ScalarType.BOOL) return number <= 1 && this.#passes(check, number === 1)
        const isBig = scalar === ScalarType.INT64 || scalar === ScalarType.UINT64
        return this.#passes(check, isBig ? BigInt(number) : number)
      }
      default:
        return false
    }
  }

  #passes(check: Check | undefined, value: unknown): boolean {
    check?.(value, this.#report)
    return this.#report.found.length === 0 && !this.#report.isFull
  }

  /** Goes over a value. */
  #over(wireType: number, end: number): boolean {
    switch (wireType) {
      case varint:
        while (this.#at < end) if ((this.#bytes[this.#at++] ?? 0) < 0x80) return true
        return false
      case bit64:
        this.#at += 8
        return this.#at <= end
      case bit32:
        this.#at += 4
        return this.#at <= end
      case delimited: {
        const last = this.#end(end)
        this.#at = last
        return last >= 0
      }
      default:
        return false
    }
  }

  /** The end of a value with a length; -1: behind that of what it is in. */
  #end(end: number): number {
    const length = this.#number(end)
    const last = this.#at + length
    return length < 0 || last > end ? -1 : last
  }

  /** A number below 2^28, which is enough for a tag, a length and most values; -1: something else. */
  #number(end: number): number {
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

/** Whether each value of a scalar has a length, so that a list of it is never packed. */
const isLong = (scalar: ScalarType | undefined): boolean => scalar === ScalarType.STRING || scalar === ScalarType.BYTES

/**
 * Whether the bytes are a message of the type that breaks no rule, for sure. `report` knows the types of `Any`s; what is found is not
 * the whole, and not told.
 *
 * @param isMessage whether the bytes are known to be one
 */
export const pass = (type: DescMessage, bytes: Uint8Array, report: Report, isMessage = false): boolean => {
  if (!isMessage && !MessageBytes.isMessage(type, bytes)) return false
  return !MessageRules.of(type).isNeeded() || new Walk(bytes, report).message(planOf(type), bytes.byteLength, 1)
}
