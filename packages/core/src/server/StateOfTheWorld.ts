/**
 * The state-of-the-world variant, one type on one stream: the content of its responses.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import * as Cursor from "../resource/Cursor.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as ScopeKey from "../resource/ScopeKey.js"
import * as Steps from "../Steps.js"
import * as Response from "../wire/Response.js"
import * as CursorAdvance from "./CursorAdvance.js"
import { type Flush, isRemoved } from "./Flush.js"
import * as Heartbeat from "./Heartbeat.js"
import * as HeldNames from "./HeldNames.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as ResponseParts from "./ResponseParts.js"
import * as SharedResponse from "./SharedResponse.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"
import type * as SubscriptionChanges from "./SubscriptionChanges.js"
import * as NameSet from "./NameSet.js"

const unique = (resources: Iterable<Resource>): ReadonlyArray<Resource> => {
  const byName = new Map<string, Resource>()
  for (const resource of resources) byName.set(resource.name, resource)
  return Array.from(byName.values())
}

/** With more names than this, the smaller of names and set is searched. */
const manyNames = 1_000

const named = function* (set: ResourceSet.ResourceSet, names: NameSet.NameSet): Steps.Steps<Array<Resource>> {
  if (names.size > manyNames && names.size > ResourceSet.size(set)) {
    return yield* Steps.filter(yield* ResourceSet.listing(set), ({ name }) => names.has(name))
  }
  const found: Array<Resource> = []
  let count = 0
  for (const name of names) {
    if (++count % Steps.atOnce === 0) yield
    const resource = ResourceSet.get(set, name)
    if (resource !== undefined) found.push(resource)
  }
  return found
}

/** Key of a full-state response. A constant, because each response needs it. */
const fullVariant = (ttl: boolean): string => (ttl ? "sotw full true" : "sotw full false")

/**
 * Fast path of {@link flush} for the most frequent response: a change of few resources, by name, or in a full state that
 * another stream was already sent, to a client without requests and removals. `undefined` if this does not apply.
 *
 * @since 0.1.0
 */
export const flushFew = (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  { changed, gone }: SubscriptionChanges.Changes,
  maxBytes: number
): readonly [Subscriptions.Draft, Response.Response] | undefined => {
  const { family, pendingRemovals, cursor, names, typeUrl } = self
  if (cursor === undefined || changed.length > Steps.atOnce || gone.size + pendingRemovals.size > 0) return undefined
  const next = Subscriptions.draft(self)
  next.cursor = set.cursor
  const wild = Subscriptions.isWild(self)
  if (family === "full-state") {
    const known = wild ? SharedResponse.known(set, set.cursor, fullVariant(false)) : undefined
    return known && [next, known]
  }
  const response = Response.make({ protocol: "StateOfTheWorld", typeUrl, version: set.version, resources: changed })
  if (wild || !ResponseParts.isSmall(response, maxBytes)) return undefined
  next.names = HeldNames.holdFew(names, changed)
  return [next, response]
}

/**
 * Makes the next response, and the state after it; `undefined` if there is nothing to send after all. `fresh`: the resources
 * that are new to the client.
 *
 * @since 0.1.0
 */
export const flush = (
  self: Subscription,
  flush: Flush
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, fresh: ReadonlyArray<Resource>]> =>
  self.family === "full-state" ? flushFullState(self, flush) : flushByName(self, flush)

/** Full state: the client deletes what a response lacks, so each response has all subscribed resources. */
const flushFullState = function* (
  self: Subscription,
  { changes, removals, set, ttl }: Flush
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, ReadonlyArray<Resource>]> {
  const wild = Subscriptions.isWild(self)
  const asked = yield* named(set, self.requested)
  const everything = self.cursor === undefined || self.resendAll
  const next = Subscriptions.draft(self)
  next.cursor = set.cursor
  next.mustReply = false
  next.resendAll = false
  next.requested = Subscriptions.noNameSet
  const leaving = yield* PendingRemovals.leaving(self.pendingRemovals, self.sent, changes.gone)
  const deletes = removals !== "none" && Array.from(leaving.keys()).some((name) => isRemoved(removals, name))
  if (!self.mustReply && asked.length === 0 && changes.changed.length === 0 && !deletes) {
    return [yield* CursorAdvance.advance(next, set, changes, false), undefined, []]
  }
  // After a first request, all names are requested.
  const isAllAsked = self.requested.size === self.names.size
  const base = wild
    ? yield* ResourceSet.listing(set)
    : isAllAsked
      ? asked
      : yield* named(set, NameSet.ofTable(self.names))
  const kept: Array<Resource> = []
  const isTaken = yield* ScopeKey.takenBy(self.typeUrl, leaving.size > 0 ? changes.changed : [])
  const pendingRemovals = new Map<string, Subscriptions.PendingRemoval>()
  let count = 0
  for (const [name, each] of leaving) {
    if (++count % Steps.atOnce === 0) yield
    // A resource that the log no longer has cannot be kept: this response removes it.
    if (each.resource === undefined || isRemoved(removals, name)) continue
    // Two scopes with one key in one response would be rejected.
    if (isTaken(each.resource)) continue
    if (ResourceSet.get(set, name) !== undefined) continue
    pendingRemovals.set(name, each)
    kept.push(each.resource)
  }
  const made = Response.make({
    protocol: "StateOfTheWorld",
    typeUrl: self.typeUrl,
    version: ResourceSet.versionWith(set, kept),
    resources: kept.length === 0 ? base : [...base, ...kept],
    ttl
  })
  const isShared = wild && kept.length === 0
  const response = isShared ? yield* SharedResponse.of(set, set.cursor, fullVariant(ttl), () => Steps.of(made)) : made
  if (!wild) next.names = yield* HeldNames.hold(yield* HeldNames.release(self.names, changes.gone.keys()), base)
  next.pendingRemovals = pendingRemovals
  const fresh = everything ? base : asked.length === 0 ? changes.changed : unique([...changes.changed, ...asked])
  return [next, response, fresh]
}

/** By name: a resource that a response lacks is unchanged, so each response has what changed or was requested. */
const flushByName = function* (
  self: Subscription,
  { changes, maxBytes, set, ttl, updates }: Flush
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, ReadonlyArray<Resource>]> {
  const first = self.cursor === undefined
  const wild = Subscriptions.isWild(self)
  const asked = yield* named(set, self.requested)
  const everything = wild && (first || self.resendAll)
  const changed = updates ? changes.changed : []
  const resources = everything
    ? yield* ResourceSet.listing(set)
    : asked.length === 0
      ? changed
      : changed.length === 0
        ? asked
        : unique([...changed, ...asked])
  const advanced = first || everything || updates
  const next = Subscriptions.draft(self)
  if (!wild) {
    const kept = advanced ? yield* HeldNames.release(self.names, changes.gone.keys()) : self.names
    next.names = yield* HeldNames.hold(kept, resources)
  }
  if (advanced) next.cursor = set.cursor
  else {
    const missing = Array.from(self.requested).filter((name) => ResourceSet.get(set, name) === undefined)
    next.cursor = Cursor.ahead(self.cursor, resources, missing)
  }
  next.mustReply = false
  next.resendAll = false
  next.requested = Subscriptions.noNameSet
  if (resources.length === 0 && !self.mustReply) return [next, undefined, []]
  const { typeUrl } = self
  const make = () =>
    ResponseParts.split(
      Response.make({ protocol: "StateOfTheWorld", typeUrl, version: set.version, resources, ttl }),
      maxBytes
    )
  const response = everything
    ? yield* SharedResponse.of(set, set.cursor, `sotw full ${ttl} ${maxBytes}`, make)
    : self.cursor !== undefined && wild && asked.length === 0
      ? yield* SharedResponse.of(set, self.cursor, `sotw changed ${ttl} ${maxBytes}`, make)
      : yield* make()
  return [next, response, resources]
}

/** Whether the renewal of any of these must carry its body. */
const isAnyWhole = function* (
  self: Subscription,
  resources: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<boolean> {
  let count = 0
  for (const resource of resources) {
    if (Heartbeat.isWhole(self, resource, now)) return true
    if (++count % Steps.atOnce === 0) yield
  }
  return false
}

/**
 * A response that renews the TTLs of `due`. ★ In Envoy a resource without a body renews nothing, and a full-state response
 * deletes what it lacks. So the resources themselves are sent again; for full-state types, all of them. `bodyless` selects the
 * form of the specification, unless the client may have lost a resource.
 *
 * @since 0.1.0
 */
export const heartbeat = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  due: ReadonlyArray<Resource>,
  bodyless: boolean,
  now: number
): Steps.Steps<Response.Response> {
  const kept = Array.from(self.pendingRemovals.values()).flatMap(({ resource }) => resource ?? [])
  const version = ResourceSet.versionWith(set, kept)
  const base = { protocol: "StateOfTheWorld", typeUrl: self.typeUrl, version, ttl: true } as const
  const isWhole = bodyless && (yield* isAnyWhole(self, due, now))
  if (bodyless && !isWhole) return Response.make({ ...base, heartbeats: due })
  if (self.family === "by-name") return Response.make({ ...base, resources: due })
  const all = Subscriptions.isWild(self)
    ? yield* ResourceSet.listing(set)
    : yield* named(set, NameSet.ofTable(self.names))
  return Response.make({ ...base, resources: [...all, ...kept] })
}

/**
 * The response with renewals added for those `due` resources that it does not have. A full state has all of them.
 *
 * @since 0.1.0
 */
export const withHeartbeats = function* (
  self: Subscription,
  response: Response.Response,
  due: ReadonlyArray<Resource>,
  bodyless: boolean,
  now: number
): Steps.Steps<Response.Response> {
  if (self.family === "full-state") return response
  const named = new Set(response.resources.map(({ name }) => name))
  const others = yield* Steps.filter(due, ({ name }) => !named.has(name))
  if (others.length === 0) return response
  const isWhole = bodyless && (yield* isAnyWhole(self, others, now))
  return bodyless && !isWhole
    ? { ...response, heartbeats: others }
    : { ...response, resources: [...response.resources, ...others] }
}
