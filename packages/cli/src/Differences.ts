/**
 * What is different between two JSON values, place by place.
 *
 * @since 0.1.0
 */
import type { JsonValue } from "@bufbuild/protobuf"
import { redacted } from "@effect-xds/proto/Redaction"

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

/** What is printed of two values: without secrets, which makes of two that are different the same. */
interface Shown {
  readonly from: JsonValue | undefined
  readonly to: JsonValue | undefined
}

const partOf = (value: JsonValue | undefined, key: string | number): JsonValue | undefined =>
  Array.isArray(value)
    ? typeof key === "number"
      ? value[key]
      : undefined
    : isObject(value) && typeof key === "string"
      ? value[key]
      : undefined

/**
 * The differences, in the order of the places in the first value. `shown`: what stands for the two values, part by part;
 * a part that is not in it is `[redacted]`.
 *
 * @since 0.1.0
 */
export const between = (
  from: JsonValue | undefined,
  to: JsonValue | undefined,
  shown: Shown = { from, to },
  path = ""
): ReadonlyArray<Difference> => {
  const inside = (key: string | number): Shown => ({ from: partOf(shown.from, key), to: partOf(shown.to, key) })
  if (Array.isArray(from) && Array.isArray(to)) {
    const length = Math.max(from.length, to.length)
    return Array.from({ length }, (_, index) =>
      between(from[index], to[index], inside(index), `${path}[${index}]`)
    ).flat()
  }
  if (isObject(from) && isObject(to)) {
    const keys = Array.from(new Set([...Object.keys(from), ...Object.keys(to)]))
    return keys.flatMap((key) => between(from[key], to[key], inside(key), path === "" ? key : `${path}.${key}`))
  }
  const show = (value: JsonValue | undefined, instead: JsonValue | undefined): JsonValue | undefined =>
    value === undefined ? undefined : (instead ?? redacted)
  return from === to ? [] : [{ path, from: show(from, shown.from), to: show(to, shown.to) }]
}
