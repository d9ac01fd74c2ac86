/** Parses the protobuf text format, loads every type that a text names, and locates mistakes. */
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf"
import { fromText } from "@bufbuild/protobuf/txtpb"
import * as Reason from "@effect-xds/proto/Reason"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Either from "effect/Either"
import type { Plain } from "./PlainProtobufText.js"
import type { SyntaxProblem } from "./SourceDocument.js"

/** `[type.googleapis.com/envoy…]`. It may match other brackets, which costs a look-up. */
const bracketed = /\[\s*([\w.%~-]+(?:\s*\/\s*[\w.%~-]+)*)\s*\]/g

/** A registry with the types that a text names in brackets. */
export const registryFor = async (text: string): Promise<Registry> => {
  const names = new Set(Array.from(text.matchAll(bracketed), ([, name = ""]) => name.replace(/\s/g, "")))
  for (const name of names) await TypeRegistry.load(name)
  return TypeRegistry.forJson({})
}

/** The message type that a header comment names: `# proto-message: envoy.config.cluster.v3.Cluster`. */
export const headerType = (text: string): string | undefined =>
  /^(?:[^\S\n]*(?:#[^\n]*)?\n)*?#[ \t]*proto-message:[ \t]*([\w.]+)/.exec(text)?.[1]

/** The offset after space and comments, or the end. */
const skipSpace = (text: string, from: number): number => {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === 0x23) {
      const end = text.indexOf("\n", at)
      at = end < 0 ? text.length : end + 1
    } else if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) {
      at++
    } else {
      return at
    }
  }
}

/** Whether a text has only comments and space. */
export const isEmpty = (text: string): boolean => skipSpace(text, 0) >= text.length

/** Whether the text begins with the type of an `Any`: `[type.googleapis.com/…] { … }`. */
export const isAny = (text: string): boolean => text[skipSpace(text, 0)] === "["

/** A top-level field of a text. */
export interface Field {
  readonly begin: number
  /** After its value and separator. */
  readonly end: number
  /** A single `resources` field, not a list of them. */
  readonly isResource: boolean
  /** A resource with its type in brackets. */
  readonly isExpanded: boolean
  /** The value of a resource that was already parsed. */
  readonly plain: Plain["value"] | undefined
}

const fieldName = /[A-Za-z_]\w*/y
const string = /"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"|'[^'\\\n]*(?:\\[^\n][^'\\\n]*)*'/y
const scalar = /[-+]?[\w.][\w.+-]*/y
const typed = /[{<]\s*\[/y

/** The end of a pattern's match at an offset, or -1. */
const endOf = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : -1
}

/** The end of a bracketed part, or -1. The parser checks that brackets match. */
const closeOf = (text: string, open: number): number => {
  let depth = 0
  for (let at = open; at < text.length;) {
    switch (text.charCodeAt(at)) {
      case 0x22:
      case 0x27:
        at = endOf(string, text, at)
        if (at < 0) return -1
        continue
      case 0x23:
        at = skipSpace(text, at)
        continue
      case 0x3c:
      case 0x5b:
      case 0x7b:
        depth++
        break
      case 0x3e:
      case 0x5d:
      case 0x7d:
        if (--depth === 0) return at + 1
        break
      default:
    }
    at++
  }
  return -1
}

const strings = (text: string, from: number): number => {
  let end = -1
  for (let at = from; at >= 0; at = endOf(string, text, skipSpace(text, at))) end = at
  return end
}

const fieldAt = (text: string, begin: number): Field | undefined => {
  const nameEnd = endOf(fieldName, text, begin)
  if (nameEnd < 0) return undefined
  let at = skipSpace(text, nameEnd)
  const hasColon = text[at] === ":"
  if (hasColon) at = skipSpace(text, at + 1)
  const first = text[at]
  const isMessage = first === "{" || first === "<"
  const valueEnd =
    isMessage || first === "["
      ? closeOf(text, at)
      : !hasColon
        ? -1
        : first === '"' || first === "'"
          ? strings(text, endOf(string, text, at))
          : endOf(scalar, text, at)
  if (valueEnd < 0) return undefined
  const next = skipSpace(text, valueEnd)
  return {
    begin,
    end: text[next] === "," || text[next] === ";" ? next + 1 : valueEnd,
    isResource: isMessage && nameEnd - begin === 9 && text.startsWith("resources", begin),
    isExpanded: endOf(typed, text, at) >= 0,
    plain: undefined
  }
}

const plainAt = (text: string, begin: number, resourceAt: (begin: number) => Plain | undefined): Field | undefined => {
  const plain = text.startsWith("resources", begin) ? resourceAt(begin) : undefined
  if (plain === undefined) return undefined
  const next = text[skipSpace(text, plain.end)]
  return next === "," || next === ";"
    ? undefined
    : { begin, end: plain.end, isResource: true, isExpanded: true, plain: plain.value }
}

/**
 * The top-level fields of a text, one by one: parsing all at once would take too long. ★ Everything uncertain, up to
 * the end, is returned as one field; the parser decides what it means. A resource that `resourceAt` parses is not
 * scanned again.
 */
export const fields = function* (
  text: string,
  resourceAt: (begin: number) => Plain | undefined
): Generator<Field, void> {
  for (let begin = skipSpace(text, 0); begin < text.length;) {
    const field = plainAt(text, begin, resourceAt) ?? fieldAt(text, begin)
    if (field === undefined) {
      yield { begin, end: text.length, isResource: false, isExpanded: false, plain: undefined }
      return
    }
    yield field
    begin = skipSpace(text, field.end)
  }
}

/** Fields that are parsed together. */
export class Rest {
  readonly #fields: Array<Field> = []
  #whole: string | undefined

  constructor(readonly source: string) {}

  add(field: Field): void {
    this.#fields.push(field)
  }

  get text(): string {
    return (this.#whole ??= this.#fields.map(({ begin, end }) => this.source.slice(begin, end)).join("\n"))
  }

  /** The offset in the source of an offset in the joined fields. */
  offsetOf(offset: number): number {
    let before = 0
    for (const { begin, end } of this.#fields) {
      if (offset <= before + end - begin) return begin + offset - before
      before += end - begin + 1
    }
    return this.source.length
  }
}

const failureOf = (schema: DescMessage, text: string, registry: Registry): string | undefined => {
  try {
    fromText(schema, text, { registry })
    return undefined
  } catch (cause) {
    return Reason.of(cause)
  }
}

/**
 * Finds where the parser stopped, which it does not say. It reads from left to right: a text cut after that point fails
 * with the same message, and one cut before it with another.
 */
const offsetOf = (schema: DescMessage, text: string, registry: Registry, failure: string): number => {
  if (failure.startsWith("unexpected end of input")) return text.trimEnd().length
  let before = 0
  // Most mistakes are early, and each attempt parses everything before.
  let after = Math.min(1_024, text.length)
  while (after < text.length && failureOf(schema, text.slice(0, after), registry) !== failure) {
    before = after
    after = Math.min(2 * after, text.length)
  }
  while (after - before > 1) {
    const middle = (before + after) >> 1
    if (failureOf(schema, text.slice(0, middle), registry) === failure) after = middle
    else before = middle
  }
  return startOfWord(text, after)
}

/** A word, a string, which may lack its end, or another character. */
const token = /"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?|[\w.+-]+|./sy

/**
 * The start of the word or string that ends here. ★ It is found from the start of its line, token by token: a search
 * from its end would try each character before it as the start, and take the square of a long line.
 */
const startOfWord = (text: string, end: number): number => {
  const begin = text.lastIndexOf("\n", end - 1) + 1
  const line = text.slice(begin, end)
  let start = 0
  for (let at = 0; at >= 0 && at < line.length; at = endOf(token, line, at)) start = at
  return begin + start
}

/** A word that could be a field name or an enum value. */
const plain = /^[A-Za-z][A-Za-z_]{0,63}$/

/**
 * The parser's message without quotations: the token where it stopped may be a key or a password with missing quotes.
 * The reported line shows what is wrong.
 */
const withoutQuotes = (message: string): string =>
  message
    .replace(/, got -?"(.*)"$/s, (_, token: string) => {
      if (/^[-\d.]/.test(token)) return ", got a number"
      return /^[A-Za-z_]/.test(token) ? ", got a word that is not in quotes" : `, got "${token.slice(0, 1)}"`
    })
    .replace(
      /^(unknown field) "(.*)" (for (?:message )?(\S+)|in map entry)/s,
      (_, what: string, name: string, rest: string, type: string | undefined) =>
        plain.test(name) && type !== undefined && !type.endsWith(".DataSource")
          ? `${what} "${name}" ${rest}`
          : `${what} ${rest}`
    )
    .replace(/"-?([^"]*)"/g, (quote, token: string) =>
      token.length <= 1 || plain.test(token) || isName(token) ? quote : "this"
    )
    .replace(/(enum value) "(?![A-Z_]+")[^"]*"/, "$1")
    .replace(/(?:\binvalid (?:unicode |hex )?escape|octal escape) \\.*$/s, "invalid escape in a string")
    .replace(/(cannot specify field by number): .*$/s, "$1")

/** Whether a token is a type or field name, which the parser's messages contain. */
const isName = (token: string): boolean =>
  /^(?:type\.googleapis\.com\/)?(?:[a-z]\w*\.)+[\w.]+$/.test(token) || /^[a-z][a-z_]+\d?$/.test(token)

export const parse = (schema: DescMessage, text: string, registry: Registry): Either.Either<Message, SyntaxProblem> => {
  try {
    return Either.right(fromText(schema, text, { registry }))
  } catch (cause) {
    const detail = Reason.of(cause)
    return Either.left({
      offset: offsetOf(schema, text, registry, detail),
      detail: withoutQuotes(detail).slice(0, 300)
    })
  }
}
