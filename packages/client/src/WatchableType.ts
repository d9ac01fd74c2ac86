/**
 * A type of resources that a client can watch: one of Envoy's or anybody's own.
 *
 * @since 0.1.0
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as SensitiveFields from "@effect-xds/proto/SensitiveFields"
import * as Either from "effect/Either"

/** A value and the type that decoded it: what the core holds, which knows values only as unknown. */
class Decoded<out A> {
  constructor(
    readonly by: WatchableType<unknown>,
    readonly value: A
  ) {}
}

/** A decoder that throws rejects. */
const decodeWith = <A>(
  decoder: ResourceDecoder.ResourceDecoder<A>,
  bytes: Uint8Array,
  name: string
): Either.Either<A, string> => {
  try {
    return decoder.decode(bytes, name)
  } catch (cause) {
    return Either.left(Reason.of(cause))
  }
}

/**
 * A type that can be watched. Make one of each and keep it: a client takes one decoder for a type URL.
 *
 * @since 0.1.0
 */
export class WatchableType<out A> {
  readonly typeUrl: string
  /** For the core. */
  readonly decoder: ResourceDecoder.ResourceDecoder

  constructor(decoder: ResourceDecoder.ResourceDecoder<A>) {
    this.typeUrl = decoder.typeUrl
    this.decoder = {
      ...decoder,
      decode: (bytes, name) =>
        Either.mapBoth(decodeWith(decoder, bytes, name), {
          // The reason goes to the server, to watchers and to the log, and may quote what is in the resource.
          onLeft: (reason) => Redaction.values(reason, SensitiveFields.values(decoder.typeUrl, bytes)),
          onRight: (value) => new Decoded(this, value)
        })
    }
  }

  /** What this type decoded; `undefined` for anything else. */
  readonly open = (decoded: unknown): { readonly value: A } | undefined =>
    this.isOwn(decoded) ? { value: decoded.value } : undefined

  private isOwn(decoded: unknown): decoded is Decoded<A> {
    return decoded instanceof Decoded && decoded.by === this
  }
}

/**
 * A type from functions; the name is read from field 1 if nothing else is said.
 *
 * @since 0.1.0
 */
export const make = <A>(options: ResourceDecoder.Options<A>): WatchableType<A> =>
  new WatchableType(ResourceDecoder.make(options))

/**
 * What may be said of a type beside its schema.
 *
 * @since 0.1.0
 */
export interface SchemaOptions<in A> {
  /** Why a resource cannot be used, for people; it is NACKed with these words. Default: whatever parses can be used. */
  readonly validate?: ((value: A, name: string) => string | undefined) | undefined
  /** Where the name is in the encoded message. Default: its field 1. */
  readonly nameOf?: ((bytes: Uint8Array) => string | undefined) | undefined
  /** State of the world: a response holds everything that was asked for. Default: as in the table of types, else false. */
  readonly isFullState?: boolean | undefined
}

/**
 * The type URL of a message type.
 *
 * @since 0.1.0
 */
export const typeUrlOf = (schema: DescMessage): string => `type.googleapis.com/${schema.typeName}`

/**
 * A type from its protobuf schema.
 *
 * @example
 * import { WatchableType } from "@effect-xds/client"
 * import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
 *
 * const clusters = WatchableType.fromSchema(ClusterSchema, {
 *   validate: (cluster) => (cluster.connectTimeout === undefined ? "a connect_timeout is needed here" : undefined)
 * })
 *
 * @since 0.1.0
 */
export const fromSchema = <Desc extends DescMessage>(
  schema: Desc,
  { isFullState, nameOf, validate }: SchemaOptions<MessageShape<Desc>> = {}
): WatchableType<MessageShape<Desc>> =>
  make({
    typeUrl: typeUrlOf(schema),
    decode: (bytes, name): Either.Either<MessageShape<Desc>, string> => {
      let value: MessageShape<Desc>
      try {
        value = fromBinary(schema, bytes)
      } catch (cause) {
        return Either.left(`not a ${schema.typeName}: ${Reason.of(cause)}`)
      }
      const problem: unknown = validate?.(value, name)
      if (problem === undefined) return Either.right(value)
      // Whatever the types say: a promise is no verdict, and what was not judged is not used.
      return Either.left(typeof problem === "string" ? problem : `validate gave no text: ${typeof problem}`)
    },
    isFullState,
    nameOf
  })
