/**
 * `lt`, `lte`, `gt` and `gte`: of numbers, durations and timestamps.
 */
import type { Report } from "./Report.js"

interface Bound<A> {
  readonly value: A
  readonly isInclusive: boolean
  readonly rule: "lt" | "lte" | "gt" | "gte"
}

export interface Bounds<A> {
  readonly lt: A | undefined
  readonly lte: A | undefined
  readonly gt: A | undefined
  readonly gte: A | undefined
}

/** Where both of a kind are set, the exclusive one counts, as in protoc-gen-validate. */
const boundOf = <A>(exclusive: A | undefined, inclusive: A | undefined, rule: "lt" | "gt"): Bound<A> | undefined => {
  if (exclusive !== undefined) return { value: exclusive, isInclusive: false, rule }
  return inclusive === undefined ? undefined : { value: inclusive, isInclusive: true, rule: `${rule}e` }
}

const words = { lt: "less than", lte: "at most", gt: "greater than", gte: "at least" }

/**
 * ★ A range whose upper bound is not above its lower one means outside: `lt: 5, gt: 10` is less than 5 or greater than 10.
 * ★ `compare` gives NaN for what has no order: NaN passes every bound.
 *
 * @param compare negative, 0 or positive
 */
export const check = <A>(
  kind: string,
  bounds: Bounds<A>,
  compare: (a: A, b: A) => number,
  show: (value: A) => string
): ((value: A, report: Report) => void) | undefined => {
  const upper = boundOf(bounds.lt, bounds.lte, "lt")
  const lower = boundOf(bounds.gt, bounds.gte, "gt")
  if (upper === undefined && lower === undefined) return undefined
  const isAbove = (value: A): boolean => {
    if (upper === undefined) return false
    const order = compare(value, upper.value)
    return upper.isInclusive ? order > 0 : order >= 0
  }
  const isBelow = (value: A): boolean => {
    if (lower === undefined) return false
    const order = compare(value, lower.value)
    return lower.isInclusive ? order < 0 : order <= 0
  }
  const said = [lower, upper].flatMap((bound) =>
    bound === undefined ? [] : [`${words[bound.rule]} ${show(bound.value)}`]
  )
  const isOutside = upper !== undefined && lower !== undefined && !(compare(upper.value, lower.value) > 0)
  if (isOutside) {
    const problem = `must be ${said.reverse().join(" or ")}`
    return (value, report) => {
      if (isAbove(value) && isBelow(value)) report.add(`${kind}.${upper.rule}`, problem, show(value))
    }
  }
  const problem = `must be ${said.join(" and ")}`
  return (value, report) => {
    const broken = isAbove(value) ? upper : isBelow(value) ? lower : undefined
    if (broken !== undefined) report.add(`${kind}.${broken.rule}`, problem, show(value))
  }
}
