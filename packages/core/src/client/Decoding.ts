/**
 * Calls the decoder of a type, which is the application's: it may throw, or give anything.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import * as Authority from "../protocol/Authority.js"
import type * as Steps from "../Steps.js"
import type { ReceivedResource } from "../wire/ReceivedResource.js"
import * as Ownerships from "./Ownership.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"

/**
 * A resource that is valid. The bytes are a copy.
 *
 * @since 0.1.0
 */
export interface Valid {
  readonly version: string
  readonly value: unknown
  /** Keys that only one resource may have. */
  readonly keys: ReadonlyArray<string>
  readonly bytes: Uint8Array
  readonly ttl: number | undefined
  /** Whether it is told again when it comes again. */
  readonly isToldAgain: boolean
}

/**
 * The name from the decoder. Left: what is wrong with the decoder, which is the application's: it may throw, or return a value
 * of another type.
 *
 * @since 0.1.0
 */
export const nameOf = (decoder: ResourceDecoder, value: Uint8Array): Either.Either<string, string> => {
  try {
    const name: unknown = decoder.nameOf(value)
    if (name === undefined || typeof name === "string") return Either.right(name ?? "")
    return Either.left(`the decoder of ${decoder.typeUrl} gave a name that is no text: ${typeof name}`)
  } catch (cause) {
    return Either.left(`the decoder of ${decoder.typeUrl} failed to find the name: ${Reason.of(cause)}`)
  }
}

/**
 * Of bytes that are no message, the name cannot be found either; then what is wrong with them says more.
 *
 * @since 0.1.0
 */
export const reasonWithoutName = (decoder: ResourceDecoder, resource: ReceivedResource): string => {
  const decoded = resource.value === undefined ? undefined : decode(decoder, resource, "", "", undefined)
  return decoded !== undefined && Either.isLeft(decoded)
    ? `has no name that can be read: ${decoded.left}`
    : "has no name"
}

/**
 * The decoded resource, with the same precautions.
 *
 * @since 0.1.0
 */
export const decode = (
  decoder: ResourceDecoder,
  { decoded: before, value }: Pick<ReceivedResource, "decoded" | "value">,
  name: string,
  version: string,
  ttl: number | undefined
): Either.Either<Valid, string> => {
  const isDecoded = before !== undefined && before.by === decoder && before.name === name
  // A view would keep the whole response in memory.
  const bytes = isDecoded ? before.bytes : new Uint8Array(value ?? [])
  try {
    const result = isDecoded ? before.result : verdict(decoder, decoder.decode(bytes, name))
    if (Either.isLeft(result)) return Either.left(result.left)
    const keys: unknown = decoder.keysOf?.(bytes, name) ?? Ownerships.noKeys
    if (!isTexts(keys)) return Either.left(`the decoder of ${decoder.typeUrl} gave keys that are no list of texts`)
    const isToldAgain = decoder.tellsAgain?.(result.right) === true
    return Either.right({ version, value: result.right, keys, bytes, ttl, isToldAgain })
  } catch (cause) {
    return Either.left(Reason.of(cause))
  }
}

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((each: unknown) => typeof each === "string")

/** What a decoder says, which is the application's: it may give anything. */
const verdict = (decoder: ResourceDecoder, decoded: unknown): Either.Either<unknown, string> => {
  if (!Either.isEither(decoded)) {
    return Either.left(`the decoder of ${decoder.typeUrl} gave no Either: ${typeof decoded}`)
  }
  return Either.mapLeft(decoded, (reason) => (typeof reason === "string" ? reason : Reason.of(reason)))
}

/**
 * The name of a resource with a body of the type; empty: it has none.
 *
 * @since 0.1.0
 */
export const nameIn = (decoder: ResourceDecoder, { name, value }: ReceivedResource): string => {
  const inside = name === "" && value !== undefined ? nameOf(decoder, value) : Either.right(name)
  return Either.isRight(inside) ? Authority.normalize(inside.right) : ""
}

/**
 * A large resource with what {@link decode} is to find, in steps; of a decoder that cannot it is as it was.
 *
 * @since 0.1.0
 */
export const decodeInSteps = function* (
  decoder: ResourceDecoder,
  resource: ReceivedResource
): Steps.Steps<ReceivedResource> {
  const { value } = resource
  if (value === undefined || decoder.decodeInSteps === undefined) return resource
  const name = nameIn(decoder, resource)
  const bytes = new Uint8Array(value)
  let result: Either.Either<unknown, string>
  try {
    result = verdict(decoder, yield* decoder.decodeInSteps(bytes, name))
  } catch (cause) {
    result = Either.left(Reason.of(cause))
  }
  return { ...resource, decoded: { by: decoder, name, bytes, result } }
}
