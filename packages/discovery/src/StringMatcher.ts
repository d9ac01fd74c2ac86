/**
 * Matchers of texts: `envoy.type.matcher.v3.StringMatcher`.
 *
 * @see https://github.com/grpc/proposal/blob/master/A63-xds-string-matcher-in-header-matching.md
 * @since 0.1.0
 */
import type { StringMatcher as StringMatcherMessage } from "@effect-xds/proto/envoy/type/matcher/v3/string"
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import * as Either from "effect/Either"
import * as Ascii from "./Ascii.js"

/**
 * What a text is compared with. `fold`: ASCII letters are compared without their case, the pattern is in lower case.
 *
 * @since 0.1.0
 */
export type StringMatcher =
  | { readonly _tag: "Exact" | "Prefix" | "Suffix" | "Contains"; readonly pattern: string; readonly fold: boolean }
  | { readonly _tag: "Regex"; readonly regex: RegularExpression.RegularExpression }

/**
 * Why a message is no matcher.
 *
 * @since 0.1.0
 */
export interface Mistake {
  /** From the message on: `safe_regex.regex`; empty: the message as a whole. */
  readonly field: string
  readonly reason: "EmptyPattern" | "InvalidRegex" | "NoPattern"
  /** What is wrong and what to do. */
  readonly message: string
}

/**
 * A matcher of a text that is not a pattern.
 *
 * @since 0.1.0
 */
export const literal = (
  _tag: "Exact" | "Prefix" | "Suffix" | "Contains",
  pattern: string,
  fold: boolean
): StringMatcher => ({ _tag, pattern: fold ? Ascii.fold(pattern) : pattern, fold })

const tags = { exact: "Exact", prefix: "Prefix", suffix: "Suffix", contains: "Contains" } as const

/**
 * Compiles a matcher.
 *
 * @since 0.1.0
 */
export const make = ({
  ignoreCase,
  matchPattern: match
}: StringMatcherMessage): Either.Either<StringMatcher, Mistake> => {
  switch (match.case) {
    case "exact":
    case "prefix":
    case "suffix":
    case "contains": {
      // ★ An empty text is equal to one text, but every text begins with it: that is hardly what is meant.
      if (match.case !== "exact" && match.value === "") {
        const message = "the pattern is empty; name one, or leave the matcher out"
        return Either.left({ field: match.case, reason: "EmptyPattern", message })
      }
      return Either.right(literal(tags[match.case], match.value, ignoreCase))
    }
    // A63: ignore_case means nothing for a regular expression.
    case "safeRegex": {
      const regex = RegularExpression.make(match.value.regex)
      if (Either.isRight(regex)) return Either.right({ _tag: "Regex", regex: regex.right })
      return Either.left({ field: "safe_regex.regex", reason: "InvalidRegex", message: regex.left })
    }
    default: {
      const message = "no match_pattern that is supported; set exact, prefix, suffix, contains or safe_regex"
      return Either.left({ field: "", reason: "NoPattern", message })
    }
  }
}

/**
 * Whether a text matches.
 *
 * @since 0.1.0
 */
export const matches = (self: StringMatcher, text: string): boolean => {
  if (self._tag === "Regex") return self.regex.matches(text)
  const value = self.fold ? Ascii.fold(text) : text
  switch (self._tag) {
    case "Exact":
      return value === self.pattern
    case "Prefix":
      return value.startsWith(self.pattern)
    case "Suffix":
      return value.endsWith(self.pattern)
    case "Contains":
      return value.includes(self.pattern)
  }
}
