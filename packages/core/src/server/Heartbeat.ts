/**
 * TTL renewal.
 *
 * A resource with a TTL is renewed at every multiple of half its TTL. The times are the same for all streams, and so are the
 * heartbeats. A stream keeps no timer for it, only the time of its last renewal.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "TTL"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import { counted } from "../resource/Computed.js"
import type { Resource } from "../resource/Resource.js"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type { Protocol } from "../wire/Request.js"
import { AskedAliases } from "./AskedAliases.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as NameSet from "./NameSet.js"

/**
 * Which clients get TTLs. `declared`: those that declare the feature. Envoy does not declare it but honours TTLs: use `always`.
 *
 * @since 0.1.0
 */
export type Mode = "declared" | "always" | "never"

/**
 * Whether a client gets TTLs, by the `client_features` of its node. In state of the world it must also declare the wrapper
 * around a resource.
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

/**
 * ★ Resources that are removed as of a state of the group, and exist unchanged in the newest. Until the removal is sent the client
 * has them, and while that state waits nothing else renews them.
 *
 * @since 0.1.0
 */
export interface Returning {
  readonly newest: ResourceSet.ResourceSet
  readonly resources: ReadonlyArray<Resource>
}

/**
 * The {@link Returning} resources of a subscription.
 *
 * @param set the type as of that state
 * @param gone removed resources, besides those whose removal is pending
 * @since 0.1.0
 */
export const returning = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  newest: ResourceSet.ResourceSet,
  gone: ReadonlyMap<string, Resource | undefined>,
  protocol: Protocol
): Steps.Steps<Returning | undefined> {
  if (HashMap.isEmpty(newest.ttls)) return undefined
  const found = new Set<Resource>()
  const asked = new AskedAliases(self, newest)
  let count = 0
  const see = (before: Resource | undefined) => {
    const now = before && ResourceSet.get(newest, before.name)
    if (now?.ttl === undefined || now.fingerprint !== before?.fingerprint) return
    if (ResourceSet.get(set, now.name) !== undefined) return
    if (protocol === "StateOfTheWorld" || asked.isAsked(now)) found.add(now)
  }
  for (const { resource } of self.pendingRemovals.values()) {
    see(resource)
    if (++count % Steps.atOnce === 0) yield
  }
  for (const resource of gone.values()) {
    see(resource)
    if (++count % Steps.atOnce === 0) yield
  }
  return found.size === 0 ? undefined : { newest, resources: Array.from(found) }
}

/** How many resources of a set have each TTL. */
const lifetimes = ({ computed, ttls }: ResourceSet.ResourceSet): Steps.Once<HashMap.HashMap<number, number>> =>
  (computed.lifetimes ??= new Steps.Once(function* () {
    let found = HashMap.empty<number, number>()
    let count = 0
    for (const ttl of HashMap.values(ttls)) {
      found = counted(found, ttl, 1)
      if (++count % Steps.atOnce === 0) yield
    }
    return found
  }))

/** The resources of a set with each TTL. */
const expiring = (set: ResourceSet.ResourceSet): Steps.Steps<ReadonlyMap<number, ReadonlyArray<Resource>>> => {
  set.computed.expiring ??= new Steps.Once(function* () {
    const found = new Map<number, Array<Resource>>()
    let count = 0
    for (const [name, ttl] of set.ttls) {
      if (++count % Steps.atOnce === 0) yield
      const resource = ResourceSet.get(set, name)
      if (resource === undefined) continue
      const those = found.get(ttl)
      if (those === undefined) found.set(ttl, [resource])
      else those.push(resource)
    }
    return found
  })
  return set.computed.expiring.steps()
}

/**
 * Finds the TTLs of a type in some states of its group, in steps: {@link dueAt} takes no time then.
 *
 * @since 0.1.0
 */
export const find = function* (typeUrl: string, groups: Iterable<ResourceGroup | undefined>): Steps.Steps<void> {
  for (const group of groups) {
    if (group !== undefined) yield* lifetimes(ResourceGroups.set(group, typeUrl)).steps()
  }
}

const noneExpiring: ReadonlyMap<number, ReadonlyArray<Resource>> = new Map()

const periodsAt = (period: number, at: number): number => Math.floor(at / period)

/** The first renewal after a time. */
const nextAt = (at: number, ttl: number): number => (periodsAt(ttl / 2, at) + 1) * (ttl / 2)

/**
 * The time of the next heartbeat, in milliseconds; Infinity if there is nothing to renew.
 *
 * @since 0.1.0
 */
export const dueAt = (self: Subscription, set: ResourceSet.ResourceSet, returning: Returning | undefined): number => {
  if ((HashMap.isEmpty(set.ttls) && returning === undefined) || self.cursor === undefined)
    return Number.POSITIVE_INFINITY
  let due = Number.POSITIVE_INFINITY
  for (const ttl of HashMap.keys(lifetimes(set).toEnd())) due = Math.min(due, nextAt(self.renewedAt, ttl))
  for (const { ttl } of returning?.resources ?? []) {
    if (ttl !== undefined) due = Math.min(due, nextAt(self.renewedAt, ttl))
  }
  return due
}

/**
 * The resources to renew now. Only those that the client holds with their current content, from this stream or an earlier one:
 * it would reject other heartbeats.
 *
 * @since 0.1.0
 */
export const due = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  returning: Returning | undefined,
  protocol: Protocol,
  now: number
): Steps.Steps<ReadonlyArray<Resource>> {
  const { cursor, names, pendingRemovals } = self
  const wild = Subscriptions.isWild(self)
  const found: Array<Resource> = []
  const asked = new AskedAliases(self, set)
  const isDue = (ttl: number) => periodsAt(ttl / 2, now) > periodsAt(ttl / 2, self.renewedAt)
  let count = 0
  for (const [ttl, resources] of cursor === undefined ? noneExpiring : yield* expiring(set)) {
    if (!isDue(ttl)) continue
    for (const resource of resources) {
      if (++count % Steps.atOnce === 0) yield
      if (asked.isLong(resource)) yield* asked.prepare()
      const { name } = resource
      const isHeld = (by: string) => (wild ? cursor?.fingerprints.get(by) : names.get(by)) === resource.fingerprint
      // In state of the world nobody requests by an alias: a name equal to an alias belongs to another resource.
      const others = wild || protocol === "StateOfTheWorld" ? [] : asked.of(resource)
      // ★ A resource that returned before its removal was sent is still held, and nothing else renews it.
      const isBack = (by: string) => pendingRemovals.get(by)?.resource?.fingerprint === resource.fingerprint
      if ([name, ...others].some((by) => isBack(by) || isHeld(by))) found.push(resource)
    }
  }
  for (const resource of returning?.resources ?? []) {
    if (resource.ttl !== undefined && isDue(resource.ttl)) found.push(resource)
  }
  return found
}

/**
 * The names in `mayBeLost` after a renewal. ★ Resources that were removed have no part in it; if they come back before their
 * removal is sent, nothing else tells how long ago they were renewed.
 *
 * @param gone removed resources, besides those whose removal is pending
 * @since 0.1.0
 */
export const unrenewed = function* (
  { mayBeLost, pendingRemovals }: Subscription,
  set: ResourceSet.ResourceSet,
  gone: ReadonlyMap<string, Resource | undefined>,
  returning: Returning | undefined
): Steps.Steps<NameSet.NameSet> {
  if (pendingRemovals.size + gone.size + mayBeLost.size === 0) return mayBeLost
  // Names without a resource are dropped.
  const renewed = new Set(returning?.resources.map(({ name }) => name))
  const found = new Set(
    yield* Steps.filter(mayBeLost, (name) => renewed.has(name) || ResourceSet.get(set, name) !== undefined)
  )
  let count = 0
  const see = (name: string, resource: Resource | undefined) => {
    const own = resource?.name ?? name
    if (resource !== undefined && resource.ttl === undefined) return
    if (ResourceSet.get(set, own) === undefined && !renewed.has(own)) found.add(own)
  }
  for (const [name, { resource }] of pendingRemovals) {
    see(name, resource)
    if (++count % Steps.atOnce === 0) yield
  }
  for (const [name, resource] of gone) {
    see(name, resource)
    if (++count % Steps.atOnce === 0) yield
  }
  return NameSet.fromIterable(found)
}

/**
 * Whether a renewal must carry the body. The client may have lost the resource: it was not renewed for a whole TTL, or had no
 * part in the last renewal, or the client rejected the last heartbeat.
 *
 * @since 0.1.0
 */
export const isWhole = (self: Subscription, { name, ttl = 0 }: Resource, now: number): boolean =>
  // The period of the last renewal started at this multiple, not later than the renewal itself.
  self.mayBeLost.has(name) || now >= periodsAt(ttl / 2, self.renewedAt) * (ttl / 2) + ttl
