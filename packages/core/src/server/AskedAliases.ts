/**
 * Incremental: the aliases by which a client requests a resource, and whether the client should have it.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import { type Subscription, isWild, hasName } from "./Subscription.js"

/**
 * An empty list of aliases.
 *
 * @since 0.1.0
 */
export const noAliases: ReadonlyArray<string> = []

/**
 * Incremental: the names other than its own by which a resource was requested.
 *
 * @since 0.1.0
 */
export const askedAliases = (
  { names, typeUrl }: Subscription,
  set: ResourceSet.ResourceSet,
  { aliases, name }: Resource
): ReadonlyArray<string> => {
  if (names.size === 0) return noAliases
  const isHost =
    ResourceType.isOf(typeUrl, ResourceType.VirtualHost) && [name, ...aliases].some(VirtualHostDiscovery.isWildcard)
  if (!isHost) return aliases.length === 0 ? noAliases : aliases.filter((alias) => names.has(alias))
  // ★ For a wildcard domain, every requested host that it matches best is an alias.
  const isOther = (asked: string) => asked !== name && ResourceSet.find(set, asked)?.name === name
  return Array.from(names.keys()).filter(isOther)
}

/**
 * Incremental: whether a resource is requested, by wildcard, name or alias.
 *
 * @since 0.1.0
 */
export const isAsked = (self: Subscription, set: ResourceSet.ResourceSet, resource: Resource): boolean =>
  isWild(self) || hasName(self, resource.name) || askedAliases(self, set, resource).length > 0

/**
 * Incremental: whether a resource of exactly this name exists and is requested.
 *
 * @since 0.1.0
 */
export const isServed = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean => {
  const resource = ResourceSet.get(set, name)
  return resource !== undefined && isAsked(self, set, resource)
}

/**
 * Incremental: whether the client must no longer hold anything under a name. A requested name: no resource has it. Another name
 * that the client knows: its resource is removed or no longer requested.
 *
 * @since 0.1.0
 */
export const isLost = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean =>
  hasName(self, name) ? ResourceSet.find(set, name) === undefined : !isServed(self, set, name)
