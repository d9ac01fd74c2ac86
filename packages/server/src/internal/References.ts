/** The references between resources. */
import type { Message } from "@bufbuild/protobuf"
import { fromBinary, isMessage } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import type { ResourceKey } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import type { Cluster, Cluster_DiscoveryType } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { Listener } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import type {
  RouteAction_RequestMirrorPolicy,
  VirtualHost
} from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { ScopedRouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type {
  HttpConnectionManager,
  HttpConnectionManagerSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"

/** A decoded resource with its name. */
export interface Named {
  readonly name: string
  readonly message: Message
}

/** A reference, with its path in words. */
export interface Reference {
  readonly from: ResourceKey
  readonly to: ResourceKey
  readonly path: string
}

const readers: ReadonlyArray<ResourceType.ResourceType> = [
  ResourceType.Listener,
  ResourceType.RouteConfiguration,
  ResourceType.ScopedRouteConfiguration,
  ResourceType.VirtualHost,
  ResourceType.Cluster
]

/** Whether resources of a type refer to others. */
export const isReader = (typeUrl: string): boolean => readers.some((type) => type.typeUrl === typeUrl)

type Found = (type: ResourceType.ResourceType, name: string, path: string) => void

const quote = (word: string, name: string): string => `${word} ${JSON.stringify(name)}`

/** Whether a resource is fetched from this server, as far as the config source shows. */
const isHere = (source: ConfigSource | undefined): boolean => {
  const kind = source?.configSourceSpecifier.case
  return kind === undefined || kind === "ads" || kind === "self"
}

const ofMirrors = (policies: ReadonlyArray<RouteAction_RequestMirrorPolicy>, path: string, found: Found): void => {
  for (const { cluster } of policies) {
    // Empty: a header names the cluster.
    if (cluster !== "") found(ResourceType.Cluster, cluster, `${path} → mirror ${quote("cluster", cluster)}`)
  }
}

const ofVirtualHost = (virtualHost: VirtualHost, path: string, found: Found): void => {
  ofMirrors(virtualHost.requestMirrorPolicies, path, found)
  for (const { action } of virtualHost.routes) {
    if (action.case !== "route") continue
    const { clusterSpecifier, requestMirrorPolicies } = action.value
    ofMirrors(requestMirrorPolicies, path, found)
    if (clusterSpecifier.case === "cluster") {
      found(ResourceType.Cluster, clusterSpecifier.value, `${path} → ${quote("cluster", clusterSpecifier.value)}`)
    } else if (clusterSpecifier.case === "weightedClusters") {
      for (const { name } of clusterSpecifier.value.clusters) {
        if (name !== "") found(ResourceType.Cluster, name, `${path} → ${quote("cluster", name)}`)
      }
    }
  }
}

const ofRouteConfiguration = (routes: RouteConfiguration, path: string, found: Found): void => {
  ofMirrors(routes.requestMirrorPolicies, path, found)
  for (const virtualHost of routes.virtualHosts) {
    ofVirtualHost(virtualHost, `${path} → ${quote("virtual host", virtualHost.name)}`, found)
  }
}

const ofScope = (scope: ScopedRouteConfiguration, path: string, found: Found): void => {
  if (scope.routeConfiguration !== undefined) {
    ofRouteConfiguration(scope.routeConfiguration, `${path} → its own route`, found)
  } else if (scope.routeConfigurationName !== "") {
    const name = scope.routeConfigurationName
    found(ResourceType.RouteConfiguration, name, `${path} → ${quote("route", name)}`)
  }
}

const ofConnectionManager = (manager: HttpConnectionManager, path: string, found: Found): void => {
  const { routeSpecifier } = manager
  if (routeSpecifier.case === "rds") {
    const { configSource, routeConfigName } = routeSpecifier.value
    if (isHere(configSource) && routeConfigName !== "") {
      found(ResourceType.RouteConfiguration, routeConfigName, `${path} → ${quote("route", routeConfigName)}`)
    }
  } else if (routeSpecifier.case === "routeConfig") {
    ofRouteConfiguration(routeSpecifier.value, `${path} → its own route`, found)
  } else if (routeSpecifier.case === "scopedRoutes") {
    const { configSpecifier, rdsConfigSource } = routeSpecifier.value
    if (configSpecifier.case !== "scopedRouteConfigurationsList" || !isHere(rdsConfigSource)) return
    for (const scope of configSpecifier.value.scopedRouteConfigurations) {
      ofScope(scope, `${path} → ${quote("scoped route", scope.name)}`, found)
    }
  }
}

const unpack = (any: Any, schema: typeof HttpConnectionManagerSchema): HttpConnectionManager | undefined => {
  if (TypeRegistry.typeName(any.typeUrl) !== schema.typeName) return undefined
  try {
    return fromBinary(schema, any.value)
  } catch {
    return undefined
  }
}

const ofListener = (
  listener: Listener,
  schema: typeof HttpConnectionManagerSchema,
  path: string,
  found: Found
): void => {
  const packed: Array<Any> = []
  const chains = [...listener.filterChains]
  if (listener.defaultFilterChain !== undefined) chains.push(listener.defaultFilterChain)
  for (const { filters } of chains) {
    for (const { configType } of filters) if (configType.case === "typedConfig") packed.push(configType.value)
  }
  if (listener.apiListener?.apiListener !== undefined) packed.push(listener.apiListener.apiListener)
  for (const any of packed) {
    const manager = unpack(any, schema)
    if (manager !== undefined) ofConnectionManager(manager, path, found)
  }
}

const ofCluster = (cluster: Cluster, eds: Cluster_DiscoveryType, path: string, found: Found): void => {
  const { clusterDiscoveryType, edsClusterConfig } = cluster
  if (clusterDiscoveryType.case !== "type" || clusterDiscoveryType.value !== eds) return
  if (!isHere(edsClusterConfig?.edsConfig)) return
  const service = edsClusterConfig?.serviceName ?? ""
  const name = service === "" ? cluster.name : service
  found(ResourceType.ClusterLoadAssignment, name, `${path} → ${quote("endpoints", name)}`)
}

/** The references of resources, in order. Loads the types that it decodes. */
export const of = async (resources: ReadonlyArray<Named>): Promise<ReadonlyArray<Reference>> => {
  if (resources.length === 0) return []
  const [listeners, routes, scopes, virtualHosts, clusters, managers] = await Promise.all([
    ResourceType.Listener.load(),
    ResourceType.RouteConfiguration.load(),
    ResourceType.ScopedRouteConfiguration.load(),
    ResourceType.VirtualHost.load(),
    import("@effect-xds/proto/envoy/config/cluster/v3/cluster"),
    import("@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager")
  ])
  const references: Array<Reference> = []
  for (const { message, name } of resources) {
    const from: (type: ResourceType.ResourceType) => Found = (type) => (to, toName, path) => {
      references.push({
        from: { typeUrl: type.typeUrl, name },
        to: { typeUrl: to.typeUrl, name: toName },
        path
      })
    }
    if (isMessage(message, listeners)) {
      const found = from(ResourceType.Listener)
      ofListener(message, managers.HttpConnectionManagerSchema, quote("listener", name), found)
    } else if (isMessage(message, routes)) {
      ofRouteConfiguration(message, quote("route", name), from(ResourceType.RouteConfiguration))
    } else if (isMessage(message, scopes)) {
      ofScope(message, quote("scoped route", name), from(ResourceType.ScopedRouteConfiguration))
    } else if (isMessage(message, virtualHosts)) {
      ofVirtualHost(message, quote("virtual host", name), from(ResourceType.VirtualHost))
    } else if (isMessage(message, clusters.ClusterSchema)) {
      ofCluster(message, clusters.Cluster_DiscoveryType.EDS, quote("cluster", name), from(ResourceType.Cluster))
    }
  }
  return references
}
