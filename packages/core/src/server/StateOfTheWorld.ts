/**
 * The state-of-the-world variant, one type on one stream: what a request means, and what a response holds.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Heartbeat from "./Heartbeat.js"
import type { StateOfTheWorldRequest } from "../wire/Request.js"
import type { Resource } from "../resource/Resource.js"
import * as Cursor from "../resource/Cursor.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Response from "../wire/Response.js"
import * as ResponseParts from "./ResponseParts.js"
import * as SharedResponse from "./SharedResponse.js"
import * as Steps from "../Steps.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as CursorAdvance from "./CursorAdvance.js"
import type { Flush } from "./Flush.js"
import { isRemoved } from "./Flush.js"
import * as HeldNames from "./HeldNames.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import type * as SubscriptionChanges from "./SubscriptionChanges.js"

/**
 * Whether a request is stale: it names a response that is not the last one, so its names may be older than what was
 * answered since. It is ignored whole. A nonce on a stream that was sent nothing comes from an earlier stream and means
 * nothing.
 *
 * @since 0.1.0
 */
export const isStale = (self: Subscription, request: StateOfTheWorldRequest): boolean =>
  request.responseNonce !== "" && self.sent !== undefined && self.sent.nonce !== request.responseNonce

const sameList = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a === b || (a.length === b.length && a.every((name, index) => name === b[index]))

/**
 * A request that is being taken, some names at a time.
 *
 * @since 0.1.0
 */
export interface Taking {
  readonly _tag: "StateOfTheWorld"
  readonly request: StateOfTheWorldRequest
  readonly first: boolean
  readonly before: Subscription
  /** The names of the request that were looked at, so many in each. One set of a hundred thousand takes 20 ms to make. */
  readonly wanted: ReadonlyArray<ReadonlySet<string>>
  readonly star: boolean
  /** The subscription as far as the names were taken. */
  readonly next: Subscription
  /** How many names were looked at: those of the request, then those that were listed before. */
  readonly at: number
}

/** Names in one set. */
const namesPerSet = 8_192

const isIn = (wanted: ReadonlyArray<ReadonlySet<string>>, name: string): boolean => {
  for (const names of wanted) if (names.has(name)) return true
  return false
}

/**
 * Begins to take the names of a request that is not stale.
 *
 * @since 0.1.0
 */
export const begin = function* (
  self: Subscription,
  request: StateOfTheWorldRequest,
  first: boolean
): Steps.Steps<Taking> {
  // Names, also `*`, end the legacy wildcard for good: it never gets here, see `subscribe`.
  const star = request.resourceNames.includes("*")
  const next = Subscriptions.draft(self)
  next.lastNames = request.resourceNames
  if (star && next.wildcard !== "explicit") yield* RequestedNames.addWildcard(next)
  return { _tag: "StateOfTheWorld", request, first, before: self, wanted: [], star, next, at: 0 }
}

/**
 * How many names there are to look at in all.
 *
 * @since 0.1.0
 */
export const sizeOf = (self: Taking): number => self.request.resourceNames.length + self.before.lastNames.length

/**
 * Looks at so many names more.
 *
 * @since 0.1.0
 */
export const advance = function* (self: Taking, count: number): Steps.Steps<Taking> {
  const { before, request, star } = self
  const { resourceNames } = request
  let { wanted } = self
  const next = Subscriptions.draft(self.next)
  const all = sizeOf(self)
  const heldByWildcard = !star && Subscriptions.isWild(before) ? before.cursor : undefined
  const added: Array<string> = []
  const kept: Array<string> = []
  const dropped: Array<string> = []
  let left = count
  let at = self.at
  for (; at < all && left > 0; at++) {
    const isNew = at < resourceNames.length
    if (isNew && at % namesPerSet === 0) wanted = [...wanted, new Set(resourceNames.slice(at, at + namesPerSet))]
    const name = (isNew ? resourceNames[at] : before.lastNames[at - resourceNames.length]) ?? "*"
    left -= RequestedNames.effort(name)
    if (name === "*") continue
    if (!isNew) {
      if (!isIn(wanted, name)) dropped.push(name)
      continue
    }
    if (!Subscriptions.hasName(before, name)) added.push(name)
    kept.push(name)
  }
  RequestedNames.addNames(next, added)
  // Also new names keep what the wildcard brought: if that is deleted, the client must be told.
  if (heldByWildcard !== undefined) yield* RequestedNames.keepHeld(next, heldByWildcard, kept)
  RequestedNames.removeNames(next, dropped)
  return { ...self, wanted, next, at }
}

/**
 * The subscription after all names were looked at.
 *
 * @since 0.1.0
 */
export const finish = function* ({ before, next: taken, request, star, wanted }: Taking): Steps.Steps<Subscription> {
  const next = Subscriptions.draft(taken)
  const isDropped = (name: string) => Subscriptions.hasName(before, name) && !isIn(wanted, name)
  if (!star) {
    next.pendingRemovals = yield* PendingRemovals.withoutMany(
      next.pendingRemovals,
      yield* Steps.filter(next.pendingRemovals.keys(), isDropped)
    )
    yield* RequestedNames.endWildcard(next)
  }
  // ★ Without a nonce it crossed the first response, and is not stale. Of that the client may hold what it gave up here
  // and asks for again: so it is told the state, also if that is empty.
  const isCrossing = before.sent !== undefined && request.responseNonce === ""
  const isOther = next.names !== before.names || next.wildcard !== before.wildcard
  if (isCrossing && isOther && !deletionsAreSilent(before)) next.mustReply = true
  return next
}

/**
 * Whether a request has the names of the one before it.
 *
 * @since 0.1.0
 */
export const isRepeated = (self: Subscription, { resourceNames }: StateOfTheWorldRequest): boolean =>
  sameList(self.lastNames, resourceNames)

/**
 * Takes the names of a request that is not stale: all of them, or as many as given and what is left to be taken.
 *
 * @since 0.1.0
 */
export const subscribe = function* (
  self: Subscription,
  request: StateOfTheWorldRequest,
  first: boolean,
  count: number
): Steps.Steps<Subscription | Taking> {
  const { resourceNames } = request
  if (!first && isRepeated(self, request)) return self
  if (first && resourceNames.length === 0) {
    const next = Subscriptions.draft(self)
    next.wildcard = "legacy"
    return next
  }
  // Listed names differ, so at least one of the two lists is not empty: a legacy wildcard that goes on never gets here.
  // ★ Names, also `*`, end the legacy wildcard for good; ★ an empty list after names is an unsubscription from all.
  const partialRequest = yield* advance(yield* begin(self, request, first), count)
  return partialRequest.at < sizeOf(partialRequest) ? partialRequest : yield* finish(partialRequest)
}

/**
 * Whether deletions of this type are never told: the client drops such resources when nothing refers to them any more.
 *
 * @since 0.1.0
 */
export const deletionsAreSilent = (self: Subscription): boolean => self.family === "by-name"

const unique = (resources: Iterable<Resource>): ReadonlyArray<Resource> => {
  const byName = new Map<string, Resource>()
  for (const resource of resources) byName.set(resource.name, resource)
  return Array.from(byName.values())
}

/** From so many names on it is looked at which is the smaller one: the names, or the set. */
const manyNames = 1_000

type Names = Pick<ReadonlySet<string>, "has" | "size"> & Iterable<string>

const namesOf = (names: HashMap.HashMap<string, unknown>): Names => ({
  size: HashMap.size(names),
  has: (name) => HashMap.has(names, name),
  [Symbol.iterator]: () => HashMap.keys(names)[Symbol.iterator]()
})

const forcedOf = (requested: HashSet.HashSet<string>): Names => ({
  size: HashSet.size(requested),
  has: (name) => HashSet.has(requested, name),
  [Symbol.iterator]: () => requested[Symbol.iterator]()
})

const named = function* (set: ResourceSet.ResourceSet, names: Names): Steps.Steps<Array<Resource>> {
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

/** The variant of a full state: a text that is there already, because it is asked for with each response. */
const fullVariant = (ttl: boolean): string => (ttl ? "sotw full true" : "sotw full false")

/**
 * {@link flush} of what is sent most, a change of few resources, to a client that waits for no answer and of whose resources none is
 * gone: by name, or in a full state that another stream was sent already. `undefined`: there is more to say, or to see.
 *
 * @since 0.1.0
 */
export const tell = (
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
 * Makes the next response and the state after it. `undefined`: there was nothing to say after all. `fresh` are the
 * resources that are new to the client.
 *
 * @since 0.1.0
 */
export const flush = (
  self: Subscription,
  flush: Flush
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, fresh: ReadonlyArray<Resource>]> =>
  self.family === "full-state" ? flushFullState(self, flush) : flushByName(self, flush)

/** Full state: what the response lacks, the client deletes. So each response has all that is subscribed to. */
const flushFullState = function* (
  self: Subscription,
  { changes, removals, set, ttl }: Flush
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, ReadonlyArray<Resource>]> {
  const wild = Subscriptions.isWild(self)
  const asked = yield* named(set, forcedOf(self.requested))
  const everything = self.cursor === undefined || self.resendAll
  const settled = Subscriptions.draft(self)
  settled.cursor = set.cursor
  settled.mustReply = false
  settled.resendAll = false
  settled.requested = Subscriptions.noNameSet
  const leaving = yield* PendingRemovals.leaving(self.pendingRemovals, self.sent, changes.gone)
  const deletes = removals !== "none" && Array.from(leaving.keys()).some((name) => isRemoved(removals, name))
  if (!self.mustReply && asked.length === 0 && changes.changed.length === 0 && !deletes) {
    return [yield* CursorAdvance.advance(settled, set, changes, false), undefined, []]
  }
  // Of who asks for the first time, all names are to be answered.
  const isAllAsked = HashSet.size(self.requested) === HashMap.size(self.names)
  const base = wild ? yield* ResourceSet.listing(set) : isAllAsked ? asked : yield* named(set, namesOf(self.names))
  const kept: Array<Resource> = []
  const pendingRemovals = new Map<string, Subscriptions.PendingRemoval>()
  let count = 0
  for (const [name, each] of leaving) {
    if (++count % Steps.atOnce === 0) yield
    // What the log no longer knows cannot be kept: this response deletes it.
    if (each.resource === undefined || isRemoved(removals, name)) continue
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
  if (!wild) settled.names = yield* HeldNames.hold(yield* HeldNames.release(self.names, changes.gone.keys()), base)
  settled.pendingRemovals = pendingRemovals
  const fresh = everything ? base : asked.length === 0 ? changes.changed : unique([...changes.changed, ...asked])
  return [settled, response, fresh]
}

/** By name: what the response lacks is as it was. So each response has what changed or was asked for. */
const flushByName = function* (
  self: Subscription,
  { changes, maxBytes, set, ttl, updates }: Flush
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, ReadonlyArray<Resource>]> {
  const first = self.cursor === undefined
  const wild = Subscriptions.isWild(self)
  const asked = yield* named(set, forcedOf(self.requested))
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

/**
 * A response that renews the TTLs of `due`. ★ Envoy renews nothing on a resource without its body, and deletes what a
 * full-state response lacks: so the resources themselves are sent again, for full-state types all of them. `bodyless`
 * asks for the form of the specification, which is of no use to a client that may have lost one.
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
  const isWhole = due.some((resource) => Heartbeat.isWhole(self, resource, now))
  if (bodyless && !isWhole) return Response.make({ ...base, heartbeats: due })
  if (self.family === "by-name") return Response.make({ ...base, resources: due })
  const all = Subscriptions.isWild(self) ? yield* ResourceSet.listing(set) : yield* named(set, namesOf(self.names))
  return Response.make({ ...base, resources: [...all, ...kept] })
}

/**
 * A response that also renews the TTLs of what is `due` and not in it. A full state has all that there is.
 *
 * @since 0.1.0
 */
export const withHeartbeats = (
  self: Subscription,
  response: Response.Response,
  due: ReadonlyArray<Resource>,
  bodyless: boolean,
  now: number
): Response.Response => {
  if (self.family === "full-state") return response
  const named = new Set(response.resources.map(({ name }) => name))
  const others = due.filter(({ name }) => !named.has(name))
  if (others.length === 0) return response
  const isWhole = others.some((resource) => Heartbeat.isWhole(self, resource, now))
  return bodyless && !isWhole
    ? { ...response, heartbeats: others }
    : { ...response, resources: [...response.resources, ...others] }
}
