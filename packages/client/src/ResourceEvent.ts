/**
 * What a watcher is told of a resource.
 *
 * @see https://github.com/grpc/proposal/blob/master/A88-xds-data-error-handling.md
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core"

/**
 * One of: the resource as it is now; that it is not to be used; that something is wrong and the last one stays in use.
 * A watcher that is slow misses states in between, and never the last one.
 *
 * @since 0.1.0
 */
export type ResourceEvent<A> =
  /** New or changed. */
  | { readonly _tag: "Updated"; readonly name: string; readonly value: A; readonly version: string }
  /** There is no such resource, or not any more. It may still come. */
  | { readonly _tag: "DoesNotExist"; readonly name: string; readonly error: Request.ErrorDetail }
  /** It cannot be had: no server, or what came was rejected. What was used before is not to be used any more. */
  | { readonly _tag: "Error"; readonly name: string; readonly error: Request.ErrorDetail }
  /** Something is wrong, but the resource that was told last stays in use. */
  | { readonly _tag: "AmbientError"; readonly name: string; readonly error: Request.ErrorDetail }
  /** The ambient error is over; the resource is still the one that was told last. */
  | { readonly _tag: "Recovered"; readonly name: string }
