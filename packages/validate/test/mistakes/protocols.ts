/** Mistakes in protocols, and in the sockets, addresses and limits beside them. */
import {
  address,
  any,
  assignment,
  type Config,
  downstreamTls,
  endpoint,
  httpFilter,
  httpOptions,
  type Json,
  listenerFilter,
  router,
  upstreamTls,
  virtualHost
} from "../Config.js"
import { healthCheck, withCluster, withFilters, withHosts, withListener, withManager } from "./Groups.js"
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
    ["alpn of a match that is plain", automatic({ transport_socket: tls, ...matching(tls, raw) })]
  ]),
  ...taken([
    ["alpn of TLS", automatic({ transport_socket: tls })],
    ["alpn of TLS and matches with TLS", automatic({ transport_socket: tls, ...matching(tls) })]
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
  ...refused("typed-config", "t find a registered implementation for", [
    ["match without a socket", withCluster(matching(undefined))]
  ]),
  ...refused("typed-config", "Empty route/virtual host per filter configuration for buffer filter", [
    ["filter config without one", filterConfig({ is_optional: true })]
  ])
]
