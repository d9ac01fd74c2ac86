/**
 * Hosts beside those of the package: one at a time, by the matrix as a list of transitions and by sets of names, with no
 * table of cells and no bits.
 */
import type * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import type * as Host from "@effect-xds/discovery/Host"
import type * as HostSet from "@effect-xds/discovery/HostSet"

/** What happens to one host. */
export type Happening =
  | { readonly _tag: "Listed"; readonly status: Host.HealthStatus; readonly isUnchecked: boolean }
  | { readonly _tag: "Unlisted" }
  | { readonly _tag: "Health"; readonly checker: string; readonly flags: ReadonlyArray<HealthFlags.Flag> }
  | { readonly _tag: "Checked"; readonly checker: string }
  | { readonly _tag: "Ejected" | "Returned" }

type State = "none" | "listed+OK" | "listed+failing" | "absent+OK"

/** State, event, next state, and what else comes of it; where there is none the event cannot be. */
const transitions: ReadonlyArray<readonly [State, string, State, string]> = [
  ["listed+OK", "listed", "listed+OK", ""],
  ["listed+OK", "unlisted", "absent+OK", ""],
  ["listed+OK", "turns failing", "listed+failing", "Drain"],
  ["listed+failing", "listed", "listed+failing", ""],
  ["listed+failing", "unlisted", "none", "Removed Drain"],
  ["listed+failing", "turns OK", "listed+OK", ""],
  ["absent+OK", "listed", "listed+OK", ""],
  ["absent+OK", "unlisted", "absent+OK", ""],
  ["absent+OK", "turns failing", "none", "Removed Drain"]
]

const ofStatus: Readonly<Record<Host.HealthStatus, string>> = {
  UNKNOWN: "",
  HEALTHY: "",
  UNHEALTHY: "FAILED_EDS_HEALTH",
  TIMEOUT: "FAILED_EDS_HEALTH",
  DRAINING: "EDS_STATUS_DRAINING",
  DEGRADED: "DEGRADED_EDS_HEALTH"
}

export class HostReference {
  state: State = "none"
  status: Host.HealthStatus = "UNKNOWN"
  isUnchecked = false
  isEjected = false
  /** `undefined`: it is not checked. */
  checks: Map<string, Set<string>> | undefined
  results = new Set<string>()
  said: Array<string> = []
  /** Which transitions were taken. */
  static readonly taken = new Set<string>()

  constructor(readonly settings: HostSet.Settings) {}

  get flags(): ReadonlyArray<string> {
    const all = new Set<string>(Array.from(this.checks?.values() ?? []).flatMap((flags) => Array.from(flags)))
    if (ofStatus[this.status] !== "") all.add(ofStatus[this.status])
    if (this.isEjected) all.add("FAILED_OUTLIER")
    if (this.state === "absent+OK") all.add("PENDING_DYNAMIC_REMOVAL")
    return Array.from(all).sort()
  }

  get isRouted(): boolean {
    return (this.state === "listed+OK" || this.state === "absent+OK") && !this.isEjected
  }

  get awaits(): boolean {
    return this.checks !== undefined && this.results.size < this.settings.checkers.length
  }

  private get isOk(): boolean {
    return !["FAILED_ACTIVE_HC", "FAILED_EDS_HEALTH", "EDS_STATUS_DRAINING"].some((flag) => this.flags.includes(flag))
  }

  private take(event: string): void {
    const found = transitions.find(([from, on]) => from === this.state && on === event)
    if (found === undefined) throw new Error(`${event} in ${this.state}`)
    const [from, , to, what] = found
    HostReference.taken.add(`${from} ${event}`)
    this.state = to
    const isCut = event === "turns failing" && this.settings.closeConnectionsOnHostHealthFailure
    for (const each of what.split(" ").filter((word) => word !== "")) {
      this.said.push(each === "Drain" && isCut ? "Drain!" : each)
    }
    if (to === "none") this.forget()
  }

  private forget(): void {
    if (this.checks !== undefined) this.said.push("Uncheck")
    this.state = "none"
    this.status = "UNKNOWN"
    this.isUnchecked = false
    this.isEjected = false
    this.checks = undefined
    this.results = new Set()
  }

  private start(): void {
    const flags = ["FAILED_ACTIVE_HC", ...(this.settings.ignoreNewHostsUntilFirstHc ? ["PENDING_ACTIVE_HC"] : [])]
    this.checks = new Map(this.settings.checkers.map((checker) => [checker, new Set(flags)]))
    this.results = new Set()
    this.said.push("Check")
  }

  /** What is said of it, sorted. */
  happens(event: Happening): ReadonlyArray<string> {
    this.said = []
    const seen = () => [this.flags, this.status, this.isUnchecked].join()
    const before = seen()
    const wasOk = this.isOk
    const existed = this.state !== "none"
    if (existed || event._tag === "Listed") this.change(event)
    // Where it is still there, whether it passes may have changed.
    if (this.state !== "none" && existed) {
      const { isOk } = this
      if (wasOk !== isOk) this.take(isOk ? "turns OK" : "turns failing")
    }
    if (this.state !== "none" && existed && seen() !== before) this.said.push("Updated")
    return this.said.sort()
  }

  private change(event: Happening): void {
    switch (event._tag) {
      case "Listed": {
        const isChecked = this.settings.checkers.length > 0 && !event.isUnchecked
        if (this.state === "none") this.said.push("Added")
        else this.take("listed")
        this.status = event.status
        this.isUnchecked = event.isUnchecked
        if (isChecked && this.checks === undefined) this.start()
        if (!isChecked && this.checks !== undefined) {
          this.checks = undefined
          this.said.push("Uncheck")
        }
        if (this.state === "none") this.state = this.isOk ? "listed+OK" : "listed+failing"
        return
      }
      case "Unlisted":
        if (this.checks === undefined || this.settings.ignoreHealthOnHostRemoval) {
          this.said.push("Removed", "Drain")
          this.forget()
        } else this.take("unlisted")
        return
      case "Health": {
        const held = this.checks?.get(event.checker)
        if (held !== undefined) this.checks?.set(event.checker, new Set(event.flags))
        return
      }
      case "Checked":
        if (this.checks?.has(event.checker) !== true) return
        this.checks.get(event.checker)?.delete("PENDING_ACTIVE_HC")
        this.results.add(event.checker)
        return
      case "Ejected":
        if (!this.isEjected) this.said.push(this.settings.closeConnectionsOnHostHealthFailure ? "Drain!" : "Drain")
        this.isEjected = true
        return
      case "Returned":
        this.isEjected = false
    }
  }
}
