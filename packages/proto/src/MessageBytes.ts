/**
 * Whether bytes are a message of a type, without making the message: a store asks that of a hundred thousand resources, and to
 * make messages that nobody looks at takes ten times as long.
 *
 * @since 0.1.0
 */
import type { DescMessage } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import * as MessageWalk from "./internal/MessageWalk.js"

/**
 * Throws what `fromBinary` throws where the bytes are not a message of the type. What an `Any` in it holds is not looked at.
 *
 * @since 0.1.0
 */
export const check = (schema: DescMessage, bytes: Uint8Array): void => {
  if (!MessageWalk.isMessage(schema, bytes)) fromBinary(schema, bytes)
}
