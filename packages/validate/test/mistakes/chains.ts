/** Mistakes in the matches of filter chains. */
import { any, manager, chain, listenerFilter } from "../Config.js"
import { withListener, withNetwork } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

export const ofChains: ReadonlyArray<Mistake> = [
  {
    title: "chains with same empty match",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: "has the same matching rules defined as",
    config: withListener({ filter_chains: [chain(manager()), chain(manager())] })
  },
  {
    title: "chains with same server name",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      listener_filters: [listenerFilter("tls_inspector", "TlsInspector")],
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { server_names: ["a", "b"] } },
        { ...chain(manager()), filter_chain_match: { server_names: ["b", "c"] } }
      ]
    })
  },
  {
    title: "chains with same server name, other case",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { server_names: ["a"] } },
        { ...chain(manager()), filter_chain_match: { server_names: ["A"] } }
      ]
    })
  },
  {
    title: "chains with same ranges, differently spelled",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { prefix_ranges: [{ address_prefix: "10.0.0.1", prefix_len: 8 }] } },
        { ...chain(manager()), filter_chain_match: { prefix_ranges: [{ address_prefix: "10.0.0.2", prefix_len: 8 }] } }
      ]
    })
  },
  {
    title: "chains server name within one chain twice",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { server_names: ["a", "a"] } }] })
  },
  {
    title: "server name with star in the middle",
    rules: ["server-names"],
    envoy: "refuses",
    says: ": partial wildcards are not supported in",
    config: withListener({
      filter_chains: [{ ...chain(manager()), filter_chain_match: { server_names: ["www.*.com"] } }]
    })
  },
  {
    title: "server name *",
    rules: ["server-names"],
    envoy: "refuses",
    says: ": partial wildcards are not supported in",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { server_names: ["*"] } }] })
  },
  {
    title: "server name *com",
    rules: ["server-names"],
    envoy: "refuses",
    says: ": partial wildcards are not supported in",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { server_names: ["*com"] } }] })
  },
  {
    title: "server name a.*",
    rules: ["server-names"],
    envoy: "refuses",
    says: ": partial wildcards are not supported in",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { server_names: ["a.*"] } }] })
  },
  {
    title: "prefix range with host name",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: foo",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { prefix_ranges: [{ address_prefix: "foo", prefix_len: 8 }] } }
      ]
    })
  },
  {
    title: "prefix_len 40 of v4",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { prefix_ranges: [{ address_prefix: "10.0.0.0", prefix_len: 40 }] } }
      ]
    })
  },
  {
    title: "address_suffix",
    rules: ["filter-chain-match-fields"],
    envoy: "refuses",
    says: "contains unimplemented fields",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { address_suffix: "a" } }] })
  },
  {
    title: "suffix_len",
    rules: ["filter-chain-match-fields"],
    envoy: "refuses",
    says: "contains unimplemented fields",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { suffix_len: 3 } }] })
  },
  {
    title: "chain without filters",
    rules: [],
    envoy: "accepts",
    config: withNetwork()
  },
  {
    title: "chains with same port",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: "has the same matching rules defined as",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { destination_port: 1 } },
        { ...chain(manager()), filter_chain_match: { destination_port: 1 } }
      ]
    })
  },
  {
    title: "chains with different ports",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { destination_port: 1 } },
        { ...chain(manager()), filter_chain_match: { destination_port: 2 } },
        chain(manager())
      ]
    })
  },
  {
    title: "chains with same ipv6 ranges",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        {
          ...chain(manager()),
          filter_chain_match: { prefix_ranges: [{ address_prefix: "2001:db8::1", prefix_len: 32 }] }
        },
        {
          ...chain(manager()),
          filter_chain_match: { prefix_ranges: [{ address_prefix: "2001:0db8:0::", prefix_len: 32 }] }
        }
      ]
    })
  },
  {
    title: "chains with different ipv6 ranges",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        {
          ...chain(manager()),
          filter_chain_match: { prefix_ranges: [{ address_prefix: "2001:db8::1", prefix_len: 32 }] }
        },
        {
          ...chain(manager()),
          filter_chain_match: { prefix_ranges: [{ address_prefix: "2001:db8::", prefix_len: 33 }] }
        }
      ]
    })
  },
  {
    title: "chains with ::ffff:10.0.0.0 and ::ffff:a00:0",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        {
          ...chain(manager()),
          filter_chain_match: { prefix_ranges: [{ address_prefix: "::ffff:10.0.0.0", prefix_len: 128 }] }
        },
        {
          ...chain(manager()),
          filter_chain_match: { prefix_ranges: [{ address_prefix: "::ffff:a00:0", prefix_len: 128 }] }
        }
      ]
    })
  },
  {
    title: "chains prefix without len",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { prefix_ranges: [{ address_prefix: "10.0.0.0" }] } },
        { ...chain(manager()), filter_chain_match: { prefix_ranges: [{ address_prefix: "11.0.0.0" }] } }
      ]
    })
  },
  {
    title: "chains same alpn",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { application_protocols: ["h2", "a"] } },
        { ...chain(manager()), filter_chain_match: { application_protocols: ["h2"] } }
      ]
    })
  },
  {
    title: "chains alpn case",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { application_protocols: ["h2"] } },
        { ...chain(manager()), filter_chain_match: { application_protocols: ["H2"] } }
      ]
    })
  },
  {
    title: "chains transport case",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { transport_protocol: "tls" } },
        { ...chain(manager()), filter_chain_match: { transport_protocol: "TLS" } }
      ]
    })
  },
  {
    title: "chains same source port",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { source_ports: [1, 2] } },
        { ...chain(manager()), filter_chain_match: { source_ports: [2] } }
      ]
    })
  },
  {
    title: "chains source type",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { source_type: "EXTERNAL" } },
        { ...chain(manager()), filter_chain_match: { source_type: "SAME_IP_OR_LOOPBACK" } }
      ]
    })
  },
  {
    title: "chains source range and none",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        {
          ...chain(manager()),
          filter_chain_match: { source_prefix_ranges: [{ address_prefix: "10.0.0.0", prefix_len: 8 }] }
        },
        chain(manager())
      ]
    })
  },
  {
    title: "chains same source range",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        {
          ...chain(manager()),
          filter_chain_match: { source_prefix_ranges: [{ address_prefix: "10.0.0.0", prefix_len: 8 }] }
        },
        {
          ...chain(manager()),
          filter_chain_match: { source_prefix_ranges: [{ address_prefix: "10.1.0.0", prefix_len: 8 }] }
        }
      ]
    })
  },
  {
    title: "chains same direct source range",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: ": multiple filter chains with overlapping matching rules are defined",
    config: withListener({
      filter_chains: [
        {
          ...chain(manager()),
          filter_chain_match: { direct_source_prefix_ranges: [{ address_prefix: "10.0.0.0", prefix_len: 8 }] }
        },
        {
          ...chain(manager()),
          filter_chain_match: { direct_source_prefix_ranges: [{ address_prefix: "10.1.0.0", prefix_len: 8 }] }
        }
      ]
    })
  },
  {
    title: "chains *.a and *.a",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: "has the same matching rules defined as",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { server_names: ["*.a.com"] } },
        { ...chain(manager()), filter_chain_match: { server_names: ["*.a.com"] } }
      ]
    })
  },
  {
    title: "chains *.a and a",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chains: [
        { ...chain(manager()), filter_chain_match: { server_names: ["*.a.com"] } },
        { ...chain(manager()), filter_chain_match: { server_names: ["a.com", "x.a.com"] } }
      ]
    })
  },
  {
    title: "server name *.a*b",
    rules: [],
    envoy: "accepts",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: { server_names: ["*.a*b"] } }] })
  },
  {
    title: "chains empty match and none",
    rules: ["filter-chain-match-unique"],
    envoy: "refuses",
    says: "has the same matching rules defined as",
    config: withListener({ filter_chains: [{ ...chain(manager()), filter_chain_match: {} }, chain(manager())] })
  },
  {
    title: "chain with matcher, same match",
    rules: [],
    envoy: "accepts",
    config: withListener({
      filter_chain_matcher: {
        on_no_match: { action: { name: "a", typed_config: any("google.protobuf.StringValue", { value: "a" }) } }
      },
      filter_chains: [
        { name: "a", ...chain(manager()) },
        { name: "b", ...chain(manager()) }
      ]
    })
  },
  {
    title: "server names that differ in the case of a letter that is not ASCII",
    rules: [],
    envoy: "accepts",
    config: withListener({
      listener_filters: [listenerFilter("tls_inspector", "TlsInspector")],
      filter_chains: ["Ä.com", "ä.com"].map((name) => ({
        ...chain(manager()),
        filter_chain_match: { server_names: [name] }
      }))
    })
  }
]
