import { describe, expect, it } from "@effect/vitest"
import { HostStatistics } from "../src/internal/HostStatistics.js"

describe("statistics of virtual hosts on demand", () => {
  it("count an update once, however many channels are told of it; who comes later is told nothing new", () => {
    const statistics = new HostStatistics()
    const counts = () => Object.values(statistics.statistics("edge"))
    const [first, second] = [{ version: 1 }, { version: 2 }]
    statistics.watched("shop/a")
    statistics.watched("shop/a")
    statistics.tell("shop/a", first)
    statistics.tell("shop/a", first)
    expect(counts()).toEqual([1, 0])
    statistics.tell("shop/a", second)
    statistics.tell("shop/a", second)
    expect(counts()).toEqual([2, 0])
    statistics.tell("shop/a", undefined)
    statistics.tell("shop/a", undefined)
    expect(counts()).toEqual([2, 1])
    statistics.unwatched("shop/a")
    statistics.tell("shop/a", undefined)
    expect(counts()).toEqual([2, 1])
    statistics.unwatched("shop/a")
    statistics.tell("shop/a", second)
    expect(counts()).toEqual([2, 1])
  })
})
