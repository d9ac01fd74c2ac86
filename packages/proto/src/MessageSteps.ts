/**
 * {@link MessageBytes} in steps, for large messages: a message of 10 000 endpoints takes some tens of milliseconds to decode. One step
 * takes a fraction of a millisecond, up to some in code that has not run before; the driver decides whether others run between two of
 * them. What comes out is the same, to the byte and to the word.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf"
import { toBinary } from "@bufbuild/protobuf"
import * as DecodeSteps from "./internal/DecodeSteps.js"
import * as EncodeSteps from "./internal/EncodeSteps.js"
import type { Steps } from "./internal/InSteps.js"
import * as MessageWalk from "./internal/MessageWalk.js"
import * as MessageWriter from "./internal/MessageWriter.js"
import * as ObjectWalk from "./internal/ObjectWalk.js"
import * as WireFault from "./internal/WireFault.js"
import * as MessageBytes from "./MessageBytes.js"

export type { Steps } from "./internal/InSteps.js"

/**
 * From this many bytes on a message is large. Smaller ones are faster at once.
 *
 * @since 0.1.0
 */
export const least = 32_768

/**
 * What of a message is large: messages, lists and maps that one step is not enough for.
 *
 * @since 0.1.0
 */
export interface Large {
  readonly has: (value: object) => boolean
}

/**
 * A decoded message.
 *
 * @since 0.1.0
 */
export interface Decoded<out M extends Message = Message> {
  readonly message: M
  readonly large: Large
}

/**
 * An encoded message.
 *
 * @since 0.1.0
 */
export interface Encoded {
  readonly bytes: Uint8Array
  readonly large: Large
}

/**
 * The first fault of bytes that are no message of the type; `undefined`: none.
 *
 * @since 0.1.0
 */
export const fault = function* (schema: DescMessage, bytes: Uint8Array): Steps<MessageBytes.Fault | undefined> {
  return (yield* MessageWalk.inSteps(schema, bytes)) ? undefined : yield* WireFault.inSteps(schema, bytes)
}

/**
 * Throws what `MessageBytes.check` throws.
 *
 * @since 0.1.0
 */
export const check = function* (schema: DescMessage, bytes: Uint8Array): Steps<void> {
  if (yield* MessageWalk.inSteps(schema, bytes)) return
  yield* refuse(schema, bytes)
  // It is one, as far as is known here; the library has the last word.
  yield* DecodeSteps.decode(schema, bytes, new WeakSet())
}

const refuse = function* (schema: DescMessage, bytes: Uint8Array): Steps<void> {
  const fault = yield* WireFault.inSteps(schema, bytes)
  if (fault !== undefined) throw new Error(WireFault.wordsOf(fault))
}

/**
 * The message; throws what `MessageBytes.decode` throws.
 *
 * @since 0.1.0
 */
export const decode = function* <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array
): Steps<Decoded<MessageShape<Desc>>> {
  if (!(yield* MessageWalk.inSteps(schema, bytes))) yield* refuse(schema, bytes)
  const large = new WeakSet()
  return { message: yield* DecodeSteps.decode(schema, bytes, large), large }
}

/**
 * The bytes of a message that is not large, at once; `undefined`: it is large. Throws what `MessageBytes.encode` throws.
 *
 * @param isLent whether the bytes may be lent, until {@link giveBack}: who copies them needs no other copy. Default: they stay.
 * @since 0.1.0
 */
export const encodeSmall = (schema: DescMessage, message: Message, isLent = false): Uint8Array | undefined => {
  const written = MessageWriter.write(schema, message, isLent)
  if (written !== undefined) return written
  const found = ObjectWalk.lookAtSmall(message)
  if (found === undefined) return undefined
  if (typeof found === "string") throw new Error(found)
  const bytes = toBinary(schema, message)
  if (!found.isSure) MessageBytes.check(schema, bytes)
  return bytes
}

/**
 * The bytes that {@link encodeSmall} has lent are not read any more: they will be written over. Who never says so has them for good.
 *
 * @since 0.1.0
 */
export const giveBack = (): void => MessageWriter.giveBack()

/**
 * The bytes of a message that a program made, which must not be changed meanwhile; throws what `MessageBytes.encode` throws.
 *
 * @since 0.1.0
 */
export const encode = function* (schema: DescMessage, message: Message): Steps<Encoded> {
  const large = new WeakSet()
  const found = yield* ObjectWalk.inSteps(message, large)
  if (typeof found === "string") throw new Error(found)
  const bytes = yield* EncodeSteps.encode(schema, message, large)
  if (!found.isSure) yield* check(schema, bytes)
  return { bytes, large }
}
