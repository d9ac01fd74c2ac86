/**
 * Names of enum values in another case, which Envoy reads in JSON and YAML (`type: strict_dns`) and the canonical form of proto3
 * does not have: a name that the enum lacks is read in upper case.
 */
import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { isObject } from "./SourceDocument.js"

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

/** A message with the names that its enums have; the same one if nothing is another. */
export const canonical = (schema: DescMessage, json: JsonValue, registry: Registry, depth = 0): JsonValue => {
  if (depth > deepest || !isObject(json)) return json
  const type = schema.typeName === "google.protobuf.Any" ? json["@type"] : undefined
  const inside = typeof type === "string" ? registry.getMessage(TypeRegistry.typeName(type)) : schema
  if (inside === undefined) return json
  return mapped(json, (member, key) => {
    const field = inside.fields.find(({ jsonName, name }) => name === key || jsonName === key)
    if (field === undefined) return member
    const one = (value: JsonValue): JsonValue => {
      if (field.enum !== undefined) return valueOf(field.enum, value)
      return field.message === undefined ? value : canonical(field.message, value, registry, depth + 1)
    }
    return field.fieldKind === "list" || field.fieldKind === "map" ? mapped(member, one) : one(member)
  })
}
