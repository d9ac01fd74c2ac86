/**
 * JSON text as it comes from peers: an object, or where it is none.
 *
 * @since 0.1.0
 */
import type { JsonObject } from "@bufbuild/protobuf"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as Either from "effect/Either"

/**
 * Why something cannot be read, in words for the peer and for the log: without what they quote of it.
 *
 * @since 0.1.0
 */
export const reasonOf = (cause: unknown): string =>
  // What ends first, the stack or the bound on its depth, is the machine's matter and not the peer's.
  cause instanceof RangeError || (cause instanceof Error && cause.message.includes("maximum recursion depth"))
    ? "it is nested too deep"
    : cause instanceof Error
      ? // The name of the library in front says nothing to the peer.
        Redaction.ofParser(cause.message.replace(/^\[[^\]]*\] /, ""))
      : String(cause)

/** Where in a text: `line 2, column 5`. */
const place = (text: string, at: number): string => {
  const before = text.slice(0, at).split("\n")
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}

const whereInText = (text: string, message: string): string => {
  const position = /at position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return place(text, Number(position))
  if (message.includes("end of JSON")) return place(text, text.length)
  // Node names only the character where the text is short; then it is quoted whole.
  return "line 1"
}

/**
 * Whether what `JSON.parse` gives has members.
 *
 * @since 0.1.0
 */
export const isObject = (json: unknown): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/**
 * Reads an object; what is wrong is said after `subject`, which is to be a `kind`.
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
    // Where it is wrong is enough: what stands there may be a secret.
    return Either.left(`${subject} is not JSON: ${whereInText(text, message)}: it is wrong there`)
  }
  return isObject(json) ? Either.right(json) : Either.left(notObject(json, subject, kind))
}

/**
 * Why JSON that is no object is not what it is to be.
 *
 * @since 0.1.0
 */
export const notObject = (json: unknown, subject: string, kind: string): string => {
  const found = json === null ? "null" : Array.isArray(json) ? "an array" : `a ${typeof json}`
  return `${subject} is not a ${kind}: it is ${found} and not an object`
}
