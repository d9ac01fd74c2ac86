/** Route configurations, virtual hosts and routes. */
import type { HeaderValueOption } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import type {
  FilterConfig,
  RetryPolicy_RetryBackOff,
  Route,
  RouteAction,
  RouteAction_RequestMirrorPolicy,
  VirtualHost,
  WeightedCluster,
  WeightedCluster_ClusterWeight
} from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as ExtensionTypes from "../ExtensionTypes.js"
import * as AsciiText from "./AsciiText.js"
import * as Durations from "./Durations.js"
import { quoted, type Segment, type Site } from "./Facts.js"
import * as Extensions from "./Extensions.js"
import * as HeaderCommands from "./HeaderCommands.js"
import * as HttpManagers from "./HttpManagers.js"
import * as Reading from "./Reading.js"

const configurationName = "envoy.config.route.v3.RouteConfiguration"

const matcherName = "xds.type.matcher.v3.Matcher"

/**
 * ★ Of an inline table Envoy asks for the clusters at once, unless it is told not to; of one by RDS only if it is told to; of routes in a
 * matcher never.
 *
 * @param isUsed whether a route of the table leads there
 */
const refer = (site: Site, name: string, inside: ReadonlyArray<Segment>, isUsed = true): void => {
  const table = site.inside<RouteConfiguration>(configurationName)
  const isInline = site.inside(HttpManagers.managerName) !== undefined
  const isInMatcher = site.isInside(matcherName, configurationName)
  const isChecked = isUsed && table !== undefined && !isInMatcher && (table.validateClusters ?? isInline)
  const rule = isChecked ? "route-cluster-reference" : "cluster-reference"
  site.refer(rule, ResourceType.Cluster, name, inside)
}

// ---------------------------------------------------------------------------------------------------------------------
// Headers

interface Headers {
  readonly requestHeadersToAdd: ReadonlyArray<HeaderValueOption>
  readonly requestHeadersToRemove: ReadonlyArray<string>
  readonly responseHeadersToAdd: ReadonlyArray<HeaderValueOption>
  readonly responseHeadersToRemove: ReadonlyArray<string>
}

const isFixed = (name: string): boolean => name.startsWith(":") || name.toLowerCase() === "host"

const headers = (site: Site, self: Headers): void => {
  const added = (list: ReadonlyArray<HeaderValueOption>, field: string): void => {
    for (const [index, { header }] of list.entries()) {
      if (header === undefined) continue
      const path = [field, index, "header"]
      if (isFixed(header.key))
        site.fault("header-name", `must not be ${header.key}: it cannot be added`, [...path, "key"])
      // ★ The value may be a secret.
      const mistake = HeaderCommands.mistakeIn(header.value)
      if (mistake === "stray")
        site.fault("header-format", "has a % that begins no command; write %%", [...path, "value"])
      else if (mistake === "unknown")
        site.fault("header-command", "has a command that Envoy 1.40 does not know", [...path, "value"])
    }
  }
  const removed = (list: ReadonlyArray<string>, field: string): void => {
    for (const [index, name] of list.entries()) {
      if (isFixed(name)) site.fault("header-name", `must not be ${name}: it cannot be removed`, [field, index])
    }
  }
  added(self.requestHeadersToAdd, "request_headers_to_add")
  removed(self.requestHeadersToRemove, "request_headers_to_remove")
  added(self.responseHeadersToAdd, "response_headers_to_add")
  removed(self.responseHeadersToRemove, "response_headers_to_remove")
}

// ---------------------------------------------------------------------------------------------------------------------
// Tables and virtual hosts

const perFilter = (site: Site, configs: { readonly [name: string]: { readonly typeUrl: string } }): void => {
  for (const [name, { typeUrl }] of Object.entries(configs)) {
    const path = ["typed_per_filter_config", { key: name }]
    Extensions.check(site, typeUrl, "of an HTTP filter", [...ExtensionTypes.httpFilters, filterConfigName], path)
  }
}

/** What stands around the configuration of a filter to switch it off. */
const filterConfigName = "envoy.config.route.v3.FilterConfig"

const ofFilterConfig = ({ config, disabled, isOptional }: FilterConfig, site: Site): void => {
  if (disabled) return
  if (config === undefined) site.fault("typed-config", "must be set", ["config"])
  else if (!isOptional)
    Extensions.check(site, config.typeUrl, "of an HTTP filter", ExtensionTypes.httpFilters, ["config"])
}

/** Whether requests of the route are mirrored as its virtual host says. */
const isMirroredByHost = ({ action }: Route): boolean =>
  action.case !== "route" || action.value.requestMirrorPolicies.length === 0

/** @param isUsed whether a route of the table leads there */
const mirrors = (site: Site, policies: ReadonlyArray<RouteAction_RequestMirrorPolicy>, isUsed = true): void => {
  for (const [index, { cluster, clusterHeader }] of policies.entries()) {
    const path = ["request_mirror_policies", index]
    if ((cluster === "") === (clusterHeader === "")) {
      site.fault("mirror-cluster-name", "must have either a cluster or a cluster_header", path)
    } else refer(site, cluster, [...path, "cluster"], isUsed)
  }
}

/** `DELTA_GRPC` of the types of APIs. What ADS speaks is not known here. */
const incremental: number = 3

const ofConfiguration = function* (self: RouteConfiguration, site: Site): MessageSteps.Steps<void> {
  headers(site, self)
  perFilter(site, self.typedPerFilterConfig)
  if (self.requestMirrorPolicies.length > 0) {
    const isUsed = ({ requestMirrorPolicies, routes }: VirtualHost): boolean =>
      requestMirrorPolicies.length === 0 && routes.some(isMirroredByHost)
    mirrors(site, self.requestMirrorPolicies, self.virtualHosts.some(isUsed))
  }
  yield* domains(site, self.virtualHosts)
  const source = self.vhds?.configSource?.configSourceSpecifier
  const apiType: number | undefined = source?.case === "apiConfigSource" ? source.value.apiType : undefined
  if (apiType !== undefined && apiType !== incremental) {
    site.fault("vhds-source", "must be DELTA_GRPC or ADS", ["vhds", "config_source", "api_config_source", "api_type"])
  }
}

/** Domains of one step. */
const atOnce = 64

/** ★ Envoy compares domains without the case of ASCII letters, exact ones, suffixes, prefixes and `*` alike. */
const domains = function* (site: Site, virtualHosts: ReadonlyArray<VirtualHost>): MessageSteps.Steps<void> {
  const owners = new Map<string, string>()
  let looked = 0
  for (const [index, { domains, name }] of virtualHosts.entries()) {
    for (const [at, domain] of domains.entries()) {
      if (++looked % atOnce === 0) yield
      const key = AsciiText.lower(domain)
      const owner = owners.get(key)
      owners.set(key, owner ?? name)
      if (owner === undefined) continue
      const problem = `must not be there twice: ${quoted(domain)} belongs to virtual host ${quoted(owner)}`
      site.fault("domain-unique", problem, ["virtual_hosts", index, "domains", at])
    }
  }
}

const isWildcard = (domain: string): boolean => !domain.slice(domain.startsWith("*") ? 1 : 0, -1).includes("*")

const ofVirtualHost = (self: VirtualHost, site: Site): void => {
  headers(site, self)
  perFilter(site, self.typedPerFilterConfig)
  mirrors(site, self.requestMirrorPolicies, self.routes.some(isMirroredByHost))
  for (const [index, domain] of self.domains.entries()) {
    const isBoth = domain.length > 1 && domain.startsWith("*") && domain.endsWith("*")
    if (domain === "") site.fault("domain-wildcard", "is empty, which no request matches", ["domains", index])
    else if (!isWildcard(domain) || isBoth) {
      const problem = `must have one star, at the start or at the end, is ${quoted(domain)}`
      site.fault("domain-wildcard", problem, ["domains", index])
    }
  }
  if (self.matcher !== undefined && self.routes.length > 0) {
    site.fault("virtual-host-matcher", "must be empty beside a matcher", ["routes"])
  }
  for (const [index, { headers }] of self.virtualClusters.entries()) {
    if (headers.length === 0) site.fault("virtual-cluster", "must have headers", ["virtual_clusters", index, "headers"])
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Routes

/** Bytes of a body in a route, unless its table says another number. */
const defaultBodySize = 4096

const ofRoute = (self: Route, site: Site): void => {
  headers(site, self)
  perFilter(site, self.typedPerFilterConfig)
  const table = site.inside<RouteConfiguration>(configurationName)
  // What the table of a virtual host by VHDS says is in another resource.
  if (self.action.case !== "directResponse" || table === undefined) return
  const most = table.maxDirectResponseBodySizeBytes ?? defaultBodySize
  const specifier = self.action.value.body?.specifier
  const size =
    specifier?.case === "inlineString"
      ? Buffer.byteLength(specifier.value)
      : specifier?.case === "inlineBytes"
        ? specifier.value.byteLength
        : 0
  if (size > most) {
    site.fault("direct-response-size", `must have at most ${most} bytes, has ${size}`, ["direct_response", "body"])
  }
}

const ofAction = (self: RouteAction, site: Site): void => {
  const { clusterSpecifier } = self
  if (clusterSpecifier.case === "cluster") refer(site, clusterSpecifier.value, ["cluster"])
  else if (clusterSpecifier.case === "clusterSpecifierPlugin") {
    const table = site.inside<RouteConfiguration>(configurationName)
    const isDefined = table?.clusterSpecifierPlugins.some(({ extension }) => extension?.name === clusterSpecifier.value)
    if (isDefined === false) {
      const problem = `names no plugin of the table: ${quoted(clusterSpecifier.value)}`
      site.fault("plugin-reference", problem, ["cluster_specifier_plugin"])
    }
  }
  mirrors(site, self.requestMirrorPolicies)
  const rewrites = [self.prefixRewrite !== "", self.regexRewrite !== undefined, self.pathRewritePolicy !== undefined]
  if (rewrites.filter(Boolean).length > 1) {
    site.fault("path-rewrite", "must have only one of prefix_rewrite, regex_rewrite and path_rewrite_policy")
  }
  HttpManagers.upgrades(site, self.upgradeConfigs)
  for (const [index, { connectConfig, upgradeType }] of self.upgradeConfigs.entries()) {
    if (connectConfig === undefined || /^connect/i.test(upgradeType)) continue
    site.fault("connect-config", `must not be set for ${upgradeType}`, ["upgrade_configs", index, "connect_config"])
  }
}

const maxUint32 = 0xffff_ffff

const ofWeights = ({ clusters }: WeightedCluster, site: Site): void => {
  let sum = 0
  let isUnset = false
  for (const [index, { clusterHeader, name, weight }] of clusters.entries()) {
    const path = ["clusters", index]
    if (name !== "" && clusterHeader !== "") {
      site.fault("weighted-cluster-name", "must have either a name or a cluster_header", path)
    } else if (name === "" && clusterHeader === "") {
      site.fault("weighted-cluster-name", "must have a name or a cluster_header", path)
    } else refer(site, name, [...path, "name"])
    if (weight === undefined) {
      isUnset = true
      site.fault("cluster-weights", "must be set", [...path, "weight"])
    }
    sum += weight ?? 0
  }
  // No clusters at all: the rules of the field tell it.
  if (clusters.length > 0 && sum === 0 && !isUnset)
    site.fault("cluster-weights", "must not all have weight 0", ["clusters"])
  if (sum > maxUint32) site.fault("cluster-weights", `must have weights of at most ${maxUint32} in all`, ["clusters"])
}

const ofBackOff = ({ baseInterval, maxInterval }: RetryPolicy_RetryBackOff, site: Site): void => {
  if (baseInterval === undefined || maxInterval === undefined) return
  const [base, most] = [Durations.milliseconds(baseInterval), Durations.milliseconds(maxInterval)]
  // Less than a millisecond is one.
  if (most < base && base > 1n) {
    site.fault("retry-interval", "must be no less than base_interval", ["max_interval"])
  }
}

export const readings: ReadonlyArray<Reading.Reading> = [
  // It has no rules here, but the routes in it are told apart from others.
  Reading.of(matcherName, () => undefined),
  Reading.inSteps<RouteConfiguration>(configurationName, ofConfiguration),
  Reading.of<FilterConfig>(filterConfigName, ofFilterConfig),
  Reading.of<VirtualHost>("envoy.config.route.v3.VirtualHost", ofVirtualHost),
  Reading.of<Route>("envoy.config.route.v3.Route", ofRoute),
  Reading.of<RouteAction>("envoy.config.route.v3.RouteAction", ofAction),
  Reading.of<WeightedCluster>("envoy.config.route.v3.WeightedCluster", ofWeights),
  Reading.of<WeightedCluster_ClusterWeight>("envoy.config.route.v3.WeightedCluster.ClusterWeight", (self, site) => {
    headers(site, self)
    perFilter(site, self.typedPerFilterConfig)
  }),
  Reading.of<RetryPolicy_RetryBackOff>("envoy.config.route.v3.RetryPolicy.RetryBackOff", ofBackOff)
]
