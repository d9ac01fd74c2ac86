/**
 * Why a client is not served.
 *
 * @since 0.1.0
 */
import * as Status from "@effect-xds/transport/Status"
import * as Schema from "effect/Schema"

/**
 * How a stream may end for a client that is not served: each status of gRPC that is an error.
 *
 * @since 0.1.0
 */
export type Code = Exclude<Status.Code, "OK">

const isCode = (code: string): code is Code => code !== "OK" && Object.hasOwn(Status.codes, code)

/**
 * A client is not served: its stream ends with this status, and the client's log has the reason. It can be encoded and
 * decoded, as answers of a service that decides over clients.
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
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", {
  /** Default: `PERMISSION_DENIED`. */
  code: Schema.String.pipe(
    Schema.filter(isCode, { message: () => "not the name of a gRPC status that is an error" }),
    Schema.propertySignature,
    Schema.withConstructorDefault((): Code => "PERMISSION_DENIED")
  ),
  /** Words for the person who reads the client's log. */
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.code}: ${this.reason}`
  }
}
