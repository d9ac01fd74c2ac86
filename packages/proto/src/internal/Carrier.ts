/** A message that is written some fields at a time. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt"
import { isProperties, type Properties, propertiesOf } from "./MessageProperties.js"

// Descriptors never change.
const sorted = new WeakMap<DescMessage, ReadonlyArray<DescField>>()

/** ★ In the order of their numbers, as they are written. */
export const fieldsOf = (schema: DescMessage): ReadonlyArray<DescField> => {
  const known = sorted.get(schema)
  if (known !== undefined) return known
  const fields = schema.fields.toSorted((one, other) => one.number - other.number)
  sorted.set(schema, fields)
  return fields
}

/** Some fields of a message, in a message of its own. */
export class Carrier {
  readonly #properties: Properties
  readonly #message: Message
  #isEmpty = true

  constructor(schema: DescMessage) {
    this.#message = create(schema)
    this.#properties = propertiesOf(this.#message)
  }

  /** As it is in a message, whatever that is. */
  take(message: Properties, { localName, oneof, presence }: DescField): void {
    const key = oneof?.localName ?? localName
    if (oneof !== undefined) {
      const set = message[key]
      if (isProperties(set) && set["case"] !== localName) return
    } else if (presence !== FeatureSet_FieldPresence.IMPLICIT && !Object.hasOwn(message, key)) return
    this.put(key, message[key])
  }

  put(key: string, value: unknown): void {
    this.#properties[key] = value
    this.#isEmpty = false
  }

  /** `undefined`: no field was put into it. */
  get message(): Message | undefined {
    return this.#isEmpty ? undefined : this.#message
  }
}
