/**
 * A virtual host: its routes in order, compiled, and which of them a call matches.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @since 0.1.0
 */
import * as Domains from "./Domains.js"
import * as HeaderMatcher from "./HeaderMatcher.js"
import * as Matching from "./Matcher.js"
import type { Call, Matcher } from "./Matcher.js"
import * as PathMatcher from "./PathMatcher.js"
import * as RetryPolicy from "./RetryPolicy.js"
import type { Match, Route } from "./Route.js"
import * as RouteAction from "./RouteAction.js"
import type { RouteError } from "./RouteError.js"
import { Collector } from "./RouteError.js"
import * as RouteIndex from "./RouteIndex.js"
import type { Rules } from "./Rules.js"
import * as TypedFilter from "./TypedFilter.js"
import type { Any } from "@bufbuild/protobuf/wkt"
import * as Fraction from "@effect-xds/discovery/Fraction"
import type {
  Route as RouteMessage,
  RouteMatch as RouteMatchMessage,
  VirtualHost as VirtualHostMessage
} from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as Either from "effect/Either"

/**
 * A virtual host.
 *
 * @since 0.1.0
 */
export interface VirtualHost {
  readonly name: string
  readonly domains: ReadonlyArray<string>
  readonly routes: ReadonlyArray<Route>
  /** What calls look at. */
  readonly index: RouteIndex.Later<RouteIndex.RouteIndex>
  readonly filters: ReadonlyMap<string, Any>
}

/**
 * The virtual host that a message means; `undefined` if it has mistakes, which are then with `errors`.
 *
 * @param shared paths that virtual hosts of a table have in common
 * @since 0.1.0
 */
export const make = (
  message: VirtualHostMessage,
  path: string,
  rules: Rules,
  filters: ReadonlySet<string>,
  errors: Collector,
  shared: RouteIndex.Paths = new Map()
): VirtualHost | undefined => {
  const before = errors.count
  const overrides =
    rules === "A28"
      ? TypedFilter.none
      : TypedFilter.overrides(message.typedPerFilterConfig, filters, `${path}.typed_per_filter_config`, errors)
  const retry =
    message.retryPolicy === undefined
      ? undefined
      : RetryPolicy.make(message.retryPolicy, `${path}.retry_policy`, errors)
  const routes: Array<Route> = []
  for (const [index, each] of message.routes.entries()) {
    const route = routeOf(each, `${path}.routes[${index}]`, rules, filters, errors)
    if (route === undefined) continue
    // A retry policy of the route hides that of the virtual host, also one that retries nothing.
    const inherits =
      route._tag === "Route" && each.action.case === "route" && each.action.value.retryPolicy === undefined
    routes.push(inherits && retry !== undefined ? { ...route, action: { ...route.action, retry } } : route)
  }
  if (errors.count > before) return undefined
  const { domains, name } = message
  const index = new RouteIndex.Later(() =>
    RouteIndex.make(routes, (route, path) => outcome(route, name, path, 0), shared)
  )
  return { name, domains, routes, index, filters: overrides }
}

/**
 * A virtual host that was fetched by itself (VHDS). Left: all its mistakes.
 *
 * @param filters type URLs of the HTTP filters that the client has
 * @since 0.1.0
 */
export const fetched = (
  message: VirtualHostMessage,
  filters: ReadonlySet<string>
): Either.Either<VirtualHost, ReadonlyArray<RouteError>> => {
  const errors = new Collector()
  Domains.make([message.domains], errors, [])
  const made = make(message, "virtual_hosts[0]", "current", filters, errors)
  return made === undefined || errors.count > 0 ? Either.left(errors.errors) : Either.right(made)
}

/**
 * Whether a host, with its port, belongs to a virtual host.
 *
 * @since 0.1.0
 */
export const isFor = ({ domains }: VirtualHost, host: string): boolean =>
  Domains.find(Domains.make([domains], new Collector(), []), host) !== undefined

const routeOf = (
  { action, match, name, typedPerFilterConfig }: RouteMessage,
  path: string,
  rules: Rules,
  filters: ReadonlySet<string>,
  errors: Collector
): Route | undefined => {
  const before = errors.count
  if (match === undefined) {
    errors.add(`${path}.match`, "MatchMissing", "match is missing; it is required")
    return undefined
  }
  // ★ Before the rest of it is checked: a route for query parameters is none for gRPC.
  if (match.queryParameters.length > 0) return { _tag: "Ignored", name, why: "query_parameters are not supported" }
  const matcher = matcherOf(match, `${path}.match`, rules, errors)
  const overrides =
    rules === "A28"
      ? TypedFilter.none
      : TypedFilter.overrides(typedPerFilterConfig, filters, `${path}.typed_per_filter_config`, errors)
  if (action.case !== "route") {
    const what = action.case ?? "no action that is known"
    if (rules === "A28") errors.add(path, "Action", `the action is not route but ${what}`)
    return matcher === undefined || errors.count > before
      ? undefined
      : { _tag: "NotRoute", name, matcher, action: what }
  }
  const made = RouteAction.make(action.value, `${path}.route`, rules, filters, errors)
  if (matcher === undefined || made === undefined || errors.count > before) return undefined
  if (made._tag === "Ignored") return { _tag: "Ignored", name, why: made.why }
  return { _tag: "Route", name, matcher, action: made.action, filters: overrides }
}

const matcherOf = (message: RouteMatchMessage, path: string, rules: Rules, errors: Collector): Matcher | undefined => {
  const pathMatcher = PathMatcher.make(message, path, rules, errors)
  const headers: Array<HeaderMatcher.HeaderMatcher> = []
  for (const [index, header] of message.headers.entries()) {
    const made = HeaderMatcher.make(header, `${path}.headers[${index}]`, rules, errors)
    if (made !== undefined) headers.push(made)
  }
  let fraction: number | undefined
  if (message.runtimeFraction !== undefined) {
    const { defaultValue } = message.runtimeFraction
    const at = `${path}.runtime_fraction.default_value`
    if (defaultValue === undefined) errors.add(at, "Fraction", "default_value is missing; runtime keys are not used")
    else {
      fraction = Fraction.make(defaultValue)
      if (fraction === undefined) {
        errors.add(`${at}.denominator`, "Fraction", "an unknown denominator; use HUNDRED, TEN_THOUSAND or MILLION")
      }
    }
  }
  return pathMatcher === undefined
    ? undefined
    : { path: pathMatcher, headers, fraction, isGrpc: message.grpc !== undefined }
}

/**
 * The route of a call: the first that matches wins. Fractions are drawn last, each with its own number.
 *
 * @since 0.1.0
 */
export const match = (self: VirtualHost, call: Call, rules: Rules = "current"): Match => {
  const index = self.index.get()
  const certain = RouteIndex.find(index, call.path)
  if (certain !== undefined) return certain
  const { at, draws } = Matching.first(index.matchers, call, rules)
  return outcome(self.routes[at], self.name, call.path, draws)
}

const outcome = (route: Route | undefined, virtualHost: string, path: string, draws: number): Match => {
  if (route === undefined || route._tag === "Ignored") return { _tag: "NoRoute", virtualHost, path }
  return route._tag === "Route"
    ? { _tag: "Route", route, draws }
    : { _tag: "ActionNotRoute", route: route.name, action: route.action }
}

export { type ActiveRoute, type Match, type Route } from "./Route.js"
