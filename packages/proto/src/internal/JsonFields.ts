/** Fields that protobuf-es keeps as JSON: each further piece of one costs as much as all that is there already. */
import type { DescField, DescMessage } from "@bufbuild/protobuf"

export const structName = "google.protobuf.Struct"

/** Whether a field, or the value of a map, is a Struct that protobuf-es makes JSON of. */
export const isJson = (field: DescField): boolean =>
  field.message?.typeName === structName && field.parent.typeName !== "google.protobuf.Value"

// Descriptors never change.
const known = new WeakMap<DescMessage, boolean>()

/** Whether such a field can be reached from a message by fields that are merged when they come again: not in lists and maps. */
const reaches = (type: DescMessage): boolean => {
  const found = known.get(type)
  if (found !== undefined) return found
  const seen = new Set([type])
  let isReached = false
  // A set may grow while it is gone through.
  for (const each of seen) {
    for (const field of each.fields) {
      if (field.fieldKind !== "message") continue
      isReached ||= isJson(field)
      seen.add(field.message)
    }
    if (isReached) break
  }
  known.set(type, isReached)
  return isReached
}

/** Whether a further piece of a field, or of the value of a map, may be one of a Struct, too. */
export const isCostly = (field: DescField): boolean =>
  field.fieldKind !== "list" && field.message !== undefined && (isJson(field) || reaches(field.message))
