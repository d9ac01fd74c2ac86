/** JSON values of message types that look random, the same for the same seed: mostly right ones, and some that no message has. */
import type { DescField, DescMessage, JsonObject, JsonValue, Registry } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { isWrapperDesc } from "@bufbuild/protobuf/wkt"

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }

  isOne(of: number): boolean {
    return of > 0 && this.below(of) === 0
  }

  of<A>(list: ReadonlyArray<A>, otherwise: A): A {
    return list[this.below(list.length)] ?? otherwise
  }
}

const strings = [
  "",
  "a",
  "cluster-1",
  "é",
  "\u{1f600}",
  "x".repeat(127),
  "y".repeat(128),
  "é".repeat(100),
  "\0",
  "__proto__"
]
const integers = [0, 1, 2, 7, 127, 128, 300, 65_535, 2 ** 31 - 1, -1, -5, -(2 ** 31), -0]
const longs: ReadonlyArray<JsonValue> = [
  ...integers,
  2 ** 31,
  2 ** 40,
  2 ** 53 - 1,
  -(2 ** 53) + 1,
  "0",
  "12",
  "9223372036854775807",
  "-9223372036854775808",
  "18446744073709551615"
]
const doubles: ReadonlyArray<JsonValue> = [
  0,
  -0,
  1,
  -1.5,
  0.1,
  1e10,
  3.4028234663852886e38,
  1e-50,
  "NaN",
  "Infinity",
  "-Infinity",
  "1.5"
]
const durations = ["0s", "1s", "0.5s", "1.000000001s", "3.25s", "315576000000s", "99999999999s", "-1s", "-0.5s", "007s"]
const odds: ReadonlyArray<JsonValue> = [
  null,
  "",
  "1",
  "01",
  "0x10",
  " 1",
  "1e3",
  "-0",
  1,
  -1,
  1.5,
  0,
  -0,
  true,
  false,
  [],
  [null],
  [[]],
  {},
  { a: null },
  "NaN",
  2 ** 31,
  2 ** 32,
  -(2 ** 31) - 1,
  2 ** 53,
  1e39,
  Number.POSITIVE_INFINITY,
  Number.NaN,
  "9223372036854775808",
  "18446744073709551616",
  "\ud800",
  "a\udc00b",
  "AA==",
  "_-8",
  "A",
  "1s",
  "1.0000000000s",
  "315576000001s",
  "1s ",
  "2030-01-31T12:00:00Z",
  "name,aB",
  { "@type": "type.googleapis.com/google.protobuf.Duration", value: "1s" },
  { "@type": "" },
  { "@type": "type.googleapis.com/no.such.Type" },
  { "@type": 1 }
]

/** How a message is made. */
export interface Recipe {
  readonly random: Random
  /** One of so many values is an odd one; 0: none. */
  readonly odd: number
  readonly registry: Registry
  /** What an `Any` may hold. */
  readonly types: ReadonlyArray<DescMessage>
}

const plainValue = (recipe: Recipe, depth: number): JsonValue => {
  const { random } = recipe
  switch (random.below(depth > 4 ? 4 : 6)) {
    case 0:
      return null
    case 1:
      return random.of([0, -0, 1, 1.5, -2], 0)
    case 2:
      return random.of(strings, "")
    case 3:
      return random.isOne(2)
    case 4:
      return Array.from({ length: random.below(3) }, () => plainValue(recipe, depth + 1))
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(3) }, () => [
          random.of(["a", "2", "1", "é", "__proto__", ""], ""),
          plainValue(recipe, depth + 1)
        ])
      )
  }
}

const ofMessage = (recipe: Recipe, schema: DescMessage, depth: number): JsonValue => {
  const { random } = recipe
  switch (schema.typeName) {
    case "google.protobuf.Any": {
      const type = random.of(recipe.types, schema)
      const url = random.isOne(5) ? type.typeName : `type.googleapis.com/${type.typeName}`
      return { "@type": url, ...fieldsOf(recipe, type, depth + 1) }
    }
    case "google.protobuf.Duration":
      return random.of(durations, "1s")
    case "google.protobuf.Timestamp":
      return "2030-01-31T12:00:00.5Z"
    case "google.protobuf.FieldMask":
      return "a,bC"
    case "google.protobuf.Struct":
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.of(strings, ""), plainValue(recipe, 0)])
      )
    case "google.protobuf.Value":
      return plainValue(recipe, 0)
    case "google.protobuf.ListValue":
      return [plainValue(recipe, 0)]
    default: {
      const [field] = schema.fields
      return isWrapperDesc(schema) && field !== undefined ? one(recipe, field, depth) : fieldsOf(recipe, schema, depth)
    }
  }
}

/** A value of a field, or of what is in its list or map. */
const one = (recipe: Recipe, field: DescField, depth: number): JsonValue => {
  const { random } = recipe
  if (random.isOne(recipe.odd)) return random.of(odds, null)
  if (field.message !== undefined) return ofMessage(recipe, field.message, depth + 1)
  if (field.enum !== undefined) {
    const value = random.of(field.enum.values, field.enum.values[0])
    return value === undefined ? 0 : random.isOne(3) ? value.number : value.name
  }
  switch (field.scalar) {
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return random.of(doubles, 0)
    case ScalarType.INT64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
    case ScalarType.SINT64:
      return random.of(longs, 0)
    case ScalarType.BOOL:
      return random.isOne(2)
    case ScalarType.STRING:
      return random.of(strings, "")
    case ScalarType.BYTES:
      return random.of(["", "AA==", "AAE", "_-8=", "aGVsbG8gd29ybGQ="], "")
    default:
      return random.of(recipe.odd > 0 ? integers : integers.slice(0, 6), 0)
  }
}

const ofField = (recipe: Recipe, field: DescField, depth: number): JsonValue => {
  const { random } = recipe
  if (random.isOne(40) || random.isOne(recipe.odd)) return random.of(odds.slice(0, 1), null)
  switch (field.fieldKind) {
    case "list":
      return Array.from({ length: random.below(3) }, () => one(recipe, field, depth))
    case "map": {
      const keys =
        field.mapKey === ScalarType.STRING
          ? strings
          : field.mapKey === ScalarType.BOOL
            ? ["true", "false"]
            : ["0", "1", "01", "-1", "x"]
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.of(keys, ""), one(recipe, field, depth)])
      )
    }
    default:
      return one(recipe, field, depth)
  }
}

/** The fields of a message in any order, by either of their names. */
export const fieldsOf = (recipe: Recipe, schema: DescMessage, depth = 0): JsonObject => {
  const { random } = recipe
  const json: JsonObject = {}
  const oneofs = new Set<unknown>()
  for (let left = random.below(depth > 4 ? 2 : 7); left > 0; left--) {
    const field = random.of(schema.fields, schema.fields[0])
    if (field === undefined) break
    const name = random.isOne(2) ? field.name : field.jsonName
    const isAgain = Object.hasOwn(json, field.name) || Object.hasOwn(json, field.jsonName)
    const isSecond = field.oneof !== undefined && oneofs.has(field.oneof)
    if ((isAgain || isSecond) && !random.isOne(recipe.odd)) continue
    oneofs.add(field.oneof)
    json[name] = ofField(recipe, field, depth)
  }
  if (random.isOne(3 * recipe.odd))
    json[random.of(["no_such_field", "", "@type", "[x.y]", "value"], "")] = random.of(odds, null)
  return json
}
