/**
 * The rules of strings and bytes.
 */
import { type BytesRules, KnownRegex, type StringRules } from "@effect-xds/proto/validate/validate"
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import * as Either from "effect/Either"
import * as InternetText from "./InternetText.js"
import { type Check, counted, given, notA, type Report, shownText } from "./Report.js"

type Part<A> = (value: A, report: Report) => void

/** ★ Code points, of which a surrogate pair is one; JavaScript's `length` counts UTF-16 code units. */
const codePoints = (text: string): number => {
  let count = text.length
  for (let index = 1; index < text.length; index++) {
    const isLow = (text.charCodeAt(index) & 0xfc00) === 0xdc00
    if (isLow && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800) count--
  }
  return count
}

const utf8Length = (text: string): number => {
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    count += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3
  }
  // Two code units of three bytes each are one code point of four.
  return count - 2 * (text.length - codePoints(text))
}

/** ★ Not the limits of `(value, least, most)` each: both together are one rule, and one fault. */
const lengths = <A>(
  rule: { readonly exact: string; readonly least: string; readonly most: string },
  limits: { readonly exact: bigint | undefined; readonly least: bigint | undefined; readonly most: bigint | undefined },
  unit: string,
  measure: (value: A) => number,
  show: (value: A) => string
): Part<A> | undefined => {
  const exact = limits.exact ?? (limits.least === limits.most ? limits.least : undefined)
  const least = exact ?? limits.least
  const most = exact ?? limits.most
  if (least === undefined && most === undefined) return undefined
  const problem =
    exact !== undefined
      ? `must have exactly ${counted(exact, unit)}`
      : least === undefined
        ? `must have at most ${counted(most ?? 0n, unit)}`
        : `must have at least ${most === undefined ? counted(least, unit) : `${least} and at most ${counted(most, unit)}`}`
  return (value, report) => {
    const length = measure(value)
    const isShort = least !== undefined && length < least
    if (!isShort && !(most !== undefined && length > most)) return
    report.add(limits.exact !== undefined ? rule.exact : isShort ? rule.least : rule.most, problem, show(value))
  }
}

const quoted = (texts: ReadonlyArray<string>): string => texts.map((text) => JSON.stringify(text)).join(", ")

/** A rule of yes or no. */
const when = (isBroken: (text: string) => boolean, rule: string, problem: string): Part<string> => {
  const name = `string.${rule}`
  return (text, report) => {
    if (isBroken(text)) report.add(name, problem, shownText(text))
  }
}

// As protoc-gen-validate writes them. ★ `+-.` is a range: a comma is in it.
const strictHeaderName = /^:?[0-9a-zA-Z!#$%&'*+-.^_|~`]+$/
const strictHeaderValue = /^[^\0-\x08\n-\x1f\x7f]*$/
const lenientHeader = /^[^\0\n\r]*$/

const uuid = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/

const header = (regex: KnownRegex, isStrict: boolean): Part<string> | undefined => {
  if (regex === KnownRegex.UNKNOWN) return undefined
  const what = regex === KnownRegex.HTTP_HEADER_NAME ? "the name of an HTTP header" : "the value of an HTTP header"
  // ★ Not strict: names and values alike may have anything but NUL, CR and LF.
  if (!isStrict) {
    const problem = `must be ${what}, without NUL, CR and LF`
    return when((text) => !lenientHeader.test(text), "well_known_regex", problem)
  }
  const allowed = regex === KnownRegex.HTTP_HEADER_NAME ? strictHeaderName : strictHeaderValue
  return when((text) => !allowed.test(text), "well_known_regex", `must be ${what}`)
}

const not =
  (is: (text: string) => boolean) =>
  (text: string): boolean =>
    !is(text)

const wellKnown = ({ strict, wellKnown: rule }: StringRules): Part<string> | undefined => {
  if (rule.case === undefined || rule.value === false) return undefined
  switch (rule.case) {
    case "email":
      return when(not(InternetText.isEmail), "email", "must be an e-mail address")
    case "hostname":
      return when(not(InternetText.isHostname), "hostname", "must be a host name")
    case "ip":
      return when(not(InternetText.isIp), "ip", "must be an IP address")
    case "ipv4":
      return when(not(InternetText.isIpv4Like), "ipv4", "must be an IPv4 address")
    case "ipv6":
      return when(not(InternetText.isIpv6), "ipv6", "must be an IPv6 address")
    case "uri":
      return when(not(InternetText.isUri), "uri", "must be an absolute URI")
    case "uriRef":
      return when(not(InternetText.isUriReference), "uri_ref", "must be a URI reference")
    case "address":
      return when(
        (text) => !InternetText.isHostname(text) && !InternetText.isIp(text),
        "address",
        "must be a host name or an IP address"
      )
    case "uuid":
      return when((text) => !uuid.test(text), "uuid", "must be a UUID")
    case "wellKnownRegex":
      return header(rule.value, strict)
  }
}

/** Bytes that are no UTF-8 are U+FFFD. */
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** ★ RE2's, in linear time: `\s`, `.` and classes mean something else in JavaScript. A match anywhere is one. */
const matcher = (pattern: string): ((value: string | Uint8Array) => boolean) | string => {
  const compiled = RegularExpression.make(pattern)
  if (Either.isLeft(compiled)) return `has a pattern in its rules that cannot be read: ${compiled.left}`
  return (value) => compiled.right.isIn(typeof value === "string" ? value : utf8.decode(value))
}

const patterns = <A extends string | Uint8Array>(
  rule: string,
  pattern: string,
  show: (value: A) => string
): Part<A> => {
  // Compiled when the first value comes: it takes longer than all else about a type.
  let compiled: ReturnType<typeof matcher> | undefined
  const problem = `must match ${JSON.stringify(pattern)}`
  return (value, report) => {
    compiled ??= matcher(pattern)
    if (typeof compiled === "string") report.add(rule, compiled)
    else if (!compiled(value)) report.add(rule, problem, show(value))
  }
}

export const strings = (rules: StringRules): Check => {
  const constant = given(rules, "const")
  const prefix = given(rules, "prefix")
  const suffix = given(rules, "suffix")
  const contains = given(rules, "contains")
  const notContains = given(rules, "notContains")
  const pattern = given(rules, "pattern")
  const oneOf = new Set(rules.in)
  const noneOf = new Set(rules.notIn)
  const parts = [
    constant === undefined ? undefined : when((text) => text !== constant, "const", `must be ${quoted([constant])}`),
    oneOf.size > 0
      ? when((text) => !oneOf.has(text), "in", `must be one of ${quoted(rules.in)}`)
      : noneOf.size > 0
        ? when((text) => noneOf.has(text), "not_in", `must be none of ${quoted(rules.notIn)}`)
        : undefined,
    lengths(
      { exact: "string.len", least: "string.min_len", most: "string.max_len" },
      { exact: given(rules, "len"), least: given(rules, "minLen"), most: given(rules, "maxLen") },
      "character",
      codePoints,
      shownText
    ),
    lengths(
      { exact: "string.len_bytes", least: "string.min_bytes", most: "string.max_bytes" },
      { exact: given(rules, "lenBytes"), least: given(rules, "minBytes"), most: given(rules, "maxBytes") },
      "byte",
      utf8Length,
      shownText
    ),
    prefix === undefined
      ? undefined
      : when((text) => !text.startsWith(prefix), "prefix", `must begin with ${quoted([prefix])}`),
    suffix === undefined
      ? undefined
      : when((text) => !text.endsWith(suffix), "suffix", `must end with ${quoted([suffix])}`),
    contains === undefined
      ? undefined
      : when((text) => !text.includes(contains), "contains", `must contain ${quoted([contains])}`),
    notContains === undefined
      ? undefined
      : when((text) => text.includes(notContains), "not_contains", `must not contain ${quoted([notContains])}`),
    wellKnown(rules),
    pattern === undefined ? undefined : patterns<string>("string.pattern", pattern, shownText)
  ].filter((part) => part !== undefined)
  return (value, report) => {
    if (typeof value !== "string") return notA(report, "a string", value)
    if (rules.ignoreEmpty && value === "") return
    for (const part of parts) part(value, report)
  }
}

/** Bytes are often secrets, and nobody reads them. */
const shownBytes = (bytes: Uint8Array): string => counted(bytes.byteLength, "byte")

const startsAt = (bytes: Uint8Array, part: Uint8Array, at: number): boolean =>
  at >= 0 && at + part.byteLength <= bytes.byteLength && part.every((byte, index) => bytes[at + index] === byte)

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.byteLength === b.byteLength && startsAt(a, b, 0)

const includes = (bytes: Uint8Array, part: Uint8Array): boolean => {
  if (part.byteLength === 0) return true
  for (let at = bytes.indexOf(part[0] ?? 0); at >= 0; at = bytes.indexOf(part[0] ?? 0, at + 1)) {
    if (startsAt(bytes, part, at)) return true
  }
  return false
}

export const bytes = (rules: BytesRules): Check => {
  const constant = given(rules, "const")
  const prefix = given(rules, "prefix")
  const suffix = given(rules, "suffix")
  const contains = given(rules, "contains")
  const pattern = given(rules, "pattern")
  const known = rules.wellKnown
  const isWellKnown = (value: Uint8Array): boolean => {
    if (known.case === undefined || !known.value) return true
    if (known.case === "ipv4") return InternetText.isIpv4Bytes(value)
    return InternetText.isIpBytes(value) && (known.case === "ip" || !InternetText.isIpv4Bytes(value))
  }
  const isIn = (list: ReadonlyArray<Uint8Array>, value: Uint8Array): boolean =>
    list.some((each) => isEqual(each, value))
  const length = lengths(
    { exact: "bytes.len", least: "bytes.min_len", most: "bytes.max_len" },
    { exact: given(rules, "len"), least: given(rules, "minLen"), most: given(rules, "maxLen") },
    "byte",
    (value: Uint8Array) => value.byteLength,
    shownBytes
  )
  const match = pattern === undefined ? undefined : patterns<Uint8Array>("bytes.pattern", pattern, shownBytes)
  return (value, report) => {
    if (!(value instanceof Uint8Array)) return notA(report, "bytes", value)
    if (rules.ignoreEmpty && value.byteLength === 0) return
    const broken = (rule: string, problem: string): void => report.add(`bytes.${rule}`, problem, shownBytes(value))
    length?.(value, report)
    if (prefix !== undefined && !startsAt(value, prefix, 0)) broken("prefix", "must begin with the bytes of its rule")
    if (suffix !== undefined && !startsAt(value, suffix, value.byteLength - suffix.byteLength)) {
      broken("suffix", "must end with the bytes of its rule")
    }
    if (contains !== undefined && !includes(value, contains)) broken("contains", "must contain the bytes of its rule")
    if (rules.in.length > 0) {
      if (!isIn(rules.in, value)) broken("in", "must be one of the values of its rule")
    } else if (isIn(rules.notIn, value)) broken("not_in", "must be none of the values of its rule")
    if (constant !== undefined && !isEqual(value, constant)) broken("const", "must be the value of its rule")
    if (!isWellKnown(value)) broken(known.case ?? "", `must be an ${known.case === "ip" ? "IP" : known.case} address`)
    match?.(value, report)
  }
}
