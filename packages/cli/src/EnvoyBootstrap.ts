/**
 * The configuration that an Envoy starts with to get everything else from a control plane.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/overview/bootstrap
 * @since 0.1.0
 */
import type { Api } from "@effect-xds/proto/ResourceType"
import { isIP } from "node:net"
import { stringify } from "yaml"

/**
 * What the configuration says.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Of the Envoy: those before 1.18 know v2. Default: v3. */
  readonly api?: Api | undefined
  /** The control plane, as the Envoy reaches it: over TCP, or on a Unix socket. */
  readonly server: { readonly host: string; readonly port: number } | { readonly path: string }
  readonly nodeId: string
  readonly nodeCluster: string
  /** Other properties of the node. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** State of the world where it is false. Default true. */
  readonly incremental?: boolean | undefined
  /** Paths of PEM files, as the Envoy sees them. Default: in the clear. */
  readonly tls?:
    { readonly ca: string; readonly cert?: string | undefined; readonly key?: string | undefined } | undefined
}

/**
 * The name of the static cluster that is this server.
 *
 * @since 0.1.0
 */
export const controlPlane = "xds"

/** That the control plane is reached by HTTP/2. */
const http2 = {
  v2: { http2_protocol_options: {} },
  v3: {
    typed_extension_protocol_options: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        explicit_http_config: {
          http2_protocol_options: { connection_keepalive: { interval: "30s", timeout: "5s" } }
        }
      }
    }
  }
}

const tlsContexts = {
  v2: "type.googleapis.com/envoy.api.v2.auth.UpstreamTlsContext",
  v3: "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
}

const transportSocket = (api: Api, host: string, { ca, cert, key }: NonNullable<Options["tls"]>) => ({
  name: "envoy.transport_sockets.tls",
  typed_config: {
    "@type": tlsContexts[api],
    ...(isIP(host) === 0 && { sni: host }),
    common_tls_context: {
      ...(cert !== undefined &&
        key !== undefined && {
          tls_certificates: [{ certificate_chain: { filename: cert }, private_key: { filename: key } }]
        }),
      validation_context: { trusted_ca: { filename: ca } }
    }
  }
})

const addressOf = (server: Options["server"]) =>
  "host" in server
    ? { socket_address: { address: server.host, port_value: server.port } }
    : { pipe: { path: server.path } }

/**
 * The configuration as data. Everything comes on one aggregated stream (ADS).
 *
 * @since 0.1.0
 */
export const make = ({ api = "v3", incremental = true, metadata, nodeCluster, nodeId, server, tls }: Options) => ({
  node: { id: nodeId, cluster: nodeCluster, ...(metadata !== undefined && { metadata }) },
  dynamic_resources: {
    ads_config: {
      api_type: incremental ? "DELTA_GRPC" : "GRPC",
      transport_api_version: api.toUpperCase(),
      set_node_on_first_message_only: true,
      grpc_services: [{ envoy_grpc: { cluster_name: controlPlane } }]
    },
    cds_config: { ads: {}, resource_api_version: api.toUpperCase() },
    lds_config: { ads: {}, resource_api_version: api.toUpperCase() }
  },
  static_resources: {
    clusters: [
      {
        name: controlPlane,
        type: "host" in server && isIP(server.host) === 0 ? "STRICT_DNS" : "STATIC",
        connect_timeout: "1s",
        ...http2[api],
        load_assignment: {
          cluster_name: controlPlane,
          endpoints: [{ lb_endpoints: [{ endpoint: { address: addressOf(server) } }] }]
        },
        ...(tls !== undefined && "host" in server && { transport_socket: transportSocket(api, server.host, tls) })
      }
    ]
  },
  // An Envoy of v2 does not start without the path of this log.
  admin: {
    ...(api === "v2" && { access_log_path: "/dev/null" }),
    address: { socket_address: { address: "127.0.0.1", port_value: 9901 } }
  }
})

/**
 * The configuration as YAML, for `envoy -c FILE`. Envoy, as other readers of YAML 1.1, takes an unquoted `no` for a boolean.
 *
 * @since 0.1.0
 */
export const toYaml = (options: Options): string => stringify(make(options), { lineWidth: 0, compat: "yaml-1.1" })
