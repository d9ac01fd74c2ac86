/**
 * The methods of the aggregated and the separate discovery services, of v3 and v2, by path. The messages of both versions
 * have the same fields, so only the paths differ on the wire.
 */
import { ResourceType } from "@effect-xds/proto"
import type { ClientTransport, ServerTransport } from "@effect-xds/transport"

const methods = new Map<string, ServerTransport.Method>()

const add = (service: string | undefined, name: string | undefined, method: ServerTransport.Method): void => {
  if (service !== undefined && name !== undefined) methods.set(`/${service}/${name}`, method)
}

const aggregated = { v2: ResourceType.aggregatedV2, v3: ResourceType.aggregated }

for (const { delta, service, stream } of Object.values(aggregated)) {
  add(service, stream, { protocol: "StateOfTheWorld", typeUrl: undefined, unary: false })
  add(service, delta, { protocol: "Incremental", typeUrl: undefined, unary: false })
}
for (const { typeUrl, service, stream, delta, fetch } of ResourceType.ofAllApis) {
  add(service, stream, { protocol: "StateOfTheWorld", typeUrl, unary: false })
  add(service, delta, { protocol: "Incremental", typeUrl, unary: false })
  add(service, fetch, { protocol: "StateOfTheWorld", typeUrl, unary: true })
}

/** The method with this path (`/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters`). */
export const find = (path: string): ServerTransport.Method | undefined => methods.get(path)

/**
 * The path of a streaming method; `undefined` if the type has no separate service.
 *
 * @param api the version of the aggregated service; a separate service has the version of its type
 */
export const pathOf = (
  { protocol, typeUrl }: ClientTransport.Method,
  api: ResourceType.Api = "v3"
): string | undefined => {
  const type = typeUrl === undefined ? aggregated[api] : ResourceType.byTypeUrl(typeUrl)
  const name = protocol === "StateOfTheWorld" ? type?.stream : type?.delta
  return type?.service === undefined || name === undefined ? undefined : `/${type.service}/${name}`
}
