import type { Checker } from "@effect-xds/discovery/Checker"
import type * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import * as Settings from "@effect-xds/discovery/HealthCheckSettings"
import * as Host from "@effect-xds/discovery/Host"
import * as ClusterMetrics from "@effect-xds/discovery-node/ClusterMetrics"
import * as HealthChecker from "@effect-xds/discovery-node/HealthChecker"
import * as NodeProber from "@effect-xds/discovery-node/NodeProber"
import * as Prober from "@effect-xds/discovery-node/Prober"
import { SimulatedTime } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Record from "effect/Record"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Servers from "./Servers.js"

const checker = (name = "", given: Settings.Given = {}): Checker => ({
  name,
  settings: Either.getOrThrow(
    Settings.make({
      timeout: 1_000,
      interval: 10_000,
      healthyThreshold: 3,
      unhealthyThreshold: 2,
      unhealthyInterval: 5_000,
      unhealthyEdgeInterval: 2_000,
      healthyEdgeInterval: 3_000,
      ...given
    })
  ),
  probe: { _tag: "Tcp", send: new Uint8Array(), receive: [] }
})

type Answer = HealthCheck.Result | "silence" | "death" | "nonsense"
const ok: Answer = { _tag: "Success" }
const reset: Answer = { _tag: "Network" }

// @ts-expect-error: a prober is code of others, and not all of it is typed
const nonsense: HealthCheck.Result = null

/** Answers after 100 milliseconds what is next in its list, and success when that is at its end. */
class Fake {
  /** What happened, with the time. */
  readonly said: Array<string> = []
  private readonly answers: Array<Answer> = []

  answer(...answers: ReadonlyArray<Answer>): void {
    this.answers.push(...answers)
  }

  get log(): ReadonlyArray<string> {
    return this.said.splice(0)
  }

  private readonly note = (what: string): Effect.Effect<void> =>
    Effect.map(Effect.clock, (clock) => void this.said.push(`${clock.unsafeCurrentTimeMillis()} ${what}`))

  readonly prober: Prober.Prober = {
    open: ({ address, hostname }) =>
      Effect.as(
        Effect.acquireRelease(this.note(`open ${address} ${hostname}`.trim()), () => this.note(`close ${address}`)),
        (isFresh: boolean) =>
          Effect.gen(this, function* () {
            yield* this.note(isFresh ? "ask, fresh" : "ask")
            const answer = this.answers.shift() ?? ok
            yield* Effect.sleep(100)
            if (answer === "silence") return yield* Effect.never
            if (answer === "death") return yield* Effect.die("no more")
            return answer === "nonsense" ? nonsense : answer
          }).pipe(Effect.onInterrupt(() => this.note("abort")))
      )
  }

  readonly on = ({ checker: name, host, output }: HealthChecker.Said): void => {
    const what = "event" in output ? output.event : "flags" in output ? `Health ${output.flags}` : output._tag
    this.said.push([host, name, what].filter((part) => part !== "").join(" "))
  }

  make(checkers: ReadonlyArray<Checker> = [checker()], on = this.on, maxProbes?: number, cluster = "shop") {
    const made = HealthChecker.make({ cluster, checkers, on, maxProbes })
    return Effect.provideService(made, Prober.Prober, this.prober)
  }
}

const h = Host.make("h")

/** Timeouts count after I/O had its turn: so has it. */
const adjust = (milliseconds: number) =>
  Effect.zipRight(
    TestClock.adjust(milliseconds),
    Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  )

describe("metrics", () => {
  const { checkDegraded, checkHealthy } = ClusterMetrics
  const counters = {
    attempt: ClusterMetrics.checkAttempt,
    success: ClusterMetrics.checkSuccess,
    failure: ClusterMetrics.checkFailure,
    passive: ClusterMetrics.checkPassiveFailure,
    network: ClusterMetrics.checkNetworkFailure,
    verify: ClusterMetrics.checkVerifyCluster
  }
  const counted = (cluster: string) =>
    Effect.all(
      Record.map(counters, (metric) =>
        Effect.map(Metric.value(ClusterMetrics.of(metric, cluster)), ({ count }) => count)
      )
    )
  const gauges = (cluster: string) =>
    Effect.all(
      [checkHealthy, checkDegraded].map((metric) =>
        Effect.map(Metric.value(ClusterMetrics.of(metric, cluster)), ({ value }) => value)
      )
    )

  it.scoped("count probes, results by their kind, and services that were looked at", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      fake.answer(
        { _tag: "Success", isVerified: true },
        { _tag: "Retriable" },
        reset,
        "silence",
        { _tag: "Immediate", isVerified: true },
        { _tag: "Immediate" }
      )
      const checks = yield* fake.make([checker()], fake.on, undefined, "counted")
      yield* checks.check(h)
      for (const wait of [100, 60_000, 100, 60_000, 100, 60_000, 100]) yield* adjust(wait)
      const afterSome = { attempt: 4, success: 1, failure: 2, passive: 0, network: 1, verify: 1 }
      expect(yield* counted("counted")).toEqual(afterSome)
      yield* adjust(900)
      expect(yield* counted("counted")).toEqual({ ...afterSome, failure: 3, network: 2 })
      for (const wait of [60_000, 100, 60_000, 100]) yield* adjust(wait)
      yield* checks.passive("h")
      expect(yield* counted("counted")).toEqual({
        attempt: 6,
        success: 1,
        failure: 6,
        passive: 1,
        network: 2,
        verify: 2
      })
    })
  )

  it.effect(
    "★ tell hosts that pass and are degraded, whoever else checks the same cluster; none are left at the end",
    () =>
      Effect.gen(function* () {
        const scopes = [yield* Scope.make(), yield* Scope.make()] as const
        const make = (scope: Scope.Scope, ...answers: ReadonlyArray<Answer>) => {
          const fake = new Fake()
          fake.answer(...answers)
          return Scope.extend(fake.make([checker("a"), checker("b")], fake.on, undefined, "gauged"), scope)
        }
        const degraded = { _tag: "Success", isDegraded: true } as const
        // Of one host both checkers say so, of the other one does.
        const checks = yield* make(scopes[0], ok, degraded, ok, reset)
        yield* checks.check(h)
        yield* checks.check(Host.make("i"))
        yield* adjust(100)
        expect(yield* gauges("gauged")).toEqual([1, 1])
        const warmed = yield* make(scopes[1])
        yield* warmed.check(h)
        yield* adjust(100)
        expect(yield* gauges("gauged")).toEqual([2, 1])
        yield* checks.uncheck("h")
        expect(yield* gauges("gauged")).toEqual([1, 0])
        yield* warmed.passive("h")
        expect(yield* gauges("gauged")).toEqual([0, 0])
        yield* Scope.close(scopes[0], Exit.void)
        for (const wait of [60_000, 100, 60_000, 100, 60_000, 100]) yield* adjust(wait)
        expect(yield* gauges("gauged")).toEqual([1, 0])
        yield* Scope.close(scopes[1], Exit.void)
        expect(yield* gauges("gauged")).toEqual([0, 0])
      })
  )
})

it.scoped(
  "★ of thousands of hosts those that are due within 5 ms are woken together, and none is later than that",
  () =>
    Effect.gen(function* () {
      const began = new Map<string, number>()
      const prober: Prober.Prober = {
        open: ({ address }) =>
          Effect.succeed(() =>
            Effect.map(Effect.clock, (clock) => {
              began.set(address, clock.unsafeCurrentTimeMillis())
              return { _tag: "Success" } as const
            })
          )
      }
      const often = checker("", { initialJitter: 1_000 })
      const made = HealthChecker.make({ cluster: "many", checkers: [often], on: () => undefined, maxProbes: 9_000 })
      const checks = yield* Effect.provideService(made, Prober.Prober, prober)
      const due: Array<number> = []
      for (let n = 0; n < 4_000; n++) {
        yield* checks.check(Host.make(String(n)))
        const [status] = yield* checks.status(String(n))
        due.push(status?.next ?? 0)
      }
      yield* adjust(1_010)
      const late = due.map((at, n) => (began.get(String(n)) ?? Number.POSITIVE_INFINITY) - at)
      expect([Math.min(...late) >= 0, Math.max(...late) <= 5]).toEqual([true, true])
      // Four are due in each millisecond.
      expect(new Set(began.values()).size).toBeLessThanOrEqual(1_010 / 5)
    })
)

describe("one host", () => {
  it.scoped("probes at its intervals; what comes of results", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      fake.answer(ok, reset, reset, ok)
      const checks = yield* fake.make()
      yield* checks.trafficSeen
      yield* checks.check(h)
      yield* adjust(100)
      expect(fake.log).toEqual(["0 open h", "0 ask, fresh", "h Health 0", "h Checked", "h AddHealthy", "h Passed"])
      yield* adjust(9_999)
      expect(fake.log).toEqual([])
      yield* adjust(1)
      yield* adjust(100)
      expect(fake.log).toEqual(["10100 ask"])
      for (const wait of [1_999, 1, 100, 5_000, 100]) yield* adjust(wait)
      expect(fake.log).toEqual(["12200 ask, fresh", "h Health 1", "h EjectUnhealthy", "17300 ask, fresh", "h Passed"])
    })
  )

  it.scoped("★ silence: aborted when its time is over, and not before; the next probe has another connection", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      fake.answer("silence", ok)
      const checks = yield* fake.make()
      yield* checks.trafficSeen
      yield* checks.check(h)
      yield* adjust(999)
      expect(fake.log).toEqual(["0 open h", "0 ask, fresh"])
      expect(yield* checks.status("h")).toMatchObject([{ isProbing: true, next: 1, last: undefined }])
      yield* adjust(1)
      expect(fake.log).toEqual(["h Health 5", "h Checked", "h Failure", "1000 abort"])
      expect(yield* checks.status("h")).toMatchObject([
        {
          checker: "",
          isProbing: false,
          next: 5_000,
          last: { result: "Timeout", ago: 0, why: "no answer within 1000 ms" }
        }
      ])
      yield* adjust(5_000)
      expect(fake.log).toEqual(["6000 ask, fresh"])
    })
  )

  it.scoped("a prober that dies, or gives back what is no result, has no answer; the next probe is as any other", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      fake.answer("death", "nonsense", ok)
      const checks = yield* fake.make()
      yield* checks.trafficSeen
      yield* checks.check(h)
      const last: Array<unknown> = []
      for (const wait of [100, 5_100, 5_100]) {
        yield* adjust(wait)
        for (const status of yield* checks.status("h")) last.push(status.last)
      }
      expect(last).toEqual([
        { result: "Network", ago: 0, why: "the prober died: no more" },
        { result: "Network", ago: 0, why: "the prober gave back no result" },
        { result: "Success", ago: 0, why: "" }
      ])
    })
  )

  it.scoped("★ a prober that throws has no answer, and other hosts are checked on", () =>
    Effect.gen(function* () {
      const boom = (): never => {
        throw new Error("boom")
      }
      const asked: Array<string> = []
      let throws = false
      const prober: Prober.Prober = {
        open: ({ address }) =>
          address === "open"
            ? boom()
            : Effect.succeed(() => {
                asked.push(address)
                if (address === "ask" && throws) boom()
                return Effect.succeed({ _tag: "Success" } as const)
              })
      }
      const made = HealthChecker.make({ cluster: "shop", checkers: [checker()], on: () => undefined })
      const checks = yield* Effect.provideService(made, Prober.Prober, prober)
      yield* checks.trafficSeen
      const last = (host: string) => Effect.map(checks.status(host), ([status]) => status?.last)
      const died = { result: "Network", ago: 0, why: "the prober died: boom" }
      for (const id of ["h", "open", "ask"]) yield* checks.check(Host.make(id))
      yield* adjust(0)
      expect([yield* last("open"), asked]).toEqual([died, ["h", "ask"]])
      throws = true
      yield* adjust(10_000)
      expect([yield* last("ask"), asked.splice(2).sort()]).toEqual([died, ["ask", "h"]])
      throws = false
      yield* adjust(10_000)
      expect([yield* last("ask"), asked.splice(2).sort()]).toEqual([
        { result: "Success", ago: 8_000, why: "" },
        ["ask", "h"]
      ])
    })
  )

  it.scoped("★ an answer that lay unread while the event loop was late is no timeout", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const put: Array<() => void> = []
      const later = (work: () => void) => {
        put.push(work)
        return () => undefined
      }
      const answer = yield* Deferred.make<HealthCheck.Result>()
      const prober: Prober.Prober = { open: () => Effect.succeed(() => Deferred.await(answer)) }
      const checks = yield* HealthChecker.make({ cluster: "shop", checkers: [checker()], on: fake.on }).pipe(
        Effect.provideService(Prober.Prober, prober),
        Effect.provideService(EventLoop.EventLoop, { ...EventLoop.process, later })
      )
      yield* checks.check(h)
      yield* TestClock.adjust(1_500)
      expect([put.length, fake.log]).toEqual([1, []])
      yield* Deferred.succeed(answer, { _tag: "Success" })
      yield* adjust(0)
      for (const work of put) work()
      expect(fake.log).toEqual(["h Health 0", "h Checked", "h AddHealthy", "h Passed"])
      expect(yield* checks.status("h")).toMatchObject([{ isProbing: false, next: 60_000 }])
    })
  )

  it.scoped("elsewhere: the next probe goes there; one that runs goes on", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const checks = yield* fake.make()
      yield* checks.trafficSeen
      yield* checks.check(h)
      yield* checks.check({ ...h, checkAddress: "there", checkHostname: "name" })
      yield* adjust(100)
      expect(fake.log.slice(-1)).toEqual(["h Passed"])
      yield* checks.check({ ...h, checkAddress: "there", checkHostname: "name", weight: 2 })
      yield* adjust(10_000)
      expect(fake.log).toEqual(["10100 close h", "10100 open there name", "10100 ask, fresh"])
    })
  )

  it.scoped("unchecked: the probe is aborted, the connection closed, and nobody waits", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const checks = yield* fake.make()
      yield* checks.check(h)
      yield* adjust(50)
      yield* checks.uncheck("h")
      yield* adjust(60_000)
      expect(fake.log).toEqual(["0 open h", "0 ask, fresh", "h Checked", "50 abort", "50 close h"])
      expect(yield* checks.status("h")).toEqual([])
      // It comes back as if it were new.
      yield* checks.check(h)
      yield* adjust(100)
      expect(fake.log).toContain("h AddHealthy")
    })
  )

  it.scoped("★ the end of all: connections that are slow to close are closed at the same time", () =>
    Effect.gen(function* () {
      const prober: Prober.Prober = {
        open: () =>
          Effect.as(
            Effect.acquireRelease(Effect.void, () => Effect.sleep(50)),
            () => Effect.succeed({ _tag: "Success" } as const)
          )
      }
      const scope = yield* Scope.make()
      const made = HealthChecker.make({ cluster: "shop", checkers: [checker()], on: () => undefined })
      const checks = yield* made.pipe(Effect.provideService(Prober.Prober, prober), Scope.extend(scope))
      for (const id of ["a", "b", "c"]) yield* checks.check(Host.make(id))
      yield* adjust(0)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* adjust(50)
      expect(closing.unsafePoll()).not.toBeNull()
    })
  )

  it.scoped("a header of another response: at once", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const checks = yield* fake.make()
      yield* checks.check(h)
      yield* adjust(100)
      yield* checks.passive("h")
      yield* checks.passive("nobody")
      expect(fake.log.slice(-2)).toEqual(["h Health 17", "h EjectUnhealthy"])
    })
  )

  it.scoped("what is asked for while it speaks is done when it has spoken", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const made: Array<HealthChecker.HealthChecker> = []
      const on = (said: HealthChecker.Said): void => {
        fake.on(said)
        if (said.output._tag === "Health") for (const checks of made) Effect.runSync(checks.uncheck("h"))
      }
      const checks = yield* fake.make([checker("a")], on)
      made.push(checks)
      yield* checks.check(h)
      yield* adjust(60_000)
      expect(fake.log.slice(2)).toEqual(["h a Health 0", "h a Checked", "h a AddHealthy", "h a Passed", "100 close h"])
      expect(yield* checks.status("h")).toEqual([])
    })
  )

  it.scoped("each checker has results of its own", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const checks = yield* fake.make([checker("a"), checker("b", { timeout: 50 })])
      yield* checks.check(h)
      yield* adjust(50)
      yield* adjust(50)
      expect(yield* checks.status("h")).toMatchObject([
        { checker: "a", flags: 0 },
        { checker: "b", flags: 5 }
      ])
      expect(fake.log.filter((each) => each.includes("Checked")).sort()).toEqual(["h a Checked", "h b Checked"])
    })
  )
})

describe("many", () => {
  it.scoped("a deadline that comes before the one that is waited for", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const checks = yield* fake.make()
      yield* checks.check(h)
      yield* adjust(100)
      expect(yield* checks.status("h")).toMatchObject([{ next: 60_000 }])
      fake.answer("silence")
      yield* checks.check(Host.make("i"))
      yield* adjust(1_000)
      expect(yield* checks.status("i")).toMatchObject([{ last: { result: "Timeout", ago: 0 } }])
    })
  )

  it.scoped("★ so many probes at once: others wait their turn, and their time counts from when they begin", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      fake.answer("silence", "silence", ok, "silence", ok)
      const checks = yield* fake.make([checker("", { unhealthyInterval: 60_000 })], fake.on, 2)
      for (const id of ["a", "b", "c", "d", "e", "f"]) yield* checks.check(Host.make(id))
      const asked = () => fake.log.filter((each) => each.includes("open"))
      yield* adjust(999)
      expect(asked()).toEqual(["0 open a", "0 open b"])
      // One that waits and is wanted no more does not begin; nobody waits for it.
      yield* checks.uncheck("e")
      expect(fake.log).toEqual(["e Checked"])
      yield* adjust(1)
      expect(asked()).toEqual(["1000 open c", "1000 open d"])
      yield* adjust(100)
      expect(asked()).toEqual(["1100 open f"])
      yield* adjust(100)
      // The silent one still has its time.
      expect(yield* checks.status("d")).toMatchObject([{ isProbing: true, last: undefined }])
      yield* adjust(800)
      expect(yield* checks.status("d")).toMatchObject([{ isProbing: false, last: { result: "Timeout" } }])
      expect(yield* checks.status("f")).toMatchObject([{ isProbing: false, last: { result: "Success" } }])
    })
  )

  it.scoped("traffic of the cluster holds for those that come later", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const checks = yield* fake.make()
      yield* checks.check(h)
      yield* adjust(100)
      expect(yield* checks.status("h")).toMatchObject([{ next: 60_000 }])
      yield* checks.trafficSeen
      yield* checks.check(Host.make("i"))
      yield* adjust(100)
      expect(yield* checks.status("i")).toMatchObject([{ next: 10_000 }])
      yield* adjust(59_900)
      yield* adjust(100)
      expect(yield* checks.status("h")).toMatchObject([{ next: 10_000 }])
    })
  )

  it.scoped("and so does traffic that the cluster had before", () =>
    Effect.gen(function* () {
      const made = HealthChecker.make({ cluster: "shop", checkers: [checker()], on: () => undefined, hasTraffic: true })
      const checks = yield* Effect.provideService(made, Prober.Prober, new Fake().prober)
      yield* checks.check(h)
      yield* adjust(100)
      expect(yield* checks.status("h")).toMatchObject([{ next: 10_000 }])
    })
  )

  it.live("200 hosts and two checkers: each probe at its time, spread by jitter", () =>
    Effect.gen(function* () {
      const size = 200
      const begins: Array<number> = []
      const prober: Prober.Prober = {
        open: () =>
          Effect.succeed(() =>
            Effect.gen(function* () {
              begins.push((yield* SimulatedTime.SimulatedTime).now())
              yield* Effect.sleep(10)
              const result: HealthCheck.Result = { _tag: "Success" }
              return result
            }).pipe(Effect.provide(context))
          )
      }
      const context = yield* Effect.context<SimulatedTime.SimulatedTime>()
      const given = { initialJitter: 10_000, interval: 9_990 }
      const checks = yield* HealthChecker.make({
        cluster: "shop",
        checkers: [checker("a", given), checker("b", given)],
        on: () => undefined
      }).pipe(Effect.provideService(Prober.Prober, prober))
      yield* checks.trafficSeen
      for (let host = 0; host < size; host++) yield* checks.check(Host.make(String(host)))
      yield* Effect.sleep(30_000)
      // Three rounds, but for those that begin just now; in each second as many as in any other, more or less.
      expect(Math.abs(begins.length - 6 * size)).toBeLessThanOrEqual(4)
      const perSecond = new Array<number>(30).fill(0)
      for (const at of begins) perSecond[Math.floor(at / 1_000)] = (perSecond[Math.floor(at / 1_000)] ?? 0) + 1
      expect(Math.min(...perSecond)).toBeGreaterThan(20)
      expect(Math.max(...perSecond)).toBeLessThan(65)
    }).pipe(Effect.scoped, SimulatedTime.run({ seed: 1 }))
  )

  it.scoped("when the scope closes probes end, and nothing more is said", () =>
    Effect.gen(function* () {
      const fake = new Fake()
      const scope = yield* Scope.make()
      const checks = yield* Scope.extend(fake.make(), scope)
      yield* checks.check(h)
      yield* adjust(50)
      yield* Scope.close(scope, Exit.void)
      yield* adjust(60_000)
      expect(fake.log).toEqual(["0 open h", "0 ask, fresh", "50 abort", "50 close h"])
      yield* checks.check(h)
      yield* adjust(60_000)
      expect(fake.log).toEqual([])
    })
  )
})

it.scopedLive("over sockets: 100 hosts that answer, two that are silent, one that changes its mind", () =>
  Effect.gen(function* () {
    let isUp = true
    const server = yield* Servers.http1((request, response) => {
      if (request.url === "/silent") return
      response.writeHead(request.headers.host === "moody" && !isUp ? 500 : 200).end()
    })
    const flags = new Map<string, number>()
    const waiting = new Set<string>()
    const on = ({ host, output }: HealthChecker.Said): void => {
      if (output._tag === "Health") flags.set(host, output.flags)
      if (output._tag === "Checked") waiting.delete(host)
    }
    const probe = {
      _tag: "Http",
      codec: "HTTP1",
      method: "GET",
      path: "/",
      host: "",
      headers: [],
      send: new Uint8Array(),
      expected: [{ start: 200, end: 201 }],
      retriable: [],
      receive: [],
      responseBufferSize: 1_024,
      serviceName: undefined
    } as const
    const often = { timeout: 30_000, interval: 20, noTrafficInterval: 20, unhealthyInterval: 20 }
    const checks = yield* Effect.provide(
      HealthChecker.make({ cluster: "shop", checkers: [{ ...checker("", often), probe }], on }),
      NodeProber.layer
    )
    const silent = yield* Effect.provide(
      HealthChecker.make({
        cluster: "shop",
        checkers: [{ ...checker("", { timeout: 50 }), probe: { ...probe, path: "/silent" } }],
        on
      }),
      NodeProber.layer
    )
    const begin = (by: HealthChecker.HealthChecker, id: string) => {
      waiting.add(id)
      return by.check(Host.make(id, { checkAddress: server.address, checkHostname: id }))
    }
    for (let n = 0; n < 100; n++) yield* begin(checks, `host-${n}`)
    yield* begin(checks, "moody")
    for (const id of ["silent-1", "silent-2"]) yield* begin(silent, id)
    yield* eventually(() => expect(waiting.size).toBe(0))
    expect([flags.get("host-99"), flags.get("moody"), flags.get("silent-1")]).toEqual([0, 0, 5])
    isUp = false
    yield* eventually(() => expect(flags.get("moody")).toBe(1))
    isUp = true
    yield* eventually(() => expect(flags.get("moody")).toBe(0))
    expect(Array.from(flags.values()).filter((each) => each !== 0).length).toBe(2)
    // One connection for each host: theirs are used again.
    expect(server.connections()).toBeLessThan(200)
  })
)
