/** The configuration an Envoy starts with: where its control plane is, and which variant of the protocol to speak. */

/** How an Envoy gets its configuration. */
export interface Variant {
  readonly name: string
  /** `GRPC`: state of the world. `DELTA_GRPC`: incremental. `REST`: a poll for each subscription. */
  readonly apiType: "GRPC" | "DELTA_GRPC" | "REST"
  /** All types on one stream (ADS), or a stream for each subscription. */
  readonly aggregated: boolean
  /** Of `REST`. */
  readonly polling?: Polling
}

export const stateOfTheWorld: Variant = { name: "state of the world, ADS", apiType: "GRPC", aggregated: true }

export const incremental: Variant = { name: "incremental, ADS", apiType: "DELTA_GRPC", aggregated: true }

export const variants: ReadonlyArray<Variant> = [
  stateOfTheWorld,
  incremental,
  { name: "state of the world, separate services", apiType: "GRPC", aggregated: false },
  { name: "incremental, separate services", apiType: "DELTA_GRPC", aggregated: false }
]

/** How an Envoy polls. A control plane that knows long polling holds a poll for a part of `requestTimeout`. */
export interface Polling {
  /** Milliseconds between an answer and the next poll; Envoy adds up to as much again. */
  readonly refreshDelay: number
  /** Milliseconds. */
  readonly requestTimeout: number
}

/** Every type is polled for. It has no aggregated form. */
export const rest = (polling: Polling): Variant & { readonly polling: Polling } => ({
  name: "REST",
  apiType: "REST",
  aggregated: false,
  polling
})

/** The name of the static cluster that is the control plane. */
export const controlPlane = "xds"

const seconds = (milliseconds: number): string => `${milliseconds / 1000}s`

const apiConfigSource = ({ apiType, polling }: Variant) => {
  if (polling !== undefined) {
    return {
      api_type: apiType,
      transport_api_version: "V3",
      cluster_names: [controlPlane],
      refresh_delay: seconds(polling.refreshDelay),
      request_timeout: seconds(polling.requestTimeout)
    }
  }
  return grpcConfigSource(apiType)
}

const grpcConfigSource = (apiType: Variant["apiType"]) => ({
  api_type: apiType,
  transport_api_version: "V3",
  // The node of an Envoy is 60 KB.
  set_node_on_first_message_only: true,
  grpc_services: [
    {
      envoy_grpc: {
        cluster_name: controlPlane,
        // A control plane that comes back is found within a second.
        retry_policy: { retry_back_off: { base_interval: "0.1s", max_interval: "0.5s" } }
      }
    }
  ]
})

const http2 = {
  "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    explicit_http_config: { http2_protocol_options: {} }
  }
}

/** A layer of Envoy's runtime that it gets by RTDS, over one that the bootstrap has. */
export interface Runtime {
  /** The name of the `Runtime` resource. Envoy waits for it at its start, for up to 15 seconds. */
  readonly layer: string
  /** Key → value of the layer below. */
  readonly below: Readonly<Record<string, number | string | boolean>>
}

/** Envoy's bootstrap. Every port of its own is any free one, so that any number of Envoys run beside each other. */
export const make = (options: {
  readonly variant: Variant
  readonly node: { readonly id: string; readonly cluster: string }
  /** Where the control plane serves: `127.0.0.1:18000`. */
  readonly address: string
  /** Default: Envoy's runtime has no layer. */
  readonly runtime?: Runtime
}) => {
  const [address = "", port = ""] = options.address.split(":")
  const source = options.variant.aggregated
    ? { ads: {}, resource_api_version: "V3" }
    : { api_config_source: apiConfigSource(options.variant), resource_api_version: "V3" }
  return {
    node: options.node,
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: 0 } } },
    dynamic_resources: {
      ...(options.variant.aggregated && { ads_config: apiConfigSource(options.variant) }),
      cds_config: source,
      lds_config: source
    },
    ...(options.runtime !== undefined && {
      layered_runtime: {
        layers: [
          { name: "below", static_layer: options.runtime.below },
          { name: "discovered", rtds_layer: { name: options.runtime.layer, rtds_config: source } }
        ]
      }
    }),
    static_resources: {
      clusters: [
        {
          name: controlPlane,
          type: "STATIC",
          connect_timeout: "1s",
          // REST is HTTP/1.1, which needs no option.
          ...(options.variant.polling === undefined && { typed_extension_protocol_options: http2 }),
          load_assignment: {
            cluster_name: controlPlane,
            endpoints: [
              {
                lb_endpoints: [{ endpoint: { address: { socket_address: { address, port_value: Number(port) } } } }]
              }
            ]
          }
        }
      ]
    }
  }
}
