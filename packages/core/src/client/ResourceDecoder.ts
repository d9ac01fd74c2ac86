/**
 * What a client must know of a resource type: where its names are, and how bytes become a value that the application
 * can use. Anybody's own type is as good as Envoy's.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import type * as Either from "effect/Either"

/**
 * One resource type. Both functions are pure.
 *
 * @since 0.1.0
 */
export interface ResourceDecoder<out A = unknown> {
  /** `type.googleapis.com/<full name of the message>`. */
  readonly typeUrl: string
  /** Whether a state-of-the-world response holds everything that was asked for, so that what is absent is deleted. */
  readonly isFullState: boolean
  /** The name in an encoded resource; `undefined` or empty if there is none. */
  readonly nameOf: (bytes: Uint8Array) => string | undefined
  /** Decodes and validates. The bytes are the caller's to keep. Left: why the resource is rejected, for people. */
  readonly decode: (bytes: Uint8Array, name: string) => Either.Either<A, string>
}

/**
 * What a decoder is made of.
 *
 * @since 0.1.0
 */
export interface Options<out A = unknown> extends Pick<ResourceDecoder<A>, "typeUrl" | "decode"> {
  /** Default: as in the table of types; false for a type that is not in it. */
  readonly isFullState?: boolean | undefined
  /** Default: field 1. */
  readonly nameOf?: ResourceDecoder["nameOf"] | undefined
}

/**
 * A decoder. The name is read from field 1, as in all types of Envoy, and whether it is full state from the table of
 * types, if it is not said otherwise.
 *
 * @since 0.1.0
 */
export const make = <A>({ decode, isFullState, nameOf, typeUrl }: Options<A>): ResourceDecoder<A> => ({
  typeUrl,
  isFullState: isFullState ?? ResourceType.byTypeUrl(typeUrl)?.family === "full-state",
  nameOf: nameOf ?? ResourceType.nameOfBytes,
  decode
})

/**
 * A type is watched with another decoder already: what that one decoded would be taken for what this one decodes. Make one
 * decoder for each type and keep it.
 *
 * @since 0.1.0
 */
export class DecoderConflict extends Data.TaggedError("DecoderConflict")<{
  readonly typeUrl: string
}> {
  override get message(): string {
    return `${this.typeUrl} is watched with another decoder already; make one decoder of the type and keep it`
  }
}
