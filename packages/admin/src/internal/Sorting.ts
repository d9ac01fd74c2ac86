/** Sorts in steps: what is shown may be as large as the store, and clients of the control plane must not wait for it. */
import type * as Steps from "@effect-xds/core/Steps"

/** Items that are sorted, or merged, in one step: some tenths of a millisecond. */
const atOnce = 1_024

/** Below 0: the first one comes first. */
export type Order<in A> = (one: A, other: A) => number

const merging = function* <A>(
  ones: ReadonlyArray<A>,
  others: ReadonlyArray<A>,
  order: Order<A>
): Steps.Steps<Array<A>> {
  const merged: Array<A> = []
  let at = 0
  for (const one of ones) {
    for (let other = others[at]; other !== undefined && order(other, one) < 0; other = others[++at]) {
      merged.push(other)
      if (merged.length % atOnce === 0) yield
    }
    merged.push(one)
    if (merged.length % atOnce === 0) yield
  }
  for (let other = others[at]; other !== undefined; other = others[++at]) {
    merged.push(other)
    if (merged.length % atOnce === 0) yield
  }
  return merged
}

/** The items in their order; of equal ones the first stays the first. */
export const sorted = function* <A extends object | string>(
  items: ReadonlyArray<A>,
  order: Order<A>
): Steps.Steps<ReadonlyArray<A>> {
  let runs: Array<Array<A>> = []
  for (let at = 0; at < items.length; at += atOnce) {
    runs.push(items.slice(at, at + atOnce).sort(order))
    yield
  }
  while (runs.length > 1) {
    const longer: Array<Array<A>> = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merging(runs[at] ?? [], runs[at + 1] ?? [], order))
    runs = longer
  }
  return runs[0] ?? []
}

/** Texts as `Array.sort` has them. */
export const byText: Order<string> = (one, other) => (one < other ? -1 : one === other ? 0 : 1)
