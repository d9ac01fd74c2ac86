import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import * as Host from "@effect-xds/discovery/Host"
import * as PriorityLoad from "@effect-xds/discovery/PriorityLoad"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"

/** Healthy, all, degraded, excluded. */
type Priority = readonly [h: number, n: number, d?: number, excluded?: number]

const tallies = (priorities: ReadonlyArray<Priority>): ReadonlyArray<PriorityLoad.Tally> =>
  priorities.map(([healthy, all, degraded = 0, excluded = 0]) => {
    const sums = { all, excluded, healthy, degraded }
    return { hosts: sums, weights: sums }
  })

const make = (priorities: ReadonlyArray<Priority>, given: Partial<PriorityLoad.Settings> = {}) => {
  const { loads, total } = PriorityLoad.make(tallies(priorities), given)
  const told = (of: "healthy" | "degraded") => loads.map((load) => load[of])
  const panics = loads.flatMap(({ isPanicking }, priority) => (isPanicking ? [priority] : []))
  return { healthy: told("healthy"), degraded: told("degraded"), panics, total }
}

describe("vectors of load", () => {
  it.each<readonly [number, ReadonlyArray<Priority>, ReadonlyArray<number>, ReadonlyArray<number>, number]>([
    [
      26,
      [
        [8, 10],
        [10, 10]
      ],
      [100, 0],
      [],
      100
    ],
    [
      27,
      [
        [7, 10],
        [10, 10]
      ],
      [98, 2],
      [],
      100
    ],
    [
      28,
      [
        [5, 10],
        [10, 10]
      ],
      [70, 30],
      [],
      100
    ],
    [
      29,
      [
        [2, 10],
        [2, 10]
      ],
      [50, 50],
      [0, 1],
      56
    ],
    [
      30,
      [
        [0, 10],
        [5, 10]
      ],
      [0, 100],
      [0],
      70
    ],
    [
      31,
      [
        [0, 10],
        [0, 5]
      ],
      [67, 33],
      [0, 1],
      0
    ],
    [32, [[4, 10]], [100], [0], 56],
    [32, [[5, 10]], [100], [], 70],
    // 3 of 5 that count.
    [33, [[3, 10, 0, 5]], [100], [], 84],
    [
      35,
      [
        [1, 6],
        [1, 6],
        [1, 6]
      ],
      [34, 33, 33],
      [0, 1, 2],
      69
    ]
  ])("%d: %j: %j", (_, priorities, healthy, panics, total) => {
    expect(make(priorities)).toMatchObject({ healthy, panics, total })
  })

  it("34: degraded ones get what healthy ones do not", () => {
    expect(make([[2, 10, 3]])).toMatchObject({ healthy: [40], degraded: [60] })
    expect(make([[5, 10, 2]])).toMatchObject({ healthy: [72], degraded: [28] })
  })
})

it("the rest of the division is the first priority's that has healthy hosts, else that has degraded ones", () => {
  const given = { panicThreshold: 0 }
  const of = (...priorities: ReadonlyArray<Priority>) => make(priorities, given)
  expect(of([0, 6], [1, 6], [1, 6], [1, 6])).toMatchObject({ healthy: [0, 34, 33, 33], degraded: [0, 0, 0, 0] })
  expect(of([0, 6, 1], [0, 6, 1], [0, 6, 1])).toMatchObject({ healthy: [0, 0, 0], degraded: [34, 33, 33] })
})

describe("panic", () => {
  it("never at 0, and never where enough are well in all priorities together", () => {
    expect(make([[0, 10]], { panicThreshold: 0 })).toEqual({ healthy: [100], degraded: [0], panics: [], total: 0 })
    expect(make([], {}).healthy).toEqual([])
    expect(
      make([
        [0, 10],
        [10, 10]
      ]).panics
    ).toEqual([])
    expect(make([[0, 0]])).toMatchObject({ healthy: [100], panics: [0] })
    expect(
      make([
        [0, 0],
        [0, 4]
      ]).healthy
    ).toEqual([0, 100])
  })

  it("a threshold above 100 is 100; ★ percentages are not truncated: a third and a sixth are half", () => {
    expect(make([[2, 6, 1]], { overprovisioningFactor: 100 }).panics).toEqual([])
    expect(make([[2, 6]], { overprovisioningFactor: 100, panicThreshold: 34 }).panics).toEqual([0])
    expect(make([[6, 6]], { overprovisioningFactor: 50, panicThreshold: 1_000 }).panics).toEqual([])
  })

  it("all hosts, or none with fail_traffic_on_panic; healthy loads go before degraded ones", () => {
    const choose = (priorities: ReadonlyArray<Priority>, random: number, given: Partial<PriorityLoad.Settings> = {}) =>
      PriorityLoad.choose(PriorityLoad.make(tallies(priorities), given), random)
    expect(choose([[1, 10]], 0)).toEqual({ priority: 0, hosts: "all" })
    expect(choose([[1, 10]], 0, { failTrafficOnPanic: true })).toEqual({ priority: 0, hosts: "none" })
    expect(
      choose(
        [
          [7, 10],
          [10, 10]
        ],
        0.979
      )
    ).toEqual({ priority: 0, hosts: "healthy" })
    expect(
      choose(
        [
          [7, 10],
          [10, 10]
        ],
        0.98
      )
    ).toEqual({ priority: 1, hosts: "healthy" })
    expect(choose([[2, 10, 3]], 0.399)).toEqual({ priority: 0, hosts: "healthy" })
    expect(choose([[2, 10, 3]], 0.4)).toEqual({ priority: 0, hosts: "degraded" })
    expect(choose([], 0)).toBeUndefined()
  })
})

describe("tallies", () => {
  const member = (flags: ReadonlyArray<HealthFlags.Flag>, priority: number, weight: number) => ({
    host: Host.make("h", { priority, weight }),
    place: 0,
    flags: HealthFlags.make(...flags),
    checks: []
  })

  it("by flags, priorities without gaps, hosts and weights", () => {
    const members = [
      member([], 0, 2),
      member(["DEGRADED_EDS_HEALTH"], 0, 3),
      member(["EDS_STATUS_DRAINING"], 0, 5),
      member(["FAILED_OUTLIER"], 0, 7),
      member(["PENDING_DYNAMIC_REMOVAL"], 2, 11)
    ]
    const none = { all: 0, excluded: 0, healthy: 0, degraded: 0 }
    expect(PriorityLoad.tally(members)).toEqual([
      {
        hosts: { all: 4, excluded: 1, healthy: 1, degraded: 1 },
        weights: { all: 17, excluded: 5, healthy: 2, degraded: 3 }
      },
      { hosts: none, weights: none },
      { hosts: { ...none, all: 1, healthy: 1 }, weights: { ...none, all: 11, healthy: 11 } }
    ])
  })

  it("health by weights, ★ panic by hosts all the same", () => {
    const members = [member([], 0, 9), member(["FAILED_ACTIVE_HC"], 0, 4), member(["FAILED_ACTIVE_HC"], 0, 4)]
    const told = (weightedPriorityHealth: boolean) => {
      const { loads, total } = PriorityLoad.make(PriorityLoad.tally(members), { weightedPriorityHealth })
      return [total, loads[0]?.isPanicking]
    }
    expect([told(false), told(true)]).toEqual([
      [46, true],
      [74, true]
    ])
  })

  it("localities weigh less with fewer hosts; one without weight has no load", () => {
    const weight = (w: number, h: number, excluded = 0) => PriorityLoad.localityWeight(w, h, { all: 10, excluded })
    expect([weight(10, 8), weight(10, 5), weight(10, 5, 5), weight(0, 10), weight(10, 0, 10)]).toEqual([
      10, 7, 10, 0, 0
    ])
  })
})

it("adds up to 100, and is what a reference reckons that gives the load out percent by percent", () => {
  const priority = fc
    .tuple(fc.nat(12), fc.nat(12), fc.nat(12), fc.nat(6))
    .map(([h, d, bad, excluded]): Priority => [h, h + d + bad + excluded, d, excluded])
  const settings = fc.record({
    overprovisioningFactor: fc.constantFrom(1, 20, 50, 100, 140),
    panicThreshold: fc.constantFrom(0, 1, 33, 50, 100)
  })
  fc.assert(
    fc.property(fc.array(priority, { minLength: 1, maxLength: 5 }), settings, (priorities, given) => {
      const { overprovisioningFactor: factor, panicThreshold: threshold } = given
      // The highest whole percentage that is not more than what is there, by looking for it.
      const percent = (part: number, n: number) => {
        let whole = 0
        while (whole < 100 && (whole + 1) * n <= factor * part && n > 0) whole++
        return whole
      }
      const parts = (["h", "d"] as const).flatMap((kind) =>
        priorities.map(([h, n, d = 0, excluded = 0]) => percent(kind === "h" ? h : d, n - excluded))
      )
      const total = Math.min(
        100,
        parts.reduce((a, b) => a + b, 0)
      )
      const panics = priorities.flatMap(([h, n, d = 0, excluded = 0], index) => {
        const counted = n - excluded
        return total < 100 && (counted === 0 ? threshold > 0 : (h + d) * 100 < threshold * counted) ? [index] : []
      })
      const given100 = (wanted: ReadonlyArray<number>, whole: number): Array<number> => {
        const loads = wanted.map(() => 0)
        let left = 100
        for (const [index, want] of wanted.entries()) {
          while (left > 0 && ((loads[index] ?? 0) + 1) * whole <= want * 100) {
            loads[index] = (loads[index] ?? 0) + 1
            left--
          }
        }
        const first = Math.max(
          0,
          wanted.findIndex((want) => want > 0)
        )
        loads[first] = (loads[first] ?? 0) + left
        return loads
      }
      const hosts = priorities.map(([, n]) => n)
      const isTotal = panics.length === priorities.length
      const loads = isTotal
        ? given100(hosts, hosts.reduce((a, b) => a + b, 0) || 1)
        : total === 0
          ? [100]
          : given100(parts, total)
      const result = make(priorities, given)
      expect(result.total).toBe(total)
      expect(result.panics).toEqual(panics)
      expect([...result.healthy, ...result.degraded]).toEqual(
        Array.from({ length: 2 * priorities.length }, (_, index) => loads[index] ?? 0)
      )
      expect([...result.healthy, ...result.degraded].reduce((a, b) => a + b, 0)).toBe(100)
    }),
    { numRuns: 500 }
  )
})
