/**
 * Dynamic parameters of a client, and the constraints of the variants of a resource. They choose among variants of one name, and are
 * no part of it.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP2-dynamically-generated-cacheable-xds-resources.md
 * @since 0.1.0
 */
import type { BinaryReader } from "@bufbuild/protobuf/wire"
import { WireType } from "@bufbuild/protobuf/wire"
import {
  DynamicParameterConstraints as Fields,
  DynamicParameterConstraintList as ListFields,
  DynamicParameterSingleConstraint as SingleFields
} from "../wire/Fields.js"
import { fieldOf, fields, utf8 } from "../wire/Wire.js"
import * as Authority from "./Authority.js"

/**
 * What a client says of itself: key → value.
 *
 * @since 0.1.0
 */
export type Parameters = ReadonlyMap<string, string>

/**
 * The parameters of a client by the authority of the names that it subscribes to; empty text: old names. A client says the same with
 * all names of one authority.
 *
 * @since 0.1.0
 */
export type ByAuthority = ReadonlyMap<string, Parameters>

/**
 * Which parameters a variant is for.
 *
 * - `Any`: all; no constraints
 * - `Value`: the key has this value
 * - `Exists`: the key is there
 * - `Or`, `And`, `Not`: of others
 *
 * @since 0.1.0
 */
export type Constraints =
  | { readonly _tag: "Any" }
  | { readonly _tag: "Value"; readonly key: string; readonly value: string }
  | { readonly _tag: "Exists"; readonly key: string }
  | { readonly _tag: "Or" | "And"; readonly constraints: ReadonlyArray<Constraints> }
  | { readonly _tag: "Not"; readonly constraints: Constraints }

/**
 * Whether a variant with these constraints is for a client with these parameters. Parameters without a constraint do not matter.
 *
 * @since 0.1.0
 */
export const isMatch = (self: Constraints, parameters: Parameters): boolean => {
  switch (self._tag) {
    case "Any":
      return true
    case "Value":
      return parameters.get(self.key) === self.value
    case "Exists":
      return parameters.has(self.key)
    case "Or":
      return self.constraints.some((each) => isMatch(each, parameters))
    case "And":
      return self.constraints.every((each) => isMatch(each, parameters))
    case "Not":
      return !isMatch(self.constraints, parameters)
  }
}

const noParameters: Parameters = new Map()

/**
 * The parameters that go with a name; none for an authority that nothing was said of.
 *
 * @since 0.1.0
 */
export const ofName = (self: ByAuthority, name: string): Parameters =>
  self.get(Authority.ofName(name) ?? "") ?? noParameters

const isSame = (one: Parameters | undefined, other: Parameters): boolean => {
  if (one?.size !== other.size) return false
  for (const [key, value] of other) if (one.get(key) !== value) return false
  return true
}

/**
 * The parameters of a client after a request with others; the same object if nothing is new. What it says last of an authority counts.
 *
 * @since 0.1.0
 */
export const joined = (self: ByAuthority | undefined, more: ByAuthority): ByAuthority => {
  if (self === undefined) return more
  let next: Map<string, Parameters> | undefined
  for (const [authority, parameters] of more) {
    if (!isSame(self.get(authority), parameters)) (next ??= new Map(self)).set(authority, parameters)
  }
  return next ?? self
}

/**
 * A text that is the same for the same parameters.
 *
 * @since 0.1.0
 */
export const keyOf = (self: ByAuthority): string => {
  const sorted = <A>(map: ReadonlyMap<string, A>) => Array.from(map).sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(sorted(self).map(([authority, parameters]) => [authority, sorted(parameters)]))
}

/**
 * The bytes of constraints.
 *
 * @since 0.1.0
 */
export const encode = (self: Constraints): Uint8Array => {
  switch (self._tag) {
    case "Any":
      return new Uint8Array()
    case "Value":
      return single(self.key, fieldOf(SingleFields.value, utf8(self.value)))
    case "Exists":
      return single(self.key, fieldOf(SingleFields.exists, new Uint8Array()))
    case "Not":
      return fieldOf(Fields.not, encode(self.constraints))
    default: {
      const list = concat(self.constraints.map((each) => fieldOf(ListFields.constraints, encode(each))))
      return fieldOf(self._tag === "Or" ? Fields.or : Fields.and, list)
    }
  }
}

const single = (key: string, type: Uint8Array): Uint8Array =>
  fieldOf(Fields.constraint, concat([key === "" ? new Uint8Array() : fieldOf(SingleFields.key, utf8(key)), type]))

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.byteLength
  }
  return bytes
}

/** Deepest constraints that are read. */
const maxDepth = 32

/**
 * Reads constraints. Throws the errors of protobuf-es for malformed bytes, and one for constraints that are nested too deeply.
 *
 * @since 0.1.0
 */
export const decode = (bytes: Uint8Array, depth = 0): Constraints => {
  if (depth > maxDepth) throw new Error(`constraints are nested more than ${maxDepth} deep`)
  let found: Constraints = any
  fields(bytes, (reader, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === Fields.constraint) found = decodeSingle(reader)
    else if (field === Fields.or) found = { _tag: "Or", constraints: decodeList(reader, depth) }
    else if (field === Fields.and) found = { _tag: "And", constraints: decodeList(reader, depth) }
    else if (field === Fields.not) found = { _tag: "Not", constraints: decode(reader.bytes(), depth + 1) }
    else return false
    return true
  })
  return found
}

const any: Constraints = { _tag: "Any" }

const decodeSingle = (reader: BinaryReader): Constraints => {
  let key = ""
  const found: { type: "Value" | "Exists" | undefined; value: string } = { type: undefined, value: "" }
  fields(reader.bytes(), (inner, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === SingleFields.key) key = inner.string(true)
    else if (field === SingleFields.value) {
      found.type = "Value"
      found.value = inner.string(true)
    } else if (field === SingleFields.exists) {
      inner.bytes()
      found.type = "Exists"
    } else return false
    return true
  })
  switch (found.type) {
    case "Value":
      return { _tag: "Value", key, value: found.value }
    case "Exists":
      return { _tag: "Exists", key }
    default:
      throw new Error(`the constraint of ${JSON.stringify(key)} says neither a value nor exists`)
  }
}

const decodeList = (reader: BinaryReader, depth: number): ReadonlyArray<Constraints> => {
  const list: Array<Constraints> = []
  fields(reader.bytes(), (inner, field, type) => {
    if (field !== ListFields.constraints || type !== WireType.LengthDelimited) return false
    list.push(decode(inner.bytes(), depth + 1))
    return true
  })
  return list
}

/**
 * Constraints in short, for messages: `env=prod & !version`.
 *
 * @since 0.1.0
 */
export const toText = (self: Constraints): string => {
  switch (self._tag) {
    case "Any":
      return "any"
    case "Value":
      return `${self.key}=${self.value}`
    case "Exists":
      return self.key
    case "Not":
      return `!${inBrackets(self.constraints)}`
    default:
      return self.constraints.map(inBrackets).join(self._tag === "Or" ? " | " : " & ")
  }
}

const inBrackets = (self: Constraints): string =>
  self._tag === "Or" || self._tag === "And" ? `(${toText(self)})` : toText(self)

const valuesOf = (self: Constraints, found: Map<string, Set<string>>): void => {
  switch (self._tag) {
    case "Value":
    case "Exists": {
      const values = found.get(self.key) ?? new Set()
      found.set(self.key, values)
      if (self._tag === "Value") values.add(self.value)
      return
    }
    case "Or":
    case "And":
      return self.constraints.forEach((each) => valuesOf(each, found))
    case "Not":
      return valuesOf(self.constraints, found)
    case "Any":
  }
}

/** Most sets of parameters that are tried for {@link overlap}. */
const maxTried = 10_000

/**
 * Why a resource cannot have variants with these constraints: some parameters match two of them, and which one a client gets would not be
 * defined. `undefined`: no parameters do.
 *
 * Tried are all that differ: of each key the values in a constraint, another one, and none.
 *
 * @since 0.1.0
 */
export const overlap = (variants: ReadonlyArray<Constraints>): string | undefined => {
  const values = new Map<string, Set<string>>()
  for (const each of variants) valuesOf(each, values)
  let tried: ReadonlyArray<Parameters> = [noParameters]
  for (const [key, named] of values) {
    let other = "other"
    while (named.has(other)) other += "'"
    const choices = [...named, other]
    if (tried.length * (choices.length + 1) > maxTried) return "they have too many keys and values to compare"
    tried = tried.flatMap((each) => [each, ...choices.map((value) => new Map(each).set(key, value))])
  }
  for (const parameters of tried) {
    const [first, second] = variants.filter((each) => isMatch(each, parameters))
    if (first === undefined || second === undefined) continue
    const text = Array.from(parameters, ([key, value]) => `${key}=${value}`).join(", ")
    return `"${toText(first)}" and "${toText(second)}" both match ${text === "" ? "a client without parameters" : text}`
  }
  return undefined
}
