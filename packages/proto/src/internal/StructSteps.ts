/** Large Structs between JSON, as protobuf-es keeps them in fields, and messages, as they are on the wire: in steps. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import {
  type ListValue,
  ListValueSchema,
  NullValue,
  type Struct,
  StructSchema,
  type Value,
  ValueSchema
} from "@bufbuild/protobuf/wkt"
import type { Steps } from "./InSteps.js"

/** Values of one step; of these none is large. */
const atOnce = 16

/** Whether it is an object, and no list; what is in it counts for nothing here. */
export const isJsonObject = (json: unknown): json is JsonObject =>
  typeof json === "object" && json !== null && !Array.isArray(json)

/** ★ `__proto__` is a name like any other. */
export const setOwn = <A>(record: Record<string, A>, key: string, value: A): void => {
  if (key === "__proto__")
    Object.defineProperty(record, key, { value, configurable: true, enumerable: true, writable: true })
  else record[key] = value
}

/** Makes one of the other, and says of what it made that it is large where that was. */
export class StructSteps {
  constructor(private readonly large: WeakSet<object>) {}

  *json(struct: Struct): Steps<JsonObject> {
    const json: JsonObject = {}
    let count = 0
    for (const key of Object.keys(struct.fields)) {
      const value = struct.fields[key]
      if (value === undefined) continue
      if (++count % atOnce === 0) yield
      setOwn(json, key, this.isLarge(value) ? yield* this.jsonOf(value) : jsonOf(value))
    }
    this.large.add(json)
    return json
  }

  *struct(json: JsonObject): Steps<Struct> {
    const struct = create(StructSchema)
    let count = 0
    for (const key of Object.keys(json)) {
      if (++count % atOnce === 0) yield
      setOwn(struct.fields, key, yield* this.value(json[key]))
    }
    this.large.add(struct).add(struct.fields)
    return struct
  }

  private isLarge({ kind }: Value): boolean {
    return typeof kind.value === "object" && this.large.has(kind.value)
  }

  private *jsonOf({ kind }: Value): Steps<JsonValue> {
    if (kind.case === "structValue") return yield* this.json(kind.value)
    if (kind.case !== "listValue") return null
    const list: Array<JsonValue> = []
    for (const value of kind.value.values) {
      list.push(this.isLarge(value) ? yield* this.jsonOf(value) : jsonOf(value))
      if (list.length % atOnce === 0) yield
    }
    this.large.add(list)
    return list
  }

  private *value(json: JsonValue | undefined): Steps<Value> {
    if (typeof json !== "object" || json === null || !this.large.has(json)) return valueOf(json)
    const value = create(ValueSchema)
    if (isJsonObject(json)) value.kind = { case: "structValue", value: yield* this.struct(json) }
    else value.kind = { case: "listValue", value: yield* this.list(json) }
    this.large.add(value)
    return value
  }

  private *list(json: ReadonlyArray<JsonValue>): Steps<ListValue> {
    const list = create(ListValueSchema)
    for (const each of json) {
      list.values.push(yield* this.value(each))
      if (list.values.length % atOnce === 0) yield
    }
    this.large.add(list).add(list.values)
    return list
  }
}

/** At once. */
export const jsonOfStruct = ({ fields }: Struct): JsonObject => {
  const json: JsonObject = {}
  for (const [key, value] of Object.entries(fields)) setOwn(json, key, jsonOf(value))
  return json
}

/** As protobuf-es does it: a number that is none stays one, and what is not set is null. */
const jsonOf = ({ kind }: Value): JsonValue => {
  switch (kind.case) {
    case "structValue":
      return jsonOfStruct(kind.value)
    case "listValue":
      return kind.value.values.map(jsonOf)
    case "nullValue":
    case undefined:
      return null
    default:
      return kind.value
  }
}

const valueOf = (json: JsonValue | undefined): Value => {
  const value = create(ValueSchema)
  switch (typeof json) {
    case "number":
      value.kind = { case: "numberValue", value: json }
      break
    case "string":
      value.kind = { case: "stringValue", value: json }
      break
    case "boolean":
      value.kind = { case: "boolValue", value: json }
      break
    case "object":
      if (json === null) value.kind = { case: "nullValue", value: NullValue.NULL_VALUE }
      else if (isJsonObject(json)) {
        const struct = create(StructSchema)
        for (const [key, each] of Object.entries(json)) setOwn(struct.fields, key, valueOf(each))
        value.kind = { case: "structValue", value: struct }
      } else {
        const list = create(ListValueSchema)
        for (const each of json) list.values.push(valueOf(each))
        value.kind = { case: "listValue", value: list }
      }
      break
    default:
  }
  return value
}
