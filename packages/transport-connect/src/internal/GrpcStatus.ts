/**
 * A status as gRPC's trailers.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
 */
import { Status } from "@effect-xds/transport"
import { Buffer } from "node:buffer"

/** Peers limit the size of all headers together, gRPC's own to 8 KiB; a message of three times this size fits. */
const maxCharacters = 1024

const percent = (characters: string): string => {
  let encoded = ""
  for (const byte of Buffer.from(characters)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  return encoded
}

/** What is not printable ASCII, and `%`, as percent-encoded UTF-8. */
const encodeMessage = (message: string): string =>
  message.slice(0, maxCharacters).replace(/[^\x20-\x24\x26-\x7e]+/g, percent)

/** The trailers of a status. */
export const trailers = (status: Status.Status): Record<string, string> =>
  status.message === ""
    ? { "grpc-status": String(Status.codes[status.code]) }
    : { "grpc-status": String(Status.codes[status.code]), "grpc-message": encodeMessage(status.message) }
