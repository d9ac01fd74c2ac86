/**
 * JSON texts of megabytes, parsed and written in parts, so that others are served in between. The result is that of
 * `JSON.parse` and `JSON.stringify`.
 *
 * @since 0.1.0
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import { Buffer, isUtf8 } from "node:buffer"
import * as JsonText from "./JsonText.js"
import { isObject } from "./JsonText.js"
import * as JsonValues from "./JsonValues.js"
import type { Parts } from "./TimeSlices.js"

/** The least bytes of a piece. A string or number is never divided: one of megabytes parses fast. */
const pieceBytes = 16_384

/** Bytes that are scanned in one part. */
const bytesAtATime = 65_536

/** Characters that are written in one part. */
const charactersAtATime = 32_768

/** The number of values from which a value is written, or read, in parts. */
const manyValues = 512

/** Deeper values are written whole: each part walks down from the top. */
const deepest = 100

const quote = 0x22
const comma = 0x2c
const backslash = 0x5c
const openArray = 0x5b
const closeArray = 0x5d
const openObject = 0x7b
const closeObject = 0x7d
const newline = 0x0a

const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09

/**
 * Malformed JSON, and where: `at` is a byte offset; `exact`: the fault is at it, else at it or later.
 *
 * @since 0.1.0
 */
export class Malformed extends Data.TaggedError("Malformed")<{ readonly at: number; readonly exact: boolean }> {
  override get message(): string {
    return `malformed JSON ${this.exact ? "at" : "behind"} byte ${this.at}`
  }
}

/** An array or an object whose end is not reached yet. */
interface Open {
  readonly isArray: boolean
  readonly elements: Array<JsonValue>
  readonly members: JsonObject
  /** `from` is the first unparsed byte, `last` the byte after the last comma. */
  from: number
  last: number
  /** Whether a comma precedes `from`, so that an element must follow. */
  needed: boolean
  /** Whether an element that was parsed by itself precedes `from`, so that a comma or the end must follow. */
  taken: boolean
  /** The key of the member that is being parsed by itself. */
  key: string
}

const opened = (isArray: boolean, from: number): Open => ({
  isArray,
  elements: [],
  members: {},
  from,
  last: from,
  needed: false,
  taken: false,
  key: ""
})

/** As in `JSON.parse`, `__proto__` is an ordinary name. */
const put = (members: JsonObject, key: string, value: JsonValue): void => {
  if (key === "__proto__")
    Object.defineProperty(members, key, { value, configurable: true, enumerable: true, writable: true })
  else members[key] = value
}

/** Parses a text, some bytes at a time. */
class Reading {
  readonly #text: Buffer
  readonly #open: Array<Open> = []
  /** How many open arrays and objects are being parsed by themselves; the outermost first. */
  #alone = 0
  #root: JsonValue | undefined

  constructor(bytes: Uint8Array) {
    this.#text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  *all(): Parts<JsonValue> {
    const text = this.#text
    let quoted = false
    let escaped = false
    // A byte order mark is skipped.
    let at = text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? 3 : 0
    for (; at < text.length && isBlank(text[at]); at++);
    if (text[at] !== openArray && text[at] !== openObject) return this.#parse(at, text.length, "", "")
    for (let next = at + bytesAtATime; at < text.length; at++) {
      if (at >= next) {
        next = at + bytesAtATime
        yield
      }
      const byte = text[at]
      if (quoted) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) quoted = false
      } else if (byte === quote) quoted = true
      else if (byte === comma) {
        if (this.#comma(at)) yield
      } else if (byte === openArray || byte === openObject) this.#open.push(opened(byte === openArray, at + 1))
      else if (byte === closeArray || byte === closeObject) {
        yield* this.#close(at, byte === closeArray)
        if (this.#root !== undefined) return this.#end(at + 1, this.#root)
      }
    }
    throw this.#fault(text.length)
  }

  /** Parses what precedes a comma, if it is enough for a piece. */
  #comma(at: number): boolean {
    const open = this.#open.at(-1)
    if (open === undefined) throw this.#fault(at)
    if (open.taken) {
      this.#blank(open.from, at)
      open.taken = false
      open.needed = true
      open.from = at + 1
    }
    const isPiece = at - (this.#open[Math.max(0, this.#alone - 1)]?.from ?? 0) >= pieceBytes
    if (isPiece && at >= open.from) {
      this.#takeAlone()
      this.#take(open, at, true)
    }
    open.last = at + 1
    return isPiece
  }

  *#close(at: number, isArray: boolean): Parts<void> {
    const open = this.#open.at(-1)
    if (open === undefined || open.isArray !== isArray) throw this.#fault(at)
    const depth = this.#open.length
    if (depth > 1 && this.#alone < depth) {
      this.#open.pop()
      return
    }
    this.#takeAlone()
    if (open.taken) this.#blank(open.from, at)
    else this.#take(open, at, open.needed)
    yield
    this.#open.pop()
    this.#alone--
    const value = isArray ? open.elements : open.members
    const parent = this.#open.at(-1)
    if (parent === undefined) this.#root = value
    else {
      if (parent.isArray) parent.elements.push(value)
      else put(parent.members, parent.key, value)
      parent.taken = true
      parent.from = parent.last = at + 1
    }
  }

  #end(at: number, value: JsonValue): JsonValue {
    this.#blank(at, this.#text.length)
    return value
  }

  /** Parses every open array and object by itself from now on, and first the elements before it. */
  #takeAlone(): void {
    for (; this.#alone < this.#open.length; this.#alone++) {
      const parent = this.#open[this.#alone - 1]
      const child = this.#open[this.#alone]
      if (parent === undefined || child === undefined) continue
      if (parent.taken) throw this.#fault(child.from)
      if (parent.last > parent.from) this.#take(parent, parent.last - 1, true)
      const start = child.from - 1
      if (parent.isArray) this.#blank(parent.from, start)
      else parent.key = this.#key(parent.from, start)
      parent.from = start
    }
  }

  /** Parses whole elements or members, up to a comma or the end. */
  #take(open: Open, end: number, needed: boolean): void {
    const { from, isArray } = open
    if (this.#isBlank(from, end)) {
      if (needed) throw new Malformed({ at: end, exact: true })
    } else if (isArray) {
      const elements = this.#parse(from, end, "[", "]")
      if (Array.isArray(elements)) for (const element of elements) open.elements.push(element)
    } else {
      const members = this.#parse(from, end, "{", "}")
      if (isObject(members)) for (const key of Object.keys(members)) put(open.members, key, members[key] ?? null)
    }
    open.from = end + 1
    open.needed = true
  }

  /** The key before a value. */
  #key(from: number, end: number): string {
    const member = this.#parse(from, end, "{", "null}")
    return (isObject(member) ? Object.keys(member)[0] : undefined) ?? ""
  }

  #isBlank(from: number, end: number): boolean {
    for (let at = from; at < end; at++) if (!isBlank(this.#text[at])) return false
    return true
  }

  #blank(from: number, end: number): void {
    for (let at = from; at < end; at++) if (!isBlank(this.#text[at])) throw new Malformed({ at, exact: true })
  }

  #parse(from: number, end: number, before: string, after: string): JsonValue {
    const text = this.#text.toString("utf8", from, end)
    try {
      const json: unknown = JSON.parse(`${before}${text}${after}`)
      return isValue(json) ? json : null
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : ""
      const position = /at position (\d+)/.exec(message)?.[1]
      if (position === undefined)
        throw new Malformed({ at: message.includes("end of JSON") ? end : from, exact: false })
      const character = Math.min(Math.max(0, Number(position) - before.length), text.length)
      throw new Malformed({ at: from + Buffer.byteLength(text.slice(0, character)), exact: true })
    }
  }

  /** The fault of a text that ends here or has an unexpected byte here. */
  #fault(end: number): Malformed {
    const open = this.#open[Math.max(0, this.#alone - 1)]
    if (open === undefined) return new Malformed({ at: end, exact: true })
    try {
      this.#parse(open.from, Math.min(end + 1, this.#text.length), open.isArray ? "[" : "{", "")
    } catch (fault) {
      if (fault instanceof Malformed) return fault
    }
    return new Malformed({ at: end, exact: true })
  }
}

/** Narrows a result of `JSON.parse`. */
const isValue = (json: unknown): json is JsonValue => json !== undefined

/** Bytes from which a text is parsed in parts. An Envoy's node has 77 KB. */
const large = 128 * 1024

/**
 * What a text must be: an object of a `kind` with at most `maxValues` values. Messages begin with `subject`.
 *
 * @since 0.1.0
 */
export interface Expected {
  readonly subject: string
  readonly kind: string
  readonly maxValues: number
}

/**
 * Why a text is not what is expected. `isTooMuch`: it has too many values and was not read further.
 *
 * @since 0.1.0
 */
export interface Unexpected {
  readonly isTooMuch: boolean
  readonly message: string
}

/**
 * Parses an object.
 *
 * @since 0.1.0
 */
export function* readObject(
  bytes: Uint8Array,
  { kind, maxValues, subject }: Expected
): Parts<Either.Either<JsonObject, Unexpected>> {
  if (!(yield* JsonValues.isWithin(bytes, maxValues))) {
    const message = `${subject} holds more than ${maxValues} JSON values, the limit of this server`
    return Either.left({ isTooMuch: true, message })
  }
  // Work that cannot be divided starts with a fresh share of time.
  yield
  const malformed = (message: string): Unexpected => ({ isTooMuch: false, message })
  if (bytes.length < large) return Either.mapLeft(JsonText.parseObject(bytes, subject, kind), malformed)
  if (!isUtf8(bytes)) return Either.left(malformed(`${subject} is not JSON: it is not UTF-8`))
  try {
    const json = yield* parse(bytes)
    return isObject(json) ? Either.right(json) : Either.left(malformed(JsonText.notObject(json, subject, kind)))
  } catch (cause) {
    if (!(cause instanceof Malformed)) throw cause
    return Either.left(malformed(`${subject} is not JSON: ${yield* place(bytes, cause)}: it is wrong there`))
  }
}

/**
 * Parses a text; throws {@link Malformed}. The bytes must be UTF-8.
 *
 * @since 0.1.0
 */
export const parse = (bytes: Uint8Array): Parts<JsonValue> => new Reading(bytes).all()

/**
 * The place of a byte in a text: line and column.
 *
 * @since 0.1.0
 */
export function* place(bytes: Uint8Array, { at, exact }: Malformed): Parts<string> {
  let line = 1
  let start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  for (let index = 0; index < at; index++) {
    if (index % bytesAtATime === bytesAtATime - 1) yield
    if (bytes[index] !== newline) continue
    line++
    start = index + 1
  }
  if (!exact) return `line ${line}`
  const column = Buffer.from(bytes.buffer, bytes.byteOffset + start, Math.max(0, at - start)).toString("utf8").length
  return `line ${line}, column ${column + 1}`
}

/**
 * Whether a value has few and short values.
 *
 * @since 0.1.0
 */
export const isSmall = (json: JsonValue): boolean => weigh(json, manyValues) > 0

const weigh = (json: JsonValue, left: number): number => {
  if (typeof json === "string") return left - 1 - json.length / 64
  if (typeof json !== "object" || json === null) return left - 1
  let rest = left - 1
  if (Array.isArray(json)) {
    for (const element of json) {
      if (rest <= 0) return rest
      rest = weigh(element, rest)
    }
    return rest
  }
  for (const key in json) {
    if (rest <= 0) return rest
    rest = weigh(json[key] ?? null, rest - key.length / 64)
  }
  return rest
}

/**
 * The text of `JSON.stringify`, in consecutive parts.
 *
 * @since 0.1.0
 */
export function* texts(json: JsonValue, depth = 0): Generator<string, void, void> {
  if (typeof json !== "object" || json === null || depth >= deepest || isSmall(json)) return yield JSON.stringify(json)
  const isArray = Array.isArray(json)
  let text = isArray ? "[" : "{"
  let before = ""
  for (const key of Object.keys(json)) {
    const value = (isArray ? json[Number(key)] : json[key]) ?? null
    text += isArray ? before : `${before}${JSON.stringify(key)}:`
    before = ","
    if (isSmall(value)) text += JSON.stringify(value)
    else {
      yield text
      text = ""
      yield* texts(value, depth + 1)
    }
    if (text.length < charactersAtATime) continue
    yield text
    text = ""
  }
  yield `${text}${isArray ? "]" : "}"}`
}
