/**
 * A fast parser for the protobuf text format of most files: fields by name, messages in braces, strings without escapes
 * and plain numbers. The result is a JSON value for {@link MessageEncoder}.
 *
 * ★ It returns the value of a text or rejects the text. Everything uncertain, and every error message, is left to
 * protobuf-es.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { KnownNames } from "./KnownNames.js"
import type { FieldPlan, MessagePlan } from "./MessagePlan.js"
import { plansOf } from "./MessagePlan.js"

/** One instance: it is thrown often and caught at once. */
const notPlain = new Error("not plain")

/** Deeper nesting is left to protobuf-es, which reads 100 messages deep. */
const deepest = 45

const name = /[A-Za-z_]\w*/y

const url = /\[type\.googleapis\.com\/([A-Za-z_][\w.]*)\]/y

const quoted = /"([^"\\\p{Cc}]*)"/uy

/** Followed by one of these characters, it would be another token. */
const integer = /(?:0|-?[1-9]\d{0,19})(?![\w.+-])/y

const decimal = /(?:0|-?[1-9]\d{0,14}|(?:0|-?[1-9]\d{0,8})\.\d{1,6})(?![\w.+-])/y

const brace = { open: 0x7b, close: 0x7d }

/** The value of a part of a text, and where the part ends. */
export interface Plain {
  readonly value: JsonObject
  readonly end: number
}

export class Reader {
  #at = 0
  readonly #text: string
  readonly #typeNamed: (name: string) => DescMessage | undefined
  readonly #known = new KnownNames()

  constructor(text: string, typeNamed: (name: string) => DescMessage | undefined) {
    this.#text = text
    this.#typeNamed = typeNamed
  }

  /**
   * The value of a `resources` field at an offset, as an object with `@type`, with field names as in the text;
   * `undefined` if protobuf-es must parse it.
   */
  resourceAt(begin: number): Plain | undefined {
    this.#at = begin
    try {
      if (this.#name() !== "resources") return undefined
      const value = this.#any(1)
      return { value, end: this.#at }
    } catch (cause) {
      if (cause !== notPlain) throw cause
      return undefined
    }
  }

  /** An `Any`: a type and a message in braces. */
  #any(depth: number): JsonObject {
    this.#colon()
    this.#brace(brace.open)
    this.#space()
    url.lastIndex = this.#at
    const type = url.exec(this.#text)?.[1]
    const schema = type === undefined ? undefined : this.#typeNamed(type)
    if (type === undefined || schema === undefined) throw notPlain
    this.#at = url.lastIndex
    // Well-known types may have a special form in JSON.
    if (type.startsWith("google.protobuf.")) throw notPlain
    const json = this.#message(plansOf.text(schema), depth + 1)
    json["@type"] = type
    this.#brace(brace.close)
    return json
  }

  #message(plan: MessagePlan, depth: number): JsonObject {
    if (depth > deepest) throw notPlain
    const json: JsonObject = {}
    this.#colon()
    this.#brace(brace.open)
    for (;;) {
      this.#space()
      if (this.#text.charCodeAt(this.#at) === brace.close) break
      const key = this.#name()
      const field = plan.fields.get(key)
      if (field === undefined) throw notPlain
      const value = this.#value(field, depth)
      const before = Object.hasOwn(json, key) ? json[key] : undefined
      if (field.shape !== "list") {
        if (before !== undefined) throw notPlain
        json[key] = value
      } else if (Array.isArray(before)) before.push(value)
      else json[key] = [value]
    }
    this.#at++
    return json
  }

  #value(field: FieldPlan, depth: number): JsonValue {
    if (field.kind === "any") return this.#any(depth + 1)
    if (field.kind === "message" && field.message !== undefined) return this.#message(field.message(), depth + 1)
    if (!this.#colon()) throw notPlain
    this.#space()
    switch (field.kind) {
      case "string":
        // Adjacent strings would be joined; here another string is no field name.
        return this.#match(quoted).slice(1, -1)
      case "bool": {
        const text = this.#name()
        if (text !== "true" && text !== "false") throw notPlain
        return text === "true"
      }
      case "enum":
        return this.#isWord() ? this.#name() : Number(this.#match(integer))
      case "int32":
      case "uint32":
        return Number(this.#match(integer))
      case "int64":
      case "uint64":
        return this.#match(integer)
      case "float":
      case "double": {
        const value = Number(this.#match(decimal))
        // A zero with a sign keeps its sign.
        if (Object.is(value, -0)) throw notPlain
        return value
      }
      default:
        throw notPlain
    }
  }

  /** Digits and signs are below the letters in ASCII. */
  #isWord(): boolean {
    return this.#text.charCodeAt(this.#at) > 0x40
  }

  #name(): string {
    const begin = this.#at
    name.lastIndex = begin
    if (!name.test(this.#text)) throw notPlain
    this.#at = name.lastIndex
    return this.#known.of(this.#text, begin, this.#at)
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) throw notPlain
    const begin = this.#at
    this.#at = pattern.lastIndex
    return this.#text.slice(begin, this.#at)
  }

  #colon(): boolean {
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== 0x3a) return false
    this.#at++
    return true
  }

  #brace(which: number): void {
    this.#space()
    if (this.#text.charCodeAt(this.#at) !== which) throw notPlain
    this.#at++
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }
}
