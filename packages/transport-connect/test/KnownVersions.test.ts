import { NumberSet } from "@effect-xds/core/resource/NumberSet"
import type { VersionDictionary } from "@effect-xds/core/resource/VersionDictionary"
import { describe, expect, it, vi } from "vitest"
import { KnownVersions } from "../src/server/KnownVersions.js"

const dictionaryOf = (known: KnownVersions): VersionDictionary => {
  const dictionary = known.dictionary()
  if (dictionary === undefined) throw new Error("there is no WebAssembly")
  return dictionary
}
/** -1 if there is no room. */
const numberOf = (known: KnownVersions, name: string): number => {
  const dictionary = dictionaryOf(known)
  const field = Buffer.from([0x2a, name.length + 5, 0x0a, name.length, ...Buffer.from(name), 0x12, 1, 0x31])
  dictionary.input.set(field)
  const numbers = new NumberSet()
  dictionary.take(0, field.length, numbers)
  let last = -1
  numbers.forEach((number) => (last = number))
  return last
}

describe("what clients say that they hold", () => {
  it("is kept once for all of them", () => {
    const known = new KnownVersions(1_000)
    expect([numberOf(known, "a"), numberOf(known, "b"), numberOf(known, "a")]).toEqual([0, 1, 0])
    known.clear()
  })

  it("takes no more memory than its bound: then what is said from now on takes its place", () => {
    // An entry and its number are ten bytes.
    const known = new KnownVersions(20)
    const dictionary = dictionaryOf(known)
    expect([numberOf(known, "a"), numberOf(known, "b"), numberOf(known, "c")]).toEqual([0, 1, -1])
    expect(known.dictionary()).not.toBe(dictionary)
    expect(numberOf(known, "c")).toBe(0)
    // Those that have numbers of it still know what they are.
    expect(dictionary.textOf(1)).toEqual(["b", "1"])
    known.clear()
  })

  it("is let go when nobody has said anything for ten seconds", () => {
    vi.useFakeTimers()
    try {
      const known = new KnownVersions(1_000)
      const dictionary = dictionaryOf(known)
      vi.advanceTimersByTime(9_000)
      expect(known.dictionary()).toBe(dictionary)
      vi.advanceTimersByTime(9_999)
      expect(vi.getTimerCount()).toBe(1)
      vi.advanceTimersByTime(1)
      expect(vi.getTimerCount()).toBe(0)
      expect(known.dictionary()).not.toBe(dictionary)
      known.clear()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})
