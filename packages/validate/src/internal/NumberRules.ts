/**
 * The rules of numbers: the twelve kinds of `validate.proto` that differ in their type only; of booleans and enums.
 */
import type { DescEnum } from "@bufbuild/protobuf"
import type { BoolRules, DoubleRules, EnumRules, Int64Rules } from "@effect-xds/proto/validate/validate"
import * as Range from "./Range.js"
import { type Check, given, notA, type Report } from "./Report.js"

type Numeric = number | bigint

/** What the rules of all numbers have; 64 bits are bigints. */
type NumberRules = Pick<
  DoubleRules | Int64Rules,
  "const" | "lt" | "lte" | "gt" | "gte" | "in" | "notIn" | "ignoreEmpty"
>

const isNumeric = (value: unknown): value is Numeric => typeof value === "number" || typeof value === "bigint"

/** NaN where one is NaN. A number and a bigint are compared exactly. */
const compare = (a: Numeric, b: Numeric): number => (a < b ? -1 : a > b ? 1 : a == b ? 0 : Number.NaN)

const list = (values: ReadonlyArray<Numeric | string>): string => values.map(String).join(", ")

export const numbers = (kind: string, rules: NumberRules): Check => {
  const constant = given(rules, "const")
  const range = Range.check<Numeric>(
    kind,
    { lt: given(rules, "lt"), lte: given(rules, "lte"), gt: given(rules, "gt"), gte: given(rules, "gte") },
    compare,
    String
  )
  const oneOf: ReadonlyArray<Numeric> = rules.in
  const noneOf: ReadonlyArray<Numeric> = rules.notIn
  // `includes` would find NaN, which equals nothing.
  const isIn = (values: ReadonlyArray<Numeric>, value: Numeric): boolean => values.some((each) => each == value)
  return (value, report) => {
    if (!isNumeric(value)) return notA(report, "a number", value)
    if (rules.ignoreEmpty && compare(value, 0) === 0) return
    if (constant !== undefined && value != constant) report.add(`${kind}.const`, `must be ${constant}`, String(value))
    range?.(value, report)
    if (oneOf.length > 0) {
      if (!isIn(oneOf, value)) report.add(`${kind}.in`, `must be one of ${list(oneOf)}`, String(value))
    } else if (noneOf.length > 0 && isIn(noneOf, value)) {
      report.add(`${kind}.not_in`, `must be none of ${list(noneOf)}`, String(value))
    }
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
  const names = (numbers: ReadonlyArray<number>): string => list(numbers.map(nameOf))
  const add = (report: Report, rule: string, problem: string, value: number): void =>
    report.add(`enum.${rule}`, problem, nameOf(value))
  return (value, report) => {
    if (typeof value !== "number") return notA(report, "a number", value)
    if (constant !== undefined && value !== constant) add(report, "const", `must be ${nameOf(constant)}`, value)
    if (rules.in.length > 0) {
      if (!rules.in.includes(value)) add(report, "in", `must be one of ${names(rules.in)}`, value)
    } else if (rules.notIn.includes(value)) add(report, "not_in", `must be none of ${names(rules.notIn)}`, value)
    if (rules.definedOnly && type.value[value] === undefined) {
      add(report, "defined_only", `must be a value of ${type.typeName}`, value)
    }
  }
}
