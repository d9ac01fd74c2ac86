/** Reads YAML 1.2 documents, with anchors and merge keys, as the JSON values they stand for, and keeps where they stand. */
import type { JsonValue } from "@bufbuild/protobuf"
import * as Either from "effect/Either"
import type { Document } from "yaml"
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

const documentOf = (text: string, document: Document.Parsed): Either.Either<SourceDocument, SyntaxProblem> => {
  const start = document.contents?.range[0] ?? document.range[0]
  const problem = document.errors[0] ?? document.warnings.find(({ code }) => code === "TAG_RESOLVE_FAILED")
  if (problem !== undefined) return Either.left({ offset: problem.pos[0], detail: problem.message })
  try {
    // The bound on aliases is ours: the library's counts every use of an anchor.
    const value = toJson(document.toJS({ maxAliasCount: -1 }), { left: maxValues(text) })
    return Either.right({ value, start, offsetOf: offsetIn(document, start) })
  } catch (cause) {
    return Either.left({ offset: start, detail: cause instanceof Error ? cause.message : String(cause) })
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
    const detail = cause instanceof Error ? cause.message : String(cause)
    return Either.left({ offset: 0, detail: `it cannot be read as YAML: ${detail}` })
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
