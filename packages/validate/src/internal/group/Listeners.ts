/** Listeners, their filter chains and their extensions. */
import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { Filter, FilterChain } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Addresses from "./Addresses.js"
import { quoted, type Site } from "./Facts.js"
import * as FilterChainMatches from "./FilterChainMatches.js"
import * as Reading from "./Reading.js"

const listenerName = "envoy.config.listener.v3.Listener"

const isUdp = ({ address }: Listener): boolean => address !== undefined && Addresses.isUdp(address)

/** Whether a listener speaks QUIC, over UDP. */
export const isQuic = ({ udpListenerConfig }: Listener): boolean => udpListenerConfig?.quicOptions !== undefined

const ofListener = function* (self: Listener, site: Site): MessageSteps.Steps<void> {
  if (self.apiListener !== undefined) {
    site.isForGrpc = true
    return
  }
  if (self.listenerSpecifier.case !== "internalListener") ofAddresses(self, site)
  const { defaultFilterChain, fcdsConfig, filterChainMatcher, filterChains } = self
  const hasChains = filterChains.length > 0 || defaultFilterChain !== undefined
  if (isUdp(self) && !isQuic(self)) {
    if (filterChains.length > 0) site.fault("filter-chains", "must be empty: UDP has no connections", ["filter_chains"])
  } else if (!hasChains && fcdsConfig === undefined) {
    site.fault("filter-chains", "must have a filter chain", ["filter_chains"])
  }
  // With a matcher, which names the chains, their matches count for nothing.
  if (filterChainMatcher !== undefined) return ofNames(self, site)
  for (const [index, { filterChainMatch: match }] of filterChains.entries()) {
    if (match === undefined) continue
    const path = ["filter_chains", index, "filter_chain_match"]
    const isThere = match.addressSuffix !== "" || match.suffixLen !== undefined
    if (isThere) site.fault("filter-chain-match-fields", "must not match suffixes: Envoy cannot", path)
    for (const [at, name] of match.serverNames.entries()) {
      if (!name.includes("*") || name.startsWith("*.")) continue
      const problem = `must have its star as the first label, is ${quoted(name)}`
      site.fault("server-names", problem, [...path, "server_names", at])
    }
  }
  const matches = filterChains.map(({ filterChainMatch }) => filterChainMatch)
  yield* FilterChainMatches.check(site, matches)
}

const ofNames = ({ filterChains }: Listener, site: Site): void => {
  const seen = new Set<string>()
  for (const [index, { name }] of filterChains.entries()) {
    const path = ["filter_chains", index, "name"]
    if (name === "") site.fault("filter-chain-name", "must be set: the filter_chain_matcher asks for it", path)
    else if (seen.has(name)) site.fault("filter-chain-name", "must not be that of another chain", path)
    seen.add(name)
  }
}

const ofAddresses = (self: Listener, site: Site): void => {
  if (self.address === undefined) return site.fault("listener-address", "must be set", ["address"])
  const all = [
    { address: self.address, path: ["address"] },
    ...self.additionalAddresses.map(({ address }, index) => ({
      address,
      path: ["additional_addresses", index, "address"]
    }))
  ]
  const own = new Set<string>()
  for (const { address, path } of all) {
    if (address === undefined) {
      // ★ Envoy does not refuse it: it ends.
      site.fault("listener-address", "must be set", path)
      continue
    }
    Addresses.check(site, address, path)
    const key = Addresses.boundTo(address, self.bindToPort ?? true)
    // ★ A listener may name its own address twice.
    if (key === undefined || own.has(key)) continue
    own.add(key)
    site.claim("listener-address-unique", key, "must not be that of another listener", path)
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Order of filters

const networkPrefix = "envoy.extensions.filters.network."

/** Network filters that end a chain. */
const terminal = new Set(
  ["http_connection_manager", "tcp_proxy", "echo", "direct_response", "redis_proxy", "thrift_proxy", "dubbo_proxy"]
    .concat("generic_proxy")
    .map((name) => `${networkPrefix}${name}.`)
)

/** Network filters that never end one. Of others it is not known, or they say it. */
const passing = new Set(
  ["connection_limit", "ext_authz", "local_ratelimit", "mongo_proxy", "ratelimit", "rbac", "set_filter_state"]
    .concat("sni_cluster", "sni_dynamic_forward_proxy", "zookeeper_proxy")
    .map((name) => `${networkPrefix}${name}.`)
)

const typeOf = ({ configType }: Pick<Filter, "configType">): string =>
  configType.case === "typedConfig" ? TypeRegistry.typeName(configType.value.typeUrl) : ""

/** `envoy.extensions.filters.network.rbac.` of one of its types. */
const familyOf = (typeName: string): string => /^envoy\.extensions\.filters\.\w+\.\w+\./.exec(typeName)?.[0] ?? ""

const ofFilterChain = ({ filters, transportSocket }: FilterChain, site: Site): void => {
  for (const [index, filter] of filters.entries()) {
    const isLast = index === filters.length - 1
    const family = familyOf(typeOf(filter))
    if (!isLast && terminal.has(family)) {
      site.fault("network-filter-order", `must be the last filter: ${filter.name} is terminal`, ["filters", index])
    } else if (isLast && passing.has(family)) {
      site.fault("network-filter-order", `must not be the last filter: ${filter.name} is not terminal`, [
        "filters",
        index
      ])
    }
  }
  const socket = transportSocket?.configType
  if (socket?.case !== "typedConfig") return
  const path = ["transport_socket", "typed_config"]
  const isForQuic = /\.quic\.v3\.QuicDownstreamTransport$/.test(socket.value.typeUrl)
  const listener = around(site)
  if (listener !== undefined && isQuic(listener) && !isForQuic) {
    site.fault("extension-category", "must be a QuicDownstreamTransport", path)
  } else if (/\.tls\.v3\.UpstreamTlsContext$/.test(socket.value.typeUrl)) {
    site.fault("extension-category", "must be a DownstreamTlsContext", path)
  }
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.inSteps<Listener>(listenerName, ofListener),
  Reading.of<FilterChain>("envoy.config.listener.v3.FilterChain", ofFilterChain)
]

/** The listener around, of which a segment of its path is read. */
export const around = (site: Site): Listener | undefined => site.inside<Listener>(listenerName)
