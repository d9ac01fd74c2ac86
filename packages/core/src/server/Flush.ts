/**
 * The input of both protocol variants for a response.
 *
 * @since 0.1.0
 */
import type * as ResourceSet from "../resource/ResourceSet.js"
import type { Changes } from "./SubscriptionChanges.js"

/**
 * The removals that a response carries.
 *
 * @since 0.1.0
 */
export type Removals = "all" | "none" | ReadonlySet<string>

/**
 * Whether a response carries the removal of a name.
 *
 * @since 0.1.0
 */
export const isRemoved = (removals: Removals, name: string): boolean =>
  removals === "all" || (removals !== "none" && removals.has(name))

/**
 * The input of both variants for a response.
 *
 * @since 0.1.0
 */
export interface Flush {
  readonly set: ResourceSet.ResourceSet
  readonly changes: Changes
  /** Whether changes may go out, or only answers to requests. */
  readonly updates: boolean
  /** The removals that may go out. */
  readonly removals: Removals
  /** Whether resources carry their TTLs. */
  readonly ttl: boolean
  /** Most bytes of a response, if it may be split. */
  readonly maxBytes: number
}
