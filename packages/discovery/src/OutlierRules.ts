/**
 * Where Envoy and gRPC clients differ in outlier detection: all of it in one table.
 *
 * @see https://github.com/grpc/proposal/blob/master/A50-xds-outlier-detection.md
 * @since 0.1.0
 */
import type { OutlierSettings, Rules } from "./OutlierSettings.js"

/**
 * What the rules differ in.
 *
 * @since 0.1.0
 */
export interface OutlierRules {
  /** Whether failures in a row eject, and failures before a response may be split off. */
  readonly hasConsecutive: boolean
  /** ★ When hosts come back in a sweep: before others are looked for, or after. */
  readonly returns: "first" | "last"
  /** Whether a detector of the sweep runs at all; one that runs and is not enforced is an event. */
  readonly runs: (enforcing: number) => boolean
  /** Whether one more host may be ejected. */
  readonly mayEject: (ejected: number, hosts: number, settings: OutlierSettings) => boolean
  /** Whether a percentage of failures ejects. */
  readonly failsTooOften: (percentage: number, threshold: number) => boolean
  /** Whether an ejection of this duration is over. */
  readonly isOver: (passed: number, duration: number) => boolean
  /** The multiplier after one more ejection. */
  readonly grown: (multiplier: number, settings: OutlierSettings) => number
  /** Whether the multiplier of a host that is not ejected becomes less in a sweep. `sinceReturn`: in milliseconds; `undefined`: it never came back. */
  readonly shrinks: (sinceReturn: number | undefined, interval: number) => boolean
  /** The longest addition to an ejection, drawn, in milliseconds. */
  readonly jitter: (settings: OutlierSettings) => number
}

/**
 * The table.
 *
 * @since 0.1.0
 */
export const table: Readonly<Record<Rules, OutlierRules>> = {
  envoy: {
    hasConsecutive: true,
    returns: "first",
    runs: () => true,
    mayEject: (ejected, hosts, { alwaysEjectOneHost, maxEjectionPercent }) =>
      100 * (ejected + 1) <= maxEjectionPercent * hosts || (alwaysEjectOneHost && ejected === 0),
    failsTooOften: (percentage, threshold) => percentage >= threshold,
    isOver: (passed, duration) => passed >= duration,
    grown: (multiplier, { baseEjectionTime, maxEjectionTime }) =>
      multiplier * baseEjectionTime < maxEjectionTime + baseEjectionTime ? multiplier + 1 : multiplier,
    shrinks: (sinceReturn, interval) => sinceReturn !== undefined && sinceReturn >= interval,
    jitter: ({ maxEjectionTimeJitter }) => maxEjectionTimeJitter
  },
  A50: {
    hasConsecutive: false,
    returns: "last",
    runs: (enforcing) => enforcing > 0,
    // ★ Asked before each host: so one may always go, but none at 0 %.
    mayEject: (ejected, hosts, { maxEjectionPercent }) => 100 * ejected < maxEjectionPercent * hosts,
    failsTooOften: (percentage, threshold) => percentage > threshold,
    isOver: (passed, duration) => passed > duration,
    grown: (multiplier) => multiplier + 1,
    shrinks: () => true,
    jitter: () => 0
  }
}
