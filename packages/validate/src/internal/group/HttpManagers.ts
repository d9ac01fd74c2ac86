/** HTTP connection managers, and the scopes of their routes. */
import type { Http2ProtocolOptions } from "@effect-xds/proto/envoy/config/core/v3/protocol"
import type { ScopedRouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type { HttpConnectionManager } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type {
  JwtAuthentication,
  JwtRequirement
} from "@effect-xds/proto/envoy/extensions/filters/http/jwt_authn/v3/config"
import type { LocalRateLimit as ListenerLocalRateLimit } from "@effect-xds/proto/envoy/extensions/filters/listener/local_ratelimit/v3/local_ratelimit"
import type { LocalRateLimit as NetworkLocalRateLimit } from "@effect-xds/proto/envoy/extensions/filters/network/local_ratelimit/v3/local_rate_limit"
import type { LocalRateLimit } from "@effect-xds/proto/envoy/extensions/filters/http/local_ratelimit/v3/local_rate_limit"
import type { TokenBucket } from "@effect-xds/proto/envoy/type/v3/token_bucket"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as AsciiText from "./AsciiText.js"
import * as ConfigSources from "./ConfigSources.js"
import { quoted, type Segment, type Site } from "./Facts.js"
import * as Listeners from "./Listeners.js"
import * as Reading from "./Reading.js"

export const managerName = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

const http = "envoy.extensions.filters.http."

const routerName = `${http}router.v3.Router`

/** HTTP filters that never answer a request themselves in the place of a router. Of others it is not known. */
const passing = new Set(
  ["adaptive_concurrency", "aws_lambda", "aws_request_signing", "bandwidth_limit", "basic_auth"]
    .concat("buffer", "compressor", "cors", "csrf", "custom_response", "decompressor")
    .concat("dynamic_forward_proxy", "ext_authz", "ext_proc", "fault", "grpc_http1_bridge")
    .concat("grpc_http1_reverse_bridge", "grpc_stats", "grpc_web", "header_mutation")
    .concat("header_to_metadata", "health_check", "ip_tagging", "json_to_metadata", "jwt_authn", "local_ratelimit")
    .concat("lua", "oauth2", "on_demand", "original_src", "ratelimit", "rbac", "set_filter_state")
    .concat("set_metadata", "stateful_session")
)

const ofFilters = ({ httpFilters }: HttpConnectionManager, site: Site): void => {
  for (const [index, { configType, disabled, name }] of httpFilters.entries()) {
    if (configType.case !== "typedConfig") continue
    const isLast = index === httpFilters.length - 1
    const typeName = TypeRegistry.typeName(configType.value.typeUrl)
    const fault = (problem: string): void => site.fault("http-filter-order", problem, ["http_filters", index])
    if (typeName === routerName) {
      if (!isLast) fault("must be the last filter: it is the router")
      else if (disabled) fault("must not be disabled: it is the router")
    } else if (isLast && typeName.startsWith(http) && passing.has(typeName.slice(http.length).replace(/\..*$/, ""))) {
      fault(`must be followed by the router: ${name} passes requests on`)
    }
  }
}

/** `HTTP3` of the types of codecs. */
const http3: number = 3

const ofManager = (self: HttpConnectionManager, site: Site): void => {
  ofFilters(self, site)
  const listener = Listeners.around(site)
  const codec: number = self.codecType
  if (listener !== undefined && listener.apiListener === undefined) {
    if (codec === http3 && !Listeners.isQuic(listener)) {
      site.fault("http3-listener", "must not be HTTP3: the listener does not speak QUIC", ["codec_type"])
    } else if (codec !== http3 && Listeners.isQuic(listener)) {
      site.fault("http3-listener", "must be HTTP3: the listener speaks QUIC", ["codec_type"])
    }
  }
  upgrades(site, self.upgradeConfigs)
  if (self.originalIpDetectionExtensions.length > 0) {
    const path = "original_ip_detection_extensions"
    if (self.useRemoteAddress === true) {
      site.fault("ip-detection", "must be empty where use_remote_address is set", [path])
    } else if (self.xffNumTrustedHops > 0) {
      site.fault("ip-detection", "must be empty where xff_num_trusted_hops is set", [path])
    }
  }
  ofRoutes(self, site)
}

/** Types of upgrades are compared without the case of ASCII letters. */
export const upgrades = (site: Site, list: ReadonlyArray<{ readonly upgradeType: string }>): void => {
  const seen = new Set<string>()
  for (const [index, { upgradeType }] of list.entries()) {
    const key = AsciiText.lower(upgradeType)
    if (seen.has(key))
      site.fault("upgrade-unique", "must not be there twice", ["upgrade_configs", index, "upgrade_type"])
    seen.add(key)
  }
}

const ofRoutes = ({ routeSpecifier }: HttpConnectionManager, site: Site): void => {
  if (routeSpecifier.case === "rds") {
    const { configSource, routeConfigName } = routeSpecifier.value
    if (ConfigSources.isHere(configSource)) {
      site.refer("route-reference", ResourceType.RouteConfiguration, routeConfigName, ["rds", "route_config_name"])
    }
  }
  if (routeSpecifier.case !== "scopedRoutes") return
  const { configSpecifier } = routeSpecifier.value
  if (configSpecifier.case !== "scopedRouteConfigurationsList") return
  const path = ["scoped_routes", "scoped_route_configurations_list", "scoped_route_configurations"]
  for (const [index, { routeConfigurationName: name }] of configSpecifier.value.scopedRouteConfigurations.entries()) {
    if (name === "") continue
    site.fault("inline-scope", "must be a route_configuration", [...path, index, "route_configuration_name"])
  }
}

const keyOf = ({ key }: ScopedRouteConfiguration): string =>
  JSON.stringify(key?.fragments.map(({ type }) => type.value))

const ofScope = (self: ScopedRouteConfiguration, site: Site): void => {
  // ★ Envoy compares those that it fetches, not those in a manager.
  if (site.inside(managerName) !== undefined) return
  site.claim("scope-key-unique", keyOf(self), "must not be that of another scope", ["key"])
  site.refer("route-reference", ResourceType.RouteConfiguration, self.routeConfigurationName, [
    "route_configuration_name"
  ])
}

const ofJwt = (self: JwtAuthentication, site: Site): void => {
  const { filterStateRules, providers, requirementMap, rules } = self
  const ofRequirement = ({ requiresType }: JwtRequirement, path: ReadonlyArray<Segment>): void => {
    const missing = (name: string): void => {
      if (!Object.hasOwn(providers, name)) site.fault("jwt-reference", `names no provider: ${quoted(name)}`, path)
    }
    if (requiresType.case === "providerName") missing(requiresType.value)
    if (requiresType.case === "providerAndAudiences") missing(requiresType.value.providerName)
    if (requiresType.case !== "requiresAny" && requiresType.case !== "requiresAll") return
    for (const each of requiresType.value.requirements) ofRequirement(each, path)
  }
  for (const [index, { requirementType }] of rules.entries()) {
    const path = ["rules", index]
    if (requirementType.case === "requires") ofRequirement(requirementType.value, path)
    if (requirementType.case !== "requirementName" || Object.hasOwn(requirementMap, requirementType.value)) continue
    site.fault("jwt-reference", `names no requirement: ${quoted(requirementType.value)}`, path)
  }
  for (const [name, each] of Object.entries(requirementMap)) {
    ofRequirement(each, ["requirement_map", { key: name }])
  }
  for (const each of Object.values(filterStateRules?.requires ?? {})) ofRequirement(each, ["filter_state_rules"])
}

const ofBucket = (site: Site, bucket: TokenBucket | undefined, inside: ReadonlyArray<Segment> = []): void => {
  const interval = bucket?.fillInterval
  if (interval === undefined || interval.seconds !== 0n || interval.nanos >= 50_000_000 || interval.nanos < 0) return
  site.fault("token-bucket", "must be at least 0.05s", [...inside, "token_bucket", "fill_interval"])
}

const ofRateLimit = ({ descriptors, tokenBucket }: LocalRateLimit, site: Site): void => {
  ofBucket(site, tokenBucket)
  for (const [index, each] of descriptors.entries()) ofBucket(site, each.tokenBucket, ["descriptors", index])
}

// Numbers of settings.
const push = 2
const connect = 8

const ofHttp2 = (self: Http2ProtocolOptions, site: Site): void => {
  if (self.customSettingsParameters.length === 0) return
  const named = new Map([
    [1, self.hpackTableSize],
    [3, self.maxConcurrentStreams],
    [4, self.initialStreamWindowSize]
  ])
  const values = new Map<number | undefined, number | undefined>()
  for (const [index, { identifier, value }] of self.customSettingsParameters.entries()) {
    const fault = (problem: string): void =>
      site.fault("http2-settings", problem, ["custom_settings_parameters", index])
    if (values.has(identifier) && values.get(identifier) !== value) fault(`must not have two values: ${identifier}`)
    values.set(identifier, value)
    if (identifier === undefined) continue
    if (named.get(identifier) !== undefined) fault(`must not be set by name, too: ${identifier}`)
    if (identifier === connect) fault("must not be 8: allow_connect has a name")
    if (identifier === push && value === 1) fault("must not switch server push on: Envoy cannot")
  }
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<HttpConnectionManager>(managerName, ofManager),
  Reading.of<ScopedRouteConfiguration>("envoy.config.route.v3.ScopedRouteConfiguration", ofScope),
  Reading.of<JwtAuthentication>("envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication", ofJwt),
  Reading.of<LocalRateLimit>("envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", ofRateLimit),
  Reading.of<NetworkLocalRateLimit>(
    "envoy.extensions.filters.network.local_ratelimit.v3.LocalRateLimit",
    (self, site) => ofBucket(site, self.tokenBucket)
  ),
  Reading.of<ListenerLocalRateLimit>(
    "envoy.extensions.filters.listener.local_ratelimit.v3.LocalRateLimit",
    (self, site) => ofBucket(site, self.tokenBucket)
  ),
  Reading.of<Http2ProtocolOptions>("envoy.config.core.v3.Http2ProtocolOptions", ofHttp2)
]
