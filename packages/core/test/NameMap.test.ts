import { describe, expect, it } from "vitest"
import { NameMap } from "@effect-xds/core/server/NameMap"

const names = Array.from({ length: 100_000 }, (_, at) => `cluster-${at}`)

describe("A map by names", () => {
  it("is one, with few names and with many, whatever is put in and taken out", () => {
    const map = new NameMap<number>(7)
    const model = new Map<string, number>()
    const same = (): void => {
      expect(map.size).toBe(model.size)
      const entries = new Map(map)
      expect(entries.size).toBe(model.size)
      for (const [name, value] of model) if (entries.get(name) !== value) expect.fail(name)
    }
    let largest = 0
    let state = 1
    const next = (bound: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
      return (state >>> 8) % bound
    }
    // It grows to more than the first map takes, and falls to nothing again.
    for (const [often, bound] of [
      [100, 50],
      [200_000, 100_000],
      [100, 50]
    ] as const) {
      for (let time = 0; time < often; time++) {
        const name = `${next(2) === 0 ? "x".repeat(200) : ""}name ${next(bound)}${next(2) === 0 ? "y".repeat(200) : ""}`
        if (next(3) === 0) {
          map.delete(name)
          model.delete(name)
        } else {
          map.set(name, time)
          model.set(name, time)
        }
        if (map.get(name) !== model.get(name)) expect.fail(name)
      }
      same()
      largest = Math.max(largest, map.size)
    }
    expect(largest).toBeGreaterThan(70_000)
    for (const name of Array.from(model.keys())) {
      map.delete(name)
      model.delete(name)
    }
    same()
    map.set("a", 1)
    expect(Array.from(map)).toEqual([["a", 1]])
  })

  it("of a hundred thousand names is never gone through at once: no map in it has more than some ten thousand", () => {
    let largest = 0
    let most = 0
    let sets = 0
    const before = Object.getOwnPropertyDescriptor(Map.prototype, "set") ?? {}
    const set: unknown = before.value
    if (typeof set !== "function") throw new Error("no Map.prototype.set")
    Object.defineProperty(Map.prototype, "set", {
      ...before,
      value: function (this: Map<unknown, unknown>, ...entry: ReadonlyArray<unknown>): unknown {
        sets++
        const same: unknown = Reflect.apply(set, this, entry)
        largest = Math.max(largest, this.size)
        return same
      }
    })
    const map = new NameMap<number>(7)
    try {
      for (const [at, name] of names.entries()) {
        sets = 0
        map.set(name, at)
        most = Math.max(most, sets)
      }
    } finally {
      Object.defineProperty(Map.prototype, "set", before)
    }
    expect(map.size).toBe(names.length)
    expect(largest).toBe(65_536)
    expect(most).toBe(1_026)
  })
})
