/**
 * What is different between two JSON values, place by place.
 *
 * @since 0.1.0
 */
import type { JsonValue } from "@bufbuild/protobuf"

/**
 * A place and its two values; `undefined`: there is none.
 *
 * @since 0.1.0
 */
export interface Difference {
  /** `load_assignment.endpoints[1]`; empty: the whole. */
  readonly path: string
  readonly from: JsonValue | undefined
  readonly to: JsonValue | undefined
}

type JsonObject = Readonly<Record<string, JsonValue>>

const isObject = (value: JsonValue | undefined): value is JsonObject & JsonValue =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * The differences, in the order of the places in the first value.
 *
 * @since 0.1.0
 */
export const between = (
  from: JsonValue | undefined,
  to: JsonValue | undefined,
  path = ""
): ReadonlyArray<Difference> => {
  if (Array.isArray(from) && Array.isArray(to)) {
    const length = Math.max(from.length, to.length)
    return Array.from({ length }, (_, index) => between(from[index], to[index], `${path}[${index}]`)).flat()
  }
  if (isObject(from) && isObject(to)) {
    const keys = Array.from(new Set([...Object.keys(from), ...Object.keys(to)]))
    return keys.flatMap((key) => between(from[key], to[key], path === "" ? key : `${path}.${key}`))
  }
  return from === to ? [] : [{ path, from, to }]
}
