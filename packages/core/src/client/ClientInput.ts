/**
 * The inputs of a client's step.
 *
 * @since 0.1.0
 */
import type { ClientResponse } from "../wire/ClientResponse.js"
import type { ErrorDetail } from "../wire/Request.js"

/**
 * An event for a client. `stream` is the key in a `Connect` output.
 *
 * @since 0.1.0
 */
export type Input =
  /** A watch starts, of a resource or, with the name `*`, of the type. Watcher ids are never used twice. */
  | { readonly _tag: "Watch"; readonly watcher: number; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Unwatch"; readonly watcher: number }
  /**
   * Keys of a type belong to an owner beside its resources, which are rejected if they claim one: the domains of a route
   * configuration are not those of a virtual host. Those that the claim had before and are not there are free again. Several
   * users of a client may claim for one owner, and each gives up its own claim only.
   */
  | {
      readonly _tag: "Own"
      readonly typeUrl: string
      /** Whose claim it is. Never used twice. */
      readonly claim: number
      readonly owner: string
      readonly keys: ReadonlyArray<string>
    }
  /** Held resources are requested again. */
  | { readonly _tag: "Refresh"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** Requests of a type wait until `Resume`; then one request has all changes. */
  | { readonly _tag: "Pause"; readonly typeUrl: string }
  | { readonly _tag: "Resume"; readonly typeUrl: string }
  /** A stream is open and connected. */
  | { readonly _tag: "Connected"; readonly stream: string }
  /** The request of the last `Send` was written to the connection. */
  | { readonly _tag: "Written"; readonly stream: string }
  | { readonly _tag: "Response"; readonly stream: string; readonly response: ClientResponse }
  /** The watchers have processed this response: it may be ACKed or NACKed. */
  | { readonly _tag: "Processed"; readonly stream: string; readonly typeUrl: string; readonly nonce: string }
  /** A stream ended, or could not be opened. `random` in [0, 1) is for the backoff. */
  | { readonly _tag: "Ended"; readonly stream: string; readonly error: ErrorDetail; readonly random: number }
  /** The {@link deadline} has been reached. */
  | { readonly _tag: "Deadline" }
