/** A parsed document with the offsets of its values in the text. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"

/** The path of a value in a document: object keys and list indexes. */
export type Path = ReadonlyArray<string | number>

export interface SourceDocument {
  /** Without the elements that were yielded as parts before. */
  readonly value: JsonValue
  /** The offset where the document begins. */
  readonly start: number
  readonly offsetOf: OffsetOf
}

/** The offset of the value at a path, or of its key; otherwise that of the nearest enclosing value with an offset. */
export type OffsetOf = (path: Path, what: "key" | "value") => number

/**
 * A part of a parsed text, in order. ★ If the document is a list or has `resources`, their elements come one by one
 * before the document: a hundred thousand of them are never in memory together, and others run in between.
 */
export type Part =
  | { readonly _tag: "Element"; readonly path: Path; readonly value: JsonValue; readonly offsetOf: OffsetOf }
  | { readonly _tag: "Document"; readonly document: SourceDocument }
  /** Mistakes in a document or a part of it. */
  | { readonly _tag: "Wrong"; readonly problems: ReadonlyArray<SyntaxProblem> }
  /** The elements of this document so far are dropped: it is parsed again from its start in another way. */
  | { readonly _tag: "Again" }

export const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** Whether the `resources` of an object come one by one: only those of a DiscoveryResponse. */
export const isResponseType = (type: JsonValue | undefined): boolean =>
  type === undefined ||
  (typeof type === "string" && /(?:^|\/)envoy\.service\.discovery\.v3\.DiscoveryResponse$/.test(type))

/** A mistake in the syntax of a text. */
export interface SyntaxProblem {
  readonly offset: number
  readonly detail: string
}

/** Deeper documents are refused, because parsers and readers recurse. protobuf-es reads 100 messages deep. */
export const maxDepth = 250

/** The message for documents that are nested too deep. */
export const tooDeep = `nested deeper than ${maxDepth} levels; nothing in xDS is`

/** With the flag `u` a pair of surrogates is one character. */
const halfPair = /\p{Surrogate}/u

/** Whether a text cannot be written as UTF-8. */
export const isNoText = (text: string): boolean => halfPair.test(text)

/** What such a text has. */
export const noText = "half of a surrogate pair, which is no character"

/** A path as text: `resources[2].loadAssignment`. */
export const formatPath = (path: Path): string => {
  let text = ""
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`
    else if (/^[@\w-]+$/.test(part)) text += text === "" ? part : `.${part}`
    else text += `[${JSON.stringify(part)}]`
  }
  return text
}

/** Line and column of an offset, both from 1; columns count UTF-16 units. */
export const positionAt = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  let line = 1
  let begin = 0
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", begin)) {
    line++
    begin = at + 1
  }
  return { line, column: Math.max(0, offset - begin) + 1 }
}
