/**
 * The version of HTTP that a cluster's servers speak, as it says.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/extensions/upstreams/http/v3/http_protocol_options.proto
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"

/**
 * A version of HTTP.
 *
 * @since 0.1.0
 */
export type HttpVersion = "Http1" | "Http2"

const name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"

/**
 * What a cluster says of it; `undefined`: nothing, or that servers choose. ★ Clients of gRPC do not look at it, so options that
 * cannot be read are no mistake.
 *
 * @since 0.1.0
 */
export const make = (message: Cluster): HttpVersion | undefined => {
  const any = message.typedExtensionProtocolOptions[name]
  if (any === undefined) return deprecated(message)
  try {
    const { upstreamProtocolOptions: chosen } = fromBinary(HttpProtocolOptionsSchema, any.value)
    if (chosen.case !== "explicitHttpConfig") return undefined
    switch (chosen.value.protocolConfig.case) {
      case "httpProtocolOptions":
        return "Http1"
      case "http2ProtocolOptions":
        return "Http2"
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}

const deprecated = (message: Cluster): HttpVersion | undefined => {
  const { http2ProtocolOptions, httpProtocolOptions } = message
  if (http2ProtocolOptions !== undefined) return "Http2"
  return httpProtocolOptions === undefined ? undefined : "Http1"
}
