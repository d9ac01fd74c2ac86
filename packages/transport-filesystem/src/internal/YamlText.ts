/** Reads YAML 1.2 documents, with anchors and merge keys, as the JSON values they stand for, and keeps where they stand. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import * as Either from "effect/Either"
import type { CST, Document, YAMLError } from "yaml"
import { Composer, isAlias, isMap, isNode, isScalar, isSeq, Parser, Schema } from "yaml"
import type { Path, SourceDocument, SyntaxProblem } from "./SourceDocument.js"
import { maxDepth, tooDeep } from "./SourceDocument.js"

/** A value that has no place in JSON, or too much of it. */
class Refused extends Error {
  constructor(
    readonly path: Path,
    message: string
  ) {
    super(message)
  }
}

/** Values of a text: aliases may multiply them, but not without a bound. */
const maxValues = (text: string): number => 100_000 + 4 * text.length

/** A scalar as proto3 JSON writes it. */
const scalarOf = (value: unknown): JsonValue | undefined => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"
    case "bigint":
      // 64-bit numbers are strings in proto3 JSON.
      return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
    default:
      return value === null ? null : undefined
  }
}

const isObject = (json: JsonValue): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** What an anchor stands for. */
interface Anchored {
  readonly json: JsonValue
  readonly depth: number
  readonly values: number
}

/**
 * Makes JSON of the nodes of one document. What an alias stands for is made once and shared. ★ It is counted every time,
 * since whoever reads the JSON comes by it every time; merge keys, too, may multiply values without end.
 */
class Conversion {
  /** Of anchors that were met; `undefined`: it is not over yet. */
  readonly #anchors = new Map<string, Anchored | undefined>()
  readonly #path: Array<string | number> = []
  #values = 0
  /** Of the value that was made last. */
  #depth = 0

  constructor(readonly maxValues: number) {}

  node(node: unknown): JsonValue {
    if (isAlias(node)) return this.#alias(node.source)
    const anchor = isNode(node) && !isAlias(node) ? node.anchor : undefined
    if (anchor === undefined) return this.#value(node)
    this.#anchors.set(anchor, undefined)
    const before = this.#values
    const json = this.#value(node)
    this.#anchors.set(anchor, { json, depth: this.#depth, values: this.#values - before })
    return json
  }

  #alias(name: string): JsonValue {
    if (!this.#anchors.has(name))
      throw this.#refuse('there is no anchor before this alias; a string that begins with "*" goes in quotes')
    const anchored = this.#anchors.get(name)
    if (anchored === undefined) throw this.#refuse("this alias stands inside of what it stands for")
    this.#count(anchored.values)
    this.#depth = anchored.depth
    if (this.#path.length + anchored.depth > maxDepth) throw this.#refuse(tooDeep)
    return anchored.json
  }

  #value(node: unknown): JsonValue {
    this.#count(1)
    if (isSeq(node)) {
      let depth = 0
      const list = node.items.map((item, index) => {
        const json = this.#below(index, item)
        depth = Math.max(depth, this.#depth + 1)
        return json
      })
      this.#depth = depth
      return list
    }
    if (isMap(node)) {
      let depth = 0
      const object: JsonObject = {}
      for (const { key, value } of node.items) {
        if (isMergeKey(key)) {
          this.#merge(object, value)
        } else {
          // Keys are read as text, whatever they look like; none is null.
          const name = isScalar(key) && typeof key.value === "string" ? key.value : ""
          set(object, name, this.#below(name, value))
        }
        depth = Math.max(depth, this.#depth + 1)
      }
      this.#depth = depth
      return object
    }
    this.#depth = 0
    const json = scalarOf(isScalar(node) ? node.value : node)
    if (json === undefined) throw this.#refuse("a value with a YAML tag has no place here; write it as a string")
    return json
  }

  #below(part: string | number, node: unknown): JsonValue {
    if (this.#path.length >= maxDepth) throw this.#refuse(tooDeep)
    this.#path.push(part)
    const json = this.node(node ?? null)
    this.#path.pop()
    return json
  }

  /** Keys that are there already stay. */
  #merge(object: JsonObject, node: unknown): void {
    const json = this.#below("<<", node)
    for (const source of Array.isArray(json) ? json : [json]) {
      if (!isObject(source)) throw this.#refuse("<< merges objects, or aliases of them")
      for (const [key, value] of Object.entries(source)) if (!Object.hasOwn(object, key)) set(object, key, value)
    }
  }

  #count(values: number): void {
    this.#values += values
    if (this.#values > this.maxValues) throw this.#refuse("its aliases stand for too many values; write them out")
  }

  #refuse(detail: string): Refused {
    // A copy: the path goes on being used.
    return new Refused(Array.from(this.#path), detail)
  }
}

const set = (object: JsonObject, name: string, value: JsonValue): void => {
  // An assignment of this one is no property.
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true })
  else object[name] = value
}

/** `<<`, not in quotes. */
const isMergeKey = (key: unknown): boolean =>
  isScalar(key) &&
  (key.type === undefined || key.type === "PLAIN") &&
  (key.value === "<<" || (typeof key.value === "symbol" && key.value.description === "<<"))

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

/** Where the library's words are not those of people who write YAML, or quote what they are about. */
const words = new Map<string, string>([
  ["NON_STRING_KEY", "this key is no text; a list or an object cannot be a key"],
  ["DUPLICATE_KEY", "this key stands twice in its object; keep one"],
  ["TAB_AS_INDENT", "a tab indents this line; YAML takes only spaces"],
  ["KEY_OVER_1024_CHARS", "this key is longer than 1024 characters; a quote or a colon may be missing"],
  ["TAG_RESOLVE_FAILED", 'this tag is not known; a string that begins with "!" goes in quotes'],
  ["BAD_ALIAS", 'this alias cannot be read; a string that begins with "*" or "&" goes in quotes'],
  ["BAD_DQ_ESCAPE", "this is no escape sequence in double quotes; write \\\\ for a backslash"]
])

/** Without what is quoted of the text: it may be a key or a password whose quotes were forgotten. */
const detailOf = ({ code, message }: YAMLError): string =>
  words.get(code) ??
  (code === "UNEXPECTED_TOKEN" || code === "BAD_DIRECTIVE"
    ? message.replace(/(?:: |\bYAML version |\bdirective %?)[\s\S]*$/, "")
    : message)

/** What is wrong with the syntax of a document, each place once. */
const problemsOf = ({ errors, warnings }: Document.Parsed): ReadonlyArray<SyntaxProblem> => {
  const found = [...errors, ...warnings.filter(({ code }) => code === "TAG_RESOLVE_FAILED")]
  const problems = new Map<number, SyntaxProblem>()
  for (const error of found) {
    const [offset] = error.pos
    if (!problems.has(offset)) problems.set(offset, { offset, detail: detailOf(error) })
  }
  return Array.from(problems.values())
}

const documentOf = (
  text: string,
  document: Document.Parsed
): Either.Either<SourceDocument, ReadonlyArray<SyntaxProblem>> => {
  const start = document.contents?.range[0] ?? document.range[0]
  const problems = problemsOf(document)
  if (problems.length > 0) return Either.left(problems)
  const offsetOf = offsetIn(document, start)
  try {
    const value = new Conversion(maxValues(text)).node(document.contents)
    return Either.right({ value, start, offsetOf })
  } catch (cause) {
    return Either.left([
      cause instanceof Refused
        ? { offset: offsetOf(cause.path, "value"), detail: cause.message }
        : { offset: start, detail: "its values cannot be read; write it without anchors and tags" }
    ])
  }
}

const isEmpty = ({ contents, errors }: Document.Parsed): boolean =>
  errors.length === 0 &&
  (contents === null || (isScalar(contents) && contents.value === null && contents.source === ""))

/**
 * Where a document is nested too deep; `undefined`: nowhere. ★ What composes it recurses, and nesting without end ends
 * the process, not only the call.
 */
const deepAt = (document: CST.Document): number | undefined => {
  let level: ReadonlyArray<CST.Token> = document.value === undefined ? [] : [document.value]
  for (let depth = 0; level.length > 0; depth++) {
    const [first] = level
    if (depth > maxDepth) return first?.offset ?? document.offset
    const next: Array<CST.Token> = []
    for (const token of level) {
      if (!("items" in token)) continue
      for (const { key, value } of token.items) {
        if (key != null) next.push(key)
        if (value !== undefined) next.push(value)
      }
    }
    level = next
  }
  return undefined
}

/** What the plain scalars of YAML 1.2 stand for. One for all documents: making it takes longer than reading a small one. */
const schema = new Schema({ schema: "core", resolveKnownTags: true, merge: true })

const options = {
  prettyErrors: false,
  logLevel: "silent",
  merge: true,
  stringKeys: true,
  intAsBigInt: true,
  schema
} as const

type Parsed = Either.Either<SourceDocument, ReadonlyArray<SyntaxProblem>>

/** The documents in a text that is read as one stream. */
const stream = function* (text: string): Generator<Parsed, void> {
  const composer = new Composer(options)
  const read = (composed: Iterable<Document.Parsed>) =>
    Array.from(composed)
      .filter((document) => !isEmpty(document))
      .map((document) => documentOf(text, document))
  try {
    for (const token of new Parser().parse(text)) {
      const deep = token.type === "document" ? deepAt(token) : undefined
      if (deep !== undefined) {
        yield Either.left([{ offset: deep, detail: tooDeep }])
        return
      }
      yield* read(composer.next(token))
    }
    yield* read(composer.end(true, text.length))
  } catch (cause) {
    const why = cause instanceof RangeError ? tooDeep : "its parser failed"
    yield Either.left([{ offset: 0, detail: `it cannot be read as YAML: ${why}` }])
  }
}

/** A document as a part of a text, at an offset. */
const moved = (parsed: Parsed, by: number): Parsed =>
  Either.mapBoth(parsed, {
    onLeft: (problems) => problems.map(({ detail, offset }) => ({ detail, offset: offset + by })),
    onRight: ({ offsetOf, start, value }) => ({
      value,
      start: start + by,
      offsetOf: (path: Path, what: "key" | "value") => offsetOf(path, what) + by
    })
  })

/** Where lines begin that match. */
const linesOf = (text: string, line: RegExp): Array<number> => Array.from(text.matchAll(line), ({ index }) => index)

/** Elements of a list that are read at a time. */
const chunk = 20

/**
 * A long list whose elements each begin on a line of their own, read a few elements at a time: as one document it takes
 * twice as long and many times the memory. `undefined`: it is no such list, something in it is wrong, or its elements
 * are not for themselves because of anchors.
 */
const listIn = (text: string): SourceDocument | undefined => {
  if (!/^(?:---[^\S\n]*\n|[^\S\n]*(?:#[^\n]*)?\n)*-[ \n]/.test(text)) return undefined
  const starts = linesOf(text, /^-(?=[ \n])/gm)
  if (starts.length <= chunk || /(?:^|[\s[{,:])[&*]\S/m.test(text)) return undefined
  const chunkAt = (first: number): SourceDocument | undefined => {
    const begin = starts[first] ?? text.length
    const [parsed, more] = stream(text.slice(begin, starts[first + chunk] ?? text.length))
    if (parsed === undefined || more !== undefined) return undefined
    return Either.getOrUndefined(moved(parsed, begin))
  }
  const value: Array<JsonValue> = []
  const offsets: Array<number> = []
  for (let first = 0; first < starts.length; first += chunk) {
    const part = chunkAt(first)
    if (!Array.isArray(part?.value) || part.value.length !== Math.min(chunk, starts.length - first)) return undefined
    for (const [index, item] of part.value.entries()) {
      value.push(item)
      offsets.push(part.offsetOf([index], "value"))
    }
  }
  const [start = 0] = starts
  return {
    value,
    start,
    offsetOf: ([index, ...path], what) => {
      if (typeof index !== "number") return start
      const offset = offsets[index] ?? start
      return path.length === 0
        ? offset
        : (chunkAt(index - (index % chunk))?.offsetOf([index % chunk, ...path], what) ?? offset)
    }
  }
}

/** The documents of a text, one after the other, without those that hold nothing; or what is wrong with one. */
export const documents = function* (text: string): Generator<Parsed, void> {
  // A line that begins so ends a document, wherever it stands. Directives would be of the document that follows.
  const starts = /^%/m.test(text) ? [] : linesOf(text, /^---(?=\s|$)/gm)
  const bounds = [0, ...starts.filter((start) => start > 0), text.length]
  for (const [index, begin] of bounds.slice(0, -1).entries()) {
    const part = text.slice(begin, bounds[index + 1])
    const list = listIn(part)
    for (const parsed of list === undefined ? stream(part) : [Either.right(list)]) yield moved(parsed, begin)
  }
}
