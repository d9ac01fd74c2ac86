/** Name tables and sets, beside a map of the platform that is copied for each change. */
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import * as NameSet from "@effect-xds/core/server/NameSet"
import * as NameTable from "@effect-xds/core/server/NameTable"
import * as Steps from "@effect-xds/core/Steps"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as NamesModel from "./NamesModel.js"
import { filled, sorted } from "./NamesModel.js"

/** Around the 8 values that are noted beside a shared map, and the 256 names that are few. */
const name = fc
  .oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 0, max: 300 }))
  .map((number) => `name-${number}`)

const tables: NamesModel.Kind<NameTable.NameTable<string>, NameTable.NameTableDraft<string>> = {
  fromIterable: NameTable.fromIterable,
  set: NameTable.set,
  remove: NameTable.remove,
  draft: (from) => new NameTable.NameTableDraft(from),
  removeFrom: (draft, each) => draft.delete(each),
  others: ["another"]
}

describe("NameTable", () => {
  it.prop(
    "a table has what was set, however few or many names it has; no change changes another table",
    [fc.constantFrom(0, 3, 100, 250, 400), fc.array(NamesModel.change(name, 2), { maxLength: 60 })],
    ([size, changes]) => void NamesModel.check(tables, size, changes)
  )

  it("another value of a name that it has is noted beside the shared map; the ninth is not", () => {
    const first = NameTable.fromIterable(filled(100))
    let table = first
    for (let number = 0; number < 8; number++) table = NameTable.set(table, `name-${number}`, "new")
    assert.strictEqual(table.few, first.few)
    table = NameTable.set(table, "name-3", "newer")
    assert.strictEqual(table.few, first.few)
    table = NameTable.set(table, "name-8", "new")
    assert.notStrictEqual(table.few, first.few)
    assert.strictEqual(table.recent, undefined)
    assert.strictEqual(table.get("name-3"), "newer")
  })

  it("a name more, or one of those less, is noted beside the shared map; the ninth is not", () => {
    const first = NameTable.fromIterable(filled(100))
    let table = first
    for (let number = 0; number < 8; number++) table = NameTable.set(table, `more-${number}`, "new")
    assert.strictEqual(table.few, first.few)
    assert.strictEqual(table.size, 108)
    assert.deepStrictEqual(Array.from(table.keys()).slice(99, 102), ["name-99", "more-0", "more-1"])
    table = NameTable.remove(table, "more-3")
    assert.strictEqual(table.few, first.few)
    assert.strictEqual(table.size, 107)
    table = NameTable.set(table, "more-8", "new")
    assert.strictEqual(table.few, first.few)
    table = NameTable.set(table, "more-9", "new")
    assert.notStrictEqual(table.few, first.few)
    assert.strictEqual(table.recent, undefined)
    assert.strictEqual(table.size, 109)
    assert.isFalse(table.has("more-3"))
  })

  it("a table without changes, or without names, is the one of before", () => {
    const table = NameTable.fromIterable(filled(3))
    assert.strictEqual(new NameTable.NameTableDraft(table).end(), table)
    assert.strictEqual(NameTable.remove(table, "another"), table)
    let left = table
    for (const [each] of filled(3)) left = NameTable.remove(left, each)
    assert.strictEqual(left, NameTable.empty())
    assert.strictEqual(NameTable.fromTrie(NameTrie.empty<string>()), NameTable.empty())
  })
})

describe("NameSet", () => {
  it.prop(
    "a set has the names that were added and not removed; no change changes another set",
    [fc.array(name, { maxLength: 300 }), fc.array(name, { maxLength: 300 })],
    ([added, removed]) => {
      const set = NameSet.fromIterable(added)
      const left = new Set(added)
      for (const each of removed) left.delete(each)
      assert.deepStrictEqual(sorted(set), sorted(new Set(added)))
      assert.deepStrictEqual(sorted(NameSet.removeAll(set, removed)), sorted(left))
      assert.deepStrictEqual(sorted(Steps.toEnd(NameSet.removeAllInSteps(set, removed))), sorted(left))
      assert.deepStrictEqual(
        sorted(NameSet.addAll(NameSet.removeAll(set, removed), removed)),
        sorted(new Set([...added, ...removed]))
      )
      assert.deepStrictEqual(sorted(NameSet.filter(set, (each) => left.has(each))), sorted(left))
      assert.deepStrictEqual(sorted(set), sorted(new Set(added)))
    }
  )

  it("a set that shares a table is not changed with that", () => {
    const table = NameTable.fromIterable(filled(3))
    const set = NameSet.ofTable(table)
    NameTable.set(table, "another", "")
    NameTable.remove(table, "name-0")
    assert.deepStrictEqual(Array.from(set), ["name-0", "name-1", "name-2"])
  })

  it("a change without effect gives the same set", () => {
    const set = NameSet.fromIterable(["a", "b"])
    assert.strictEqual(NameSet.add(set, "a"), set)
    assert.strictEqual(NameSet.addAll(set, ["a", "b"]), set)
    assert.strictEqual(NameSet.remove(set, "c"), set)
    assert.strictEqual(NameSet.removeAll(set, ["c"]), set)
    assert.strictEqual(
      NameSet.filter(set, () => true),
      set
    )
    assert.strictEqual(NameSet.removeAll(set, ["a", "b"]), NameSet.empty)
    for (const size of [3, 300]) {
      const ofOtherValues = NameSet.ofTable(
        NameTable.ofNames(
          filled(size).map(([each]) => each),
          "held"
        )
      )
      assert.strictEqual(NameSet.addAll(ofOtherValues, ofOtherValues), ofOtherValues)
    }
  })
})
