/**
 * The inputs of a client's step.
 *
 * @since 0.1.0
 */
import type { ClientResponse } from "../wire/ClientResponse.js"
import type { ErrorDetail } from "../wire/Request.js"

/**
 * What happens to a client. `stream` is the one that a `Connect` named.
 *
 * @since 0.1.0
 */
export type Input =
  /** Somebody wants to know of a resource, or with the name `*` of all. Watchers have numbers that were never used. */
  | { readonly _tag: "Watch"; readonly watcher: number; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Unwatch"; readonly watcher: number }
  /** Resources that are held are to be sent again. */
  | { readonly _tag: "Refresh"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** Requests of a type are held back until `Resume`, and then are one. */
  | { readonly _tag: "Pause"; readonly typeUrl: string }
  | { readonly _tag: "Resume"; readonly typeUrl: string }
  /** A stream is open, over a connection that is there. */
  | { readonly _tag: "Connected"; readonly stream: string }
  /** The request of the last `Send` went to the connection. */
  | { readonly _tag: "Written"; readonly stream: string }
  | { readonly _tag: "Response"; readonly stream: string; readonly response: ClientResponse }
  /** The watchers have taken what this response brought: it may be answered. */
  | { readonly _tag: "Processed"; readonly stream: string; readonly typeUrl: string; readonly nonce: string }
  /** A stream ended, or could not be opened. `random`: in [0, 1), for the backoff. */
  | { readonly _tag: "Ended"; readonly stream: string; readonly error: ErrorDetail; readonly random: number }
  /** The time of {@link deadline} has come. */
  | { readonly _tag: "Deadline" }
