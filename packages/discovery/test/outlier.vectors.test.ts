import * as Outlier from "@effect-xds/discovery/Outlier"
import * as OutlierSettings from "@effect-xds/discovery/OutlierSettings"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { Play, five } from "./Play.js"

const rates = { successRateMinimumHosts: 4, maxEjectionPercent: 100 }

describe("vectors of ejections", () => {
  it("44: ejected at 3000: back at 40000, forgotten at 50000; again at 45000 instead: back at 110000", () => {
    const play = new Play("envoy", {}).at(3_000).respond("h0", ...five)
    expect(play.at(39_999).ejected).toEqual(["h0"])
    play.at(45_000)
    expect(play.said).toEqual(["3000 Ejected h0 Consecutive5xx", "40000 Returned h0 Time"])
    expect(play.host("h0")?.multiplier).toBe(1)
    expect(play.at(50_000).host("h0")?.multiplier).toBe(0)

    const again = new Play("envoy", {}).at(3_000).respond("h0", ...five)
    again.at(45_000).respond("h0", ...five)
    expect(again.host("h0")?.multiplier).toBe(2)
    expect(again.at(109_999).ejected).toEqual(["h0"])
    expect(again.at(110_000).said.at(-1)).toBe("110000 Returned h0 Time")
  })

  it.each([
    [5, false, 0],
    [5, true, 1],
    [10, false, 1],
    [100, false, 10]
  ])("45: 10 %% of %d hosts, always one: %s: %d", (hosts, alwaysEjectOneHost, expected) => {
    const play = new Play("envoy", { alwaysEjectOneHost }, hosts)
    for (let host = 0; host < hosts; host++) play.respond(`h${host}`, ...five)
    expect(play.ejected.length).toBe(expected)
    expect(play.said.filter((each) => each.endsWith("MaxEjectionPercent")).length).toBe(hosts - expected)
  })

  it("45, A50: one always goes, but none at 0 %", () => {
    const hosts = (maxEjectionPercent: number) =>
      new Play("A50", { maxEjectionPercent, successRateStdevFactor: 0 }, 5).succeed([100, 100, 100, 0, 0]).at(10_000)
    expect(hosts(10).ejected).toEqual(["h3"])
    expect(hosts(0).ejected).toEqual([])
    expect(hosts(40).ejected).toEqual(["h3", "h4"])
  })

  it.each(["envoy", "A50"] as const)(
    "46 and routing's 71: 100×4, 50: mean 90, σ 20, below 52: ejected (%s)",
    (rules) => {
      expect(Outlier.boundOf([100, 100, 100, 100, 50], 1_900)).toEqual({ mean: 90, deviation: 20, bound: 52 })
      const play = new Play(rules, rates, 5).succeed([100, 100, 100, 100, 50]).at(10_000)
      expect(play.said).toEqual(["10000 Ejected h4 SuccessRate"])
    }
  )

  it.each(["envoy", "A50"] as const)("routing's 72: ★ one host fewer: none (%s)", (rules) => {
    const few = { ...rates, successRateMinimumHosts: 5 }
    expect(new Play(rules, few, 5).succeed([100, 100, 100, 50]).at(10_000).said).toEqual([])
    // One bad host of n deviates by √(n − 1) σ: below five no host is ever below the bound.
    expect(new Play(rules, rates, 4).succeed([100, 100, 100, 0]).at(10_000).said).toEqual([])
  })

  it("47: 99, 98, 97, 99, 60: 90.6, 15.318, 61.496: 60 goes", () => {
    const { bound, deviation, mean } = Outlier.boundOf([99, 98, 97, 99, 60], 1_900)
    expect([mean, deviation, bound].map((each) => each.toFixed(3))).toEqual(["90.600", "15.318", "61.496"])
    expect(new Play("envoy", rates, 5).succeed([99, 98, 97, 99, 60]).at(10_000).ejected).toEqual(["h4"])
  })

  it("48: 100×3, 0, minimum 4 hosts: −7.272: none", () => {
    expect(Outlier.boundOf([100, 100, 100, 0], 1_900).bound.toFixed(3)).toBe("-7.272")
    expect(new Play("envoy", rates, 4).succeed([100, 100, 100, 0]).at(10_000).said).toEqual([])
  })

  it("49: 85.0 % failed at 85: ejected (A50: not); volume 99: not in the success rate", () => {
    const given = { enforcingFailurePercentage: 100, maxEjectionPercent: 100, enforcingSuccessRate: 0 }
    const at85 = (rules: OutlierSettings.Rules, succeeded: number) =>
      new Play(rules, given, 5).succeed([100, 100, 100, 100, succeeded]).at(10_000).ejected
    expect(at85("envoy", 15)).toEqual(["h4"])
    expect(at85("envoy", 16)).toEqual([])
    expect(at85("A50", 15)).toEqual([])
    expect(at85("A50", 14)).toEqual(["h4"])
    const volume = (calls: number) => {
      const play = new Play("envoy", { ...rates, maxEjectionPercent: 100 }, 6).succeed([100, 100, 100, 100, 100])
      return play.give({ _tag: "Counted", host: "h5", succeeded: 0, failed: calls }).at(10_000).ejected
    }
    expect([volume(99), volume(100)]).toEqual([[], ["h5"]])
  })
})

describe("failures in a row", () => {
  it("another outcome ends a row; ★ at the limit it starts again, even if nothing is ejected", () => {
    const play = new Play("envoy", { enforcingConsecutive5xx: 0 }).respond("h0", 500, 500, 500, 500, 200)
    expect(play.respond("h0", 500, 500, 500, 499, ...five.slice(1)).said).toEqual([])
    expect(play.respond("h0", 599, ...five).said).toEqual(
      Array(2).fill("0 Spared h0 Consecutive5xx".replace("Consecutive5xx", "NotEnforced"))
    )
    expect(play.host("h0")?.inRow.any).toBe(0)
    // 600 is none of them.
    expect(play.respond("h0", 500, 600).host("h0")?.inRow.any).toBe(0)
  })

  it("502 to 504 are failures of a gateway; ★ another 5xx ends their row", () => {
    const given = { consecutive5xx: 0, enforcingConsecutiveGatewayFailure: 100 }
    const play = new Play("envoy", given).respond("h0", 502, 503, 504, 502, 500, 503, 503, 503, 503)
    expect(play.said).toEqual([])
    expect(play.respond("h0", 505, 501).host("h0")?.inRow.gateway).toBe(0)
    expect(play.respond("h0", 504, 504, 504, 504, 504).said).toEqual(["0 Ejected h0 ConsecutiveGatewayFailure"])
    // Not enforced by default.
    const both = new Play("envoy", {}).respond("h0", 503, 503, 503, 503, 503)
    expect(both.said).toEqual(["0 Spared h0 NotEnforced", "0 Ejected h0 Consecutive5xx"])
  })

  it("failures before a response: 503 and 504, or detectors of their own", () => {
    const play = new Play("envoy", { enforcingConsecutiveGatewayFailure: 100 })
    play.before("h0", "ConnectFailure", "Connected", "Timeout", "Timeout", "ConnectFailure", "Connected")
    expect(play.said).toEqual([])
    expect(play.before("h0", "Timeout").said).toEqual(["0 Ejected h0 ConsecutiveGatewayFailure"])

    const split = new Play("envoy", { splitExternalLocalOriginErrors: true })
    split.before("h0", "Timeout", "Timeout", "Timeout", "ConnectFailure", "Connected").respond("h0", 500, 500, 500, 500)
    split.before("h0", "Timeout", "Timeout", "Timeout", "ConnectFailure")
    expect(split.said).toEqual([])
    expect(split.host("h0")?.local).toEqual({ succeeded: 1, all: 9 })
    expect(split.host("h0")?.external).toEqual({ succeeded: 0, all: 4 })
    expect(split.before("h0", "Timeout").said).toEqual(["0 Ejected h0 ConsecutiveLocalOriginFailure"])
  })

  it("0 is off, and A50 has none", () => {
    expect(new Play("envoy", { consecutive5xx: 0 }).respond("h0", ...five, ...five).said).toEqual([])
    expect(new Play("A50", {}).respond("h0", ...five, ...five).said).toEqual([])
  })

  it("★ a row that grew while the host was ejected is forgotten when it comes back", () => {
    const play = new Play("envoy", {}).respond("h0", ...five).respond("h0", 500, 500, 500, 500)
    play.at(30_000).respond("h0", 500)
    expect(play.said).toEqual(["0 Ejected h0 Consecutive5xx", "30000 Returned h0 Time"])
  })
})

describe("sweeps", () => {
  it("★ count the last interval, of hosts that are not ejected", () => {
    const play = new Play("envoy", rates, 5)
      .succeed(
        [100, 100, 100, 100, 50].map((each) => each / 2),
        50
      )
      .at(10_000)
    expect(play.succeed([50, 50, 50, 50, 25], 50).at(20_000).said).toEqual([])
    // Without h0, which is ejected, there are too few.
    const few = new Play("envoy", { ...rates, successRateMinimumHosts: 5 }, 5).respond("h0", ...five)
    expect(few.succeed([100, 100, 100, 100, 50]).at(10_000).ejected).toEqual(["h0"])
  })

  it("what one detector ejects the other counts among its hosts, ★ and ejects no second time", () => {
    const given = { maxEjectionPercent: 100, enforcingFailurePercentage: 100, failurePercentageThreshold: 50 }
    const play = new Play("envoy", given, 6).succeed([100, 100, 100, 100, 100, 0]).at(10_000)
    expect(play.said).toEqual(["10000 Ejected h5 SuccessRate"])
    expect(play.self.ejected).toBe(1)
    expect(play.host("h5")?.multiplier).toBe(1)
  })

  it("local origin has detectors of its own", () => {
    const given = {
      splitExternalLocalOriginErrors: true,
      consecutiveLocalOriginFailure: 0,
      maxEjectionPercent: 100,
      successRateRequestVolume: 10,
      failurePercentageRequestVolume: 10,
      enforcingFailurePercentageLocalOrigin: 100
    }
    const run = (more: OutlierSettings.Given) => {
      const play = new Play("envoy", { ...given, ...more }, 5)
      for (let call = 0; call < 10; call++) {
        for (const host of ["h0", "h1", "h2", "h3"]) play.before(host, "Connected")
        play.before("h4", "ConnectFailure")
      }
      return play.at(10_000).said
    }
    expect(run({})).toEqual(["10000 Ejected h4 SuccessRateLocalOrigin"])
    expect(run({ enforcingLocalOriginSuccessRate: 0 })).toEqual([
      "10000 Spared h4 NotEnforced",
      "10000 Ejected h4 FailurePercentageLocalOrigin"
    ])
  })

  it("a percentage of detections is enforced: ⌊100 r⌋ < percentage", () => {
    const run = (rules: OutlierSettings.Rules, random: number, enforcingSuccessRate: number) => {
      const play = new Play(rules, { ...rates, enforcingSuccessRate }, 5)
      play.random = random
      return play.succeed([100, 100, 100, 100, 50]).at(10_000).said
    }
    for (const rules of ["envoy", "A50"] as const) {
      expect(run(rules, 0.299, 30)).toEqual(["10000 Ejected h4 SuccessRate"])
      expect(run(rules, 0.3, 30)).toEqual(["10000 Spared h4 NotEnforced"])
      // What is no random number is taken for the next one.
      expect(run(rules, 1, 100)).toEqual(["10000 Ejected h4 SuccessRate"])
      expect(run(rules, Number.NaN, 1)).toEqual(["10000 Ejected h4 SuccessRate"])
    }
    expect(run("envoy", 0, 0)).toEqual(["10000 Spared h4 NotEnforced"])
    expect(run("A50", 0, 0)).toEqual([])
  })

  it("late ones are not made up for", () => {
    const play = new Play("envoy", {})
    play.now = 35_000
    play.give({ _tag: "Deadline" })
    expect(Outlier.deadline(play.self)).toBe(45_000)
    expect(play.give({ _tag: "Deadline" }).self.intervalFrom).toBe(35_000)
  })
})

describe("how long", () => {
  it("grows by the base time up to the maximum, with jitter on top", () => {
    const play = new Play("envoy", { maxEjectionTime: 75_000, maxEjectionTimeJitter: 999 })
    play.random = 0.5
    const lasted: Array<number> = []
    for (let round = 0; round < 5; round++) {
      play.respond("h0", ...five)
      const since = play.now
      while (play.ejected.length > 0) play.at(play.now + 10_000)
      lasted.push(play.now - since)
    }
    // 30 000, 60 000, 75 000 … and 500 more, each until the next sweep; the multiplier stops where it makes no difference.
    expect(lasted).toEqual([40_000, 70_000, 80_000, 80_000, 80_000])
    expect(play.host("h0")?.multiplier).toBe(4)
  })

  it("A50: strictly after; the multiplier is less by one in every sweep", () => {
    const given = { ...rates, baseEjectionTime: 10_000 }
    const play = new Play("A50", given, 5).succeed([100, 100, 100, 100, 50]).at(10_000)
    expect(play.at(20_000).ejected).toEqual(["h4"])
    expect(play.at(30_000).said).toEqual(["10000 Ejected h4 SuccessRate", "30000 Returned h4 Time"])
    expect(play.host("h4")?.multiplier).toBe(1)
    expect(play.at(40_000).host("h4")?.multiplier).toBe(0)
    // Envoy: exactly then, and it comes back before others are looked for.
    const envoy = new Play("envoy", given, 5).succeed([100, 100, 100, 100, 50]).at(20_000)
    expect(envoy.said.at(-1)).toBe("20000 Returned h4 Time")
  })

  it("A50 returns hosts after it looked for others, ★ Envoy before", () => {
    const run = (rules: OutlierSettings.Rules) => {
      const given = { ...rates, maxEjectionPercent: 20, baseEjectionTime: 9_000 }
      const play = new Play(rules, given, 6).succeed([100, 100, 100, 100, 100, 50]).at(10_000)
      return play.succeed([50, 100, 100, 100, 100]).at(20_000).said.slice(1)
    }
    expect(run("envoy")).toEqual(["20000 Returned h5 Time", "20000 Ejected h0 SuccessRate"])
    expect(run("A50")).toEqual(["20000 Ejected h0 SuccessRate", "20000 Returned h5 Time"])
  })

  it("a health check that passes ends it at once, unless it is not to", () => {
    const play = new Play("envoy", {}).respond("h0", ...five).at(2_000)
    expect(play.give({ _tag: "CheckPassed", host: "h1" }).said.length).toBe(1)
    expect(play.give({ _tag: "CheckPassed", host: "h0" }).said.at(-1)).toBe("2000 Returned h0 CheckPassed")
    expect(play.at(10_000).host("h0")?.multiplier).toBe(1)
    expect(play.at(20_000).host("h0")?.multiplier).toBe(0)
    const not = new Play("envoy", { successfulActiveHealthCheckUnejectHost: false }).respond("h0", ...five)
    expect(not.give({ _tag: "CheckPassed", host: "h0" }).ejected).toEqual(["h0"])
  })
})

describe("hosts and settings", () => {
  it("a host that goes takes its ejection with it; one that comes again is new", () => {
    const play = new Play("envoy", {}).respond("h0", ...five)
    play.give({ _tag: "Removed", host: "h0" }).give({ _tag: "Added", host: "h0" })
    expect([play.self.ejected, play.host("h0")?.multiplier, play.ejected]).toEqual([0, 0, []])
    expect(play.respond("h1", ...five).ejected).toEqual(["h1"])
    // Added again, it stays what it is.
    expect(play.give({ _tag: "Added", host: "h1" }).ejected).toEqual(["h1"])
    play.give({ _tag: "Removed", host: "nobody" }).respond("nobody", ...five)
    play.give({ _tag: "Counted", host: "nobody", succeeded: 0, failed: 1 })
    play.give({ _tag: "CheckPassed", host: "nobody" })
    expect(play.self.ejected).toBe(1)
  })

  it("A50: with nothing to detect all come back, and there is no interval; a changed interval ends when it would", () => {
    const settings = (given: OutlierSettings.Given) =>
      Either.getOrThrow(OutlierSettings.make("A50", { ...rates, ...given }))
    const play = new Play("A50", rates, 5).succeed([100, 100, 100, 100, 50]).at(13_000)
    play.give({ _tag: "Configured", settings: settings({ interval: 5_000 }) })
    expect(Outlier.deadline(play.self)).toBe(15_000)
    play.succeed([100, 100, 100, 100, 50]).give({ _tag: "Configured", settings: settings({ enforcingSuccessRate: 0 }) })
    expect(play.said.at(-1)).toBe("13000 Returned h4 Off")
    expect([play.host("h4")?.multiplier, Outlier.deadline(play.self)]).toEqual([0, Number.POSITIVE_INFINITY])
    expect(play.self.ejected).toBe(0)
    // On again: what was counted before is forgotten.
    play.at(20_000).give({ _tag: "Configured", settings: settings({}) })
    expect(Outlier.deadline(play.self)).toBe(30_000)
    expect(play.at(30_000).ejected).toEqual([])
  })

  it("an interval of 0 is a millisecond: time goes on", () => {
    expect(Outlier.deadline(new Play("A50", { interval: 0 }).self)).toBe(1)
  })

  it("mistakes are named by the fields of the proto, all of them", () => {
    const fields = (rules: OutlierSettings.Rules, given: OutlierSettings.Given) =>
      Either.match(OutlierSettings.make(rules, given), {
        onLeft: (mistakes) => mistakes.map(({ field }) => field),
        onRight: ({ maxEjectionTime }) => maxEjectionTime
      })
    const wrong = { interval: -1, baseEjectionTime: Number.NaN, maxEjectionPercent: 101, enforcingConsecutive5xx: 101 }
    const both = ["interval", "base_ejection_time", "max_ejection_percent"]
    expect(fields("A50", wrong)).toEqual(both)
    expect(fields("envoy", wrong)).toEqual([...both, "enforcing_consecutive_5xx"])
    expect([fields("A50", { interval: 0 }), fields("envoy", { interval: 0 })]).toEqual([300_000, ["interval"]])
    // The maximum is not below the base time: Envoy rejects that, gRPC takes the greater one.
    expect(fields("envoy", { baseEjectionTime: 400_000 })).toBe(400_000)
    expect(fields("envoy", { maxEjectionTime: 29_999 })).toEqual(["max_ejection_time"])
    expect(fields("A50", { maxEjectionTime: 29_999 })).toBe(30_000)
    expect(fields("envoy", { maxEjectionTime: undefined, interval: undefined })).toBe(300_000)
  })
})
