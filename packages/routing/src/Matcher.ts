/**
 * What a call must be like for a route to be taken, and the first of many that takes it.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @since 0.1.0
 */
import type { CallHeaders } from "./CallHeaders.js"
import * as Headers from "./CallHeaders.js"
import * as Draws from "./Draw.js"
import * as Fraction from "@effect-xds/discovery/Fraction"
import * as HeaderMatcher from "./HeaderMatcher.js"
import * as PathMatcher from "./PathMatcher.js"
import type { Rules } from "./Rules.js"

/**
 * The matchers of one route. All must match.
 *
 * @since 0.1.0
 */
export interface Matcher {
  readonly path: PathMatcher.PathMatcher
  readonly headers: ReadonlyArray<HeaderMatcher.HeaderMatcher>
  /** Numerator of a million; `undefined`: every call. */
  readonly fraction: number | undefined
  /** Whether it takes calls of gRPC alone. Default: false. */
  readonly isGrpc?: boolean | undefined
}

/**
 * A call, as far as routes see it.
 *
 * @since 0.1.0
 */
export interface Call {
  /** `/package.Service/Method` */
  readonly path: string
  readonly headers: CallHeaders
  readonly draw: Draws.Draw
}

/**
 * Matchers in the order of their routes.
 *
 * @since 0.1.0
 */
export interface Matchers {
  /** `undefined`: a route that matches nothing. */
  readonly matchers: ReadonlyArray<Matcher | undefined>
  readonly index: PathMatcher.PathIndex
}

/**
 * Matchers with their index.
 *
 * @since 0.1.0
 */
export const all = (matchers: ReadonlyArray<Matcher | undefined>): Matchers => ({
  matchers,
  index: PathMatcher.index(matchers.map((matcher) => matcher?.path))
})

/**
 * The place of the first matcher that takes a call, or -1, and how many of the call's random numbers were used. Fractions
 * are drawn last, each with its own number.
 *
 * @since 0.1.0
 */
export const first = (
  self: Matchers,
  call: Call,
  rules: Rules = "current"
): { readonly at: number; readonly draws: number } => {
  let draws = 0
  const at = PathMatcher.first(self.index, call.path, (index) => {
    const matcher = self.matchers[index]
    if (matcher === undefined) return false
    const { fraction, headers, isGrpc, path } = matcher
    if (path._tag === "Regex" && !path.regex.matches(call.path)) return false
    if (isGrpc === true && !Headers.isGrpc(call.headers)) return false
    for (const header of headers) if (!HeaderMatcher.matches(header, call.headers)) return false
    return fraction === undefined || Fraction.includes(fraction, Draws.at(call.draw, draws++), rules)
  })
  return { at, draws }
}

/**
 * The paths whose route is known without the rest of the call, and its place: the first matcher that the path may match
 * asks for no header, not for gRPC, no fraction and no regular expression.
 *
 * @since 0.1.0
 */
export const certain = (self: Matchers): ReadonlyMap<string, number> => {
  const places = new Map<string, number>()
  for (const each of self.matchers) {
    if (each?.path._tag !== "Path" || each.path.fold || places.has(each.path.text)) continue
    // An expression counts as one that may match: to try many expressions on many paths takes too long.
    const at = PathMatcher.first(self.index, each.path.text, () => true)
    const matcher = self.matchers[at]
    const isCertain =
      matcher !== undefined &&
      matcher.path._tag !== "Regex" &&
      matcher.headers.length === 0 &&
      matcher.isGrpc !== true &&
      matcher.fraction === undefined
    if (isCertain) places.set(each.path.text, at)
  }
  return places
}
