/**
 * Resource types over REST that the table of xDS types does not have: custom or newer ones.
 *
 * @since 0.1.0
 */
import type { Registry } from "@bufbuild/protobuf"

/**
 * A type and its path. The path alone tells a server which type is requested.
 *
 * @since 0.1.0
 */
export interface RestType {
  /** `type.googleapis.com/` and the name of the message: `type.googleapis.com/acme.v1.Widget`. */
  readonly typeUrl: string
  /** The path of the POST, without query: `/v3/discovery:widgets`. */
  readonly path: string
  /**
   * The message type, and those that it holds in an `Any`, for JSON; Envoy's types need not be in it. Default: none,
   * and the type is served as protobuf only.
   */
  readonly registry?: Registry | undefined
}
