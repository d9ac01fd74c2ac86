/**
 * Reads JSON and keeps where every value stands, which `JSON.parse` does not. Strict (RFC 8259), and a key that stands
 * twice in an object is an error: one of the two would be lost in silence.
 */
import type { JsonValue } from "@bufbuild/protobuf"
import * as Either from "effect/Either"
import type { Path, SourceDocument, SyntaxProblem } from "./SourceDocument.js"
import { maxDepth } from "./SourceDocument.js"

/** Where the parts of one object or list stand. */
type Places = ReadonlyMap<string | number, { readonly key: number; readonly value: number }>

class Malformed extends Error {
  constructor(
    readonly offset: number,
    message: string
  ) {
    super(message)
  }
}

const literals: ReadonlyArray<readonly [string, JsonValue]> = [
  ["true", true],
  ["false", false],
  ["null", null]
]

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const plain = /[^"\\\u0000-\u001f]*/y

class Reader {
  #at = 0
  readonly places = new WeakMap<object, Places>()

  constructor(readonly text: string) {}

  document(): { readonly value: JsonValue; readonly start: number } {
    this.#space()
    const start = this.#at
    const value = this.#value(0)
    this.#space()
    if (this.#at < this.text.length) this.#fail(`expected the end of the file but found ${this.#next()}`)
    return { value, start }
  }

  #value(depth: number): JsonValue {
    if (depth > maxDepth) this.#fail(`nested deeper than ${maxDepth} levels`)
    const character = this.text[this.#at]
    if (character === "{") return this.#object(depth)
    if (character === "[") return this.#array(depth)
    if (character === '"') return this.#string()
    for (const [word, value] of literals) {
      if (!this.text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return value
    }
    number.lastIndex = this.#at
    const digits = number.exec(this.text)?.[0]
    if (digits === undefined) this.#fail(`expected a value but found ${this.#next()}`)
    this.#at += digits.length
    return Number(digits)
  }

  #object(depth: number): JsonValue {
    const entries: Array<[string, JsonValue]> = []
    const places = new Map<string, { readonly key: number; readonly value: number }>()
    this.#at++
    this.#space()
    while (this.text[this.#at] !== "}") {
      if (entries.length > 0) this.#separator("}")
      const key = this.#at
      if (this.text[key] !== '"') this.#fail(`expected a name in double quotes but found ${this.#next()}`)
      const name = this.#string()
      if (places.has(name)) {
        // What is no name of a field may be a secret in the wrong place.
        const which = /^[\w.@/-]{1,64}$/.test(name) ? `the name ${JSON.stringify(name)}` : "this name"
        throw new Malformed(key, `${which} stands twice in this object`)
      }
      this.#space()
      if (this.text[this.#at] !== ":") this.#fail(`expected ":" but found ${this.#next()}`)
      this.#at++
      this.#space()
      places.set(name, { key, value: this.#at })
      entries.push([name, this.#value(depth + 1)])
      this.#space()
    }
    this.#at++
    // Unlike an assignment this makes a property even of "__proto__".
    const value = Object.fromEntries(entries)
    this.places.set(value, places)
    return value
  }

  #array(depth: number): JsonValue {
    const value: Array<JsonValue> = []
    const places = new Map<number, { readonly key: number; readonly value: number }>()
    this.#at++
    this.#space()
    while (this.text[this.#at] !== "]") {
      if (value.length > 0) this.#separator("]")
      places.set(value.length, { key: this.#at, value: this.#at })
      value.push(this.#value(depth + 1))
      this.#space()
    }
    this.#at++
    this.places.set(value, places)
    return value
  }

  #separator(end: string): void {
    if (this.text[this.#at] !== ",") this.#fail(`expected "," or "${end}" but found ${this.#next()}`)
    this.#at++
    this.#space()
    if (this.text[this.#at] === end) this.#fail(`expected another element after "," but found "${end}"`)
  }

  #string(): string {
    const start = this.#at
    let escaped = false
    this.#at++
    for (;;) {
      plain.lastIndex = this.#at
      this.#at += plain.exec(this.text)?.[0].length ?? 0
      const character = this.text[this.#at]
      if (character === '"') break
      if (character !== "\\") {
        if (character === undefined || character === "\n" || character === "\r") {
          throw new Malformed(start, "this string does not end on its line")
        }
        this.#fail("a control character in a string must be escaped")
      }
      if (!/\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y.test(this.text.slice(this.#at, this.#at + 6))) {
        this.#fail("this is no escape sequence of JSON")
      }
      escaped = true
      this.#at += 2
    }
    this.#at++
    const raw = this.text.slice(start + 1, this.#at - 1)
    if (!escaped) return raw
    const value: unknown = JSON.parse(`"${raw}"`)
    return typeof value === "string" ? value : raw
  }

  #space(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  #next(): string {
    const code = this.text.codePointAt(this.#at)
    return code === undefined ? "the end of the file" : JSON.stringify(String.fromCodePoint(code))
  }

  #fail(detail: string): never {
    throw new Malformed(this.#at, detail)
  }
}

export const parse = (text: string): Either.Either<SourceDocument, SyntaxProblem> => {
  const reader = new Reader(text)
  try {
    const { start, value } = reader.document()
    const offsetOf = (path: Path, what: "key" | "value"): number => {
      let offset = start
      let current: JsonValue | undefined = value
      for (const [index, part] of path.entries()) {
        if (typeof current !== "object" || current === null) break
        const place = reader.places.get(current)?.get(part)
        if (place === undefined) break
        offset = what === "key" && index === path.length - 1 ? place.key : place.value
        current = Array.isArray(current)
          ? typeof part === "number"
            ? current[part]
            : undefined
          : typeof part === "string"
            ? current[part]
            : undefined
      }
      return offset
    }
    return Either.right({ value, start, offsetOf })
  } catch (cause) {
    if (cause instanceof Malformed) return Either.left({ offset: cause.offset, detail: cause.message })
    throw cause
  }
}
