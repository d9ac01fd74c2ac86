import { describe, expect, it, vi } from "vitest"
import { Numbers } from "../src/server/Numbers.js"
import { SharedVersions } from "../src/server/SharedVersions.js"

/** -1 if there is no room. */
const numberOf = (known: SharedVersions, name: string): number => {
  const field = Uint8Array.of(0x2a, name.length + 5, 0x0a, name.length, ...Buffer.from(name), 0x12, 1, 0x31)
  const numbers = new Numbers()
  known.interner().take(field, new DataView(field.buffer), 0, field.length, numbers)
  return Array.from(numbers).at(-1) ?? -1
}

describe("what clients say that they hold", () => {
  it("is kept once for all of them", () => {
    const known = new SharedVersions(1_000)
    expect([numberOf(known, "a"), numberOf(known, "b"), numberOf(known, "a")]).toEqual([0, 1, 0])
    known.clear()
  })

  it("takes no more memory than its bound: then what is said from now on takes its place", () => {
    // A pair counts 24 bytes at least.
    const known = new SharedVersions(48)
    const interner = known.interner()
    expect([numberOf(known, "a"), numberOf(known, "b"), numberOf(known, "c")]).toEqual([0, 1, -1])
    expect(known.interner()).not.toBe(interner)
    expect(numberOf(known, "c")).toBe(0)
    // Those that have numbers of it still know what they are.
    expect(interner.textOf(1)).toEqual(["b", "1"])
    known.clear()
  })

  it("is let go when nobody has said anything for ten seconds", () => {
    vi.useFakeTimers()
    try {
      const known = new SharedVersions(1_000)
      const interner = known.interner()
      vi.advanceTimersByTime(9_000)
      expect(known.interner()).toBe(interner)
      vi.advanceTimersByTime(9_999)
      expect(vi.getTimerCount()).toBe(1)
      vi.advanceTimersByTime(1)
      expect(vi.getTimerCount()).toBe(0)
      expect(known.interner()).not.toBe(interner)
      known.clear()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})
