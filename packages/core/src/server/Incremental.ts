/**
 * The incremental (delta) variant, one type on one stream: what a request means, and what a response holds.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Incremental xDS"
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Heartbeat from "./Heartbeat.js"
import * as HeldVersions from "../resource/HeldVersions.js"
import type { IncrementalRequest } from "../wire/Request.js"
import type { Resource } from "../resource/Resource.js"
import * as Cursor from "../resource/Cursor.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Response from "../wire/Response.js"
import * as ResponseParts from "./ResponseParts.js"
import type { Sorted } from "./ReturningClient.js"
import * as SharedResponse from "./SharedResponse.js"
import * as Steps from "../Steps.js"
import type { Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"
import * as AskedAliases from "./AskedAliases.js"
import type { Flush } from "./Flush.js"
import { isRemoved } from "./Flush.js"
import * as HeldNames from "./HeldNames.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import type * as SubscriptionChanges from "./SubscriptionChanges.js"

/**
 * A request that is being taken, some names at a time.
 *
 * @since 0.1.0
 */
export interface Taking {
  readonly _tag: "Incremental"
  readonly request: IncrementalRequest
  readonly first: boolean
  /** The subscription as far as the names were taken. */
  readonly next: Subscription
  /** How many were: those that are subscribed to, then those that are unsubscribed from. */
  readonly at: number
}

/**
 * How many names there are to take in all.
 *
 * @since 0.1.0
 */
export const sizeOf = ({ request }: Taking): number =>
  request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length

/**
 * Takes so many names more.
 *
 * @since 0.1.0
 */
export const advance = function* (self: Taking, count: number): Steps.Steps<Taking> {
  const { first, request } = self
  const { resourceNamesSubscribe, resourceNamesUnsubscribe } = request
  const next = Subscriptions.draft(self.next)
  const subscribed = resourceNamesSubscribe.length
  const all = sizeOf(self)
  const added: Array<string> = []
  let left = count
  let at = self.at
  for (; at < subscribed && left > 0; at++) {
    const name = resourceNamesSubscribe[at] ?? "*"
    left -= RequestedNames.effort(name)
    if (name === "*") {
      // Before the first answer everything is owed, but for what the client said it holds; now that is, too.
      if (!first && next.cursor === undefined && next.wildcard !== "legacy") next.resendAll = true
      yield* RequestedNames.addWildcard(next)
    } else {
      added.push(name)
    }
  }
  // ★ A name that is held already is sent again: the client may have forgotten it.
  RequestedNames.addNames(next, added)
  if (!first) RequestedNames.resendHeld(next, added)
  // ★ A legacy wildcard became `*` by the first name that was subscribed to.
  if (at >= subscribed && subscribed > 0 && next.wildcard === "legacy") next.wildcard = "explicit"
  for (; at < all && left > 0; at++) {
    const name = resourceNamesUnsubscribe[at - subscribed] ?? "*"
    left -= RequestedNames.effort(name)
    if (name === "*") {
      // A legacy wildcard is ended by no unsubscription; a `*` that is not held is no matter.
      if (next.wildcard === "explicit") yield* RequestedNames.dropWildcard(next)
    } else if (Subscriptions.hasName(next, name)) {
      // ★ What came by an alias, and is asked for by its own name now, the client has: Envoy asks again so.
      RequestedNames.keepAlias(next, name)
      RequestedNames.removeNames(next, [name])
      // The client drops what it gives up: there is nothing to delete.
      if (!Subscriptions.isWild(next)) next.pendingRemovals = PendingRemovals.without(next.pendingRemovals, [name])
      RequestedNames.resendHeld(next, [name])
      // ★ The client cannot know whether the wildcard has it: tell.
      if (next.wildcard !== "none") next.requested = HashSet.add(next.requested, name)
    }
  }
  return { ...self, next, at }
}

/**
 * Whether a request neither asks for names nor gives any up: an ACK or NACK.
 *
 * @since 0.1.0
 */
export const isAnswer = ({ resourceNamesSubscribe, resourceNamesUnsubscribe }: IncrementalRequest): boolean =>
  resourceNamesSubscribe.length === 0 && resourceNamesUnsubscribe.length === 0

/**
 * Takes what a request subscribes to and unsubscribes from: all of it, or as many names as given and what is left to be
 * taken. Nonces do not matter here: a stale one changes nothing about the subscription.
 *
 * @since 0.1.0
 */
export const subscribe = function* (
  self: Subscription,
  request: IncrementalRequest,
  first: boolean,
  count: number
): Steps.Steps<Subscription | Taking> {
  const { initialResourceVersions, resourceNamesSubscribe } = request
  if (!first && isAnswer(request)) return self
  const next = Subscriptions.draft(self)
  if (first) {
    next.initial = initialResourceVersions
    if (resourceNamesSubscribe.length === 0) next.wildcard = "legacy"
  }
  const partialRequest = yield* advance({ _tag: "Incremental", request, first, next, at: 0 }, count)
  return partialRequest.at < sizeOf(partialRequest) ? partialRequest : partialRequest.next
}

const noNames: ReadonlyArray<string> = []
const noResources: ReadonlyArray<Resource> = []

/**
 * {@link flush} of what is sent most: an update of few resources, known by their own names alone, to a client that nothing else is
 * due to and of whose resources none is gone. `undefined`: there is more to say, or to see.
 *
 * @since 0.1.0
 */
export const tell = (
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
  const alike = wild && HashMap.isEmpty(names)
  // In what responses differ that bring the same change. It is asked for with each response, so it is a text that is there mostly.
  const variant = String(maxBytes)
  const known = alike ? SharedResponse.known(set, cursor, variant) : undefined
  if (known !== undefined) return [next, known]
  if (changed.some((resource) => AskedAliases.askedAliases(self, set, resource).length > 0)) return undefined
  const response = Response.make({ protocol: "Incremental", typeUrl, version: set.version, resources: changed })
  if (!ResponseParts.isSmall(response, maxBytes)) return undefined
  if (!wild) next.names = HeldNames.holdFew(names, changed)
  return [next, alike ? Steps.toEnd(SharedResponse.of(set, cursor, variant, () => Steps.of(response))) : response]
}

/**
 * Makes the next response and the state after it. `undefined`: there was nothing to say after all. `fresh` are the
 * resources that are new to the client. `sorted`: what the client holds that comes back was looked at before, and what is gone is
 * told by somebody else.
 *
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

  const before = self.initial.size === 0 ? HeldVersions.none : yield* HeldVersions.compare(self.initial, set)
  const { included, held, lost, missing } = yield* answers(
    self,
    advanced ? self.requested : entailed(self, set),
    set,
    before,
    sorted?.heldMore === true
  )
  const isQuoting = first && before !== HeldVersions.none
  const gone = [...lost, ...(isQuoting ? yield* quotedInVain(self, set, before, sorted) : [])]

  let resources: ReadonlyArray<Resource>
  if (everything) {
    if (self.initial.size === 0 || self.resendAll) resources = yield* ResourceSet.listing(set)
    else if (included.size === 0 && HashSet.size(self.resendEvenIfHeld) === 0) {
      const unheld = yield* before.unheld()
      resources =
        before.others.size === 0
          ? unheld
          : yield* Steps.filter(unheld, (resource) => !isQuotedByAlias(before, resource))
    } else {
      const isSent = (resource: Resource) =>
        included.has(resource.name) || !holds(self, before, resource.name, resource)
      resources = yield* Steps.filter(yield* ResourceSet.listing(set), isSent)
    }
  } else if (included.size === 0) {
    resources = changed
  } else {
    const byName = new Map(included)
    for (const resource of changed) byName.set(resource.name, resource)
    resources = Array.from(byName.values())
  }

  let { pendingRemovals } = self
  if (advanced) for (const name of changes.superseded) gone.push(name)
  if (pendingRemovals.size > 0 || (advanced && changes.gone.size > 0)) {
    if (advanced) pendingRemovals = yield* PendingRemovals.leaving(pendingRemovals, self.sent, changes.gone)
    // What is sent now is what the client has from now on.
    const sent = new Set(resources.flatMap((each) => [each.name, ...AskedAliases.askedAliases(self, set, each)]))
    const back: Array<string> = []
    let count = 0
    for (const [name, { resource }] of pendingRemovals) {
      if (++count % Steps.atOnce === 0) yield
      if (!AskedAliases.isLost(self, set, name)) {
        back.push(name)
        // ★ What had that very name is not back: the name leads to another.
        const isOther = ResourceSet.find(set, name)?.name !== name && (resource === undefined || resource.name === name)
        if (isOther && (advanced || sent.has(name))) gone.push(name)
      }
      // The client may know it by the name it asked for or by its own: both are told.
      else if (isRemoved(removals, name)) gone.push(name)
      // What left its name to another goes with that one.
      else if (advanced && resource !== undefined && ResourceSet.isReplaced(set, resource)) gone.push(name)
    }
    pendingRemovals = yield* PendingRemovals.withoutMany(
      pendingRemovals,
      missing,
      gone,
      sent,
      advanced ? back : noNames
    )
    // What came back after the client asked for everything again is sent, even if it is as it was.
    if (self.resendAll) pendingRemovals = PendingRemovals.forgotten(pendingRemovals)
  }
  let absent: ReadonlyArray<string> = noNames
  const isVirtualHost = self.typeUrl === ResourceType.VirtualHost.typeUrl
  for (const name of missing) {
    // ★ A name that does not exist is told so at once; in silence the client waits for 15 seconds. ★ VHDS: by a resource
    // without a body. Envoy then answers 404 at once; on `removed_resources` its HTTP request would hang.
    if (!isVirtualHost || !Subscriptions.hasName(self, name)) gone.push(name)
  }
  // ★ No name may be in a response twice: the client would reject all of it. So what it holds is taken away first, and what
  // there is under that name, or that there is nothing, is said in a response of its own.
  const removedNames = new Set<string>()
  for (const name of gone) {
    removedNames.add(name)
    if (removedNames.size % Steps.atOnce === 0) yield
  }
  for (const name of openers) removedNames.delete(name)
  let aliases = yield* matchedAliases(self, set, resources)
  const later = new Set<string>()
  if (removedNames.size > 0) {
    const isLater = ({ name }: Resource) => aliases.get(name)?.some((alias) => removedNames.has(alias)) === true
    // Who was to be told by other names, too, is told then: nothing else would.
    for (const resource of yield* Steps.filter(resources, isLater)) {
      const isTold = (name: string) =>
        self.cursor !== undefined &&
        Cursor.nameAt(self.cursor, name) === resource.name &&
        Option.contains(HashMap.get(self.names, name), resource.fingerprint)
      for (const name of [resource.name, ...(aliases.get(resource.name) ?? noNames)]) {
        if (wild || (Subscriptions.hasName(self, name) && !isTold(name)) || removedNames.has(name)) later.add(name)
      }
    }
    if (later.size > 0) {
      const isNow = (resource: Resource) => !isLater(resource)
      resources = yield* Steps.filter(resources, isNow)
      aliases = yield* matchedAliases(self, set, resources)
    }
  }
  if (isVirtualHost) {
    const named = new Set([...resources.map(({ name }) => name), ...Array.from(aliases.values()).flat()])
    const hosts = missing.filter((name) => Subscriptions.hasName(self, name))
    for (const name of hosts) if (removedNames.has(name)) later.add(name)
    absent = Array.from(new Set([...openers, ...hosts])).filter((name) => !removedNames.has(name) && !named.has(name))
  }
  const removed = removedNames.size === 0 ? noNames : Array.from(removedNames)
  const isFree = (resource: Resource) =>
    AskedAliases.askedAliases(self, set, resource).every((name) => !later.has(name))
  const heartbeats =
    ttl && self.initial.size > 0 ? (yield* renewed(self, set, before, held, resources)).filter(isFree) : noResources

  const next = Subscriptions.draft(self)
  const aliasesOf = (resource: Resource) => AskedAliases.askedAliases(self, set, resource)
  if (!wild) {
    next.names = yield* HeldNames.hold(
      yield* HeldNames.release(self.names, [...missing, ...gone, ...(advanced ? changes.gone.keys() : [])]),
      [...resources, ...held],
      aliasesOf
    )
    if (advanced) next.names = yield* HeldNames.holdAgain(next.names, changes.returned, self.pendingRemovals)
  }
  // What is held back the client may have by another name: if that is over, too, before it is sent, it must be told.
  for (const name of wild ? [] : later) {
    const held = heldOf(self, ResourceSet.find(set, name))
    if (held !== undefined) next.names = HashMap.set(next.names, name, held)
  }
  next.cursor = advanced ? set.cursor : Cursor.ahead(self.cursor, resources, [...missing, ...gone], aliases)
  next.mustReply = false
  next.resendAll = false
  next.requested = later.size === 0 ? Subscriptions.noNameSet : HashSet.fromIterable(later)
  next.initial = Subscriptions.noVersions
  next.resendEvenIfHeld = Subscriptions.noNameSet
  next.pendingRemovals = pendingRemovals
  const isEmpty = resources.length + removed.length + absent.length + heartbeats.length === 0
  if (!self.mustReply && isEmpty) return [next, undefined, []]

  const matched = heartbeats.length === 0 ? aliases : yield* matchedAliases(self, set, [...resources, ...heartbeats])
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
  // Alike for every stream: all there is, or the difference between two revisions, when this client asked for no names.
  const alike = wild && HashMap.isEmpty(self.names) && HashSet.size(self.requested) === 0
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

/** What the client was sent of a resource by a name that it asked for. */
const heldOf = ({ cursor, names }: Subscription, resource: Resource | undefined): string | undefined => {
  if (cursor === undefined || resource === undefined) return undefined
  for (const [name, held] of names) {
    if (held !== "" && Cursor.nameAt(cursor, name) === resource.name) return held
  }
  return undefined
}

/** Ends at the first one: there may be a hundred thousand. */
const isSome = (names: Iterable<string>, is: (name: string) => boolean): boolean => {
  for (const name of names) if (is(name)) return true
  return false
}

/** What the client says that it holds, and must not hold any more. */
const quotedInVain = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  sorted: Sorted | undefined
): Steps.Steps<ReadonlyArray<string>> {
  const wild = Subscriptions.isWild(self)
  const isVirtualHost = self.typeUrl === ResourceType.VirtualHost.typeUrl
  const gone: Array<string> = []
  // ★ A client that asked by an alias may quote the name of the resource alone: then it may be another's alias by now.
  const isQuotedItself = (name: string): boolean => {
    if (before.others.has(name)) return true
    const own = ResourceSet.get(set, name)
    return own !== undefined && before.isHeld(own)
  }
  const mayHaveOthers =
    sorted?.mayHaveOthers ?? (!wild && isSome(HashMap.keys(self.names), (name) => !isQuotedItself(name)))
  let count = 0
  for (const [name, version] of before.others) {
    if (++count % Steps.atOnce === 0) yield
    // ★ Envoy quotes also openers and hosts that it was told do not exist: without a version. It holds nothing by them.
    if (isVirtualHost && version === "") continue
    const resource = ResourceSet.find(set, name)
    // What was asked for again is answered by name, and what was given up the client dropped: unless it has it by an alias, or
    // under a wildcard.
    if (HashSet.has(self.resendEvenIfHeld, name)) {
      const isDone = Subscriptions.hasName(self, name)
        ? resource === undefined || resource.name === name
        : !wild && !mayHaveOthers
      if (isDone) continue
    }
    if (resource === undefined || (mayHaveOthers && !AskedAliases.isAsked(self, set, resource))) gone.push(name)
    // What is gone under its own name may have left that to another as an alias. Of a name that is asked for it is not known
    // whether it was an alias then, too, but by the log.
    else if (resource.name !== name && !isQuoted(before, name, resource)) {
      if (!Subscriptions.hasName(self, name) || ResourceSet.hadOwn(set, name)) gone.push(name)
    }
  }
  if (mayHaveOthers) {
    const isUnasked = (resource: Resource) => !AskedAliases.isAsked(self, set, resource)
    for (const resource of yield* Steps.filter(yield* before.held(), isUnasked)) gone.push(resource.name)
  }
  return gone
}

/** Whether the client said, when it subscribed, that it holds a resource as it is: by its name, or by an alias. */
const holds = (self: Subscription, before: HeldVersions.Comparison, name: string, resource: Resource): boolean =>
  !self.resendAll &&
  !HashSet.has(self.resendEvenIfHeld, name) &&
  (before.isHeld(resource) || isQuoted(before, name, resource) || isQuotedByAlias(before, resource))

/**
 * Whether, of what the client said that it holds as it is, it may not know that a name leads there: then it would wait for it,
 * or take for it what it led to before. The name of a resource alone says it only of one that nothing else leads to.
 */
const mayNotKnow = (
  self: Subscription,
  requested: HashSet.HashSet<string>,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  heldMore: boolean
): ((name: string, resource: Resource) => boolean) => {
  let many: Set<Resource> | undefined
  let isOther = heldMore ? true : undefined
  return (name, resource) => {
    if (name === resource.name ? before.isHeld(resource) : isQuoted(before, name, resource)) return false
    if (Subscriptions.isWild(self) || HashSet.size(requested) < HashMap.size(self.names)) return true
    // Names were asked for again or given up, perhaps those by which the client had it: it may have forgotten it.
    if (HashSet.size(self.resendEvenIfHeld) > 0) return true
    many ??= ledToTwice(requested, set)
    if (many.has(resource)) return true
    // A domain that stands for many hosts may have had a better one beside it, which is gone.
    return !resource.aliases.includes(name) && (isOther ??= holdsOthers(set, before))
  }
}

const ledToTwice = (names: Iterable<string>, set: ResourceSet.ResourceSet): Set<Resource> => {
  const once = new Set<Resource>()
  const twice = new Set<Resource>()
  for (const name of names) {
    const resource = ResourceSet.find(set, name)
    if (resource === undefined) continue
    if (once.has(resource)) twice.add(resource)
    once.add(resource)
  }
  return twice
}

/** Whether the client holds something that is not so any more. */
const holdsOthers = (set: ResourceSet.ResourceSet, { others }: HeldVersions.Comparison): boolean => {
  for (const [name, version] of others) {
    if (version !== "" && ResourceSet.get(set, name)?.version !== version) return true
  }
  return false
}

/** Another resource may have had that name. So only the version of a content counts, and no label. */
const isQuoted = ({ others }: HeldVersions.Comparison, name: string, { fingerprint, version }: Resource): boolean =>
  version === fingerprint && others.get(name) === version

const isQuotedByAlias = (before: HeldVersions.Comparison, resource: Resource): boolean =>
  resource.aliases.some((alias) => isQuoted(before, alias, resource))

/** ★ What the client said that it holds with a TTL, and still is so: else it would lose it before the next renewal. */
const renewed = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  held: ReadonlyArray<Resource>,
  sent: ReadonlyArray<Resource>
): Steps.Steps<ReadonlyArray<Resource>> {
  if (HashMap.isEmpty(set.ttls)) return []
  const found = new Set(held.filter(({ ttl }) => ttl !== undefined))
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

interface Answers {
  readonly included: ReadonlyMap<string, Resource>
  /** What the client has from an earlier stream. */
  readonly held: ReadonlyArray<Resource>
  readonly missing: ReadonlyArray<string>
  /** What the client may hold and must not hold any more. */
  readonly lost: ReadonlyArray<string>
}

const noAnswers: Answers = { included: new Map(), held: [], missing: [], lost: [] }

/**
 * The names that are to be answered ahead of other changes, and those that lead elsewhere in what is sent with them: when it
 * is sent, the change that took these names from it is over, and nothing else would tell.
 */
const entailed = (self: Subscription, set: ResourceSet.ResourceSet): HashSet.HashSet<string> => {
  const { cursor, names } = self
  let { requested } = self
  if (cursor === undefined || HashMap.isEmpty(cursor.aliases) || HashSet.size(requested) === 0) return requested
  for (;;) {
    const sent = new Set(Array.from(requested, (name) => ResourceSet.find(set, name)?.name))
    let next = requested
    for (const name of HashMap.keys(names)) {
      const own = Cursor.nameAt(cursor, name)
      if (own === name || !sent.has(own) || HashSet.has(requested, name)) continue
      if (ResourceSet.find(set, name)?.name !== own) next = HashSet.add(next, name)
    }
    if (next === requested) return requested
    requested = next
  }
}

/** What there is under the names that are to be answered. */
const answers = function* (
  self: Subscription,
  requested: HashSet.HashSet<string>,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  heldMore: boolean
): Steps.Steps<Answers> {
  if (HashSet.size(requested) === 0) return noAnswers
  const included = new Map<string, Resource>()
  const held: Array<Resource> = []
  const missing: Array<string> = []
  const lost: Array<string> = []
  const { cursor } = self
  const isUnknown = mayNotKnow(self, requested, set, before, heldMore)
  let count = 0
  for (const name of requested) {
    if (++count % Steps.atOnce === 0) yield
    const resource = ResourceSet.find(set, name)
    // Asked for by an alias: the client may hold it by its own name.
    const own = cursor === undefined ? name : Cursor.nameAt(cursor, name)
    const isHeld = own !== name && Option.exists(HashMap.get(self.names, name), (content) => content !== "")
    const isOwnLost = () => !HashSet.has(requested, own) && AskedAliases.isLost(self, set, own)
    if (resource === undefined) {
      missing.push(name)
      if (own !== name && (isHeld || ResourceSet.get(set, own) === undefined) && isOwnLost()) lost.push(own)
    }
    // Given up under a `*` that is switched off: there is no wildcard that would have it.
    else if (!AskedAliases.isAsked(self, set, resource)) lost.push(name, resource.name)
    else {
      if (isHeld && own !== resource.name && isOwnLost()) lost.push(own)
      if (holds(self, before, name, resource) && !isUnknown(name, resource)) held.push(resource)
      else included.set(resource.name, resource)
    }
  }
  return { included, held, missing, lost }
}

/** The aliases under which a client asked for these resources. */
const matchedAliases = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  resources: ReadonlyArray<Resource>
): Steps.Steps<ReadonlyMap<string, ReadonlyArray<string>>> {
  const matched = new Map<string, ReadonlyArray<string>>()
  if (HashMap.isEmpty(self.names)) return matched
  let count = 0
  for (const resource of resources) {
    if (++count % Steps.atOnce === 0) yield
    const aliases = AskedAliases.askedAliases(self, set, resource)
    if (aliases.length > 0) matched.set(resource.name, aliases)
  }
  return matched
}

/**
 * A response that renews the TTLs of `due`: names, versions and TTLs without bodies, where the client cannot have lost them.
 *
 * @since 0.1.0
 */
export const heartbeat = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  due: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<Response.Response> {
  return Response.make({
    protocol: "Incremental",
    typeUrl: self.typeUrl,
    version: set.version,
    resources: due.filter((resource) => Heartbeat.isWhole(self, resource, now)),
    heartbeats: due.filter((resource) => !Heartbeat.isWhole(self, resource, now)),
    aliases: yield* matchedAliases(self, set, due),
    ttl: true
  })
}

/**
 * A response that also renews the TTLs of what is `due` and not in it.
 *
 * @since 0.1.0
 */
export const withHeartbeats = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  response: Response.Response,
  due: ReadonlyArray<Resource>,
  now: number
): Steps.Steps<Response.Response> {
  const { absent, heartbeats, removed, resources } = response
  const named = new Set([
    ...[...resources, ...heartbeats].map(({ name }) => name),
    ...Array.from(response.aliases.values()).flat(),
    ...removed,
    ...absent
  ])
  const known = yield* matchedAliases(self, set, due)
  const isOther = ({ name }: Resource) => ![name, ...(known.get(name) ?? [])].some((each) => named.has(each))
  const others = due.filter(isOther)
  if (others.length === 0) return response
  return {
    ...response,
    resources: [...resources, ...others.filter((resource) => Heartbeat.isWhole(self, resource, now))],
    heartbeats: [...heartbeats, ...others.filter((resource) => !Heartbeat.isWhole(self, resource, now))],
    aliases: new Map([...response.aliases, ...(yield* matchedAliases(self, set, others))])
  }
}
