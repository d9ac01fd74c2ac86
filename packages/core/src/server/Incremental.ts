/**
 * The incremental (delta) variant, one type on one stream: the content of its responses.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Incremental xDS"
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as Cursor from "../resource/Cursor.js"
import * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as ScopeKey from "../resource/ScopeKey.js"
import * as Steps from "../Steps.js"
import * as Response from "../wire/Response.js"
import { AskedAliases, isOfManyHosts } from "./AskedAliases.js"
import * as OnDemandNames from "./OnDemandNames.js"
import { type Flush, isRemoved } from "./Flush.js"
import * as Heartbeat from "./Heartbeat.js"
import * as HeldNames from "./HeldNames.js"
import { answers, areAllOwn, entailed, matchedAliases } from "./IncrementalAnswers.js"
import * as PendingRemovals from "./PendingRemovals.js"
import { quotedInVain, isQuotedByAlias, holds } from "./QuotedVersions.js"
import * as ResponseParts from "./ResponseParts.js"
import type { Sorted } from "./ReturningClient.js"
import * as SharedResponse from "./SharedResponse.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"
import type * as SubscriptionChanges from "./SubscriptionChanges.js"
import * as NameSet from "./NameSet.js"

/** The state of the group that a renewal is of, and what is renewed besides. */
interface Renewal {
  readonly set: ResourceSet.ResourceSet
  readonly returning: Heartbeat.Returning | undefined
}

const noNames: ReadonlyArray<string> = []

const noResources: ReadonlyArray<Resource> = []

/**
 * Fast path of {@link flush} for the most frequent response: an update of few resources, by their own names only, to a client
 * that needs nothing else and loses no resource. `undefined` if this does not apply.
 *
 * @since 0.1.0
 */
export const flushFew = (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  { changed, gone, superseded }: SubscriptionChanges.Changes,
  maxBytes: number
): readonly [Subscriptions.Draft, Response.Response] | undefined => {
  const { initial, pendingRemovals, cursor, names, typeUrl } = self
  if (cursor === undefined || changed.length > Steps.atOnce) return undefined
  if (gone.size + superseded.size + initial.size + pendingRemovals.size > 0) return undefined
  const next = Subscriptions.draft(self)
  next.cursor = set.cursor
  const wild = Subscriptions.isWild(self)
  const alike = wild && names.size === 0
  // Key of a response among those with the same change. Computed for each response, so it must be cheap.
  const variant = String(maxBytes)
  const known = alike ? SharedResponse.known(set, cursor, variant) : undefined
  if (known !== undefined) return [next, known]
  if (names.size > 0) {
    const asked = new AskedAliases(self, set)
    // Whether one of many hosts was requested may take long to say.
    if (changed.some((resource) => isOfManyHosts(self, resource) || asked.of(resource).length > 0)) return undefined
  }
  const response = Response.make({ protocol: "Incremental", typeUrl, version: set.version, resources: changed })
  if (!ResponseParts.isSmall(response, maxBytes)) return undefined
  if (!wild) next.names = HeldNames.holdFew(names, changed)
  return [next, alike ? Steps.toEnd(SharedResponse.of(set, cursor, variant, () => Steps.of(response))) : response]
}

/**
 * Makes the next response, and the state after it; `undefined` if there is nothing to send after all. `fresh`: the resources
 * that are new to the client.
 *
 * @param sorted what a returning client holds, sorted before; the caller sends its removals
 * @since 0.1.0
 */
export const flush = function* (
  self: Subscription,
  { changes, maxBytes, removals, set, ttl, updates }: Flush,
  openers: ReadonlyArray<string>,
  sorted?: Sorted
): Steps.Steps<readonly [Subscriptions.Draft, Response.Response | undefined, fresh: ReadonlyArray<Resource>]> {
  const wild = Subscriptions.isWild(self)
  const first = self.cursor === undefined
  const everything = wild && (first || self.resendAll)
  const advanced = first || everything || updates
  const changed = updates ? changes.changed : []

  const asked = new AskedAliases(self, set)
  const before = self.initial.size === 0 ? HeldVersions.none : yield* HeldVersions.compare(self.initial, set)
  const { included, held, lost, missing } = yield* answers(
    self,
    advanced ? self.requested : yield* entailed(self, set),
    set,
    asked,
    before,
    sorted?.heldMore === true
  )
  const isQuoting = first && before !== HeldVersions.none
  const vain = isQuoting ? yield* quotedInVain(self, set, before, sorted) : []
  const gone = [...lost, ...OnDemandNames.except(self, vain)]

  let resources: ReadonlyArray<Resource>
  if (everything) {
    if (self.initial.size === 0 || self.resendAll) resources = yield* ResourceSet.listing(set)
    else if (included.length === 0 && self.resendEvenIfHeld.size === 0) {
      const unheld = yield* before.unheld()
      resources =
        before.others.size === 0
          ? unheld
          : yield* Steps.filter(unheld, (resource) => !isQuotedByAlias(before, resource))
    } else {
      const answered = new Set(included)
      const isSent = (resource: Resource) => answered.has(resource) || !holds(self, before, resource.name, resource)
      resources = yield* Steps.filter(yield* ResourceSet.listing(set), isSent)
    }
  } else if (included.length === 0) {
    resources = changed
  } else if (changed.length === 0) {
    resources = included
  } else {
    const byName = new Map<string, Resource>()
    for (const each of [included, changed]) for (const resource of each) byName.set(resource.name, resource)
    resources = Array.from(byName.values())
  }

  let { pendingRemovals } = self
  if (advanced) for (const name of changes.superseded) gone.push(name)
  if (pendingRemovals.size > 0 || (advanced && changes.gone.size > 0)) {
    if (advanced) pendingRemovals = yield* PendingRemovals.leaving(pendingRemovals, self.sent, changes.gone)
    // The resources of this response are what the client has from now on.
    const sent = new Set<string>()
    let seen = 0
    for (const resource of resources) {
      if (asked.isLong(resource)) yield* asked.prepare()
      for (const name of [resource.name, ...asked.of(resource)]) {
        if (++seen % Steps.atOnce === 0) yield
        sent.add(name)
      }
    }
    const isTaken = yield* ScopeKey.takenBy(
      self.typeUrl,
      pendingRemovals.size > 0 && advanced ? resources : noResources
    )
    const back: Array<string> = []
    let count = 0
    for (const [name, { resource }] of pendingRemovals) {
      if (++count % Steps.atOnce === 0) yield
      yield* asked.ready(ResourceSet.get(set, name))
      if (!asked.isLost(name)) {
        back.push(name)
        // ★ The earlier resource of this name is not back: the name leads to another one.
        const isOther = ResourceSet.find(set, name)?.name !== name && (resource === undefined || resource.name === name)
        if (isOther && (advanced || sent.has(name))) gone.push(name)
      }
      // The client may know it by the requested name or by its own: both are removed.
      else if (isRemoved(removals, name)) gone.push(name)
      // A resource whose name or key belongs to another one now is removed together with that change.
      else if (advanced && resource !== undefined && (ResourceSet.isReplaced(set, resource) || isTaken(resource))) {
        gone.push(name)
      }
    }
    pendingRemovals = yield* PendingRemovals.withoutMany(
      pendingRemovals,
      missing,
      gone,
      sent,
      advanced ? back : noNames
    )
    // After a request for everything, a resource that comes back is sent, even if unchanged.
    if (self.resendAll) pendingRemovals = PendingRemovals.forgotten(pendingRemovals)
  }
  let absent: ReadonlyArray<string> = noNames
  const isVirtualHost = ResourceType.isOf(self.typeUrl, ResourceType.VirtualHost)
  for (const name of missing) {
    // ★ A missing name is answered at once; otherwise the client waits for 15 s. ★ VHDS: by a resource without a body. Envoy
    // then answers 404 at once; on `removed_resources` its HTTP request would hang.
    if (!isVirtualHost || !Subscriptions.hasName(self, name)) gone.push(name)
  }
  // ★ No name may occur twice in a response: the client would reject all of it. So this response removes what the client holds
  // under such a name, and a second one has the new resource, or reports it missing.
  const removedNames = new Set<string>()
  for (const name of gone) {
    removedNames.add(name)
    if (removedNames.size % Steps.atOnce === 0) yield
  }
  for (const name of openers) removedNames.delete(name)
  let aliases = yield* matchedAliases(self, asked, resources)
  const later = new Set<string>()
  if (removedNames.size > 0) {
    const isLater = ({ name }: Resource) => aliases.get(name)?.some((alias) => removedNames.has(alias)) === true
    // The second response also carries the other names of such a resource: nothing else would.
    for (const resource of yield* Steps.filter(resources, isLater)) {
      const isTold = (name: string) =>
        self.cursor !== undefined &&
        Cursor.nameAt(self.cursor, name) === resource.name &&
        self.names.get(name) === resource.fingerprint
      for (const name of [resource.name, ...(aliases.get(resource.name) ?? noNames)]) {
        if (wild || (Subscriptions.hasName(self, name) && !isTold(name)) || removedNames.has(name)) later.add(name)
      }
    }
    if (later.size > 0) {
      const isNow = (resource: Resource) => !isLater(resource)
      resources = yield* Steps.filter(resources, isNow)
      aliases = yield* matchedAliases(self, asked, resources)
    }
  }
  if (isVirtualHost) {
    const named = new Set([...resources.map(({ name }) => name), ...Array.from(aliases.values()).flat()])
    const hosts = missing.filter((name) => Subscriptions.hasName(self, name))
    for (const name of hosts) if (removedNames.has(name)) later.add(name)
    absent = Array.from(new Set([...openers, ...hosts])).filter((name) => !removedNames.has(name) && !named.has(name))
  }
  const removed = removedNames.size === 0 ? noNames : Array.from(removedNames)
  const isFree = (resource: Resource) => asked.of(resource).every((name) => !later.has(name))
  const heartbeats =
    ttl && self.initial.size > 0
      ? yield* Steps.filter(yield* renewed(self, set, before, held, resources), isFree)
      : noResources

  const next = Subscriptions.draft(self)
  const aliasesOf = (resource: Resource) => asked.of(resource)
  if (!wild) {
    next.names =
      resources === included && areAllOwn(self, set, included)
        ? yield* HeldNames.holdAll(included)
        : yield* HeldNames.hold(
            yield* HeldNames.release(self.names, [...missing, ...gone, ...(advanced ? changes.gone.keys() : [])]),
            [...resources, ...held],
            aliasesOf
          )
    if (advanced) next.names = yield* HeldNames.holdAgain(next.names, changes.returned, self.pendingRemovals)
  }
  // The client may hold a deferred resource under another name. If that is removed before the second response, the removal must
  // be sent.
  const kept = new HeldNames.HeldNamesDraft(next.names)
  const heldNow = wild || later.size === 0 ? noneHeld : yield* heldByName(self)
  for (const name of wild ? [] : later) {
    const held = heldNow.get(ResourceSet.find(set, name)?.name ?? "")
    if (held !== undefined) kept.set(name, held)
  }
  next.names = kept.end()
  next.cursor = advanced ? set.cursor : Cursor.ahead(self.cursor, resources, [...missing, ...gone], aliases)
  next.mustReply = false
  next.resendAll = false
  next.requested = later.size === 0 ? Subscriptions.noNameSet : NameSet.fromIterable(later)
  next.initial = Subscriptions.noVersions
  next.resendEvenIfHeld = Subscriptions.noNameSet
  next.pendingRemovals = pendingRemovals
  const isEmpty = resources.length + removed.length + absent.length + heartbeats.length === 0
  if (!self.mustReply && isEmpty) return [next, undefined, []]

  const matched = heartbeats.length === 0 ? aliases : yield* matchedAliases(self, asked, [...resources, ...heartbeats])
  const make = () =>
    ResponseParts.split(
      Response.make({
        protocol: "Incremental",
        typeUrl: self.typeUrl,
        version: set.version,
        resources,
        removed,
        heartbeats,
        absent,
        aliases: matched,
        ttl
      }),
      maxBytes
    )
  // The same for every stream without requested names: all resources, or the difference between two revisions.
  const alike = wild && self.names.size === 0 && self.requested.size === 0
  const response =
    alike && everything && self.initial.size === 0 && removed.length === 0
      ? yield* SharedResponse.of(set, set.cursor, `delta full ${ttl} ${maxBytes}`, make)
      : alike &&
          !everything &&
          self.cursor !== undefined &&
          self.pendingRemovals.size === 0 &&
          typeof removals === "string"
        ? yield* SharedResponse.of(set, self.cursor, `delta changed ${updates} ${removals} ${ttl} ${maxBytes}`, make)
        : yield* make()
  return [next, response, resources]
}

const noneHeld: ReadonlyMap<string, string> = new Map()

/** Resources that the client holds by a requested name, with the fingerprint of the first such name. */
const heldByName = function* ({ cursor, names }: Subscription): Steps.Steps<ReadonlyMap<string, string>> {
  if (cursor === undefined) return noneHeld
  const found = new Map<string, string>()
  let count = 0
  for (const [name, held] of names) {
    if (++count % Steps.atOnce === 0) yield
    if (held === "") continue
    const own = Cursor.nameAt(cursor, name)
    if (!found.has(own)) found.set(own, held)
  }
  return found
}

/** {@link matchedAliases} of renewed resources. */
const renewedAliases = function* (
  self: Subscription,
  { returning, set }: Renewal,
  resources: ReadonlyArray<Resource>
): Steps.Steps<ReadonlyMap<string, ReadonlyArray<string>>> {
  const asked = new AskedAliases(self, set)
  if (returning === undefined) return yield* matchedAliases(self, asked, resources)
  const back = new Set(returning.resources)
  const there = yield* Steps.filter(resources, (each) => back.has(each))
  const others = yield* Steps.filter(resources, (each) => !back.has(each))
  return new Map([
    ...(yield* matchedAliases(self, new AskedAliases(self, returning.newest), there)),
    ...(yield* matchedAliases(self, asked, others))
  ])
}

/** ★ Resources with a TTL that the client still holds from an earlier stream: it would lose them before the next renewal. */
const renewed = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  held: ReadonlyArray<Resource>,
  sent: ReadonlyArray<Resource>
): Steps.Steps<ReadonlyArray<Resource>> {
  if (HashMap.isEmpty(set.ttls)) return []
  const found = new Set(yield* Steps.filter(held, ({ ttl }) => ttl !== undefined))
  if (Subscriptions.isWild(self) && self.cursor === undefined) {
    let count = 0
    for (const name of HashMap.keys(set.ttls)) {
      if (++count % Steps.atOnce === 0) yield
      const resource = ResourceSet.get(set, name)
      if (resource !== undefined && holds(self, before, name, resource)) found.add(resource)
    }
  }
  for (const resource of sent) found.delete(resource)
  return Array.from(found)
}

/**
 * A response that renews the TTLs of `due`: without bodies, unless the client may have lost a resource.
 *
 * @since 0.1.0
 */
export const heartbeat = function* (
  self: Subscription,
  renewal: Renewal,
  due: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<Response.Response> {
  return Response.make({
    protocol: "Incremental",
    typeUrl: self.typeUrl,
    version: renewal.set.version,
    resources: yield* Steps.filter(due, (resource) => Heartbeat.isWhole(self, resource, now)),
    heartbeats: yield* Steps.filter(due, (resource) => !Heartbeat.isWhole(self, resource, now)),
    aliases: yield* renewedAliases(self, renewal, due),
    ttl: true
  })
}

/**
 * The response with renewals added for those `due` resources that it does not have.
 *
 * @since 0.1.0
 */
export const withHeartbeats = function* (
  self: Subscription,
  renewal: Renewal,
  response: Response.Response,
  due: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<Response.Response> {
  const { absent, heartbeats, removed, resources } = response
  const named = new Set([...removed, ...absent])
  let count = 0
  for (const { name } of [...resources, ...heartbeats]) {
    named.add(name)
    for (const alias of response.aliases.get(name) ?? noNames) named.add(alias)
    if (++count % Steps.atOnce === 0) yield
  }
  const known = yield* renewedAliases(self, renewal, due)
  const isOther = ({ name }: Resource) => ![name, ...(known.get(name) ?? noNames)].some((each) => named.has(each))
  const others = yield* Steps.filter(due, isOther)
  if (others.length === 0) return response
  return {
    ...response,
    resources: [...resources, ...(yield* Steps.filter(others, (each) => Heartbeat.isWhole(self, each, now)))],
    heartbeats: [...heartbeats, ...(yield* Steps.filter(others, (each) => !Heartbeat.isWhole(self, each, now)))],
    aliases: new Map([...response.aliases, ...(yield* renewedAliases(self, renewal, others))])
  }
}
