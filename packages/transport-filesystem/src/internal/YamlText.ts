/** Reads YAML 1.2 documents, with anchors and merge keys, as the JSON values they stand for, and keeps where they stand. */
import type { JsonValue } from "@bufbuild/protobuf"
import * as Either from "effect/Either"
import type { Document, YAMLError } from "yaml"
import { isMap, isNode, isScalar, isSeq, parseAllDocuments } from "yaml"
import type { Path, SourceDocument, SyntaxProblem } from "./SourceDocument.js"
import { maxDepth } from "./SourceDocument.js"

/** A value that has no place in JSON, or too much of it. */
class Refused extends Error {}

/** Values of a text: aliases may multiply them, but not without a bound. */
const maxValues = (text: string): number => 100_000 + 4 * text.length

const toJson = (value: unknown, budget: { left: number }, depth = 0): JsonValue => {
  if (depth > maxDepth) throw new Refused(`nested deeper than ${maxDepth} levels`)
  if (--budget.left < 0) throw new Refused("its aliases stand for too many values; write them out")
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      // As proto3 JSON writes them.
      return Number.isFinite(value) ? value : Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"
    case "bigint":
      // 64-bit numbers are strings in proto3 JSON.
      return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
    case "object":
      if (value === null) return null
      if (Array.isArray(value)) return value.map((item) => toJson(item, budget, depth + 1))
      if (Object.getPrototypeOf(value) !== Object.prototype) break
      return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toJson(item, budget, depth + 1)]))
    default:
      break
  }
  throw new Refused("a value with a YAML tag has no place here; write it as a string")
}

const offsetIn =
  (document: Document.Parsed, start: number) =>
  (path: Path, what: "key" | "value"): number => {
    let offset = start
    let node: unknown = document.contents
    for (const [index, part] of path.entries()) {
      if (isSeq(node) && typeof part === "number") {
        node = node.items[part]
      } else if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && key.value === part)
        const isKey = what === "key" && index === path.length - 1
        // A key without a value has a place, its value has none of its own.
        node = isKey || !isNode(pair?.value) ? pair?.key : pair.value
      } else {
        break
      }
      const range = isNode(node) ? node.range : undefined
      if (range == null) break
      offset = range[0]
    }
    return offset
  }

/** The library's words, without what they quote of the text: it may be a key or a password whose quotes were forgotten. */
const detailOf = ({ code, message }: YAMLError): string => {
  switch (code) {
    case "TAG_RESOLVE_FAILED":
      return 'this tag is not known; a string that begins with "!" goes in quotes'
    case "BAD_ALIAS":
      return 'this alias cannot be read; a string that begins with "*" or "&" goes in quotes'
    case "BAD_DQ_ESCAPE":
      return "this is no escape sequence in double quotes; write \\\\ for a backslash"
    case "UNEXPECTED_TOKEN":
    case "BAD_DIRECTIVE":
      return message.replace(/(?:: |\bYAML version |\bdirective %?)[\s\S]*$/, "")
    default:
      return message
  }
}

const documentOf = (text: string, document: Document.Parsed): Either.Either<SourceDocument, SyntaxProblem> => {
  const start = document.contents?.range[0] ?? document.range[0]
  const problem = document.errors[0] ?? document.warnings.find(({ code }) => code === "TAG_RESOLVE_FAILED")
  if (problem !== undefined) return Either.left({ offset: problem.pos[0], detail: detailOf(problem) })
  try {
    // The bound on aliases is ours: the library's counts every use of an anchor.
    const value = toJson(document.toJS({ maxAliasCount: -1 }), { left: maxValues(text) })
    return Either.right({ value, start, offsetOf: offsetIn(document, start) })
  } catch (cause) {
    const detail =
      cause instanceof Refused
        ? cause.message
        : cause instanceof ReferenceError
          ? 'an alias has no anchor before it; a string that begins with "*" goes in quotes'
          : "its values cannot be read; write it without anchors and tags"
    return Either.left({ offset: start, detail })
  }
}

const isEmpty = ({ contents, errors }: Document.Parsed): boolean =>
  errors.length === 0 &&
  (contents === null || (isScalar(contents) && contents.value === null && contents.source === ""))

/** The documents of a text, without those that hold nothing. */
export const parse = (text: string): Either.Either<ReadonlyArray<SourceDocument>, SyntaxProblem> => {
  let documents: ReadonlyArray<Document.Parsed>
  try {
    documents = parseAllDocuments(text, {
      prettyErrors: false,
      logLevel: "silent",
      merge: true,
      stringKeys: true,
      intAsBigInt: true
    })
  } catch (cause) {
    // The library recurses: nesting without end overflows the stack.
    const why = cause instanceof RangeError ? "it is nested too deep" : "its parser failed"
    return Either.left({ offset: 0, detail: `it cannot be read as YAML: ${why}` })
  }
  const parsed: Array<SourceDocument> = []
  for (const document of documents) {
    if (isEmpty(document)) continue
    const result = documentOf(text, document)
    if (Either.isLeft(result)) return Either.left(result.left)
    parsed.push(result.right)
  }
  return Either.right(parsed)
}
