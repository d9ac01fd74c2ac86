/**
 * Active health checking of one host: results of probes and time go in; when to probe, and whether the host passes, comes
 * out.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/health_checking
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { HealthCheckSettings } from "./HealthCheckSettings.js"
import * as HealthFlags from "./HealthFlags.js"

/**
 * What a result may say of an answer.
 *
 * @since 0.1.0
 */
export interface OfAnswer {
  /** The connection is used no more. */
  readonly closes?: boolean | undefined
  /** Why it failed, in words for people. At most {@link maxWhy} characters of it are kept. */
  readonly why?: string | undefined
  /** The name of the service was looked at (`service_name_matcher`). */
  readonly isVerified?: boolean | undefined
}

/**
 * How a probe ended, apart from its timeout.
 *
 * @since 0.1.0
 */
export type Result =
  /** `isDegraded`: the answer had `x-envoy-degraded`. */
  | ({ readonly _tag: "Success"; readonly isDegraded?: boolean | undefined } & OfAnswer)
  /** An answer that says no. `isExcluded`: with `x-envoy-immediate-health-check-fail`. */
  | ({ readonly _tag: "Immediate"; readonly isExcluded?: boolean | undefined } & OfAnswer)
  /** A status that may be tried again. */
  | ({ readonly _tag: "Retriable" } & Omit<OfAnswer, "isVerified">)
  /** No answer: no connection, a reset, an end, GOAWAY with an error. */
  | ({ readonly _tag: "Network" } & Pick<OfAnswer, "why">)

/**
 * How many characters of what a result says in words are kept.
 *
 * @since 0.1.0
 */
export const maxWhy = 200

/**
 * Whether a value is a result: a prober is code of others.
 *
 * @since 0.1.0
 */
export const isResult = (value: unknown): value is Result =>
  Predicate.hasProperty(value, "_tag") &&
  (value._tag === "Success" || value._tag === "Immediate" || value._tag === "Retriable" || value._tag === "Network") &&
  (!Predicate.hasProperty(value, "why") || value.why === undefined || Predicate.isString(value.why))

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Start" | "Stop" }
  /** ★ A result of an earlier attempt is ignored. */
  | { readonly _tag: "Result"; readonly attempt: number; readonly result: Result }
  /** The response to a call had `x-envoy-immediate-health-check-fail`. */
  | { readonly _tag: "Passive" }
  /** The cluster had a connection for a call. It does not shorten a wait that runs. */
  | { readonly _tag: "TrafficSeen" }
  /** The time of `deadline` has come. */
  | { readonly _tag: "Deadline" }

/**
 * Why a check failed, as events tell it.
 *
 * @since 0.1.0
 */
export type FailureType = "ACTIVE" | "PASSIVE" | "NETWORK" | "NETWORK_TIMEOUT"

/**
 * What comes of it.
 *
 * @since 0.1.0
 */
export type Output =
  /** `isFresh`: with a new connection. */
  | { readonly _tag: "Probe"; readonly attempt: number; readonly isFresh: boolean }
  /** It takes too long, or is wanted no more; its connection is closed. */
  | { readonly _tag: "Abort"; readonly attempt: number }
  /** All flags of the check. */
  | { readonly _tag: "Health"; readonly flags: HealthFlags.HealthFlags }
  /** There is a first result, or there will be none. Said once. */
  | { readonly _tag: "Checked" }
  | {
      readonly _tag: "Event"
      readonly event: "EjectUnhealthy" | "Failure"
      readonly type: FailureType
      readonly isFirst: boolean
      /** In words for people; empty: nothing is known. */
      readonly why: string
    }
  | {
      readonly _tag: "Event"
      readonly event: "AddHealthy" | "Success" | "Degraded" | "NoLongerDegraded"
      readonly isFirst: boolean
    }

/**
 * What a step is given beside its input.
 *
 * @since 0.1.0
 */
export interface Context {
  /** Milliseconds, never less than in the step before. */
  readonly now: number
  /** The random numbers of this step, in [0, 1): at most two. */
  readonly draw: (n: number) => number
}

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface HealthCheck {
  readonly settings: HealthCheckSettings
  readonly flags: HealthFlags.HealthFlags
  /** Successes in a row while it fails; failures in a row while it passes. */
  readonly inRow: number
  /** Whether the cluster ever had a connection for a call. */
  readonly hasTraffic: boolean
  /** The probe that runs, or ran last; the first is 1. */
  readonly attempt: number
  /** The connection of the last probe can be used again. */
  readonly isConnected: boolean
  readonly phase:
    | { readonly _tag: "New" | "Stopped" }
    /** Until when, in milliseconds: until the next probe; until this one has taken too long. */
    | { readonly _tag: "Waiting" | "Probing"; readonly until: number }
  /** The last result, when it came, in milliseconds, and why it was a failure: in words, empty if there are none. */
  readonly last:
    { readonly at: number; readonly result: Result["_tag"] | "Timeout" | "Passive"; readonly why: string } | undefined
}

const nothing: ReadonlyArray<Output> = []

/**
 * A check that is not started. ★ A host begins as one that fails.
 *
 * @since 0.1.0
 */
export const make = (settings: HealthCheckSettings, hasTraffic = false): HealthCheck => ({
  settings,
  flags: HealthFlags.make("FAILED_ACTIVE_HC"),
  inRow: 0,
  hasTraffic,
  attempt: 0,
  isConnected: false,
  phase: { _tag: "New" },
  last: undefined
})

/**
 * When it wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ phase }: HealthCheck): number => ("until" in phase ? phase.until : Number.POSITIVE_INFINITY)

/**
 * Whether the host fails.
 *
 * @since 0.1.0
 */
export const isFailing = ({ flags }: Pick<HealthCheck, "flags">): boolean => HealthFlags.has(flags, "FAILED_ACTIVE_HC")

type Draft = { -readonly [Key in keyof HealthCheck]: HealthCheck[Key] } & {
  readonly outputs: Array<Output>
  readonly context: Context
}

/**
 * Takes one input. Total: what cannot be is ignored.
 *
 * @since 0.1.0
 */
export const step = (
  self: HealthCheck,
  input: Input,
  context: Context
): readonly [HealthCheck, ReadonlyArray<Output>] => {
  const { phase } = self
  if (phase._tag === "Stopped") return [self, nothing]
  if (input._tag === "Deadline" && context.now < deadline(self)) return [self, nothing]
  // Field by field: a spread is twice as dear, and there are thousands of steps in a second.
  const draft: Draft = {
    settings: self.settings,
    flags: self.flags,
    inRow: self.inRow,
    hasTraffic: self.hasTraffic,
    attempt: self.attempt,
    isConnected: self.isConnected,
    phase,
    last: self.last,
    outputs: [],
    context
  }
  switch (input._tag) {
    case "Start":
      if (phase._tag !== "New") return [self, nothing]
      if (self.settings.initialJitter > 0) {
        const jitter = Math.max(1, drawn(draft, 0, self.settings.initialJitter))
        draft.phase = { _tag: "Waiting", until: context.now + jitter }
      } else probe(draft)
      break
    case "Stop":
      if (phase._tag === "Probing") draft.outputs.push({ _tag: "Abort", attempt: self.attempt })
      // Nobody waits for a result that will not be.
      if (self.last === undefined) draft.outputs.push({ _tag: "Checked" })
      draft.phase = { _tag: "Stopped" }
      break
    case "TrafficSeen":
      if (self.hasTraffic) return [self, nothing]
      draft.hasTraffic = true
      break
    case "Passive":
      // ★ Timers stay as they are, and so does a probe that runs.
      fail(draft, "Passive")
      break
    case "Result":
      if (phase._tag !== "Probing" || input.attempt !== self.attempt) return [self, nothing]
      finish(draft, input.result)
      break
    case "Deadline":
      if (phase._tag === "Waiting") probe(draft)
      else finish(draft, "Timeout")
  }
  const { attempt, flags, hasTraffic, inRow, isConnected, last, outputs, settings } = draft
  return [{ settings, flags, inRow, hasTraffic, attempt, isConnected, phase: draft.phase, last }, outputs]
}

const belowOne = 1 - Number.EPSILON / 2

/** The n-th number of the step as a whole number below `below`; what is no number counts as 0. */
const drawn = ({ context }: Draft, n: number, below: number): number => {
  if (below === 0) return 0
  const random = context.draw(n)
  return Math.floor((random >= 1 ? belowOne : random > 0 ? random : 0) * below)
}

const probe = (self: Draft): void => {
  self.attempt++
  self.outputs.push({ _tag: "Probe", attempt: self.attempt, isFresh: !self.isConnected })
  self.phase = { _tag: "Probing", until: self.context.now + self.settings.timeout }
}

const finish = (self: Draft, result: Result | "Timeout"): void => {
  if (result === "Timeout") self.outputs.push({ _tag: "Abort", attempt: self.attempt })
  const isUsable = result !== "Timeout" && result._tag !== "Network" && result.closes !== true
  self.isConnected = self.settings.reuseConnection && isUsable
  const isSuccess = result !== "Timeout" && result._tag === "Success"
  const wait = isSuccess ? succeed(self, result.isDegraded === true) : fail(self, result)
  // ★ Counted from the result, not from the start of the probe.
  self.phase = { _tag: "Waiting", until: self.context.now + later(self, wait) }
}

/** With jitter; at least a millisecond. */
const later = (self: Draft, wait: number): number => {
  const { intervalJitter, intervalJitterPercent } = self.settings
  const more = drawn(self, 0, Math.floor((wait * intervalJitterPercent) / 100))
  return Math.max(1, wait + more + drawn(self, 1, intervalJitter))
}

/** How long until the next probe; `isPending`: a result that is not yet enough. */
const intervalOf = ({ hasTraffic, settings }: Draft, isSuccess: boolean, isPending: boolean): number => {
  if (!hasTraffic) return isSuccess && !isPending ? settings.noTrafficHealthyInterval : settings.noTrafficInterval
  // ★ Between, not after, two states, whatever the proto says.
  if (isPending) return isSuccess ? settings.healthyEdgeInterval : settings.unhealthyEdgeInterval
  return isSuccess ? settings.interval : settings.unhealthyInterval
}

/** Puts the flags, and says what has changed. */
const put = (
  self: Draft,
  flags: HealthFlags.HealthFlags,
  result: NonNullable<HealthCheck["last"]>["result"],
  why: string
): void => {
  const isFirst = self.last === undefined
  if (flags !== self.flags) self.outputs.push({ _tag: "Health", flags })
  if (isFirst) self.outputs.push({ _tag: "Checked" })
  self.flags = flags
  self.last = { at: self.context.now, result, why }
}

const succeed = (self: Draft, isDegraded: boolean): number => {
  const { settings } = self
  const isFirst = self.last === undefined
  const failed = isFailing(self)
  // ★ The first result ever is enough, if it is a success.
  const turns = failed && (isFirst || self.inRow + 1 >= settings.healthyThreshold)
  const isPending = failed && !turns
  self.inRow = isPending ? self.inRow + 1 : 0
  const wasDegraded = HealthFlags.has(self.flags, "DEGRADED_ACTIVE_HC")
  const kept = turns ? HealthFlags.none : self.flags
  put(self, HealthFlags.set(kept, "DEGRADED_ACTIVE_HC", isDegraded), "Success", "")
  if (turns) self.outputs.push({ _tag: "Event", event: "AddHealthy", isFirst })
  if (isDegraded !== wasDegraded) {
    self.outputs.push({ _tag: "Event", event: isDegraded ? "Degraded" : "NoLongerDegraded", isFirst })
  }
  if (settings.alwaysLogHealthCheckSuccess) self.outputs.push({ _tag: "Event", event: "Success", isFirst })
  return intervalOf(self, true, isPending)
}

const typeOf = (result: Result["_tag"] | "Timeout" | "Passive"): FailureType => {
  switch (result) {
    case "Passive":
      return "PASSIVE"
    case "Timeout":
      return "NETWORK_TIMEOUT"
    case "Network":
      return "NETWORK"
    default:
      return "ACTIVE"
  }
}

const whyOf = ({ settings }: Draft, result: Result | "Timeout" | "Passive"): string => {
  switch (result) {
    case "Passive":
      return "the response to a call had x-envoy-immediate-health-check-fail"
    case "Timeout":
      return `no answer within ${settings.timeout} ms`
    default:
      return (result.why ?? "").slice(0, maxWhy)
  }
}

const fail = (self: Draft, result: Result | "Timeout" | "Passive"): number => {
  const { settings } = self
  const tag = typeof result === "string" ? result : result._tag
  const type = typeOf(tag)
  const isFirst = self.last === undefined
  const passed = !isFailing(self)
  // ★ What says no is believed at once; what may be the network's fault has to come again.
  const isImmediate = tag === "Immediate" || tag === "Passive"
  const turns = passed && (isImmediate || self.inRow + 1 >= settings.unhealthyThreshold)
  const isPending = passed && !turns
  self.inRow = isPending ? self.inRow + 1 : 0
  const isExcluded =
    tag === "Passive" || (typeof result !== "string" && result._tag === "Immediate" && result.isExcluded === true)
  let flags = HealthFlags.set(self.flags, "FAILED_ACTIVE_HC", !isPending)
  flags = HealthFlags.set(flags, "ACTIVE_HC_TIMEOUT", tag === "Timeout" && !isPending)
  if (isExcluded) flags = HealthFlags.set(flags, "EXCLUDED_VIA_IMMEDIATE_HC_FAIL", true)
  const why = whyOf(self, result)
  put(self, flags, tag, why)
  if (turns) self.outputs.push({ _tag: "Event", event: "EjectUnhealthy", type, isFirst, why })
  if (isFirst || settings.alwaysLogHealthCheckFailures) {
    self.outputs.push({ _tag: "Event", event: "Failure", type, isFirst, why })
  }
  return intervalOf(self, false, isPending)
}
