/**
 * Writes a status as gRPC trailers, and reads it back.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#responses
 */
import * as Status from "@effect-xds/transport/Status"
import * as Records from "effect/Record"
import { Buffer } from "node:buffer"
import type { IncomingHttpHeaders } from "node:http2"

/**
 * Peers limit the size of all headers together, gRPC's own to 8 KiB. A message of this length fits three times over.
 */
const maxCharacters = 1024

const percent = (characters: string): string => {
  let encoded = ""
  for (const byte of Buffer.from(characters)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`
  return encoded
}

/** Percent-encodes (as UTF-8) `%` and everything that is not printable ASCII. */
const encodeMessage = (message: string): string =>
  message.slice(0, maxCharacters).replace(/[^\x20-\x24\x26-\x7e]+/g, percent)

/** The trailers of a status. */
export const trailers = (status: Status.Status): Record<string, string> =>
  status.message === ""
    ? { "grpc-status": String(Status.codes[status.code]) }
    : { "grpc-status": String(Status.codes[status.code]), "grpc-message": encodeMessage(status.message) }

const names: ReadonlyMap<number, Status.Code> = new Map(
  Records.keys(Status.codes).map((code) => [Status.codes[code], code] as const)
)

const decodeMessage = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

const first = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : value[0]

/** The status in headers or trailers, if there is one. */
export const parse = (headers: IncomingHttpHeaders): Status.Status | undefined => {
  const status = first(headers["grpc-status"])
  if (status === undefined) return undefined
  const message = decodeMessage(first(headers["grpc-message"]) ?? "")
  const code = names.get(Number(status))
  return code === undefined ? Status.make("UNKNOWN", `status ${status}: ${message}`) : Status.make(code, message)
}

/**
 * The status for a response without a gRPC status.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/http-grpc-status-mapping.md
 */
export const ofHttp = (status: number): Status.Status => {
  const message = `the server answered with HTTP status ${status} and no gRPC status`
  switch (status) {
    case 400:
      return Status.make("INTERNAL", message)
    case 401:
      return Status.make("UNAUTHENTICATED", message)
    case 403:
      return Status.make("PERMISSION_DENIED", message)
    case 404:
      return Status.make("UNIMPLEMENTED", message)
    case 429:
    case 502:
    case 503:
    case 504:
      return Status.make("UNAVAILABLE", message)
    default:
      return Status.make("UNKNOWN", message)
  }
}
