/**
 * When TTLs are renewed.
 *
 * A resource with a TTL is renewed at every multiple of half its TTL. The times are the same for every stream, so the
 * heartbeats are too; no stream keeps a timer for it, only the time of its last renewal.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "TTL"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import type { Protocol } from "./Request.js"
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"

/**
 * To whom TTLs are given. `declared`: to clients that declare the feature; Envoy does not, but honours TTLs all the
 * same, so there is `always`.
 *
 * @since 0.1.0
 */
export type Mode = "declared" | "always" | "never"

/**
 * Whether a client is given TTLs, by the `client_features` of its node. In state of the world a TTL needs a wrapper
 * around the resource, which a client declares by itself.
 *
 * @since 0.1.0
 */
export const isGiven = (mode: Mode, protocol: Protocol, clientFeatures: ReadonlyArray<string>): boolean =>
  mode === "always" ||
  (mode === "declared" &&
    clientFeatures.includes("xds.config.supports-resource-ttl") &&
    (protocol === "Incremental" ||
      clientFeatures.includes("xds.config.supports-resource-in-sotw") ||
      clientFeatures.includes("xds.config.resource-in-sotw")))

const periodsOf = new WeakMap<ResourceSet.ResourceSet, ReadonlyArray<number>>()

/** The different heartbeat periods in a set, in milliseconds. */
const periods = (set: ResourceSet.ResourceSet): ReadonlyArray<number> => {
  const known = periodsOf.get(set)
  if (known !== undefined) return known
  const made = Array.from(new Set(Array.from(HashMap.values(set.ttls), (ttl) => ttl / 2)))
  periodsOf.set(set, made)
  return made
}

const turn = (period: number, at: number): number => Math.floor(at / period)

/**
 * When the next heartbeat is due, in milliseconds; Infinity if there is nothing to renew.
 *
 * @since 0.1.0
 */
export const dueAt = (self: Subscription, set: ResourceSet.ResourceSet): number => {
  if (HashMap.isEmpty(set.ttls) || self.mark === undefined) return Number.POSITIVE_INFINITY
  let due = Number.POSITIVE_INFINITY
  for (const period of periods(set)) due = Math.min(due, (turn(period, self.renewedAt) + 1) * period)
  return due
}

/**
 * The resources of a subscription that are to be renewed now.
 *
 * @since 0.1.0
 */
export const due = (self: Subscription, set: ResourceSet.ResourceSet, now: number): ReadonlyArray<Resource> => {
  const wild = Subscriptions.isWild(self)
  const found: Array<Resource> = []
  for (const [name, ttl] of set.ttls) {
    if (turn(ttl / 2, now) <= turn(ttl / 2, self.renewedAt)) continue
    const resource = ResourceSet.get(set, name)
    if (resource === undefined) continue
    if (
      wild ||
      Subscriptions.hasName(self, name) ||
      resource.aliases.some((alias) => Subscriptions.hasName(self, alias))
    ) {
      found.push(resource)
    }
  }
  return found
}
