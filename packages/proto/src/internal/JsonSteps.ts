/**
 * Writes a message as JSON in steps, to the letter as `JSON.stringify` does it with what `toJson` makes: protobuf-es makes some
 * members, or some items of a list, at a time, and the texts are put one behind the other.
 */
import type { DescField, DescMessage, Message, Registry } from "@bufbuild/protobuf"
import { isMessage, toJson } from "@bufbuild/protobuf"
import { type Any, AnySchema, FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt"
import { Carrier, fieldsOf } from "./Carrier.js"
import * as DecodeSteps from "./DecodeSteps.js"
import * as JsonFields from "./JsonFields.js"
import * as MessageWalk from "./MessageWalk.js"
import { isProperties, type Properties, propertiesOf, valueOf } from "./MessageProperties.js"
import * as ObjectWalk from "./ObjectWalk.js"
import { setOwn } from "./StructSteps.js"

/** Parts of a text, one after the other; `undefined`: there is none yet. Others may run at each. */
export type Parts = Generator<string | undefined, void>

/** Items of a list, or entries of a map, of one step; none of them is large. */
const atOnce = 16

/** Numbers and texts. */
const manyAtOnce = 1_024

// Descriptors never change.
const divided = new WeakMap<DescMessage, boolean>()

/** Whether a message is the object of its fields, in their order: names like numbers come first in every object. */
const isDivided = (schema: DescMessage): boolean => {
  const known = divided.get(schema)
  if (known !== undefined) return known
  const is =
    !schema.typeName.startsWith("google.protobuf.") &&
    schema.fields.every(
      ({ jsonName, presence }) => presence !== FeatureSet_FieldPresence.LEGACY_REQUIRED && !/^\d/.test(jsonName)
    )
  divided.set(schema, is)
  return is
}

/** As protobuf-es says it. */
const finite = (_: string, value: unknown): unknown => {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Error("google.protobuf.Value cannot be NaN or Infinity")
  }
  return value
}

class Writing {
  constructor(
    private readonly large: WeakSet<object>,
    private readonly registry: Registry
  ) {}

  /** What is no object has neither the first nor the last member. */
  *message(schema: DescMessage, message: Message, first = "", last = ""): Parts {
    const isLarge = this.large.has(message)
    if (isLarge && isMessage(message, AnySchema)) return yield* this.any(message)
    if (!isLarge && first === "" && last === "") {
      yield this.whole(schema, message)
      return
    }
    const members = new Members(last)
    yield members.some(first)
    if (!isLarge || !isDivided(schema)) {
      yield members.end(this.whole(schema, message).slice(1, -1))
      return
    }
    const properties = propertiesOf(message)
    let some = new Carrier(schema)
    for (const field of fieldsOf(schema)) {
      const value = valueOf(properties, field)
      const parts = isProperties(value) && this.large.has(value) ? this.field(schema, field, value) : undefined
      if (parts === undefined) {
        some.take(properties, field)
        continue
      }
      yield members.some(this.membersOf(schema, some))
      some = new Carrier(schema)
      yield members.some(`${JSON.stringify(field.jsonName)}:`)
      yield* parts
    }
    // Extensions are behind all fields.
    if (properties["$unknown"] !== undefined) some.put("$unknown", properties["$unknown"])
    yield members.end(this.membersOf(schema, some))
  }

  private whole(schema: DescMessage, message: Message): string {
    return JSON.stringify(toJson(schema, message, { registry: this.registry }))
  }

  private membersOf(schema: DescMessage, { message }: Carrier): string {
    return message === undefined ? "" : this.whole(schema, message).slice(1, -1)
  }

  /** What a list or a map of a message has, without its brackets. */
  private inside(schema: DescMessage, { jsonName, localName }: DescField, value: unknown): string {
    const carrier = new Carrier(schema)
    carrier.put(localName, value)
    return this.membersOf(schema, carrier).slice(JSON.stringify(jsonName).length + 2, -1)
  }

  private *any(any: Any): Parts {
    const schema = this.registry.getMessage(any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1))
    if (schema === undefined || !isDivided(schema) || !(yield* MessageWalk.inSteps(schema, any.value))) {
      yield this.whole(AnySchema, any)
      return
    }
    const message = yield* DecodeSteps.decode(schema, any.value, this.large)
    yield* this.message(schema, message, "", `"@type":${JSON.stringify(any.typeUrl)}`)
  }

  /** The value of a large field; `undefined`: it is not divided. */
  private field(schema: DescMessage, field: DescField, value: Properties): Parts | undefined {
    switch (field.fieldKind) {
      case "message":
        return this.child(field, value)
      case "list":
        return Array.isArray(value) && value.length > 0 ? this.list(schema, field, value) : undefined
      case "map":
        return Object.keys(value).length > 0 ? this.map(schema, field, value) : undefined
      default:
        return undefined
    }
  }

  /** A message in a field, a list or a map. */
  private child(field: DescField, value: unknown): Parts {
    const { message: schema } = field
    return schema !== undefined && !JsonFields.isJson(field) && isMessage(value, schema)
      ? this.message(schema, value)
      : this.json(value)
  }

  private *list(schema: DescMessage, field: DescField, list: ReadonlyArray<unknown>): Parts {
    const most = field.message === undefined ? manyAtOnce : atOnce
    let before = "["
    let some: Array<unknown> = []
    for (const [place, item] of list.entries()) {
      const isLarge = isProperties(item) && this.large.has(item)
      if (!isLarge) some.push(item)
      if (some.length > 0 && (isLarge || some.length === most || place === list.length - 1)) {
        yield `${before}${this.inside(schema, field, some)}`
        before = ","
        some = []
      }
      if (!isLarge) continue
      yield before
      before = ","
      yield* this.child(field, item)
    }
    yield "]"
  }

  private *map(schema: DescMessage, field: DescField, map: Properties): Parts {
    let before = "{"
    let some: Properties = {}
    let count = 0
    const keys = Object.keys(map)
    for (const [place, key] of keys.entries()) {
      const value = map[key]
      const isLarge = isProperties(value) && this.large.has(value)
      if (!isLarge) {
        setOwn(some, key, value)
        count++
      }
      if (count > 0 && (isLarge || count === atOnce || place === keys.length - 1)) {
        yield `${before}${this.inside(schema, field, some)}`
        before = ","
        some = {}
        count = 0
      }
      if (!isLarge) continue
      yield `${before}${JSON.stringify(key)}:`
      before = ","
      yield* this.child(field, value)
    }
    yield "}"
  }

  /** A value of a Struct, which protobuf-es keeps as JSON. */
  private *json(json: unknown): Parts {
    if (!isProperties(json) || !this.large.has(json)) {
      yield JSON.stringify(json, finite)
      return
    }
    const isList = Array.isArray(json)
    let text = isList ? "[" : "{"
    let comma = ""
    let count = 0
    for (const key of Object.keys(json)) {
      text += isList ? comma : `${comma}${JSON.stringify(key)}:`
      comma = ","
      const value = json[key]
      if (isProperties(value) && this.large.has(value)) {
        yield text
        text = ""
        yield* this.json(value)
      } else {
        text += JSON.stringify(value, finite)
        if (++count % atOnce > 0) continue
        yield text
        text = ""
      }
    }
    yield `${text}${isList ? "]" : "}"}`
  }
}

/** Puts the braces and commas of an object. */
class Members {
  private before = "{"

  constructor(private readonly last: string) {}

  some(text: string): string {
    if (text === "") return ""
    const { before } = this
    this.before = ","
    return `${before}${text}`
  }

  end(text: string): string {
    const rest = `${this.some(text)}${this.some(this.last)}`
    return this.before === "{" ? "{}" : `${rest}}`
  }
}

/**
 * The text of a message. Fails as `toJson` does.
 *
 * @param first a member in front of those of an object
 * @param registry of the types in an `Any`
 * @param step what is looked at in one step: all else is large
 */
export const write = function* (
  schema: DescMessage,
  message: Message,
  registry: Registry,
  first?: string,
  step?: Parameters<typeof ObjectWalk.inSteps>[2]
): Parts {
  const large = new WeakSet()
  const found = yield* ObjectWalk.inSteps(message, large, step)
  // What protobuf-es makes of such a message is its own affair.
  yield* new Writing(typeof found === "string" ? new WeakSet() : large, registry).message(schema, message, first)
}
