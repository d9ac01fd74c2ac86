/**
 * Incremental: by which names a client asks for a resource that has aliases, and whether it is to have it.
 *
 * @since 0.1.0
 */
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import { type Subscription, isWild, hasName } from "./Subscription.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"

/** @since 0.1.0 */
export const noAliases: ReadonlyArray<string> = []

/**
 * Incremental: the names beside its own by which a resource was asked for.
 *
 * @since 0.1.0
 */
export const askedAliases = (
  { names, typeUrl }: Subscription,
  set: ResourceSet.ResourceSet,
  { aliases, name }: Resource
): ReadonlyArray<string> => {
  if (HashMap.isEmpty(names)) return noAliases
  const isHost =
    typeUrl === ResourceType.VirtualHost.typeUrl && [name, ...aliases].some(VirtualHostDiscovery.isWildcard)
  if (!isHost) return aliases.length === 0 ? noAliases : aliases.filter((alias) => HashMap.has(names, alias))
  // ★ A host that one of its domains stands for is an alias that the resource does not know.
  const isOther = (asked: string) => asked !== name && ResourceSet.find(set, asked)?.name === name
  return Array.from(HashMap.keys(names)).filter(isOther)
}

/**
 * Incremental: whether a resource is asked for, by wildcard, name or alias.
 *
 * @since 0.1.0
 */
export const isAsked = (self: Subscription, set: ResourceSet.ResourceSet, resource: Resource): boolean =>
  isWild(self) || hasName(self, resource.name) || askedAliases(self, set, resource).length > 0

/**
 * Incremental: whether there is a resource of that very name, and it is asked for.
 *
 * @since 0.1.0
 */
export const isServed = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean => {
  const resource = ResourceSet.get(set, name)
  return resource !== undefined && isAsked(self, set, resource)
}

/**
 * Incremental: whether a client that has something by a name is to have nothing by it: a name that it asked for leads
 * nowhere, or a resource of which it knows the name is gone or not asked for any more.
 *
 * @since 0.1.0
 */
export const isLost = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean =>
  hasName(self, name) ? ResourceSet.find(set, name) === undefined : !isServed(self, set, name)
