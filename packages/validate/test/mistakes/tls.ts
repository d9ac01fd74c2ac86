/** Mistakes in TLS, and in what it is needed for. */
import { ads, manager, downstreamTls, upstreamTls, httpOptions } from "../Config.js"
import { withListener, withCluster, withTls, healthCheck, quic } from "./Groups.js"
import type { Mistake } from "./Mistake.js"

export const ofTls: ReadonlyArray<Mistake> = [
  {
    title: "server_name with no TLS",
    rules: ["server-certificate"],
    envoy: "refuses",
    says: "No TLS certificates found for server context",
    config: withTls({})
  },
  {
    title: "tls cert without key",
    rules: ["pem", "private-key"],
    envoy: "refuses",
    says: "Failed to load incomplete private key from path",
    config: withTls({ tls_certificates: [{ certificate_chain: { inline_string: "x" } }] })
  },
  {
    title: "tls cert garbage",
    rules: ["pem"],
    envoy: "refuses",
    says: "Failed to load certificate chain from <inline>",
    config: withTls({
      tls_certificates: [{ certificate_chain: { inline_string: "x" }, private_key: { inline_string: "x" } }]
    })
  },
  {
    title: "tls with inline and sds",
    rules: ["server-certificate", "pem", "secret-reference"],
    envoy: "refuses",
    says: "SDS and non-SDS TLS certificates may not be mixed in server contexts",
    config: withTls({
      tls_certificates: [{ certificate_chain: { inline_string: "x" }, private_key: { inline_string: "x" } }],
      tls_certificate_sds_secret_configs: [{ name: "s", sds_config: ads }]
    })
  },
  {
    title: "bad cipher",
    rules: [],
    envoy: "refuses",
    says: "Failed to initialize cipher suites FOO. The following ciphers were rej",
    differs: "names of ciphers are BoringSSL's, which grow with it",
    config: withCluster({ transport_socket: upstreamTls({ tls_params: { cipher_suites: ["FOO"] } }) })
  },
  {
    title: "sds name that is static",
    rules: [],
    envoy: "refuses",
    says: "Unknown static secret: s",
    differs: "static secrets are those that Envoy was started with",
    config: withTls({ tls_certificate_sds_secret_configs: [{ name: "s" }] })
  },
  {
    title: "two sds certs",
    rules: ["client-certificate", "secret-reference"],
    envoy: "refuses",
    says: "Multiple TLS certificates are not supported for client contexts",
    config: withCluster({
      transport_socket: upstreamTls({
        tls_certificate_sds_secret_configs: [
          { name: "s", sds_config: ads },
          { name: "t", sds_config: ads }
        ]
      })
    })
  },
  {
    title: "san without ca",
    rules: ["san-without-ca"],
    envoy: "refuses",
    says: "SAN-based verification of peer certificates without trusted CA is inse",
    config: withCluster({
      transport_socket: upstreamTls({
        validation_context: { match_typed_subject_alt_names: [{ san_type: "DNS", matcher: { exact: "a" } }] }
      })
    })
  },
  {
    title: "health check grpc auto",
    rules: [],
    envoy: "accepts",
    config: withCluster({
      ...httpOptions({ auto_config: { http2_protocol_options: {} } }),
      transport_socket: upstreamTls({}),
      health_checks: [healthCheck({ grpc_health_check: {} })]
    })
  },
  {
    title: "auto config without alpn",
    rules: ["alpn"],
    envoy: "refuses",
    says: "ALPN configured for cluster web which has a non-ALPN transport socket",
    config: withCluster({ ...httpOptions({ auto_config: {} }) })
  },
  {
    title: "socket of downstream",
    rules: ["extension-category", "server-certificate"],
    envoy: "refuses",
    says: "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
    config: withCluster({ transport_socket: downstreamTls({}) })
  },
  {
    title: "upstream tls in a listener",
    rules: ["extension-category"],
    envoy: "refuses",
    says: "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    config: withListener({ filter_chains: [{ filters: [manager()], transport_socket: upstreamTls({}) }] })
  },
  {
    title: "two client certificates",
    rules: ["client-certificate"],
    envoy: "refuses",
    says: "Multiple TLS certificates are not supported for client contexts",
    config: withCluster({
      transport_socket: upstreamTls({
        tls_certificates: [
          { certificate_chain: { filename: "/x" }, private_key: { filename: "/x" } },
          { certificate_chain: { filename: "/x" }, private_key: { filename: "/x" } }
        ]
      })
    })
  },
  {
    title: "quic with tls socket",
    rules: ["extension-category", "secret-reference"],
    envoy: "refuses",
    says: "error building filter chain for quic listener: wrong transport socket",
    config: withListener({
      ...quic,
      filter_chains: [
        {
          filters: [manager({ codec_type: "HTTP3" })],
          transport_socket: downstreamTls({ tls_certificate_sds_secret_configs: [{ name: "s", sds_config: ads }] })
        }
      ]
    })
  },
  {
    title: "secret with chain and no key in listener SDS",
    rules: ["private-key"],
    envoy: "accepts",
    differs: "--mode validate does not load secrets; a running Envoy refuses it",
    config: { listeners: [], secrets: [{ name: "s", tls_certificate: { certificate_chain: { filename: "/x" } } }] }
  },
  {
    title: "san with the authorities of the system",
    rules: ["san-without-ca"],
    envoy: "refuses",
    says: "SAN-based verification of peer certificates without trusted CA is insecure and not allowed",
    config: withCluster({
      transport_socket: upstreamTls({
        validation_context: {
          system_root_certs: {},
          match_typed_subject_alt_names: [{ san_type: "DNS", matcher: { exact: "a" } }]
        }
      })
    })
  }
]
