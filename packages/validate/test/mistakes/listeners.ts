/** Mistakes in listeners and their addresses. */
import { any, address, cluster, manager, rdsManager, chain, listener, listenerFilter, type Json } from "../Config.js"
import { withListener, quic, quicSocket } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

const inNamespace = (path: string): Json => ({
  socket_address: { address: "127.0.0.1", port_value: 10000, network_namespace_filepath: path }
})

export const ofListeners: ReadonlyArray<Mistake> = [
  {
    title: "nothing wrong",
    rules: [],
    envoy: "accepts",
    config: withListener({})
  },
  {
    title: "a listener without an address",
    rules: ["listener-address"],
    envoy: "refuses",
    says: "error adding listener named",
    config: withListener({ address: undefined })
  },
  {
    title: "a listener's port over 65535",
    rules: ["field"],
    envoy: "refuses",
    config: withListener({ address: address(70000) })
  },
  {
    title: "a listener's address that is a host name",
    rules: ["ip-address"],
    envoy: "refuses",
    says: "malformed IP address: localhost",
    config: withListener({ address: address(0, "localhost") })
  },
  {
    title: "a listener with named port",
    rules: ["named-port"],
    envoy: "refuses",
    says: "t handle port specifier type 4",
    config: withListener({ address: { socket_address: { address: "127.0.0.1", named_port: "http" } } })
  },
  {
    title: "a listener without filter chains",
    rules: ["filter-chains"],
    envoy: "refuses",
    says: ": no filter chains specified",
    config: withListener({ filter_chains: [] })
  },
  {
    title: "listener only default filter chain",
    rules: [],
    envoy: "accepts",
    config: withListener({ filter_chains: [], default_filter_chain: chain(manager()) })
  },
  {
    title: "two listeners of one address",
    rules: ["listener-address-unique"],
    envoy: "refuses",
    says: "as existing listener, to check if the listener has duplicated addresse",
    config: {
      listeners: [listener({ address: address(10000) }), listener({ name: "other", address: address(10000) })],
      clusters: [cluster()]
    }
  },
  {
    title: "two listeners of one address, port 0",
    rules: [],
    envoy: "accepts",
    config: { listeners: [listener(), listener({ name: "other" })], clusters: [cluster()] }
  },
  {
    title: "two listeners wildcard and one",
    rules: [],
    envoy: "accepts",
    config: {
      listeners: [
        listener({ address: address(10000) }),
        listener({ name: "other", address: address(10000, "0.0.0.0") })
      ],
      clusters: [cluster()]
    }
  },
  {
    title: "two listeners of one address, bind_to_port false both",
    rules: ["listener-address-unique"],
    envoy: "refuses",
    says: "as existing listener, to check if the listener has duplicated addresse",
    config: {
      listeners: [
        listener({ address: address(10000), bind_to_port: false }),
        listener({ name: "other", address: address(10000), bind_to_port: false })
      ],
      clusters: [cluster()]
    }
  },
  {
    title: "two listeners of one address, port 0, bind_to_port false both",
    rules: ["listener-address-unique"],
    envoy: "refuses",
    says: "as existing listener, to check if the listener has duplicated addresse",
    config: {
      listeners: [listener({ bind_to_port: false }), listener({ name: "other", bind_to_port: false })],
      clusters: [cluster()]
    }
  },
  ...[
    { title: "network namespaces", from: inNamespace("/run/netns/a"), to: inNamespace("/run/netns/b") },
    { title: "one network namespace, or none", from: inNamespace("/run/netns/a"), to: address(10000) },
    { title: "zones", from: address(10000, "fe80::1%1"), to: address(10000, "fe80::1%2") },
    { title: "one zone, or none", from: address(10000, "fe80::1%1"), to: address(10000, "fe80::1") }
  ].map(({ from, title, to }): Mistake => ({
    title: `two listeners of one address in two ${title}`,
    rules: [],
    envoy: "accepts",
    config: {
      listeners: [listener({ address: from }), listener({ name: "other", address: to })],
      clusters: [cluster()]
    }
  })),
  {
    title: "two listeners of one address in one zone",
    rules: ["listener-address-unique"],
    envoy: "refuses",
    says: "as existing listener, to check if the listener has duplicated addresse",
    config: {
      listeners: [
        listener({ address: address(10000, "fe80::1%1") }),
        listener({ name: "other", address: address(10000, "fe80:0::1%01") })
      ],
      clusters: [cluster()]
    }
  },
  {
    title: "additional address that is none",
    rules: ["listener-address"],
    envoy: "refuses",
    // Not in words: a running one ends, too.
    says: "ended with SIGABRT",
    config: withListener({ additional_addresses: [{}] })
  },
  {
    title: "additional address twice",
    rules: [],
    envoy: "accepts",
    config: withListener({ address: address(10001), additional_addresses: [{ address: address(10001) }] })
  },
  {
    title: "tcp and udp same port",
    rules: [],
    envoy: "accepts",
    config: {
      listeners: [
        listener({ address: address(10000) }),
        listener({
          name: "other",
          filter_chains: [],
          address: { socket_address: { protocol: "UDP", address: "127.0.0.1", port_value: 10000 } },
          listener_filters: [
            {
              name: "u",
              typed_config: any("envoy.extensions.filters.udp.dns_filter.v3.DnsFilterConfig", { stat_prefix: "x" })
            }
          ]
        })
      ],
      clusters: [cluster()]
    }
  },
  {
    title: "udp with chains",
    rules: ["filter-chains"],
    envoy: "refuses",
    says: ": 1 filter chain(s) specified for connection-less UDP listener",
    config: withListener({ address: { socket_address: { protocol: "UDP", address: "127.0.0.1", port_value: 0 } } })
  },
  {
    title: "listener filter unknown, no config",
    rules: ["typed-config"],
    envoy: "refuses",
    says: "t find a registered implementation for",
    config: withListener({ listener_filters: [{ name: "envoy.filters.listener.tls_inspector" }] })
  },
  {
    title: "proxy protocol after tls inspector",
    rules: [],
    envoy: "accepts",
    config: withListener({
      listener_filters: [
        listenerFilter("tls_inspector", "TlsInspector"),
        listenerFilter("proxy_protocol", "ProxyProtocol")
      ]
    })
  },
  {
    title: "rds name empty",
    rules: [],
    envoy: "accepts",
    config: { listeners: [listener({ filter_chains: [chain(rdsManager(""))] })], clusters: [cluster()] }
  },
  {
    title: "a QUIC listener without filter chains",
    rules: ["filter-chains"],
    envoy: "refuses",
    says: ": no filter chains specified",
    config: withListener({ ...quic, filter_chains: [] })
  },
  {
    title: "a QUIC listener whose manager is not for HTTP/3",
    rules: ["http3-listener", "secret-reference"],
    envoy: "refuses",
    says: "Non-HTTP/3 codec configured on QUIC listener",
    config: withListener({ ...quic, filter_chains: [{ filters: [manager()], transport_socket: quicSocket }] })
  },
  {
    title: "an internal listener has no address",
    rules: [],
    envoy: "refuses",
    says: ": InternalListener bootstrap extension is mandatory",
    differs: "Envoy must be started with an extension for internal listeners",
    config: withListener({ address: undefined, internal_listener: {} })
  },
  {
    title: "quic chains",
    rules: ["secret-reference"],
    envoy: "accepts",
    config: withListener({
      ...quic,
      filter_chains: [{ filters: [manager({ codec_type: "HTTP3" })], transport_socket: quicSocket }]
    })
  },
  {
    title: "listener addresses same, other spelling",
    rules: ["listener-address-unique"],
    envoy: "refuses",
    says: "as existing listener, to check if the listener has duplicated addresse",
    config: {
      listeners: [
        listener({ address: address(10000, "::1") }),
        listener({ name: "other", address: address(10000, "0:0::1") })
      ],
      clusters: [cluster()]
    }
  }
]
