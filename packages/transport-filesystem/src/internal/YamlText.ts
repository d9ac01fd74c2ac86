/** Parses YAML 1.2 documents, with anchors and merge keys, to JSON values with their offsets. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import * as Either from "effect/Either"
import type { CST, Document, YAMLError } from "yaml"
import { Composer, isAlias, isMap, isNode, isScalar, isSeq, Parser, Schema } from "yaml"
import * as PlainYaml from "./PlainYaml.js"
import type { OffsetOf, Part, Path, SourceDocument, SyntaxProblem } from "./SourceDocument.js"
import { isObject, isResponseType, maxDepth, tooDeep } from "./SourceDocument.js"

/** A value without a JSON form, or too many values. */
class Refused extends Error {
  constructor(
    readonly path: Path,
    message: string
  ) {
    super(message)
  }
}

/** The most values of a text: aliases may multiply them only up to this. */
const maxValues = (text: string): number => 100_000 + 4 * text.length

/** A scalar in proto3 JSON. */
const scalarOf = (value: unknown): JsonValue | undefined => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity"
    case "bigint":
      // proto3 JSON writes 64-bit numbers as strings.
      return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
    default:
      return value === null ? null : undefined
  }
}

/** The value of an anchor. */
interface Anchored {
  readonly json: JsonValue
  readonly depth: number
  readonly values: number
}

/**
 * Converts the nodes of a document to JSON. The value of an anchor is converted once and shared. ★ Its size counts at
 * every alias, since every reader of the JSON visits it each time; merge keys may multiply values in the same way.
 */
class Conversion {
  /** Known anchors; `undefined` while the anchor is being converted. */
  readonly #anchors = new Map<string, Anchored | undefined>()
  readonly #path: Array<string | number> = []
  #values = 0
  /** The depth of the last converted value. */
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
          // Every key is read as text, whatever its form; none is null.
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
    this.#path.push(part)
    const json = this.node(node ?? null)
    this.#path.pop()
    return json
  }

  /** Merges keys; existing ones stay. */
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
    // A copy: the path is still being changed.
    return new Refused(Array.from(this.#path), detail)
  }
}

const set = (object: JsonObject, name: string, value: JsonValue): void => {
  // Assigning `__proto__` would create no property.
  if (name === "__proto__") Object.defineProperty(object, name, { value, enumerable: true, configurable: true })
  else object[name] = value
}

/** Whether a key is an unquoted `<<`. */
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
        // A key without a value has an offset, but its value has none.
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

/** Replacements for messages of the library that are unclear to authors of YAML, or that quote the text. */
const words = new Map<string, string>([
  ["NON_STRING_KEY", "this key is no text; a list or an object cannot be a key"],
  ["DUPLICATE_KEY", "this key stands twice in its object; keep one"],
  ["TAB_AS_INDENT", "a tab indents this line; YAML takes only spaces"],
  ["KEY_OVER_1024_CHARS", "this key is longer than 1024 characters; a quote or a colon may be missing"],
  ["TAG_RESOLVE_FAILED", 'this tag is not known; a string that begins with "!" goes in quotes'],
  ["BAD_ALIAS", 'this alias cannot be read; a string that begins with "*" or "&" goes in quotes'],
  ["BAD_DQ_ESCAPE", "this is no escape sequence in double quotes; write \\\\ for a backslash"]
])

/** The message without quotations: the text may be a key or a password with missing quotes. */
const detailOf = ({ code, message }: YAMLError): string =>
  words.get(code) ??
  (code === "UNEXPECTED_TOKEN" || code === "BAD_DIRECTIVE"
    ? message.replace(/(?:: |\bYAML version |\bdirective %?)[\s\S]*$/, "")
    : message)

/** The syntax mistakes of a document, one per offset. */
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
 * The offset where a document is nested too deep, if it is. ★ The composer recurses, and unbounded nesting would end
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

/** The core schema of YAML 1.2. Shared: creating it takes longer than reading a small document. */
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

/** Parses all documents of a text with the complete parser. */
export const stream = function* (text: string): Generator<Parsed, void> {
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

/** A part, moved by an offset. */
const moved = (part: Part, by: number): Part => {
  if (part._tag === "Again" || by === 0) return part
  if (part._tag === "Wrong") {
    return { ...part, problems: part.problems.map(({ detail, offset }) => ({ detail, offset: offset + by })) }
  }
  const { offsetOf } = part._tag === "Element" ? part : part.document
  const movedOf: OffsetOf = (path, what) => offsetOf(path, what) + by
  return part._tag === "Element"
    ? { ...part, offsetOf: movedOf }
    : { ...part, document: { value: part.document.value, start: part.document.start + by, offsetOf: movedOf } }
}

const partOf = (parsed: Parsed): Part =>
  Either.match(parsed, {
    onLeft: (problems): Part => ({ _tag: "Wrong", problems }),
    onRight: (document): Part => ({ _tag: "Document", document })
  })

/** The length below which a text that is not plain is parsed as a whole, so that all of its mistakes are found. */
const short = 32_768

/** Elements that are parsed before others may run. */
const atATime = 50

/** The number of mistakes after which parsing stops. */
const maxProblems = 100

/** A list that is parsed element by element. */
interface Elements {
  /** The offset of each element. */
  readonly offsets: Array<number>
  /** The start of each element's line, and of what follows the last one. */
  readonly begins: Array<number>
}

const hasAnchors = (text: string): boolean => /(?:^|[\s[{,:])[&*]\S/m.test(text)

/**
 * A document that is mostly plain. Long lists in it may have elements that are not: these are parsed one by one with
 * the complete parser, which would take many times the memory for the whole document.
 */
class PlainDocument {
  readonly #text: string
  readonly #reader: PlainYaml.Reader
  readonly #start: number
  readonly #problems: Array<SyntaxProblem> = []
  /** Lists by key; `undefined` if the document itself is a list. */
  readonly #lists = new Map<string | undefined, Elements>()
  #isWithoutAnchors = false
  #whole: SourceDocument | undefined

  constructor(text: string, begin: number) {
    this.#text = text
    this.#reader = new PlainYaml.Reader(text, begin)
    this.#start = this.#reader.at
  }

  /**
   * Yields the elements of the list and then the document. Returns `NotPlain` if the complete parser must read all of
   * it.
   */
  *read(): Generator<Part | undefined, "Read" | "NotPlain"> {
    const reader = this.#reader
    const { at: start, indent } = reader
    if (indent < 0) return "Read"
    const value = reader.isElement(indent) ? yield* this.#list(undefined, indent, true) : yield* this.#map(indent)
    if (this.#problems.length > 0) {
      yield { _tag: "Wrong", problems: this.#problems }
      return "Read"
    }
    if (value === undefined || reader.indent >= 0) return "NotPlain"
    yield { _tag: "Document", document: { value, start, offsetOf: this.#offsetOf } }
    return "Read"
  }

  *#map(indent: number): Generator<Part | undefined, JsonObject | undefined> {
    const reader = this.#reader
    const object: JsonObject = {}
    let isTold = false
    while (reader.indent === indent && !reader.isElement(indent)) {
      const name = reader.key()
      if (Object.hasOwn(object, name) || name === "__proto__") return undefined
      if (!reader.isBelow()) {
        object[name] = reader.line(indent, 1)
      } else if (reader.indent >= indent && reader.isElement(reader.indent)) {
        const isResources = name === "resources" && isResponseType(object["@type"])
        const list = yield* this.#list(name, reader.indent, isResources)
        if (list === undefined) return undefined
        object[name] = list
        isTold ||= isResources
      } else {
        object[name] = reader.below(indent, 1)
      }
    }
    // Its `resources` are a field of another message.
    return isTold && !isResponseType(object["@type"]) ? undefined : object
  }

  /** The elements of a list. If they were yielded one by one, the list is empty. */
  *#list(
    key: string | undefined,
    indent: number,
    isTold: boolean
  ): Generator<Part | undefined, Array<JsonValue> | undefined> {
    const reader = this.#reader
    const elements: Elements = { offsets: [], begins: [] }
    const values: Array<JsonValue> = []
    this.#lists.set(key, elements)
    while (reader.isElement(indent) && this.#problems.length < maxProblems) {
      const begin = reader.at - indent
      const index = elements.begins.push(begin) - 1
      let value: JsonValue | undefined
      try {
        value = reader.element(indent, 1)
        elements.offsets.push(reader.elementAt)
      } catch (cause) {
        if (!(cause instanceof PlainYaml.NotPlain)) throw cause
        const read = this.#readWholly(elements, begin, indent)
        if (read === "NotPlain") return undefined
        value = read === "Wrong" ? undefined : read.value
      }
      if (value !== undefined && isTold) {
        yield { _tag: "Element", path: key === undefined ? [index] : [key, index], value, offsetOf: this.#offsetOf }
      } else if (value !== undefined) {
        values.push(value)
      }
      if (elements.begins.length % atATime === 0) yield undefined
    }
    elements.begins.push(reader.indent < 0 ? this.#text.length : reader.at - reader.indent)
    return values
  }

  /** Parses an element with the complete parser; `NotPlain` if it depends on the rest of the document. */
  #readWholly(elements: Elements, begin: number, indent: number): "NotPlain" | "Wrong" | { readonly value: JsonValue } {
    if (this.#text.length < short) return "NotPlain"
    if (!this.#isWithoutAnchors && hasAnchors(this.#text)) return "NotPlain"
    this.#isWithoutAnchors = true
    const next = new RegExp(`^ {0,${indent}}[^\\s#]`, "gm")
    next.lastIndex = begin + indent + 1
    const end = next.exec(this.#text)?.index ?? this.#text.length
    const [parsed, more] = stream(this.#text.slice(begin, end))
    if (parsed === undefined || more !== undefined) return "NotPlain"
    if (Either.isLeft(parsed)) {
      for (const { detail, offset } of parsed.left) this.#problems.push({ detail, offset: offset + begin })
      elements.offsets.push(begin)
      this.#reader.goTo(end)
      return "Wrong"
    }
    const { offsetOf, value } = parsed.right
    if (!Array.isArray(value) || value.length !== 1) return "NotPlain"
    elements.offsets.push(offsetOf([0], "value") + begin)
    this.#reader.goTo(end)
    return { value: value[0] ?? null }
  }

  readonly #offsetOf: OffsetOf = (path, what) => {
    const start = this.#start
    if (path.length === 0) return start
    const [first] = path
    const key = typeof first === "string" ? first : undefined
    const [index, ...below] = key === undefined ? path : path.slice(1)
    const elements = this.#lists.get(key)
    if (elements === undefined || typeof index !== "number") return this.#offsetInWhole(start, path, what)
    const { begins, offsets } = elements
    const offset = offsets[index] ?? start
    if (below.length === 0) return offset
    const begin = begins[index] ?? start
    // For the last element, the end is the reader's position.
    const next = this.#reader.indent < 0 ? this.#text.length : this.#reader.at - this.#reader.indent
    const [parsed] = stream(this.#text.slice(begin, begins[index + 1] ?? next))
    return parsed !== undefined && Either.isRight(parsed) ? parsed.right.offsetOf([0, ...below], what) + begin : offset
  }

  /** The offset of a value outside the lists. Only needed for a mistake; then the whole text is parsed. */
  #offsetInWhole(start: number, path: Path, what: "key" | "value"): number {
    if (this.#whole === undefined) {
      const [parsed] = stream(this.#text)
      this.#whole = parsed === undefined ? undefined : Either.getOrUndefined(parsed)
    }
    return this.#whole?.offsetOf(path, what) ?? start
  }
}

const plainDocument = function* (text: string): Generator<Part | undefined, "Read" | "NotPlain"> {
  const begin = text.startsWith("---") ? (/^--- *(?: #[^\n]*)?(?:\r?\n|$)/.exec(text)?.[0].length ?? undefined) : 0
  if (begin === undefined) return "NotPlain"
  try {
    return yield* new PlainDocument(text, begin).read()
  } catch (cause) {
    if (cause instanceof PlainYaml.NotPlain) return "NotPlain"
    throw cause
  }
}

/** Finds the next line that ends a document; returns where the next document begins, or the end. */
const nextDocument = (text: string, from: number): number => {
  for (let at = text.indexOf("\n---", from); at >= 0; at = text.indexOf("\n---", at + 1)) {
    const behind = text[at + 4]
    if (behind === undefined || /\s/.test(behind)) return at + 1
  }
  return text.length
}

/** The parts of a text, without empty documents. At each `undefined` others may run. */
export const parts = function* (text: string): Generator<Part | undefined, void> {
  // A directive would belong to the next document.
  const isOne = text.startsWith("%") || text.includes("\n%")
  let begin = 0
  do {
    const end = isOne ? text.length : nextDocument(text, begin)
    const document = text.slice(begin, end)
    const plain = plainDocument(document)
    let read = plain.next()
    for (; read.done !== true; read = plain.next())
      yield read.value === undefined ? undefined : moved(read.value, begin)
    if (read.value === "NotPlain") {
      yield { _tag: "Again" }
      for (const parsed of stream(document)) yield moved(partOf(parsed), begin)
    } else {
      yield undefined
    }
    begin = end
  } while (begin < text.length)
}
