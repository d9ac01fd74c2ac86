/**
 * Why there is no resource.
 *
 * @since 0.1.0
 */
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as Data from "effect/Data"

/**
 * The resource does not exist: the server said so, or the resource timer fired.
 *
 * @since 0.1.0
 */
export class ResourceDoesNotExist extends Data.TaggedError("ResourceDoesNotExist")<{
  readonly typeUrl: string
  readonly name: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.typeUrl} ${JSON.stringify(this.name)} does not exist: ${this.reason}`
  }
}

/**
 * The resource is unavailable: it was rejected, or no server delivered it in time.
 *
 * @since 0.1.0
 */
export class ResourceUnavailable extends Data.TaggedError("ResourceUnavailable")<{
  readonly typeUrl: string
  readonly name: string
  readonly reason: string
}> {
  override get message(): string {
    return `${this.typeUrl} ${JSON.stringify(this.name)} cannot be had: ${this.reason}`
  }
}

/**
 * The type is already watched with another decoder.
 *
 * @since 0.1.0
 */
export const DecoderConflict = ResourceDecoder.DecoderConflict

/**
 * The type of the error {@link DecoderConflict}.
 *
 * @since 0.1.0
 */
export type DecoderConflict = ResourceDecoder.DecoderConflict

/**
 * The errors of `XdsClient.get`.
 *
 * @since 0.1.0
 */
export type GetError = ResourceDoesNotExist | ResourceUnavailable | DecoderConflict
