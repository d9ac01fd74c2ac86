import { it } from "@effect/vitest"
import * as fc from "fast-check"
import { assert } from "vitest"
import { SmallSet } from "../src/server/SmallSet.js"

const operation = fc.record({ isDelete: fc.boolean(), item: fc.nat(24) })

it("a small set is a set, however many it has", () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 80 }), (operations) => {
      const small = new SmallSet(0)
      const model = new Set([0])
      for (const { isDelete, item } of operations) {
        if (isDelete) assert.strictEqual(small.delete(item), model.delete(item))
        else {
          small.add(item)
          model.add(item)
        }
        assert.strictEqual(small.size, model.size)
        assert.strictEqual(small.has(item), model.has(item))
        assert.sameMembers(Array.from(small), Array.from(model))
        const visited: Array<number> = []
        small.forEach((each) => visited.push(each))
        assert.sameMembers(visited, Array.from(model))
      }
    })
  )
})

it("it may be changed while it is gone through: who stays is visited once, and who leaves before is not", () => {
  for (const count of [3, 16, 30]) {
    const set = new SmallSet(0)
    for (let item = 1; item < count; item++) set.add(item)
    const visited: Array<number> = []
    set.forEach((item) => {
      visited.push(item)
      set.delete(item)
      set.delete(1)
    })
    assert.deepEqual(
      visited,
      Array.from({ length: count }, (_, item) => item).filter((item) => item !== 1)
    )
    assert.strictEqual(set.size, 0)
  }
})
