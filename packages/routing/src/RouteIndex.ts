/**
 * What calls to a virtual host look at: made when the first one comes.
 *
 * Of many virtual hosts most are not called. What the others need is made in the order of the calls, so it lies together,
 * and a call waits less for memory: for each object that names the next, if no cache has it.
 *
 * @since 0.1.0
 */
import type { Matchers } from "./Matcher.js"
import * as Matching from "./Matcher.js"
import type { Match, Route } from "./Route.js"

/**
 * An index.
 *
 * @since 0.1.0
 */
export interface RouteIndex {
  readonly matchers: Matchers
  /** Paths whose outcome is certain ({@link Matcher.certain}), and the places of those. Equal maps are one. */
  readonly certain: ReadonlyMap<string, number>
  /** Outcomes that are ready to be given out. */
  readonly outcomes: ReadonlyArray<Match>
}

/**
 * Maps of paths that virtual hosts of a table have in common, by all of their paths.
 *
 * @since 0.1.0
 */
export type Paths = Map<string, ReadonlyMap<string, number>>

/** More paths are not compared: it would take longer than it saves. */
const maxCompared = 1_000

/**
 * The index of a virtual host.
 *
 * @param outcome of a path, by the route that takes it
 * @since 0.1.0
 */
export const make = (
  routes: ReadonlyArray<Route>,
  outcome: (route: Route | undefined, path: string) => Match,
  shared: Paths
): RouteIndex => {
  const matchers = Matching.all(routes.map((route) => (route._tag === "Ignored" ? undefined : route.matcher)))
  const places = Matching.certain(matchers)
  const paths = Array.from(places.keys())
  const outcomes = Array.from(places, ([path, at]) => outcome(routes[at], path))
  return { matchers, certain: together(paths, shared), outcomes }
}

const together = (paths: ReadonlyArray<string>, shared: Paths): ReadonlyMap<string, number> => {
  const made = () => new Map(paths.map((path, place) => [path, place]))
  if (paths.length > maxCompared) return made()
  const key = JSON.stringify(paths)
  const known = shared.get(key) ?? made()
  shared.set(key, known)
  return known
}

/**
 * The outcome of a path, if it is certain.
 *
 * @since 0.1.0
 */
export const find = ({ certain, outcomes }: RouteIndex, path: string): Match | undefined => {
  const place = certain.get(path)
  return place === undefined ? undefined : outcomes[place]
}

/**
 * A value that is made when it is asked for first.
 *
 * @since 0.1.0
 */
export class Later<out A> {
  #made: A | undefined
  readonly #make: () => A

  constructor(make: () => A) {
    this.#make = make
  }

  get(): A {
    return (this.#made ??= this.#make())
  }
}
