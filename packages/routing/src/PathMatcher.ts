/**
 * Path matchers of routes, and the index that finds the routes a path may match.
 *
 * The path of a call is `/package.Service/Method`. A prefix or path of another form is no mistake and matches nothing.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @since 0.1.0
 */
import * as Ascii from "@effect-xds/discovery/Ascii"
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import type { RouteMatch } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as Either from "effect/Either"
import type { Collector } from "./RouteError.js"
import type { Rules } from "./Rules.js"

/**
 * One matcher. `fold`: compared without case, the text is in lower case; ★ it means nothing for a regular expression.
 *
 * @since 0.1.0
 */
export type PathMatcher =
  | { readonly _tag: "Path" | "Prefix"; readonly text: string; readonly fold: boolean }
  | { readonly _tag: "Regex"; readonly regex: RegularExpression.RegularExpression }

/** v2: `regex`, in v3 a field that is not known. */
const REGEX = 3

/**
 * Compiles the `path_specifier` of a match; `undefined` if it has mistakes, which are then with `errors`.
 *
 * @since 0.1.0
 */
export const make = (
  { $unknown, caseSensitive = true, pathSpecifier }: RouteMatch,
  path: string,
  rules: Rules,
  errors: Collector
): PathMatcher | undefined => {
  const fold = !caseSensitive
  if (fold && rules === "A28") {
    errors.add(
      `${path}.case_sensitive`,
      "CaseInsensitive",
      "case_sensitive is false, which A28 does not support; leave it out"
    )
  }
  if ($unknown?.some(({ no }) => no === REGEX) === true) {
    errors.add(path, "PathSpecifier", "regex of the v2 API is not supported; use safe_regex")
    return undefined
  }
  switch (pathSpecifier.case) {
    case "path":
      return { _tag: "Path", text: fold ? Ascii.fold(pathSpecifier.value) : pathSpecifier.value, fold }
    case "prefix":
      return { _tag: "Prefix", text: fold ? Ascii.fold(pathSpecifier.value) : pathSpecifier.value, fold }
    case "safeRegex": {
      const regex = RegularExpression.make(pathSpecifier.value.regex)
      if (Either.isRight(regex)) return { _tag: "Regex", regex: regex.right }
      errors.add(`${path}.safe_regex.regex`, "InvalidRegex", regex.left)
      return undefined
    }
    default:
      errors.add(path, "PathSpecifier", "no path_specifier that is supported; set path, prefix or safe_regex")
      return undefined
  }
}

/**
 * Whether a path matches.
 *
 * @since 0.1.0
 */
export const matches = (self: PathMatcher, path: string): boolean => {
  if (self._tag === "Regex") return self.regex.matches(path)
  const text = self.fold ? Ascii.fold(path) : path
  return self._tag === "Path" ? text === self.text : text.startsWith(self.text)
}

interface Prefixes {
  readonly length: number
  readonly byText: ReadonlyMap<string, ReadonlyArray<number>>
}

interface Texts {
  readonly paths: ReadonlyMap<string, ReadonlyArray<number>>
  /** By length, ascending. */
  readonly prefixes: ReadonlyArray<Prefixes>
}

/**
 * Where the matchers that a path may match are in their list. A look-up costs what the lengths of the prefixes are that
 * differ and what the regular expressions are, however many paths there are.
 *
 * @since 0.1.0
 */
export interface PathIndex {
  readonly sensitive: Texts
  /** `undefined`: no matcher ignores case. */
  readonly insensitive: Texts | undefined
  /** Matchers that are tried one by one. */
  readonly regexes: ReadonlyArray<number>
}

const textsOf = (matchers: ReadonlyArray<PathMatcher | undefined>, fold: boolean): Texts => {
  const paths = new Map<string, Array<number>>()
  const prefixes = new Map<number, Map<string, Array<number>>>()
  for (const [index, matcher] of matchers.entries()) {
    if (matcher === undefined || matcher._tag === "Regex" || matcher.fold !== fold) continue
    let byText = paths
    if (matcher._tag === "Prefix") {
      const { length } = matcher.text
      byText = prefixes.get(length) ?? new Map<string, Array<number>>()
      prefixes.set(length, byText)
    }
    const list = byText.get(matcher.text)
    if (list === undefined) byText.set(matcher.text, [index])
    else list.push(index)
  }
  return {
    paths,
    prefixes: Array.from(prefixes, ([length, byText]) => ({ length, byText })).sort((a, b) => a.length - b.length)
  }
}

/**
 * The index of a list of matchers. `undefined` in the list: a route that matches nothing.
 *
 * @since 0.1.0
 */
export const index = (matchers: ReadonlyArray<PathMatcher | undefined>): PathIndex => {
  const regexes: Array<number> = []
  for (const [at, matcher] of matchers.entries()) if (matcher?._tag === "Regex") regexes.push(at)
  const folds = matchers.some((matcher) => matcher !== undefined && matcher._tag !== "Regex" && matcher.fold)
  return {
    sensitive: textsOf(matchers, false),
    insensitive: folds ? textsOf(matchers, true) : undefined,
    regexes
  }
}

/**
 * Gives the places of matchers that may match, in ascending order, to `accept`, until that takes one: the first match
 * wins. Of a `Regex` only the place is known; whether it matches is `accept`'s to find out. -1: none was taken.
 *
 * @since 0.1.0
 */
export const first = (self: PathIndex, path: string, accept: (index: number) => boolean): number => {
  const lists: Array<ReadonlyArray<number>> = []
  collect(self.sensitive, path, lists)
  if (self.insensitive !== undefined) collect(self.insensitive, Ascii.fold(path), lists)
  if (self.regexes.length > 0) lists.push(self.regexes)
  const [only] = lists
  if (only === undefined) return -1
  if (lists.length === 1) return only.find(accept) ?? -1
  const at = lists.map(() => 0)
  for (;;) {
    let least = Number.POSITIVE_INFINITY
    let from = -1
    for (let list = 0; list < lists.length; list++) {
      const next = lists[list]?.[at[list] ?? 0]
      if (next !== undefined && next < least) {
        least = next
        from = list
      }
    }
    if (from < 0) return -1
    at[from] = (at[from] ?? 0) + 1
    if (accept(least)) return least
  }
}

const collect = (texts: Texts, path: string, lists: Array<ReadonlyArray<number>>): void => {
  const exact = texts.paths.get(path)
  if (exact !== undefined) lists.push(exact)
  for (const { byText, length } of texts.prefixes) {
    if (length > path.length) return
    const found = byText.get(length === 0 ? "" : path.slice(0, length))
    if (found !== undefined) lists.push(found)
  }
}
