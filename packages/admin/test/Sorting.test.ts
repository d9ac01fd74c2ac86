import * as Steps from "@effect-xds/core/Steps"
import { describe, expect, it } from "@effect/vitest"
import { byText, sorted } from "../src/internal/Sorting.js"

/** In no order, and some twice. */
const items = (length: number) => Array.from({ length }, (_, at) => ({ name: `${(at * 7_919) % 6_007}`, at }))

describe("sorting in steps", () => {
  it.each([0, 1, 2, 1_024, 1_025, 10_000])("gives what sort gives, of %i items", (length) => {
    const order = (one: { readonly name: string }, other: { readonly name: string }) => byText(one.name, other.name)
    expect(Steps.toEnd(sorted(items(length), order))).toEqual(items(length).sort(order))
    const names = items(length).map(({ name }) => name)
    expect(Steps.toEnd(sorted(names, byText))).toEqual(names.toSorted())
  })

  it("compares at most so many in one step, whatever there are", () => {
    let compared = 0
    const most: Array<number> = []
    const work = sorted(items(20_000), (one, other) => {
      compared++
      return byText(one.name, other.name)
    })
    for (let done = false; !done;) {
      compared = 0
      done = work.next().done === true
      most.push(compared)
    }
    expect(Math.max(...most)).toBeLessThan(20_000)
    expect(most.length).toBeGreaterThan(100)
  })
})
