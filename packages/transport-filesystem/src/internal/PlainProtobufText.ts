/**
 * Reads the protobuf text format as most files are written in it: fields by name, messages in braces, strings without escapes and
 * plain numbers. What it reads is a value as JSON has it, for {@link MessageEncoder}.
 *
 * ★ It says what a text stands for, or nothing at all: whatever it does not know for sure, what is wrong and why, is for protobuf-es.
 */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { KnownNames } from "./KnownNames.js"
import type { FieldPlan, MessagePlan } from "./MessagePlan.js"
import { plansOf } from "./MessagePlan.js"

/** Thrown often, and caught at once: one for all. */
const notPlain = new Error("not plain")

/** What is nested deeper is for protobuf-es, which reads 100 messages deep. */
const deepest = 45

const name = /[A-Za-z_]\w*/y

const url = /\[type\.googleapis\.com\/([A-Za-z_][\w.]*)\]/y

const quoted = /"([^"\\\p{Cc}]*)"/uy

/** What follows a number or a name would be a part of it otherwise. */
const integer = /(?:0|-?[1-9]\d{0,19})(?![\w.+-])/y

const decimal = /(?:0|-?[1-9]\d{0,14}|(?:0|-?[1-9]\d{0,8})\.\d{1,6})(?![\w.+-])/y

const brace = { open: 0x7b, close: 0x7d }

/** What a part of a text stands for, and where it ends. */
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
   * The value of the field `resources` that stands there, as the object with `@type` that it is in JSON, with the names and forms
   * of the text; `undefined`: it is for protobuf-es.
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

  /** An `Any`: braces around a type and its message. */
  #any(depth: number): JsonObject {
    this.#colon()
    this.#brace(brace.open)
    this.#space()
    url.lastIndex = this.#at
    const type = url.exec(this.#text)?.[1]
    const schema = type === undefined ? undefined : this.#typeNamed(type)
    if (type === undefined || schema === undefined) throw notPlain
    this.#at = url.lastIndex
    // A message as an `Any` has it may have a form of its own in JSON.
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
        // Another string behind it would be a part of it; here it is no name of a field.
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
        // A zero with a sign is one.
        if (Object.is(value, -0)) throw notPlain
        return value
      }
      default:
        throw notPlain
    }
  }

  /** Numbers begin below the letters. */
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
