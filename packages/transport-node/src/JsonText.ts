/**
 * JSON text from peers: parsing it as an object, and locating its faults.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "@bufbuild/protobuf"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as Either from "effect/Either"

/**
 * An error in words, for the peer and the log, without text that the error quotes.
 *
 * @since 0.1.0
 */
export const reasonOf = (cause: unknown): string =>
  // Whether the stack or its depth limit ends first depends on the machine, so both give the same words.
  cause instanceof RangeError || (cause instanceof Error && cause.message.includes("maximum recursion depth"))
    ? "it is nested too deep"
    : cause instanceof Error
      ? // The library's name in front is removed.
        Redaction.ofParser(cause.message.replace(/^\[[^\]]*\] /, ""))
      : Reason.of(cause)

/** The place in a text: `line 2, column 5`. */
const place = (text: string, at: number): string => {
  const before = text.slice(0, at).split("\n")
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

const whereInText = (text: string, message: string): string => {
  const position = /at position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return place(text, Number(position))
  if (message.includes("end of JSON")) return place(text, text.length)
  // For a short text Node's message has no position, only a quotation.
  return "line 1"
}

/**
 * Whether a result of `JSON.parse` is an object.
 *
 * @since 0.1.0
 */
export const isObject = (json: unknown): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/**
 * Parses an object. Messages begin with `subject`; `kind` is what it should be.
 *
 * @since 0.1.0
 */
export const parseObject = (bytes: Uint8Array, subject: string, kind: string): Either.Either<JsonObject, string> => {
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return Either.left(`${subject} is not JSON: it is not UTF-8`)
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    const message = Reason.of(cause)
    // Only the place is given: the text there may be a secret.
    return Either.left(`${subject} is not JSON: ${whereInText(text, message)}: it is wrong there`)
  }
  return isObject(json) ? Either.right(json) : Either.left(notObject(json, subject, kind))
}

/**
 * Why JSON that is no object was expected to be one, in words.
 *
 * @since 0.1.0
 */
export const notObject = (json: unknown, subject: string, kind: string): string => {
  const found = json === null ? "null" : Array.isArray(json) ? "an array" : `a ${typeof json}`
  return `${subject} is not a ${kind}: it is ${found} and not an object`
}
