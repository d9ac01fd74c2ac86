/**
 * When and how often a call that failed is tried again.
 *
 * @see https://github.com/grpc/proposal/blob/master/A44-xds-retry.md
 * @see https://github.com/grpc/proposal/blob/master/A6-client-retries.md
 * @since 0.1.0
 */
import * as Milliseconds from "@effect-xds/discovery/Milliseconds"
import type { RetryPolicy as RetryPolicyMessage } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { Collector } from "./RouteError.js"

/**
 * A status code that a call may be retried on.
 *
 * @since 0.1.0
 */
export type RetryCode = "CANCELLED" | "DEADLINE_EXCEEDED" | "INTERNAL" | "RESOURCE_EXHAUSTED" | "UNAVAILABLE"

/**
 * A policy that retries something: one without a code that is known is no policy.
 *
 * @since 0.1.0
 */
export interface RetryPolicy {
  readonly codes: ReadonlySet<RetryCode>
  /** Attempts in all, the first one included: 2 to 5. */
  readonly maxAttempts: number
  /** Milliseconds, before jitter. */
  readonly baseInterval: number
  /** Milliseconds, before jitter. */
  readonly maxInterval: number
}

const codesByName: ReadonlyMap<string, RetryCode> = new Map<string, RetryCode>([
  ["cancelled", "CANCELLED"],
  ["deadline-exceeded", "DEADLINE_EXCEEDED"],
  ["internal", "INTERNAL"],
  ["resource-exhausted", "RESOURCE_EXHAUSTED"],
  ["unavailable", "UNAVAILABLE"]
])

const maxAttempts = 5
const defaultBase = 25

/**
 * The policy that a message means; `undefined` if it retries nothing, or has mistakes, which are then with `errors`.
 *
 * @since 0.1.0
 */
export const make = (message: RetryPolicyMessage, path: string, errors: Collector): RetryPolicy | undefined => {
  const before = errors.count
  const codes = new Set<RetryCode>()
  for (const name of message.retryOn.split(",")) {
    const code = codesByName.get(name.trim())
    if (code !== undefined) codes.add(code)
  }
  const retries = message.numRetries ?? 1
  if (retries === 0) {
    errors.add(`${path}.num_retries`, "RetryPolicy", "num_retries is 0; leave the retry policy out, or say at least 1")
  }
  const backOff = message.retryBackOff
  const base = intervalOf(backOff?.baseInterval, `${path}.retry_back_off.base_interval`, errors)
  const max = intervalOf(backOff?.maxInterval, `${path}.retry_back_off.max_interval`, errors)
  if (backOff !== undefined && backOff.baseInterval === undefined) {
    errors.add(`${path}.retry_back_off.base_interval`, "RetryPolicy", "base_interval is missing; it is required here")
  }
  if (base !== undefined && max !== undefined && max < base) {
    const message = `max_interval (${max} ms) is less than base_interval (${base} ms)`
    errors.add(`${path}.retry_back_off.max_interval`, "RetryPolicy", message)
  }
  // ★ None left: no policy, and no mistake.
  if (errors.count > before || codes.size === 0) return undefined
  const baseInterval = base ?? defaultBase
  return {
    codes,
    maxAttempts: Math.min(retries + 1, maxAttempts),
    baseInterval,
    maxInterval: max ?? 10 * baseInterval
  }
}

/** Milliseconds of an interval, at least 1. */
const intervalOf = (
  duration: Parameters<typeof Milliseconds.make>[0] | undefined,
  path: string,
  errors: Collector
): number | undefined => {
  if (duration === undefined) return undefined
  const milliseconds = Milliseconds.make(duration)
  if (milliseconds === undefined) errors.add(path, "Duration", "not a valid duration")
  else if (milliseconds <= 0) errors.add(path, "RetryPolicy", `must be greater than 0, is ${milliseconds} ms`)
  else return Math.max(1, milliseconds)
  return undefined
}

/**
 * The delay before the `n`-th retry, in milliseconds.
 *
 * @param n from 1 on
 * @param drawn in [0, 1)
 * @since 0.1.0
 */
export const delay = (self: RetryPolicy, n: number, drawn: number): number =>
  Math.min(self.baseInterval * 2 ** (n - 1), self.maxInterval) * (0.8 + 0.4 * drawn)

const maxPushback = 2 ** 31 - 1

/**
 * What a server says with `grpc-retry-pushback-ms`: the delay in milliseconds, or `stop` if it is negative or no number
 * of 32 bits.
 * `undefined`: the header is absent.
 *
 * @since 0.1.0
 */
export const pushback = (value: string | undefined): number | "stop" | undefined => {
  if (value === undefined) return undefined
  return /^\d{1,10}$/.test(value) && Number(value) <= maxPushback ? Number(value) : "stop"
}
