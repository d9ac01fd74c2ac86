/**
 * Messages without fields, as protobuf-es makes them.
 *
 * V8 makes a table of an object that gets more than some twelve properties by names that are computed, one after the other. A Cluster
 * without fields was one of 1.6 KB, and each look at a property took longer. What it makes of JSON is no table, and takes no longer.
 */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { isProperties, type Properties } from "./MessageProperties.js"

type Empty = Message & Properties

/** Messages with more properties are made of JSON. */
const few = 12

interface Property {
  readonly name: string
  readonly kind: "constant" | "list" | "map" | "oneof"
  readonly constant: unknown
}

const propertyOf = (member: DescMessage["members"][number]): ReadonlyArray<Property> => {
  const { localName: name } = member
  if (member.kind === "oneof") return [{ name, kind: "oneof", constant: undefined }]
  switch (member.fieldKind) {
    case "list":
    case "map":
      return [{ name, kind: member.fieldKind, constant: undefined }]
    case "message":
      return []
    case "enum":
      return [{ name, kind: "constant", constant: member.enum.values[0]?.number }]
    default:
      return [{ name, kind: "constant", constant: zeroOf(member.scalar) }]
  }
}

const zeroOf = (scalar: ScalarType): unknown => {
  switch (scalar) {
    case ScalarType.STRING:
      return ""
    case ScalarType.BOOL:
      return false
    case ScalarType.BYTES:
      // ★ protobuf-es has one for all messages of a type, too.
      return new Uint8Array(0)
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.SINT64:
      return 0n
    default:
      return 0
  }
}

const put = (message: Empty, { constant, kind, name }: Property): void => {
  switch (kind) {
    case "constant":
      message[name] = constant
      break
    case "list":
      message[name] = []
      break
    case "map":
      message[name] = {}
      break
    case "oneof":
      message[name] = { case: undefined }
      break
  }
}

/** Whether JSON has it as it is. */
const isInJson = ({ constant, kind }: Property): boolean =>
  kind !== "oneof" && typeof constant !== "bigint" && !(constant instanceof Uint8Array)

/** All properties in their places. */
const jsonOf = (typeName: string, properties: ReadonlyArray<Property>): string => {
  const message: Empty = { $typeName: typeName }
  for (const property of properties) {
    if (isInJson(property)) put(message, property)
    else message[property.name] = null
  }
  return JSON.stringify(message)
}

const isEmpty = (value: unknown): value is Empty => isProperties(value) && typeof value["$typeName"] === "string"

/** The message without fields of a type. */
export class EmptyMessage {
  readonly #typeName: string
  readonly #json: string | undefined
  /** What is put into it one by one: all, or what JSON does not have. */
  readonly #properties: ReadonlyArray<Property>

  constructor({ members, typeName }: DescMessage) {
    const properties = members.flatMap(propertyOf)
    const isLarge = properties.length > few
    this.#typeName = typeName
    this.#json = isLarge ? jsonOf(typeName, properties) : undefined
    this.#properties = isLarge ? properties.filter((property) => !isInJson(property)) : properties
  }

  /** A new one. */
  make(): Empty {
    const whole: unknown = this.#json === undefined ? undefined : JSON.parse(this.#json)
    const message: Empty = isEmpty(whole) ? whole : { $typeName: this.#typeName }
    for (let index = 0; index < this.#properties.length; index++) {
      const property = this.#properties[index]
      if (property !== undefined) put(message, property)
    }
    return message
  }
}
