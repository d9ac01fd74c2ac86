import * as Outlier from "@effect-xds/discovery/Outlier"
import * as OutlierSettings from "@effect-xds/discovery/OutlierSettings"
import * as Either from "effect/Either"

/** Outlier detection that is stepped by hand. */
export class Play {
  self: Outlier.Outlier
  now = 0
  random = 0
  /** All that was said, with the time. */
  readonly said: Array<string> = []

  constructor(rules: OutlierSettings.Rules, given: OutlierSettings.Given, hosts: number | ReadonlyArray<string> = 10) {
    this.self = Outlier.make(Either.getOrThrow(OutlierSettings.make(rules, given)), 0)
    const names = typeof hosts === "number" ? Array.from({ length: hosts }, (_, index) => `h${index}`) : hosts
    for (const host of names) this.give({ _tag: "Added", host })
  }

  give(input: Outlier.Input): this {
    const [next, outputs] = Outlier.step(this.self, input, { now: this.now, draw: () => this.random })
    this.self = next
    for (const output of outputs) {
      const why = output._tag === "Ejected" ? output.detector : output.reason
      this.said.push(`${this.now} ${output._tag} ${output.host} ${why}`)
    }
    return this
  }

  /** Time goes on; what is due is done when it is. */
  at(now: number): this {
    for (;;) {
      const deadline = Outlier.deadline(this.self)
      if (deadline > now) break
      this.now = deadline
      this.give({ _tag: "Deadline" })
    }
    this.now = now
    return this
  }

  respond(host: string, ...statuses: ReadonlyArray<number>): this {
    for (const status of statuses) this.give({ _tag: "Outcome", host, outcome: { _tag: "Response", status } })
    return this
  }

  before(host: string, ...outcomes: ReadonlyArray<"Connected" | "ConnectFailure" | "Timeout">): this {
    for (const _tag of outcomes) this.give({ _tag: "Outcome", host, outcome: { _tag } })
    return this
  }

  /** So many calls of so many, for each host. */
  succeed(rates: ReadonlyArray<number>, of = 100): this {
    for (const [index, succeeded] of rates.entries()) {
      this.give({ _tag: "Counted", host: `h${index}`, succeeded, failed: of - succeeded })
    }
    return this
  }

  host(name: string): Outlier.Host | undefined {
    return Outlier.find(this.self, name)
  }

  get ejected(): ReadonlyArray<string> {
    return Array.from(this.self.hosts)
      .filter(([, { ejected }]) => ejected !== undefined)
      .map(([name]) => name)
      .sort()
  }
}

export const five = [500, 500, 500, 500, 500]
