/**
 * Why a client is not served.
 *
 * @since 0.1.0
 */
import type * as Status from "@effect-xds/transport/Status"
import * as Data from "effect/Data"

/**
 * How a stream may end for a client that is not served: each status of gRPC that is an error.
 *
 * @since 0.1.0
 */
export type Code = Exclude<Status.Code, "OK">

/**
 * A client is not served: its stream ends with this status, and the client's log has the reason. Its fields are plain data: a
 * service that decides over clients can answer with them as JSON.
 *
 * `PERMISSION_DENIED` is for a client that is known and may not, `UNAUTHENTICATED` for one that did not say who it is,
 * `UNAVAILABLE` for one that is to come again.
 *
 * @example
 * import { XdsServer } from "@effect-xds/server"
 *
 * new XdsServer.Refusal({ reason: "the node has no tenant" })
 * new XdsServer.Refusal({ code: "UNAUTHENTICATED", reason: "a client without a certificate" })
 *
 * @since 0.1.0
 */
export class Refusal extends Data.TaggedError("Refusal")<{
  /** Default: `PERMISSION_DENIED`. */
  readonly code: Code
  /** Words for the person who reads the client's log. */
  readonly reason: string
}> {
  constructor({ code = "PERMISSION_DENIED", reason }: { readonly code?: Code | undefined; readonly reason: string }) {
    super({ code, reason })
  }

  override get message(): string {
    return `${this.code}: ${this.reason}`
  }
}
