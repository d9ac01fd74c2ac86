/** A parsed document that still knows where its values stand in the text. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"

/** The way to a value inside a document: keys of objects, indexes of lists. */
export type Path = ReadonlyArray<string | number>

export interface SourceDocument {
  /** Without the elements that were told as parts before. */
  readonly value: JsonValue
  /** Where the document begins. */
  readonly start: number
  readonly offsetOf: OffsetOf
}

/** Where the value at a path stands, or its key; the nearest one around it that has a place of its own. */
export type OffsetOf = (path: Path, what: "key" | "value") => number

/**
 * What is read of a text, in its order. ★ The elements of the list that a document is, or of its `resources`, come one by
 * one, before the document: a hundred thousand of them are never there at once, and others run in between.
 */
export type Part =
  | { readonly _tag: "Element"; readonly path: Path; readonly value: JsonValue; readonly offsetOf: OffsetOf }
  | { readonly _tag: "Document"; readonly document: SourceDocument }
  /** A document that cannot be read, or a part of it. */
  | { readonly _tag: "Wrong"; readonly problems: ReadonlyArray<SyntaxProblem> }
  /** The elements of this document that were told are to be forgotten: it is read from its start in another way. */
  | { readonly _tag: "Again" }

export const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** Whether the `resources` of an object are told one by one: those of a DiscoveryResponse. */
export const isResponseType = (type: JsonValue | undefined): boolean =>
  type === undefined ||
  (typeof type === "string" && /(?:^|\/)envoy\.service\.discovery\.v3\.DiscoveryResponse$/.test(type))

/** A text that is not in its format. */
export interface SyntaxProblem {
  readonly offset: number
  readonly detail: string
}

/** Documents that are nested deeper are refused: parsers and readers of them recurse. protobuf-es reads 100 messages deep. */
export const maxDepth = 250

/** How nesting without end is told. */
export const tooDeep = `nested deeper than ${maxDepth} levels; nothing in xDS is`

/** A path as people write it: `resources[2].loadAssignment`. */
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
