/** A message as a record of its properties, which the descriptor names. */
import type { DescField } from "@bufbuild/protobuf"

export type Properties = Record<string, unknown>

export const isProperties = (value: unknown): value is Properties => typeof value === "object" && value !== null

export const propertiesOf = (message: unknown): Properties => (isProperties(message) ? message : {})

/** What of a field is set; of the others of its oneof nothing is. */
export const valueOf = (message: Properties, { localName, oneof }: DescField): unknown => {
  if (oneof === undefined) return message[localName]
  const set = message[oneof.localName]
  return isProperties(set) && set["case"] === localName ? set["value"] : undefined
}
