/**
 * A fast parser for the YAML that most files use: block lists and maps, flow collections on one line, quoted strings
 * and unambiguous plain scalars. A complete parser, which keeps every character, takes many times as long.
 *
 * ★ It returns the value of a text or rejects the text. Everything uncertain, and every error message, is left to the
 * complete parser. So no text changes its meaning by being parsed here.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { KnownNames } from "./KnownNames.js"

/** The text needs the complete parser. */
export class NotPlain extends Error {}

/** One instance: it is thrown often and caught at once. */
const notPlain = new NotPlain()

/** Deeper nesting is left to the complete parser. */
const deepest = 100

/** The rest of a line after a value. */
const lineEnd = / *(?: #[^\n]*)?(?:\r?\n|$)/y

/** A key of a map, with its colon. */
const keyInBlock = /(?:([A-Za-z_][\w@./-]{0,500})|"([^"\\\p{Cc}]{0,500})"|'([^'\p{Cc}]{0,500})'):(?= |\r?\n|$)/uy

const keyInFlow = /(?:([A-Za-z_][\w@./-]{0,500}): +|"([^"\\\p{Cc}]{0,500})": *|'([^'\p{Cc}]{0,500})': *)/uy

const doubleQuoted = /"((?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*)"/uy

const singleQuoted = /'([^'\p{Cc}]*)'/uy

// No `: `, which would begin a value, and no ` #`, which would begin a comment.
const plainInBlock = /[\w./$(-](?:[\w./$()@%+=~^!?*&<>|;,-]|:(?=[^\s])| (?=[^\s#]))*/y

const plainInFlow = /[\w./$(-](?:[\w./$()@%+=~^!?*&<>|;-]|:(?=[\w./-])| (?=[\w./$(-]))*/y

/** Scalars that are no strings in the core schema of YAML 1.2. */
const special =
  /^(?:null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?\d+|0o[0-7]+|0x[\dA-Fa-f]+|[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/

/** Numbers that a double represents exactly as written. */
const plainNumber = /^(?:0|-?[1-9]\d{0,14}|-?(?:0|[1-9]\d{0,8})\.\d{1,6})$/

/** The first characters of special scalars. */
const beginsSpecial = /^[-+.\dnNtTfF]/

const scalarOf = (text: string): JsonValue => {
  if (!beginsSpecial.test(text) || !special.test(text)) return text
  if (plainNumber.test(text)) return Number(text)
  switch (text) {
    case "true":
      return true
    case "false":
      return false
    case "null":
      return null
    default:
      throw notPlain
  }
}

const set = (object: JsonObject, name: string, value: JsonValue): void => {
  if (Object.hasOwn(object, name) || name === "__proto__") throw notPlain
  object[name] = value
}

const dash = 45

const colon = 58

const space = 32

export class Reader {
  #at: number
  /** The indentation of the next line; -1 at the end. */
  indent = -1
  /** The offset of the last element, after its dash. */
  elementAt = 0
  readonly #known = new KnownNames()

  /** @param begin the start of a line */
  constructor(
    readonly text: string,
    begin: number
  ) {
    this.#at = begin
    this.#beginLine()
  }

  /** The offset of the next line's content. */
  get at(): number {
    return this.#at
  }

  /** Whether the next line is a list element with this indentation. */
  isElement(indent: number): boolean {
    if (this.indent !== indent || this.text.charCodeAt(this.#at) !== dash) return false
    const next = this.text.charCodeAt(this.#at + 1)
    return next === space || next === 10 || next === 13 || Number.isNaN(next)
  }

  /** Parses the list element on the next line. */
  element(indent: number, depth: number): JsonValue {
    this.#at++
    const spaces = this.#spaces()
    if (spaces === undefined) {
      this.#nextLine()
      if (this.indent <= indent) throw notPlain
    }
    const at = this.#at
    const value =
      spaces === undefined ? this.block(this.indent, depth) : this.#inline(indent + spaces + 1, indent, depth)
    this.elementAt = at
    return value
  }

  /** Parses a key; its value may follow or begin on the next line. */
  key(): string {
    const name = this.#word(false) ?? this.#match(keyInBlock)
    if (name === undefined) throw notPlain
    return name
  }

  /** Parses a key that is a plain word, as nearly all are. */
  #word(isFlow: boolean): string | undefined {
    const begin = this.#at
    let at = begin
    for (; at - begin < 64; at++) {
      const code = this.text.charCodeAt(at)
      // ASCII letters, underscores, and digits after the first character.
      if (!((code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95)) {
        if (at === begin || code < 48 || code > 57) break
      }
    }
    if (at === begin || this.text.charCodeAt(at) !== colon) return undefined
    const next = this.text.charCodeAt(at + 1)
    if (next !== space && (isFlow || next !== 10)) return undefined
    this.#at = at + 1
    if (isFlow) while (this.text.charCodeAt(this.#at) === space) this.#at++
    return this.#known.of(this.text, begin, at)
  }

  /** Moves to the line that begins there. */
  goTo(begin: number): void {
    this.#at = begin
    this.#beginLine()
  }

  /** Whether the key's value begins on the next line, which is then the current one. */
  isBelow(): boolean {
    if (this.#spaces() !== undefined) return false
    this.#nextLine()
    return true
  }

  /** Parses a value that begins on a line of its own. */
  below(indent: number, depth: number): JsonValue {
    if (this.isElement(indent)) return this.block(indent, depth)
    return this.indent > indent ? this.block(this.indent, depth) : null
  }

  /** Parses the lines with this indentation. */
  block(indent: number, depth: number): JsonValue {
    if (depth > deepest) throw notPlain
    if (this.isElement(indent)) {
      const list: Array<JsonValue> = []
      while (this.isElement(indent)) list.push(this.element(indent, depth + 1))
      if (this.indent > indent) throw notPlain
      return list
    }
    const object: JsonObject = {}
    while (this.indent === indent && !this.isElement(indent)) {
      const name = this.key()
      const isBelow = this.isBelow()
      set(object, name, isBelow ? this.below(indent, depth + 1) : this.line(indent, depth + 1))
    }
    if (this.indent > indent) throw notPlain
    return object
  }

  /** Parses what follows a dash: it may be a map or a list. */
  #inline(column: number, indent: number, depth: number): JsonValue {
    this.indent = column
    const at = this.#at
    if (this.isElement(column)) return this.block(column, depth)
    const name = this.#word(false) ?? this.#match(keyInBlock)
    this.#at = at
    return name === undefined ? this.line(indent, depth) : this.block(column, depth)
  }

  /** Parses a value that ends with its line; no deeper line may follow. */
  line(indent: number, depth: number): JsonValue {
    const value = this.#scalar(false, depth)
    this.#endLine()
    if (this.indent > indent) throw notPlain
    return value
  }

  #scalar(isFlow: boolean, depth: number): JsonValue {
    switch (this.text[this.#at]) {
      case '"': {
        const text = this.#match(doubleQuoted)
        if (text === undefined) throw notPlain
        if (!text.includes("\\")) return text
        const read: unknown = JSON.parse(`"${text}"`)
        return typeof read === "string" ? read : text
      }
      case "'": {
        const text = this.#match(singleQuoted)
        // A doubled quote is an escaped one.
        if (text === undefined || this.text[this.#at] === "'") throw notPlain
        return text
      }
      case "[":
        return this.#flowList(depth)
      case "{":
        return this.#flowMap(depth)
      default: {
        const text = this.#all(isFlow ? plainInFlow : plainInBlock)
        if (text === undefined || /^-(?:$|[ -])/.test(text)) throw notPlain
        return scalarOf(text)
      }
    }
  }

  #flowList(depth: number): Array<JsonValue> {
    const list: Array<JsonValue> = []
    this.#open(depth)
    if (this.#take("]")) return list
    for (;;) {
      list.push(this.#scalar(true, depth + 1))
      if (this.#isOver("]")) return list
    }
  }

  #flowMap(depth: number): JsonObject {
    const object: JsonObject = {}
    this.#open(depth)
    if (this.#take("}")) return object
    for (;;) {
      const name = this.#word(true) ?? this.#match(keyInFlow)
      if (name === undefined) throw notPlain
      set(object, name, this.#scalar(true, depth + 1))
      if (this.#isOver("}")) return object
    }
  }

  #open(depth: number): void {
    if (depth > deepest) throw notPlain
    this.#at++
    this.#spaces()
  }

  /** Whether a flow collection ends here; otherwise a comma was read. */
  #isOver(bracket: string): boolean {
    this.#spaces()
    if (this.#take(bracket)) return true
    if (!this.#take(",")) throw notPlain
    this.#spaces()
    return false
  }

  #take(character: string): boolean {
    if (this.text[this.#at] !== character) return false
    this.#at++
    return true
  }

  /** Skips spaces and returns their number; `undefined` at the end of the line. */
  #spaces(): number | undefined {
    const begin = this.#at
    while (this.text.charCodeAt(this.#at) === space) this.#at++
    const next = this.text[this.#at]
    if (next === undefined || next === "\n" || next === "\r" || (next === "#" && this.#at > begin)) return undefined
    return this.#at - begin
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.text)
    if (found === null) return undefined
    this.#at = pattern.lastIndex
    return found[1] ?? found[2] ?? found[3] ?? found[0]
  }

  /** The whole match of a pattern without groups. */
  #all(pattern: RegExp): string | undefined {
    const begin = this.#at
    pattern.lastIndex = begin
    if (!pattern.test(this.text)) return undefined
    this.#at = pattern.lastIndex
    return this.text.slice(begin, this.#at)
  }

  #endLine(): void {
    lineEnd.lastIndex = this.#at
    if (!lineEnd.test(this.text)) throw notPlain
    this.#at = lineEnd.lastIndex
    this.#beginLine()
  }

  /** Skips the rest of a line, which may only be a comment. */
  #nextLine(): void {
    const end = this.text.indexOf("\n", this.#at)
    this.#at = end < 0 ? this.text.length : end + 1
    this.#beginLine()
  }

  /** Skips empty lines, and the indentation of the next one. */
  #beginLine(): void {
    for (;;) {
      const begin = this.#at
      while (this.text.charCodeAt(this.#at) === space) this.#at++
      const next = this.text[this.#at]
      this.indent = next === undefined ? -1 : this.#at - begin
      if (next === "\t") throw notPlain
      if (next !== "\n" && next !== "\r" && next !== "#") return
      const end = this.text.indexOf("\n", this.#at)
      this.#at = end < 0 ? this.text.length : end + 1
    }
  }
}
