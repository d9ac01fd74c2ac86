/**
 * Regular expressions with the syntax and the cost of RE2: no pattern and no input takes more than linear time.
 *
 * @see https://github.com/google/re2/wiki/Syntax
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Automaton from "./internal/Automaton.js"
import * as Programs from "./internal/Program.js"
import { Search } from "./internal/Search.js"
import * as Syntax from "./internal/Syntax.js"

/**
 * A compiled pattern.
 *
 * @since 0.1.0
 */
export interface RegularExpression {
  readonly pattern: string
  /** How many groups it has. */
  readonly groups: number
  /**
   * ★ Whether the whole string matches, as `^(?:pattern)$` does. For most patterns a look-up for each character, whatever their size:
   * what was found out with one string is kept for the next ones: mostly some kilobytes, and at most a megabyte beside the pattern.
   */
  readonly matches: (text: string) => boolean
  /** Whether some part of the string matches. */
  readonly isIn: (text: string) => boolean
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
 * Most steps of a replacement of all matches, beside its first search, which has two million of its own. One is an instruction
 * of the compiled pattern at one character, counted as if each search went on to the end of the text: a search is linear, but
 * `a.*b|a`, which has eight instructions, looks through all of the text for each `a` of it. Of 64 KB that takes minutes; these
 * steps take milliseconds. With eight instructions a text of 362 characters is never too long, nor one of 64 KB with two matches.
 *
 * @since 0.1.0
 */
export const maxRewriteSteps = 524_288

/** Most steps of one search, which are counted as they are taken. */
const maxSearchSteps = 2_097_152

/**
 * Compiles a pattern. Left: why it is not a pattern of RE2, for people.
 *
 * @since 0.1.0
 */
export const make = (pattern: string): Either.Either<RegularExpression, string> => {
  if (pattern.length > maxPatternLength) {
    return Either.left(`the regular expression has ${pattern.length} characters; at most ${maxPatternLength} are taken`)
  }
  let tree: Syntax.Tree
  try {
    tree = Syntax.parse(pattern)
  } catch (cause) {
    if (!(cause instanceof Syntax.SyntaxProblem)) throw cause
    return Either.left(`${JSON.stringify(pattern)} is not a regular expression of RE2: ${cause.reason}`)
  }
  const { groups, root } = tree
  const size = Programs.sizeOf(root) + others
  if (size > Syntax.maxInstructions) {
    return Either.left(
      `${JSON.stringify(pattern)} has ${size} instructions once compiled; RE2 takes at most ${Syntax.maxInstructions}`
    )
  }
  // Most expressions of a client match nothing yet, so that all else is made for the first text.
  let program: Programs.Program | undefined
  const programOf = () => (program ??= Programs.make(root))
  let search: Search | undefined
  const searchOf = () => (search ??= new Search(programOf()))
  let automaton: Matcher | undefined
  let somewhere: Matcher | undefined
  const own = textOf(root)
  return Either.right({
    pattern,
    groups,
    matches: (text) =>
      own === undefined ? (automaton ??= Automaton.make(programOf()) ?? searchOf()).matches(text) : text === own,
    isIn: (text) => {
      if (own !== undefined) return text.includes(own)
      if (somewhere === undefined) {
        const inText = Programs.make(Syntax.inText(root))
        somewhere = Automaton.make(inText) ?? new Search(inText)
      }
      return somewhere.matches(text)
    },
    replaceAll: (text, substitution) => replaceAll(searchOf(), size, text, substitution)
  })
}

type Matcher = Pick<Automaton.Automaton, "matches">

/** Instructions beside those of the tree: the end, and what no text goes on from. */
const others = 2

/** The one text that an expression is; `undefined`: there may be others. */
const textOf = ({ fold, op, text }: Syntax.Node): string | undefined => {
  if (op === Syntax.empty) return ""
  // Halves of a character next to each other would be one.
  if (op !== Syntax.literal || fold || text.some((code) => code >= 0xd800 && code <= 0xdfff)) return undefined
  return text.map((code) => String.fromCodePoint(code)).join("")
}

const replaceAll = (search: Search, size: number, text: string, substitution: string): string => {
  const parts = partsOf(substitution)
  const count = 2 + 2 * parts.reduce<number>((most, part) => (typeof part === "number" && part > most ? part : most), 0)
  let at = 0
  let end = 0
  let last = -1
  let out = ""
  for (let steps = 0; steps <= maxRewriteSteps && at <= text.length; steps += size * (text.length - end)) {
    const places = search.find(text, at, count, maxSearchSteps)
    if (places === undefined) break
    const [first = 0, behind = 0] = places
    // The next one begins behind it; an empty one is no further.
    at = behind > first ? behind : behind + ((text.codePointAt(behind) ?? 0) > 0xffff ? 2 : 1)
    if (behind === last) continue
    last = behind
    out += text.slice(end, first)
    for (const part of parts) {
      if (typeof part === "string") out += part
      else if ((places[2 * part] ?? -1) >= 0) out += text.slice(places[2 * part], places[2 * part + 1])
    }
    end = behind
  }
  return out + text.slice(end)
}

/** ★ RE2's rewrite syntax, not that of JavaScript or Go: `\1`, not `$1`; `\\` is a backslash. A number is a group. */
const partsOf = (substitution: string): ReadonlyArray<number | string> =>
  substitution
    .split(/(\\[\d\\])/)
    .map((part, at) => (at % 2 === 0 ? part : part === "\\\\" ? "\\" : Number(part.slice(1))))

/**
 * Why a substitution cannot be used with a pattern of so many groups, for people; `undefined` if it can.
 *
 * @since 0.1.0
 */
export const problemOfSubstitution = (self: RegularExpression, substitution: string): string | undefined => {
  for (const [escape, what] of substitution.matchAll(/\\(.?)/gs)) {
    if (what === "\\") continue
    if (what === undefined || !/^\d$/.test(what)) {
      return `the substitution ${JSON.stringify(substitution)} holds ${JSON.stringify(escape)}; only \\0 to \\9 and \\\\ mean something`
    }
    if (Number(what) > self.groups) {
      return `the substitution ${JSON.stringify(substitution)} names group ${what}; ${JSON.stringify(self.pattern)} has ${self.groups}`
    }
  }
  return undefined
}
