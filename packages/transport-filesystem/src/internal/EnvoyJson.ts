/**
 * What Envoy reads in JSON and YAML and the canonical form of proto3 does not have:
 *
 * - names of enum values in another case (`type: strict_dns`): a name that the enum lacks is read in upper case
 * - one value where the API has a list (`domains: "*"`): it is a list of one
 */
import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { isObject, type Path } from "./SourceDocument.js"

type DescEnum = NonNullable<DescField["enum"]>

/** Deeper values are left as they are: no message is read there. */
const deepest = 100

const valueOf = ({ values }: DescEnum, json: JsonValue): JsonValue => {
  if (typeof json !== "string" || values.some(({ name }) => name === json)) return json
  const name = json.toUpperCase()
  return values.some((value) => value.name === name) ? name : json
}

/** A list or an object with other members; the same one if none is another. */
const mapped = (json: JsonValue, of: (member: JsonValue, key: string) => JsonValue): JsonValue => {
  if (Array.isArray(json)) {
    const list = json.map((member) => of(member, ""))
    return list.some((member, index) => member !== json[index]) ? list : json
  }
  if (!isObject(json)) return json
  let changed: JsonObject | undefined
  for (const key of Object.keys(json)) {
    const member = json[key] ?? null
    const other = of(member, key)
    if (other === member) continue
    // Keys are fields or keys of a map; `__proto__` stays an own property.
    changed ??= Object.assign<JsonObject, JsonObject>({ __proto__: null }, json)
    changed[key] = other
  }
  return changed ?? json
}

/** Whether one value may stand for a list of one: it is what an element is. Messages of Google's have forms of their own. */
const isElement = (field: DescField, value: JsonValue): boolean =>
  field.message?.typeName.startsWith("google.protobuf.") === true
    ? value !== null
    : field.message === undefined
      ? value !== null && !isObject(value)
      : isObject(value)

/** The canonical form of a message, as far as it is of the above; the same value if nothing is another. */
export const canonical = (schema: DescMessage, json: JsonValue, registry: Registry, depth = 0): JsonValue => {
  if (depth > deepest || !isObject(json)) return json
  const type = schema.typeName === "google.protobuf.Any" ? json["@type"] : undefined
  const inside = typeof type === "string" ? registry.getMessage(TypeRegistry.typeName(type)) : schema
  // The others of Google's have forms of their own: the keys of a Struct are the user's, whatever its fields are called.
  if (inside === undefined || inside.typeName.startsWith("google.protobuf.")) return json
  return mapped(json, (member, key) => {
    const field = inside.fields.find(({ jsonName, name }) => name === key || jsonName === key)
    if (field === undefined) return member
    const one = (value: JsonValue): JsonValue => {
      if (field.enum !== undefined) return valueOf(field.enum, value)
      return field.message === undefined ? value : canonical(field.message, value, registry, depth + 1)
    }
    if (field.fieldKind === "list" && !Array.isArray(member)) return isElement(field, member) ? [one(member)] : member
    return field.fieldKind === "list" || field.fieldKind === "map" ? mapped(member, one) : one(member)
  })
}

/** The path of a value in what was written, by its path in the canonical form: without the indexes of lists that are none. */
export const writtenPath = (written: JsonValue, path: Path): Path => {
  let at: JsonValue | undefined = written
  return path.filter((part) => {
    if (typeof part === "number") {
      if (!Array.isArray(at)) return false
      at = at[part]
    } else at = isObject(at) ? at[part] : undefined
    return true
  })
}
