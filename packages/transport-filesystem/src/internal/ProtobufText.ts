/** Reads the protobuf text format, with every type that the text names loaded, and finds where it is wrong. */
import type { DescMessage, Message, Registry } from "@bufbuild/protobuf"
import { fromText } from "@bufbuild/protobuf/txtpb"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Either from "effect/Either"
import type { SyntaxProblem } from "./SourceDocument.js"

/** `[type.googleapis.com/envoy…]`: more may be found than are types, which costs a look-up. */
const bracketed = /\[\s*([\w.%~-]+(?:\s*\/\s*[\w.%~-]+)*)\s*\]/g

/** A registry that knows the types which a text names in brackets. */
export const registryFor = async (text: string): Promise<Registry> => {
  const names = new Set(Array.from(text.matchAll(bracketed), ([, name = ""]) => name.replace(/\s/g, "")))
  for (const name of names) await TypeRegistry.load(name)
  return TypeRegistry.forJson({})
}

/** The message type that a header comment names: `# proto-message: envoy.config.cluster.v3.Cluster`. */
export const headerType = (text: string): string | undefined =>
  /^(?:[^\S\n]*(?:#[^\n]*)?\n)*?#[ \t]*proto-message:[ \t]*([\w.]+)/.exec(text)?.[1]

/** Whether there is more than comments and space. */
export const isEmpty = (text: string): boolean => /^\s*(?:#[^\n]*(?:\n\s*|$))*$/.test(text)

/** Whether the text begins with the type of an `Any`: `[type.googleapis.com/…] { … }`. */
export const isAny = (text: string): boolean => /^\s*(?:#[^\n]*\n\s*)*\[/.test(text)

const failureOf = (schema: DescMessage, text: string, registry: Registry): string | undefined => {
  try {
    fromText(schema, text, { registry })
    return undefined
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause)
  }
}

/**
 * The parser does not say where it stopped. But it reads from left to right: a text that is cut after that point is
 * refused in the same words, and one that is cut before it in others.
 */
const offsetOf = (schema: DescMessage, text: string, registry: Registry, failure: string): number => {
  if (failure.startsWith("unexpected end of input")) return text.trimEnd().length
  let before = 0
  let after = text.length
  while (after - before > 1) {
    const middle = (before + after) >> 1
    if (failureOf(schema, text.slice(0, middle), registry) === failure) after = middle
    else before = middle
  }
  return startOfWord(text, after)
}

/** From the end of a word or string to its start, on its line. */
const startOfWord = (text: string, end: number): number => {
  const line = text.slice(text.lastIndexOf("\n", end - 1) + 1, end)
  const word = /(?:"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[\w.+-]+|.)$/.exec(line)?.[0] ?? ""
  return end - word.length
}

/** A word that could be the name of a field or of an enum's value. */
const plain = /^[A-Za-z][A-Za-z_]{0,63}$/

/**
 * The parser's words, without what they quote: the token where it stopped may be a key or a password whose quotes were
 * forgotten. What is wrong stands in the line that is told with it.
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

/** The name of a type or a field, as the parser's words are full of. */
const isName = (token: string): boolean =>
  /^(?:type\.googleapis\.com\/)?(?:[a-z]\w*\.)+[\w.]+$/.test(token) || /^[a-z][a-z_]+\d?$/.test(token)

export const parse = (schema: DescMessage, text: string, registry: Registry): Either.Either<Message, SyntaxProblem> => {
  try {
    return Either.right(fromText(schema, text, { registry }))
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause)
    return Either.left({
      offset: offsetOf(schema, text, registry, detail),
      detail: withoutQuotes(detail).slice(0, 300)
    })
  }
}
