/**
 * Finds the places where a JSON value does not fit a message. `fromJson` says what is wrong, not where. This checks the
 * parts one by one, only for values that `fromJson` refused.
 */
import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf"
import { fromJson, ScalarType } from "@bufbuild/protobuf"
import { AnySchema, isWrapperDesc } from "@bufbuild/protobuf/wkt"
import * as Reason from "@effect-xds/proto/Reason"
import { isSensitive } from "@effect-xds/proto/MessageRedaction"
import { ofParser } from "@effect-xds/proto/Redaction"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { isNoText, isObject, noText, type Path } from "./SourceDocument.js"

export interface Problem {
  readonly path: Path
  /** Whether the key or the value is wrong. */
  readonly at: "key" | "value"
  readonly reason: "UnknownType" | "Schema"
  readonly detail: string
  /** Whether the last key of the path is hidden: it may be a misplaced secret. */
  readonly isKeyHidden?: boolean
}

const failureOf = (schema: DescMessage, json: JsonValue, registry: Registry): string | undefined => {
  try {
    fromJson(schema, json, { registry })
    return undefined
  } catch (cause) {
    return Reason.of(cause)
  }
}

/** Inline values of every DataSource count as sensitive: whether one is depends on where it is used. */
export const isHidden = (schema: DescMessage): boolean => schema.typeName === "envoy.config.core.v3.DataSource"

/** Whether a key could be a field name: letters and underscores. Any other key may be a misplaced secret. */
const isPlain = (key: string): boolean => /^[A-Za-z][A-Za-z_]{0,63}$/.test(key)

/** A wrong value as shown in a message. Long ones are cut. Strings are hidden: they may be keys or passwords. */
const show = (json: JsonValue, hidden: boolean): string =>
  Array.isArray(json)
    ? "a list"
    : json === null
      ? "null"
      : typeof json === "object"
        ? "an object"
        : typeof json === "string"
          ? "a string"
          : hidden
            ? `a ${typeof json}`
            : `the ${typeof json} ${String(json).slice(0, 40)}`

/**
 * The reason in a protobuf-es error, after the first words, which name a type but no place. Quoted values are removed.
 */
export const reasonIn = (message: string): string =>
  ofParser(message.slice(message.indexOf(" from JSON: ") + 1).replace(/^from JSON: /, ""))

const custom = new Map<string, string>([
  ["google.protobuf.Duration", 'expected a duration in seconds such as "0.25s"'],
  ["google.protobuf.Timestamp", 'expected a time such as "2030-01-31T12:00:00Z"'],
  ["google.protobuf.FieldMask", 'expected paths such as "name,metadata"'],
  ["google.protobuf.Struct", "expected an object"],
  ["google.protobuf.ListValue", "expected a list"]
])

const ofScalar = (field: DescField, value: JsonValue, message: string, hidden: boolean): string => {
  if (field.enum !== undefined) {
    const names = field.enum.values.map(({ name }) => name)
    const some = names.length > 20 ? `${names.slice(0, 20).join(", ")}, …` : names.join(", ")
    const isShown = typeof value === "string" && !hidden && /^\w{1,80}$/.test(value)
    const wrong = isShown ? JSON.stringify(value) : show(value, hidden)
    return `${wrong} is no value of ${field.enum.typeName}; it has ${some}`
  }
  if (typeof value === "string" && field.scalar === ScalarType.STRING && isNoText(value)) {
    return `it has ${noText}`
  }
  // The expected value precedes the quoted one.
  const reason = message.slice(message.indexOf(" from JSON: ") + 1).replace(/^from JSON: /, "")
  const expected = /^expected [^,:]+/.exec(reason)?.[0]
  if (expected === undefined) return reasonIn(message).slice(0, 200)
  const range = reason.endsWith("out of range") ? ": it is out of range" : ""
  const quotes =
    expected === "expected string" && (typeof value === "number" || typeof value === "boolean")
      ? "; put it in quotes"
      : ""
  return `${expected} but found ${show(value, hidden)}${range}${quotes}`
}

/** The number of letters that differ or are swapped with a neighbour, to recognise a typing error. */
const distance = (one: string, other: string): number => {
  let before: ReadonlyArray<number> = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      const change = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1)
      const isSwap = i > 0 && j > 0 && one[i] === other[j - 1] && one[i - 1] === other[j]
      const swap = isSwap ? (before[j - 1] ?? 0) + 1 : Number.MAX_SAFE_INTEGER
      next.push(Math.min(change, swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[other.length] ?? 0
}

/** The field that was probably meant, in the spelling style of the wrong key. */
const suggestion = (schema: DescMessage, key: string): string => {
  const wanted = key.slice(0, 100)
  const names = schema.fields.flatMap((field) => (/[A-Z]/.test(key) ? [field.jsonName] : [field.name]))
  const [best] = names.map((name) => ({ name, off: distance(wanted, name) })).sort((a, b) => a.off - b.off)
  return best !== undefined && best.off <= Math.max(1, Math.floor(wanted.length / 4))
    ? `; did you mean ${JSON.stringify(best.name)}?`
    : ""
}

/** Mistakes that are found in one object or list; a reader tells a hundred of a file. */
const mostProblems = 101

/** The mistakes of items, until there are enough. */
const ofEach = <A>(
  items: Iterable<A>,
  of: (item: A, index: number) => ReadonlyArray<Problem>
): ReadonlyArray<Problem> => {
  const found: Array<Problem> = []
  let index = 0
  for (const item of items) {
    if (found.length >= mostProblems) break
    for (const problem of of(item, index++)) found.push(problem)
  }
  return found
}

/** The reasons why the message cannot be parsed, up to a bound; empty if it can. */
export const find = (
  schema: DescMessage,
  json: JsonValue,
  registry: Registry,
  path: Path = [],
  isInside = false
): ReadonlyArray<Problem> => {
  const hidden = isInside || isHidden(schema)
  const message = failureOf(schema, json, registry)
  if (message === undefined) return []
  const here = (detail: string): ReadonlyArray<Problem> => [{ path, at: "value", reason: "Schema", detail }]
  const orHere = (found: ReadonlyArray<Problem>, detail: string) => (found.length > 0 ? found : here(detail))
  if (schema.typeName === AnySchema.typeName) return orHere(inAny(json, registry, path, hidden), reasonIn(message))
  const expected = custom.get(schema.typeName)
  if (expected !== undefined) return here(`${expected} but found ${show(json, hidden)}`)
  if (isWrapperDesc(schema)) {
    return here(ofScalar(schema.fields[0], json, message, hidden))
  }
  if (!isObject(json)) return here(`expected an object (${schema.typeName}) but found ${show(json, hidden)}`)
  return orHere(inFields(schema, json, registry, path, hidden), reasonIn(message).slice(0, 200))
}

/** The fields of a message in an `Any`, without `@type`. */
export const withoutType = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([key]) => key !== "@type"))

const inAny = (json: JsonValue, registry: Registry, path: Path, hidden: boolean): ReadonlyArray<Problem> => {
  if (!isObject(json)) return []
  const type = json["@type"]
  if (typeof type !== "string" || type === "") {
    const detail = `"@type" is missing: it says which message this is, such as "type.googleapis.com/envoy.config.cluster.v3.Cluster"`
    return [{ path, at: "value", reason: "Schema", detail }]
  }
  const schema = registry.getMessage(TypeRegistry.typeName(type))
  if (schema === undefined) {
    return [{ path: [...path, "@type"], at: "value", reason: "UnknownType", detail: unknownType(type) }]
  }
  return schema.typeName.startsWith("google.protobuf.") && json["value"] !== undefined
    ? find(schema, json["value"], registry, [...path, "value"], hidden)
    : find(schema, withoutType(json), registry, path, hidden)
}

const inFields = (
  schema: DescMessage,
  json: JsonObject,
  registry: Registry,
  path: Path,
  hidden: boolean
): ReadonlyArray<Problem> => {
  const seen = new Map<string, string>()
  return ofEach(Object.entries(json), ([key, value]) => {
    const field = schema.fields.find(({ jsonName, name }) => name === key || jsonName === key)
    const at = [...path, key]
    const wrongKey = (detail: string, isKeyHidden = false): ReadonlyArray<Problem> => [
      { path: at, at: "key", reason: "Schema", detail, isKeyHidden }
    ]
    if (field === undefined) {
      const meant = suggestion(schema, key)
      // A mistyped field name is close to the right one; any other key may be a misplaced secret.
      return meant === "" && (hidden || !isPlain(key))
        ? wrongKey(`${schema.typeName} has no field of this name`, true)
        : wrongKey(`${schema.typeName} has no field ${JSON.stringify(key.slice(0, 100))}${meant}`)
    }
    const one = field.oneof === undefined || value === null ? `field ${field.name}` : `oneof ${field.oneof.name}`
    const other = seen.get(one)
    if (other !== undefined) {
      return wrongKey(`only one of ${JSON.stringify(other)} and ${JSON.stringify(key)} may be set`)
    }
    seen.set(one, key)
    return inField(schema, field, key, value, registry, at, hidden || isSensitive(field))
  })
}

const inField = (
  schema: DescMessage,
  field: DescField,
  key: string,
  value: JsonValue,
  registry: Registry,
  path: Path,
  hidden: boolean
): ReadonlyArray<Problem> => {
  const here = (detail: string): ReadonlyArray<Problem> => [{ path, at: "value", reason: "Schema", detail }]
  const failure = failureOf(schema, { [key]: value }, registry)
  if (failure === undefined) return []
  const orHere = (found: ReadonlyArray<Problem>) => (found.length > 0 ? found : here(reasonIn(failure).slice(0, 200)))
  switch (field.fieldKind) {
    case "message":
      return find(field.message, value, registry, path, hidden)
    case "list":
      if (!Array.isArray(value)) return here(`expected a list but found ${show(value, hidden)}`)
      return orHere(
        ofEach(value, (item, index) => {
          const at = [...path, index]
          return field.listKind === "message"
            ? find(field.message, item, registry, at, hidden)
            : scalar(schema, field, { [key]: [item] }, item, registry, at, hidden)
        })
      )
    case "map":
      if (!isObject(value)) return here(`expected an object but found ${show(value, hidden)}`)
      return orHere(
        ofEach(Object.entries(value), ([name, item]) => {
          const at = [...path, name]
          return field.mapKind === "message"
            ? find(field.message, item, registry, at, hidden)
            : scalar(schema, field, { [key]: { [name]: item } }, item, registry, at, hidden)
        })
      )
    default:
      return here(ofScalar(field, value, failure, hidden))
  }
}

const scalar = (
  schema: DescMessage,
  field: DescField,
  alone: JsonObject,
  value: JsonValue,
  registry: Registry,
  path: Path,
  hidden: boolean
): ReadonlyArray<Problem> => {
  const failure = failureOf(schema, alone, registry)
  return failure === undefined
    ? []
    : [{ path, at: "value", reason: "Schema", detail: ofScalar(field, value, failure, hidden) }]
}

/** What is wrong with a type URL that no message has. */
export const unknownType = (typeUrl: string): string => {
  // A type name has dots; anything else may be a misplaced secret.
  const shown = /^[\w./-]*\.[\w./-]*$/.test(typeUrl) ? JSON.stringify(typeUrl.slice(0, 200)) : "this"
  return typeUrl.includes("envoy.api.v2.")
    ? `${shown} is of the v2 API, which is no longer served; use the v3 type`
    : `${shown} is not a type of the Envoy v3 API; check its spelling`
}
