/**
 * A RouteConfiguration, validated and compiled: a host and a call give a route.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md
 * @see https://github.com/grpc/proposal/blob/master/A36-xds-for-servers.md
 * @since 0.1.0
 */
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import * as Either from "effect/Either"
import * as CalledHosts from "./CalledHosts.js"
import * as Domains from "./Domains.js"
import type { Call } from "./Matcher.js"
import type { RouteError } from "./RouteError.js"
import { Collector } from "./RouteError.js"
import type * as RouteIndex from "./RouteIndex.js"
import type { Rules } from "./Rules.js"
import * as StatefulSession from "./StatefulSession.js"
import * as VirtualHost from "./VirtualHost.js"

/**
 * How a RouteConfiguration is read.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Default: `current`. */
  readonly rules?: Rules | undefined
  /** A28 checks only the virtual hosts that these hosts select. Default: all virtual hosts are checked. */
  readonly hosts?: ReadonlyArray<string> | undefined
  /** Type URLs of the HTTP filters that the client has, and of their settings in routes. Default: {@link standard}. */
  readonly filters?: ReadonlySet<string> | undefined
}

/**
 * A route table.
 *
 * @since 0.1.0
 */
export interface RouteTable {
  readonly name: string
  readonly rules: Rules
  /** In their order; `undefined`: one that A28 does not look at and that could not be used. */
  readonly virtualHosts: ReadonlyArray<VirtualHost.VirtualHost | undefined>
  readonly domains: Domains.Domains
  readonly called: CalledHosts.CalledHosts
  /** Where virtual hosts that are not here are fetched from, one by one (VHDS); `undefined`: nowhere. */
  readonly vhds: ConfigSource | undefined
  /** What is legal and probably a mistake: a domain that two virtual hosts have. */
  readonly warnings: ReadonlyArray<string>
}

/**
 * The outcome of a match.
 *
 * @since 0.1.0
 */
export type Match = VirtualHost.Match | { readonly _tag: "NoVirtualHost"; readonly host: string }

/**
 * The type URL of the filter that sends calls: the one that every client has.
 *
 * @since 0.1.0
 */
export const router: ReadonlySet<string> = new Set([
  "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
])

/**
 * The type URLs of filters that a client has: the router, and stateful sessions.
 *
 * @since 0.1.0
 */
export const standard: ReadonlySet<string> = new Set([
  ...router,
  StatefulSession.filterType,
  StatefulSession.overrideType
])

/**
 * Compiles a RouteConfiguration. Left: all its mistakes, at most {@link RouteError.maxErrors}.
 *
 * @example
 * import { create } from "@bufbuild/protobuf"
 * import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
 * import { RouteTable } from "@effect-xds/routing"
 *
 * const table = RouteTable.make(
 *   create(RouteConfigurationSchema, {
 *     virtualHosts: [
 *       {
 *         name: "shop",
 *         domains: ["shop.example"],
 *         routes: [
 *           {
 *             match: { pathSpecifier: { case: "prefix", value: "/" } },
 *             action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "shop-v1" } } }
 *           }
 *         ]
 *       }
 *     ]
 *   })
 * )
 *
 * @since 0.1.0
 */
export const make = (
  message: RouteConfiguration,
  { filters = standard, hosts, rules = "current" }: Options = {}
): Either.Either<RouteTable, ReadonlyArray<RouteError>> => {
  const errors = new Collector()
  const warnings: Array<string> = []
  const domains = Domains.make(
    message.virtualHosts.map(({ domains }) => domains),
    errors,
    warnings
  )
  const selected =
    rules === "A28" && hosts !== undefined ? new Set(hosts.map((host) => Domains.find(domains, host))) : undefined
  const shared: RouteIndex.Paths = new Map()
  const virtualHosts = message.virtualHosts.map((virtualHost, index) =>
    VirtualHost.make(
      virtualHost,
      `virtual_hosts[${index}]`,
      rules,
      filters,
      selected === undefined || selected.has(index) ? errors : new Collector(),
      shared
    )
  )
  if (rules === "current") checkPlugins(message, errors)
  if (errors.count > 0) return Either.left(errors.errors)
  return Either.right({
    name: message.name,
    rules,
    virtualHosts,
    domains,
    called: new CalledHosts.CalledHosts(domains, virtualHosts),
    vhds: message.vhds?.configSource,
    warnings
  })
}

/**
 * ★ None of the plugins that choose clusters is known here. The routes of an optional one are ignored; with any other they are
 * missing, and their calls would go by later routes.
 */
const checkPlugins = (
  { clusterSpecifierPlugins: plugins, virtualHosts }: RouteConfiguration,
  errors: Collector
): void => {
  for (const [index, { extension, isOptional }] of plugins.entries()) {
    if (isOptional) continue
    const what = `the plugin ${JSON.stringify(extension?.name ?? "")} is not supported; set is_optional or leave it out`
    errors.add(`cluster_specifier_plugins[${index}]`, "ClusterSpecifier", what)
  }
  const names = new Set(plugins.map(({ extension }) => extension?.name))
  for (const [host, { routes }] of virtualHosts.entries()) {
    for (const [index, { action }] of routes.entries()) {
      if (action.case !== "route" || action.value.clusterSpecifier.case !== "clusterSpecifierPlugin") continue
      const name = action.value.clusterSpecifier.value
      if (names.has(name)) continue
      const what = `the plugin ${JSON.stringify(name)} is not in cluster_specifier_plugins; name one that is there`
      errors.add(`virtual_hosts[${host}].routes[${index}].route.cluster_specifier_plugin`, "ClusterSpecifier", what)
    }
  }
}

/**
 * The virtual host of an authority, whose port is a part of it; `undefined` if there is none.
 *
 * @since 0.1.0
 */
export const virtualHost = (self: RouteTable, host: string): VirtualHost.VirtualHost | undefined => {
  const index = Domains.find(self.domains, host)
  return index === undefined ? undefined : self.virtualHosts[index]
}

/**
 * The route of a call to a host.
 *
 * @since 0.1.0
 */
export const match = (self: RouteTable, host: string, call: Call): Match => {
  const number = self.called.numberOf(host)
  if (number === undefined) return { _tag: "NoVirtualHost", host }
  const certain = self.called.find(number, call.path)
  if (certain !== undefined) return certain
  const found = self.called.at(number)
  return found === undefined ? { _tag: "NoVirtualHost", host } : VirtualHost.match(found, call, self.rules)
}
