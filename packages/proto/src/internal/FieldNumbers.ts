/** The fields of a message by their numbers. */
import type { DescField, DescMessage } from "@bufbuild/protobuf"

// Descriptors never change.
const known = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>()

export const of = (schema: DescMessage): ReadonlyMap<number, DescField> => {
  const found = known.get(schema)
  if (found !== undefined) return found
  const fields = new Map(schema.fields.map((field) => [field.number, field]))
  known.set(schema, fields)
  return fields
}
