/**
 * The rules of numbers: the twelve kinds of `validate.proto` that differ in their type only; of booleans and enums.
 */
import type { DescEnum } from "@bufbuild/protobuf"
import type { BoolRules, DoubleRules, EnumRules, Int64Rules } from "@effect-xds/proto/validate/validate"
import * as Membership from "./Membership.js"
import * as Range from "./Range.js"
import { type Check, given, notA } from "./Report.js"

type Numeric = number | bigint

/** What the rules of all numbers have; 64 bits are bigints. */
type NumberRules = Pick<
  DoubleRules | Int64Rules,
  "const" | "lt" | "lte" | "gt" | "gte" | "in" | "notIn" | "ignoreEmpty"
>

const isNumeric = (value: unknown): value is Numeric => typeof value === "number" || typeof value === "bigint"

/** NaN where one is NaN. A number and a bigint are compared exactly. */
const compare = (a: Numeric, b: Numeric): number => (a < b ? -1 : a > b ? 1 : a == b ? 0 : Number.NaN)

export const numbers = (kind: string, rules: NumberRules): Check => {
  const constant = given(rules, "const")
  const range = Range.check<Numeric>(
    kind,
    { lt: given(rules, "lt"), lte: given(rules, "lte"), gt: given(rules, "gt"), gte: given(rules, "gte") },
    compare,
    String
  )
  // NaN equals nothing, also not itself.
  const member = Membership.check<Numeric>(kind, rules, (a, b) => a == b, String)
  return (value, report) => {
    if (!isNumeric(value)) return notA(report, "a number", value)
    if (rules.ignoreEmpty && compare(value, 0) === 0) return
    if (constant !== undefined && value != constant) report.add(`${kind}.const`, `must be ${constant}`, String(value))
    range?.(value, report)
    member?.(value, report)
  }
}

export const booleans = (rules: BoolRules): Check | undefined => {
  const constant = given(rules, "const")
  if (constant === undefined) return undefined
  return (value, report) => {
    if (typeof value !== "boolean") return notA(report, "a boolean", value)
    if (value !== constant) report.add("bool.const", `must be ${constant}`, String(value))
  }
}

export const enums = (rules: EnumRules, type: DescEnum): Check => {
  const constant = given(rules, "const")
  const nameOf = (number: number): string => type.value[number]?.name ?? String(number)
  const member = Membership.check<number>("enum", rules, (a, b) => a === b, nameOf)
  return (value, report) => {
    if (typeof value !== "number") return notA(report, "a number", value)
    if (constant !== undefined && value !== constant) {
      report.add("enum.const", `must be ${nameOf(constant)}`, nameOf(value))
    }
    member?.(value, report)
    if (rules.definedOnly && type.value[value] === undefined) {
      report.add("enum.defined_only", `must be a value of ${type.typeName}`, nameOf(value))
    }
  }
}
