/** An immutable map from names, beside a map of the platform that is copied for each change. */
import { assert } from "@effect/vitest"
import * as Hash from "effect/Hash"
import * as fc from "fast-check"

interface Names extends Iterable<readonly [string, string]> {
  readonly size: number
  readonly get: (name: string) => string | undefined
  readonly getHash: (name: string, hash: number) => string | undefined
  readonly has: (name: string) => boolean
  readonly keys: () => Iterable<string>
}

interface Draft<M> {
  readonly get: (name: string) => string | undefined
  readonly has: (name: string) => boolean
  readonly set: (name: string, value: string) => void
  readonly setNew: (name: string, value: string) => void
  readonly end: () => M
}

/** What is compared with a map of the platform. */
export interface Kind<M extends Names, D extends Draft<M>> {
  readonly fromIterable: (entries: Iterable<readonly [string, string]>) => M
  readonly set: (self: M, name: string, value: string) => M
  readonly remove: (self: M, name: string) => M
  readonly draft: (from: M) => D
  readonly removeFrom: (draft: D, name: string) => void
  /** Names that may not be there. */
  readonly others: ReadonlyArray<string>
  /** What must hold of one beside what holds of all. */
  readonly assertOne?: (one: M) => void
  /** What must hold of a draft after each change. */
  readonly assertDraft?: (draft: D, expected: ReadonlyMap<string, string>) => void
  /** What must hold of it before its end. */
  readonly assertLast?: (draft: D, expected: ReadonlyMap<string, string>) => void
}

type Change =
  | { readonly set: string; readonly to: string }
  | { readonly setNew: string }
  | { readonly remove: string }
  | { readonly end: true }

export const change = (name: fc.Arbitrary<string>, removals: number): fc.Arbitrary<Change> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ set: name, to: fc.constantFrom("", "one", "two") }) },
    { weight: 2, arbitrary: fc.record({ setNew: name }) },
    { weight: removals, arbitrary: fc.record({ remove: name }) },
    { weight: 1, arbitrary: fc.constant({ end: true } as const) }
  )

export const sorted = <A>(entries: Iterable<A>): ReadonlyArray<string> =>
  Array.from(entries, (each) => JSON.stringify(each)).sort()

export const filled = (size: number): ReadonlyArray<readonly [string, string]> =>
  Array.from({ length: size }, (_, number) => [`name-${number}`, ""])

export const assertSame = <M extends Names, D extends Draft<M>>(
  { assertOne, others }: Kind<M, D>,
  names: M,
  expected: ReadonlyMap<string, string>
): void => {
  assert.strictEqual(names.size, expected.size)
  assert.deepStrictEqual(sorted(names), sorted(expected))
  assert.deepStrictEqual(sorted(names.keys()), sorted(expected.keys()))
  for (const each of [...expected.keys(), ...others]) {
    assert.strictEqual(names.get(each), expected.get(each))
    assert.strictEqual(names.getHash(each, Hash.string(each)), expected.get(each))
    assert.strictEqual(names.has(each), expected.has(each))
  }
  assertOne?.(names)
}

/** One after the other in a draft, and each by itself: both end with what the map has, and what was made before stays. */
export const check = <M extends Names, D extends Draft<M>>(
  kind: Kind<M, D>,
  size: number,
  changes: ReadonlyArray<Change>
): { readonly draft: D; readonly single: M; readonly expected: ReadonlyMap<string, string> } => {
  const first = kind.fromIterable(filled(size))
  assertSame(kind, first, new Map(filled(size)))
  const made: Array<readonly [M, ReadonlyMap<string, string>]> = []
  const draft = kind.draft(first)
  const expected = new Map(filled(size))
  let single = first
  for (const each of changes) {
    if ("end" in each) {
      made.push([draft.end(), new Map(expected)], [single, new Map(expected)])
    } else if ("set" in each) {
      draft.set(each.set, each.to)
      single = kind.set(single, each.set, each.to)
      expected.set(each.set, each.to)
      assert.strictEqual(draft.get(each.set), each.to)
      assert.isTrue(draft.has(each.set))
    } else if ("setNew" in each) {
      draft.setNew(each.setNew, "new")
      if (!expected.has(each.setNew)) {
        single = kind.set(single, each.setNew, "new")
        expected.set(each.setNew, "new")
      }
      assert.strictEqual(draft.get(each.setNew), expected.get(each.setNew))
    } else {
      kind.removeFrom(draft, each.remove)
      single = kind.remove(single, each.remove)
      expected.delete(each.remove)
      assert.isFalse(draft.has(each.remove))
    }
    kind.assertDraft?.(draft, expected)
  }
  kind.assertLast?.(draft, expected)
  made.push([draft.end(), expected], [single, expected])
  for (const [one, entries] of made) assertSame(kind, one, entries)
  assertSame(kind, first, new Map(filled(size)))
  return { draft, single, expected }
}
