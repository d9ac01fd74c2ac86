/** Name tries, beside a map of the platform that is copied for each change. */
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import { assert, describe, it } from "@effect/vitest"
import * as Hash from "effect/Hash"
import * as fc from "fast-check"
import * as CollidingNames from "./CollidingNames.js"

const alike = [...CollidingNames.ofOneHash(4), ...CollidingNames.nearlyOfOneHash(2)]

/** Some that come again and again, some of one hash, and enough of others for three levels of nodes. */
const name = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((number) => `name-${number}`),
  fc.constantFrom(...alike),
  fc.integer({ min: 0, max: 3_000 }).map((number) => `name-${number}`)
)

type Change = { readonly set: string; readonly to: number } | { readonly remove: string } | { readonly end: true }

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ set: name, to: fc.integer({ min: 0, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ remove: name }) },
  { weight: 1, arbitrary: fc.constant({ end: true } as const) }
)

const sorted = <A>(entries: Iterable<A>): ReadonlyArray<string> =>
  Array.from(entries, (each) => JSON.stringify(each)).sort()

const assertSame = (trie: NameTrie.NameTrie<number>, expected: ReadonlyMap<string, number>): void => {
  assert.strictEqual(trie.size, expected.size)
  assert.deepStrictEqual(sorted(trie), sorted(expected))
  const entries = Array.from(trie)
  assert.deepStrictEqual(
    Array.from(trie.keys()),
    entries.map(([each]) => each)
  )
  assert.deepStrictEqual(
    Array.from(trie.values()),
    entries.map(([, value]) => value)
  )
  for (const each of [...expected.keys(), ...alike, "another"]) {
    assert.strictEqual(trie.get(each), expected.get(each))
    assert.strictEqual(trie.getHash(each, Hash.string(each)), expected.get(each))
    assert.strictEqual(trie.has(each), expected.has(each))
  }
}

const filled = (size: number): ReadonlyArray<readonly [string, number]> =>
  Array.from({ length: size }, (_, number) => [`name-${number}`, 9])

describe("NameTrie", () => {
  it("some of the names here differ in no bit of their hashes, others only in the highest two", () => {
    const hashes = alike.map(Hash.string)
    assert.strictEqual(new Set(hashes).size, 5)
    assert.strictEqual(new Set(hashes.map((hash) => hash << 2)).size, 3)
  })

  it.prop(
    "a trie has what was set; no change changes another trie; its nodes and its order depend on its names alone",
    [fc.constantFrom(0, 3, 60, 2_000), fc.array(change, { maxLength: 120 })],
    ([size, changes]) => {
      const first = NameTrie.fromIterable(filled(size))
      const made: Array<readonly [NameTrie.NameTrie<number>, ReadonlyMap<string, number>]> = []
      const draft = new NameTrie.NameTrieDraft(first)
      const expected = new Map(filled(size))
      let single = first
      for (const each of changes) {
        if ("end" in each) {
          made.push([draft.end(), new Map(expected)], [single, new Map(expected)])
        } else if ("set" in each) {
          draft.set(each.set, each.to)
          single = NameTrie.set(single, each.set, each.to)
          expected.set(each.set, each.to)
          assert.strictEqual(draft.get(each.set), each.to)
          assert.isTrue(draft.has(each.set))
        } else {
          draft.remove(each.remove)
          single = NameTrie.remove(single, each.remove)
          expected.delete(each.remove)
          assert.isFalse(draft.has(each.remove))
        }
        assert.strictEqual(draft.size, expected.size)
      }
      assert.deepStrictEqual(sorted(draft), sorted(expected))
      made.push([draft.end(), expected], [single, expected])
      for (const [trie, entries] of made) assertSame(trie, entries)
      assertSame(first, new Map(filled(size)))
      const again = NameTrie.fromIterable(Array.from(expected).toReversed())
      for (const trie of [single, draft.end()]) {
        assert.deepStrictEqual(Array.from(trie), Array.from(again))
        assert.deepStrictEqual(NameTrie.NameTrie.rootOf(trie), NameTrie.NameTrie.rootOf(again))
      }
    }
  )

  it("has names of one hash, and loses them one by one", () => {
    const entries = alike.map((each, at) => [each, at] as const)
    let trie = NameTrie.fromIterable([...filled(10), ...entries])
    assertSame(trie, new Map([...filled(10), ...entries]))
    for (const each of alike) {
      const before = trie
      trie = NameTrie.remove(trie, each)
      assert.isTrue(before.has(each))
      assert.isFalse(trie.has(each))
      for (const other of alike.slice(alike.indexOf(each) + 1)) assert.isTrue(trie.has(other))
    }
    assertSame(trie, new Map(filled(10)))
  })

  it("a trie without changes, or without names, is the one of before", () => {
    const trie = NameTrie.fromIterable(filled(3))
    assert.strictEqual(new NameTrie.NameTrieDraft(trie).end(), trie)
    assert.strictEqual(NameTrie.remove(trie, "another"), trie)
    assert.strictEqual(NameTrie.set(trie, "name-1", 9), trie)
    let left = trie
    for (const [each] of filled(3)) left = NameTrie.remove(left, each)
    assert.strictEqual(left, NameTrie.empty())
    assert.strictEqual(NameTrie.fromIterable<number>([]), NameTrie.empty())
  })

  it("is printed as its entries", () => {
    assert.strictEqual(JSON.stringify(NameTrie.fromIterable([["a", 1]])), `[["a",1]]`)
  })
})
