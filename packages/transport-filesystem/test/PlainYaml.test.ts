/** What is plain YAML means what the whole parser says, and has its places where that says. */
import type { JsonValue } from "@bufbuild/protobuf"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import fc from "fast-check"
import { stringify } from "yaml"
import type { Part, Path } from "../src/internal/SourceDocument.js"
import * as YamlText from "../src/internal/YamlText.js"

type Place = (path: Path, what: "key" | "value") => number

/** The places of all that is in a value. */
const placesIn = (value: unknown, path: Path, offsetOf: Place): ReadonlyArray<string> => {
  const here = `${JSON.stringify(path)} ${offsetOf(path, "key")} ${offsetOf(path, "value")}`
  if (typeof value !== "object" || value === null) return [here]
  const below = Object.entries(value).filter(([key]) => key !== "<<")
  return [
    here,
    ...below.flatMap(([key, each]) => placesIn(each, [...path, Array.isArray(value) ? Number(key) : key], offsetOf))
  ]
}

type InWhole = ReturnType<typeof YamlText.stream> extends Generator<infer A> ? A : never

/** Documents with the elements that were told before; some are asked for their places when they are told, and later. */
const whole = function* (parts: Iterable<Part | undefined>): Generator<InWhole, void> {
  let elements: Array<{
    readonly path: Path
    readonly value: JsonValue
    readonly places: ReadonlyArray<string> | undefined
  }> = []
  for (const part of parts) {
    if (part?._tag === "Again") {
      elements = []
    } else if (part?._tag === "Element") {
      const { offsetOf, path, value } = part
      const isLookedAt = elements.length % 10 === 0
      elements.push({ path, value, places: isLookedAt ? placesIn(value, path, offsetOf) : undefined })
    } else if (part?._tag === "Wrong") {
      elements = []
      yield Either.left(part.problems)
    } else if (part?._tag === "Document") {
      const { offsetOf, start, value } = part.document
      for (const { path, places, value } of elements) {
        if (places !== undefined) expect(places).toEqual(placesIn(value, path, offsetOf))
      }
      const values = elements.map(({ value }) => value)
      const key = elements[0]?.path.length === 2 ? String(elements[0].path[0]) : undefined
      const rest = typeof value === "object" && !Array.isArray(value) ? value : {}
      const all: JsonValue = elements.length === 0 ? value : key === undefined ? values : { ...rest, [key]: values }
      elements = []
      yield Either.right({ value: all, start, offsetOf })
    }
  }
}

/** Each with its value, and the places of all that is in it. */
const told = (documents: Iterable<InWhole>) =>
  Array.from(documents).map((document) =>
    Either.match(document, {
      onLeft: (problems) => ({ problems }),
      onRight: ({ offsetOf, start, value }) => ({ value, start, places: placesIn(value, [], offsetOf) })
    })
  )

const same = (text: string): void => {
  expect(told(whole(YamlText.parts(text)))).toEqual(told(YamlText.stream(text)))
}

const words = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("a", "name", "connect_timeout", "x.y/z", "@type", "1s", "127.0.0.1:80", "a b")
  },
  fc.constantFrom(
    "null",
    "~",
    "true",
    "False",
    "yes",
    "0",
    "-0",
    "007",
    "1.0",
    "-1.50",
    "1e3",
    "0x1F",
    "0o17",
    ".5",
    "+1"
  ),
  fc.constantFrom(
    "9007199254740993",
    ".inf",
    "-.INF",
    ".nan",
    "1_000",
    "12345678901234567890",
    "2001-01-01",
    "-",
    "--",
    "---"
  ),
  fc.constantFrom(
    "# a",
    "a # b",
    "a: b",
    "a:b",
    ":",
    "?",
    "*",
    "&x",
    "*x",
    "!a",
    "%",
    "|",
    ">",
    "<<",
    "",
    " ",
    "é",
    "a\tb",
    "a\\b"
  ),
  fc.string({ maxLength: 8 })
)

const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: "medium", maxDepth: 4 },
    { weight: 4, arbitrary: words },
    fc.constantFrom(null, true, false, 0, -1, 1.5, 1e21, -0),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(words, tie("json"), { maxKeys: 4, noNullPrototype: true })
  )
}))

const written = fc
  .tuple(
    fc.array(json, { minLength: 1, maxLength: 3 }),
    fc.record({
      indent: fc.constantFrom(2, 4),
      indentSeq: fc.boolean(),
      defaultStringType: fc.constantFrom("PLAIN" as const, "QUOTE_DOUBLE" as const, "QUOTE_SINGLE" as const),
      defaultKeyType: fc.constantFrom("PLAIN" as const, "QUOTE_DOUBLE" as const),
      collectionStyle: fc.constantFrom("any" as const, "block" as const, "flow" as const),
      lineWidth: fc.constantFrom(0, 20)
    })
  )
  .map(([values, options]) => values.map((value) => stringify(value, options)).join("---\n"))

/** Writing that is close to YAML: pieces in any order. */
const scribbled = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "- ",
        "-",
        "  ",
        "    ",
        "\n",
        "\n",
        "\n  ",
        "\n- ",
        "a: ",
        "b:",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        ", ",
        ",",
        ": "
      ),
      fc.constantFrom(
        "#",
        " # c",
        "\r\n",
        "\t",
        "---\n",
        "...\n",
        "%YAML 1.2\n",
        "&a ",
        "*a",
        "!!str ",
        "|\n",
        ">\n",
        "? ",
        "<<: "
      ),
      words
    ),
    { maxLength: 14 }
  )
  .map((parts) => parts.join(""))
  // A line that ends a document does so wherever it stands, also behind a quote that was not closed.
  .filter((text) => !/\n---(?!\S)/.test(text))

/** Too long to be read as a whole where something in it is not plain. */
const long = (element: (index: number) => string, before = "", after = ""): string =>
  before + Array.from({ length: 900 }, (_, index) => element(index)).join("") + after

describe("Plain YAML", () => {
  it("is what the whole parser makes of what is written", () => {
    fc.assert(fc.property(written, same), { numRuns: 2_000 })
  })

  it("is what the whole parser makes of what is scribbled, or is left to it", () => {
    fc.assert(fc.property(scribbled, same), { numRuns: 20_000 })
  })

  it.each([
    ["a list", long((index) => `- "@type": t\n  name: a${index} # ${index}\n  list:\n  - [a, { b: c }]\n\n`)],
    ["an indented list", long((index) => `  - name: a${index}\n    list:\n      - x\n      - - y\n`, "---\n# c\n")],
    [
      "a list below a key",
      long((index) => `- name: a${index}\n  x: {a: 1, "b":2}\n`, "version_info: '1'\nresources:\n", "type_url: x\n")
    ],
    [
      "a list with elements that are not plain",
      long((index) => `- name: a${index}\n  text: |\n    a\n    - b\n  yes: !!str 1\n`)
    ],
    [
      "one with such below a key",
      long((index) => `  - name: a\n    text: "a\n      b"\n    x: ${index % 9}e3\n`, "resources:\n", "type_url: x")
    ],
    [
      "one with anchors",
      long((index) =>
        index === 0 ? "- &a\n  name: x\n" : `- <<: *a\n  x: of more than thirty-two thousand ${index}\n`
      )
    ],
    ["documents", long((index) => `---\nname: a${index}\nx:\n  y: [1, 2]\n`)],
    ["documents with comments only between", long((index) => `--- # a\n# ${index}\n---\nname: a${index}\n`)],
    ["Windows lines", long((index) => `- name: a${index}\r\n  x: 'y'\r\n`)]
  ])("%s of any length is the same, and has its places", (_, text) => {
    expect(text.length).toBeGreaterThan(10_000)
    same(text)
  })

  it.each([
    "x:\n  a: 1\n  a: 2\n",
    "- { a: 1, a: 2 }\n",
    "a: 1\na: 2\n",
    "a: 1\n- b\n",
    "a: b\n  c\n",
    "- a\n  b\n- c\n",
    "- 'it''s'\n",
    "a: [1, 2\n",
    "a: 9007199254740993\n",
    "- -12345678901234567\n"
  ])("%j is left to the whole parser", same)

  it("a long list's mistakes are those of its elements, each in its place", () => {
    const text = long((index) =>
      index % 300 === 7 ? `- name: [a${index}\n` : `- name: abcdefghijklmnopqrstuvwxyz-${index}\n`
    )
    expect(text.length).toBeGreaterThan(32_768)
    const [only, more] = told(whole(YamlText.parts(text)))
    expect(more).toBeUndefined()
    const found = only !== undefined && "problems" in only ? only.problems : []
    const lines = found.map(({ offset }) => text.slice(0, offset).split("\n").length)
    expect(lines.map((line) => Math.floor(line / 300))).toEqual(expect.arrayContaining([0, 1, 2]))
    expect(lines.every((line) => [8, 9, 308, 309, 608, 609].includes(line))).toBe(true)
  })
})
