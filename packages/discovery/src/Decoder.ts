/**
 * How the bytes of a resource become what it means. What `WatchableType.make` of `@effect-xds/client` takes, so that a
 * resource with a mistake is named in the NACK, and the others of its response are used.
 *
 * @see https://github.com/grpc/proposal/blob/master/A46-xds-nack-semantics-improvement.md
 * @since 0.1.0
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import * as Reason from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import type { ResourceError } from "./ResourceError.js"
import { format } from "./ResourceError.js"

/**
 * A resource type and what its bytes mean.
 *
 * @since 0.1.0
 */
export interface Decoder<out A> {
  readonly typeUrl: string
  /** Left: why the resource cannot be used, for a NACK; all its mistakes. Does not throw. */
  readonly decode: (bytes: Uint8Array) => Either.Either<A, string>
}

/**
 * A decoder of messages of a schema.
 *
 * @since 0.1.0
 */
export const make = <Desc extends DescMessage, A>(
  schema: Desc,
  read: (message: MessageShape<Desc>) => Either.Either<A, ReadonlyArray<ResourceError>>
): Decoder<A> => ({
  typeUrl: `type.googleapis.com/${schema.typeName}`,
  decode: (bytes) => {
    let message: MessageShape<Desc>
    try {
      message = fromBinary(schema, bytes)
    } catch (cause) {
      return Either.left(`not a ${schema.typeName}: ${Reason.of(cause)}`)
    }
    return Either.mapLeft(read(message), format)
  }
})
