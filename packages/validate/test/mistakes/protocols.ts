/** Mistakes in protocols, and in the sockets, addresses and limits beside them. */
import {
  address,
  any,
  assignment,
  chain,
  type Config,
  downstreamTls,
  endpoint,
  httpFilter,
  httpOptions,
  type Json,
  listenerFilter,
  manager,
  router,
  tcpProxy,
  upstreamTls,
  virtualHost
} from "../Config.js"
import { healthCheck, withCluster, withFilters, withHosts, withListener, withManager, withNetwork } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

const refused = (
  rule: string,
  says: string,
  configs: ReadonlyArray<readonly [string, Config]>
): ReadonlyArray<Mistake> =>
  configs.map(([title, config]): Mistake => ({ title, rules: [rule], envoy: "refuses", says, config }))

const taken = (configs: ReadonlyArray<readonly [string, Config]>): ReadonlyArray<Mistake> =>
  configs.map(([title, config]): Mistake => ({ title, rules: [], envoy: "accepts", config }))

const raw = { name: "raw", typed_config: any("envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer") }
const tls = upstreamTls({})
const sds = { name: "s", sds_config: { resource_api_version: "V3", path_config_source: { path: "/s.yaml" } } }
const serverTls = downstreamTls({ tls_certificate_sds_secret_configs: [sds] })
const matching = (...sockets: ReadonlyArray<Json | undefined>): Json => ({
  transport_socket_matches: sockets.map((transport_socket, index) => ({
    name: `m${index}`,
    match: {},
    transport_socket
  }))
})
const socketIn = "envoy.extensions.transport_sockets"
const around =
  (name: string, type: string, changes: Json = {}) =>
  (transport_socket: Json): Json => ({
    name: `envoy.transport_sockets.${name}`,
    typed_config: any(`${socketIn}.${name}.v3.${type}`, { transport_socket, ...changes })
  })
const inProxy = around("http_11_proxy", "Http11ProxyUpstreamTransport")
const inProxyProtocol = around("proxy_protocol", "ProxyProtocolUpstreamTransport", { config: {} })
const inTcpStats = around("tcp_stats", "Config")
const inInternal = around("internal_upstream", "InternalUpstreamTransport")
const startTls = {
  name: "starttls",
  typed_config: any(`${socketIn}.starttls.v3.UpstreamStartTlsConfig`, { tls_socket_config: { common_tls_context: {} } })
}
const alts = { name: "alts", typed_config: any(`${socketIn}.alts.v3.Alts`, { handshaker_service: "localhost:1" }) }
const quicUpstream = (name = "envoy.transport_sockets.quic") => ({
  name,
  typed_config: any(`${socketIn}.quic.v3.QuicUpstreamTransport`, { upstream_tls_context: { common_tls_context: {} } })
})
const http3 = httpOptions({ explicit_http_config: { http3_protocol_options: {} } })
const http3AsDownstream = httpOptions({ use_downstream_protocol_config: { http3_protocol_options: {} } })
const negotiated = (changes: Json): Json => httpOptions({ auto_config: { http3_protocol_options: {}, ...changes } })
const cached = { alternate_protocols_cache_options: { name: "c" } }
const v4 = { address: "127.0.0.2", port_value: 0 }
const v6 = { address: "::1", port_value: 0 }
const boundTo = (changes: Json): Config =>
  withCluster({ upstream_bind_config: { source_address: { address: "127.0.0.1", port_value: 0 }, ...changes } })
const withChecks = (...names: ReadonlyArray<string | undefined>): Config =>
  withCluster({ health_checks: names.map((name) => healthCheck({ tcp_health_check: {}, name })) })
const toChain = {
  on_no_match: { action: { name: "a", typed_config: any("google.protobuf.StringValue", { value: "a" }) } }
}
const namedChain = { name: "a", ...chain(manager()) }
const matched = (...filter_chains: ReadonlyArray<Json>): Config =>
  withListener({ filter_chain_matcher: toChain, filter_chains })
const fromSource = (api: Json): Json => ({
  resource_api_version: "V3",
  api_config_source: { transport_api_version: "V3", ...api }
})
const fromApi = (api: Json): Config =>
  withManager({ route_config: undefined, rds: { route_config_name: "main", config_source: fromSource(api) } })
const edsFrom = (api: Json): Json => ({
  type: "EDS",
  load_assignment: undefined,
  eds_cluster_config: { eds_config: fromSource(api) }
})
const secretFrom = (api: Json): Config =>
  withCluster({
    transport_socket: upstreamTls({
      validation_context_sds_secret_config: { name: "s", sds_config: fromSource(api) }
    })
  })
const google = { google_grpc: { target_uri: "localhost:1", stat_prefix: "g" } }
const restOf = (...cluster_names: ReadonlyArray<string>): Json => ({
  api_type: "REST",
  cluster_names,
  refresh_delay: "1s"
})
const inStruct = any("google.protobuf.Struct", { value: { stat_prefix: "x" } })
const automatic = (changes: Json): Config => withCluster({ ...httpOptions({ auto_config: {} }), ...changes })

const grpcCheck = { health_checks: [healthCheck({ grpc_health_check: {} })] }
const asDownstream = (options: Json): Config =>
  withCluster({ ...httpOptions({ use_downstream_protocol_config: options }), ...grpcCheck })

const bucket = (fill_interval: string): Json => ({ token_bucket: { max_tokens: 1, fill_interval } })
const described = (fill_interval: string): Config =>
  withFilters(
    httpFilter("local_ratelimit", "LocalRateLimit", {
      stat_prefix: "x",
      ...bucket("0.05s"),
      descriptors: [
        { entries: [{ key: "a", value: "b" }], ...bucket("1s") },
        { entries: [{ key: "a", value: "c" }], ...bucket(fill_interval) }
      ]
    }),
    router
  )
const ofListener = (fill_interval: string): Config =>
  withListener({
    listener_filters: [
      listenerFilter("local_ratelimit", "LocalRateLimit", { stat_prefix: "x", ...bucket(fill_interval) })
    ]
  })

const settings = (named: Json, identifier: number, value: number): Config =>
  withManager({ http2_protocol_options: { ...named, custom_settings_parameters: [{ identifier, value }] } })

const bound = (extra: Json): Config =>
  withCluster({
    upstream_bind_config: { source_address: { address: "127.0.0.1", port_value: 0 }, extra_source_addresses: [extra] }
  })
const checkedAt = (at: Json, changes: Json = {}): Config => {
  const endpoint = { address: address(80), health_check_config: { address: at } }
  return withCluster({
    load_assignment: { cluster_name: "web", endpoints: [{ lb_endpoints: [{ endpoint }] }] },
    ...changes
  })
}
const resolvers = (type: string): Config =>
  withCluster({
    type,
    typed_dns_resolver_config: {
      name: "c",
      typed_config: any("envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig", {
        resolvers: [address(53, "nope")]
      })
    },
    load_assignment: assignment("web", endpoint())
  })

const filterConfig = (config: Json): Config =>
  withHosts(virtualHost({ typed_per_filter_config: { buffer: any("envoy.config.route.v3.FilterConfig", config) } }))
const noFilter = any("envoy.config.cluster.v3.Cluster", { name: "x" })

export const ofProtocols: ReadonlyArray<Mistake> = [
  ...refused("alpn", "ALPN configured for cluster web which has a non-ALPN transport socket", [
    ["alpn without a socket", automatic({})],
    ["alpn of a plain socket", automatic({ transport_socket: raw })],
    ["alpn of matches alone", automatic(matching(tls))],
    ["alpn of a match that is plain", automatic({ transport_socket: tls, ...matching(tls, raw) })],
    ["alpn of StartTLS", automatic({ transport_socket: startTls })],
    ["alpn of a match with StartTLS", automatic({ transport_socket: tls, ...matching(startTls) })],
    ["alpn of ALTS", automatic({ transport_socket: alts })],
    ["alpn of a plain socket in another", automatic({ transport_socket: inTcpStats(inProxyProtocol(raw)) })],
    ["alpn of a plain socket in a proxy", automatic({ transport_socket: inProxy(raw) })],
    ["alpn of a plain internal socket", automatic({ transport_socket: inInternal(raw) })]
  ]),
  ...taken([
    ["alpn of TLS", automatic({ transport_socket: tls })],
    ["alpn of TLS and matches with TLS", automatic({ transport_socket: tls, ...matching(tls) })],
    ["alpn of TLS in other sockets", automatic({ transport_socket: inTcpStats(inProxyProtocol(tls)) })],
    ["alpn of TLS in a proxy", automatic({ transport_socket: inProxy(tls) })],
    ["alpn of internal TLS", automatic({ transport_socket: inInternal(tls) })]
  ]),
  ...refused("http3-cluster", "HTTP3 requires a QuicUpstreamTransport transport socket: web", [
    ["http3 over TLS", withCluster({ transport_socket: tls, ...http3 })],
    ["http3 without a socket", withCluster(http3)],
    ["http3 over TLS as downstream", withCluster({ transport_socket: tls, ...http3AsDownstream })],
    ["http3 over TLS, negotiated", withCluster({ transport_socket: tls, ...negotiated(cached) })],
    ["http3 over a socket of another name", withCluster({ transport_socket: quicUpstream("q"), ...http3 })],
    ["http3 over QUIC in proxy protocol", withCluster({ transport_socket: inProxyProtocol(quicUpstream()), ...http3 })],
    ["http3 over TLS in a proxy", withCluster({ transport_socket: inProxy(tls), ...http3 })],
    ["http3 over QUIC in a match", withCluster({ transport_socket: tls, ...matching(quicUpstream()), ...http3 })]
  ]),
  ...refused("http3-cluster", "alternate protocols cache must be configured when HTTP/3 is enabled with auto_config", [
    ["http3, negotiated, without a cache", withCluster({ transport_socket: quicUpstream(), ...negotiated({}) })]
  ]),
  ...taken([
    ["http3 over QUIC", withCluster({ transport_socket: quicUpstream(), ...http3 })],
    ["http3 over QUIC as downstream", withCluster({ transport_socket: quicUpstream(), ...http3AsDownstream })],
    ["http3 over QUIC, negotiated", withCluster({ transport_socket: quicUpstream(), ...negotiated(cached) })],
    ["http3 over QUIC in a proxy", withCluster({ transport_socket: inProxy(quicUpstream()), ...http3 })],
    ["http3 over TLS of that name", withCluster({ transport_socket: { ...tls, name: quicUpstream().name }, ...http3 })],
    ["http3 over TLS in a match", withCluster({ transport_socket: quicUpstream(), ...matching(tls), ...http3 })],
    ["cache of protocols without http3", automatic({ transport_socket: tls, ...httpOptions({ auto_config: cached }) })]
  ]),
  ...refused("health-check-http2", "web cluster must support HTTP/2 for gRPC healthchecking", [
    ["health check grpc as downstream", asDownstream({})],
    ["health check grpc as downstream, HTTP/1", asDownstream({ http_protocol_options: {} })]
  ]),
  ...taken([["health check grpc as downstream, HTTP/2", asDownstream({ http2_protocol_options: {} })]]),
  ...refused("token-bucket", "local rate limit descriptor token bucket fill timer must be >= 50ms", [
    ["a descriptor whose bucket is filled too often", described("0.049s")]
  ]),
  ...refused("token-bucket", "local rate limit token bucket fill timer must be >= 50ms", [
    ["a listener filter whose bucket is filled too often", ofListener("0.01s")]
  ]),
  ...taken([
    ["a descriptor whose bucket is filled often", described("0.05s")],
    ["a listener filter whose bucket is filled often", ofListener("0.05s")]
  ]),
  ...refused("http2-settings", "can not be configured through both named and custom parameters", [
    ["http2 table size by name and number", settings({ hpack_table_size: 1 }, 1, 1)],
    ["http2 streams by name and number", settings({ max_concurrent_streams: 10 }, 3, 10)],
    ["http2 window by name and number", settings({ initial_stream_window_size: 65_535 }, 4, 65_535)]
  ]),
  ...refused("http2-settings", '"allow_connect" SETTINGS parameter must only be configured through the named', [
    ["http2 connect by number", settings({}, 8, 0)]
  ]),
  ...refused("http2-settings", "server push is not supported by Envoy", [["http2 push", settings({}, 2, 1)]]),
  ...taken([
    ["http2 no push", settings({}, 2, 0)],
    ["http2 one by name and another by number", settings({ initial_connection_window_size: 65_535 }, 3, 10)]
  ]),
  ...refused("ip-address", "malformed IP address: nope", [
    ["extra source address that is none", bound({ address: { address: "nope", port_value: 0 } })],
    ["health check at an address that is none", checkedAt(address(80, "nope"))],
    ["dns resolver whose address is none", resolvers("STRICT_DNS")]
  ]),
  ...refused("named-port", "t handle port specifier type 4", [
    ["extra source address with named port", bound({ address: { address: "::1", named_port: "http" } })]
  ]),
  ...taken([
    ["extra source address", bound({ address: { address: "::1", port_value: 0 } })],
    ["health check at another port, 0", checkedAt(address(0))],
    [
      "health check of a DNS cluster at an address that is none",
      checkedAt(address(80, "nope"), { type: "STRICT_DNS" })
    ],
    ["dns resolver of a static cluster", resolvers("STATIC")]
  ]),
  ...refused("extension-category", "t find a registered implementation for", [
    ["socket of a server in a match", withCluster(matching(serverTls))],
    ["filter config of a route that is none", filterConfig({ config: noFilter })],
    [
      "filter config in a filter config",
      filterConfig({ config: any("envoy.config.route.v3.FilterConfig", { disabled: true }) })
    ]
  ]),
  ...refused("source-addresses", "upstream binding config has more than one extra/additional source addresses", [
    ["two extra source addresses", boundTo({ extra_source_addresses: [{ address: v6 }, { address: v6 }] })],
    ["two additional source addresses", boundTo({ additional_source_addresses: [v6, v6] })]
  ]),
  ...refused("source-addresses", "upstream binding config has two same IP version source addresses", [
    ["extra source address of the same version", boundTo({ extra_source_addresses: [{ address: v4 }] })]
  ]),
  ...refused(
    "source-addresses",
    "upstream binding config has extra/additional source addresses but no source_address",
    [
      [
        "extra source address alone",
        withCluster({ upstream_bind_config: { extra_source_addresses: [{ address: v6 }] } })
      ]
    ]
  ),
  ...refused("source-addresses", "t specify both `extra_source_addresses` and `additional_source_addresses`", [
    [
      "extra and additional source addresses",
      boundTo({ extra_source_addresses: [{ address: v6 }], additional_source_addresses: [v6] })
    ]
  ]),
  ...refused("health-check-name", "is missing a name; all health checks must have a name when multiple", [
    ["health checks without names", withChecks(undefined, undefined)],
    ["health checks of which one has a name", withChecks("a", undefined)]
  ]),
  ...refused("health-check-name", "duplicate health check name 'a' at index 1", [
    ["health checks of one name", withChecks("a", "a")]
  ]),
  ...taken([
    ["health check without a name", withChecks(undefined)],
    ["health checks with names", withChecks("a", "b")],
    ["additional source address", boundTo({ additional_source_addresses: [v6] })]
  ]),
  ...refused("filter-chain-name", '"name" field is required when using a listener matcher', [
    ["filter chain without a name beside a matcher", withListener({ filter_chain_matcher: toChain })]
  ]),
  ...refused("filter-chain-name", "\"name\" field is duplicated with value 'a'", [
    ["filter chains of one name beside a matcher", matched(namedChain, namedChain)]
  ]),
  ...taken([["filter chain with a name beside a matcher", matched(namedChain)]]),
  ...refused("virtual-host-matcher", "cannot set both matcher and routes on virtual host", [
    ["routes beside a matcher", withHosts(virtualHost({ matcher: {} }))]
  ]),
  ...taken([["a matcher without routes", withHosts(virtualHost({ matcher: {}, routes: [] }))]]),
  ...refused("config-source", "API configs must have either a gRPC service or a cluster name defined", [
    ["source without a service", fromApi({ api_type: "GRPC" })],
    ["source of endpoints without a service", withCluster({ ...edsFrom({ api_type: "DELTA_GRPC" }) })]
  ]),
  ...refused("config-source", "GRPC must have no more than 1 gRPC services specified", [
    ["source with two services", fromApi({ api_type: "DELTA_GRPC", grpc_services: [google, google] })]
  ]),
  ...refused("config-source", "GRPC must not have a cluster name specified", [
    ["source with a name for gRPC", fromApi({ api_type: "GRPC", cluster_names: ["web"] })]
  ]),
  ...refused("config-source", "if not a gRPC type, must not have a gRPC service specified", [
    ["source with a service for REST", fromApi({ api_type: "REST", refresh_delay: "1s", grpc_services: [google] })]
  ]),
  ...refused("config-source", "refresh_delay is required for REST API configuration sources", [
    ["source for REST without a delay", fromApi({ api_type: "REST", cluster_names: ["web"] })]
  ]),
  ...refused("config-source", "An RDS config must have either a 'config_source' or an xDS-TP", [
    ["routes without a source", withManager({ route_config: undefined, rds: { route_config_name: "main" } })]
  ]),
  {
    title: "source of a secret for REST without a name",
    rules: ["config-source"],
    envoy: "refuses",
    // Not in words: a running one ends, too.
    says: "ended with SIGSEGV",
    config: secretFrom({ api_type: "REST", refresh_delay: "1s" })
  },
  ...taken([
    ["source of a secret for REST with two names", secretFrom({ ...restOf("web", "web"), grpc_services: [google] })],
    ["source for REST", fromApi(restOf("web"))],
    ["source for gRPC", fromApi({ api_type: "GRPC", grpc_services: [google] })]
  ]),
  ...refused("extension-category", "with type URL: 'google.protobuf.Struct'", [
    ["http filter in a Struct", withFilters({ name: "envoy.filters.http.buffer", typed_config: inStruct }, router)],
    ["filter config of a route in a Struct", filterConfig({ config: inStruct })],
    [
      "network filter in a Struct",
      withNetwork({ name: "envoy.filters.network.rbac", typed_config: inStruct }, tcpProxy())
    ],
    [
      "listener filter in a Struct",
      withListener({ listener_filters: [{ name: "envoy.filters.listener.tls_inspector", typed_config: inStruct }] })
    ],
    [
      "access log in a Struct",
      withListener({ access_log: [{ name: "envoy.access_loggers.stdout", typed_config: inStruct }] })
    ],
    [
      "socket in a Struct",
      withCluster({ transport_socket: { name: "envoy.transport_sockets.raw_buffer", typed_config: inStruct } })
    ]
  ]),
  ...refused("extension-category", "with type URL: 'google.protobuf.Empty'", [
    [
      "http filter that is Empty",
      withFilters({ name: "envoy.filters.http.cors", typed_config: any("google.protobuf.Empty") }, router)
    ]
  ]),
  ...taken([
    [
      "optional http filter in a Struct",
      withFilters({ name: "envoy.filters.http.buffer", is_optional: true, typed_config: inStruct }, router)
    ],
    ["optional filter config of a route in a Struct", filterConfig({ is_optional: true, config: inStruct })]
  ]),
  ...refused("typed-config", "t find a registered implementation for", [
    ["match without a socket", withCluster(matching(undefined))]
  ]),
  ...refused("typed-config", "Empty route/virtual host per filter configuration for buffer filter", [
    ["filter config without one", filterConfig({ is_optional: true })]
  ])
]
