/** Mistakes in endpoints. */
import { ads, address, endpoint, assignment, edsCluster, routes, rdsManager, chain, listener } from "../Config.js"
import { withCluster, locality } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

const sotw = {
  resource_api_version: "V3",
  api_config_source: {
    api_type: "GRPC",
    transport_api_version: "V3",
    grpc_services: [{ envoy_grpc: { cluster_name: "web" } }]
  }
}

export const ofEndpoints: ReadonlyArray<Mistake> = [
  {
    title: "nothing wrong, EDS and RDS",
    rules: [],
    envoy: "accepts",
    config: {
      listeners: [listener({ filter_chains: [chain(rdsManager())] })],
      routes: [routes()],
      clusters: [edsCluster()],
      endpoints: [assignment("web")]
    }
  },
  {
    title: "eds without config",
    rules: ["eds-config"],
    envoy: "refuses",
    says: "cannot create an EDS cluster without an EDS config",
    config: { clusters: [edsCluster("web", { eds_cluster_config: undefined })], endpoints: [assignment("web")] }
  },
  {
    title: "eds with empty config",
    rules: ["eds-config"],
    envoy: "refuses",
    says: "Missing config source specifier in envoy::config::core::v3::ConfigSour",
    config: { clusters: [edsCluster("web", { eds_cluster_config: {} })], endpoints: [assignment("web")] }
  },
  {
    title: "eds with load_assignment",
    rules: [],
    envoy: "accepts",
    config: { clusters: [edsCluster("web", { load_assignment: assignment("web") })], endpoints: [assignment("web")] }
  },
  {
    title: "logical dns 2",
    rules: ["logical-dns-endpoint"],
    envoy: "refuses",
    says: "LOGICAL_DNS clusters must have a single locality_lb_endpoint and a sin",
    config: withCluster({
      type: "LOGICAL_DNS",
      load_assignment: assignment("web", endpoint(80, "a.example"), endpoint(81, "b.example"))
    })
  },
  {
    title: "logical dns 2 localities",
    rules: ["logical-dns-endpoint"],
    envoy: "refuses",
    says: "LOGICAL_DNS clusters must have a single locality_lb_endpoint and a sin",
    config: withCluster({
      type: "LOGICAL_DNS",
      load_assignment: { cluster_name: "web", endpoints: [locality({}), locality({})] }
    })
  },
  {
    title: "logical dns 1",
    rules: [],
    envoy: "accepts",
    config: withCluster({ type: "LOGICAL_DNS", load_assignment: assignment("web", endpoint(80, "a.example")) })
  },
  {
    title: "strict dns resolver",
    rules: ["dns-resolver-name"],
    envoy: "refuses",
    says: "STRICT_DNS clusters must NOT have a custom resolver name set",
    config: withCluster({
      type: "STRICT_DNS",
      load_assignment: assignment("web", {
        endpoint: { address: { socket_address: { address: "a", port_value: 1, resolver_name: "x" } } }
      })
    })
  },
  {
    title: "static hostname",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: a.example. Consider setting resolver_name or set",
    config: withCluster({ load_assignment: assignment("web", endpoint(80, "a.example")) })
  },
  {
    title: "static bad ip",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: 10.0.0.256. Consider setting resolver_name or se",
    config: withCluster({ load_assignment: assignment("web", endpoint(80, "10.0.0.256")) })
  },
  {
    title: "static ip leading zeros",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: 010.0.0.1. Consider setting resolver_name or set",
    config: withCluster({ load_assignment: assignment("web", endpoint(80, "010.0.0.1")) })
  },
  {
    title: "static ipv6 brackets",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: [::1]. Consider setting resolver_name or setting",
    config: withCluster({ load_assignment: assignment("web", endpoint(80, "[::1]")) })
  },
  ...["fe80::1%lo", "fe80::1%1", "ff02::1%lo", "2001:db8::1%1", "::%4294967295"].map((host): Mistake => ({
    title: `static ipv6 zone ${host}`,
    rules: [],
    envoy: "accepts",
    config: withCluster({ load_assignment: assignment("web", endpoint(80, host)) })
  })),
  ...["2001:db8::1%lo", "ff05::1%lo", "::%4294967296", "fe80::1%", "fe80::1%a b", "127.0.0.1%1"].map(
    (host): Mistake => ({
      title: `static ipv6 zone ${host}`,
      rules: ["ip-address"],
      envoy: "refuses",
      says: `malformed IP address: ${host}`,
      config: withCluster({ load_assignment: assignment("web", endpoint(80, host)) })
    })
  ),
  {
    title: "static address empty",
    rules: ["field"],
    envoy: "refuses",
    config: withCluster({ load_assignment: assignment("web", endpoint(80, "")) })
  },
  {
    title: "static port 0",
    rules: ["endpoint-port"],
    envoy: "accepts",
    config: withCluster({ load_assignment: assignment("web", endpoint(0)) })
  },
  {
    title: "static no address",
    rules: ["endpoint-address"],
    envoy: "refuses",
    says: "Address must be set",
    config: withCluster({ load_assignment: assignment("web", { endpoint: {} }) })
  },
  {
    title: "static no endpoint",
    rules: ["endpoint-address"],
    envoy: "refuses",
    says: "Address must be set",
    config: withCluster({ load_assignment: assignment("web", {}) })
  },
  {
    title: "strict dns no address",
    rules: ["endpoint-port"],
    envoy: "accepts",
    config: withCluster({ type: "STRICT_DNS", load_assignment: assignment("web", { endpoint: { hostname: "a" } }) })
  },
  {
    title: "logical dns no endpoint",
    rules: ["endpoint-port"],
    envoy: "accepts",
    config: withCluster({ type: "LOGICAL_DNS", load_assignment: assignment("web", {}) })
  },
  {
    title: "static additional address that is none",
    rules: ["endpoint-address"],
    envoy: "refuses",
    says: "Address must be set",
    config: withCluster({
      load_assignment: assignment("web", { endpoint: { address: address(1), additional_addresses: [{}] } })
    })
  },
  {
    title: "strict dns additional address that is none",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      type: "STRICT_DNS",
      load_assignment: assignment("web", { endpoint: { address: address(1), additional_addresses: [{}] } })
    })
  },
  {
    title: "static named port",
    rules: ["named-port"],
    envoy: "refuses",
    says: "t handle port specifier type 4. Consider setting resolver_name or sett",
    config: withCluster({
      load_assignment: assignment("web", {
        endpoint: { address: { socket_address: { address: "127.0.0.1", named_port: "http" } } }
      })
    })
  },
  {
    title: "static pipe",
    rules: [],
    envoy: "accepts",
    config: withCluster({ load_assignment: assignment("web", { endpoint: { address: { pipe: { path: "/tmp/x" } } } }) })
  },
  {
    title: "static pipe long",
    rules: ["pipe-path"],
    envoy: "refuses",
    says: "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    config: withCluster({
      load_assignment: assignment("web", { endpoint: { address: { pipe: { path: `/${"x".repeat(120)}` } } } })
    })
  },
  {
    title: "static pipe abstract",
    rules: ["pipe-path"],
    envoy: "refuses",
    says: "Cannot set mode for Abstract AF_UNIX sockets. Consider setting resolve",
    config: withCluster({
      load_assignment: assignment("web", { endpoint: { address: { pipe: { path: "@x", mode: 7 } } } })
    })
  },
  {
    title: "internal address",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      load_assignment: assignment("web", {
        endpoint: { address: { envoy_internal_address: { server_listener_name: "x" } } }
      })
    })
  },
  {
    title: "priority gap",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      load_assignment: { cluster_name: "web", endpoints: [locality({}), locality({ priority: 2 })] }
    })
  },
  {
    title: "locality twice",
    rules: [],
    envoy: "accepts",
    config: withCluster({ load_assignment: { cluster_name: "web", endpoints: [locality({}), locality({})] } })
  },
  {
    title: "endpoint twice",
    rules: [],
    envoy: "accepts",
    config: withCluster({ load_assignment: assignment("web", endpoint(), endpoint()) })
  },
  {
    title: "locality weights over",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      load_assignment: {
        cluster_name: "web",
        endpoints: [
          locality({ load_balancing_weight: 4294967295 }),
          locality({ locality: { region: "b" }, load_balancing_weight: 1 })
        ]
      }
    })
  },
  {
    title: "endpoint weights over",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      load_assignment: assignment(
        "web",
        { ...endpoint(), load_balancing_weight: 4294967295 },
        { ...endpoint(81), load_balancing_weight: 1 }
      )
    })
  },
  {
    title: "endpoint weight 0",
    rules: ["field"],
    envoy: "refuses",
    config: withCluster({ load_assignment: assignment("web", { ...endpoint(), load_balancing_weight: 0 }) })
  },
  {
    title: "two drops",
    rules: ["drop-overload"],
    envoy: "refuses",
    says: "Cluster drop_overloads config has 2 categories. Envoy only support one",
    config: withCluster({
      load_assignment: {
        ...assignment("web"),
        policy: {
          drop_overloads: [
            { category: "a", drop_percentage: { numerator: 1 } },
            { category: "b", drop_percentage: { numerator: 1 } }
          ]
        }
      }
    })
  },
  {
    title: "drop over 100",
    rules: ["drop-overload"],
    envoy: "refuses",
    says: "Cluster drop_overloads config is invalid. drop_ratio=1.01(Numerator 10",
    config: withCluster({
      load_assignment: {
        ...assignment("web"),
        policy: { drop_overloads: [{ category: "a", drop_percentage: { numerator: 101 } }] }
      }
    })
  },
  {
    title: "assignment of other name",
    rules: [],
    envoy: "accepts",
    config: withCluster({ load_assignment: assignment("other") })
  },
  {
    title: "named endpoint",
    rules: ["endpoint-address"],
    envoy: "refuses",
    says: "Address must be set",
    config: withCluster({
      load_assignment: { cluster_name: "web", endpoints: [{ lb_endpoints: [{ endpoint_name: "x" }] }] }
    })
  },
  {
    title: "leds",
    rules: ["leds"],
    envoy: "refuses",
    says: "LEDS is only supported when EDS is used. Static cluster web cannot use",
    config: withCluster({
      load_assignment: {
        cluster_name: "web",
        endpoints: [{ leds_cluster_locality_config: { leds_config: ads, leds_collection_name: "x" } }]
      }
    })
  },
  ...(
    [
      ["plain name", "leds-collection", "x", ads],
      ["of a cluster", "leds-collection", "xdstp://a/envoy.config.cluster.v3.Cluster/x/*", ads],
      ["list", "leds-collection", "xdstp://a/envoy.config.endpoint.v3.LbEndpointCollection/x", ads],
      ["sotw", "leds-source", "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*", sotw],
      ["self", "leds-source", "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*", { self: {} }]
    ] as const
  ).map(([title, rule, name, source]): Mistake => ({
    title: `leds ${title}`,
    rules: [rule],
    envoy: "accepts",
    differs: "it comes by EDS, which refuses it",
    config: {
      clusters: [edsCluster("web")],
      endpoints: [
        {
          cluster_name: "web",
          endpoints: [
            {
              locality: { zone: "a" },
              leds_cluster_locality_config: { leds_config: source, leds_collection_name: name }
            }
          ]
        }
      ]
    }
  })),
  {
    title: "leds, as it should be",
    rules: [],
    envoy: "accepts",
    config: {
      clusters: [edsCluster("web")],
      endpoints: [
        {
          cluster_name: "web",
          endpoints: [
            {
              locality: { zone: "a" },
              leds_cluster_locality_config: {
                leds_config: ads,
                leds_collection_name: "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*"
              }
            }
          ]
        }
      ]
    }
  },
  {
    title: "additional address of endpoint",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: nope. Consider setting resolver_name or setting",
    config: withCluster({
      load_assignment: assignment("web", {
        endpoint: { address: address(1), additional_addresses: [{ address: address(1, "nope") }] }
      })
    })
  },
  {
    title: "strict dns port 0",
    rules: ["endpoint-port"],
    envoy: "accepts",
    config: withCluster({ type: "STRICT_DNS", load_assignment: assignment("web", endpoint(0, "a")) })
  },
  {
    title: "pipe of 107 bytes",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      load_assignment: assignment("web", { endpoint: { address: { pipe: { path: `/${"x".repeat(106)}` } } } })
    })
  },
  {
    title: "pipe of 108 bytes",
    rules: ["pipe-path"],
    envoy: "refuses",
    says: "exceeds maximum UNIX domain socket path size of 108.. Consider setting",
    config: withCluster({
      load_assignment: assignment("web", { endpoint: { address: { pipe: { path: `/${"x".repeat(107)}` } } } })
    })
  },
  {
    title: "eds cluster provided",
    rules: ["cluster-provided"],
    envoy: "refuses",
    says: "cluster manager: cluster provided LB specified but cluster",
    config: { clusters: [edsCluster("web", { lb_policy: "CLUSTER_PROVIDED" })], endpoints: [assignment("web")] }
  }
]
