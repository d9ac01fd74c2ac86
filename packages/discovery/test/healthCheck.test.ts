import * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import * as Settings from "@effect-xds/discovery/HealthCheckSettings"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

/** As the vectors have it. */
const usual: Settings.Given = {
  timeout: 1_000,
  interval: 10_000,
  healthyThreshold: 3,
  unhealthyThreshold: 2,
  unhealthyInterval: 5_000,
  unhealthyEdgeInterval: 2_000,
  healthyEdgeInterval: 3_000
}

type Answer = HealthCheck.Result | "silence"
const ok: Answer = { _tag: "Success" }
const reset: Answer = { _tag: "Network", why: "read ECONNRESET" }
const no: Answer = { _tag: "Immediate", why: "status 500" }
const again: Answer = { _tag: "Retriable", why: "status 503" }

/** A check that is stepped by hand. */
class Play {
  self: HealthCheck.HealthCheck
  now = 0
  random: ReadonlyArray<number> = []
  private words: Array<string> = []

  constructor(given: Settings.Given = {}, hasTraffic = true) {
    this.self = HealthCheck.make(Either.getOrThrow(Settings.make({ ...usual, ...given })), hasTraffic)
  }

  give(input: HealthCheck.Input): this {
    const [next, outputs] = HealthCheck.step(this.self, input, { now: this.now, draw: (n) => this.random[n] ?? 0 })
    this.self = next
    for (const output of outputs) {
      const [what] = Object.entries(output).flatMap(([key, value]) =>
        key === "_tag" ? [] : [key === "flags" ? HealthFlags.names(Number(value)).join("+") : String(value)]
      )
      this.words.push(`${output._tag}${what === undefined ? "" : ` ${what}`}`)
    }
    return this
  }

  get said(): ReadonlyArray<string> {
    return this.words.splice(0)
  }

  /** What was said so far is of no interest. */
  quiet(): this {
    this.words.length = 0
    return this
  }

  get events(): ReadonlyArray<string> {
    return this.said.flatMap((word) => (word.startsWith("Event ") ? [word.slice(6)] : []))
  }

  at(now: number): this {
    this.now = now
    return this
  }

  start(): this {
    return this.give({ _tag: "Start" })
  }

  /** The next probe, if it is yet to come, and its answer, 100 after. */
  answer(...answers: ReadonlyArray<Answer>): this {
    for (const result of answers) {
      if (this.self.phase._tag === "Waiting") this.at(HealthCheck.deadline(this.self)).give({ _tag: "Deadline" })
      if (result === "silence") this.at(HealthCheck.deadline(this.self)).give({ _tag: "Deadline" })
      else this.at(this.now + 100).give({ _tag: "Result", attempt: this.self.attempt, result })
    }
    return this
  }

  get flags(): ReadonlyArray<string> {
    return HealthFlags.names(this.self.flags)
  }

  /** Whether it passes, and when it is probed next. */
  get next(): readonly [string, number] {
    return [HealthCheck.isFailing(this.self) ? "failing" : "OK", HealthCheck.deadline(this.self)]
  }
}

const passing = (given: Settings.Given = {}) => new Play(given).start().answer(ok)

describe("vectors of checks", () => {
  it("36: a first success is enough", () => {
    expect(passing().next).toEqual(["OK", 10_100])
  })

  it("37: two resets, then three successes, at their intervals", () => {
    const play = passing()
    const told = [reset, reset, ok, ok, ok].map((answer) => [play.answer(answer).now, ...play.next])
    expect(told).toEqual([
      [10_200, "OK", 12_200],
      [12_300, "failing", 17_300],
      [17_400, "failing", 20_400],
      [20_500, "failing", 23_500],
      [23_600, "OK", 33_600]
    ])
  })

  it("38: 503: failing; one that may be tried again: not yet", () => {
    expect(passing().answer(no).next).toEqual(["failing", 15_200])
    expect(passing().answer(again).next).toEqual(["OK", 12_200])
    expect(passing().answer(again, again).next[0]).toBe("failing")
  })

  it("39: silence: not yet", () => {
    const play = passing().answer("silence")
    expect([play.now, ...play.next]).toEqual([11_100, "OK", 13_100])
  })

  it("40: a first failure: three successes are needed", () => {
    const play = new Play().start().answer(no, ok, ok)
    expect(play.next[0]).toBe("failing")
    expect(play.answer(ok).next[0]).toBe("OK")
  })

  it("41: without traffic", () => {
    expect(new Play({}, false).start().answer(ok).next).toEqual(["OK", 60_100])
    expect(new Play({ noTrafficHealthyInterval: 30_000 }, false).start().answer(ok).next).toEqual(["OK", 30_100])
    // What is not yet enough, and failures, wait as long as ever.
    const play = new Play({ noTrafficHealthyInterval: 30_000 }, false).start().answer(no)
    expect([play.next[1], play.answer(ok).next[1]]).toEqual([60_100, 120_200])
  })

  it("42: 10 % and 500 more, half of each", () => {
    const play = new Play({ intervalJitterPercent: 10, intervalJitter: 500 }).start()
    play.random = [0.5, 0.5]
    expect(play.answer(ok).next[1] - play.now).toBe(10_750)
    // A percentage of what is waited.
    expect(play.answer(reset).next[1] - play.now).toBe(2_350)
  })

  it("43: the first probe is late by some of its jitter, at least a millisecond", () => {
    const started = (random: number) => {
      const play = new Play({ initialJitter: 1_000 })
      play.random = [random]
      return play.start().next[1]
    }
    expect([started(0.3), started(0), started(1), started(Number.NaN)]).toEqual([300, 1, 999, 1])
    expect(new Play().start().said).toEqual(["Probe 1"])
  })
})

describe("flags", () => {
  it("timeout: of one that fails, while its last failure is one", () => {
    const play = passing().answer("silence")
    expect(play.flags).toEqual([])
    expect(play.answer("silence").flags).toEqual(["FAILED_ACTIVE_HC", "ACTIVE_HC_TIMEOUT"])
    expect(play.answer(ok).flags).toEqual(["FAILED_ACTIVE_HC", "ACTIVE_HC_TIMEOUT"])
    expect(play.answer(reset).flags).toEqual(["FAILED_ACTIVE_HC"])
    expect(play.answer("silence", ok, ok, ok).flags).toEqual([])
  })

  it("degraded: as the last success said", () => {
    const play = passing().answer({ _tag: "Success", isDegraded: true })
    expect([play.flags, play.events]).toEqual([["DEGRADED_ACTIVE_HC"], ["AddHealthy", "Degraded"]])
    expect(play.answer(no).flags).toEqual(["FAILED_ACTIVE_HC", "DEGRADED_ACTIVE_HC"])
    expect([play.answer(ok).flags, play.events]).toEqual([["FAILED_ACTIVE_HC"], ["EjectUnhealthy", "NoLongerDegraded"]])
  })

  it("excluded: by the header of an answer that says no, until it passes", () => {
    const play = passing().answer({ _tag: "Immediate", isExcluded: true })
    expect(play.flags).toEqual(["FAILED_ACTIVE_HC", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL"])
    expect(play.answer(no, ok, ok).flags).toEqual(["FAILED_ACTIVE_HC", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL"])
    expect(play.answer(ok).flags).toEqual([])
  })

  it("by the header of the response to a call: at once; ★ timers and probes stay", () => {
    const play = passing().quiet()
    play.at(4_000).give({ _tag: "Passive" })
    expect(play.said).toEqual(["Health FAILED_ACTIVE_HC+EXCLUDED_VIA_IMMEDIATE_HC_FAIL", "Event EjectUnhealthy"])
    expect(play.next).toEqual(["failing", 10_100])
    // Successes that came before it do not count.
    expect(play.answer(ok, ok).give({ _tag: "Passive" }).answer(ok, ok).next[0]).toBe("failing")
    expect(play.answer(ok).next[0]).toBe("OK")
    // ★ It is a result: the first probe is not enough any more.
    const first = new Play().start().give({ _tag: "Passive" })
    expect(first.said).toEqual([
      "Probe 1",
      "Health FAILED_ACTIVE_HC+EXCLUDED_VIA_IMMEDIATE_HC_FAIL",
      "Checked",
      "Event Failure"
    ])
    expect(first.answer(ok).next[0]).toBe("failing")
  })
})

describe("probes", () => {
  it("what comes after the timeout, twice, or for another attempt is ignored", () => {
    const play = passing().answer("silence")
    expect(play.said.slice(-2)).toEqual(["Probe 2", "Abort 2"])
    const before = play.self
    expect(play.give({ _tag: "Result", attempt: 2, result: ok }).self).toBe(before)
    play.at(13_100).give({ _tag: "Deadline" }).give({ _tag: "Result", attempt: 2, result: ok })
    expect(play.self.phase._tag).toBe("Probing")
    expect(play.give({ _tag: "Deadline" }).give({ _tag: "Start" }).said).toEqual(["Probe 3"])
  })

  it("a connection is used again, unless it is not to be, it failed, or is about to close", () => {
    const fresh = (given: Settings.Given, ...answers: ReadonlyArray<Answer>) => {
      const play = new Play(given).start().answer(...answers)
      const [, [output]] = HealthCheck.step(
        play.self,
        { _tag: "Deadline" },
        { now: HealthCheck.deadline(play.self), draw: () => 0 }
      )
      return output?._tag === "Probe" ? output.isFresh : undefined
    }
    expect([fresh({}, ok), fresh({}, no), fresh({}, again)]).toEqual([false, false, false])
    expect([fresh({}, reset), fresh({}, ok, "silence"), fresh({}, { ...ok, closes: true })]).toEqual([true, true, true])
    expect(fresh({ reuseConnection: false }, ok)).toBe(true)
  })

  it("stopped: a probe is aborted, and nobody waits for its result", () => {
    const play = new Play().start().give({ _tag: "Stop" })
    expect(play.said).toEqual(["Probe 1", "Abort 1", "Checked"])
    const before = play.self
    expect(play.give({ _tag: "Start" }).give({ _tag: "Passive" }).give({ _tag: "Stop" }).self).toBe(before)
    expect(play.next[1]).toBe(Number.POSITIVE_INFINITY)
    const checked = passing().quiet()
    expect(checked.give({ _tag: "Stop" }).said).toEqual([])
  })

  it("traffic does not shorten a wait that runs", () => {
    const play = new Play({}, false).start().answer(ok).give({ _tag: "TrafficSeen" })
    expect(play.next[1]).toBe(60_100)
    expect(play.answer(ok).next[1]).toBe(70_200)
  })
})

describe("events", () => {
  it("the first failure, unless all are wanted; successes only if wanted", () => {
    expect(new Play().start().answer(no, no).events).toEqual(["Failure"])
    expect(new Play({ alwaysLogHealthCheckFailures: true }).start().answer(no, no).events).toEqual([
      "Failure",
      "Failure"
    ])
    expect(passing({ alwaysLogHealthCheckSuccess: true }).answer(ok).events).toEqual([
      "AddHealthy",
      "Success",
      "Success"
    ])
  })

  it.each([
    [reset, "NETWORK", "read ECONNRESET"],
    ["silence", "NETWORK_TIMEOUT", "no answer within 1000 ms"],
    [no, "ACTIVE", "status 500"],
    [again, "ACTIVE", "status 503"],
    [{ _tag: "Network" }, "NETWORK", ""],
    [{ _tag: "Network", why: "a".repeat(60_000) }, "NETWORK", "a".repeat(HealthCheck.maxWhy)]
  ] as const)("%# is %s, and says why", (answer, type, why) => {
    const play = new Play({ unhealthyThreshold: 1, alwaysLogHealthCheckFailures: true }).start().answer(ok)
    const { self } = play
    const probing = HealthCheck.step(self, { _tag: "Deadline" }, { now: 10_100, draw: () => 0 })[0]
    const input =
      answer === "silence"
        ? ({ _tag: "Deadline" } as const)
        : ({ _tag: "Result", attempt: probing.attempt, result: answer } as const)
    const [after, outputs] = HealthCheck.step(probing, input, { now: 11_100, draw: () => 0 })
    expect(after.last?.why).toBe(why)
    const events = outputs.filter(({ _tag }) => _tag === "Event")
    expect(events).toEqual([
      { _tag: "Event", event: "EjectUnhealthy", type, isFirst: false, why },
      { _tag: "Event", event: "Failure", type, isFirst: false, why }
    ])
  })
})

describe("settings", () => {
  it("what is required, and what cannot be, by the fields of the proto", () => {
    const fields = (given: Settings.Given) =>
      Either.match(Settings.make(given), {
        onLeft: (mistakes) => mistakes.map(({ field }) => field),
        onRight: () => []
      })
    expect(fields({})).toEqual(["timeout", "interval", "unhealthy_threshold", "healthy_threshold"])
    expect(fields({ ...usual, timeout: 0, healthyEdgeInterval: Number.NaN, intervalJitter: -1 })).toEqual([
      "timeout",
      "healthy_edge_interval",
      "interval_jitter"
    ])
  })

  it("defaults follow each other; ★ a threshold of 0 is 1", () => {
    const given = { timeout: 1, interval: 7, unhealthyThreshold: 0, healthyThreshold: 0, unhealthyInterval: 9 }
    expect(Either.getOrThrow(Settings.make(given))).toMatchObject({
      unhealthyThreshold: 1,
      healthyThreshold: 1,
      healthyEdgeInterval: 7,
      unhealthyEdgeInterval: 9,
      noTrafficInterval: 60_000,
      noTrafficHealthyInterval: 60_000,
      reuseConnection: true
    })
  })
})

type Kind = "Success" | "Immediate" | "Retriable" | "Network" | "Timeout" | "Passive"

/** Whether a host fails after the first `n` results of a log, by looking back. */
const failsAfter = (log: ReadonlyArray<Kind>, n: number, up: number, down: number): boolean => {
  if (n === 0) return true
  const isSuccess = (index: number) => log[index] === "Success"
  let from = n - 1
  while (from > 0 && isSuccess(from - 1) === isSuccess(n - 1)) from--
  // From `from` on all are successes, or all are failures.
  const before = failsAfter(log, from, up, down)
  if (isSuccess(n - 1)) return before && from > 0 && n - from < up
  if (before) return true
  return n - from >= down || log.slice(from, n).some((kind) => kind === "Immediate" || kind === "Passive")
}

it("is what a reference says that reads all results anew each time", () => {
  const settings = fc.record({
    healthyThreshold: fc.integer({ min: 0, max: 4 }),
    unhealthyThreshold: fc.integer({ min: 0, max: 4 }),
    intervalJitterPercent: fc.constantFrom(0, 10, 150),
    intervalJitter: fc.constantFrom(0, 1, 700)
  })
  const kind = fc.constantFrom<Kind>(
    "Success",
    "Success",
    "Success",
    "Immediate",
    "Retriable",
    "Network",
    "Timeout",
    "Passive"
  )
  const random = fc.constantFrom(0, 0.25, 0.999)
  fc.assert(
    fc.property(
      settings,
      fc.array(fc.tuple(kind, random, random), { maxLength: 25 }),
      fc.nat(25),
      (given, kinds, traffic) => {
        const play = new Play(given, false).start()
        const { healthyThreshold, unhealthyThreshold } = given
        const log: Array<Kind> = []
        for (const [each, ...draws] of kinds) {
          if (log.length === traffic) play.give({ _tag: "TrafficSeen" })
          play.random = draws
          const wait = play.next[1]
          if (each === "Passive") play.give({ _tag: "Passive" })
          else play.answer(each === "Timeout" ? "silence" : { _tag: each })
          const fails = (n: number) =>
            failsAfter(log, n, Math.max(1, healthyThreshold), Math.max(1, unhealthyThreshold))
          log.push(each)
          const [did, does] = [fails(log.length - 1), fails(log.length)]
          expect(play.next[0]).toBe(does ? "failing" : "OK")
          if (each === "Passive") {
            expect(play.next[1]).toBe(wait)
            continue
          }
          const isSuccess = each === "Success"
          const isPending = isSuccess ? does : did === does && !does
          const hasTraffic = traffic < log.length
          const base = !hasTraffic ? 60_000 : isSuccess ? (isPending ? 3_000 : 10_000) : isPending ? 2_000 : 5_000
          const [first, second] = draws
          const percent = Math.floor((base * given.intervalJitterPercent) / 100)
          const jitter = Math.floor(first * percent) + Math.floor(second * given.intervalJitter)
          expect(play.next[1] - play.now).toBe(base + jitter)
        }
      }
    ),
    { numRuns: 300 }
  )
})

describe("what a prober gives back", () => {
  it.each([ok, reset, no, again, { _tag: "Network", why: undefined }])("%j is a result", (value) => {
    expect(HealthCheck.isResult(value)).toBe(true)
  })

  it.each([undefined, null, "Success", {}, { _tag: "Timeout" }, { _tag: "Network", why: 5 }])("%j is none", (value) => {
    expect(HealthCheck.isResult(value)).toBe(false)
  })
})
