/** Where resources are fetched from, as far as a group can tell. */
import type {
  ApiConfigSource,
  ConfigSource,
  ExtensionConfigSource
} from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { Rds } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type { Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/**
 * Whether it is the server that the resource with the source came from; a file or another server is not. A source that does not
 * say it, which the rules of its fields refuse, names no other one.
 */
export const isHere = (source: ConfigSource | undefined): boolean => {
  if (source === undefined) return false
  const kind = source.configSourceSpecifier.case
  return kind === "ads" || kind === "self" || kind === undefined
}

// Types of APIs. Of aggregated ones Envoy takes some, for collections.
const rest: number = 1
const grpc: ReadonlyArray<number> = [2, 3]

const rule = "config-source"

const api = "api_config_source"

const secrets = "sds_config"

const ofApi = ({ clusterNames, grpcServices, refreshDelay, ...self }: ApiConfigSource, site: Site): void => {
  const apiType: number = self.apiType
  if (grpc.includes(apiType)) {
    if (clusterNames.length > 0) site.fault(rule, "must be empty: gRPC has grpc_services", [api, "cluster_names"])
    else if (grpcServices.length !== 1) site.fault(rule, "must have one service", [api, "grpc_services"])
  } else if (apiType === rest) {
    // ★ Of secrets Envoy takes the first name of any number, beside anything; if there is none, it does not refuse it: it ends.
    const isStrict = site.path.at(-1) !== secrets
    if (isStrict && grpcServices.length > 0)
      site.fault(rule, "must be empty: REST has cluster_names", [api, "grpc_services"])
    else if (clusterNames.length === 0 || (isStrict && clusterNames.length > 1))
      site.fault(rule, "must have one name", [api, "cluster_names"])
    else if (refreshDelay === undefined) site.fault(rule, "must be set for REST", [api, "refresh_delay"])
  }
}

/** Fields whose sources Envoy looks at when it reads them; of `config_source` there are more. */
const fields: ReadonlySet<unknown> = new Set(["eds_config", secrets])
const owners: ReadonlySet<unknown> = new Set(["rds", "vhds", "config_discovery"])

const isRead = ({ path }: Site): boolean => {
  const field = path.at(-1)
  return fields.has(field) || (field === "config_source" && owners.has(path.at(-2)))
}

const ofSource = ({ configSourceSpecifier: specifier }: ConfigSource, site: Site): void => {
  if (specifier.case === "apiConfigSource" && isRead(site)) ofApi(specifier.value, site)
}

/** ★ Rules of fields are not asked for in there. */
const ofExtension = ({ configSource }: ExtensionConfigSource, site: Site): void => {
  if (configSource === undefined || configSource.configSourceSpecifier.case !== undefined) return
  site.fault(rule, "must say where the configuration comes from", ["config_source"])
}

const ofRds = ({ configSource, routeConfigName }: Rds, site: Site): void => {
  // For those there may be a source that the peer was started with.
  if (configSource !== undefined || routeConfigName.startsWith("xdstp:")) return
  site.fault(rule, "must be set: the name is no xdstp", ["config_source"])
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<ConfigSource>("envoy.config.core.v3.ConfigSource", ofSource),
  Reading.of<ExtensionConfigSource>("envoy.config.core.v3.ExtensionConfigSource", ofExtension),
  Reading.of<Rds>("envoy.extensions.filters.network.http_connection_manager.v3.Rds", ofRds)
]
