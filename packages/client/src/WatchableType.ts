/**
 * A resource type that a client can watch: one of Envoy's or a custom one.
 *
 * @since 0.1.0
 */
import type { DescMessage, MessageShape, Registry } from "@bufbuild/protobuf"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as SensitiveFields from "@effect-xds/proto/SensitiveFields"
import * as Given from "@effect-xds/transport/Given"
import * as Fault from "@effect-xds/validate/Fault"
import * as Rules from "@effect-xds/validate/Rules"
import * as Either from "effect/Either"

/** A decoded value with the type that decoded it. The core keeps values as `unknown`. */
class Decoded<out A> {
  constructor(
    readonly by: WatchableType<unknown>,
    readonly value: A
  ) {}
}

/**
 * A resource type that can be watched. Make one per type URL and reuse it: a client takes one decoder per type URL.
 *
 * @since 0.1.0
 */
export class WatchableType<out A> {
  readonly typeUrl: string
  /** The decoder that the core calls. */
  readonly decoder: ResourceDecoder.ResourceDecoder

  constructor(decoder: ResourceDecoder.ResourceDecoder<A>, tellsAgain?: Options<A>["tellsAgain"]) {
    this.typeUrl = decoder.typeUrl
    const { decodeInSteps, keysOf, nameOf } = decoder
    const told = (decoded: Either.Either<A, string>, bytes: Uint8Array): Either.Either<Decoded<A>, string> => {
      // Whatever the types say: anything else, as a promise, would count as the value `undefined`.
      const given: unknown = decoded
      if (!Either.isEither(given)) return Either.left(`decode gave no Either: ${Given.kindOf(given)}`)
      return Either.mapBoth(decoded, {
        // The reason is sent to the server, to watchers and to the log, and may quote the resource.
        onLeft: (reason) => Redaction.values(Reason.of(reason), SensitiveFields.values(decoder.typeUrl, bytes)),
        onRight: (value) => new Decoded(this, value)
      })
    }
    /** What is thrown may quote the resource, too. */
    const quoting = <B>(bytes: Uint8Array, read: () => B): B => {
      try {
        return read()
      } catch (cause) {
        throw new Error(Redaction.values(Reason.of(cause), SensitiveFields.values(decoder.typeUrl, bytes)))
      }
    }
    this.decoder = {
      ...decoder,
      // The core knows that one.
      nameOf: nameOf === ResourceDecoder.unnamed ? nameOf : (bytes) => quoting(bytes, () => nameOf(bytes)),
      keysOf: keysOf && ((bytes, name) => quoting(bytes, () => keysOf(bytes, name))),
      // If the decoder throws, the resource is rejected.
      decode: (bytes, name) => {
        try {
          return told(decoder.decode(bytes, name), bytes)
        } catch (cause) {
          return told(Either.left(Reason.of(cause)), bytes)
        }
      },
      decodeInSteps:
        decodeInSteps &&
        function* (bytes, name) {
          try {
            return told(yield* decodeInSteps(bytes, name), bytes)
          } catch (cause) {
            return told(Either.left(Reason.of(cause)), bytes)
          }
        },
      tellsAgain:
        tellsAgain &&
        ((decoded) => {
          try {
            return this.isOwn(decoded) && tellsAgain(decoded.value)
          } catch {
            return false
          }
        })
    }
  }

  /** The value, if this type decoded it; else `undefined`. */
  readonly open = (decoded: unknown): { readonly value: A } | undefined =>
    this.isOwn(decoded) ? { value: decoded.value } : undefined

  private isOwn(decoded: unknown): decoded is Decoded<A> {
    return decoded instanceof Decoded && decoded.by === this
  }
}

/**
 * Options of {@link make}.
 *
 * @since 0.1.0
 */
export interface Options<A> extends Omit<ResourceDecoder.Options<A>, "tellsAgain"> {
  /**
   * Whether watchers are told of a resource again, as `Updated` with the same value, when it comes again unchanged: for resources
   * whose age matters. Default: never. Who throws says no.
   */
  readonly tellsAgain?: ((value: A) => boolean) | undefined
}

/**
 * A type from functions. By default the name is where the table of types says, for other types in field 1.
 *
 * @since 0.1.0
 */
export const make = <A>({ tellsAgain, ...options }: Options<A>): WatchableType<A> =>
  new WatchableType(ResourceDecoder.make(options), tellsAgain)

/**
 * Options of {@link fromSchema}.
 *
 * @since 0.1.0
 */
export interface SchemaOptions<in A> {
  /**
   * Why a resource cannot be used, in words: it is NACKed with this text. Default: every resource that parses and breaks
   * no rule is valid.
   */
  readonly validate?: ((value: A, name: string) => string | undefined) | undefined
  /**
   * Whether a resource that breaks rules of its `.proto` file (protoc-gen-validate) is rejected, as in Envoy. The NACK names
   * the rules. They are checked before `validate`. Default: true.
   */
  readonly rules?: boolean | undefined
  /** Message types whose rules are checked inside an `Any`, too. Default: none; of an `Any` only the type is checked. */
  readonly registry?: Registry | undefined
  /** Reads the name from the encoded message. Default: the field of the table of types; field 1 of other types. */
  readonly nameOf?: ((bytes: Uint8Array) => string | undefined) | undefined
  /**
   * State of the world: whether a response holds every subscribed resource. Default: as in the table of types, else
   * false.
   */
  readonly isFullState?: boolean | undefined
}

/** The most broken rules in the reason of one rejection. */
const maxFaults = 5

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
  { isFullState, nameOf, registry, rules = true, validate }: SchemaOptions<MessageShape<Desc>> = {}
): WatchableType<MessageShape<Desc>> => {
  type Verdict = Either.Either<MessageShape<Desc>, string>
  const undecodable = (cause: unknown): Verdict =>
    Either.left(`not a message of type ${schema.typeName}: ${Reason.of(cause)}`)
  const judge = (value: MessageShape<Desc>, name: string, broken: Rules.Result | undefined): Verdict => {
    const words = broken?.faults.map(Fault.toText) ?? []
    if (broken?.more === true) words.push("and more")
    if (words.length > 0) return Either.left(words.join("; "))
    const problem: unknown = validate?.(value, name)
    if (problem === undefined) return Either.right(value)
    // A promise, for example, is no verdict: the resource is rejected, whatever the types say.
    return Either.left(typeof problem === "string" ? problem : `validate gave no text: ${Given.kindOf(problem)}`)
  }
  return make({
    typeUrl: typeUrlOf(schema),
    decode: (bytes, name) => {
      let value: MessageShape<Desc>
      try {
        value = MessageBytes.decode(schema, bytes)
      } catch (cause) {
        return undecodable(cause)
      }
      return judge(value, name, rules ? Rules.check(schema, value, { registry, maxFaults }) : undefined)
    },
    *decodeInSteps(bytes, name) {
      let decoded: MessageSteps.Decoded<MessageShape<Desc>>
      try {
        decoded = yield* MessageSteps.decode(schema, bytes)
      } catch (cause) {
        return undecodable(cause)
      }
      const broken = rules ? yield* Rules.checkInSteps(schema, decoded, { registry, maxFaults }) : undefined
      return judge(decoded.message, name, broken)
    },
    isFullState,
    nameOf
  })
}
