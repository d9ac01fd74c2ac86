/**
 * Outlier detection: hosts that fail, or that fail more than others, are ejected for a while. Hosts, outcomes of calls and
 * time go in; who is ejected and who comes back comes out.
 *
 * Failures in a row are looked at with each outcome, rates in a sweep of each interval on what it counted. It goes by
 * cluster, not by priority.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/outlier
 * @see https://github.com/grpc/proposal/blob/master/A50-xds-outlier-detection.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Rules from "./OutlierRules.js"
import type { OutlierSettings } from "./OutlierSettings.js"

/**
 * What found an outlier.
 *
 * @since 0.1.0
 */
export type Detector =
  | "Consecutive5xx"
  | "ConsecutiveGatewayFailure"
  | "ConsecutiveLocalOriginFailure"
  | "SuccessRate"
  | "SuccessRateLocalOrigin"
  | "FailurePercentage"
  | "FailurePercentageLocalOrigin"

/**
 * What became of a call.
 *
 * @since 0.1.0
 */
export type Outcome =
  /** A response. Without a status of HTTP: 200 for a success, 500 for a failure. */
  | { readonly _tag: "Response"; readonly status: number }
  /** A connection was made; it counts only where failures before a response are split off. */
  | { readonly _tag: "Connected" }
  /** Failures before a response; where they are not split off, as responses 503 and 504. */
  | { readonly _tag: "ConnectFailure" | "Timeout" }

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Added" | "Removed"; readonly host: string }
  | { readonly _tag: "Outcome"; readonly host: string; readonly outcome: Outcome }
  /** Outcomes in sum, of those who count themselves: what fails in a row is not seen in them. */
  | { readonly _tag: "Counted"; readonly host: string; readonly succeeded: number; readonly failed: number }
  /** A health check passed. */
  | { readonly _tag: "CheckPassed"; readonly host: string }
  /** Other settings; the interval that runs is kept, and ends when the new one would. */
  | { readonly _tag: "Configured"; readonly settings: OutlierSettings }
  /** The time of `deadline` has come. */
  | { readonly _tag: "Deadline" }

/**
 * What comes of it.
 *
 * @since 0.1.0
 */
export type Output =
  /** No calls to this host. */
  | { readonly _tag: "Ejected"; readonly host: string; readonly detector: Detector }
  /** An outlier that is not ejected: its detector is not enforced this time, or too many are ejected. */
  | {
      readonly _tag: "Spared"
      readonly host: string
      readonly detector: Detector
      readonly reason: "NotEnforced" | "MaxEjectionPercent"
    }
  /** The host is used again: its time is over, a health check passed, or nothing is detected any more. */
  | { readonly _tag: "Returned"; readonly host: string; readonly reason: "Time" | "CheckPassed" | "Off" }

/**
 * What a step is given beside its input.
 *
 * @since 0.1.0
 */
export interface Context {
  /** Milliseconds, never less than in the step before. */
  readonly now: number
  /** The random numbers of this step, in [0, 1): for each outlier one, and one more if it is ejected. */
  readonly draw: (n: number) => number
}

/**
 * Calls of an interval.
 *
 * @since 0.1.0
 */
export interface Counts {
  readonly succeeded: number
  readonly all: number
}

/**
 * A host.
 *
 * @since 0.1.0
 */
export interface Host {
  /** Its place among hosts: they are looked at in the order in which they came. */
  readonly place: number
  /** Failures in a row. */
  readonly inRow: { readonly any: number; readonly gateway: number; readonly local: number }
  /** Calls since the last sweep. */
  readonly external: Counts
  readonly local: Counts
  /** `undefined`: it is in use. `jitter` is added to the duration, in milliseconds. */
  readonly ejected: { readonly at: number; readonly jitter: number; readonly detector: Detector } | undefined
  /** How many base times its ejection lasts. */
  readonly multiplier: number
  /** When it came back last, in milliseconds; `undefined`: it was never ejected. */
  readonly returnedAt: number | undefined
}

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface Outlier {
  readonly settings: OutlierSettings
  readonly hosts: HashMap.HashMap<string, Host>
  /** How many hosts are ejected. */
  readonly ejected: number
  /** Hosts that ever came. */
  readonly places: number
  /** When the interval began, in milliseconds; `undefined`: nothing is detected. */
  readonly intervalFrom: number | undefined
}

const nothing: ReadonlyArray<Output> = []
const noCounts: Counts = { succeeded: 0, all: 0 }
const noneInRow: Host["inRow"] = { any: 0, gateway: 0, local: 0 }

/**
 * No hosts. The first interval begins now.
 *
 * @since 0.1.0
 */
export const make = (settings: OutlierSettings, now: number): Outlier => ({
  settings,
  hosts: HashMap.empty(),
  ejected: 0,
  places: 0,
  intervalFrom: detects(settings) ? now : undefined
})

/**
 * Whether anything is detected.
 *
 * @since 0.1.0
 */
export const detects = ({ enforcingFailurePercentage, enforcingSuccessRate, rules }: OutlierSettings): boolean => {
  const { hasConsecutive, runs } = Rules.table[rules]
  return hasConsecutive || runs(enforcingSuccessRate) || runs(enforcingFailurePercentage)
}

/**
 * When it wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ intervalFrom, settings }: Outlier): number =>
  intervalFrom === undefined ? Number.POSITIVE_INFINITY : intervalFrom + Math.max(1, settings.interval)

/**
 * The host; `undefined` if it is not there.
 *
 * @since 0.1.0
 */
export const find = (self: Pick<Outlier, "hosts">, host: string): Host | undefined =>
  Option.getOrUndefined(HashMap.get(self.hosts, host))

/**
 * Whether a host is ejected.
 *
 * @since 0.1.0
 */
export const isEjected = (self: Pick<Outlier, "hosts">, host: string): boolean =>
  find(self, host)?.ejected !== undefined

/**
 * The mean and the standard deviation of success rates in percent, and below what a host is an outlier.
 *
 * @param factor thousandths of a standard deviation
 * @since 0.1.0
 */
export const boundOf = (
  rates: ReadonlyArray<number>,
  factor: number
): { readonly mean: number; readonly deviation: number; readonly bound: number } => {
  const [first = 0] = rates
  // ★ Rounding must not make an outlier among hosts that are alike.
  const isEven = rates.every((rate) => rate === first)
  const mean = isEven ? first : rates.reduce((sum, rate) => sum + rate, 0) / rates.length
  // Of the population: these hosts are all there are.
  const variance = rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / rates.length
  const deviation = Math.sqrt(variance)
  return { mean, deviation, bound: mean - (deviation * factor) / 1_000 }
}

type Draft = { -readonly [Key in keyof Outlier]: Outlier[Key] } & {
  readonly outputs: Array<Output>
  readonly context: Context
  /** Random numbers that were drawn in this step. */
  drawn: number
}

const put = (self: Draft, name: string, host: Host): void => {
  self.hosts = HashMap.set(self.hosts, name, host)
}

/**
 * Takes one input. Total: what is said of a host that is not there is nothing.
 *
 * @since 0.1.0
 */
export const step = (self: Outlier, input: Input, context: Context): readonly [Outlier, ReadonlyArray<Output>] => {
  if (input._tag === "Deadline" && context.now < deadline(self)) return [self, nothing]
  const draft: Draft = {
    settings: self.settings,
    hosts: self.hosts,
    ejected: self.ejected,
    places: self.places,
    intervalFrom: self.intervalFrom,
    outputs: [],
    context,
    drawn: 0
  }
  switch (input._tag) {
    case "Added":
      add(draft, input.host)
      break
    case "Configured":
      configure(draft, input.settings)
      break
    case "Deadline":
      sweep(draft)
      break
    case "Removed":
      draft.hosts = HashMap.remove(draft.hosts, input.host)
      if (isEjected(self, input.host)) draft.ejected--
      break
    case "CheckPassed":
      if (self.settings.successfulActiveHealthCheckUnejectHost) comeBack(draft, input.host, "CheckPassed")
      break
    case "Counted": {
      const host = find(self, input.host)
      if (host === undefined) return [self, nothing]
      put(draft, input.host, { ...host, external: plus(host.external, input.succeeded, input.failed) })
      break
    }
    case "Outcome":
      note(draft, input.host, input.outcome)
  }
  const { ejected, hosts, intervalFrom, outputs, places, settings } = draft
  return [{ settings, hosts, ejected, places, intervalFrom }, outputs]
}

const add = (self: Draft, name: string): void => {
  if (HashMap.has(self.hosts, name)) return
  put(self, name, {
    place: self.places++,
    inRow: noneInRow,
    external: noCounts,
    local: noCounts,
    ejected: undefined,
    multiplier: 0,
    returnedAt: undefined
  })
}

const configure = (self: Draft, settings: OutlierSettings): void => {
  self.settings = settings
  if (detects(settings)) {
    if (self.intervalFrom !== undefined) return
    // It was off: what was counted is of no interval.
    self.intervalFrom = self.context.now
    self.hosts = HashMap.map(self.hosts, (host) => ({ ...host, external: noCounts, local: noCounts }))
    return
  }
  self.intervalFrom = undefined
  for (const [name] of inOrder(self)) comeBack(self, name, "Off")
  self.hosts = HashMap.map(self.hosts, (host) => ({ ...host, multiplier: 0 }))
}

const inOrder = (self: Draft): ReadonlyArray<readonly [string, Host]> =>
  Array.from(self.hosts).sort(([, a], [, b]) => a.place - b.place)

const plus = ({ all, succeeded }: Counts, more: number, failed: number): Counts => ({
  succeeded: succeeded + more,
  all: all + more + failed
})

/** Where failures before a response are not split off they count as responses. */
const statusOf = (outcome: Outcome): number | undefined => {
  switch (outcome._tag) {
    case "Response":
      return outcome.status
    case "Connected":
      return undefined
    case "ConnectFailure":
      return 503
    case "Timeout":
      return 504
  }
}

const note = (self: Draft, name: string, outcome: Outcome): void => {
  const host = find(self, name)
  if (host === undefined) return
  const { hasConsecutive } = Rules.table[self.settings.rules]
  const isSplit = hasConsecutive && self.settings.splitExternalLocalOriginErrors
  if (isSplit && outcome._tag !== "Response") {
    const failed = outcome._tag === "Connected" ? 0 : 1
    const inRow = { ...host.inRow, local: failed === 0 ? 0 : host.inRow.local + 1 }
    put(self, name, { ...host, inRow, local: plus(host.local, 1 - failed, failed) })
    if (failed === 1) count(self, name, "local")
    return
  }
  const status = statusOf(outcome)
  if (status === undefined) return
  const failed = status >= 500 && status < 600 ? 1 : 0
  const isGateway = status >= 502 && status <= 504
  const inRow = {
    ...host.inRow,
    any: failed === 0 ? 0 : host.inRow.any + 1,
    // ★ Another 5xx is the end of a row, too.
    gateway: isGateway ? host.inRow.gateway + 1 : 0
  }
  put(self, name, { ...host, inRow, external: plus(host.external, 1 - failed, failed) })
  if (!hasConsecutive) return
  if (isGateway) count(self, name, "gateway")
  if (failed === 1) count(self, name, "any")
}

const consecutive = {
  any: ["Consecutive5xx", "consecutive5xx", "enforcingConsecutive5xx"],
  gateway: ["ConsecutiveGatewayFailure", "consecutiveGatewayFailure", "enforcingConsecutiveGatewayFailure"],
  local: ["ConsecutiveLocalOriginFailure", "consecutiveLocalOriginFailure", "enforcingConsecutiveLocalOriginFailure"]
} as const

/** ★ At the limit a row starts again, even if nothing is ejected. */
const count = (self: Draft, name: string, kind: keyof typeof consecutive): void => {
  const host = find(self, name)
  const [detector, limit, enforcing] = consecutive[kind]
  if (host?.inRow[kind] !== self.settings[limit]) return
  put(self, name, { ...host, inRow: { ...host.inRow, [kind]: 0 } })
  detect(self, name, detector, self.settings[enforcing])
}

const belowOne = 1 - Number.EPSILON / 2

/** In [0, 1) whatever the function gives: what is no number counts as 0. */
const draw = (self: Draft): number => {
  const drawn = self.context.draw(self.drawn++)
  return drawn >= 1 ? belowOne : drawn > 0 ? drawn : 0
}

/** An outlier was found: it is ejected, if that is allowed and enforced. */
const detect = (self: Draft, name: string, detector: Detector, enforcing: number): void => {
  const host = find(self, name)
  // ★ One that another detector has ejected is not counted twice.
  if (host === undefined || host.ejected !== undefined) return
  const { settings } = self
  const { grown, jitter, mayEject } = Rules.table[settings.rules]
  if (!mayEject(self.ejected, HashMap.size(self.hosts), settings)) {
    self.outputs.push({ _tag: "Spared", host: name, detector, reason: "MaxEjectionPercent" })
    return
  }
  if (Math.floor(draw(self) * 100) >= enforcing) {
    self.outputs.push({ _tag: "Spared", host: name, detector, reason: "NotEnforced" })
    return
  }
  const most = jitter(settings)
  const ejected = { at: self.context.now, jitter: most > 0 ? Math.floor(draw(self) * (most + 1)) : 0, detector }
  put(self, name, { ...host, ejected, multiplier: grown(host.multiplier, settings) })
  self.ejected++
  self.outputs.push({ _tag: "Ejected", host: name, detector })
}

const comeBack = (self: Draft, name: string, reason: "Time" | "CheckPassed" | "Off"): void => {
  const host = find(self, name)
  if (host?.ejected === undefined) return
  put(self, name, { ...host, inRow: noneInRow, ejected: undefined, returnedAt: self.context.now })
  self.ejected--
  self.outputs.push({ _tag: "Returned", host: name, reason })
}

/** The calls that a pair of detectors looks at, and their settings. */
const origins = [
  {
    counts: "external",
    rates: { detector: "SuccessRate", enforcing: "enforcingSuccessRate" },
    failures: { detector: "FailurePercentage", enforcing: "enforcingFailurePercentage" }
  },
  {
    counts: "local",
    rates: { detector: "SuccessRateLocalOrigin", enforcing: "enforcingLocalOriginSuccessRate" },
    failures: { detector: "FailurePercentageLocalOrigin", enforcing: "enforcingFailurePercentageLocalOrigin" }
  }
] as const

/** A host and what it made of its calls. */
interface Measured extends Counts {
  readonly name: string
}

const sweep = (self: Draft): void => {
  const { settings } = self
  const { hasConsecutive, returns, runs, shrinks } = Rules.table[settings.rules]
  const { now } = self.context
  self.intervalFrom = now
  if (returns === "first") returnDue(self)
  // What was counted is of the interval that is over.
  const counted = inOrder(self)
  self.hosts = HashMap.map(self.hosts, (host) => ({ ...host, external: noCounts, local: noCounts }))
  const isSplit = hasConsecutive && settings.splitExternalLocalOriginErrors
  for (const { counts, failures, rates } of isSplit ? origins : origins.slice(0, 1)) {
    // ★ Gathered before either detector runs: whom the first ejects the second still counts among its hosts.
    const measured = counted
      .map(([name, host]): Measured => ({ name, ...host[counts] }))
      .filter(({ all, name }) => all > 0 && !isEjected(self, name))
    if (runs(settings[rates.enforcing])) bySuccessRate(self, measured, rates.detector, settings[rates.enforcing])
    if (runs(settings[failures.enforcing])) byFailures(self, measured, failures.detector, settings[failures.enforcing])
  }
  for (const [name, host] of inOrder(self)) {
    if (host.ejected !== undefined || host.multiplier === 0) continue
    const sinceReturn = host.returnedAt === undefined ? undefined : now - host.returnedAt
    if (shrinks(sinceReturn, settings.interval)) put(self, name, { ...host, multiplier: host.multiplier - 1 })
  }
  if (returns === "last") returnDue(self)
}

const bySuccessRate = (self: Draft, measured: ReadonlyArray<Measured>, detector: Detector, enforcing: number): void => {
  const { successRateMinimumHosts, successRateRequestVolume, successRateStdevFactor } = self.settings
  const busy = measured.filter(({ all }) => all >= successRateRequestVolume)
  if (busy.length === 0 || busy.length < successRateMinimumHosts) return
  const rates = busy.map(({ all, succeeded }) => (100 * succeeded) / all)
  const { bound } = boundOf(rates, successRateStdevFactor)
  for (const [index, { name }] of busy.entries()) {
    if ((rates[index] ?? 100) < bound) detect(self, name, detector, enforcing)
  }
}

const byFailures = (self: Draft, measured: ReadonlyArray<Measured>, detector: Detector, enforcing: number): void => {
  const { failurePercentageMinimumHosts, failurePercentageRequestVolume, failurePercentageThreshold } = self.settings
  const { failsTooOften } = Rules.table[self.settings.rules]
  const busy = measured.filter(({ all }) => all >= failurePercentageRequestVolume)
  if (busy.length === 0 || busy.length < failurePercentageMinimumHosts) return
  for (const { all, name, succeeded } of busy) {
    // Multiplied first: 85 of 100 are 85 %, not a little less.
    if (failsTooOften((100 * (all - succeeded)) / all, failurePercentageThreshold)) {
      detect(self, name, detector, enforcing)
    }
  }
}

/** Those whose ejection is over come back. */
const returnDue = (self: Draft): void => {
  const { baseEjectionTime, maxEjectionTime, rules } = self.settings
  const { isOver } = Rules.table[rules]
  for (const [name, host] of inOrder(self)) {
    if (host.ejected === undefined) continue
    const duration = Math.min(baseEjectionTime * host.multiplier, maxEjectionTime) + host.ejected.jitter
    if (isOver(self.context.now - host.ejected.at, duration)) comeBack(self, name, "Time")
  }
}
