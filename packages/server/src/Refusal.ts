/**
 * The refusal of a client.
 *
 * @since 0.1.0
 */
import type * as Status from "@effect-xds/transport/Status"
import * as Data from "effect/Data"

/**
 * The status codes of a refusal: every gRPC status that is an error.
 *
 * @since 0.1.0
 */
export type Code = Exclude<Status.Code, "OK">

/**
 * Refuses a client: its stream ends with this status, and its log has the reason. The fields are plain data, so a
 * service that decides about clients can send them as JSON.
 *
 * Use `PERMISSION_DENIED` for a known client without permission, `UNAUTHENTICATED` for one without credentials,
 * `UNAVAILABLE` for one that should retry.
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
  /** The reason, for the client's log. */
  readonly reason: string
}> {
  constructor({ code = "PERMISSION_DENIED", reason }: { readonly code?: Code | undefined; readonly reason: string }) {
    super({ code, reason })
  }

  override get message(): string {
    return `${this.code}: ${this.reason}`
  }
}
