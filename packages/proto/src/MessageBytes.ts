/**
 * Whether bytes are a message of a type, and where they are not. Without making the message where that is enough: a store asks it
 * of a hundred thousand resources, and to make messages that nobody looks at takes ten times as long.
 *
 * ★ What protobuf-es takes and Envoy understands otherwise is no message here: a known field of another wire type. Neither is a
 * `google.protobuf.Struct` in more than sixteen pieces, for which protobuf-es takes time in proportion to the square of its size.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message, MessageShape } from "@bufbuild/protobuf"
import { fromBinary, isMessage as isMessageOf, toBinary } from "@bufbuild/protobuf"
import * as MessageReader from "./internal/MessageReader.js"
import * as MessageWalk from "./internal/MessageWalk.js"
import * as MessageWriter from "./internal/MessageWriter.js"
import * as ObjectWalk from "./internal/ObjectWalk.js"
import * as WireFault from "./internal/WireFault.js"

/**
 * What is wrong with bytes.
 *
 * @since 0.1.0
 */
export interface Fault {
  /** To the field, with the names of the `.proto` files: `metadata.filter_metadata["a"]`. Empty: the message itself. */
  readonly path: string
  /** As the rest of a sentence that begins with the path: `has a length of 127 bytes, 3 are there`. */
  readonly problem: string
}

/**
 * Whether bytes are a message of the type for sure. `false` says nothing: {@link fault} does.
 *
 * @since 0.1.0
 */
export const isMessage = (schema: DescMessage, bytes: Uint8Array): boolean => MessageWalk.isMessage(schema, bytes)

/**
 * The first fault of bytes that are no message of the type; `undefined`: none.
 *
 * @since 0.1.0
 */
export const fault = (schema: DescMessage, bytes: Uint8Array): Fault | undefined =>
  MessageWalk.isMessage(schema, bytes) ? undefined : WireFault.find(schema, bytes)

/**
 * Throws an error that begins with the path of what is wrong where the bytes are not a message of the type:
 * `load_assignment.endpoints[0] has a length of 127 bytes, 3 are there`. What an `Any` in it holds is not looked at. Every byte is
 * looked at twice at the most.
 *
 * @since 0.1.0
 */
export const check = (schema: DescMessage, bytes: Uint8Array): void => {
  if (MessageWalk.isMessage(schema, bytes)) return
  refuse(schema, bytes)
  // It is one, as far as is known here; the library has the last word.
  fromBinary(schema, bytes)
}

const refuse = (schema: DescMessage, bytes: Uint8Array): void => {
  const fault = WireFault.find(schema, bytes)
  if (fault !== undefined) throw new Error(WireFault.wordsOf(fault))
}

/**
 * Options of {@link decode}.
 *
 * @since 0.1.0
 */
export interface DecodeOptions {
  /**
   * `any`: a `google.protobuf.Struct` may be left empty, for who does not look into one. Metadata is most of many clusters. Default:
   * `all`.
   */
  readonly structs?: "all" | "any" | undefined
}

/**
 * The message; fails as {@link check} does.
 *
 * @since 0.1.0
 */
export const decode = <Desc extends DescMessage>(
  schema: Desc,
  bytes: Uint8Array,
  { structs = "all" }: DecodeOptions = {}
): MessageShape<Desc> => {
  if (MessageWalk.isMessage(schema, bytes)) {
    const message = MessageReader.read(schema, bytes, structs === "all")
    if (isMessageOf(message, schema)) return message
  } else refuse(schema, bytes)
  return fromBinary(schema, bytes)
}

/**
 * The bytes of a message that a program made. Throws an error that begins with the path of what is wrong, where that can be told:
 * `metadata is null`; also for a message that holds itself, is nested more than 100 messages deep, or holds more than 4 194 304
 * messages, lists and maps or 268 435 456 bytes of texts, however much of it is shared. Takes time in proportion to what is
 * written, or to these bounds.
 *
 * @since 0.1.0
 */
export const encode = (schema: DescMessage, message: Message): Uint8Array => {
  const written = MessageWriter.write(schema, message)
  if (written !== undefined) return written
  const found = ObjectWalk.look(message)
  if (typeof found === "string") throw new Error(found)
  const bytes = toBinary(schema, message)
  if (!found.isSure) check(schema, bytes)
  return bytes
}
