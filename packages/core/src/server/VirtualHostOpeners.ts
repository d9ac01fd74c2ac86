/**
 * How a server without a VHDS wildcard answers a client that asks for every virtual host.
 *
 * ★ Envoy begins VHDS with an empty subscription, and on reconnect with `*`. It gets, at once, for each route
 * configuration with VHDS a Resource without a body named `<route configuration>/`; else its listener stays closed for
 * 15 seconds.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashSet from "effect/HashSet"
import { isSame } from "../resource/Cursor.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import type { Resource } from "../resource/Resource.js"
import type { Draft } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import { openerOf } from "../resource/VirtualHostDiscovery.js"

/** The openers that a set of route configurations asks for; computed once for a set. */
const wanted = (routes: ResourceSet.ResourceSet): ReadonlyArray<string> =>
  (routes.computed.openers ??= ResourceSet.all(routes)
    .filter((resource) => resource.onDemandVirtualHosts)
    .map((resource) => openerOf(resource.name)))

const nothing: ReadonlyArray<string> = []

/**
 * The openers that are due, and the subscription after those of route configurations that are gone were forgotten: if
 * one comes back, its listener must be opened again.
 *
 * @since 0.1.0
 */
export const due = (
  self: Subscription,
  group: ResourceGroup
): readonly [Subscription, openers: ReadonlyArray<string>] => {
  if (self.typeUrl !== ResourceType.VirtualHost.typeUrl || self.wildcardEnabled || self.wildcard === "none") {
    return [self, nothing]
  }
  const routes = ResourceGroups.set(group, ResourceType.RouteConfiguration.typeUrl)
  if (self.openedRoutesCursor !== undefined && isSame(self.openedRoutesCursor, routes.cursor)) return [self, nothing]
  const names = new Set(wanted(routes))
  const opened = HashSet.filter(self.openedRoutes, (name) => names.has(name))
  const openers = Array.from(names).filter((name) => !HashSet.has(opened, name))
  // Only when nothing is due any more is the set done with.
  const next = Subscriptions.draft(self)
  next.openedRoutes = opened
  if (openers.length === 0) next.openedRoutesCursor = routes.cursor
  return [next, openers]
}

/**
 * A route configuration that is sent again may belong to a new listener, which waits for its opener.
 *
 * @since 0.1.0
 */
export const openAgain = (self: Draft, fresh: ReadonlyArray<Resource>): void => {
  const hosts = find(self, ResourceType.VirtualHost.typeUrl)
  if (hosts === undefined || HashSet.size(hosts.openedRoutes) === 0) return
  let { openedRoutes } = hosts
  for (const { name } of fresh) openedRoutes = HashSet.remove(openedRoutes, openerOf(name))
  if (HashSet.size(openedRoutes) === HashSet.size(hosts.openedRoutes)) return
  const next = Subscriptions.draft(hosts)
  next.openedRoutes = openedRoutes
  next.openedRoutesCursor = undefined
  self.subscriptions = put(self.subscriptions, next)
}
