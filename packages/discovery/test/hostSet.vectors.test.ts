import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import * as Host from "@effect-xds/discovery/Host"
import * as HostSet from "@effect-xds/discovery/HostSet"
import { describe, expect, it } from "@effect/vitest"

/** A set of hosts that is stepped by hand, with one checker unless it is told otherwise. */
class Play {
  self: HostSet.HostSet
  /** What was said since the last look. */
  private words: Array<string> = []

  constructor(settings: Partial<HostSet.Settings> = {}) {
    this.self = HostSet.make({ checkers: ["c"], ...settings })
  }

  give(input: HostSet.Input): this {
    const [next, outputs] = HostSet.step(this.self, input)
    this.self = next
    for (const output of outputs) {
      const cut = output._tag === "Drain" && output.isCut ? " cut" : ""
      this.words.push(output._tag === "Ready" ? "Ready" : `${output._tag} ${output.host}${cut}`)
    }
    return this
  }

  list(...hosts: ReadonlyArray<string | Host.Host>): this {
    return this.give({
      _tag: "Listed",
      hosts: hosts.map((host) => (typeof host === "string" ? Host.make(host) : host))
    })
  }

  says(...flags: ReadonlyArray<HealthFlags.Flag>): this {
    const health = { _tag: "Health", host: "A", checker: "c", flags: HealthFlags.make(...flags) } as const
    return this.give(health).give({ _tag: "Checked", host: "A", checker: "c" })
  }

  get said(): ReadonlyArray<string> {
    return this.words.splice(0)
  }

  /** What was said so far is of no interest. */
  quiet(): this {
    this.words.length = 0
    return this
  }

  /** Its flags, and whether it is routed to. */
  get a(): ReadonlyArray<string> | undefined {
    const member = HostSet.find(this.self, "A")
    if (member === undefined) return undefined
    return [HostSet.isRouted(this.self, member) ? "routed" : "not", ...HealthFlags.names(member.flags)]
  }
}

const removed = ["Uncheck A", "Removed A", "Drain A"]
/** Vector 15: it passes, and is listed no longer. */
const absent = (settings: Partial<HostSet.Settings> = {}): Play => {
  return new Play(settings).list("A").says().list().quiet()
}

describe("vectors of the matrix", () => {
  it("14: a new host fails; with a success it is routed to", () => {
    const play = new Play().list("A")
    expect([play.a, play.said]).toEqual([
      ["not", "FAILED_ACTIVE_HC"],
      ["Added A", "Check A"]
    ])
    expect([play.says().a, play.said]).toEqual([["routed"], ["Updated A"]])
  })

  it("15: who passes and is listed no longer is routed to, however often that is said", () => {
    const play = new Play().list("A").says().list()
    expect(play.a).toEqual(["routed", "PENDING_DYNAMIC_REMOVAL"])
    expect(play.said).toEqual(["Added A", "Check A", "Updated A", "Updated A"])
    expect([play.list().a, play.said]).toEqual([["routed", "PENDING_DYNAMIC_REMOVAL"], []])
  })

  it("16: … and fails: deleted", () => {
    const play = absent().says("FAILED_ACTIVE_HC")
    expect([play.a, play.said]).toEqual([undefined, removed])
  })

  it("17: … and listed again: nothing begins anew", () => {
    const play = absent().list("A")
    expect([play.a, play.said]).toEqual([["routed"], ["Updated A"]])
  })

  it("18: who fails and is listed no longer is deleted", () => {
    const play = new Play().list("A").says("FAILED_ACTIVE_HC")
    expect(play.said).toEqual(["Added A", "Check A"])
    expect([play.list().a, play.said]).toEqual([undefined, removed])
  })

  it("19: who fails is drained and kept; with a success it is routed to", () => {
    const play = new Play().list("A").says()
    play.quiet()
    expect([play.says("FAILED_ACTIVE_HC").a, play.said]).toEqual([
      ["not", "FAILED_ACTIVE_HC"],
      ["Updated A", "Drain A"]
    ])
    expect([play.says().a, play.said]).toEqual([["routed"], ["Updated A"]])
  })

  it("20: with ignore_health_on_host_removal, without checkers, or unchecked: deleted", () => {
    expect(absent({ ignoreHealthOnHostRemoval: true }).a).toBeUndefined()
    const without = new Play({ checkers: [] }).list("A")
    expect([without.a, without.said]).toEqual([["routed"], ["Added A"]])
    expect([without.list().a, without.said]).toEqual([undefined, ["Removed A", "Drain A"]])
    expect(new Play().list(Host.make("A", { isUnchecked: true })).list().a).toBeUndefined()
  })

  it("20a: ★ who is lost is deleted, also if it passes; nobody else is looked at", () => {
    const play = new Play().list("A", "B").says().quiet().give({ _tag: "Lost", host: "A" })
    expect([play.a, play.said]).toEqual([undefined, removed])
    expect(HostSet.find(play.self, "B")).toBeDefined()
    expect(play.give({ _tag: "Lost", host: "A" }).said).toEqual([])
  })

  it("21: unlisted before a result: deleted, and nobody waits for it", () => {
    const play = new Play().list("A", "B").give({ _tag: "Initialized" })
    expect(HostSet.isReady(play.self)).toBe(false)
    play.says().quiet()
    expect([play.list("A").a, play.said]).toEqual([["routed"], ["Uncheck B", "Removed B", "Drain B", "Ready"]])
  })

  it("22: ejected and unlisted: kept, not routed to; back: routed to", () => {
    const play = new Play().list("A").says().give({ _tag: "Ejected", host: "A" })
    expect([play.a, play.said.slice(-2)]).toEqual([
      ["not", "FAILED_OUTLIER"],
      ["Updated A", "Drain A"]
    ])
    expect(play.list().a).toEqual(["not", "FAILED_OUTLIER", "PENDING_DYNAMIC_REMOVAL"])
    expect(play.give({ _tag: "Returned", host: "A" }).a).toEqual(["routed", "PENDING_DYNAMIC_REMOVAL"])
  })

  it.each(["DRAINING", "UNHEALTHY", "TIMEOUT"] as const)(
    "23: passing, but %s, and unlisted: deleted",
    (healthStatus) => {
      const play = new Play().list(Host.make("A", { healthStatus })).says()
      expect(play.a?.[0]).toBe("not")
      expect(play.list().a).toBeUndefined()
    }
  )

  it.each([[], ["FAILED_ACTIVE_HC"]] as const)("24: listed again with weight 3: all else stays (%s)", (...flags) => {
    const play = new Play()
      .list("A")
      .says(...flags)
      .give({ _tag: "Ejected", host: "A" })
    const before = play.a
    play.quiet()
    play.list(Host.make("A", { weight: 3, priority: 1, locality: "elsewhere" }))
    expect([play.a, play.said]).toEqual([before, ["Updated A"]])
    expect(HostSet.find(play.self, "A")?.host).toMatchObject({ weight: 3, priority: 1, locality: "elsewhere" })
    // The same once more is no news.
    expect(play.list(Host.make("A", { weight: 3, priority: 1, locality: "elsewhere" })).said).toEqual([])
  })

  it("25: 15, and a response says to fail it: deleted", () => {
    expect(absent().says("FAILED_ACTIVE_HC", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL").a).toBeUndefined()
  })
})

describe("hosts", () => {
  it("listed twice under one id: the first counts; they stay in the order in which they came", () => {
    const play = new Play({ checkers: [] }).list("B", Host.make("A", { weight: 2 }), Host.make("A", { weight: 3 }))
    expect(play.list("A", "C", "B").said).toEqual(["Added B", "Added A", "Updated A", "Added C"])
    expect(HostSet.inOrder(play.self).map(({ host }) => host.id)).toEqual(["B", "A", "C"])
  })

  it("checks switched off: flags of checks gone; on: as if new, and drained", () => {
    const off = Host.make("A", { isUnchecked: true })
    const play = new Play({ ignoreNewHostsUntilFirstHc: true }).list("A")
    expect(play.a).toEqual(["not", "FAILED_ACTIVE_HC", "PENDING_ACTIVE_HC"])
    play.quiet()
    expect([play.list(off).a, play.said]).toEqual([["routed"], ["Uncheck A", "Updated A"]])
    expect(play.list("A").a).toEqual(["not", "FAILED_ACTIVE_HC", "PENDING_ACTIVE_HC"])
    expect(play.said).toEqual(["Updated A", "Drain A", "Check A"])
  })

  it("passes when all checkers say so", () => {
    const play = new Play({ checkers: ["c", "d"] }).list("A").give({ _tag: "Initialized" }).says()
    expect([play.a, HostSet.isReady(play.self)]).toEqual([["not", "FAILED_ACTIVE_HC"], false])
    play.give({ _tag: "Health", host: "A", checker: "d", flags: HealthFlags.none })
    expect(play.give({ _tag: "Checked", host: "A", checker: "d" }).a).toEqual(["routed"])
    expect(HostSet.isReady(play.self)).toBe(true)
  })

  it("connections are cut on failing and on ejection, if so set, not on removal", () => {
    const play = new Play({ closeConnectionsOnHostHealthFailure: true }).list("A").says()
    play.quiet()
    play.give({ _tag: "Ejected", host: "A" }).give({ _tag: "Ejected", host: "A" })
    expect(play.said).toEqual(["Updated A", "Drain A cut"])
    expect(play.list().says("FAILED_ACTIVE_HC").said.at(-1)).toBe("Drain A cut")
    expect(play.list("A").list().said.at(-1)).toBe("Drain A")
  })

  it("is ready when discovery is initialized and the hosts of then have results; ★ later ones do not prolong it", () => {
    const play = new Play().list("A").says().list("A", "B").give({ _tag: "Initialized" }).list("A", "B", "C")
    expect(HostSet.isReady(play.self)).toBe(false)
    play.give({ _tag: "Checked", host: "A", checker: "c" }).give({ _tag: "Initialized" })
    // ★ A second result of one host is not the first of another.
    expect(HostSet.isReady(play.self)).toBe(false)
    play.give({ _tag: "Checked", host: "B", checker: "c" })
    expect(play.said.filter((word) => word === "Ready")).toEqual(["Ready"])
    expect(new Play().give({ _tag: "Initialized" }).said).toEqual(["Ready"])
    expect(
      new Play()
        .list("A")
        .give({ _tag: "Initialized" })
        .list(Host.make("A", { isUnchecked: true }))
        .said.at(-1)
    ).toBe("Ready")
  })

  it("flags decide: failed or draining, degraded, healthy; pending, excluded and draining ones are in no ratio", () => {
    const health = (...flags: ReadonlyArray<HealthFlags.Flag>) => HealthFlags.healthOf(HealthFlags.make(...flags))
    expect(health("DEGRADED_ACTIVE_HC", "FAILED_OUTLIER")).toBe("unhealthy")
    expect(health("EDS_STATUS_DRAINING")).toBe("unhealthy")
    expect([health("DEGRADED_EDS_HEALTH"), health("DEGRADED_ACTIVE_HC")]).toEqual(["degraded", "degraded"])
    expect(health("PENDING_DYNAMIC_REMOVAL", "ACTIVE_HC_TIMEOUT")).toBe("healthy")
    const excluded = Object.entries(HealthFlags.table)
      .filter(([, { bit }]) => HealthFlags.isExcluded(bit))
      .map(([flag]) => flag)
    expect(excluded).toEqual(["PENDING_ACTIVE_HC", "EXCLUDED_VIA_IMMEDIATE_HC_FAIL", "EDS_STATUS_DRAINING"])
  })
})
