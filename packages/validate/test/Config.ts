/** Small configurations as JSON, for the tests of rules: each is right until a test changes something in it. */

export type Json = { readonly [key: string]: unknown }

/** The resources of a group by kind, in the JSON of Envoy's API. */
export interface Config {
  readonly listeners?: ReadonlyArray<Json>
  readonly routes?: ReadonlyArray<Json>
  readonly scopes?: ReadonlyArray<Json>
  readonly virtualHosts?: ReadonlyArray<Json>
  readonly clusters?: ReadonlyArray<Json>
  readonly endpoints?: ReadonlyArray<Json>
  readonly secrets?: ReadonlyArray<Json>
  readonly extensions?: ReadonlyArray<Json>
}

export const any = (type: string, value: Json = {}): Json => ({ "@type": `type.googleapis.com/${type}`, ...value })

export const ads: Json = { ads: {}, resource_api_version: "V3" }

export const address = (port: number, host = "127.0.0.1"): Json => ({
  socket_address: { address: host, port_value: port }
})

export const endpoint = (port = 8080, host = "127.0.0.1"): Json => ({ endpoint: { address: address(port, host) } })

export const assignment = (name: string, ...endpoints: ReadonlyArray<Json>): Json => ({
  cluster_name: name,
  endpoints: [{ lb_endpoints: endpoints.length === 0 ? [endpoint()] : endpoints }]
})

/** A cluster with its endpoint in it. */
export const cluster = (name = "web", changes: Json = {}): Json => ({
  name,
  type: "STATIC",
  connect_timeout: "1s",
  load_assignment: assignment(name),
  ...changes
})

/** A cluster whose endpoints are in another resource. */
export const edsCluster = (name = "web", changes: Json = {}): Json => ({
  name,
  type: "EDS",
  eds_cluster_config: { eds_config: ads },
  ...changes
})

export const route = (action: Json = { route: { cluster: "web" } }, match: Json = { prefix: "/" }): Json => ({
  match,
  ...action
})

export const virtualHost = (changes: Json = {}): Json => ({
  name: "all",
  domains: ["*"],
  routes: [route()],
  ...changes
})

export const routes = (changes: Json = {}): Json => ({ name: "main", virtual_hosts: [virtualHost()], ...changes })

const http = "envoy.extensions.filters.http"
const network = "envoy.extensions.filters.network"

export const router: Json = { name: "envoy.filters.http.router", typed_config: any(`${http}.router.v3.Router`) }

export const httpFilter = (name: string, type: string, value: Json = {}): Json => ({
  name: `envoy.filters.http.${name}`,
  typed_config: any(`${http}.${name}.v3.${type}`, value)
})

export const manager = (changes: Json = {}): Json => ({
  name: "envoy.filters.network.http_connection_manager",
  typed_config: any(`${network}.http_connection_manager.v3.HttpConnectionManager`, {
    stat_prefix: "edge",
    route_config: routes(),
    http_filters: [router],
    ...changes
  })
})

/** A manager whose routes are in another resource. */
export const rdsManager = (name = "main", changes: Json = {}): Json =>
  manager({ route_config: undefined, rds: { route_config_name: name, config_source: ads }, ...changes })

export const tcpProxy = (changes: Json = { cluster: "web" }): Json => ({
  name: "envoy.filters.network.tcp_proxy",
  typed_config: any(`${network}.tcp_proxy.v3.TcpProxy`, { stat_prefix: "tcp", ...changes })
})

export const networkFilter = (name: string, type: string, value: Json = {}): Json => ({
  name: `envoy.filters.network.${name}`,
  typed_config: any(`${network}.${name}.v3.${type}`, value)
})

export const chain = (...filters: ReadonlyArray<Json>): Json => ({ filters })

export const listener = (changes: Json = {}): Json => ({
  name: "ingress",
  address: address(0),
  filter_chains: [chain(manager())],
  ...changes
})

export const listenerFilter = (name: string, type: string, value: Json = {}): Json => ({
  name: `envoy.filters.listener.${name}`,
  typed_config: any(`envoy.extensions.filters.listener.${name}.v3.${type}`, value)
})

const tls = "envoy.extensions.transport_sockets.tls.v3"

export const downstreamTls = (common: Json, changes: Json = {}): Json => ({
  name: "envoy.transport_sockets.tls",
  typed_config: any(`${tls}.DownstreamTlsContext`, { common_tls_context: common, ...changes })
})

export const upstreamTls = (common: Json, changes: Json = {}): Json => ({
  name: "envoy.transport_sockets.tls",
  typed_config: any(`${tls}.UpstreamTlsContext`, { common_tls_context: common, ...changes })
})

export const httpOptions = (value: Json): Json => ({
  typed_extension_protocol_options: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": any(
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
      value
    )
  }
})

export const policyEntry = (name: string, type: string, value: Json = {}): Json => ({
  typed_extension_config: {
    name: `envoy.load_balancing_policies.${name}`,
    typed_config: any(`envoy.extensions.load_balancing_policies.${name}.v3.${type}`, value)
  }
})

export const policy = (name: string, type: string, value: Json = {}): Json => ({
  load_balancing_policy: { policies: [policyEntry(name, type, value)] }
})
