import { describe, expect, it, vi } from "vitest"
import { KnownVersions } from "../src/internal/KnownVersions.js"

const entry = (name: string): DataView => {
  const bytes = Buffer.from([0x0a, name.length, ...Buffer.from(name), 0x12, 1, 0x31])
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
const numberOf = (known: KnownVersions, name: string): number => {
  const { dictionary } = known.collector()
  return dictionary.numberOf(entry(name), 0, name.length + 5)
}

describe("what clients say that they hold", () => {
  it("is kept once for all of them", () => {
    const known = new KnownVersions(1_000)
    expect([numberOf(known, "a"), numberOf(known, "b"), numberOf(known, "a")]).toEqual([0, 1, 0])
    known.clear()
  })

  it("takes no more memory than its bound: then what is said from now on takes its place", () => {
    const known = new KnownVersions(12)
    const { dictionary } = known.collector()
    expect([numberOf(known, "a"), numberOf(known, "b"), numberOf(known, "c")]).toEqual([0, 1, -1])
    expect(known.collector().dictionary).not.toBe(dictionary)
    expect(numberOf(known, "c")).toBe(0)
    // Those that have numbers of it still know what they are.
    expect(dictionary.textOf(1)).toEqual(["b", "1"])
    known.clear()
  })

  it("is let go when nobody has said anything for ten seconds", () => {
    vi.useFakeTimers()
    try {
      const known = new KnownVersions(1_000)
      const { dictionary } = known.collector()
      vi.advanceTimersByTime(9_000)
      expect(known.collector().dictionary).toBe(dictionary)
      vi.advanceTimersByTime(9_999)
      expect(vi.getTimerCount()).toBe(1)
      vi.advanceTimersByTime(1)
      expect(vi.getTimerCount()).toBe(0)
      expect(known.collector().dictionary).not.toBe(dictionary)
      known.clear()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})
