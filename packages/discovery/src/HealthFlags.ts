/**
 * Flags of a host: why it is not well, and why it is still there. What each means stands in one table.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/operations/admin
 * @since 0.1.0
 */

/**
 * A flag. Its name is the one that Envoy's admin interface tells.
 *
 * @since 0.1.0
 */
export type Flag =
  | "FAILED_ACTIVE_HC"
  | "DEGRADED_ACTIVE_HC"
  | "ACTIVE_HC_TIMEOUT"
  | "PENDING_ACTIVE_HC"
  | "EXCLUDED_VIA_IMMEDIATE_HC_FAIL"
  | "FAILED_OUTLIER"
  | "FAILED_EDS_HEALTH"
  | "EDS_STATUS_DRAINING"
  | "DEGRADED_EDS_HEALTH"
  | "PENDING_DYNAMIC_REMOVAL"

/**
 * Several flags as one number, a bit for each.
 *
 * @since 0.1.0
 */
export type HealthFlags = number

/**
 * What a flag means.
 *
 * @since 0.1.0
 */
export interface FlagProperties {
  readonly bit: HealthFlags
  /** Who sets and clears it. */
  readonly source: "check" | "outlier" | "discovery" | "removal"
  /** What a host with it is at best. */
  readonly makes: "healthy" | "degraded" | "unhealthy"
  /** Whether a host with it counts neither among the hosts nor among those that are well. */
  readonly isExcluded: boolean
  /** Whether it is a failure in the sense of the matrix. ★ An ejection is none: no host is forgotten for it. */
  readonly fails: boolean
}

const properties = (
  place: number,
  source: FlagProperties["source"],
  makes: FlagProperties["makes"],
  more: Partial<Pick<FlagProperties, "fails" | "isExcluded">> = {}
): FlagProperties => ({ bit: 1 << place, source, makes, isExcluded: false, fails: false, ...more })

/**
 * The table.
 *
 * @since 0.1.0
 */
export const table: Readonly<Record<Flag, FlagProperties>> = {
  FAILED_ACTIVE_HC: properties(0, "check", "unhealthy", { fails: true }),
  DEGRADED_ACTIVE_HC: properties(1, "check", "degraded"),
  ACTIVE_HC_TIMEOUT: properties(2, "check", "healthy"),
  PENDING_ACTIVE_HC: properties(3, "check", "healthy", { isExcluded: true }),
  EXCLUDED_VIA_IMMEDIATE_HC_FAIL: properties(4, "check", "healthy", { isExcluded: true }),
  FAILED_OUTLIER: properties(5, "outlier", "unhealthy"),
  FAILED_EDS_HEALTH: properties(6, "discovery", "unhealthy", { fails: true }),
  EDS_STATUS_DRAINING: properties(7, "discovery", "unhealthy", { fails: true, isExcluded: true }),
  DEGRADED_EDS_HEALTH: properties(8, "discovery", "degraded"),
  PENDING_DYNAMIC_REMOVAL: properties(9, "removal", "healthy")
}

const entries = Object.entries(table)

const bitsOf = (holds: (properties: FlagProperties) => boolean): HealthFlags =>
  entries.reduce((bits, [, each]) => (holds(each) ? bits | each.bit : bits), 0)

const unhealthyBits = bitsOf(({ makes }) => makes === "unhealthy")
const degradedBits = bitsOf(({ makes }) => makes === "degraded")
const excludedBits = bitsOf(({ isExcluded }) => isExcluded)
const failingBits = bitsOf(({ fails }) => fails)
const sourceBits = {
  check: bitsOf(({ source }) => source === "check"),
  outlier: bitsOf(({ source }) => source === "outlier"),
  discovery: bitsOf(({ source }) => source === "discovery"),
  removal: bitsOf(({ source }) => source === "removal")
}

/**
 * No flag.
 *
 * @since 0.1.0
 */
export const none: HealthFlags = 0

/**
 * These flags.
 *
 * @example
 * import { HealthFlags } from "@effect-xds/discovery"
 *
 * const flags = HealthFlags.make("FAILED_ACTIVE_HC", "ACTIVE_HC_TIMEOUT")
 * HealthFlags.healthOf(flags) // "unhealthy"
 *
 * @since 0.1.0
 */
export const make = (...flags: ReadonlyArray<Flag>): HealthFlags =>
  flags.reduce((bits, flag) => bits | table[flag].bit, none)

/**
 * Whether a flag is set.
 *
 * @since 0.1.0
 */
export const has = (self: HealthFlags, flag: Flag): boolean => (self & table[flag].bit) !== 0

/**
 * With a flag, or without it.
 *
 * @since 0.1.0
 */
export const set = (self: HealthFlags, flag: Flag, isSet: boolean): HealthFlags =>
  isSet ? self | table[flag].bit : self & ~table[flag].bit

/**
 * The flags of one source.
 *
 * @since 0.1.0
 */
export const of = (self: HealthFlags, source: FlagProperties["source"]): HealthFlags => self & sourceBits[source]

/**
 * The same flags, but those of one source as they are in `flags`.
 *
 * @since 0.1.0
 */
export const replace = (self: HealthFlags, source: FlagProperties["source"], flags: HealthFlags): HealthFlags =>
  (self & ~sourceBits[source]) | of(flags, source)

/**
 * The names of the flags, in the order of the table.
 *
 * @since 0.1.0
 */
export const names = (self: HealthFlags): ReadonlyArray<string> =>
  entries.filter(([, { bit }]) => (self & bit) !== 0).map(([name]) => name)

/**
 * How well a host with these flags is.
 *
 * @since 0.1.0
 */
export const healthOf = (self: HealthFlags): FlagProperties["makes"] =>
  (self & unhealthyBits) !== 0 ? "unhealthy" : (self & degradedBits) !== 0 ? "degraded" : "healthy"

/**
 * Whether a host with these flags is left out of all ratios.
 *
 * @since 0.1.0
 */
export const isExcluded = (self: HealthFlags): boolean => (self & excludedBits) !== 0

/**
 * Whether a host with these flags fails, in the sense of the matrix.
 *
 * @since 0.1.0
 */
export const isFailing = (self: HealthFlags): boolean => (self & failingBits) !== 0
