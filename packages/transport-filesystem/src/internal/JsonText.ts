/**
 * Parses JSON with the offset of every value, which `JSON.parse` does not give. It is strict (RFC 8259). A duplicate
 * key is an error: otherwise one of the two would be lost silently.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { KnownNames } from "./KnownNames.js"
import type { OffsetOf, Part, Path } from "./SourceDocument.js"
import { isResponseType, maxDepth, tooDeep } from "./SourceDocument.js"

/** The offsets of a member or element; an element's key offset is that of its value. */
interface Place {
  readonly key: number
  readonly value: number
}

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

const quote = 0x22
const nine = 0x39
const bracket = 0x5b
const backslash = 0x5c
const brace = 0x7b

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const plain = /[^"\\\u0000-\u001f]*/y

const set = (object: JsonObject, name: string, value: JsonValue): void => {
  // Assigning `__proto__` would create no property.
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true })
  else object[name] = value
}

class Reader {
  #at = 0
  /**
   * The offsets of elements in outer lists, by the offset of the list. Others are found by parsing again on demand:
   * offsets are only needed for mistakes.
   */
  readonly #lists = new Map<number, ReadonlyArray<number>>()
  /** The places of the document's members, if it is an object. */
  readonly #places = new Map<string, Place>()
  #start = 0
  readonly #known = new KnownNames()

  constructor(readonly text: string) {}

  /** Yields the elements of the document's list, then the document. */
  *parts(): Generator<Part, void> {
    this.#space()
    this.#start = this.#at
    const value =
      this.text[this.#at] === "["
        ? yield* this.#elements([], 0)
        : this.text[this.#at] === "{"
          ? yield* this.#members()
          : this.#value(0)
    this.#space()
    if (this.#at < this.text.length) this.#fail(`expected the end of the file but found ${this.#next()}`)
    yield { _tag: "Document", document: { value, start: this.#start, offsetOf: this.#offsetOf } }
  }

  readonly #offsetOf: OffsetOf = (path, what) => {
    let offset = this.#start
    for (const [index, part] of path.entries()) {
      if (this.text[offset] !== (typeof part === "number" ? "[" : "{")) break
      const place = this.placeOf(offset, part, index === 0)
      if (place === undefined) break
      offset = what === "key" && index === path.length - 1 ? place.key : place.value
    }
    return offset
  }

  /** The place of a part of the object or list at an offset, in a text that was parsed before. */
  placeOf(at: number, part: string | number, isWhole: boolean): Place | undefined {
    if (typeof part === "number") {
      const known = this.#lists.get(at)
      if (known !== undefined) {
        const value = known[part]
        return value === undefined ? undefined : { key: value, value }
      }
    } else if (isWhole) {
      return this.#places.get(part)
    }
    const here = this.#at
    this.#at = at + 1
    try {
      return this.#lookFor(part)
    } finally {
      // Parsing may continue after this.
      this.#at = here
    }
  }

  #lookFor(part: string | number): Place | undefined {
    this.#space()
    const end = typeof part === "number" ? "]" : "}"
    for (let index = 0; this.text[this.#at] !== end && this.#at < this.text.length; index++) {
      if (index > 0) this.#separator(end)
      const key = this.#at
      const name = typeof part === "number" ? index : this.#name()
      const value = this.#at
      if (name === part) return { key, value }
      this.#value(0)
      this.#space()
    }
    return undefined
  }

  #value(depth: number): JsonValue {
    if (depth > maxDepth) this.#fail(tooDeep)
    const code = this.text.charCodeAt(this.#at)
    if (code === quote) return this.#string()
    if (code === brace) return this.#object(depth)
    if (code === bracket) return this.#array(depth)
    if (code <= nine) return this.#number()
    for (const [word, value] of literals) {
      if (!this.text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return value
    }
    return this.#number()
  }

  #number(): number {
    number.lastIndex = this.#at
    if (!number.test(this.text)) this.#fail(`expected a value but found ${this.#next()}`)
    const begin = this.#at
    this.#at = number.lastIndex
    return Number(this.text.slice(begin, this.#at))
  }

  /** Parses a key and its colon. */
  #name(): string {
    if (this.text[this.#at] !== '"') this.#fail(`expected a name in double quotes but found ${this.#next()}`)
    const name = this.#plainName() ?? this.#string()
    this.#space()
    if (this.text[this.#at] !== ":") this.#fail(`expected ":" but found ${this.#next()}`)
    this.#at++
    this.#space()
    return name
  }

  /** Parses a string that is a plain word, as nearly all keys are. */
  #plainName(): string | undefined {
    const begin = this.#at + 1
    for (let at = begin; ; at++) {
      const code = this.text.charCodeAt(at)
      // The characters from `@` to `~` without the backslash, and from `-` to `9`.
      if (code >= 0x40 && code !== backslash && code < 0x7f) continue
      if (code >= 0x2d && code <= nine) continue
      if (code !== quote) return undefined
      this.#at = at + 1
      return this.#known.of(this.text, begin, at)
    }
  }

  #object(depth: number): JsonValue {
    const object: JsonObject = {}
    let isFirst = true
    this.#at++
    this.#space()
    while (this.text[this.#at] !== "}") {
      if (!isFirst) this.#separator("}")
      isFirst = false
      const name = this.#newName(object)
      set(object, name, this.#value(depth + 1))
      this.#space()
    }
    this.#at++
    return object
  }

  /** Parses a key that the object must not have yet, and its colon. */
  #newName(object: JsonObject): string {
    const key = this.#at
    const name = this.#name()
    if (Object.hasOwn(object, name)) {
      // A name that is no field name may be a misplaced secret.
      const which = /^[\w.@/-]{1,64}$/.test(name) ? `the name ${JSON.stringify(name)}` : "this name"
      throw new Malformed(key, `${which} stands twice in this object`)
    }
    return name
  }

  /** Parses the document if it is an object. */
  *#members(): Generator<Part, JsonObject> {
    const object: JsonObject = {}
    let isTold = false
    let resources = -1
    this.#at++
    this.#space()
    while (this.text[this.#at] !== "}") {
      if (this.#places.size > 0) this.#separator("}")
      const key = this.#at
      const name = this.#newName(object)
      this.#places.set(name, { key, value: this.#at })
      if (name === "resources" && this.text[this.#at] === "[" && isResponseType(object["@type"])) {
        resources = this.#at
        isTold = true
        set(object, name, yield* this.#elements([name], 1))
      } else {
        set(object, name, this.#value(1))
      }
      this.#space()
    }
    this.#at++
    if (isTold && !isResponseType(object["@type"])) {
      // They belong to another message.
      yield { _tag: "Again" }
      const here = this.#at
      this.#at = resources
      object["resources"] = this.#array(1)
      this.#at = here
    }
    return object
  }

  /** Yields the elements of a list one by one; the list itself is then empty. */
  *#elements(path: Path, depth: number): Generator<Part, Array<JsonValue>> {
    const offsets: Array<number> = []
    this.#lists.set(this.#at, offsets)
    this.#at++
    this.#space()
    while (this.text[this.#at] !== "]") {
      if (offsets.length > 0) this.#separator("]")
      const index = offsets.push(this.#at) - 1
      const value = this.#value(depth + 1)
      this.#space()
      yield { _tag: "Element", path: [...path, index], value, offsetOf: this.#offsetOf }
    }
    this.#at++
    return []
  }

  #array(depth: number): JsonValue {
    const list: Array<JsonValue> = []
    const offsets: Array<number> | undefined = depth <= 1 ? [] : undefined
    const start = this.#at
    this.#at++
    this.#space()
    while (this.text[this.#at] !== "]") {
      if (list.length > 0) this.#separator("]")
      offsets?.push(this.#at)
      list.push(this.#value(depth + 1))
      this.#space()
    }
    this.#at++
    if (offsets !== undefined) this.#lists.set(start, offsets)
    return list
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
      if (plain.test(this.text)) this.#at = plain.lastIndex
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

/** The parts of a text. */
export const parts = function* (text: string): Generator<Part, void> {
  try {
    yield* new Reader(text).parts()
  } catch (cause) {
    if (!(cause instanceof Malformed)) throw cause
    yield { _tag: "Wrong", problems: [{ offset: cause.offset, detail: cause.message }] }
  }
}
