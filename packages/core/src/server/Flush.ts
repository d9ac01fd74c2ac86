/**
 * What both protocol variants know when they make a response.
 *
 * @since 0.1.0
 */
import type * as ResourceSet from "../resource/ResourceSet.js"
import type { Changes } from "./SubscriptionChanges.js"

/**
 * The names that are to be deleted with a response.
 *
 * @since 0.1.0
 */
export type Removals = "all" | "none" | ReadonlySet<string>

/**
 * Whether a deletion goes out with a response.
 *
 * @since 0.1.0
 */
export const isRemoved = (removals: Removals, name: string): boolean =>
  removals === "all" || (removals !== "none" && removals.has(name))

/**
 * What both variants know when they make a response.
 *
 * @since 0.1.0
 */
export interface Flush {
  readonly set: ResourceSet.ResourceSet
  readonly changes: Changes
  /** Whether changes may go out, or only answers to what was asked. */
  readonly updates: boolean
  /** Which deletions may go out. */
  readonly removals: Removals
  /** Whether this client is given TTLs. */
  readonly ttl: boolean
  /** Bytes of a response, where it may be split. */
  readonly maxBytes: number
}
