import { fromBinary, fromJson, toBinary, toJsonString } from "@bufbuild/protobuf"
import type { JsonObject, JsonValue } from "@bufbuild/protobuf"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as JsonParts from "@effect-xds/transport-node/JsonParts"
import { parseObject } from "@effect-xds/transport-node/JsonText"
import * as MessageParts from "@effect-xds/transport-node/MessageParts"
import type { Parts } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import { describe, expect, it } from "vitest"

/** Numbers that look random, the same for the same seed. */
const random = (seed: number): ((bound: number) => number) => {
  let state = seed
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

/** All of it, and in how many parts. */
const done = <A>(parts: Parts<A>): { readonly value: A; readonly count: number } => {
  let count = 1
  let part = parts.next()
  for (; part.done !== true; part = parts.next()) count++
  return { value: part.value, count }
}

const encoder = new TextEncoder()

const scalars = [
  "0",
  "-1.5e3",
  "true",
  "false",
  "null",
  '""',
  '"a,b]}{["',
  '"\\"\\\\"',
  '"\\u00e9\\ud83d\\ude00"',
  '"é😀"',
  '"__proto__"'
]
const keys = ['"a"', '"b,"', '"__proto__"', '"\\u0061"', '"1"', '"constructor"', '"é"']

/** A text of about so many characters, with blanks where they may be. */
const textOf = (below: (bound: number) => number, size: number, depth = 0): string => {
  const blank = () => ["", "", "", " ", "\n", "\t\r "][below(6)] ?? ""
  if (size < 4 || depth > 40) {
    const scalar = below(40) === 0 ? `"${"x".repeat(below(40_000))}"` : (scalars[below(scalars.length)] ?? "1")
    return `${blank()}${scalar}${blank()}`
  }
  const isArray = below(2) === 0
  const members: Array<string> = []
  for (let left = size; left > 0;) {
    // Few that are large, and many that are small.
    const each = below(3) === 0 ? below(left + 1) : below(Math.min(left, 60) + 1)
    left -= each + 8
    const value = textOf(below, each, depth + 1)
    members.push(isArray ? value : `${blank()}${keys[below(keys.length)] ?? '"k"'}${blank()}:${value}`)
  }
  return `${blank()}${isArray ? "[" : "{"}${members.join(",")}${isArray ? "]" : "}"}${blank()}`
}

describe("JSON in parts", () => {
  it("is what it is as a whole", () => {
    let most = 0
    for (let seed = 1; seed <= 16; seed++) {
      const text = textOf(random(seed), seed % 4 === 0 ? 300 : 60_000)
      const whole: unknown = JSON.parse(text)
      const { count, value } = done(JsonParts.parse(encoder.encode(text)))
      // With members in the same order, and each of them its own.
      const same = JSON.stringify(whole)
      expect(JSON.stringify(value) === same, `seed ${seed}`).toBe(true)
      expect(Array.from(JsonParts.texts(value)).join("") === same, `seed ${seed}, written`).toBe(true)
      most = Math.max(most, count)
    }
    expect(most).toBeGreaterThan(5)
  })

  it("is malformed where it is so as a whole", () => {
    let [wrong, placed] = [0, 0]
    for (let seed = 1; seed <= 90; seed++) {
      const below = random(seed)
      const text = textOf(below, seed % 3 === 0 ? 40 : 20_000)
      const at = below(text.length)
      const junk = ["", ",", "]", "}", "[", "{", '"', ":", "x", "1", "\\", " ", "\u0001"][below(13)] ?? ""
      const broken = below(4) === 0 ? text.slice(0, at) : text.slice(0, at) + junk + text.slice(at + below(2))
      const bytes = encoder.encode(broken)
      const whole = parseObject(bytes, "the body", "thing")
      const told = Either.isLeft(whole) ? whole.left : ""
      if (!told.includes("not JSON")) {
        expect(JSON.stringify(done(JsonParts.parse(bytes)).value)).toBe(JSON.stringify(JSON.parse(broken)))
        continue
      }
      wrong++
      try {
        done(JsonParts.parse(bytes))
        expect.fail(`seed ${seed}: ${told}`)
      } catch (fault) {
        if (!(fault instanceof JsonParts.Malformed)) throw fault
        const place = done(JsonParts.place(bytes, fault)).value
        // Of some mistakes Node does not say where they are: then the line has to do.
        if (!told.includes("column") || !place.includes("column")) continue
        placed++
        expect(told, `seed ${seed}`).toContain(`${place}: `)
      }
    }
    expect(wrong).toBeGreaterThan(40)
    expect(placed).toBeGreaterThan(15)
  })

  it("takes no comma that nothing follows, or nothing stands before, where a part ends", () => {
    const large = `"${"x".repeat(20_000)}"`
    for (const text of [
      `[${large},]`,
      `[${large} , ]`,
      `[${large},,${large}]`,
      `[,${large},1]`,
      `{"a":${large},}`,
      `{"a":${large},,"b":1}`,
      `{"a":[${large},],"b":1}`,
      `[[${large}],]`
    ]) {
      expect(() => done(JsonParts.parse(encoder.encode(text))), text.replaceAll("x", "")).toThrow(JsonParts.Malformed)
    }
    expect(done(JsonParts.parse(encoder.encode(`[${large},1 ]`))).value).toEqual(["x".repeat(20_000), 1])
  })

  it("has a part for each so many bytes", () => {
    const names = Array.from({ length: 19_000 }, (_, at) => `cluster-${at}`)
    const bytes = encoder.encode(JSON.stringify({ resource_names: names }))
    expect(done(JsonParts.parse(bytes)).count).toBeGreaterThan(bytes.length / 17_000)
    const spaces = encoder.encode(`{"a":1${" ".repeat(1_000_000)}}`)
    expect(done(JsonParts.parse(spaces)).count).toBeGreaterThan(15)
  })
})

const nodeOf = (below: (bound: number) => number): JsonObject => {
  const valueOf = (size: number, depth: number): JsonValue => {
    if (size < 2 || depth > 8)
      return [null, true, -1.5, "s", below(90) === 0 ? "y".repeat(50_000) : ""][below(5)] ?? null
    const count = below(size) + 1
    const list = Array.from({ length: count }, () => valueOf(Math.floor(size / count), depth + 1))
    return below(2) === 0 ? list : Object.fromEntries(list.map((value, at) => [`k${at}`, value]))
  }
  const members: ReadonlyArray<readonly [string, JsonValue]> = [
    ["id", "n"],
    ["metadata", Object.fromEntries(Array.from({ length: below(3_000) }, (_, at) => [`m${at}`, valueOf(5, 0)]))],
    ["userAgentBuildVersion", { version: { majorNumber: 1 }, metadata: { deep: valueOf(2_000, 0) } }],
    ["client_features", Array.from({ length: below(2_000) }, (_, at) => `feature-${at}`)],
    ["locality", { region: "r", sub_zone: "z".repeat(below(80_000)) }],
    [
      "extensions",
      Array.from({ length: below(900) }, (_, at) => ({ name: `e${at}`, version: { version: { patch: at } } }))
    ],
    [
      "dynamicParameters",
      Object.fromEntries(
        Array.from({ length: below(600) }, (_, at) => [
          `d${at}`,
          {
            params: Object.fromEntries(Array.from({ length: below(at % 90 === 0 ? 900 : 3) }, (_, p) => [`p${p}`, "v"]))
          }
        ])
      )
    ],
    ["listeningAddresses", Array.from({ length: below(600) }, () => ({ pipe: { path: "/p" } }))]
  ]
  return Object.fromEntries(members.filter(() => below(4) > 0))
}

const nested = (depth: number): JsonValue => (depth === 0 ? [] : [nested(depth - 1)])

describe("A message in parts", () => {
  it("is the same as in one", () => {
    let most = 0
    for (let seed = 1; seed <= 15; seed++) {
      const json = nodeOf(random(seed))
      const whole = fromJson(NodeSchema, json)
      const { count, value } = done(MessageParts.encode(NodeSchema, json, {}))
      const same = toJsonString(NodeSchema, fromBinary(NodeSchema, value)) === toJsonString(NodeSchema, whole)
      expect(same, `seed ${seed}`).toBe(true)
      most = Math.max(most, count)
    }
    expect(most).toBeGreaterThan(20)
  })

  const many = <A>(value: (at: number) => A): Array<A> => Array.from({ length: 2_000 }, (_, at) => value(at))
  const wide = Object.fromEntries(many((at) => [`k${at}`, "v"]))
  const wrong: ReadonlyArray<readonly [string, JsonValue]> = [
    ["an element of another kind", { clientFeatures: many((at) => (at === 1_500 ? 7 : "f")) }],
    ["no element", { clientFeatures: many((at) => (at === 1_500 ? null : "f")) }],
    ["a field twice", { client_features: many(() => "f"), clientFeatures: many(() => "f") }],
    ["a large field that is unknown", { id: "n", others: wide }],
    ["an object in place of a list", { clientFeatures: wide }],
    ["a list in place of an object", { metadata: many(() => "f") }],
    ["something deep that is unknown", { locality: { region: "x".repeat(70_000), none: 1 } }],
    ["an element that is none", { extensions: many((at) => (at === 1_999 ? { nome: "e" } : { name: "e" })) }],
    ["a number that is too large", { userAgentBuildVersion: { version: { patch: 2 ** 40 }, metadata: wide } }],
    ["what is nested too deep", { metadata: { wide, deep: nested(150) } }]
  ]
  it.each(wrong)("fails with the same words for %s", (_, json) => {
    const failure = (work: () => unknown): string => {
      try {
        work()
      } catch (cause) {
        return cause instanceof Error ? cause.message : String(cause)
      }
      return "none"
    }
    const whole = failure(() => toBinary(NodeSchema, fromJson(NodeSchema, json)))
    expect(whole).not.toBe("none")
    const told = failure(() => done(MessageParts.encode(NodeSchema, json, {})))
    // How deep is left is less, the deeper it begins.
    const limitless = (message: string) => message.replace(/depth of \d+/, "depth")
    expect(limitless(told)).toBe(limitless(whole))
  })
})
