/** Extensions: whether they are configured, and by what their place takes. */
import type { AccessLog } from "@effect-xds/proto/envoy/config/accesslog/v3/accesslog"
import type { TransportSocket } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ExtensionConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { Filter, ListenerFilter } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import type { HttpFilter } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as ExtensionTypes from "../ExtensionTypes.js"
import * as ConfigSources from "./ConfigSources.js"
import type { Segment, Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/** Whether a type is one that a place takes. */
export const check = (
  site: Site,
  typeUrl: string,
  kind: string,
  prefixes: ReadonlyArray<string>,
  path: ReadonlyArray<Segment>
): void => {
  if (ExtensionTypes.isOf(typeUrl, prefixes)) return
  site.fault("extension-category", `must be ${kind}, is a ${TypeRegistry.typeName(typeUrl)}`, path)
}

interface Configured {
  readonly name: string
  readonly configType:
    | { readonly case: "typedConfig"; readonly value: { readonly typeUrl: string } }
    | { readonly case: "configDiscovery"; readonly value: ExtensionConfigSource }
    | { readonly case: undefined }
}

const configured = (site: Site, self: Configured, kind: string, prefixes: ReadonlyArray<string>): void => {
  const { case: form, value } = { value: undefined, ...self.configType }
  if (form === undefined) return site.fault("typed-config", "must be set", ["typed_config"])
  if (form === "configDiscovery") return discovered(site, self.name, value, kind, prefixes)
  if (value.typeUrl === "") site.fault("typed-config", "must have a type", ["typed_config"])
  else check(site, value.typeUrl, kind, prefixes, ["typed_config"])
}

const path = "config_discovery"

const discovered = (
  site: Site,
  name: string,
  self: ExtensionConfigSource,
  kind: string,
  prefixes: ReadonlyArray<string>
): void => {
  if (ConfigSources.isHere(self.configSource)) {
    site.refer("extension-reference", ResourceType.TypedExtensionConfig, name, [path])
  }
  ofDefault(site, self)
  // ★ Of network filters Envoy asks no more.
  if (prefixes === networkFilters) return
  for (const [index, typeUrl] of self.typeUrls.entries()) {
    const typeName = TypeRegistry.typeName(typeUrl)
    const where = [path, "type_urls", index]
    if (!TypeRegistry.has(typeName) && /^envoy\./.test(typeName)) {
      site.fault("config-discovery", `must be a type, ${typeName} is none`, where)
    } else if (!ExtensionTypes.isOf(typeUrl, prefixes)) {
      site.fault("config-discovery", `must be ${kind}, is a ${typeName}`, where)
    }
  }
  if (self.applyDefaultConfigWithoutWarming && self.defaultConfig === undefined) {
    site.fault("config-discovery", "must be set: the filter does not wait for another", [path, "default_config"])
  }
}

/** ★ What is in a Struct says its type in there. */
const ofDefault = (site: Site, { defaultConfig, typeUrls }: ExtensionConfigSource): void => {
  const typeName = TypeRegistry.typeName(defaultConfig?.typeUrl ?? "")
  if (!typeName.startsWith("envoy.") || typeUrls.some((typeUrl) => TypeRegistry.typeName(typeUrl) === typeName)) return
  site.fault("config-discovery", `must be of one of the type_urls, is a ${typeName}`, [path, "default_config"])
}

const networkFilters: ReadonlyArray<string> = ["envoy.extensions.filters.network."]

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<Filter>("envoy.config.listener.v3.Filter", (self, site) =>
    configured(site, self, "a network filter", networkFilters)
  ),
  Reading.of<ListenerFilter>("envoy.config.listener.v3.ListenerFilter", (self, site) =>
    configured(site, self, "a listener filter", ["envoy.extensions.filters.listener.", "envoy.extensions.filters.udp."])
  ),
  Reading.of<HttpFilter>("envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter", (self, site) => {
    // An optional filter that cannot be made is left out, but not one that is still to come.
    if (!self.isOptional || self.configType.case === "configDiscovery")
      configured(site, self, "an HTTP filter", ExtensionTypes.httpFilters)
  }),
  Reading.of<AccessLog>("envoy.config.accesslog.v3.AccessLog", (self, site) =>
    configured(site, self, "an access log", ["envoy.extensions.access_loggers."])
  ),
  Reading.of<TransportSocket>("envoy.config.core.v3.TransportSocket", (self, site) =>
    configured(site, self, "a transport socket", ["envoy.extensions.transport_sockets."])
  )
]
