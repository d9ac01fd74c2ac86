/**
 * Sensitive texts in a `TypedStruct`: JSON in place of a message, which Envoy takes for any extension. Its type is not loaded here,
 * so what is sensitive is told by names: below a field with the name of one that is sensitive in some message, every text.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import * as SensitiveTypes from "./SensitiveTypes.js"
import { isJsonObject } from "./StructSteps.js"

/**
 * What stands in the place of a text.
 *
 * @param key of the field that it is in
 * @param isSure `false`: the type is not known, so the text may be sensitive or not
 */
type Replace = (text: string, key: string, isSure: boolean) => string

/** The JSON of a message with something in place of each text that is sensitive. */
export const replaceTexts = (typeUrl: string, json: JsonObject, replace: Replace): JsonObject => {
  const name = SensitiveTypes.nameOf(typeUrl)
  if (SensitiveTypes.isTypedStruct(name)) return ofTypedStruct(json, replace)
  if (!SensitiveTypes.isKnown(name)) return everyText(json, replace, false)
  if (!SensitiveTypes.canHold(name)) return json
  return name === SensitiveTypes.anyName ? ofAny(json, replace, "") : ofFields(json, replace, "")
}

const mapped = (json: JsonObject, map: (value: JsonValue, key: string) => JsonValue): JsonObject =>
  // A type is no secret.
  Object.fromEntries(Object.entries(json).map(([key, value]) => [key, key === typeKey ? value : map(value, key)]))

const typeKey = "@type"

const typeIn = (json: JsonObject, ...keys: ReadonlyArray<string>): string => {
  for (const key of keys) {
    const type = json[key]
    if (typeof type === "string") return type
  }
  return ""
}

const ofTypedStruct = (json: JsonObject, replace: Replace): JsonObject => {
  const type = typeIn(json, "type_url", "typeUrl")
  return mapped(json, (value) => (isJsonObject(value) ? replaceTexts(type, value, replace) : value))
}

/** What has a type is of that; an `Any` in one has its own beside the key `value`. */
const ofAny = (json: JsonObject, replace: Replace, around: string): JsonObject => {
  const type = typeIn(json, typeKey)
  if (type === "" || SensitiveTypes.nameOf(type) === SensitiveTypes.anyName) return ofFields(json, replace, around)
  return replaceTexts(type, json, replace)
}

/** @param around the name of the field that it is in */
const ofFields = (json: JsonObject, replace: Replace, around: string): JsonObject =>
  mapped(json, (value, key) =>
    SensitiveTypes.isSensitiveName(key, around) ? everything(value, key, replace, true) : ofValue(value, replace, key)
  )

const ofValue = (value: JsonValue, replace: Replace, key: string): JsonValue => {
  if (Array.isArray(value)) return value.map((each) => ofValue(each, replace, key))
  return isJsonObject(value) ? ofAny(value, replace, key) : value
}

const everyText = (json: JsonObject, replace: Replace, isSure: boolean): JsonObject =>
  mapped(json, (value, key) => everything(value, key, replace, isSure))

const everything = (value: JsonValue, key: string, replace: Replace, isSure: boolean): JsonValue => {
  if (typeof value === "string") return replace(value, key, isSure)
  if (Array.isArray(value)) return value.map((each) => everything(each, key, replace, isSure))
  return isJsonObject(value) ? everyText(value, replace, isSure) : value
}
