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
 * What a client wants done, or known.
 *
 * @since 0.1.0
 */
export type Output =
  /** Open a stream: the aggregated one, or that of a type. Then `Connected`, or `Ended`. */
  | {
      readonly _tag: "Connect"
      readonly stream: string
      readonly server: Server
      readonly typeUrl: string | undefined
    }
  /** End a stream, and report nothing of it any more. */
  | { readonly _tag: "Close"; readonly stream: string }
  /**
   * Write a request. Then `Written`: only after that there is another `Send` for this stream. Everything that is watched
   * until then is one request, so whoever begins many watches at once reports `Written` after them: in state of the world
   * every request has all the names.
   */
  | { readonly _tag: "Send"; readonly stream: string; readonly request: Request }
  | ({ readonly _tag: "Notify" } & Notice)
  /** A response was taken. The driver answers with `Processed` when the `Notify` outputs are delivered. */
  | {
      readonly _tag: "Received"
      readonly stream: string
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly validation: Validation.Validation
      /** Present: the response is NACKed with it. */
      readonly error: ErrorDetail | undefined
    }
  /** A stream ended without any response, and was not `Responsive` either. */
  | { readonly _tag: "Failed"; readonly stream: string; readonly error: ErrorDetail; readonly retryAt: number }
  /** A stream brought nothing for the time of a resource, and the server had nothing to say: that is an answer. */
  | { readonly _tag: "Responsive"; readonly stream: string }
  /** Resources are asked of another server now: of a lower rank, or of a higher one again. */
  | { readonly _tag: "Switched"; readonly authority: string | undefined; readonly server: Server }
  /** The server broke the protocol. Nothing is ended for it. */
  | {
      readonly _tag: "Violation"
      readonly stream: string
      readonly typeUrl: string
      readonly reason: ViolationReason
      readonly message: string
    }

/**
 * How a server broke the protocol.
 *
 * @since 0.1.0
 */
export type ViolationReason = "TypeNotAskedFor" | "NonceMissing" | "VersionMissing"
