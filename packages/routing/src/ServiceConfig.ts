/**
 * The service config that A28 makes of routes: a list of actions with names that stay, and routes that refer to them.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md "Service config generating"
 * @since 0.1.0
 */
import type { HeaderMatcher } from "./HeaderMatcher.js"
import type { PathMatcher } from "./PathMatcher.js"
import type { Clusters } from "./RouteAction.js"
import type { ActiveRoute, Route } from "./VirtualHost.js"

/**
 * JSON.
 *
 * @since 0.1.0
 */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject

/**
 * An object of JSON.
 *
 * @since 0.1.0
 */
export interface JsonObject {
  readonly [key: string]: Json
}

/**
 * How a config is written.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * Whether a single route's policy may stand at the top, without `xds_routing_experimental`. `catchAll`: only if the
   * route matches everything; else calls that do not match would be sent. Default: `catchAll`.
   */
  readonly singleRoute?: "catchAll" | "always" | "never" | undefined
  /**
   * Names of keys. `printed`: `Action`, `Route` and `match_fraction`, as the appendix of A28 prints them. `proto3`:
   * `action`, `route` and `matchFraction`, the JSON names of the proto, which real gRPC takes. Default: `printed`.
   */
  readonly keys?: "printed" | "proto3" | undefined
}

/**
 * The names of the actions in use, by what they do. Made by {@link empty}, changed by {@link step}; plain data.
 *
 * @since 0.1.0
 */
export interface ServiceConfig {
  readonly actions: ReadonlyArray<Action>
}

/**
 * An action and its name.
 *
 * @since 0.1.0
 */
export interface Action {
  readonly name: string
  /** `undefined`: one cluster. */
  readonly weights: ReadonlyArray<readonly [cluster: string, weight: number]> | undefined
  readonly cluster: string
}

/**
 * No routes yet.
 *
 * @since 0.1.0
 */
export const empty: ServiceConfig = { actions: [] }

const prefix = "weighted:"

/** Clusters in the order of their names; ★ one that is listed twice has both weights. */
const weightsOf = (clusters: Clusters): Action["weights"] => {
  if (clusters._tag === "Cluster") return undefined
  const weights = new Map<string, number>()
  for (const { cluster, weight } of clusters.targets) weights.set(cluster, (weights.get(cluster) ?? 0) + weight)
  return Array.from(weights).sort(([a], [b]) => (a < b ? -1 : 1))
}

const actionOf = (clusters: Clusters): Omit<Action, "name"> => ({
  weights: weightsOf(clusters),
  cluster: clusters._tag === "Cluster" ? clusters.cluster : ""
})

/** What is equal for equal actions. */
const keyOf = ({ cluster, weights }: Omit<Action, "name">): string => JSON.stringify(weights ?? cluster)

/** What is equal for actions of the same clusters. */
const clustersOf = ({ weights = [] }: Omit<Action, "name">): string => JSON.stringify(weights.map(([name]) => name))

const numberOf = ({ name }: Action): number => Number(name.slice(name.lastIndexOf("_") + 1))

/**
 * Takes the routes of a virtual host: the state after it, and the config as JSON.
 *
 * @since 0.1.0
 */
export const step = (
  self: ServiceConfig,
  routes: ReadonlyArray<Route>,
  options: Options = {}
): readonly [ServiceConfig, JsonObject] => {
  const active = routes.filter((route): route is ActiveRoute => route._tag === "Route")
  const wanted = new Map<string, Omit<Action, "name">>()
  for (const { action } of active) {
    const made = actionOf(action.clusters)
    wanted.set(keyOf(made), made)
  }
  const known = new Map(self.actions.map((action) => [keyOf(action), action]))
  // By number, so that the first new one takes the least.
  const removed = self.actions
    .filter((action) => action.weights !== undefined && !wanted.has(keyOf(action)))
    .sort((a, b) => numberOf(a) - numberOf(b))
  // Names that are freed by this update are free from the next one on.
  const taken = new Set(self.actions.map(({ name }) => name))
  const actions: Array<Action> = []
  const names = new Map<string, string>()
  for (const [key, action] of wanted) {
    const name = known.get(key)?.name ?? reused(removed, action) ?? fresh(taken, action)
    taken.add(name)
    names.set(key, name)
    actions.push({ ...action, name })
  }
  return [{ actions }, { loadBalancingConfig: policyOf(active, actions, names, options) }]
}

/** Takes the name of a removed action that has the same clusters; that is then nobody else's. */
const reused = (removed: Array<Action>, action: Omit<Action, "name">): string | undefined => {
  if (action.weights === undefined) return undefined
  const clusters = clustersOf(action)
  const at = removed.findIndex((each) => clustersOf(each) === clusters)
  return at < 0 ? undefined : removed.splice(at, 1)[0]?.name
}

/** ★ The least number for which the whole name is free: different clusters may spell the same name. */
const fresh = (taken: ReadonlySet<string>, { cluster, weights }: Omit<Action, "name">): string => {
  if (weights === undefined) return `cds:${cluster}`
  const base = prefix + weights.map(([name]) => name).join("_")
  for (let number = 1; ; number++) {
    const name = `${base}_${number}`
    if (!taken.has(name)) return name
  }
}

const cds = (cluster: string): Json => [{ cds_experimental: { cluster } }]

const childPolicyOf = ({ cluster, weights }: Action): Json =>
  weights === undefined
    ? cds(cluster)
    : [
        {
          weighted_target_experimental: {
            targets: Object.fromEntries(weights.map(([name, weight]) => [name, { weight, childPolicy: cds(name) }]))
          }
        }
      ]

const matchesAll = ({ matcher }: ActiveRoute): boolean =>
  matcher.path._tag === "Prefix" &&
  (matcher.path.text === "" || matcher.path.text === "/") &&
  matcher.headers.length === 0 &&
  matcher.fraction === undefined

const policyOf = (
  routes: ReadonlyArray<ActiveRoute>,
  actions: ReadonlyArray<Action>,
  names: ReadonlyMap<string, string>,
  { keys = "printed", singleRoute = "catchAll" }: Options
): Json => {
  const [route] = routes
  const [action] = actions
  if (route === undefined || action === undefined) return []
  // ★ One route may stand alone only if no call could miss it.
  const isAlone = singleRoute === "always" || (singleRoute === "catchAll" && matchesAll(route))
  if (routes.length === 1 && isAlone) return childPolicyOf(action)
  const printed = keys === "printed"
  const config = {
    [printed ? "Action" : "action"]: Object.fromEntries(
      actions.map((each) => [each.name, { childPolicy: childPolicyOf(each) }])
    ),
    [printed ? "Route" : "route"]: routes.map(({ action, matcher }) => ({
      ...pathOf(matcher.path),
      ...(matcher.headers.length === 0 ? {} : { headers: matcher.headers.map(headerOf) }),
      ...(matcher.fraction === undefined ? {} : { [printed ? "match_fraction" : "matchFraction"]: matcher.fraction }),
      action: names.get(keyOf(actionOf(action.clusters))) ?? ""
    }))
  }
  return [{ xds_routing_experimental: config }]
}

const quote = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** A28 has no matcher that ignores case: a regular expression does it. */
const pathOf = (path: PathMatcher): JsonObject => {
  if (path._tag === "Regex") return { regex: path.regex.pattern }
  if (path.fold) return { regex: `(?i)${quote(path.text)}${path._tag === "Prefix" ? ".*" : ""}` }
  return path._tag === "Path" ? { path: path.text } : { prefix: path.text }
}

const headerOf = ({ invert, name, specifier }: HeaderMatcher): JsonObject => ({
  name,
  ...specifierOf(specifier),
  ...(invert ? { invertMatch: true } : {})
})

const specifierOf = (specifier: HeaderMatcher["specifier"]): JsonObject => {
  switch (specifier._tag) {
    case "Present":
      return { presentMatch: specifier.present }
    case "Range":
      // proto3 JSON writes numbers of 64 bits as strings.
      return { rangeMatch: { start: String(specifier.start), end: String(specifier.end) } }
    case "Regex":
      return { regexMatch: specifier.regex.pattern }
    default: {
      const { _tag, fold, pattern } = specifier
      if (!fold && _tag === "Exact") return { exactMatch: pattern }
      if (!fold && _tag === "Prefix") return { prefixMatch: pattern }
      if (!fold && _tag === "Suffix") return { suffixMatch: pattern }
      const before = _tag === "Suffix" || _tag === "Contains" ? ".*" : ""
      const after = _tag === "Prefix" || _tag === "Contains" ? ".*" : ""
      return { regexMatch: `${fold ? "(?i)" : ""}${before}${quote(pattern)}${after}` }
    }
  }
}
