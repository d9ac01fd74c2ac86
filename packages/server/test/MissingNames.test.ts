import { describe, expect, it } from "@effect/vitest"
import { MissingNames } from "../src/internal/MissingNames.js"

const namesIn = (maxNames: number, maxBytes = Number.POSITIVE_INFINITY, maxCallsPerGroup = 2) => {
  const held = { names: 0, bytes: 0 }
  const names = new MissingNames({
    maxNames,
    maxBytes,
    maxCallsPerGroup,
    onHeld: (count, bytes) => {
      held.names += count
      held.bytes += bytes
    }
  })
  const add = (group: string, name: string) =>
    names.add(group, "type", name).map((each) => `${each.group}/${each.name}`)
  const next = () => {
    const found = names.next()
    return found && `${found.group}/${found.name}`
  }
  return { names, held, add, next }
}

describe("the names that wait for the hook", () => {
  it("are held once for each group, type and name, until the call is over", () => {
    const { add, held, names } = namesIn(10)
    expect(add("a", "x")).toEqual([])
    expect(add("a", "x")).toEqual([])
    expect(names.size).toBe(1)
    add("b", "x")
    names.add("a", "other", "x")
    expect(names.size).toBe(3)
    const first = names.next()
    add("a", "x")
    expect(names.size).toBe(3)
    if (first !== undefined) names.end(first)
    if (first !== undefined) names.end(first)
    expect(held).toEqual({ names: names.size, bytes: names.bytes })
    expect(names.size).toBe(2)
    add("a", "x")
    expect(names.size).toBe(3)
    names.clear()
    expect([names.size, names.bytes, names.next()]).toEqual([0, 0, undefined])
    expect(held).toEqual({ names: 0, bytes: 0 })
  })

  it("★ groups have their turns one after the other, and none more calls than its part", () => {
    const { add, names, next } = namesIn(10)
    for (const name of ["1", "2", "3", "4"]) add("a", name)
    add("b", "1")
    add("b", "2")
    expect([next(), next(), next(), next(), next()]).toEqual(["a/1", "b/1", "a/2", "b/2", undefined])
    names.end({
      key: JSON.stringify(["a", "type", "1"]),
      group: "a",
      typeUrl: "type",
      name: "1",
      node: undefined,
      bytes: 0
    })
    expect([next(), next()]).toEqual(["a/3", undefined])
  })

  it("★ a group that fills the room gives way to another, the name that came last first, until both have as much", () => {
    const { add, names, next } = namesIn(6)
    for (let index = 1; index <= 6; index++) expect(add("a", String(index))).toEqual([])
    expect(add("a", "7")).toEqual(["a/7"])
    expect(add("b", "1")).toEqual(["a/6"])
    expect(add("b", "2")).toEqual(["a/5"])
    expect(add("b", "3")).toEqual(["a/4"])
    expect(add("b", "4")).toEqual(["b/4"])
    expect(add("c", "1")).toEqual(["a/3"])
    expect(add("c", "2")).toEqual(["b/3"])
    expect(names.size).toBe(6)
    expect([next(), next(), next(), next(), next(), next()]).toEqual(["a/1", "b/1", "c/1", "a/2", "b/2", "c/2"])
  })

  it("what calls are under way for is not taken away", () => {
    const { add, next } = namesIn(2)
    add("a", "1")
    add("a", "2")
    expect([next(), next()]).toEqual(["a/1", "a/2"])
    expect(add("b", "1")).toEqual(["b/1"])
  })

  it("★ are bounded in bytes, those of their group and type among them", () => {
    const { add, held, names } = namesIn(1_000, 10_000)
    expect(add("a", "x".repeat(3_000))).toEqual([`a/${"x".repeat(3_000)}`])
    expect(add("g".repeat(3_000), "x")).toHaveLength(1)
    expect(names.add("a", "t".repeat(3_000), "x")).toHaveLength(1)
    let refused = 0
    for (let index = 0; index < 100; index++) refused += add("a", `name ${index}`).length
    expect(names.bytes).toBeLessThanOrEqual(10_000)
    expect(names.size).toBe(100 - refused)
    expect(names.bytes).toBeGreaterThan(9_000)
    // Long names of another group: as many give way as it takes.
    expect(add("b", "y".repeat(500)).length).toBeGreaterThan(5)
    expect(names.bytes).toBeLessThanOrEqual(10_000)
    expect(held).toEqual({ names: names.size, bytes: names.bytes })
  })
})
