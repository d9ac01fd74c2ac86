/**
 * Outlier detection beside a reference: one that keeps a log of all that happened and finds rows, counts and rates in it
 * anew each time, with fractions that are exact.
 */
import * as Outlier from "@effect-xds/discovery/Outlier"
import * as OutlierSettings from "@effect-xds/discovery/OutlierSettings"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

type Origin = "external" | "local"

interface Entry {
  readonly origin: Origin
  readonly failed: boolean
  readonly gateway: boolean
  /** In which interval. */
  readonly interval: number
}

class Seen {
  log: Array<Entry> = []
  /** How much of the log the rows begin after. */
  from = { any: 0, gateway: 0, local: 0 }
  ejectedAt: number | undefined
  returnedAt: number | undefined
  jitter = 0
  k = 0
}

class Reference {
  readonly hosts = new Map<string, Seen>()
  interval = 0
  sweptAt = 0
  now = 0
  random = 0
  said: Array<string> = []

  constructor(readonly settings: OutlierSettings.OutlierSettings) {}

  get isEnvoy(): boolean {
    return this.settings.rules === "envoy"
  }

  private out(): number {
    return Array.from(this.hosts.values()).filter((each) => each.ejectedAt !== undefined).length
  }

  private found(name: string, enforcing: number): void {
    const host = this.hosts.get(name)
    if (host === undefined || host.ejectedAt !== undefined) return
    const { alwaysEjectOneHost, baseEjectionTime, maxEjectionPercent, maxEjectionTime } = this.settings
    const out = this.out()
    const share = (count: number) => (100 * count) / this.hosts.size
    const isAllowed = this.isEnvoy
      ? share(out + 1) <= maxEjectionPercent || (alwaysEjectOneHost && out === 0)
      : !(share(out) >= maxEjectionPercent)
    if (!isAllowed) return void this.said.push(`Spared ${name} MaxEjectionPercent`)
    if (!(Math.floor(100 * this.random) < enforcing)) return void this.said.push(`Spared ${name} NotEnforced`)
    host.ejectedAt = this.now
    host.jitter = this.isEnvoy ? Math.floor(this.random * (this.settings.maxEjectionTimeJitter + 1)) : 0
    if (!this.isEnvoy || host.k * baseEjectionTime < maxEjectionTime + baseEjectionTime) host.k++
    this.said.push(`Ejected ${name}`)
  }

  private back(name: string, host: Seen): void {
    host.ejectedAt = undefined
    host.returnedAt = this.now
    host.from = { any: host.log.length, gateway: host.log.length, local: host.log.length }
    this.said.push(`Returned ${name}`)
  }

  /** The length of the row of entries at the end of the log that are of a kind; others of its origin end it. */
  private row(host: Seen, kind: keyof Seen["from"]): number {
    let length = 0
    for (let at = host.log.length - 1; at >= host.from[kind]; at--) {
      const entry = host.log[at]
      if (entry === undefined || entry.origin !== (kind === "local" ? "local" : "external")) continue
      if (!(kind === "gateway" ? entry.gateway : entry.failed)) break
      length++
    }
    return length
  }

  private rows(name: string, host: Seen, kind: keyof Seen["from"], limit: number, enforcing: number): void {
    if (this.row(host, kind) !== limit) return
    host.from[kind] = host.log.length
    this.found(name, enforcing)
  }

  outcome(name: string, outcome: Outlier.Outcome): void {
    const host = this.hosts.get(name)
    if (host === undefined) return
    const isSplit = this.isEnvoy && this.settings.splitExternalLocalOriginErrors
    const { interval, settings } = this
    if (outcome._tag !== "Response" && isSplit) {
      const failed = outcome._tag !== "Connected"
      host.log.push({ origin: "local", failed, gateway: false, interval })
      const { consecutiveLocalOriginFailure, enforcingConsecutiveLocalOriginFailure } = settings
      if (failed) this.rows(name, host, "local", consecutiveLocalOriginFailure, enforcingConsecutiveLocalOriginFailure)
      return
    }
    if (outcome._tag === "Connected") return
    const status = outcome._tag === "Response" ? outcome.status : outcome._tag === "Timeout" ? 504 : 503
    const failed = Math.floor(status / 100) === 5
    const gateway = [502, 503, 504].includes(status)
    host.log.push({ origin: "external", failed, gateway, interval })
    if (!this.isEnvoy) return
    const { consecutiveGatewayFailure, enforcingConsecutiveGatewayFailure } = settings
    if (gateway) this.rows(name, host, "gateway", consecutiveGatewayFailure, enforcingConsecutiveGatewayFailure)
    if (failed) this.rows(name, host, "any", settings.consecutive5xx, settings.enforcingConsecutive5xx)
  }

  check(name: string): void {
    const host = this.hosts.get(name)
    if (host?.ejectedAt !== undefined && this.settings.successfulActiveHealthCheckUnejectHost) this.back(name, host)
  }

  private due(): void {
    const { baseEjectionTime, maxEjectionTime } = this.settings
    for (const [name, host] of this.hosts) {
      if (host.ejectedAt === undefined) continue
      const end = host.ejectedAt + Math.min(baseEjectionTime * host.k, maxEjectionTime) + host.jitter
      if (this.isEnvoy ? this.now >= end : this.now > end) this.back(name, host)
    }
  }

  private pair(origin: Origin, rates: number, failures: number): void {
    const { settings } = this
    const calls = Array.from(this.hosts)
      .filter(([, { ejectedAt }]) => ejectedAt === undefined)
      .map(([name, { log }]) => {
        const counted = log.filter((entry) => entry.origin === origin && entry.interval === this.interval)
        return { name, all: counted.length, failed: counted.filter(({ failed }) => failed).length }
      })
      .filter(({ all }) => all > 0)
    const byRate = calls.filter(({ all }) => all >= settings.successRateRequestVolume)
    const byFailure = calls.filter(({ all }) => all >= settings.failurePercentageRequestVolume)
    if (byRate.length > 0 && byRate.length >= settings.successRateMinimumHosts && (this.isEnvoy || rates > 0)) {
      // In parts of 1 / whole: exact.
      const whole = byRate.reduce((product, { all }) => product * BigInt(all), 1n)
      const parts = byRate.map(({ all, failed }) => (BigInt(all - failed) * whole) / BigInt(all))
      const n = BigInt(parts.length)
      const sum = parts.reduce((a, b) => a + b, 0n)
      // n² × variance
      const squares = n * parts.reduce((a, b) => a + b * b, 0n) - sum * sum
      const factor = BigInt(settings.successRateStdevFactor)
      for (const [index, { name }] of byRate.entries()) {
        const below = sum - n * (parts[index] ?? 0n)
        if (below > 0n && below * below * 1_000_000n > squares * factor * factor) this.found(name, rates)
      }
    }
    const threshold = settings.failurePercentageThreshold
    if (byFailure.length > 0 && byFailure.length >= settings.failurePercentageMinimumHosts) {
      if (!this.isEnvoy && failures === 0) return
      for (const { all, failed, name } of byFailure) {
        const over = 100 * failed - threshold * all
        if (this.isEnvoy ? over >= 0 : over > 0) this.found(name, failures)
      }
    }
  }

  sweep(): void {
    const { settings } = this
    this.sweptAt = this.now
    if (this.isEnvoy) this.due()
    this.pair("external", settings.enforcingSuccessRate, settings.enforcingFailurePercentage)
    if (this.isEnvoy && settings.splitExternalLocalOriginErrors) {
      const { enforcingFailurePercentageLocalOrigin, enforcingLocalOriginSuccessRate } = settings
      this.pair("local", enforcingLocalOriginSuccessRate, enforcingFailurePercentageLocalOrigin)
    }
    for (const host of this.hosts.values()) {
      if (host.ejectedAt !== undefined || host.k === 0) continue
      if (!this.isEnvoy || (host.returnedAt !== undefined && this.now - host.returnedAt >= settings.interval)) host.k--
    }
    if (!this.isEnvoy) this.due()
    this.interval++
  }
}

const percent = fc.constantFrom(0, 1, 10, 30, 50, 85, 100, 100, 100, 100)
const small = fc.integer({ min: 0, max: 4 })

const settings = fc
  .record({
    interval: fc.constantFrom(1, 1_000, 10_000),
    baseEjectionTime: fc.constantFrom(500, 1_000, 10_000, 30_000),
    maxEjectionTime: fc.constantFrom(30_000, 45_000, 300_000),
    maxEjectionTimeJitter: fc.constantFrom(0, 1, 5_000),
    maxEjectionPercent: percent,
    alwaysEjectOneHost: fc.boolean(),
    splitExternalLocalOriginErrors: fc.boolean(),
    successfulActiveHealthCheckUnejectHost: fc.boolean(),
    consecutive5xx: small,
    enforcingConsecutive5xx: percent,
    consecutiveGatewayFailure: small,
    enforcingConsecutiveGatewayFailure: percent,
    consecutiveLocalOriginFailure: small,
    enforcingConsecutiveLocalOriginFailure: percent,
    successRateMinimumHosts: small,
    successRateRequestVolume: small,
    // Not 0, and none whose square is a simple fraction: at a bound that is met exactly rounding decides.
    successRateStdevFactor: fc.constantFrom(1, 310, 730, 1_100),
    enforcingSuccessRate: percent,
    enforcingLocalOriginSuccessRate: percent,
    failurePercentageMinimumHosts: small,
    failurePercentageRequestVolume: small,
    failurePercentageThreshold: percent,
    enforcingFailurePercentage: percent,
    enforcingFailurePercentageLocalOrigin: percent
  })
  .map((given) => (rules: OutlierSettings.Rules) => Either.getOrThrow(OutlierSettings.make(rules, given)))

const host = fc.integer({ min: 0, max: 5 }).map((n) => `h${n}`)

type Action =
  | { readonly _tag: "Burst"; readonly host: string; readonly outcome: Outlier.Outcome; readonly times: number }
  | Outlier.Input
  | { readonly _tag: "Wait"; readonly by: number }
  | { readonly _tag: "Random"; readonly r: number }

const outcome: fc.Arbitrary<Outlier.Outcome> = fc.oneof(
  fc
    .constantFrom(200, 404, 499, 500, 502, 503, 504, 505, 599, 600)
    .map((status) => ({ _tag: "Response" as const, status })),
  fc.constantFrom({ _tag: "Connected" as const }, { _tag: "ConnectFailure" as const }, { _tag: "Timeout" as const })
)

const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ _tag: fc.constant("Burst" as const), host, outcome, times: fc.integer({ min: 1, max: 5 }) })
  },
  { weight: 2, arbitrary: fc.record({ _tag: fc.constantFrom("Added" as const, "Removed" as const), host }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("CheckPassed" as const), host }) },
  {
    weight: 3,
    arbitrary: fc.record({
      _tag: fc.constant("Wait" as const),
      by: fc.constantFrom(1, 999, 1_000, 5_000, 10_000, 10_001, 60_000)
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      _tag: fc.constant("Random" as const),
      r: fc.constantFrom(0, 0.009, 0.01, 0.299, 0.3, 0.999)
    })
  }
)

describe.each(["envoy", "A50"] as const)("%s", (rules) => {
  it("says what a reference says that reads its log anew each time; never ejects more than is allowed", () => {
    const seen = { Ejected: 0, Returned: 0, Spared: 0 }
    fc.assert(
      fc.property(settings, fc.array(action, { minLength: 60, maxLength: 120, size: "max" }), (make, actions) => {
        const given = make(rules)
        const reference = new Reference(given)
        let self = Outlier.make(given, 0)
        const give = (input: Outlier.Input) => {
          const { now, random } = reference
          const [next, outputs] = Outlier.step(self, input, { now, draw: () => random })
          self = next
          const said = outputs.map((output) => {
            seen[output._tag]++
            return `${output._tag} ${output.host}${output._tag === "Spared" ? ` ${output.reason}` : ""}`
          })
          // An assertion for each of thousands of steps is dear.
          if (said.join() !== reference.said.join()) expect(said).toEqual(reference.said)
          reference.said = []
          const ejected = Array.from(self.hosts).filter(([, each]) => each.ejected !== undefined).length
          if (self.ejected !== ejected) expect(self.ejected).toBe(ejected)
        }
        const start: ReadonlyArray<Action> = [0, 1, 2, 3].map((n) => ({ _tag: "Added", host: `h${n}` }))
        for (const each of [...start, ...actions]) {
          switch (each._tag) {
            case "Random":
              reference.random = each.r
              continue
            case "Wait": {
              const end = reference.now + each.by
              // Of short intervals some pass unseen, as on a machine that slept.
              for (let turn = 0; turn < 5 && Outlier.deadline(self) <= end; turn++) {
                reference.now = Math.max(reference.now, Outlier.deadline(self))
                reference.sweep()
                give({ _tag: "Deadline" })
              }
              reference.now = end
              continue
            }
            case "Added":
              if (!reference.hosts.has(each.host)) reference.hosts.set(each.host, new Seen())
              break
            case "Removed":
              reference.hosts.delete(each.host)
              break
            case "CheckPassed":
              reference.check(each.host)
              break
            case "Burst":
              for (let time = 0; time < each.times; time++) {
                reference.outcome(each.host, each.outcome)
                give({ _tag: "Outcome", host: each.host, outcome: each.outcome })
              }
              continue
            case "Outcome":
            case "Configured":
            case "Counted":
            case "Deadline":
          }
          give(each)
        }
        for (const [name, { k }] of reference.hosts) expect(Outlier.find(self, name)?.multiplier).toBe(k)
      }),
      { numRuns: 100 }
    )
    // The property has seen what it is about.
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(50)
  })
})

it("a plain copy of the state goes on as the state does: it is data", () => {
  const settings = Either.getOrThrow(OutlierSettings.make("envoy", {}))
  const context = { now: 0, draw: () => 0 }
  let [self] = Outlier.step(Outlier.make(settings, 0), { _tag: "Added", host: "a" }, context)
  ;[self] = Outlier.step(self, { _tag: "Outcome", host: "a", outcome: { _tag: "Timeout" } }, context)
  const host = Outlier.find(self, "a")
  expect(JSON.parse(JSON.stringify(host))).toEqual({
    place: 0,
    inRow: { any: 1, gateway: 1, local: 0 },
    external: { succeeded: 0, all: 1 },
    local: { succeeded: 0, all: 0 },
    multiplier: 0
  })
})
