/**
 * Openers: the answer of a server without a VHDS wildcard to a client that subscribes to every virtual host.
 *
 * ★ Envoy starts VHDS with an empty subscription, and on reconnect with `*`. For each route configuration with VHDS it must
 * get, at once, a Resource without a body named `<route configuration>/`. Otherwise its listener stays closed for 15 s.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { isSame } from "../resource/Cursor.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import { openerOf } from "../resource/VirtualHostDiscovery.js"
import type { Draft } from "./StreamState.js"
import { find, put } from "./StreamState.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"

/** The openers for a set of route configurations; computed once per set. */
const wanted = (routes: ResourceSet.ResourceSet): ReadonlyArray<string> =>
  (routes.computed.openers ??= ResourceSet.all(routes)
    .filter((resource) => resource.onDemandVirtualHosts)
    .map((resource) => openerOf(resource.name)))

const nothing: ReadonlyArray<string> = []

/**
 * The openers that are due, and the subscription without openers of removed route configurations: if one comes back, its
 * listener must be opened again.
 *
 * @since 0.1.0
 */
export const due = (
  self: Subscription,
  group: ResourceGroup
): readonly [Subscription, openers: ReadonlyArray<string>] => {
  if (!ResourceType.isOf(self.typeUrl, ResourceType.VirtualHost) || self.wildcardEnabled || self.wildcard === "none") {
    return [self, nothing]
  }
  const routes = ResourceGroups.set(group, ResourceType.besides(self.typeUrl, ResourceType.RouteConfiguration))
  if (self.sentOpenersCursor !== undefined && isSame(self.sentOpenersCursor, routes.cursor)) return [self, nothing]
  const names = new Set(wanted(routes))
  const sent = NameSet.filter(self.sentOpeners, (name) => names.has(name))
  const openers = Array.from(names).filter((name) => !sent.has(name))
  // The cursor advances only when no opener is due any more.
  const next = Subscriptions.draft(self)
  next.sentOpeners = sent
  if (openers.length === 0) next.sentOpenersCursor = routes.cursor
  return [next, openers]
}

/**
 * Forgets openers of route configurations that are sent again: each may belong to a new listener, which waits for its opener.
 *
 * @since 0.1.0
 */
export const openAgain = (self: Draft, routes: Subscription, fresh: ReadonlyArray<Resource>): void => {
  const hosts = find(self, ResourceType.besides(routes.typeUrl, ResourceType.VirtualHost))
  if (hosts === undefined || hosts.sentOpeners.size === 0) return
  const sentOpeners = NameSet.removeAll(
    hosts.sentOpeners,
    fresh.map(({ name }) => openerOf(name))
  )
  if (sentOpeners.size === hosts.sentOpeners.size) return
  const next = Subscriptions.draft(hosts)
  next.sentOpeners = sentOpeners
  next.sentOpenersCursor = undefined
  self.subscriptions = put(self.subscriptions, next)
}
