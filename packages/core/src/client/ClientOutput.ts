/**
 * The outputs of a client's step.
 *
 * @since 0.1.0
 */
import type { ErrorDetail, Request } from "../wire/Request.js"
import type { Notice } from "./ClientCache.js"
import type { Server } from "./ClientOptions.js"
import type * as Validation from "./Validation.js"

/**
 * An instruction or event for the driver.
 *
 * @since 0.1.0
 */
export type Output =
  /** Open a stream, the aggregated one or one for a type. Answer with `Connected` or `Ended`. */
  | {
      readonly _tag: "Connect"
      readonly stream: string
      readonly server: Server
      readonly typeUrl: string | undefined
    }
  /** End a stream, and send no more inputs about it. */
  | { readonly _tag: "Close"; readonly stream: string }
  /**
   * Write a request. Answer with `Written`: only then follows another `Send` for this stream. All watches that start in between
   * share the next request. So a driver that starts many watches at once sends `Written` after them: in state of the world
   * every request lists all names.
   */
  | { readonly _tag: "Send"; readonly stream: string; readonly request: Request }
  | ({ readonly _tag: "Notify" } & Notice)
  /** A response was applied. Answer with `Processed` when its `Notify` outputs are delivered. */
  | {
      readonly _tag: "Received"
      readonly stream: string
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly validation: Validation.Validation
      /** The error of the NACK; `undefined` for an ACK. */
      readonly error: ErrorDetail | undefined
    }
  /** A stream ended without a response, and without `Responsive`. */
  | { readonly _tag: "Failed"; readonly stream: string; readonly error: ErrorDetail; readonly retryAt: number }
  /** A stream was silent for the resource timeout, but the server had nothing to send: that counts as an answer. */
  | { readonly _tag: "Responsive"; readonly stream: string }
  /** The active server changed, to a lower rank or back to a higher one. */
  | { readonly _tag: "Switched"; readonly authority: string | undefined; readonly server: Server }
  /** The server violated the protocol. Its streams stay open. */
  | {
      readonly _tag: "Violation"
      readonly stream: string
      readonly typeUrl: string
      readonly reason: ViolationReason
      readonly message: string
    }

/**
 * The kind of a protocol violation.
 *
 * @since 0.1.0
 */
export type ViolationReason = "TypeNotAskedFor" | "NonceMissing" | "VersionMissing"
