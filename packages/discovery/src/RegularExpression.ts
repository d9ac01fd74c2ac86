/**
 * Regular expressions with the syntax and the cost of RE2: no pattern and no input takes more than linear time.
 *
 * @see https://github.com/google/re2/wiki/Syntax
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Either from "effect/Either"
import { RE2JS } from "re2js"
import * as Automaton from "./internal/Automaton.js"

/**
 * A compiled pattern.
 *
 * @since 0.1.0
 */
export interface RegularExpression {
  readonly pattern: string
  /**
   * ★ Whether the whole string matches, as `^(?:pattern)$` does. For most patterns a look-up for each character, whatever their size:
   * what was found out with one string is kept for the next ones: mostly some kilobytes, and at most a megabyte beside the pattern.
   */
  readonly matches: (text: string) => boolean
  /**
   * The string with every match replaced, as far as {@link maxRewriteSteps} go; the rest stays as it is. `\0` … `\9` in the
   * substitution are the match and its groups. ★ As with RE2, and not with JavaScript, an empty match at the end of the one before
   * is none: `a*` is once in `aa`.
   */
  readonly replaceAll: (text: string, substitution: string) => string
}

/**
 * Longest pattern that is compiled, in UTF-16 code units: what a control plane can make a client compile is bounded.
 *
 * @since 0.1.0
 */
export const maxPatternLength = 65_536

/**
 * Most steps of a replacement of all matches, beside its first search. One is an instruction of the compiled pattern at one
 * character, counted as if each search went on to the end of the text: a search is linear, but `a.*b|a`, which has eight
 * instructions, looks through all of the text for each `a` of it. Of 64 KB that takes minutes; these steps take milliseconds.
 * With eight instructions a text of 362 characters is never too long, nor one of 64 KB with two matches.
 *
 * @since 0.1.0
 */
export const maxRewriteSteps = 524_288

/**
 * Compiles a pattern. Left: why it is not a pattern of RE2, for people.
 *
 * @since 0.1.0
 */
export const make = (pattern: string): Either.Either<RegularExpression, string> => {
  if (pattern.length > maxPatternLength) {
    return Either.left(`the regular expression has ${pattern.length} characters; at most ${maxPatternLength} are taken`)
  }
  let compiled: RE2JS
  try {
    compiled = RE2JS.compile(pattern)
  } catch (cause) {
    return Either.left(`${JSON.stringify(pattern)} is not a regular expression of RE2: ${Reason.of(cause)}`)
  }
  const size = compiled.programSize()
  return Either.right({
    pattern,
    matches: matcherOf(compiled),
    replaceAll: (text, substitution) => {
      const matcher = compiled.matcher(text)
      let end = 0
      let last = -1
      let out = ""
      for (let steps = 0; steps <= maxRewriteSteps && matcher.find(); steps += size * (text.length - end)) {
        if (matcher.end() === last) continue
        last = matcher.end()
        out += text.slice(end, matcher.start()) + expand(substitution, (group) => matcher.group(group) ?? "")
        end = last
      }
      return out + text.slice(end)
    }
  })
}

/** Most expressions of a client match nothing yet, so that an automaton is made for the first text. */
const matcherOf = (compiled: RE2JS): RegularExpression["matches"] => {
  let automaton: Pick<Automaton.Automaton, "matches"> | undefined
  const simulated = { matches: (text: string) => compiled.testExact(text) }
  // It only compares a text with one of its own.
  if (compiled.re2().prefixComplete) return simulated.matches
  return (text) => (automaton ??= Automaton.make(compiled) ?? simulated).matches(text)
}

/** ★ RE2's rewrite syntax, not that of JavaScript or Go: `\1`, not `$1`; `\\` is a backslash. */
const expand = (substitution: string, group: (index: number) => string): string =>
  substitution.replace(/\\(\d|\\)/g, (_, what: string) => (what === "\\" ? "\\" : group(Number(what))))

/**
 * Why a substitution cannot be used with a pattern of so many groups, for people; `undefined` if it can.
 *
 * @since 0.1.0
 */
export const problemOfSubstitution = (self: RegularExpression, substitution: string): string | undefined => {
  const groups = RE2JS.compile(self.pattern).groupCount()
  for (const [escape, what] of substitution.matchAll(/\\(.?)/gs)) {
    if (what === "\\") continue
    if (what === undefined || !/^\d$/.test(what)) {
      return `the substitution ${JSON.stringify(substitution)} holds ${JSON.stringify(escape)}; only \\0 to \\9 and \\\\ mean something`
    }
    if (Number(what) > groups) {
      return `the substitution ${JSON.stringify(substitution)} names group ${what}; ${JSON.stringify(self.pattern)} has ${groups}`
    }
  }
  return undefined
}
