/**
 * Types over REST that the table of xDS types does not know: one's own, or newer ones.
 *
 * @since 0.1.0
 */
import type { Registry } from "@bufbuild/protobuf"

/**
 * A type and where it is: the path alone tells a server what is asked for.
 *
 * @since 0.1.0
 */
export interface RestType {
  /** `type.googleapis.com/` and the name of the message: `type.googleapis.com/acme.v1.Widget`. */
  readonly typeUrl: string
  /** What is sent a POST, without query: `/v3/discovery:widgets`. */
  readonly path: string
  /**
   * Knows the message, and those that it holds in an `Any`, for JSON; Envoy's need not be in it. Default: none, and the type
   * is protobuf only.
   */
  readonly registry?: Registry | undefined
}
