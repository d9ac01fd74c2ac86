/**
 * `in` and `not_in`: of numbers, enums and durations. ★ Where there is a list of what may be, that of what may not be counts for
 * nothing, as in protoc-gen-validate.
 */
import type { Report } from "./Report.js"

export interface Lists<A> {
  readonly in: ReadonlyArray<A>
  readonly notIn: ReadonlyArray<A>
}

/** `undefined`: both lists are empty. */
export const check = <A>(
  kind: string,
  { in: oneOf, notIn: noneOf }: Lists<A>,
  isSame: (a: A, b: A) => boolean,
  show: (value: A) => string
): ((value: A, report: Report) => void) | undefined => {
  const isOneOf = oneOf.length > 0
  const values = isOneOf ? oneOf : noneOf
  if (values.length === 0) return undefined
  const rule = `${kind}.${isOneOf ? "in" : "not_in"}`
  const problem = `must be ${isOneOf ? "one" : "none"} of ${values.map(show).join(", ")}`
  return (value, report) => {
    if (values.some((each) => isSame(each, value)) !== isOneOf) report.add(rule, problem, show(value))
  }
}
