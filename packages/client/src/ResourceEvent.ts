/**
 * The events that a watcher receives.
 *
 * @see https://github.com/grpc/proposal/blob/master/A88-xds-data-error-handling.md
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core"

/**
 * An event of one resource: its current state, or an error beside it. A slow watcher misses intermediate states, never
 * the last one.
 *
 * @since 0.1.0
 */
export type ResourceEvent<A> =
  /** The resource is new or changed; or it came again, of a type that tells so (`tellsAgain` of `WatchableType.make`). */
  | { readonly _tag: "Updated"; readonly name: string; readonly value: A; readonly version: string }
  /** The resource does not exist, or was deleted. It may be created later. */
  | { readonly _tag: "DoesNotExist"; readonly name: string; readonly error: Request.ErrorDetail }
  /** The resource is unavailable: no server, or it was rejected. An earlier value must no longer be used. */
  | { readonly _tag: "Error"; readonly name: string; readonly error: Request.ErrorDetail }
  /** Something is wrong, but the last `Updated` value stays in use. */
  | { readonly _tag: "AmbientError"; readonly name: string; readonly error: Request.ErrorDetail }
  /** The ambient error is over; the last `Updated` value is current. */
  | { readonly _tag: "Recovered"; readonly name: string }
