/**
 * Header matchers of routes.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @see https://github.com/grpc/proposal/blob/master/A63-xds-string-matcher-in-header-matching.md
 * @since 0.1.0
 */
import * as Ascii from "@effect-xds/discovery/Ascii"
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import * as StringMatchers from "@effect-xds/discovery/StringMatcher"
import type { HeaderMatcher as HeaderMatcherMessage } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { StringMatcher as StringMatcherMessage } from "@effect-xds/proto/envoy/type/matcher/v3/string"
import * as Either from "effect/Either"
import type { CallHeaders } from "./CallHeaders.js"
import * as Headers from "./CallHeaders.js"
import type { Collector } from "./RouteError.js"
import type { Rules } from "./Rules.js"

/**
 * What a value is compared with.
 *
 * @since 0.1.0
 */
export type Specifier =
  | StringMatchers.StringMatcher
  | { readonly _tag: "Range"; readonly start: bigint; readonly end: bigint }
  | { readonly _tag: "Present"; readonly present: boolean }

/**
 * One matcher. All matchers of a route must match.
 *
 * @since 0.1.0
 */
export interface HeaderMatcher {
  /** In lower case. */
  readonly name: string
  readonly specifier: Specifier
  readonly invert: boolean
}

/** v2: `regex_match`, in v3 a field that is not known. */
const REGEX_MATCH = 5

/**
 * Compiles a matcher; `undefined` if it has mistakes, which are then with `errors`.
 *
 * @since 0.1.0
 */
export const make = (
  message: HeaderMatcherMessage,
  path: string,
  rules: Rules,
  errors: Collector
): HeaderMatcher | undefined => {
  const before = errors.count
  if (message.name === "") errors.add(`${path}.name`, "EmptyPattern", "the header's name is empty; name a header")
  const specifier = specifierOf(message, path, rules, errors)
  if (specifier === undefined || errors.count > before) return undefined
  return { name: Ascii.fold(message.name), specifier, invert: message.invertMatch }
}

const specifierOf = (
  { $unknown, headerMatchSpecifier: specifier }: HeaderMatcherMessage,
  path: string,
  rules: Rules,
  errors: Collector
): Specifier | undefined => {
  if ($unknown?.some(({ no }) => no === REGEX_MATCH) === true) {
    errors.add(path, "HeaderSpecifier", "regex_match of the v2 API is not supported; use safe_regex_match")
    return undefined
  }
  switch (specifier.case) {
    case "exactMatch":
      return StringMatchers.literal("Exact", specifier.value, false)
    case "safeRegexMatch":
      return regexOf(specifier.value.regex, `${path}.safe_regex_match`, errors)
    case "rangeMatch": {
      const { end, start } = specifier.value
      if (start > end) {
        const message = `start ${start} is after end ${end}; the range is [start, end)`
        errors.add(`${path}.range_match`, "InvalidRange", message)
        return undefined
      }
      return { _tag: "Range", start, end }
    }
    case "presentMatch":
      return { _tag: "Present", present: specifier.value }
    case "prefixMatch":
      return patternOf("Prefix", specifier.value, `${path}.prefix_match`, errors)
    case "suffixMatch":
      return patternOf("Suffix", specifier.value, `${path}.suffix_match`, errors)
    case "containsMatch":
      if (rules === "A28") return unsupported(path, "contains_match", errors)
      return patternOf("Contains", specifier.value, `${path}.contains_match`, errors)
    case "stringMatch":
      if (rules === "A28") return unsupported(path, "string_match", errors)
      return stringOf(specifier.value, `${path}.string_match`, errors)
    default:
      errors.add(path, "HeaderSpecifier", "no header_match_specifier that is supported; set exactly one")
      return undefined
  }
}

const unsupported = (path: string, field: string, errors: Collector): undefined => {
  errors.add(
    path,
    "HeaderSpecifier",
    `${field} is not supported by A28; use exact, prefix, suffix, range, present or safe_regex`
  )
}

const patternOf = (
  _tag: "Prefix" | "Suffix" | "Contains",
  pattern: string,
  path: string,
  errors: Collector
): Specifier | undefined => {
  if (pattern !== "") return StringMatchers.literal(_tag, pattern, false)
  errors.add(path, "EmptyPattern", emptyPattern)
  return undefined
}

const emptyPattern = "the pattern is empty; use present_match to match any value"

const regexOf = (pattern: string, path: string, errors: Collector): Specifier | undefined => {
  const regex = RegularExpression.make(pattern)
  if (Either.isRight(regex)) return { _tag: "Regex", regex: regex.right }
  errors.add(`${path}.regex`, "InvalidRegex", regex.left)
  return undefined
}

const stringOf = (message: StringMatcherMessage, path: string, errors: Collector): Specifier | undefined => {
  const matcher = StringMatchers.make(message)
  if (Either.isRight(matcher)) return matcher.right
  const { field, message: what, reason } = matcher.left
  const at = field === "" ? path : `${path}.${field}`
  if (reason === "EmptyPattern") errors.add(at, reason, emptyPattern)
  else errors.add(at, reason === "NoPattern" ? "HeaderSpecifier" : reason, what)
  return undefined
}

/**
 * Whether the headers of a call match. ★ An absent header matches nothing, inverted or not; only `present_match` sees it.
 *
 * @since 0.1.0
 */
export const matches = (self: HeaderMatcher, headers: CallHeaders): boolean => {
  const value = Headers.see(headers, self.name)
  const { specifier } = self
  if (specifier._tag === "Present") return ((value !== undefined) === specifier.present) !== self.invert
  return value !== undefined && holds(specifier, value) !== self.invert
}

const holds = (specifier: Exclude<Specifier, { readonly _tag: "Present" }>, value: string): boolean => {
  switch (specifier._tag) {
    case "Range": {
      const number = numberOf(value)
      return number !== undefined && specifier.start <= number && number < specifier.end
    }
    default:
      return StringMatchers.matches(specifier, value)
  }
}

/**
 * The number that a header's value is: an optional sign and digits, of which leading zeros may be many. One of more than 64
 * bits is in no range.
 */
const numberOf = (text: string): bigint | undefined => {
  const parts = /^([+-]?)0*(\d{0,19})$/.exec(text)
  if (parts === null || !/\d$/.test(text)) return undefined
  const digits = BigInt(parts[2] === "" ? "0" : (parts[2] ?? "0"))
  return parts[1] === "-" ? -digits : digits
}
