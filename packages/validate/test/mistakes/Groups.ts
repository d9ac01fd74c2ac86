/** Configurations with one part of them changed. */
import {
  any,
  ads,
  endpoint,
  cluster,
  route,
  virtualHost,
  routes,
  httpFilter,
  manager,
  chain,
  listener,
  downstreamTls,
  type Config,
  type Json
} from "../Config.js"

export const withRoutes = (changes: Json): Config => ({
  listeners: [listener({ filter_chains: [chain(manager({ route_config: routes(changes) }))] })],
  clusters: [cluster()]
})

export const withHosts = (...hosts: ReadonlyArray<Json>): Config => withRoutes({ virtual_hosts: hosts })

export const withRoute = (action: Json, match?: Json): Config =>
  withHosts(virtualHost({ routes: [route(action, match)] }))

export const toWeb = (changes: Json): Config => withRoute({ route: { cluster: "web", ...changes } })

export const withMatch = (match: Json): Config => withRoute({ route: { cluster: "web" } }, match)

export const withRegex = (regex: string): Config => withMatch({ safe_regex: { regex } })

export const withListener = (changes: Json): Config => ({ listeners: [listener(changes)], clusters: [cluster()] })

export const withManager = (changes: Json): Config => withListener({ filter_chains: [chain(manager(changes))] })

export const withFilters = (...filters: ReadonlyArray<Json>): Config => withManager({ http_filters: filters })

export const withNetwork = (...filters: ReadonlyArray<Json>): Config =>
  withListener({ filter_chains: [chain(...filters)] })

export const withCluster = (changes: Json): Config => ({ clusters: [cluster("web", changes)] })

export const withTls = (common: Json, changes?: Json): Config =>
  withListener({ filter_chains: [{ filters: [manager()], transport_socket: downstreamTls(common, changes) }] })

export const weighted = (...clusters: ReadonlyArray<Json>): Config =>
  withRoute({ route: { weighted_clusters: { clusters } } })

export const locality = (changes: Json): Json => ({ locality: { region: "r" }, lb_endpoints: [endpoint()], ...changes })

export const buffer = httpFilter("buffer", "Buffer", { max_request_bytes: 1000 })

export const healthCheck = (changes: Json): Json => ({
  timeout: "1s",
  interval: "1s",
  unhealthy_threshold: 1,
  healthy_threshold: 1,
  ...changes
})

export const scoped = (...keys: ReadonlyArray<string>): Json => ({
  route_config: undefined,
  scoped_routes: {
    name: "s",
    scope_key_builder: { fragments: [{ header_value_extractor: { name: "x", element_separator: ",", index: 0 } }] },
    rds_config_source: ads,
    scoped_route_configurations_list: {
      scoped_route_configurations: keys.map((key, index) => ({
        name: `s${index}`,
        route_configuration_name: "main",
        key: { fragments: [{ string_key: key }] }
      }))
    }
  }
})

export const quic = {
  address: { socket_address: { protocol: "UDP", address: "127.0.0.1", port_value: 0 } },
  udp_listener_config: { quic_options: {} }
}

export const quicSocket = {
  name: "envoy.transport_sockets.quic",
  typed_config: any("envoy.extensions.transport_sockets.quic.v3.QuicDownstreamTransport", {
    downstream_tls_context: {
      common_tls_context: { tls_certificate_sds_secret_configs: [{ name: "s", sds_config: ads }] }
    }
  })
}

export const plugin = {
  extension: {
    name: "p",
    typed_config: any("envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig", {
      source_code: { inline_string: "function envoy_on_route(h) return 'web' end" },
      default_cluster: "web"
    })
  }
}

export const inlineScopes = (...keys: ReadonlyArray<string>): Json => ({
  route_config: undefined,
  scoped_routes: {
    name: "s",
    scope_key_builder: { fragments: [{ header_value_extractor: { name: "x", element_separator: ",", index: 0 } }] },
    scoped_route_configurations_list: {
      scoped_route_configurations: keys.map((key, index) => ({
        name: `s${index}`,
        route_configuration: routes(),
        key: { fragments: [{ string_key: key }] }
      }))
    }
  }
})
