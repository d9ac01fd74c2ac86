/** Messages in the protobuf text format that look random, the same for the same seed: mostly right ones. */
import type { DescField, DescMessage } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import type { Recipe } from "./RandomJson.js"

const strings = [
  '""',
  '"a"',
  '"cluster-1"',
  '"é"',
  '"\u{1f600}"',
  `"${"x".repeat(130)}"`,
  '"}"',
  '"# no comment"',
  '"a\tb"'
]
const integers = ["0", "1", "7", "128", "300", "65535", "2147483647", "-1", "-5", "-2147483648"]
const longs = [...integers, "4294967296", "9223372036854775807", "-9223372036854775808", "18446744073709551615"]
const decimals = ["0", "1", "-1", "0.5", "-1.5", "0.1", "12.25", "1000000", "0.000001"]
const odds = [
  '"a" "b"',
  "'a'",
  '"a\\n"',
  '"\\377"',
  '"\ud800"',
  "0x10",
  "010",
  "08",
  "-0",
  "- 5",
  "1f",
  "1.",
  ".5",
  "1e3",
  "1e400",
  "1.5.2",
  "-0.0",
  "inf",
  "-inf",
  "nan",
  "True",
  "t",
  "2147483648",
  "-2147483649",
  "4294967295",
  "4294967296",
  "18446744073709551616",
  "99999999999999999999999",
  "true",
  "NO_SUCH_VALUE",
  "{}",
  "<>",
  "[]",
  "[1, 2]",
  '["a", "b"]',
  "[{}, {}]",
  "",
  "1;",
  '"a",',
  '"open',
  "}"
]

const scalar = ({ odd, random }: Recipe, field: DescField): string => {
  if (random.isOne(odd)) return random.of(odds, "")
  if (field.enum !== undefined) {
    const value = random.of(field.enum.values, field.enum.values[0])
    return value === undefined ? "0" : random.isOne(4) ? String(value.number) : value.name
  }
  switch (field.scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return random.of(strings, '""')
    case ScalarType.BOOL:
      return random.isOne(2) ? "true" : "false"
    case ScalarType.FLOAT:
    case ScalarType.DOUBLE:
      return random.of(decimals, "0")
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return random.of(odd > 0 ? longs : longs.slice(0, 7), "0")
    default:
      return random.of(odd > 0 ? integers : integers.slice(0, 7), "0")
  }
}

const spaces = [" ", "  ", "\n", "\t", "\r\n"]

const oddSpaces = ["", "", "", " # a comment\n", "\v", "\f", "\u00a0", ", ", ";"]

const space = ({ odd, random }: Recipe): string =>
  random.isOne(odd) ? random.of(oddSpaces, " ") : random.of(spaces, " ")

const inBraces = (recipe: Recipe, inside: string): string =>
  recipe.random.isOne(3 * recipe.odd) ? `<${inside}>` : `{${space(recipe)}${inside}}`

const messageOf = (recipe: Recipe, schema: DescMessage, depth: number): string => {
  const { random } = recipe
  if (schema.typeName === "google.protobuf.Any" && !random.isOne(4 * recipe.odd)) {
    return inBraces(recipe, anyOf(recipe, random.of(recipe.types, schema), depth))
  }
  return inBraces(recipe, fieldsOf(recipe, schema, depth))
}

const anyOf = (recipe: Recipe, type: DescMessage, depth: number): string => {
  const host = recipe.random.isOne(4 * recipe.odd) ? "example.com/" : "type.googleapis.com/"
  return `[${host}${type.typeName}]${space(recipe)}${inBraces(recipe, fieldsOf(recipe, type, depth + 1))}${space(recipe)}`
}

const fieldsOf = (recipe: Recipe, schema: DescMessage, depth: number): string => {
  const { random } = recipe
  const seen = new Set<unknown>()
  let text = ""
  for (let left = random.below(depth > 4 ? 2 : 7); left > 0; left--) {
    const field = random.of(schema.fields, schema.fields[0])
    if (field === undefined) break
    const one = field.oneof ?? field
    if (seen.has(one) && field.fieldKind !== "list" && !random.isOne(recipe.odd)) continue
    // What is seldom in these files.
    if ((field.fieldKind === "map" || field.scalar === ScalarType.BYTES) && !random.isOne(5 * recipe.odd)) continue
    seen.add(one)
    const isMessage = field.message !== undefined && field.fieldKind !== "map"
    const colon = isMessage === random.isOne(5) || random.isOne(recipe.odd) ? ":" : isMessage ? "" : ":"
    const name = random.isOne(3 * recipe.odd)
      ? random.of([field.jsonName, "no_such", String(field.number)], "")
      : field.name
    const value = isMessage ? messageOf(recipe, field.message, depth + 1) : scalar(recipe, field)
    text += `${name}${random.isOne(3 * recipe.odd) ? "" : colon}${space(recipe)}${value}${space(recipe)}`
  }
  return text
}

/** A resource in a response. */
export const resourceOf = (recipe: Recipe, type: DescMessage): string =>
  `resources${recipe.random.isOne(5) ? ":" : ""} ${inBraces(recipe, anyOf(recipe, type, 0))}` +
  (recipe.random.isOne(3 * recipe.odd) ? recipe.random.of([",", ' type_url: "a"', " resources {}", "}"], "") : "")
