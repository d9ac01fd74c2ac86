/** Mistakes in filters and HTTP connection managers. */
import { any, ads, router, httpFilter, manager, tcpProxy, networkFilter, type Json } from "../Config.js"
import { withListener, withManager, withFilters, withNetwork, buffer } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

/** A filter that comes by ECDS. */
const discovered = (source: Json): Json => ({ name: "x", config_discovery: { config_source: ads, ...source } })

const bufferType = "type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer"
const corsType = "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors"
const cors = any("envoy.extensions.filters.http.cors.v3.Cors")
const echo = "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"

export const ofHttp: ReadonlyArray<Mistake> = [
  {
    title: "nothing wrong, tcp",
    rules: [],
    envoy: "accepts",
    config: withNetwork(tcpProxy())
  },
  {
    title: "filter without typed_config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withNetwork({ name: "envoy.filters.network.tcp_proxy" })
  },
  {
    title: "http filter without typed_config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withFilters({ name: "envoy.filters.http.buffer" }, router)
  },
  {
    title: "router without typed_config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withFilters({ name: "envoy.filters.http.router" })
  },
  {
    title: "http filter without typed_config optional",
    rules: [],
    envoy: "accepts",
    config: withFilters({ name: "envoy.filters.http.buffer", is_optional: true }, router)
  },
  {
    title: "filter with the type of no filter",
    rules: ["extension-category"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withNetwork({ name: "x", typed_config: any("envoy.config.cluster.v3.Cluster", { name: "x" }) })
  },
  {
    title: "http filter with config of network filter",
    rules: ["extension-category"],
    envoy: "refuses",
    says: "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
    config: withFilters(
      {
        name: "x",
        typed_config: any("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", {
          stat_prefix: "x",
          cluster: "web"
        })
      },
      router
    )
  },
  {
    title: "tcp_proxy before hcm",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named envoy.filters.network.tcp_proxy of type e",
    config: withNetwork(tcpProxy(), manager())
  },
  {
    title: "rbac last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.rbac of type en",
    config: withNetwork(networkFilter("rbac", "RBAC", { stat_prefix: "x" }))
  },
  {
    title: "rbac then tcp",
    rules: [],
    envoy: "accepts",
    config: withNetwork(networkFilter("rbac", "RBAC", { stat_prefix: "x" }), tcpProxy())
  },
  {
    title: "no http filters",
    rules: [],
    envoy: "accepts",
    config: withFilters()
  },
  {
    title: "router missing",
    rules: ["http-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.http.buffer of type env",
    config: withFilters(buffer)
  },
  {
    title: "router first",
    rules: ["http-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named envoy.filters.http.router of type envoy.f",
    config: withFilters(router, buffer)
  },
  {
    title: "router disabled",
    rules: ["http-filter-order"],
    envoy: "refuses",
    says: "Error: the last (terminal) filter (envoy.filters.http.router) in the c",
    config: withFilters({ ...router, disabled: true })
  },
  {
    title: "filter names twice",
    rules: [],
    envoy: "accepts",
    config: withFilters(buffer, buffer, router)
  },
  {
    title: "filter without a name",
    rules: ["field"],
    envoy: "refuses",
    config: withFilters({ typed_config: buffer.typed_config }, router)
  },
  {
    title: "hcm http3 on tcp",
    rules: ["http3-listener"],
    envoy: "refuses",
    says: "HTTP/3 codec configured on non-QUIC listener",
    config: withManager({ codec_type: "HTTP3" })
  },
  {
    title: "no routes specifier",
    rules: ["field"],
    envoy: "refuses",
    config: withManager({ route_config: undefined })
  },
  {
    title: "upgrade twice",
    rules: ["upgrade-unique"],
    envoy: "refuses",
    says: "Error: multiple upgrade configs with the same name",
    config: withManager({ upgrade_configs: [{ upgrade_type: "websocket" }, { upgrade_type: "WebSocket" }] })
  },
  {
    title: "access log without config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withManager({ access_log: [{ name: "envoy.access_loggers.stdout" }] })
  },
  {
    title: "original ip detection mixed",
    rules: ["ip-detection"],
    envoy: "refuses",
    says: "Original IP detection extensions and use_remote_address may not be mix",
    config: withManager({
      use_remote_address: true,
      original_ip_detection_extensions: [
        {
          name: "x",
          typed_config: any("envoy.extensions.http.original_ip_detection.custom_header.v3.CustomHeaderConfig", {
            header_name: "x"
          })
        }
      ]
    })
  },
  {
    title: "unknown cluster tcp",
    rules: ["cluster-reference"],
    envoy: "accepts",
    config: withNetwork(tcpProxy({ cluster: "nope" }))
  },
  {
    title: "tcp weighted sum",
    rules: [],
    envoy: "accepts",
    config: withNetwork(
      tcpProxy({
        weighted_clusters: {
          clusters: [
            { name: "web", weight: 4294967295 },
            { name: "web", weight: 1 }
          ]
        }
      })
    )
  },
  {
    title: "tcp none",
    rules: ["field"],
    envoy: "refuses",
    config: withNetwork(tcpProxy({}))
  },
  {
    title: "ext_authz unknown cluster",
    rules: ["service-cluster-reference"],
    envoy: "accepts",
    config: withFilters(
      httpFilter("ext_authz", "ExtAuthz", {
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: "nope" } }
      }),
      router
    )
  },
  {
    title: "ext_authz http unknown cluster",
    rules: ["service-cluster-reference"],
    envoy: "accepts",
    config: withFilters(
      httpFilter("ext_authz", "ExtAuthz", {
        transport_api_version: "V3",
        http_service: { server_uri: { uri: "a:80", cluster: "nope", timeout: "1s" } }
      }),
      router
    )
  },
  {
    title: "ext_proc unknown cluster",
    rules: ["service-cluster-reference"],
    envoy: "accepts",
    config: withFilters(
      httpFilter("ext_proc", "ExternalProcessor", { grpc_service: { envoy_grpc: { cluster_name: "nope" } } }),
      router
    )
  },
  {
    title: "als unknown cluster",
    rules: ["service-cluster-reference"],
    envoy: "accepts",
    config: withManager({
      access_log: [
        {
          name: "x",
          typed_config: any("envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig", {
            common_config: {
              log_name: "x",
              transport_api_version: "V3",
              grpc_service: { envoy_grpc: { cluster_name: "nope" } }
            }
          })
        }
      ]
    })
  },
  {
    title: "ratelimit unknown cluster",
    rules: ["service-cluster-reference"],
    envoy: "accepts",
    config: withFilters(
      httpFilter("ratelimit", "RateLimit", {
        domain: "x",
        rate_limit_service: { transport_api_version: "V3", grpc_service: { envoy_grpc: { cluster_name: "nope" } } }
      }),
      router
    )
  },
  {
    title: "rds api source unknown cluster",
    rules: [],
    envoy: "accepts",
    config: withManager({
      route_config: undefined,
      rds: {
        route_config_name: "x",
        config_source: {
          resource_api_version: "V3",
          api_config_source: {
            api_type: "GRPC",
            transport_api_version: "V3",
            grpc_services: [{ envoy_grpc: { cluster_name: "nope" } }]
          }
        }
      }
    })
  },
  {
    title: "jwt unknown provider",
    rules: ["jwt-reference"],
    envoy: "refuses",
    says: "] is not configured",
    config: withFilters(
      httpFilter("jwt_authn", "JwtAuthentication", {
        rules: [{ match: { prefix: "/" }, requires: { provider_name: "x" } }]
      }),
      router
    )
  },
  {
    title: "jwt unknown cluster",
    rules: ["service-cluster-reference"],
    envoy: "accepts",
    config: withFilters(
      httpFilter("jwt_authn", "JwtAuthentication", {
        providers: { p: { remote_jwks: { http_uri: { uri: "https://a/", cluster: "nope", timeout: "1s" } } } }
      }),
      router
    )
  },
  {
    title: "ecds",
    rules: ["extension-reference"],
    envoy: "accepts",
    config: withFilters(
      {
        name: "x",
        config_discovery: {
          config_source: ads,
          type_urls: ["type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer"]
        }
      },
      router
    )
  },
  {
    title: "ecds last",
    rules: ["extension-reference"],
    envoy: "accepts",
    config: withFilters({
      name: "x",
      config_discovery: {
        config_source: ads,
        type_urls: ["type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"]
      }
    })
  },
  {
    title: "ecds unknown type",
    rules: ["extension-reference"],
    envoy: "refuses",
    says: "Error: no factory found for a required type URL nope",
    differs: "a type that is not of the API may be an extension's",
    config: withFilters(
      { name: "x", config_discovery: { config_source: ads, type_urls: ["type.googleapis.com/nope"] } },
      router
    )
  },
  {
    title: "ecds default without default",
    rules: ["config-discovery", "extension-reference"],
    envoy: "refuses",
    says: "Error: filter config x applied without warming but has no default conf",
    config: withFilters(
      {
        name: "x",
        config_discovery: {
          config_source: ads,
          apply_default_config_without_warming: true,
          type_urls: ["type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer"]
        }
      },
      router
    )
  },
  {
    title: "ecds of no HTTP filter",
    rules: ["config-discovery", "extension-reference"],
    envoy: "refuses",
    says: "Error: no factory found for a required type URL envoy.extensions.filters.network.echo.v3.Echo",
    config: withFilters(discovered({ type_urls: [echo] }), router)
  },
  {
    title: "ecds with a default of another type",
    rules: ["config-discovery", "extension-reference"],
    envoy: "refuses",
    says: "Error: filter config has type URL envoy.extensions.filters.http.cors.v3.Cors but expect",
    config: withFilters(discovered({ type_urls: [bufferType], default_config: cors }), router)
  },
  {
    title: "ecds with a default of its type",
    rules: ["extension-reference"],
    envoy: "accepts",
    config: withFilters(discovered({ type_urls: [bufferType, corsType], default_config: cors }), router)
  },
  {
    title: "ecds of an optional filter",
    rules: ["config-discovery", "extension-reference"],
    envoy: "refuses",
    says: "Error: no factory found for a required type URL envoy.nope.X",
    config: withFilters(
      { ...discovered({ type_urls: ["type.googleapis.com/envoy.nope.X"] }), is_optional: true },
      router
    )
  },
  {
    title: "ecds of a network filter, of any type and without a default",
    rules: ["extension-reference"],
    envoy: "accepts",
    config: withNetwork(
      discovered({
        apply_default_config_without_warming: true,
        type_urls: ["type.googleapis.com/envoy.extensions.filters.network.postgres_proxy.v3alpha.PostgresProxy"]
      })
    )
  },
  {
    title: "ecds of a network filter with a default of another type",
    rules: ["config-discovery", "extension-reference"],
    envoy: "refuses",
    says: "Error: filter config has type URL envoy.extensions.filters.network.sni_cluster.v3.SniCluster but expect",
    config: withNetwork(
      discovered({
        type_urls: [echo],
        default_config: any("envoy.extensions.filters.network.sni_cluster.v3.SniCluster")
      })
    )
  },
  {
    title: "ecds of a listener filter that does not exist",
    rules: ["config-discovery", "extension-reference"],
    envoy: "refuses",
    says: "Error: no listener factory found for a required type URL envoy.nope.X",
    config: withListener({ listener_filters: [discovered({ type_urls: ["type.googleapis.com/envoy.nope.X"] })] })
  },
  {
    title: "upgrades that differ in a letter that is not ASCII",
    rules: [],
    envoy: "accepts",
    config: withManager({ upgrade_configs: [{ upgrade_type: "\u212A" }, { upgrade_type: "k" }] })
  },
  {
    title: "trusted addresses that are none",
    rules: [],
    envoy: "accepts",
    config: withManager({
      original_ip_detection_extensions: [
        {
          name: "x",
          typed_config: any("envoy.extensions.http.original_ip_detection.xff.v3.XffConfig", {
            xff_trusted_cidrs: { cidrs: [{ address_prefix: "nope", prefix_len: 8 }] }
          })
        }
      ]
    })
  },
  {
    title: "rbac filter regex",
    rules: ["regular-expression"],
    envoy: "refuses",
    says: "missing ): (",
    config: withFilters(
      httpFilter("rbac", "RBAC", {
        rules: {
          policies: {
            a: { permissions: [{ url_path: { path: { safe_regex: { regex: "(" } } } }], principals: [{ any: true }] }
          }
        }
      }),
      router
    )
  },
  {
    title: "rbac cidr",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "Failed to create CIDR range: malformed IP address: nope",
    config: withFilters(
      httpFilter("rbac", "RBAC", {
        rules: {
          policies: {
            a: { permissions: [{ any: true }], principals: [{ remote_ip: { address_prefix: "nope", prefix_len: 3 } }] }
          }
        }
      }),
      router
    )
  },
  {
    title: "local rate limit",
    rules: ["token-bucket"],
    envoy: "refuses",
    says: "local rate limit token bucket fill timer must be >= 50ms",
    config: withFilters(
      httpFilter("local_ratelimit", "LocalRateLimit", {
        stat_prefix: "x",
        token_bucket: { max_tokens: 1, fill_interval: "0.01s" }
      }),
      router
    )
  },
  {
    title: "TypedStruct",
    rules: [],
    envoy: "accepts",
    config: withFilters(
      {
        name: "x",
        typed_config: {
          "@type": "type.googleapis.com/xds.type.v3.TypedStruct",
          type_url: "type.googleapis.com/envoy.extensions.filters.http.buffer.v3.Buffer",
          value: { max_request_bytes: 5 }
        }
      },
      router
    )
  },
  {
    title: "redis before tcp",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named envoy.filters.network.redis_proxy of type",
    config: withNetwork(
      networkFilter("redis_proxy", "RedisProxy", {
        stat_prefix: "x",
        settings: { op_timeout: "1s" },
        prefix_routes: { catch_all_route: { cluster: "web" } }
      }),
      tcpProxy()
    )
  },
  {
    title: "echo before tcp",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named envoy.filters.network.echo of type envoy",
    config: withNetwork(networkFilter("echo", "Echo"), tcpProxy())
  },
  {
    title: "direct response before tcp",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named d of type envoy.filters.network.direct_re",
    config: withNetwork(
      { name: "d", typed_config: any("envoy.extensions.filters.network.direct_response.v3.Config") },
      tcpProxy()
    )
  },
  {
    title: "thrift before tcp",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named envoy.filters.network.thrift_proxy of typ",
    config: withNetwork(networkFilter("thrift_proxy", "ThriftProxy", { stat_prefix: "x" }), tcpProxy())
  },
  {
    title: "dubbo before tcp",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: terminal filter named envoy.filters.network.dubbo_proxy of type",
    config: withNetwork(networkFilter("dubbo_proxy", "DubboProxy", { stat_prefix: "x" }), tcpProxy())
  },
  {
    title: "generic before tcp",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "must be the last filter in a network filter chain",
    config: withNetwork(
      networkFilter("generic_proxy", "GenericProxy", {
        stat_prefix: "x",
        codec_config: {
          name: "c",
          typed_config: any("envoy.extensions.filters.network.generic_proxy.codecs.http1.v3.Http1CodecConfig")
        },
        route_config: { name: "x", virtual_hosts: [] },
        filters: [{ name: "r", typed_config: any("envoy.extensions.filters.network.generic_proxy.router.v3.Router") }]
      }),
      tcpProxy()
    )
  },
  {
    title: "connection_limit last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.connection_limi",
    config: withNetwork(networkFilter("connection_limit", "ConnectionLimit", { stat_prefix: "x", max_connections: 1 }))
  },
  {
    title: "network ext_authz last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.ext_authz of ty",
    config: withNetwork(
      networkFilter("ext_authz", "ExtAuthz", {
        stat_prefix: "x",
        transport_api_version: "V3",
        grpc_service: { envoy_grpc: { cluster_name: "web" } }
      })
    )
  },
  {
    title: "network local_ratelimit last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.local_ratelimit",
    config: withNetwork(
      networkFilter("local_ratelimit", "LocalRateLimit", {
        stat_prefix: "x",
        token_bucket: { max_tokens: 1, fill_interval: "1s" }
      })
    )
  },
  {
    title: "network local_ratelimit interval",
    rules: ["token-bucket"],
    envoy: "refuses",
    says: "local rate limit token bucket fill timer must be >= 50ms",
    config: withNetwork(
      networkFilter("local_ratelimit", "LocalRateLimit", {
        stat_prefix: "x",
        token_bucket: { max_tokens: 1, fill_interval: "0.01s" }
      }),
      tcpProxy()
    )
  },
  {
    title: "mongo last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.mongo_proxy of",
    config: withNetwork(networkFilter("mongo_proxy", "MongoProxy", { stat_prefix: "x" }))
  },
  {
    title: "network ratelimit last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.ratelimit of ty",
    config: withNetwork(
      networkFilter("ratelimit", "RateLimit", {
        stat_prefix: "x",
        domain: "x",
        descriptors: [{ entries: [{ key: "a", value: "b" }] }],
        rate_limit_service: { transport_api_version: "V3", grpc_service: { envoy_grpc: { cluster_name: "web" } } }
      })
    )
  },
  {
    title: "set_filter_state last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named x of type envoy.filters.network.set_f",
    config: withNetwork({
      name: "x",
      typed_config: any("envoy.extensions.filters.network.set_filter_state.v3.Config", {})
    })
  },
  {
    title: "sni_cluster last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.sni_cluster of",
    config: withNetwork(networkFilter("sni_cluster", "SniCluster"))
  },
  {
    title: "sni_dynamic_forward_proxy last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.sni_dynamic_for",
    config: withNetwork(networkFilter("sni_dynamic_forward_proxy", "FilterConfig", { dns_cache_config: { name: "x" } }))
  },
  {
    title: "zookeeper last",
    rules: ["network-filter-order"],
    envoy: "refuses",
    says: "Error: non-terminal filter named envoy.filters.network.zookeeper_proxy",
    config: withNetwork(networkFilter("zookeeper_proxy", "ZooKeeperProxy", { stat_prefix: "x" }))
  },
  {
    title: "lua bad",
    rules: [],
    envoy: "refuses",
    says: "script load error: [string",
    differs: "nobody here compiles Lua",
    config: withFilters(httpFilter("lua", "Lua", { default_source_code: { inline_string: "function(" } }), router)
  },
  {
    title: "two routers",
    rules: ["http-filter-order"],
    envoy: "refuses",
    says: "must be the last filter in a http filter chain",
    config: withFilters(router, router)
  }
]
