/** Mistakes in clusters. */
import { ads, any, assignment, edsCluster, endpoint, httpOptions, policy, policyEntry } from "../Config.js"
import { withCluster, healthCheck } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

export const ofClusters: ReadonlyArray<Mistake> = [
  {
    title: "eds config in static",
    rules: ["eds-config"],
    envoy: "refuses",
    says: "eds_cluster_config set in a non-EDS cluster",
    config: withCluster({ eds_cluster_config: { eds_config: ads } })
  },
  {
    title: "logical dns 0",
    rules: ["logical-dns-endpoint"],
    envoy: "refuses",
    says: "LOGICAL_DNS clusters must have a single locality_lb_endpoint and a sin",
    config: withCluster({ type: "LOGICAL_DNS", load_assignment: { cluster_name: "web" } })
  },
  {
    title: "logical dns none",
    rules: ["logical-dns-endpoint"],
    envoy: "refuses",
    says: "LOGICAL_DNS clusters must have a single host",
    config: withCluster({ type: "LOGICAL_DNS", load_assignment: undefined })
  },
  {
    title: "static no endpoints",
    rules: [],
    envoy: "accepts",
    config: withCluster({ load_assignment: undefined })
  },
  {
    title: "original dst ok",
    rules: [],
    envoy: "accepts",
    config: withCluster({ type: "ORIGINAL_DST", lb_policy: "CLUSTER_PROVIDED", load_assignment: undefined })
  },
  {
    title: "original dst load assignment",
    rules: ["original-dst"],
    envoy: "refuses",
    says: "ORIGINAL_DST clusters must have no load assignment configured",
    config: withCluster({ type: "ORIGINAL_DST", lb_policy: "CLUSTER_PROVIDED" })
  },
  {
    title: "original dst rr",
    rules: ["cluster-provided"],
    envoy: "refuses",
    says: "cluster: LB policy ROUND_ROBIN is not valid for Cluster type ORIGINAL_",
    config: withCluster({ type: "ORIGINAL_DST", load_assignment: undefined })
  },
  {
    title: "original dst subset",
    rules: ["load-balancing-policy"],
    envoy: "refuses",
    says: "cluster: LB policy CLUSTER_PROVIDED cannot be combined with lb_subset_",
    config: withCluster({
      type: "ORIGINAL_DST",
      lb_policy: "CLUSTER_PROVIDED",
      load_assignment: undefined,
      lb_subset_config: { subset_selectors: [{ keys: ["a"] }] }
    })
  },
  {
    title: "static cluster provided",
    rules: ["cluster-provided"],
    envoy: "refuses",
    says: "cluster manager: cluster provided LB specified but cluster",
    config: withCluster({ lb_policy: "CLUSTER_PROVIDED" })
  },
  {
    title: "lb policy config none",
    rules: ["load-balancing-policy"],
    envoy: "refuses",
    says: "cluster: field load_balancing_policy need to be set",
    config: withCluster({ lb_policy: "LOAD_BALANCING_POLICY_CONFIG" })
  },
  {
    title: "lb policies empty",
    rules: ["load-balancing-policy"],
    envoy: "refuses",
    says: "t find a registered load balancer factory implementation for cluster",
    config: withCluster({ load_balancing_policy: {} })
  },
  {
    title: "lb policies unknown",
    rules: ["load-balancing-policy"],
    envoy: "refuses",
    says: "t find a registered load balancer factory implementation for cluster",
    config: withCluster({
      load_balancing_policy: {
        policies: [
          { typed_extension_config: { name: "x", typed_config: any("envoy.config.cluster.v3.Cluster", { name: "x" }) } }
        ]
      }
    })
  },
  {
    title: "lb policies unknown, then known",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      load_balancing_policy: {
        policies: [
          {
            typed_extension_config: { name: "x", typed_config: any("envoy.config.cluster.v3.Cluster", { name: "x" }) }
          },
          policyEntry("round_robin", "RoundRobin")
        ]
      }
    })
  },
  {
    title: "ring hash min max",
    rules: ["ring-size"],
    envoy: "refuses",
    says: "ring hash: minimum_ring_size (100) > maximum_ring_size (10)",
    config: withCluster({
      lb_policy: "RING_HASH",
      ring_hash_lb_config: { minimum_ring_size: 100, maximum_ring_size: 10 }
    })
  },
  {
    title: "ring hash min over default max",
    rules: ["ring-size"],
    envoy: "refuses",
    says: "ring hash: minimum_ring_size (8000000) > maximum_ring_size (10)",
    config: withCluster({
      lb_policy: "RING_HASH",
      ring_hash_lb_config: { minimum_ring_size: 8000000, maximum_ring_size: 10 }
    })
  },
  {
    title: "ring hash policy min max",
    rules: ["ring-size"],
    envoy: "refuses",
    says: "ring hash: minimum_ring_size (100) > maximum_ring_size (10)",
    config: withCluster(policy("ring_hash", "RingHash", { minimum_ring_size: 100, maximum_ring_size: 10 }))
  },
  {
    title: "ring hash max under default min",
    rules: ["ring-size"],
    envoy: "refuses",
    says: "ring hash: minimum_ring_size (1024) > maximum_ring_size (10)",
    config: withCluster({ lb_policy: "RING_HASH", ring_hash_lb_config: { maximum_ring_size: 10 } })
  },
  {
    title: "ring hash not used min max",
    rules: [],
    envoy: "accepts",
    config: withCluster({ ring_hash_lb_config: { minimum_ring_size: 100, maximum_ring_size: 10 } })
  },
  {
    title: "maglev not prime",
    rules: ["maglev-table-size"],
    envoy: "refuses",
    says: "The table size of maglev must be prime number",
    config: withCluster({ lb_policy: "MAGLEV", maglev_lb_config: { table_size: 100 } })
  },
  {
    title: "maglev policy not prime",
    rules: ["maglev-table-size"],
    envoy: "refuses",
    says: "The table size of maglev must be prime number",
    config: withCluster(policy("maglev", "Maglev", { table_size: 100 }))
  },
  {
    title: "maglev not used not prime",
    rules: [],
    envoy: "accepts",
    config: withCluster({ maglev_lb_config: { table_size: 100 } })
  },
  {
    title: "maglev prime",
    rules: [],
    envoy: "accepts",
    config: withCluster({ lb_policy: "MAGLEV", maglev_lb_config: { table_size: 101 } })
  },
  {
    title: "health check tcp hex",
    rules: ["health-check-payload"],
    envoy: "refuses",
    says: "invalid hex string",
    config: withCluster({ health_checks: [healthCheck({ tcp_health_check: { send: { text: "xyz" } } })] })
  },
  {
    title: "health check tcp odd hex",
    rules: ["health-check-payload"],
    envoy: "refuses",
    says: "invalid hex string",
    config: withCluster({ health_checks: [healthCheck({ tcp_health_check: { send: { text: "abc" } } })] })
  },
  {
    title: "health check grpc no h2",
    rules: ["health-check-http2"],
    envoy: "refuses",
    says: "web cluster must support HTTP/2 for gRPC healthchecking",
    config: withCluster({ health_checks: [healthCheck({ grpc_health_check: {} })] })
  },
  {
    title: "health check grpc h2",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      ...httpOptions({ explicit_http_config: { http2_protocol_options: {} } }),
      health_checks: [healthCheck({ grpc_health_check: {} })]
    })
  },
  {
    title: "health check http statuses",
    rules: ["health-check-statuses"],
    envoy: "refuses",
    says: "Invalid http expected status range: expecting start < end, but found s",
    config: withCluster({
      health_checks: [healthCheck({ http_health_check: { path: "/", expected_statuses: [{ start: 300, end: 200 }] } })]
    })
  },
  {
    title: "health check http statuses out",
    rules: ["health-check-statuses"],
    envoy: "refuses",
    says: "Invalid http expected status range: expecting start >= 100, but found",
    config: withCluster({
      health_checks: [healthCheck({ http_health_check: { path: "/", expected_statuses: [{ start: 0, end: 200 }] } })]
    })
  },
  {
    title: "transport socket without config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withCluster({ transport_socket: { name: "envoy.transport_sockets.tls" } })
  },
  {
    title: "raw_buffer socket without config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withCluster({ transport_socket: { name: "envoy.transport_sockets.raw_buffer" } })
  },
  {
    title: "cluster_type unknown",
    rules: [],
    envoy: "refuses",
    says: "t find a registered cluster factory implementation for name",
    differs: "a type of clusters may be an extension's",
    config: withCluster({ type: undefined, cluster_type: { name: "nope" } })
  },
  {
    title: "cluster aggregate missing",
    rules: ["cluster-reference"],
    envoy: "accepts",
    config: withCluster({
      type: undefined,
      lb_policy: "CLUSTER_PROVIDED",
      load_assignment: undefined,
      cluster_type: {
        name: "envoy.clusters.aggregate",
        typed_config: any("envoy.extensions.clusters.aggregate.v3.ClusterConfig", { clusters: ["nope"] })
      }
    })
  },
  {
    title: "cluster aggregate rr",
    rules: ["cluster-provided", "cluster-reference"],
    envoy: "refuses",
    says: "cluster manager: cluster provided LB not specified but cluster",
    config: withCluster({
      type: undefined,
      load_assignment: undefined,
      cluster_type: {
        name: "envoy.clusters.aggregate",
        typed_config: any("envoy.extensions.clusters.aggregate.v3.ClusterConfig", { clusters: ["nope"] })
      }
    })
  },
  {
    title: "cluster aggregate self",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      type: undefined,
      lb_policy: "CLUSTER_PROVIDED",
      load_assignment: undefined,
      cluster_type: {
        name: "envoy.clusters.aggregate",
        typed_config: any("envoy.extensions.clusters.aggregate.v3.ClusterConfig", { clusters: ["web"] })
      }
    })
  },
  {
    title: "outlier max < base",
    rules: ["ejection-time"],
    envoy: "refuses",
    says: "s max_ejection_time cannot be smaller than base_ejection_time",
    config: withCluster({ outlier_detection: { base_ejection_time: "10s", max_ejection_time: "5s" } })
  },
  {
    title: "outlier times within a millisecond",
    rules: [],
    envoy: "accepts",
    config: withCluster({ outlier_detection: { base_ejection_time: "1.0005s", max_ejection_time: "1.0002s" } })
  },
  {
    title: "outlier time under the default by less than a millisecond",
    rules: ["ejection-time"],
    envoy: "refuses",
    says: "s max_ejection_time cannot be smaller than base_ejection_time",
    config: withCluster({ outlier_detection: { max_ejection_time: "29.9999s" } })
  },
  {
    title: "connect timeout negative",
    rules: ["duration", "field"],
    envoy: "refuses",
    config: withCluster({ connect_timeout: "-1s" })
  },
  {
    title: "http2 custom settings",
    rules: ["http2-settings"],
    envoy: "refuses",
    says: "inconsistent HTTP/2 custom SETTINGS parameter(s) detected; identifiers",
    config: withCluster(
      httpOptions({
        explicit_http_config: {
          http2_protocol_options: {
            custom_settings_parameters: [
              { identifier: 3, value: 1 },
              { identifier: 3, value: 2 }
            ]
          }
        }
      })
    )
  },
  {
    title: "dns address: ip in strict dns",
    rules: [],
    envoy: "accepts",
    config: withCluster({ type: "STRICT_DNS" })
  },
  {
    title: "upstream bind address",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: nope",
    config: withCluster({ upstream_bind_config: { source_address: { address: "nope", port_value: 0 } } })
  },
  {
    title: "subset fallback same keys",
    rules: ["subset-fallback"],
    envoy: "refuses",
    says: "fallback_keys_subset cannot be equal to keys",
    config: withCluster({
      lb_subset_config: {
        subset_selectors: [{ keys: ["a"], fallback_policy: "KEYS_SUBSET", fallback_keys_subset: ["a"] }]
      }
    })
  },
  {
    title: "subset fallback no keys",
    rules: ["subset-fallback"],
    envoy: "refuses",
    says: "fallback_keys_subset cannot be empty",
    config: withCluster({ lb_subset_config: { subset_selectors: [{ keys: ["a"], fallback_policy: "KEYS_SUBSET" }] } })
  },
  {
    title: "subset fallback of a selector without keys",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      lb_subset_config: {
        subset_selectors: [
          { fallback_policy: "KEYS_SUBSET" },
          { fallback_policy: "ANY_ENDPOINT", fallback_keys_subset: ["a"] }
        ]
      }
    })
  },
  {
    title: "subset fallback keys of another policy",
    rules: ["subset-fallback"],
    envoy: "refuses",
    says: "fallback_keys_subset can be set only for KEYS_SUBSET fallback_policy",
    config: withCluster({
      lb_subset_config: {
        subset_selectors: [{ keys: ["a", "b"], fallback_policy: "NO_FALLBACK", fallback_keys_subset: ["a"] }]
      }
    })
  },
  {
    title: "dynamic forward proxy rr",
    rules: ["cluster-provided"],
    envoy: "refuses",
    says: "cluster manager: cluster provided LB not specified but cluster",
    config: withCluster({
      type: undefined,
      load_assignment: undefined,
      cluster_type: {
        name: "envoy.clusters.dynamic_forward_proxy",
        typed_config: any("envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig", {
          dns_cache_config: { name: "x" }
        })
      }
    })
  },
  {
    title: "dynamic forward proxy cluster provided",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      type: undefined,
      lb_policy: "CLUSTER_PROVIDED",
      load_assignment: undefined,
      cluster_type: {
        name: "envoy.clusters.dynamic_forward_proxy",
        typed_config: any("envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig", {
          dns_cache_config: { name: "x" }
        })
      }
    })
  },
  {
    title: "strict dns cluster provided",
    rules: ["cluster-provided"],
    envoy: "refuses",
    says: "cluster manager: cluster provided LB specified but cluster",
    config: withCluster({ type: "STRICT_DNS", lb_policy: "CLUSTER_PROVIDED" })
  },
  {
    title: "subset keys fallback other",
    rules: ["subset-fallback"],
    envoy: "refuses",
    says: "fallback_keys_subset must be a subset of selector keys",
    config: withCluster({
      lb_subset_config: {
        subset_selectors: [{ keys: ["a", "b"], fallback_policy: "KEYS_SUBSET", fallback_keys_subset: ["c"] }]
      }
    })
  },
  {
    title: "subset keys fallback part",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      lb_subset_config: {
        subset_selectors: [{ keys: ["a", "b"], fallback_policy: "KEYS_SUBSET", fallback_keys_subset: ["b"] }]
      }
    })
  },
  {
    title: "subset keys fallback twice",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      lb_subset_config: {
        subset_selectors: [{ keys: ["a", "b"], fallback_policy: "KEYS_SUBSET", fallback_keys_subset: ["b", "b"] }]
      }
    })
  },
  {
    title: "subset and empty policy",
    rules: ["load-balancing-policy"],
    envoy: "refuses",
    says: "cluster: load_balancing_policy cannot be combined with lb_subset_confi",
    config: withCluster({ ...policy("round_robin", "RoundRobin"), lb_subset_config: {} })
  },
  {
    title: "http status 600",
    rules: ["health-check-statuses"],
    envoy: "refuses",
    says: "Invalid http expected status range: expecting end <= 600, but found en",
    config: withCluster({
      health_checks: [healthCheck({ http_health_check: { path: "/", expected_statuses: [{ start: 100, end: 601 }] } })]
    })
  },
  {
    title: "http status 100-600",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      health_checks: [healthCheck({ http_health_check: { path: "/", expected_statuses: [{ start: 100, end: 600 }] } })]
    })
  },
  {
    title: "http retriable statuses",
    rules: ["health-check-statuses"],
    envoy: "refuses",
    says: "Invalid http retriable status range: expecting start < end, but found",
    config: withCluster({
      health_checks: [healthCheck({ http_health_check: { path: "/", retriable_statuses: [{ start: 300, end: 200 }] } })]
    })
  },
  {
    title: "original_dst with policy",
    rules: ["cluster-provided"],
    envoy: "refuses",
    says: "cluster: LB policy ROUND_ROBIN is not valid for Cluster type ORIGINAL_",
    config: withCluster({ type: "ORIGINAL_DST", load_assignment: undefined, ...policy("round_robin", "RoundRobin") })
  },
  {
    title: "eds with a name in its load_assignment",
    rules: [],
    envoy: "accepts",
    config: {
      clusters: [edsCluster("web", { load_assignment: assignment("web", endpoint(80, "a.example")) })],
      endpoints: [assignment("web")]
    }
  }
]
