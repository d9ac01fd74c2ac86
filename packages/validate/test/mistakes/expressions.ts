/** Regular expressions, of which RE2 knows some. */
import { any, type Config, virtualHost } from "../Config.js"
import { withHosts, toWeb, withMatch, withRegex } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

/** A virtual host whose matcher has an expression of `xds.type.matcher.v3`. */
const withXdsRegex = (regex: string): Config => {
  const input = any("envoy.type.matcher.v3.HttpRequestHeaderMatchInput", { header_name: ":path" })
  const action = any("envoy.config.route.v3.Route", { match: { prefix: "/" }, route: { cluster: "web" } })
  const predicate = {
    single_predicate: {
      input: { name: "path", typed_config: input },
      value_match: { safe_regex: { google_re2: {}, regex } }
    }
  }
  const matchers = [{ predicate, on_match: { action: { name: "route", typed_config: action } } }]
  return withHosts(virtualHost({ routes: [], matcher: { matcher_list: { matchers } } }))
}

const withSize = (regex: string, size: number): Config =>
  withMatch({ safe_regex: { google_re2: { max_program_size: size }, regex } })

const path = "/" + "abcdefghij".repeat(15)

/** Right by the size of Envoy's program, which counts otherwise. */
const small = [
  "(docs|img|v1|catalog)/img(img|v1|health|items|v3|catalog|admin|login|cart|v2|admin|[0-9]+|orders|orders|assets)/items",
  `^${path}`,
  `^^(?i)${path}[0-9]`,
  `\\A${path}[0-9]+`,
  "\\B{1000}",
  "\\p{Greek}a{200}",
  "a{200}[^\\x00-\\xff]",
  // Of 100 instructions, and of fewer than it looks like.
  "a{96}",
  "a*a{95}",
  "[^/]{48}",
  "(?:[a-z]+/){32}",
  "(?:a|ab|abc){19}",
  "(?i)\\w{32}"
]

/** Of more than 100 instructions, which is not seen from the characters alone. */
const large = [
  `(?m)^${path}`,
  `(^${path})`,
  `^[ab]?${path}`,
  "[^/]{51}",
  ".{51}",
  "\\d{101}",
  "a{97}",
  "a*a{96}",
  "[^/]{49}",
  "(?:a?){60}",
  "(?:x*|y*){19}",
  "\\C{97}"
]

export const ofExpressions: ReadonlyArray<Mistake> = [
  {
    title: "regex lookahead",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?=",
    config: withRegex("a(?=b)")
  },
  {
    title: "regex lookbehind",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?<!",
    config: withRegex("(?<!a)b")
  },
  {
    title: "regex backref",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid escape sequence: \\1",
    config: withRegex("(a)\\1")
  },
  {
    title: "regex repeat 1001",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid repetition size: {1001}",
    config: withRegex("a{1001}")
  },
  {
    title: "regex repeat 1000",
    rules: ["regular-expression-size"],
    envoy: "refuses",
    says: "RE2 program size of 1004 > max program size of 100 set for the error l",
    config: withRegex("a{1000}")
  },
  {
    title: "regex nested repeat",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid repetition size: {100}",
    config: withRegex("(a{100}){100}")
  },
  {
    title: "regex (a{30}){30}",
    rules: ["regular-expression-size"],
    envoy: "refuses",
    says: "RE2 program size of 964 > max program size of 100 set for the error le",
    config: withRegex("(a{30}){30}")
  },
  {
    title: "regex open bracket",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "missing ]: [a",
    config: withRegex("[a")
  },
  {
    title: "regex open paren",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "missing ): (a",
    config: withRegex("(a")
  },
  {
    title: "regex star",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "no argument for repetition operator: *",
    config: withRegex("*a")
  },
  {
    title: "regex a**",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "bad repetition operator: **",
    config: withRegex("a**")
  },
  {
    title: "regex a{,2}",
    rules: [],
    envoy: "accepts",
    config: withRegex("a{,2}")
  },
  {
    title: "regex possessive",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "bad repetition operator: ++",
    config: withRegex("a++")
  },
  {
    title: "regex named group <",
    rules: [],
    envoy: "accepts",
    config: withRegex("(?<n>a)")
  },
  {
    title: "regex atomic",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?>",
    config: withRegex("(?>a)")
  },
  {
    title: "regex \\Z",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid escape sequence: \\Z",
    config: withRegex("a\\Z")
  },
  {
    title: "regex \\z",
    rules: [],
    envoy: "accepts",
    config: withRegex("a\\z")
  },
  {
    title: "regex \\C",
    rules: [],
    envoy: "accepts",
    config: withRegex("\\C")
  },
  {
    title: "regex \\p{Foo}",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid character class range: \\p{Foo}",
    config: withRegex("\\p{Foo}")
  },
  {
    title: "regex \\d-z class",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid character class range: z-a",
    config: withRegex("[z-a]")
  },
  {
    title: "regex trailing backslash",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "trailing \\",
    config: withRegex("a\\")
  },
  {
    title: "regex \\Q..\\E",
    rules: [],
    envoy: "accepts",
    config: withRegex("\\Qa*b\\E")
  },
  {
    title: "regex \\x{41}",
    rules: [],
    envoy: "accepts",
    config: withRegex("\\x{41}")
  },
  {
    title: "regex \\h",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid escape sequence: \\h",
    config: withRegex("\\h")
  },
  {
    title: "regex [[:alpha:]]",
    rules: [],
    envoy: "accepts",
    config: withRegex("[[:alpha:]]")
  },
  {
    title: "regex big",
    rules: ["regular-expression-size"],
    envoy: "refuses",
    says: "RE2 program size of 12004 > max program size of 100 set for the error",
    config: withRegex("(abcdefghij){1000}")
  },
  ...small.map((regex): Mistake => ({
    title: `regex small ${regex}`,
    rules: [],
    envoy: "accepts",
    config: withRegex(regex)
  })),
  ...large.map((regex): Mistake => ({
    title: `regex large ${regex}`,
    rules: ["regular-expression-size"],
    envoy: "refuses",
    says: "> max program size of 100 set for the error level",
    config: withRegex(regex)
  })),
  {
    title: "regex of a size that its matcher allows",
    rules: [],
    envoy: "accepts",
    config: withSize("a{150}", 500)
  },
  {
    title: "regex over the size that its matcher allows",
    rules: ["regular-expression-size"],
    envoy: "refuses",
    says: "RE2 program size of 54 > max program size of 10",
    config: withSize("a{50}", 10)
  },
  ...["\\x{1F600}", "[a\\x{100}]", "\\400", "\\QB\\E\\x{100}"].map((regex): Mistake => ({
    title: `regex ${regex}`,
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid escape sequence: \\",
    config: withRegex(regex)
  })),
  ...["\\x{ff}", "\\377", "\\Q\\x{1F600}\\E", "\\\\x{100}", "[я-а]", "\\p{Greek}"].map((regex): Mistake => ({
    title: `regex ${regex}`,
    rules: [],
    envoy: "accepts",
    config: withSize(regex, 1000)
  })),
  {
    title: "regex of xds.type.matcher",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?=",
    config: withXdsRegex("a(?=b)")
  },
  {
    title: "regex of xds.type.matcher, large",
    rules: [],
    envoy: "accepts",
    config: withXdsRegex("a{150}")
  },
  {
    title: "regex in header",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?=",
    config: withMatch({ prefix: "/", headers: [{ name: "x", string_match: { safe_regex: { regex: "(?=a)" } } }] })
  },
  {
    title: "regex in header safe_regex_match",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?=",
    config: withMatch({ prefix: "/", headers: [{ name: "x", safe_regex_match: { regex: "(?=a)" } }] })
  },
  {
    title: "regex in query",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid perl operator: (?=",
    config: withMatch({
      prefix: "/",
      query_parameters: [{ name: "x", string_match: { safe_regex: { regex: "(?=a)" } } }]
    })
  },
  {
    title: "regex rewrite",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "missing ): (",
    config: toWeb({ regex_rewrite: { pattern: { regex: "(" }, substitution: "x" } })
  },
  {
    title: "regex rewrite group missing",
    rules: [],
    envoy: "accepts",
    config: toWeb({ regex_rewrite: { pattern: { regex: "(a)" }, substitution: "\\2" } })
  },
  {
    title: "regex rewrite bad escape",
    rules: [],
    envoy: "accepts",
    config: toWeb({ regex_rewrite: { pattern: { regex: "(a)" }, substitution: "\\x" } })
  },
  {
    title: "regex rewrite trailing backslash",
    rules: [],
    envoy: "accepts",
    config: toWeb({ regex_rewrite: { pattern: { regex: "(a)" }, substitution: "x\\" } })
  },
  {
    title: "regex cors",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "missing ): (",
    config: withHosts(
      virtualHost({
        typed_per_filter_config: {
          "envoy.filters.http.cors": any("envoy.extensions.filters.http.cors.v3.CorsPolicy", {
            allow_origin_string_match: [{ safe_regex: { regex: "(" } }]
          })
        }
      })
    )
  },
  {
    title: "regex two groups of one name",
    rules: [],
    envoy: "accepts",
    config: withRegex("(?P<n>a)[^](?P<n>](?P<n>b)\\Q(?P<n>\\E\\(?P<n>c")
  },
  {
    title: "regex group of the name of a property",
    rules: [],
    envoy: "accepts",
    config: withRegex("(?P<constructor>a)(?<__proto__>b)")
  },
  {
    title: "regex group whose name is none",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "invalid named capture group: (?P<a b>",
    config: withRegex("(?P<n>a)(?P<a b>c)")
  },
  {
    title: "regex empty",
    rules: ["field"],
    envoy: "refuses",
    config: withRegex("")
  }
]
