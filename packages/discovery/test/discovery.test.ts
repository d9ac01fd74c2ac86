import * as Discovery from "@effect-xds/discovery/Discovery"
import type * as DnsTarget from "@effect-xds/discovery/DnsTarget"
import * as Endpoint from "@effect-xds/discovery/Endpoint"
import * as HostSet from "@effect-xds/discovery/HostSet"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

/** Addresses, with a TTL in seconds; "failed"; nothing: there are none. */
type Answer = "failed" | ReadonlyArray<string | readonly [string, number | undefined]>

/** A cluster that is stepped by hand, and the hosts that come of it, without checks. */
class Play {
  self: Discovery.Discovery
  hosts = HostSet.make()
  now = 0
  random = 0
  /** Queries that run. */
  asked: Array<Extract<Discovery.Output, { readonly _tag: "Resolve" }>> = []
  private words: Array<string> = []

  constructor(cluster: Discovery.Cluster) {
    this.self = Either.getOrThrow(Discovery.make(cluster))
    this.give({ _tag: "Start" })
  }

  give(input: Discovery.Input): this {
    const [next, outputs] = Discovery.step(this.self, input, { now: this.now })
    this.self = next
    for (const output of outputs) {
      if (output._tag === "Resolve") this.asked.push(output)
      else if (output._tag === "Refused") this.words.push(`${this.now} Refused ${output.address}`)
      else {
        const [set, said] = HostSet.step(this.hosts, output)
        this.hosts = set
        for (const each of said) {
          const address = each._tag === "Ready" ? "" : ` ${this.addressOf(each.host)}`
          this.words.push(`${this.now} ${each._tag}${address}`)
        }
      }
    }
    return this
  }

  private addressOf(host: string): string {
    const address = HostSet.find(this.hosts, host)?.host.address ?? "gone"
    return address.replace(/:80$/, "")
  }

  /** Time goes on; what is due is done when it is. */
  at(now: number): this {
    while (this.next <= now) {
      this.now = this.next
      this.give({ _tag: "Deadline" })
    }
    this.now = now
    return this
  }

  /** The queries that run end, first the one that was asked first; further ones with the answers that are left. */
  answer(...answers: ReadonlyArray<Answer>): this {
    for (const answer of answers) {
      const query = this.asked.shift()
      if (query === undefined) throw new Error("nothing is asked")
      const { attempt, family, target } = query
      const { random } = this
      if (answer === "failed") this.give({ _tag: "Unresolved", target, attempt, family, random })
      else {
        const addresses = answer.map((each) =>
          typeof each === "string" ? { address: each, ttl: undefined } : { address: each[0], ttl: each[1] }
        )
        this.give({ _tag: "Resolved", target, attempt, family, addresses, random })
      }
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

  get next(): number {
    return Discovery.deadline(this.self)
  }

  get addresses(): ReadonlyArray<string> {
    return HostSet.inOrder(this.hosts).map(({ host }) => host.address.replace(/:80$/, ""))
  }
}

const [A, B, C, X, Y] = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2"] as const
const at = (host: string, given: Partial<Omit<Endpoint.Endpoint, "address">> = {}) =>
  Endpoint.make({ host, port: 80 }, given)

const strict = (dns: Partial<DnsTarget.Settings> = {}, ...names: ReadonlyArray<string>) =>
  new Play({
    type: "STRICT_DNS",
    endpoints: (names.length > 0 ? names : ["a"]).map((name) => at(name)),
    dns: { family: "V4_ONLY", ...dns }
  })
const logical = (dns: Partial<DnsTarget.Settings> = {}) =>
  new Play({ type: "LOGICAL_DNS", endpoints: [at("a")], dns: { family: "V4_ONLY", ...dns } })

describe("vectors of discovery", () => {
  it("1–3: two addresses; none; a failure instead", () => {
    const play = strict().at(20).answer([A, B])
    expect([play.said, play.next]).toEqual([[`20 Added ${A}`, `20 Added ${B}`, "20 Ready"], 5_020])
    expect(play.at(5_040).answer([]).said).toEqual([
      "5040 Removed gone",
      "5040 Drain gone",
      "5040 Removed gone",
      "5040 Drain gone"
    ])
    expect(play.next).toBe(10_040)
    const failed = strict().at(20).answer([A, B]).at(5_040).answer("failed")
    expect([failed.addresses, failed.next]).toEqual([[A, B], 10_040])
  })

  it("4: failures wait ever longer, to the maximum; a success begins anew; ★ never at once", () => {
    const play = strict({ failureRefreshRate: { base: 1_000, max: 10_000 } })
    play.random = 0.5
    const waits = (...answers: ReadonlyArray<Answer>) =>
      answers.map((answer) => {
        const { now } = play.at(play.asked.length > 0 ? play.now : play.next).answer(answer)
        return play.next - now
      })
    expect(waits(...Array.from({ length: 6 }, () => "failed" as const))).toEqual([
      500, 1_000, 2_000, 4_000, 5_000, 5_000
    ])
    expect(waits([A], "failed")).toEqual([5_000, 500])
    play.random = 0
    expect(waits("failed")).toEqual([100])
    const short = strict({ failureRefreshRate: { base: 20, max: 20 } }).answer("failed")
    expect(short.next).toBe(20)
  })

  it("5: TTLs: the least of all, or that of the first record", () => {
    const waits = (...ttls: ReadonlyArray<number | undefined>) => {
      const answer = ttls.map((ttl, index) => [[A, B, C][index] ?? "", ttl] as const)
      return [strict, logical].map((make) => make({ respectTtl: true }).answer(answer).next)
    }
    expect(waits(30, 12)).toEqual([12_000, 30_000])
    expect(waits(30, 0)).toEqual([5_000, 30_000])
    expect(waits(0, 30)).toEqual([5_000, 5_000])
    expect(waits(undefined, 30)).toEqual([30_000, 5_000])
    expect(waits(undefined)).toEqual([5_000, 5_000])
    expect(strict({ respectTtl: true, minRefreshRate: 40_000 }).answer([[A, 30]]).next).toBe(40_000)
    expect(strict().answer([[A, 30]]).next).toBe(5_000)
  })

  it("6: jitter after successes alone", () => {
    const play = strict({ jitter: 1_000 })
    play.random = 0.25
    expect(play.answer([A]).next).toBe(5_250)
    expect(play.at(5_250).answer("failed").next).toBe(10_250)
    expect(play.at(10_250).answer([]).next).toBe(15_500)
  })

  it("7: ★ settled when every name has an answer, or a failure", () => {
    const play = strict({}, "a", "b").at(20).answer([A]).at(300)
    expect(play.said).toEqual([`20 Added ${A}`])
    expect(play.answer("failed").said).toEqual(["300 Ready"])
    const not = new Play({ type: "STRICT_DNS", endpoints: [at("a")], waitForWarmOnInit: false })
    expect(not.said).toEqual(["0 Ready"])
    expect(new Play({ type: "STRICT_DNS", endpoints: [] }).said).toEqual(["0 Ready"])
  })

  it("8: AUTO: without IPv6, IPv4; one none and one failure are a failure", () => {
    const play = strict({ family: "AUTO", failureRefreshRate: { base: 1_000, max: 1_000 } })
    expect(play.asked.map(({ family }) => family)).toEqual([6])
    expect(play.answer([], "failed").next).toBe(100)
    expect(play.at(100).answer([], [A]).addresses).toEqual([A])
  })

  it("9: ALL: ★ who fails gives what it gave last", () => {
    const play = strict({ family: "ALL" })
    expect(play.asked.map(({ family }) => family)).toEqual([6, 4])
    expect(play.answer([X], [A]).addresses).toEqual([`[${X}]`, A])
    expect([...play.at(5_000).answer("failed", [B]).addresses].sort()).toEqual([B, `[${X}]`])
  })

  it("10: LOGICAL_DNS: one host, which moves and is not drained", () => {
    const play = logical({ failureRefreshRate: { base: 1_000, max: 1_000 } }).answer([A, B])
    expect([play.said, play.addresses]).toEqual([[`0 Added ${A}`, "0 Ready"], [A]])
    expect(play.at(5_000).answer([B, A]).said).toEqual([`5000 Updated ${B}`])
    expect(HostSet.inOrder(play.hosts)[0]?.host).toMatchObject({
      id: "a:80",
      address: `${B}:80`,
      addresses: [`${B}:80`, `${A}:80`],
      checkAddress: `${B}:80`,
      priority: 0
    })
    // ★ No address is a failure.
    expect([play.at(10_000).answer([]).addresses, play.next]).toEqual([[B], 10_100])
  })

  it("11: ORIGINAL_DST: hosts of picks, until they are not used", () => {
    const play = new Play({ type: "ORIGINAL_DST" })
    expect(play.said).toEqual(["0 Ready"])
    const picked = { _tag: "Picked", address: `${A}:80` } as const
    expect(play.at(1_000).give(picked).give(picked).said).toEqual([`1000 Added ${A}`])
    expect(play.at(9_999).said).toEqual([])
    expect(play.at(10_000).said).toEqual(["10000 Removed gone", "10000 Drain gone"])
    const busy = new Play({ type: "ORIGINAL_DST" }).at(1_000).give(picked)
    const inUse = { _tag: "InUse", address: picked.address } as const
    busy
      .give({ ...inUse, isInUse: true })
      .at(12_000)
      .give({ ...inUse, isInUse: false })
    expect(busy.at(14_999).addresses).toEqual([A])
    expect(busy.at(15_000).addresses).toEqual([])
    const again = new Play({ type: "ORIGINAL_DST", cleanupInterval: 100 }).give(picked).at(150).give(picked)
    expect([again.at(200).addresses, again.at(300).addresses]).toEqual([[A], []])
    expect(again.give({ ...inUse, isInUse: true }).addresses).toEqual([])
  })

  it("★ ORIGINAL_DST has no more hosts than it may have: others are refused until one has gone", () => {
    const play = new Play({ type: "ORIGINAL_DST", maxHosts: 2 })
    const picked = (host: string) => ({ _tag: "Picked", address: `${host}:80` }) as const
    play.give(picked(A)).give(picked(B)).give(picked("10.0.0.3")).give(picked(A))
    expect(play.said).toEqual(["0 Ready", `0 Added ${A}`, `0 Added ${B}`, "0 Refused 10.0.0.3:80"])
    play.at(6_000).give(picked(B)).at(10_000)
    expect(play.addresses).toEqual([B])
    expect(play.give(picked("10.0.0.3")).addresses).toEqual([B, "10.0.0.3"])
    // Without a word of it they are not without a bound.
    const all = new Play({ type: "ORIGINAL_DST" })
    for (let host = 0; host < 5_000; host++) all.give(picked(`10.0.${host >> 8}.${host & 255}`))
    expect(all.addresses.length).toBe(Discovery.maxPicked)
  })

  it("★ a host of a pick is told alone, however many there are", () => {
    const { self } = new Play({ type: "ORIGINAL_DST" }).give({ _tag: "Picked", address: `${A}:80` })
    const [, outputs] = Discovery.step(self, { _tag: "Picked", address: `${B}:80` }, { now: 0 })
    expect(outputs).toMatchObject([{ _tag: "Found", host: { address: `${B}:80` } }])
  })

  it("★ who is not used is told alone, and thousands go one part after the other, unless they are used meanwhile", () => {
    const play = new Play({ type: "ORIGINAL_DST" })
    const pick = (host: number) => play.give({ _tag: "Picked", address: `10.0.${host >> 8}.${host & 255}:80` })
    for (let host = 0; host < 1_500; host++) pick(host)
    play.at(9_000)
    for (let host = 0; host < 400; host++) pick(host)
    play.quiet().at(10_000)
    expect([play.said.filter((word) => word.includes("Removed")).length, play.addresses.length]).toEqual([512, 988])
    // Some of them have not gone yet.
    for (let host = 0; host < 500; host++) pick(host)
    expect(play.next).toBe(10_001)
    play.at(10_001)
    expect(play.addresses.length).toBeGreaterThan(500)
    play.at(10_002)
    expect(new Set(play.addresses)).toEqual(
      new Set(Array.from({ length: 500 }, (_, host) => `10.0.${host >> 8}.${host & 255}`))
    )
    expect(play.next).toBe(15_000)
    const [, outputs] = Discovery.step(play.at(15_001).self, { _tag: "Deadline" }, { now: 20_000 })
    expect(outputs[0]?._tag).toBe("Lost")
  })

  it("12: an assignment that is stale lists nothing, once; each one arms it anew", () => {
    const play = new Play({ type: "EDS" })
    const assigned = { _tag: "Assigned", endpoints: [at(A)], staleAfter: 10_000 } as const
    play.give(assigned).at(9_000).give(assigned)
    expect(play.next).toBe(19_000)
    expect(play.at(18_999).addresses).toEqual([A])
    expect([play.at(19_000).addresses, play.next]).toEqual([[], Number.POSITIVE_INFINITY])
    play.give(assigned).give({ _tag: "Assigned", endpoints: [at(B)] })
    expect([play.addresses, play.next]).toEqual([[B], Number.POSITIVE_INFINITY])
  })
})

describe("types of clusters", () => {
  it("STATIC: as written, the same twice, too; at once", () => {
    const play = new Play({ type: "STATIC", endpoints: [at(A), at(A), Endpoint.make({ pipe: "/run/b" }), at(X)] })
    expect([play.addresses, play.said.at(-1)]).toEqual([[A, A, "/run/b", `[${X}]`], "0 Ready"])
    // What is of other types is ignored.
    const { self } = play
    play.give({ _tag: "Assigned", endpoints: [] }).give({ _tag: "Missing" }).give({ _tag: "Failed" })
    play.give({ _tag: "Picked", address: "x" }).give({ _tag: "Deadline" })
    play.give({ _tag: "Unresolved", target: 0, attempt: 1, family: 4, random: 0 })
    expect(play.self).toBe(self)
  })

  it("mistakes: names, pipes, more than one endpoint, a maximum below its base", () => {
    const mistakes = (cluster: Discovery.Cluster) =>
      Either.match(Discovery.make(cluster), {
        onLeft: (all) => all.map(({ field }) => field),
        onRight: () => []
      })
    const endpoints = "load_assignment.endpoints"
    expect(mistakes({ type: "STATIC", endpoints: [at("a")] })).toEqual([endpoints])
    expect(mistakes({ type: "LOGICAL_DNS", endpoints: [] })).toEqual([endpoints])
    expect(mistakes({ type: "LOGICAL_DNS", endpoints: [at("a"), at("b")] })).toEqual([endpoints])
    expect(mistakes({ type: "STRICT_DNS", endpoints: [Endpoint.make({ pipe: "/p" })] })).toEqual([endpoints])
    const dns = { failureRefreshRate: { base: 2, max: 1 } }
    expect(mistakes({ type: "STRICT_DNS", endpoints: [at("a")], dns })).toEqual(["dns_failure_refresh_rate"])
    expect(mistakes({ type: "STRICT_DNS", endpoints: [at("a"), at("a")] })).toEqual([])
  })

  it("names: ★ twice within one is one host, under two names two; the rest is the endpoint's", () => {
    const play = new Play({
      type: "STRICT_DNS",
      endpoints: [
        at("a", { checkPort: 81, host: { priority: 1, weight: 7 } }),
        at("a", { checkHost: C, host: { hostname: "own" } })
      ],
      dns: { family: "V4_ONLY" }
    }).answer([A, A, B], [A])
    const hosts = HostSet.inOrder(play.hosts).map(({ host }) => host)
    expect(
      hosts.map(({ address, checkAddress, hostname, priority, weight }) => [
        address,
        checkAddress,
        hostname,
        priority,
        weight
      ])
    ).toEqual([
      [`${A}:80`, `${A}:81`, "a", 1, 7],
      [`${B}:80`, `${B}:81`, "a", 1, 7],
      [`${A}:80`, `${C}:80`, "own", 0, 1]
    ])
  })

  it("a literal is its own answer, and is never asked for", () => {
    const play = strict({ family: "AUTO" }, A, X)
    expect([play.addresses, play.asked, play.next]).toEqual([[A, `[${X}]`], [], Number.POSITIVE_INFINITY])
  })

  it("EDS: ★ an IPv6 address in two spellings is one host, which stays when it is spelled otherwise", () => {
    const play = new Play({ type: "EDS" })
    play.give({ _tag: "Assigned", endpoints: [at("fd00::1"), at("fd00:0:0:0:0:0:0:1")] })
    expect(play.addresses).toEqual(["[fd00::1]"])
    play.quiet().give({ _tag: "Assigned", endpoints: [at("FD00::0:1")] })
    expect(play.said).toEqual([])
  })

  it("EDS: settled by an assignment, a failure or none; the first of two with one address", () => {
    expect(new Play({ type: "EDS" }).said).toEqual([])
    expect(new Play({ type: "EDS" }).give({ _tag: "Missing" }).said).toEqual(["0 Ready"])
    expect(new Play({ type: "EDS" }).give({ _tag: "Failed" }).said).toEqual(["0 Ready"])
    const play = new Play({ type: "EDS" }).give({
      _tag: "Assigned",
      endpoints: [at(A, { host: { weight: 2 } }), at(B), at(A, { host: { weight: 3, priority: 1 } })]
    })
    expect(HostSet.inOrder(play.hosts).map(({ host }) => host.weight)).toEqual([2, 1])
    // What is held stays after an error, and is listed no longer after there is none.
    expect(play.give({ _tag: "Failed" }).addresses).toEqual([A, B])
    expect(play.give({ _tag: "Missing" }).addresses).toEqual([])
  })

  it("EDS: ★ a changed address of checks is another host; additional addresses are none", () => {
    const play = new Play({ type: "EDS" })
    play.give({ _tag: "Assigned", endpoints: [at(A, { additionalAddresses: [`[${X}]:80`] })] })
    expect(HostSet.inOrder(play.hosts)[0]?.host.addresses).toEqual([`${A}:80`, `[${X}]:80`])
    play.quiet()
    play.give({ _tag: "Assigned", endpoints: [at(A, { checkPort: 81 })] })
    expect(play.said).toEqual([`0 Added ${A}`, "0 Removed gone", "0 Drain gone"])
  })

  it("late answers, second ones and those to nobody are ignored", () => {
    const play = strict({ family: "ALL" })
    const late = {
      _tag: "Resolved",
      target: 0,
      attempt: 1,
      family: 4,
      random: 0,
      addresses: [{ address: C, ttl: 1 }]
    } as const
    play.answer([X], [A])
    const before = play.self
    expect(play.give(late).self.targets[0]).toBe(before.targets[0])
    play
      .at(5_000)
      .give(late)
      .give({ ...late, target: 9 })
    expect(play.addresses).toEqual([`[${X}]`, A])
    play.answer([X])
    expect(play.give({ ...late, attempt: 2, family: 6 }).addresses).toEqual([`[${X}]`, A])
    expect(play.give({ _tag: "Start" }).asked.length).toBe(1)
  })
})

/** What a name stands for after all answers of a family each, by looking at the last ones that matter. */
const stands = (
  family: DnsTarget.LookupFamily,
  uses: DnsTarget.Settings["uses"],
  rounds: ReadonlyArray<Readonly<Record<4 | 6, Answer>>>
): { readonly held: ReadonlyArray<string>; readonly failed: number } => {
  const kind = (answer: Answer) => (answer === "failed" ? "failed" : answer.length === 0 ? "none" : "any")
  const textsOf = (answer: Answer): Array<string> =>
    answer === "failed" ? [] : Array.from(new Set(answer.map((each) => (typeof each === "string" ? each : each[0]))))
  const asked: ReadonlyArray<4 | 6> =
    family === "V4_ONLY" ? [4] : family === "V6_ONLY" ? [6] : family === "V4_PREFERRED" ? [4, 6] : [6, 4]
  let failed = 0
  for (let last = rounds.length - 1; last >= 0; last--) {
    const round = rounds[last]
    if (round === undefined) continue
    const kinds = asked.map((each) => kind(round[each]))
    if (kinds.includes("any")) {
      if (family !== "ALL") return { held: textsOf(round[asked[kinds.indexOf("any")] ?? 4]), failed }
      const [six, four] = ([6, 4] as const).map((each) => {
        const known = rounds.slice(0, last + 1).filter((earlier) => earlier[each] !== "failed")
        return textsOf(known.at(-1)?.[each] ?? [])
      })
      return { held: [...(six ?? []), ...(four ?? [])].sort(), failed }
    }
    if (uses === "all" && kinds.every((each) => each === "none")) return { held: [], failed }
    failed++
  }
  return { held: [], failed }
}

it("names stand for what a reference finds in all answers; who is known is not lost by failures", () => {
  const addresses = (...of: ReadonlyArray<string>) => fc.oneof(fc.constant("failed" as const), fc.subarray([...of]))
  const round = fc.record({ 4: addresses(A, B, C), 6: addresses(X, Y) })
  const family = fc.constantFrom<DnsTarget.LookupFamily>("AUTO", "V4_ONLY", "V6_ONLY", "V4_PREFERRED", "ALL")
  const random = fc.constantFrom(0, 0.3, 0.999)
  fc.assert(
    fc.property(
      family,
      fc.boolean(),
      fc.array(round, { minLength: 1, maxLength: 12 }),
      random,
      (family, all, rounds, r) => {
        const failureRefreshRate = { base: 1_000, max: 7_000 }
        const play = (all ? strict : logical)({ family, failureRefreshRate, jitter: 500 })
        play.random = r
        for (const [index, each] of rounds.entries()) {
          if (index > 0) play.at(play.next)
          while (play.asked.length > 0) play.answer(each[play.asked[0]?.family ?? 4])
          const { failed, held } = stands(family, all ? "all" : "first", rounds.slice(0, index + 1))
          const target = play.self.targets[0]
          expect(family === "ALL" ? [...(target?.held ?? [])].sort() : target?.held).toEqual(held)
          const below = Math.min(7_000, 1_000 * 2 ** Math.max(0, failed - 1))
          const wait = failed === 0 ? 5_000 + Math.floor(r * 500) : Math.max(100, Math.floor(r * below))
          expect(play.next - play.now).toBe(wait)
          expect(play.addresses.length).toBe(all ? held.length : Math.min(1, held.length))
        }
      }
    ),
    { numRuns: 150 }
  )
})

describe("the first assignment", () => {
  it("is awaited as long as initial_fetch_timeout says, and taken when it comes", () => {
    const play = new Play({ type: "EDS" })
    expect(play.next).toBe(15_000)
    expect(play.at(14_999).said).toEqual([])
    expect([play.at(15_000).said, play.next]).toEqual([["15000 Ready"], Number.POSITIVE_INFINITY])
    expect(play.give({ _tag: "Assigned", endpoints: [at(A)] }).addresses).toEqual([A])
    const quick = new Play({ type: "EDS", initialFetchTimeout: 100 }).give({ _tag: "Assigned", endpoints: [] })
    expect([quick.said, quick.next]).toEqual([["0 Ready"], Number.POSITIVE_INFINITY])
    expect(new Play({ type: "EDS", initialFetchTimeout: 0 }).next).toBe(Number.POSITIVE_INFINITY)
  })
})
