/**
 * Files that nobody should write, in JSON, YAML and the text format. For tests of whatever reads files.
 *
 * @since 0.1.0
 */
import type { Scale } from "./BadResource.js"

/**
 * The text of a file.
 *
 * @since 0.1.0
 */
export interface BadFile {
  readonly what: string
  /** Its name: the format goes by that. */
  readonly file: string
  readonly bytes: Uint8Array
  readonly isValid: boolean
}

const anyUrl = "type.googleapis.com/google.protobuf.Any"
const clusterUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const encoder = new TextEncoder()

const inCluster = (rest: string): string => `{"@type": "${clusterUrl}", "name": "c"${rest}}`

const yamlCluster = (rest: string): string => `"@type": ${clusterUrl}\nname: c\n${rest}`

const textCluster = (rest: string): string => `# proto-message: envoy.config.cluster.v3.Cluster\nname: "c"\n${rest}`

/** With a byte that UTF-8 never has in place of a tilde. */
const spoiled = (text: string): Uint8Array => encoder.encode(text).map((byte) => (byte === 0x7e ? 0xff : byte))

/** Lists of aliases of lists of aliases: a few lines that stand for more than fits into memory. */
const laughs = (depth: number, width: number): string => {
  const lines = ["a0: &a0 [x, x]"]
  for (let level = 1; level <= depth; level++) {
    lines.push(`a${level}: &a${level} [${Array.from({ length: width }, () => `*a${level - 1}`).join(", ")}]`)
  }
  return lines.map((line) => `      ${line}`).join("\n")
}

/** The same with merge keys. */
const merges = (depth: number): string => {
  const lines = ["a0: &a0 { k: 1 }"]
  for (let level = 1; level <= depth; level++) {
    const below = `*a${level - 1}`
    lines.push(`a${level}: &a${level} { <<: [${below}, ${below}], b: ${below}, c: ${below} }`)
  }
  return lines.map((line) => `      ${line}`).join("\n")
}

const listed = (count: number, item: (index: number) => string, between: string): string =>
  Array.from({ length: Math.ceil(count) }, (_, index) => item(index)).join(between)

/**
 * Files with resources, in JSON, YAML and the text format.
 *
 * @since 0.1.0
 */
export const all = ({ levels = 10_000, size = 1_048_576 }: Scale = {}): ReadonlyArray<BadFile> => {
  const file = (name: string, format: string, isValid: boolean, content: string | Uint8Array): BadFile => ({
    what: `${name} (${format})`,
    file: `bad.${format}`,
    bytes: typeof content === "string" ? encoder.encode(content) : content,
    isValid
  })
  const long = "n".repeat(size)
  const deep = (open: string, close: string, core = ""): string =>
    `${open.repeat(levels)}${core}${close.repeat(levels)}`
  const json = (name: string, isValid: boolean, rest: string) => file(name, "json", isValid, inCluster(rest))
  const yaml = (name: string, isValid: boolean, rest: string) => file(name, "yaml", isValid, yamlCluster(rest))
  const pbtxt = (name: string, isValid: boolean, rest: string) => file(name, "textproto", isValid, textCluster(rest))
  return [
    json("a field that is not known", false, `, "new_field": 1`),
    json("an enum's value that is not known", false, `, "lb_policy": "NEWER"`),
    json("an enum's number that is not known", true, `, "lb_policy": 999`),
    json(
      "a type that is not known",
      false,
      `, "typed_extension_protocol_options": {"x": {"@type": "a.com/not.Known"}}`
    ),
    json("a key twice", false, `, "name": "d"`),
    json("a key in both spellings", false, `, "connect_timeout": "1s", "connectTimeout": "2s"`),
    json("a key of a map twice", false, `, "metadata": {"filter_metadata": {"x": {"k": 1}, "x": {"k": 2}}}`),
    json("__proto__ as a key", true, `, "metadata": {"filter_metadata": {"__proto__": {"__proto__": {"a": 1}}}}`),
    json("a duration that is none", false, `, "connect_timeout": "NaNs"`),
    json("an infinite duration", false, `, "connect_timeout": "Infinitys"`),
    json("a duration of 1e9 seconds", false, `, "connect_timeout": "1e9s"`),
    json("a duration that is too long", false, `, "connect_timeout": "999999999999999999s"`),
    json("NaN as a duration", false, `, "connect_timeout": NaN`),
    json("NaN as a number", true, `, "common_lb_config": {"healthy_panic_threshold": {"value": "NaN"}}`),
    json("1e400", false, `, "common_lb_config": {"healthy_panic_threshold": {"value": 1e400}}`),
    json("1e400 in a Struct", false, `, "metadata": {"filter_metadata": {"x": {"k": 1e400}}}`),
    json("half a surrogate pair", false, `, "alt_stat_name": "\\ud800"`),
    json("half a surrogate pair in a Struct", false, `, "metadata": {"filter_metadata": {"x": {"k": "\\udc00"}}}`),
    file("half a surrogate pair in the name", "json", false, `{"@type": "${clusterUrl}", "name": "\\ud800"}`),
    file("NUL in the name", "json", true, `{"@type": "${clusterUrl}", "name": "a\\u0000b"}`),
    file("a large name", "json", true, `{"@type": "${clusterUrl}", "name": "${long}"}`),
    file("bytes that are not UTF-8", "json", false, spoiled(`{"@type": "${clusterUrl}", "name": "~"}`)),
    file("arrays in arrays", "json", false, deep("[", "]")),
    file("arrays in arrays without an end", "json", false, "[".repeat(levels)),
    json("objects in objects", false, `, "metadata": {"filter_metadata": {"x": ${deep(`{"a":`, "}", "1")}}}`),
    json(
      "objects in objects without an end",
      false,
      `, "metadata": {"filter_metadata": {"x": ${`{"a":`.repeat(levels)}`
    ),
    json("messages in messages", false, `, "load_assignment": ${deep(`{"a":`, "}", "1")}`),
    json(
      "an Any in an Any",
      false,
      `, "typed_extension_protocol_options": {"x": ${deep(`{"@type": "${anyUrl}", "value": `, "}", `{"@type": "${anyUrl}"}`)}}`
    ),
    json(
      "a large Struct",
      true,
      `, "metadata": {"filter_metadata": {"x": {${listed(size / 16, (index) => `"k${index}":"v"`, ",")}}}}`
    ),
    json(
      "a large list of numbers",
      true,
      `, "metadata": {"filter_metadata": {"x": {"k": [${"1,".repeat(size / 2)}1]}}}`
    ),
    json("a long number", false, `, "lb_policy": ${"9".repeat(size)}`),
    json("a long text with escapes", true, `, "alt_stat_name": "${"\\u0041".repeat(size / 6)}"`),
    json("many mistakes", false, `, "health_checks": [${listed(size / 10, () => `{"a":1}`, ",")}]`),
    file("nothing but space", "json", false, " ".repeat(size)),
    file("garbage", "json", false, "{".repeat(size)),

    yaml("aliases of aliases", false, `metadata:\n  filter_metadata:\n    x:\n${laughs(9, 9)}`),
    yaml(
      "aliases of aliases, deep",
      false,
      `metadata:\n  filter_metadata:\n    x:\n${laughs(Math.min(levels, 200), 2)}`
    ),
    yaml("a few aliases", true, `metadata:\n  filter_metadata:\n    x:\n${laughs(2, 3)}`),
    yaml("an alias of what is around it", false, `metadata:\n  filter_metadata:\n    x: &x { k: *x }`),
    yaml("an alias of nothing", false, `alt_stat_name: *nothing`),
    yaml("merge keys of merge keys", false, `metadata:\n  filter_metadata:\n    x:\n${merges(30)}`),
    yaml("a key twice", false, `name: d\n`),
    yaml("infinite", false, `common_lb_config: { healthy_panic_threshold: { value: .inf } }`),
    yaml("NaN", true, `common_lb_config: { healthy_panic_threshold: { value: .nan } }`),
    yaml("a tag", false, `alt_stat_name: !!js/function "() => 1"`),
    yaml("bytes", false, `alt_stat_name: !!binary "/w=="`),
    yaml("a key that is no text", false, `? [a, b]\n: 1`),
    yaml("NUL in a text", true, `alt_stat_name: "a\\0b"`),
    file("NUL in the file", "yaml", true, yamlCluster(`alt_stat_name: a\0b`)),
    file("half a surrogate pair", "yaml", false, yamlCluster(`alt_stat_name: "\\ud800"`)),
    yaml("__proto__ as a key", true, `metadata: { filter_metadata: { __proto__: { __proto__: { a: 1 } } } }`),
    file("flow in flow", "yaml", false, deep("[", "]")),
    file("flow in flow without an end", "yaml", false, "[".repeat(levels)),
    file("maps in maps", "yaml", false, deep("{a: ", "}", "1")),
    file("lists in lists", "yaml", false, `${"- ".repeat(levels)}1`),
    file(
      "maps in maps by lines",
      "yaml",
      false,
      listed(Math.min(levels, 1_000), (index) => `${" ".repeat(index)}a:`, "\n")
    ),
    file("keys in keys", "yaml", false, `${"? ".repeat(levels)}1`),
    file("many documents", "yaml", false, "---\n".repeat(size / 4)),
    file("a large name", "yaml", true, yamlCluster("").replace("name: c", `name: ${long}`)),
    file(
      "many anchors",
      "yaml",
      false,
      listed(size / 20, (index) => `- &a${index} x`, "\n")
    ),
    file("bytes that are not UTF-8", "yaml", false, spoiled(yamlCluster("alt_stat_name: ~"))),

    pbtxt("a field that is not known", false, `new_field: 1`),
    pbtxt("a field by its number", false, `9999: 1`),
    pbtxt("an enum's value that is not known", false, `lb_policy: NEWER`),
    pbtxt("an enum's number that is not known", true, `lb_policy: 999`),
    pbtxt("a field twice", false, `name: "d"`),
    pbtxt("bytes that are not UTF-8 in a text", false, `alt_stat_name: "\\xff"`),
    pbtxt("NUL in a text", true, `alt_stat_name: "a\\000b"`),
    pbtxt("messages in messages", false, deep("load_assignment { ", "} ")),
    pbtxt("messages in messages without an end", false, "load_assignment { ".repeat(levels)),
    pbtxt(
      "a Struct in a Struct",
      false,
      `metadata { filter_metadata { key: "x" value { ${deep(`fields { key: "a" value { struct_value { `, "} } } ")}}}}`
    ),
    pbtxt(
      "an Any in an Any",
      false,
      `typed_extension_protocol_options { key: "x" value { ${deep(`[${anyUrl}] { `, "} ")} } }`
    ),
    pbtxt("lists in lists", false, `health_checks: ${"[".repeat(levels)}`),
    pbtxt("an infinite number", true, `common_lb_config { healthy_panic_threshold { value: inf } }`),
    pbtxt("a number that is none", true, `common_lb_config { healthy_panic_threshold { value: nan } }`),
    pbtxt("a long text", true, `alt_stat_name: "${long}"`),
    pbtxt("many short texts", true, `alt_stat_name: ${`"a" `.repeat(size / 4)}`),
    pbtxt("garbage", false, "{".repeat(size)),
    pbtxt("a comment without an end", true, `# ${long}`),
    pbtxt("many mistakes", false, "new_field: 1 ".repeat(size / 13))
  ]
}
