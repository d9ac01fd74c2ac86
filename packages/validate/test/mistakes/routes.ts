/** Mistakes in routes. */
import { any, cluster, route, virtualHost, routes, manager, rdsManager, chain, listener, type Json } from "../Config.js"
import { withRoutes, withHosts, withRoute, toWeb, withMatch, weighted, scoped, plugin, inlineScopes } from "./Groups.js"
import * as HeaderCommands from "../../src/internal/group/HeaderCommands.js"
import type { Mistake } from "./Mistake.js"

/** What stands behind the commands that are none without it. */
const parameters: ReadonlyMap<string, string> = new Map([
  ...["ENVIRONMENT", "QUERY_PARAM", "REQ", "REQUEST_HEADER", "RESP", "RESPONSE_HEADER", "RESPONSE_TRAILER", "TRAILER"]
    .concat("FILTER_STATE", "PER_REQUEST_STATE", "STREAM_INFO_REQ", "UPSTREAM_FILTER_STATE")
    .map((name) => [name, "(a)"] as const),
  ...["CLUSTER_METADATA", "DYNAMIC_METADATA", "UPSTREAM_METADATA"].map((name) => [name, "(a:b)"] as const),
  ["CEL", "(request.path)"],
  ["COALESCE", '({"operators": ["PROTOCOL"]})'],
  ["COMMON_DURATION", "(DS_RX_BEG:DS_RX_END:ms)"],
  ["METADATA", "(ROUTE:a)"],
  ["XFCC_VALUE", "(uri)"]
])

/** A mirror that is not there, a route that has one of its own, and one that has none. */
const nowhere: Json = { request_mirror_policies: [{ cluster: "nope" }] }
const mirrored = route({ route: { cluster: "web", request_mirror_policies: [{ cluster: "web" }] } })
const redirect = route({ redirect: { path_redirect: "/x" } })

/** A virtual host whose matcher leads to a route. */
const inMatcher = (to: Json): Json => {
  const input = any("envoy.type.matcher.v3.HttpRequestHeaderMatchInput", { header_name: ":path" })
  const predicate = {
    single_predicate: { input: { name: "path", typed_config: input }, value_match: { exact: "/" } }
  }
  const action = { name: "route", typed_config: any("envoy.config.route.v3.Route", to) }
  return virtualHost({ routes: [], matcher: { matcher_list: { matchers: [{ predicate, on_match: { action } }] } } })
}

const withVhds = (api: Json) =>
  withRoutes({
    virtual_hosts: [],
    vhds: {
      config_source: { resource_api_version: "V3", api_config_source: { transport_api_version: "V3", ...api } }
    }
  })

export const ofRoutes: ReadonlyArray<Mistake> = [
  {
    title: "vhost names twice",
    rules: [],
    envoy: "accepts",
    config: withHosts(virtualHost(), virtualHost({ domains: ["a"] }))
  },
  {
    title: "two *",
    rules: ["domain-unique"],
    envoy: "refuses",
    says: "Only a single wildcard domain is permitted in route main",
    config: withHosts(virtualHost(), virtualHost({ name: "b" }))
  },
  {
    title: "* twice in one",
    rules: ["domain-unique"],
    envoy: "refuses",
    says: "Only a single wildcard domain is permitted in route main",
    config: withHosts(virtualHost({ domains: ["*", "*"] }))
  },
  {
    title: "domain twice",
    rules: ["domain-unique"],
    envoy: "refuses",
    says: "Only unique values for domains are permitted. Duplicate entry of domai",
    config: withHosts(virtualHost({ domains: ["a"] }), virtualHost({ name: "b", domains: ["a"] }))
  },
  {
    title: "domain twice other case",
    rules: ["domain-unique"],
    envoy: "refuses",
    says: "Only unique values for domains are permitted. Duplicate entry of domai",
    config: withHosts(virtualHost({ domains: ["a.com"] }), virtualHost({ name: "b", domains: ["A.com"] }))
  },
  {
    title: "suffix twice",
    rules: ["domain-unique"],
    envoy: "refuses",
    says: "Only unique values for domains are permitted. Duplicate entry of domai",
    config: withHosts(virtualHost({ domains: ["*.a"] }), virtualHost({ name: "b", domains: ["*.a"] }))
  },
  {
    title: "star in the middle",
    rules: ["domain-wildcard"],
    envoy: "accepts",
    config: withHosts(virtualHost({ domains: ["a*b"] }))
  },
  {
    title: "two stars",
    rules: ["domain-wildcard"],
    envoy: "accepts",
    config: withHosts(virtualHost({ domains: ["*a*"] }))
  },
  {
    title: "domain **",
    rules: ["domain-wildcard"],
    envoy: "accepts",
    config: withHosts(virtualHost({ domains: ["**"] }))
  },
  {
    title: "domain empty",
    rules: ["domain-wildcard"],
    envoy: "accepts",
    config: withHosts(virtualHost({ domains: [""] }))
  },
  {
    title: "domain with port",
    rules: [],
    envoy: "accepts",
    config: withHosts(virtualHost({ domains: ["a:80"] }))
  },
  {
    title: "no domains",
    rules: ["field"],
    envoy: "refuses",
    config: withHosts(virtualHost({ domains: [] }))
  },
  {
    title: "match without path",
    rules: ["field"],
    envoy: "refuses",
    config: withMatch({})
  },
  {
    title: "host rewrite path regex group missing",
    rules: [],
    envoy: "accepts",
    config: toWeb({ host_rewrite_path_regex: { pattern: { regex: "(a)" }, substitution: "\\2" } })
  },
  {
    title: "header range start > end",
    rules: [],
    envoy: "accepts",
    config: withMatch({ prefix: "/", headers: [{ name: "x", range_match: { start: 5, end: 1 } }] })
  },
  {
    title: "header without specifier",
    rules: [],
    envoy: "accepts",
    config: withMatch({ prefix: "/", headers: [{ name: "x" }] })
  },
  {
    title: "weights sum 0",
    rules: ["cluster-weights"],
    envoy: "refuses",
    says: "Sum of weights in the weighted_cluster must be greater than 0",
    config: weighted({ name: "web", weight: 0 })
  },
  {
    title: "weights unset",
    rules: ["cluster-weights"],
    envoy: "refuses",
    says: "is missing in",
    config: weighted({ name: "web" })
  },
  {
    title: "weights over uint32",
    rules: ["cluster-weights"],
    envoy: "refuses",
    says: "The sum of weights of all weighted clusters of route exceeds 42949672",
    config: weighted({ name: "web", weight: 4294967295 }, { name: "web", weight: 1 })
  },
  {
    title: "weighted empty",
    rules: ["field"],
    envoy: "refuses",
    config: weighted()
  },
  {
    title: "weighted both",
    rules: ["weighted-cluster-name"],
    envoy: "refuses",
    says: "Only one of name or cluster_header can be specified",
    config: weighted({ name: "web", cluster_header: "x", weight: 1 })
  },
  {
    title: "weighted none",
    rules: ["weighted-cluster-name"],
    envoy: "refuses",
    says: "At least one of name or cluster_header need to be specified",
    config: weighted({ weight: 1 })
  },
  {
    title: "mirror both",
    rules: ["mirror-cluster-name"],
    envoy: "refuses",
    says: "in request mirror policy can be specified",
    config: toWeb({ request_mirror_policies: [{ cluster: "web", cluster_header: "x" }] })
  },
  {
    title: "unknown cluster inline",
    rules: ["route-cluster-reference"],
    envoy: "refuses",
    says: "route: unknown cluster",
    config: withRoute({ route: { cluster: "nope" } })
  },
  {
    title: "unknown cluster weighted inline",
    rules: ["route-cluster-reference"],
    envoy: "refuses",
    says: "route: unknown weighted cluster",
    config: weighted({ name: "nope", weight: 1 })
  },
  {
    title: "unknown mirror cluster inline",
    rules: ["route-cluster-reference"],
    envoy: "refuses",
    says: "route: unknown shadow cluster",
    config: toWeb({ request_mirror_policies: [{ cluster: "nope" }] })
  },
  {
    title: "unknown cluster inline, not validated",
    rules: ["cluster-reference"],
    envoy: "accepts",
    config: withRoutes({
      validate_clusters: false,
      virtual_hosts: [virtualHost({ routes: [route({ route: { cluster: "nope" } })] })]
    })
  },
  {
    title: "unknown cluster rds",
    rules: ["cluster-reference"],
    envoy: "accepts",
    config: {
      listeners: [listener({ filter_chains: [chain(rdsManager())] })],
      routes: [routes({ virtual_hosts: [virtualHost({ routes: [route({ route: { cluster: "nope" } })] })] })]
    }
  },
  {
    title: "unknown cluster rds validated",
    rules: ["route-cluster-reference"],
    envoy: "refuses",
    says: "route: unknown cluster",
    config: {
      listeners: [listener({ filter_chains: [chain(rdsManager())] })],
      routes: [
        routes({
          validate_clusters: true,
          virtual_hosts: [virtualHost({ routes: [route({ route: { cluster: "nope" } })] })]
        })
      ]
    }
  },
  {
    title: "several rewrites",
    rules: ["path-rewrite"],
    envoy: "refuses",
    says: "Specify only one of prefix_rewrite, regex_rewrite or path_rewrite_poli",
    config: toWeb({ prefix_rewrite: "/a", regex_rewrite: { pattern: { regex: "a" }, substitution: "x" } })
  },
  {
    title: "retry backoff",
    rules: ["retry-interval"],
    envoy: "refuses",
    says: "retry_policy.max_interval must greater than or equal to the base_inter",
    config: toWeb({ retry_policy: { retry_on: "5xx", retry_back_off: { base_interval: "1s", max_interval: "0.5s" } } })
  },
  {
    title: "timeout negative",
    rules: ["duration"],
    envoy: "refuses",
    says: "Invalid duration: Expected positive duration",
    config: toWeb({ timeout: "-1s" })
  },
  {
    title: "timeout huge",
    rules: ["duration"],
    envoy: "refuses",
    says: "Invalid duration: Duration out-of-range",
    config: toWeb({ timeout: "315576000000s" })
  },
  {
    title: "header :path added",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be modified",
    config: withRoutes({ request_headers_to_add: [{ header: { key: ":path", value: "x" } }] })
  },
  {
    title: "header Host added",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be modified",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "Host", value: "x" } }] })
  },
  {
    title: "header :path added to route",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be modified",
    config: withHosts(
      virtualHost({
        routes: [
          route({ route: { cluster: "web" }, request_headers_to_add: [{ header: { key: ":path", value: "x" } }] })
        ]
      })
    )
  },
  {
    title: "response header :status added",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be modified",
    config: withRoutes({ response_headers_to_add: [{ header: { key: ":status", value: "x" } }] })
  },
  {
    title: "header host removed",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be removed",
    config: withRoutes({ request_headers_to_remove: ["host"] })
  },
  {
    title: "header host removed, upper case",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be removed",
    config: withRoutes({ request_headers_to_remove: ["HOST"] })
  },
  {
    title: "header :path removed",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be removed",
    config: withRoutes({ request_headers_to_remove: [":path"] })
  },
  {
    title: "response header :status removed",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be removed",
    config: withRoutes({ response_headers_to_remove: [":status"] })
  },
  {
    title: "format unknown",
    rules: ["header-command"],
    envoy: "refuses",
    says: "Not supported field in StreamInfo: FOO",
    differs: "another version, or an extension, may have it",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "%FOO%" } }] })
  },
  {
    title: "format unknown behind a known one",
    rules: ["header-command"],
    envoy: "refuses",
    says: "Not supported field in StreamInfo: REQUEST",
    differs: "another version, or an extension, may have it",
    config: withRoutes({ response_headers_to_add: [{ header: { key: "x", value: "%PROTOCOL% %REQUEST(a)%" } }] })
  },
  {
    title: "format of every command",
    rules: [],
    envoy: "accepts",
    config: withRoutes({
      request_headers_to_add: Array.from(HeaderCommands.known, (name, index) => ({
        header: { key: `x-${index}`, value: `%${name}${parameters.get(name) ?? ""}%` }
      }))
    })
  },
  {
    title: "format unterminated",
    rules: ["header-format"],
    envoy: "refuses",
    says: "Incorrect configuration: %START_TIME. Couldn",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "%START_TIME" } }] })
  },
  {
    title: "format percent",
    rules: ["header-format"],
    envoy: "refuses",
    says: "Incorrect configuration: 100%. Couldn",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "100%" } }] })
  },
  {
    title: "format percent percent",
    rules: [],
    envoy: "accepts",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "100%%" } }] })
  },
  {
    title: "direct response too large",
    rules: ["direct-response-size"],
    envoy: "refuses",
    says: "response body size is 4097 bytes; maximum is 4096",
    config: withRoute({ direct_response: { status: 200, body: { inline_string: "x".repeat(4097) } } })
  },
  {
    title: "direct response larger allowed",
    rules: [],
    envoy: "accepts",
    config: withRoutes({
      max_direct_response_body_size_bytes: 5000,
      virtual_hosts: [
        virtualHost({
          routes: [route({ direct_response: { status: 200, body: { inline_string: "x".repeat(4097) } } })]
        })
      ]
    })
  },
  {
    title: "vhds sotw",
    rules: ["vhds-source"],
    envoy: "refuses",
    says: "(which uses Delta xDS) is supported as a config source",
    config: withVhds({ api_type: "GRPC", grpc_services: [{ envoy_grpc: { cluster_name: "web" } }] })
  },
  {
    title: "vhds aggregated",
    rules: ["vhds-source"],
    envoy: "refuses",
    says: "(which uses Delta xDS) is supported as a config source",
    config: withVhds({ api_type: "AGGREGATED_DELTA_GRPC", grpc_services: [{ envoy_grpc: { cluster_name: "web" } }] })
  },
  {
    title: "plugin unknown",
    rules: ["plugin-reference"],
    envoy: "refuses",
    says: "Unknown cluster specifier plugin name: p is used in the route",
    config: toWeb({ cluster: undefined, cluster_specifier_plugin: "p" })
  },
  {
    title: "virtual cluster empty",
    rules: ["virtual-cluster"],
    envoy: "refuses",
    says: "virtual clusters must define",
    config: withHosts(virtualHost({ virtual_clusters: [{ name: "x" }] }))
  },
  {
    title: "per filter config of no filter",
    rules: [],
    envoy: "accepts",
    config: withHosts(
      virtualHost({
        typed_per_filter_config: {
          nope: any("envoy.extensions.filters.http.buffer.v3.BufferPerRoute", { disabled: true })
        }
      })
    )
  },
  {
    title: "per filter config of another type",
    rules: [],
    envoy: "accepts",
    config: withHosts(
      virtualHost({
        typed_per_filter_config: {
          "envoy.filters.http.router": any("envoy.extensions.filters.http.buffer.v3.BufferPerRoute", { disabled: true })
        }
      })
    )
  },
  {
    title: "per filter config no per route type",
    rules: ["extension-category"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withHosts(
      virtualHost({
        typed_per_filter_config: { "envoy.filters.http.router": any("envoy.config.cluster.v3.Cluster", { name: "x" }) }
      })
    )
  },
  {
    title: "upgrade twice in route",
    rules: ["upgrade-unique"],
    envoy: "refuses",
    says: "Duplicate upgrade WebSocket",
    config: toWeb({ upgrade_configs: [{ upgrade_type: "websocket" }, { upgrade_type: "WebSocket" }] })
  },
  {
    title: "connect config on websocket",
    rules: ["connect-config"],
    envoy: "refuses",
    says: "Non-CONNECT upgrade type websocket has ConnectConfig",
    config: toWeb({ upgrade_configs: [{ upgrade_type: "websocket", connect_config: {} }] })
  },
  {
    title: "path match policy bad",
    rules: [],
    envoy: "refuses",
    says: "path_match_policy.path_template /{a is invalid: Unmatched variable bra",
    differs: "a path_template has a language of its own",
    config: withMatch({
      path_match_policy: {
        name: "x",
        typed_config: any("envoy.extensions.path.match.uri_template.v3.UriTemplateMatchConfig", {
          path_template: "/{a"
        })
      }
    })
  },
  {
    title: "scope keys twice",
    rules: ["inline-scope"],
    envoy: "refuses",
    says: "Fetching routes via RDS (route_configuration_name) is not supported wi",
    config: {
      listeners: [listener({ filter_chains: [chain(manager(scoped("a", "a")))] })],
      routes: [routes()],
      clusters: [cluster()]
    }
  },
  {
    title: "timeout of 292 years",
    rules: ["duration"],
    envoy: "refuses",
    says: "Invalid duration: Duration out-of-range",
    config: toWeb({ timeout: "9223372036s" })
  },
  {
    title: "timeout over 292 years",
    rules: ["duration"],
    envoy: "refuses",
    says: "Invalid duration: Duration out-of-range",
    config: toWeb({ timeout: "9223372037s" })
  },
  {
    title: "response header host added",
    rules: ["header-name"],
    envoy: "refuses",
    says: ":-prefixed or host headers may not be modified",
    config: withRoutes({ response_headers_to_add: [{ header: { key: "HOST", value: "x" } }] })
  },
  {
    title: "format command with parameter",
    rules: [],
    envoy: "accepts",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "a%REQ(X?Y):10%b%%" } }] })
  },
  {
    title: "format lower case command",
    rules: ["header-format"],
    envoy: "refuses",
    says: "Incorrect configuration: %start_time%. Couldn",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "%start_time%" } }] })
  },
  {
    title: "format three percent",
    rules: ["header-format"],
    envoy: "refuses",
    says: "Incorrect configuration: %%%. Couldn",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "%%%" } }] })
  },
  {
    title: "format url encoded",
    rules: ["header-format"],
    envoy: "refuses",
    says: "Incorrect configuration: a%20b. Couldn",
    config: withRoutes({ request_headers_to_add: [{ header: { key: "x", value: "a%20b" } }] })
  },
  {
    title: "connect-udp with connect_config",
    rules: [],
    envoy: "accepts",
    config: toWeb({ upgrade_configs: [{ upgrade_type: "CONNECT-UDP", connect_config: {} }] })
  },
  {
    title: "connect with connect_config",
    rules: [],
    envoy: "accepts",
    config: toWeb({ upgrade_configs: [{ upgrade_type: "connect", connect_config: {} }] })
  },
  {
    title: "mirror none in virtual host",
    rules: ["mirror-cluster-name"],
    envoy: "refuses",
    says: "Exactly one of cluster or cluster_header in request mirror policy need",
    config: withHosts(virtualHost({ request_mirror_policies: [{}] }))
  },
  {
    title: "plugin twice",
    rules: [],
    envoy: "accepts",
    config: withRoutes({ cluster_specifier_plugins: [plugin, plugin] })
  },
  {
    title: "plugin once",
    rules: [],
    envoy: "accepts",
    config: withRoutes({
      cluster_specifier_plugins: [plugin],
      virtual_hosts: [virtualHost({ routes: [route({ route: { cluster_specifier_plugin: "p" } })] })]
    })
  },
  {
    title: "per filter config typed FilterConfig",
    rules: [],
    envoy: "accepts",
    config: withHosts(
      virtualHost({
        typed_per_filter_config: {
          "envoy.filters.http.buffer": any("envoy.config.route.v3.FilterConfig", { disabled: true })
        }
      })
    )
  },
  {
    title: "vhds rest",
    rules: ["vhds-source"],
    envoy: "refuses",
    says: "(which uses Delta xDS) is supported as a config source",
    config: withVhds({ api_type: "REST", cluster_names: ["web"], refresh_delay: "1s" })
  },
  {
    title: "scope inline routes",
    rules: [],
    envoy: "accepts",
    config: {
      listeners: [listener({ filter_chains: [chain(manager(inlineScopes("a", "b")))] })],
      clusters: [cluster()]
    }
  },
  {
    title: "scope inline routes, keys twice",
    rules: [],
    envoy: "accepts",
    config: {
      listeners: [listener({ filter_chains: [chain(manager(inlineScopes("a", "a")))] })],
      clusters: [cluster()]
    }
  },
  {
    title: "scope inline routes, unknown cluster",
    rules: ["route-cluster-reference"],
    envoy: "refuses",
    says: "route: unknown cluster",
    config: { listeners: [listener({ filter_chains: [chain(manager(inlineScopes("a")))] })] }
  },
  ...[
    ["0.0015s", "0.0012s"],
    ["0.0015s", "0.0005s"],
    ["0.0009s", "0.0001s"]
  ].map(([base_interval = "", max_interval = ""]): Mistake => ({
    title: `retry intervals within a millisecond: ${base_interval}, ${max_interval}`,
    rules: [],
    envoy: "accepts",
    config: toWeb({ retry_policy: { retry_on: "5xx", retry_back_off: { base_interval, max_interval } } })
  })),
  {
    title: "retry intervals, one millisecond and two",
    rules: ["retry-interval"],
    envoy: "refuses",
    says: "retry_policy.max_interval must greater than or equal to the base_interval",
    config: toWeb({
      retry_policy: { retry_on: "5xx", retry_back_off: { base_interval: "0.002s", max_interval: "0.0019s" } }
    })
  },
  {
    title: "domains that differ in the case of a letter that is not ASCII",
    rules: [],
    envoy: "accepts",
    config: withHosts(virtualHost({ domains: ["Ä.com", "ä.com"] }))
  },
  ...[
    { title: "a virtual host", changes: { virtual_hosts: [virtualHost({ ...nowhere, routes: [mirrored] })] } },
    { title: "a virtual host without routes", changes: { virtual_hosts: [virtualHost({ ...nowhere, routes: [] })] } },
    { title: "a table", changes: { ...nowhere, virtual_hosts: [virtualHost({ routes: [mirrored] })] } },
    {
      title: "a table, of virtual hosts with mirrors",
      changes: { ...nowhere, virtual_hosts: [virtualHost({ request_mirror_policies: [{ cluster: "web" }] })] }
    }
  ].map(({ changes, title }): Mistake => ({
    title: `unknown mirror of ${title}, which no route uses`,
    rules: ["cluster-reference"],
    envoy: "accepts",
    config: withRoutes(changes)
  })),
  ...[
    {
      title: "a virtual host",
      changes: { virtual_hosts: [virtualHost({ ...nowhere, routes: [mirrored, redirect] })] }
    },
    {
      title: "a table",
      changes: { ...nowhere, virtual_hosts: [virtualHost({ domains: ["a"], routes: [mirrored] }), virtualHost()] }
    }
  ].map(({ changes, title }): Mistake => ({
    title: `unknown mirror of ${title}, which a route uses`,
    rules: ["route-cluster-reference"],
    envoy: "refuses",
    says: "route: unknown shadow cluster 'nope'",
    config: withRoutes(changes)
  })),
  ...[true, undefined].map((validate_clusters): Mistake => ({
    title: `unknown cluster of a route in a matcher, validate_clusters ${validate_clusters}`,
    rules: ["cluster-reference"],
    envoy: "accepts",
    config: withRoutes({ validate_clusters, virtual_hosts: [inMatcher(route({ route: { cluster: "nope" } }))] })
  }))
]
