/**
 * The headers that probes send, of `request_headers_to_add`, `request_headers_to_remove` and `initial_metadata`.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/headers
 * @since 0.1.0
 */
import type { HeaderValueOption } from "@effect-xds/proto/envoy/config/core/v3/base"
import { HeaderValueOption_HeaderAppendAction as Action } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Ascii from "./Ascii.js"
import type { Header } from "./Probe.js"

/**
 * Most headers that one checker may add.
 *
 * @since 0.1.0
 */
export const maxHeaders = 1_000

/** Those that are the connection's, that tell where the body ends, or that make a call of gRPC one. */
const reserved: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "transfer-encoding",
  "upgrade"
])

/** RFC 9110, section 5.6.2. */
const token = /^[\w!#$%&'*+\-.^`|~]+$/

/**
 * Whether a text can be the name of a header, or a method.
 *
 * @since 0.1.0
 */
export const isName = (text: string): boolean => token.test(text)

/**
 * Whether a text can be the value of a header.
 *
 * @since 0.1.0
 */
export const isValue = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(text)

const problemOfName = (name: string, isGrpc: boolean): string | undefined => {
  if (!isName(name)) return `${JSON.stringify(name)} is not the name of a header`
  const isOurs = reserved.has(name) || (isGrpc && (name === "content-type" || name.startsWith("grpc-")))
  return isOurs ? `${name} is set by the probe; leave it out` : undefined
}

/** Each byte as a character, as Node takes headers. */
const latin1 = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")

const encoder = new TextEncoder()

/** ★ A percent sign begins a command of Envoy, unless it is doubled. */
const literal = (text: string): string | undefined =>
  /^(?:[^%]|%%)*$/.test(text) ? text.replaceAll("%%", "%") : undefined

/**
 * What is given.
 *
 * @since 0.1.0
 */
export interface Given {
  readonly toAdd: ReadonlyArray<HeaderValueOption>
  readonly toRemove: ReadonlyArray<string>
  /** Those of gRPC cannot be changed. */
  readonly isGrpc: boolean
  /** The fields, for mistakes. */
  readonly pathToAdd: string
  readonly pathToRemove: string
}

/**
 * The headers of a probe: some are removed, then others added, as their actions say.
 *
 * @param before what is sent without being asked for
 * @param mistake is told of each mistake
 * @since 0.1.0
 */
export const make = (
  before: ReadonlyArray<Header>,
  { isGrpc, pathToAdd, pathToRemove, toAdd, toRemove }: Given,
  mistake: (path: string, message: string) => void
): ReadonlyArray<Header> => {
  const headers = new Map(before)
  // ★ First, so that what is added stays.
  for (const [index, each] of toRemove.entries()) {
    const name = Ascii.fold(each)
    const problem = problemOfName(name, isGrpc)
    if (problem === undefined) headers.delete(name)
    else mistake(`${pathToRemove}[${index}]`, problem)
  }
  if (toAdd.length > maxHeaders) {
    mistake(pathToAdd, `there are ${toAdd.length} headers; at most ${maxHeaders} are taken`)
    return []
  }
  for (const [index, option] of toAdd.entries()) {
    const path = `${pathToAdd}[${index}]`
    // Control planes still set `append`, and Envoy still reads it.
    const { append, appendAction, header, keepEmptyValue } = option
    if (header === undefined) {
      mistake(`${path}.header`, "header is missing; it is required")
      continue
    }
    const name = Ascii.fold(header.key)
    const problem = problemOfName(name, isGrpc)
    if (problem !== undefined) mistake(`${path}.header.key`, problem)
    if (header.value !== "" && header.rawValue.length > 0) {
      mistake(`${path}.header`, "both value and raw_value are set; set one")
    }
    if (append !== undefined && appendAction !== Action.APPEND_IF_EXISTS_OR_ADD) {
      mistake(`${path}.append`, "both append and append_action are set; set append_action alone")
    }
    const value = literal(latin1(header.rawValue.length > 0 ? header.rawValue : encoder.encode(header.value)))
    if (value === undefined) {
      mistake(`${path}.header.value`, "commands such as %HOSTNAME% are not supported; a percent sign is %%")
    } else if (!isValue(value)) mistake(`${path}.header.value`, "a character in it cannot be in a header; take it out")
    if (problem !== undefined || value === undefined || (value === "" && !keepEmptyValue)) continue
    add(headers, name, value, append === false ? Action.OVERWRITE_IF_EXISTS_OR_ADD : appendAction)
  }
  return Array.from(headers)
}

const add = (headers: Map<string, string>, name: string, value: string, action: Action): void => {
  const known = headers.get(name)
  switch (action) {
    case Action.ADD_IF_ABSENT:
      if (known !== undefined) return
      break
    case Action.OVERWRITE_IF_EXISTS:
      if (known === undefined) return
      break
    case Action.APPEND_IF_EXISTS_OR_ADD:
      // RFC 9110, section 5.3: several lines of a name are one with commas.
      headers.set(name, known === undefined ? value : `${known},${value}`)
      return
    case Action.OVERWRITE_IF_EXISTS_OR_ADD:
  }
  headers.set(name, value)
}
