/** Random messages of any type, made from its descriptor, with values near the bounds of its rules. */
import type { DescEnum, DescField, DescMessage, Message } from "@bufbuild/protobuf"
import { create, getOption, ScalarType } from "@bufbuild/protobuf"
import { isWrapperDesc } from "@bufbuild/protobuf/wkt"
import { type FieldRules, required, rules as rulesOption } from "@effect-xds/proto/validate/validate"

export interface Random {
  /** From 0 to 1, without 1. */
  readonly next: () => number
  readonly below: (limit: number) => number
  readonly pick: <A>(values: ReadonlyArray<A>) => A
}

/** The same numbers for the same seed. */
export const random = (seed: number): Random => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick: (values) => {
      const value = values[below(values.length)]
      if (value === undefined) throw new Error("nothing to pick")
      return value
    }
  }
}

/** Some bytes are others, missing, or there twice. */
export const spoiled = (random: Random, bytes: Uint8Array): Uint8Array => {
  const at = random.below(bytes.length + 1)
  const other = random.below(bytes.length + 1)
  switch (random.below(3)) {
    case 0:
      return bytes.map((byte, index) => (index === at ? random.below(256) : byte))
    case 1:
      return bytes.subarray(0, at)
    default:
      return Buffer.concat([bytes.subarray(0, Math.max(at, other)), bytes.subarray(Math.min(at, other))])
  }
}

const texts = [
  "",
  "a",
  "ab",
  "a.mmdb",
  "a\n.mmdb",
  "\u2028.mmdb",
  "/path",
  "/pa th",
  "x-header",
  ":path",
  "a,b",
  "a b",
  "a\tb",
  "a\rb",
  "a\nb",
  "a\0b",
  "a\x08b",
  "a\x1fb",
  "a\x7fb",
  "a\u00a0b",
  "a\u2028b",
  "a\ufeffb",
  "ä",
  "\u{1f600}",
  "\u{1f600}\u{1f600}",
  "A_B-9",
  "a?b",
  "a#",
  "a/",
  "a/b",
  '"',
  "\\",
  ";",
  "<"
]

const isNumeric = (value: unknown): value is number | bigint => typeof value === "number" || typeof value === "bigint"

const given = (rules: object, key: string): unknown => (Object.hasOwn(rules, key) ? Reflect.get(rules, key) : undefined)

const listOf = (rules: object, key: string): ReadonlyArray<unknown> => {
  const value: unknown = Reflect.get(rules, key)
  return Array.isArray(value) ? value : []
}

const lengthsNear = (rules: object, least: string, most: string, cap: number): ReadonlyArray<number> =>
  [least, most]
    .map((key) => given(rules, key))
    .filter(isNumeric)
    .map(Number)
    .flatMap((length) => [length - 1, length, length + 1])
    .filter((length) => length >= 0 && length <= cap)

const signed32 = [-(2n ** 31n), 2n ** 31n - 1n] as const
const unsigned32 = [0n, 2n ** 32n - 1n] as const
const signed64 = [-(2n ** 63n), 2n ** 63n - 1n] as const
const unsigned64 = [0n, 2n ** 64n - 1n] as const

const limits: Partial<Record<ScalarType, readonly [bigint, bigint]>> = {
  [ScalarType.INT32]: signed32,
  [ScalarType.SINT32]: signed32,
  [ScalarType.SFIXED32]: signed32,
  [ScalarType.UINT32]: unsigned32,
  [ScalarType.FIXED32]: unsigned32,
  [ScalarType.INT64]: signed64,
  [ScalarType.SINT64]: signed64,
  [ScalarType.SFIXED64]: signed64,
  [ScalarType.UINT64]: unsigned64,
  [ScalarType.FIXED64]: unsigned64
}

const isLong = ([, most]: readonly [bigint, bigint]): boolean => most > 2n ** 32n

const number = (random: Random, scalar: ScalarType, rules: object): number | bigint => {
  const near = ["lt", "lte", "gt", "gte", "const"].map((key) => given(rules, key)).filter(isNumeric)
  const listed = ["in", "notIn"].flatMap((key) => listOf(rules, key)).filter(isNumeric)
  const range = limits[scalar]
  if (range === undefined) {
    const values = [0, 1, -1, 0.5, 100, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0]
    return random.pick([
      ...values,
      ...[...near, ...listed].map(Number).flatMap((each) => [each, each - 0.5, each + 0.5])
    ])
  }
  const [least, most] = range
  const values = [
    0n,
    1n,
    least,
    most,
    ...[...near, ...listed].map(BigInt).flatMap((each) => [each, each - 1n, each + 1n])
  ]
  const value = random.pick(values.filter((each) => each >= least && each <= most))
  return isLong(range) ? value : Number(value)
}

const text = (random: Random, rules: object): string => {
  const listed = ["in", "notIn"].flatMap((key) => listOf(rules, key)).map(String)
  const ends = ["prefix", "suffix", "const", "contains"]
    .map((key) => given(rules, key))
    .filter((each) => typeof each === "string")
  // A limit of kilobytes is tried seldom: its messages are large.
  const cap = random.next() < 0.1 ? 20_000 : 300
  const sizes = [...lengthsNear(rules, "minLen", "maxLen", cap), ...lengthsNear(rules, "minBytes", "maxBytes", cap)]
  const choices = [
    () => random.pick(texts),
    () => "plain",
    ...(listed.length > 0 ? [() => random.pick(listed)] : []),
    ...(ends.length > 0 ? [() => random.pick(ends), () => `${ends[0]}x`, () => `x${ends[0]}`] : []),
    ...(sizes.length > 0
      ? [
          () => "a".repeat(random.pick(sizes)),
          () => "ä".repeat(random.pick(sizes)),
          () => "\u{1f600}".repeat(random.pick(sizes))
        ]
      : [])
  ]
  return random.pick(choices)()
}

const rulesIn = (rules: FieldRules | undefined): object => rules?.type.value ?? {}

const scalarValue = (random: Random, scalar: ScalarType, rules: FieldRules | undefined): unknown => {
  switch (scalar) {
    case ScalarType.BOOL:
      return random.next() < 0.5
    case ScalarType.STRING:
      return text(random, rulesIn(rules))
    case ScalarType.BYTES: {
      const sizes = [0, 1, ...lengthsNear(rulesIn(rules), "minLen", "maxLen", 20_000)]
      return new Uint8Array(random.pick(sizes)).fill(97)
    }
    default:
      return number(random, scalar, rulesIn(rules))
  }
}

const enumValue = (random: Random, desc: DescEnum, rules: FieldRules | undefined): number => {
  const numbers = desc.values.map((value) => value.number)
  const listed = ["in", "notIn"].flatMap((key) => listOf(rulesIn(rules), key)).map(Number)
  return random.pick([...numbers, ...listed, ...(random.next() < 0.2 ? [-1, 1000, Math.max(...numbers) + 1] : [])])
}

interface Time {
  readonly seconds: bigint
  readonly nanos: number
}

const isTime = (value: unknown): value is Time => typeof value === "object" && value !== null && "seconds" in value

const time = (random: Random, rules: FieldRules | undefined): Time => {
  const near = ["lt", "lte", "gt", "gte", "const"].map((key) => given(rulesIn(rules), key)).filter(isTime)
  const base = random.pick([
    { seconds: 0n, nanos: 0 },
    { seconds: 1n, nanos: 0 },
    { seconds: -1n, nanos: 0 },
    { seconds: 315_576_000_000n, nanos: 0 },
    { seconds: 315_576_000_001n, nanos: 0 },
    { seconds: 3_155_760_000_000n, nanos: 0 },
    { seconds: 9_300_000_000n, nanos: 1 },
    ...near,
    ...near,
    ...near
  ])
  const nanos = base.nanos + random.pick([0, 0, 0, 1, -1, 999_999_999, 1_000_000_000, -1_000_000_000, 1_000_000])
  return { seconds: base.seconds, nanos }
}

/** How much a message may still have in it. */
interface Budget {
  left: number
}

/** A message as one of the type may come: as often right as wrong, so that deep ones are met. */
export const message = (random: Random, type: DescMessage, budget: Budget = { left: 60 }, depth = 0): Message => {
  const made = create(type)
  const setOf = (field: DescField, value: unknown): void => {
    if (value === undefined) return
    if (field.oneof === undefined) Reflect.set(made, field.localName, value)
    else Reflect.set(made, field.oneof.localName, { case: field.localName, value })
  }
  const isRuled = (field: DescField): boolean => {
    const rules = getOption(field, rulesOption)
    return rules.type.case !== undefined || rules.message !== undefined
  }
  for (const field of type.fields) {
    if (field.oneof !== undefined) continue
    if (random.next() < (isRuled(field) ? 0.85 : field.message === undefined ? 0.15 : 0.4 / (depth + 1))) {
      setOf(field, valueOf(random, field, budget, depth))
    }
  }
  for (const oneof of type.oneofs) {
    if (random.next() < (getOption(oneof, required) ? 0.85 : 0.4)) {
      const field = random.pick(oneof.fields)
      setOf(field, valueOf(random, field, budget, depth))
    }
  }
  return made
}

const singular = (
  random: Random,
  field: DescField | Inner,
  rules: FieldRules | undefined,
  budget: Budget,
  depth: number,
  isUnwrapped: boolean
): unknown => {
  if (field.enum !== undefined) return enumValue(random, field.enum, rules)
  const type = field.message
  if (type === undefined) return field.scalar === undefined ? undefined : scalarValue(random, field.scalar, rules)
  if (isWrapperDesc(type)) {
    const value = scalarValue(random, type.fields[0].scalar, rules)
    return isUnwrapped ? value : create(type, { value })
  }
  switch (type.typeName) {
    case "google.protobuf.Duration":
    case "google.protobuf.Timestamp": {
      const made = create(type)
      return Object.assign(made, time(random, rules))
    }
    case "google.protobuf.Any":
      return Object.assign(create(type), {
        typeUrl: random.pick(["", "type.googleapis.com/envoy.config.core.v3.Node"])
      })
    case "google.protobuf.Struct":
      return isUnwrapped ? { a: 1 } : create(type)
    default:
      if (budget.left <= 0 || depth > 8) return isRequired(rules) || random.next() < 0.2 ? create(type) : undefined
      budget.left--
      return message(random, type, budget, depth + 1)
  }
}

const isRequired = (rules: FieldRules | undefined): boolean => rules?.message?.required === true

interface Inner {
  readonly enum: DescEnum | undefined
  readonly message: DescMessage | undefined
  readonly scalar: ScalarType | undefined
}

const sizeOf = (random: Random, rules: object, least: string, most: string): number =>
  random.pick([0, 1, 2, ...lengthsNear(rules, least, most, 20)])

const valueOf = (random: Random, field: DescField, budget: Budget, depth: number): unknown => {
  const rules = getOption(field, rulesOption)
  switch (field.fieldKind) {
    case "list": {
      const own = rulesIn(rules)
      const items = rules.type.case === "repeated" ? rules.type.value.items : undefined
      const values: Array<unknown> = []
      for (let left = sizeOf(random, own, "minItems", "maxItems"); left > 0; left--) {
        const value = singular(random, field, items, budget, depth, false)
        if (value !== undefined) values.push(value)
      }
      return values
    }
    case "map": {
      const own = rules.type.case === "map" ? rules.type.value : undefined
      const entries: Record<string, unknown> = {}
      for (let left = sizeOf(random, own ?? {}, "minPairs", "maxPairs"); left > 0; left--) {
        const key = scalarValue(random, field.mapKey, own?.keys)
        const value = singular(random, field, own?.values, budget, depth, false)
        // Go prints keys as they are: those with brackets and the like would have to be told apart from the path.
        if (value !== undefined && /^[\w:]*$/.test(String(key))) entries[String(key)] = value
      }
      return entries
    }
    default:
      return singular(random, field, rules, budget, depth, field.oneof === undefined)
  }
}
