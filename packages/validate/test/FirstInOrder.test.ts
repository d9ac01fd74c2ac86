import { describe, expect, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { FirstInOrder } from "../src/internal/group/FirstInOrder.js"

interface Item {
  readonly order: number
}

const toEnd = <A>(steps: Generator<undefined, A>): A => {
  let next = steps.next()
  while (next.done !== true) next = steps.next()
  return next.value
}

/** As it is meant. */
const sorted = (items: Iterable<Item>, most: number): ReadonlyArray<Item> =>
  Array.from(items)
    .sort((one, other) => one.order - other.order)
    .slice(0, most)

describe("the first in order", () => {
  it("are those of a sort, whatever comes, goes and is replaced, among few and among thousands", () => {
    const change = fc.record({
      what: fc.constantFrom("add" as const, "delete" as const, "replace" as const, "look" as const),
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })
    })
    fc.assert(
      fc.property(
        fc.constantFrom(0, 3, 511, 512, 513, 2_000),
        fc.constantFrom(1, 100, 512, 600),
        fc.array(change, { maxLength: 60 }),
        fc.boolean(),
        (size, most, changes, isEmptied) => {
          const first = new FirstInOrder<Item>()
          const items = new Map<number, Item>()
          const orderOf = (at: number): number => Math.floor(at * Math.max(10, 2 * size))
          const remove = (order: number): void => {
            const item = items.get(order)
            items.delete(order)
            if (item !== undefined) first.delete(item)
          }
          const add = (order: number): void => {
            remove(order)
            const item = { order }
            items.set(order, item)
            first.add(item)
            first.add(item)
          }
          // Not in their order.
          for (let n = 0; n < size; n++) add((n * 7_919) % Math.max(1, size))
          const check = (): void => {
            expect(first.size).toBe(items.size)
            const found = toEnd(first.first(most))
            const wanted = sorted(items.values(), most)
            expect(found.length).toBe(wanted.length)
            expect(found.every((item, index) => item === wanted[index])).toBe(true)
          }
          for (const { at, what } of changes) {
            if (what === "add" || (what === "replace" && items.has(orderOf(at)))) add(orderOf(at))
            else if (what === "delete") remove(orderOf(at))
            else check()
          }
          check()
          if (!isEmptied) return
          // From the front, so that those behind come to it.
          for (const { order } of sorted(items.values(), items.size)) {
            remove(order)
            // Behind those that are known, and before them.
            if (order % 5 === 0) add(order + 3 * size)
            if (order % 97 === 0) check()
          }
          check()
        }
      ),
      { numRuns: 60 }
    )
  })

  it("cost nothing that depends on the others, after they were found once", () => {
    const first = new FirstInOrder<Item>()
    const items = Array.from({ length: 100_000 }, (_, order) => ({ order }))
    for (const item of items) first.add(item)
    const steps = (): number => {
      const looking = first.first(100)
      let count = 0
      while (looking.next().done !== true) count++
      return count
    }
    expect(steps()).toBe(0)
    // A resource that changes and stays broken: its item is replaced.
    for (let n = 0; n < 1_000; n++) {
      const order = (n * 7_919) % items.length
      const before = items[order]
      if (before !== undefined) first.delete(before)
      const after = { order }
      items[order] = after
      first.add(after)
      expect(steps()).toBe(0)
    }
  })
})
