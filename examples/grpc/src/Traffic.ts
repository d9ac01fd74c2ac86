/** What the client's calls met with: the witness of everything the demo says. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { performance } from "node:perf_hooks"
import * as Report from "./Report.js"
import * as Wait from "./Wait.js"

/** Calls by who answered them. */
export class Tally {
  constructor(readonly answers: Readonly<Record<string, number>>) {}

  /** Calls answered by a version or, as `v1 127.0.0.1:50051`, by one of its endpoints. */
  of(who: string): number {
    return Object.entries(this.answers)
      .filter(([name]) => name === who || name.startsWith(`${who} `))
      .reduce((sum, [, count]) => sum + count, 0)
  }

  get total(): number {
    return Object.values(this.answers).reduce((sum, count) => sum + count, 0)
  }

  since(earlier: Tally): Tally {
    const entries = Object.entries(this.answers).map(([name, count]) => [name, count - earlier.of(name)] as const)
    return new Tally(Object.fromEntries(entries.filter(([, count]) => count > 0)))
  }

  /** `v1: 451 calls (90.2 %), v2: 49 calls (9.8 %)` */
  toString(): string {
    const versions = [...new Set(Object.keys(this.answers).map((name) => name.split(" ", 1)[0] ?? name))].sort()
    const share = (count: number) => ((100 * count) / this.total).toFixed(1)
    if (versions.length === 0) return "no call was answered"
    return versions.map((name) => `${name}: ${this.of(name)} calls (${share(this.of(name))} %)`).join(", ")
  }
}

/** The client's reports as they come in. */
export class Traffic {
  private report: Report.Report = { started: 0, answers: {}, failed: 0 }
  private noise: string | undefined

  readonly onLine = (line: string): void => {
    const report = Option.getOrUndefined(Effect.runSync(Effect.option(Report.parse(line))))
    if (report === undefined) this.noise = line
    else this.report = report
  }

  get started(): number {
    return this.report.started
  }

  get failed(): number {
    return this.report.failed
  }

  get tally(): Tally {
    return new Tally(this.report.answers)
  }

  /** How it is, for the message of a wait that failed. */
  describe(since: Tally = new Tally({})): string {
    const failure = this.failed === 0 ? "" : `, ${this.failed} failed, the first with: ${this.report.failure ?? "?"}`
    const noise = this.noise === undefined ? "" : `; the client printed: ${this.noise}`
    return `${this.tally.since(since).toString()}${failure}${noise}`
  }

  /** The next calls. */
  readonly watch = (calls: number): Effect.Effect<Tally, Wait.TimedOut> =>
    Effect.suspend(() => {
      const before = this.tally
      return Wait.until({
        what: `${calls} calls to be answered`,
        check: () => {
          const seen = this.tally.since(before)
          return seen.total >= calls ? seen : undefined
        },
        seen: () => this.describe(before)
      })
    })

  /** Waits until so many calls in a row go as described; also gives the milliseconds until the first of them. */
  readonly settle = (
    what: string,
    calls: number,
    isRight: (seen: Tally) => boolean
  ): Effect.Effect<{ readonly seen: Tally; readonly after: number }, Wait.TimedOut> =>
    Effect.suspend(() => {
      const start = performance.now()
      let from = this.tally
      let after = 0
      return Wait.until({
        what: `${calls} calls in a row with ${what}`,
        check: () => {
          const seen = this.tally.since(from)
          if (!isRight(seen)) {
            from = this.tally
            after = performance.now() - start
          } else if (seen.total >= calls) return { seen, after: Math.round(after) }
          return undefined
        },
        seen: () => this.describe(from)
      })
    })
}
