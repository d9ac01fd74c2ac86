/**
 * The rules beyond single fields: what Envoy 1.40 or gRPC refuses although every field is as its `.proto` file wants it, and
 * what they accept but leave without an answer. A test asks a real Envoy about each.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 */
export interface GroupRule {
  /** By which it is switched off. */
  readonly name: string
  /** Who asks for it. Those of gRPC alone count for what a listener for gRPC (`api_listener`) leads to. */
  readonly peers: ReadonlyArray<"Envoy" | "gRPC">
  /**
   * `error`: the peer refuses the resource, and keeps its old state. `warning`: it takes it, but requests get no answer, or it
   * depends on what else the peer was started with.
   */
  readonly severity: "error" | "warning"
  /** What must be. */
  readonly summary: string
  /** The field or message whose documentation, or the gRFC that, says so. */
  readonly source: string
}

const envoy = (name: string, source: string, summary: string): GroupRule => ({
  name,
  peers: ["Envoy"],
  severity: "error",
  summary,
  source
})

const grpc = (rule: GroupRule): GroupRule => ({ ...rule, peers: ["gRPC"] })

const both = (rule: GroupRule): GroupRule => ({ ...rule, peers: ["Envoy", "gRPC"] })

const warning = (rule: GroupRule): GroupRule => ({ ...rule, severity: "warning" })

/**
 * All rules, by what they are about.
 *
 * @since 0.1.0
 */
export const all: ReadonlyArray<GroupRule> = [
  // References
  warning(
    both(envoy("cluster-reference", "RouteAction.cluster, TcpProxy.cluster", "A cluster that is named is there"))
  ),
  envoy(
    "route-cluster-reference",
    "RouteConfiguration.validate_clusters",
    "A cluster that an inline route names is there, and any if validate_clusters is set"
  ),
  warning(
    envoy("service-cluster-reference", "EnvoyGrpc.cluster_name, HttpUri.cluster", "The cluster of a service is there")
  ),
  warning(both(envoy("route-reference", "Rds.route_config_name", "A route configuration that is named is there"))),
  warning(both(envoy("endpoints-reference", "EdsClusterConfig.service_name", "The endpoints of a cluster are there"))),
  warning(envoy("secret-reference", "SdsSecretConfig.name", "A secret that is named is there")),
  warning(
    envoy("extension-reference", "ExtensionConfigSource.config_source", "The configuration of an extension is there")
  ),
  envoy("plugin-reference", "RouteAction.cluster_specifier_plugin", "A plugin that is named is defined"),
  envoy("jwt-reference", "JwtRequirement.provider_name", "Providers and requirements that are named are defined"),
  // Listeners
  envoy("listener-address", "Listener.address", "A listener has an address"),
  envoy("listener-address-unique", "Listener.address", "No two listeners have one address"),
  envoy("filter-chains", "Listener.filter_chains", "A listener has filter chains; one for UDP has none"),
  envoy("filter-chain-match-unique", "Listener.filter_chains", "No connection matches two filter chains"),
  envoy("filter-chain-match-fields", "FilterChainMatch.address_suffix", "Matches of address suffixes do not exist"),
  envoy("filter-chain-name", "Listener.filter_chain_matcher", "With a matcher each filter chain has a name of its own"),
  envoy("server-names", "FilterChainMatch.server_names", "The star of a server name is its first label"),
  envoy("network-filter-order", "FilterChain.filters", "A terminal filter is the last one, and no other is"),
  both(envoy("http-filter-order", "HttpConnectionManager.http_filters, A39", "The router is the last HTTP filter")),
  envoy("http3-listener", "HttpConnectionManager.codec_type", "HTTP/3 is for listeners with QUIC, and only that"),
  envoy("upgrade-unique", "HttpConnectionManager.upgrade_configs", "No type of upgrade is there twice"),
  envoy(
    "ip-detection",
    "HttpConnectionManager.original_ip_detection_extensions",
    "Extensions find the address of the client, or the connection and x-forwarded-for do"
  ),
  envoy("inline-scope", "ScopedRouteConfigurationsList", "Inline scopes have their routes in them"),
  envoy("scope-key-unique", "ScopedRouteConfiguration.key", "No two scopes have one key"),
  // Extensions
  envoy("typed-config", "Filter.typed_config", "An extension has a typed_config"),
  envoy("extension-category", "Filter.typed_config", "An extension is of the kind that its place asks for"),
  warning(envoy("extension-known", "google.protobuf.Any", "The type of an extension is one of Envoy's API")),
  envoy(
    "config-discovery",
    "ExtensionConfigSource",
    "Discovery of an extension names types of its kind; its default is of one of them, and there if nothing is waited for"
  ),
  // Routes
  envoy("domain-unique", "VirtualHost.domains", "No domain is there twice, whatever its case; nor is *"),
  warning(both(envoy("domain-wildcard", "VirtualHost.domains, A28", "A star is at the start or the end of a domain"))),
  both(
    envoy("cluster-weights", "WeightedCluster.clusters, A28", "Weights are set; their sum is positive and fits 32 bits")
  ),
  envoy("weighted-cluster-name", "WeightedCluster.ClusterWeight.name", "A weighted cluster is named in one way"),
  envoy("mirror-cluster-name", "RequestMirrorPolicy.cluster", "The cluster of a mirror is named in one way"),
  envoy("path-rewrite", "RouteAction.prefix_rewrite", "A path is rewritten in one way"),
  both(envoy("retry-interval", "RetryBackOff.max_interval, A44", "The longest interval is no less than the first")),
  envoy("header-name", "HeaderValueOption", "Host and headers that begin with a colon are not added or removed"),
  envoy("header-format", "HeaderValueOption", "A percent sign begins a command, or is there twice"),
  warning(envoy("header-command", "HeaderValueOption", "A command in a header is one of Envoy's")),
  envoy("direct-response-size", "max_direct_response_body_size_bytes", "The body of a direct response is not too long"),
  envoy("virtual-host-matcher", "VirtualHost.matcher", "A virtual host has a matcher or routes"),
  envoy("virtual-cluster", "VirtualCluster.headers", "A virtual cluster has headers"),
  envoy("connect-config", "UpgradeConfig.connect_config", "Only CONNECT has a connect_config"),
  envoy("vhds-source", "Vhds.config_source", "Virtual hosts come over the incremental protocol"),
  // Clusters
  both(envoy("eds-config", "Cluster.eds_cluster_config", "EDS clusters have an eds_config, and no other has")),
  both(envoy("logical-dns-endpoint", "Cluster.type, A37", "LOGICAL_DNS clusters have exactly one endpoint")),
  envoy("dns-resolver-name", "SocketAddress.resolver_name", "Addresses of DNS clusters name no resolver"),
  envoy("original-dst", "Cluster.type", "ORIGINAL_DST clusters have no endpoints"),
  envoy("cluster-provided", "Cluster.lb_policy", "CLUSTER_PROVIDED is for types of clusters that balance themselves"),
  envoy(
    "load-balancing-policy",
    "Cluster.load_balancing_policy",
    "A policy is there that is one, without lb_subset_config"
  ),
  envoy(
    "subset-fallback",
    "LbSubsetSelector.fallback_keys_subset",
    "Fallback keys are some of the selector's, not all"
  ),
  envoy("ring-size", "RingHashLbConfig.minimum_ring_size", "The least size of a ring is not over the largest"),
  envoy("maglev-table-size", "MaglevLbConfig.table_size", "The size of a table is a prime number"),
  envoy(
    "source-addresses",
    "BindConfig.extra_source_addresses",
    "Beside a source address there is at most one more, of the other version of IP"
  ),
  envoy("health-check-name", "HealthCheck.name", "Of several health checks each has a name of its own"),
  envoy("health-check-payload", "HealthCheck.Payload.text", "Payloads are pairs of hexadecimal digits"),
  envoy("health-check-http2", "HealthCheck.grpc_health_check", "Clusters with gRPC health checks speak HTTP/2"),
  envoy(
    "health-check-statuses",
    "HttpHealthCheck.expected_statuses",
    "Statuses are 100 to 599, and begin before they end"
  ),
  envoy("alpn", "HttpProtocolOptions.auto_config", "ALPN needs a transport socket that has it"),
  envoy(
    "http3-cluster",
    "HttpProtocolOptions.Http3ProtocolOptions",
    "HTTP/3 is for clusters with a QUIC socket, and with a cache of protocols where it is negotiated"
  ),
  envoy(
    "http2-settings",
    "Http2ProtocolOptions.custom_settings_parameters",
    "No setting has two values, or a name beside its number; none is push or CONNECT"
  ),
  envoy("ejection-time", "OutlierDetection.max_ejection_time", "The longest ejection is no shorter than the first"),
  // Endpoints
  envoy("ip-address", "SocketAddress.address, CidrRange", "Addresses are IP addresses where no name is looked up"),
  envoy("endpoint-address", "LbEndpoint.endpoint", "An endpoint has an address"),
  warning(envoy("endpoint-port", "SocketAddress.port_value", "The port of an endpoint is not 0")),
  envoy("named-port", "SocketAddress.named_port", "Ports are numbers where no name is looked up"),
  envoy("pipe-path", "Pipe.path", "The path of a socket has at most 107 bytes; an abstract one has no mode"),
  envoy("leds", "LedsClusterLocalityConfig", "Only EDS clusters use LEDS"),
  envoy(
    "leds-collection",
    "leds_collection_name",
    "Endpoints of a locality are a collection of xdstp names of LbEndpoint"
  ),
  envoy("leds-source", "LedsClusterLocalityConfig.leds_config", "They come over the incremental protocol"),
  envoy("drop-overload", "ClusterLoadAssignment.Policy.drop_overloads", "There is one category, of at most 100 %"),
  grpc(envoy("locality-unique", "A27", "No locality is in a priority twice")),
  grpc(envoy("priority-gap", "A27", "No priority is left out")),
  grpc(envoy("endpoint-unique", "A27", "No address is there twice")),
  // TLS
  envoy("server-certificate", "CommonTlsContext.tls_certificates", "A server has certificates, in it or by SDS"),
  envoy("client-certificate", "CommonTlsContext.tls_certificates", "A client has one certificate"),
  envoy("private-key", "TlsCertificate.private_key", "A certificate has its private key"),
  envoy("pem", "TlsCertificate, CertificateValidationContext.trusted_ca", "Inline certificates and keys are PEM"),
  envoy("san-without-ca", "match_typed_subject_alt_names", "Names are verified only with a trusted authority"),
  // Everywhere
  both(envoy("regular-expression", "RegexMatcher.regex", "Regular expressions are RE2's")),
  envoy(
    "regular-expression-size",
    "re2.max_program_size.error_level",
    "Compiled, they have at most 100 instructions, or as many as their matcher says"
  ),
  envoy(
    "config-source",
    "ConfigSource",
    "A source says where resources come from: one cluster, and how often for REST"
  ),
  envoy("duration", "google.protobuf.Duration", "Durations are positive, and at most 292 years"),
  envoy("token-bucket", "LocalRateLimit.token_bucket", "Buckets are filled at most every 50 ms")
]

/**
 * Names of the rules by which a resource that is named must be there. To switch all of them off is to check files whose
 * resources come partly from elsewhere.
 *
 * @since 0.1.0
 */
export const references: ReadonlyArray<string> = [
  "cluster-reference",
  "route-cluster-reference",
  "service-cluster-reference",
  "route-reference",
  "endpoints-reference",
  "secret-reference",
  "extension-reference"
]

const byName: ReadonlyMap<string, GroupRule> = new Map(all.map((rule) => [rule.name, rule]))

/**
 * The rule of a name.
 *
 * @since 0.1.0
 */
export const find = (name: string): GroupRule | undefined => byName.get(name)
