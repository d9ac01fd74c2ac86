/** Name tries, beside a map of the platform that is copied for each change. */
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import { assert, describe, it } from "@effect/vitest"
import * as Hash from "effect/Hash"
import * as fc from "fast-check"
import * as CollidingNames from "./CollidingNames.js"
import * as NamesModel from "./NamesModel.js"
import { filled, sorted } from "./NamesModel.js"

const alike = [...CollidingNames.ofOneHash(4), ...CollidingNames.nearlyOfOneHash(2)]

/** Some that come again and again, some of one hash, and enough of others for three levels of nodes. */
const name = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((number) => `name-${number}`),
  fc.constantFrom(...alike),
  fc.integer({ min: 0, max: 3_000 }).map((number) => `name-${number}`)
)

const tries: NamesModel.Kind<NameTrie.NameTrie<string>, NameTrie.NameTrieDraft<string>> = {
  fromIterable: NameTrie.fromIterable,
  set: NameTrie.set,
  remove: NameTrie.remove,
  draft: (from) => new NameTrie.NameTrieDraft(from),
  removeFrom: (draft, each) => draft.remove(each),
  others: [...alike, "another"],
  assertOne: (trie) => {
    const entries = Array.from(trie)
    assert.deepStrictEqual(
      Array.from(trie.keys()),
      entries.map(([each]) => each)
    )
    assert.deepStrictEqual(
      Array.from(trie.values()),
      entries.map(([, value]) => value)
    )
  },
  assertDraft: (draft, expected) => assert.strictEqual(draft.size, expected.size),
  assertLast: (draft, expected) => assert.deepStrictEqual(sorted(draft), sorted(expected))
}

describe("NameTrie", () => {
  it("some of the names here differ in no bit of their hashes, others only in the highest two", () => {
    const hashes = alike.map(Hash.string)
    assert.strictEqual(new Set(hashes).size, 5)
    assert.strictEqual(new Set(hashes.map((hash) => hash << 2)).size, 3)
  })

  it.prop(
    "a trie has what was set; no change changes another trie; its nodes and its order depend on its names alone",
    [fc.constantFrom(0, 3, 60, 2_000), fc.array(NamesModel.change(name, 4), { maxLength: 120 })],
    ([size, changes]) => {
      const { draft, expected, single } = NamesModel.check(tries, size, changes)
      const again = NameTrie.fromIterable(Array.from(expected).toReversed())
      for (const trie of [single, draft.end()]) {
        assert.deepStrictEqual(Array.from(trie), Array.from(again))
        assert.deepStrictEqual(NameTrie.NameTrie.rootOf(trie), NameTrie.NameTrie.rootOf(again))
      }
    }
  )

  it("has names of one hash, and loses them one by one", () => {
    const entries = alike.map((each, at) => [each, String(at)] as const)
    let trie = NameTrie.fromIterable([...filled(10), ...entries])
    NamesModel.assertSame(tries, trie, new Map([...filled(10), ...entries]))
    for (const each of alike) {
      const before = trie
      trie = NameTrie.remove(trie, each)
      assert.isTrue(before.has(each))
      assert.isFalse(trie.has(each))
      for (const other of alike.slice(alike.indexOf(each) + 1)) assert.isTrue(trie.has(other))
    }
    NamesModel.assertSame(tries, trie, new Map(filled(10)))
  })

  it("a trie without changes, or without names, is the one of before", () => {
    const trie = NameTrie.fromIterable(filled(3))
    assert.strictEqual(new NameTrie.NameTrieDraft(trie).end(), trie)
    assert.strictEqual(NameTrie.remove(trie, "another"), trie)
    assert.strictEqual(NameTrie.set(trie, "name-1", ""), trie)
    let left = trie
    for (const [each] of filled(3)) left = NameTrie.remove(left, each)
    assert.strictEqual(left, NameTrie.empty())
    assert.strictEqual(NameTrie.fromIterable<string>([]), NameTrie.empty())
  })

  it("is printed as its entries", () => {
    assert.strictEqual(JSON.stringify(NameTrie.fromIterable([["a", 1]])), `[["a",1]]`)
  })
})
