/**
 * Printing and reading of reducer state, which is plain data: it can be printed, compared and restored. The text is JSON, with
 * a tag for what JSON lacks: maps, sets, bytes, `undefined` and numbers that are not finite.
 *
 * @since 0.1.0
 */
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as NameTrie from "./resource/NameTrie.js"
import { viewOf } from "./wire/Wire.js"

/** Key that marks such a value. No field of a state has this name. */
const tag = "$"

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

const bytesOf = ({ buffer, byteLength, byteOffset }: DataView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

const toJson = (value: unknown): Json => {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value
  if (value === undefined) return { [tag]: "undefined" }
  if (typeof value === "number") return Number.isFinite(value) ? value : { [tag]: "number", text: String(value) }
  if (typeof value !== "object") throw new TypeError(`a ${typeof value} is no data`)
  if (value instanceof Uint8Array) return { [tag]: "bytes", base64: base64Encode(value) }
  if (value instanceof DataView) return { [tag]: "view", base64: base64Encode(bytesOf(value)) }
  if (Array.isArray(value)) return value.map(toJson)
  if (value instanceof NameTrie.NameTrie) return { [tag]: "NameTrie", items: Array.from(value, toJson) }
  if (HashMap.isHashMap(value)) return { [tag]: "HashMap", items: Array.from(value, toJson) }
  if (HashSet.isHashSet(value)) return { [tag]: "HashSet", items: Array.from(value, toJson) }
  if (value instanceof Map) return { [tag]: "Map", items: Array.from(value, toJson) }
  if (value instanceof Set) return { [tag]: "Set", items: Array.from(value, toJson) }
  if (Object.getPrototypeOf(value) !== Object.prototype) throw new TypeError("an instance of a class is no data")
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toJson(each)]))
}

const isPair = (value: unknown): value is readonly [unknown, unknown] => Array.isArray(value) && value.length === 2

const fromJson = (json: unknown): unknown => {
  if (typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) return json.map(fromJson)
  const record: Readonly<Record<string, unknown>> = { ...json }
  const items = Array.isArray(record["items"]) ? record["items"].map(fromJson) : []
  switch (record[tag]) {
    case undefined:
      return Object.fromEntries(Object.entries(record).map(([key, each]) => [key, fromJson(each)]))
    case "number":
      return Number(record["text"])
    case "bytes":
      return base64Decode(String(record["base64"]))
    case "view":
      return viewOf(base64Decode(String(record["base64"])))
    case "NameTrie":
      return NameTrie.fromIterable(items.filter(isPair).map(([name, each]) => [String(name), each]))
    case "HashMap":
      return HashMap.fromIterable(items.filter(isPair))
    case "HashSet":
      return HashSet.fromIterable(items)
    case "Map":
      return new Map(items.filter(isPair))
    case "Set":
      return new Set(items)
    default:
      return undefined
  }
}

/**
 * A value as text. Throws a `TypeError` for a value that is not data: a function, a symbol, a class instance.
 *
 * @since 0.1.0
 */
export const print = (value: unknown): string => JSON.stringify(toJson(value))

/**
 * The value of a text from {@link print}. Throws a `SyntaxError` if the text is not JSON.
 *
 * @since 0.1.0
 */
export const read = (text: string): unknown => fromJson(JSON.parse(text))
