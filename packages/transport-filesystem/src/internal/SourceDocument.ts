/** A parsed document that still knows where its values stand in the text. */
import type { JsonValue } from "@bufbuild/protobuf"

/** The way to a value inside a document: keys of objects, indexes of lists. */
export type Path = ReadonlyArray<string | number>

export interface SourceDocument {
  readonly value: JsonValue
  /** Where the document begins. */
  readonly start: number
  /** Where the value at a path stands, or its key; the nearest one around it that has a place of its own. */
  readonly offsetOf: (path: Path, what: "key" | "value") => number
}

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
