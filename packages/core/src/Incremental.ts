/**
 * The incremental (delta) variant, one type on one stream: what a request means, and what a response holds.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Incremental xDS"
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as InitialVersions from "./InitialVersions.js"
import type { IncrementalRequest } from "./Request.js"
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import * as Response from "./Response.js"
import * as SharedResponse from "./SharedResponse.js"
import type { Flush, Subscription } from "./Subscription.js"
import * as Subscriptions from "./Subscription.js"

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
export const advance = (self: Taking, count: number): Taking => {
  const { first, request } = self
  const { resourceNamesSubscribe, resourceNamesUnsubscribe } = request
  const next = Subscriptions.draft(self.next)
  const subscribed = resourceNamesSubscribe.length
  const all = sizeOf(self)
  let left = count
  let at = self.at
  for (; at < subscribed && left > 0; at++) {
    const name = resourceNamesSubscribe[at] ?? "*"
    left -= Subscriptions.effort(name)
    if (name === "*") {
      // Before the first answer everything is owed, but for what the client said it holds; now that is, too.
      if (!first && next.mark === undefined && next.wildcard !== "legacy") next.resync = true
      Subscriptions.addWildcard(next)
    } else {
      // ★ A name that is held already is sent again: the client may have forgotten it.
      Subscriptions.addName(next, name)
      if (!first) Subscriptions.insist(next, [name])
    }
  }
  // ★ A legacy wildcard became `*` by the first name that was subscribed to.
  if (at >= subscribed && subscribed > 0 && next.wildcard === "legacy") next.wildcard = "explicit"
  for (; at < all && left > 0; at++) {
    const name = resourceNamesUnsubscribe[at - subscribed] ?? "*"
    left -= Subscriptions.effort(name)
    if (name === "*") {
      // A legacy wildcard is ended by no unsubscription; a `*` that is not held is no matter.
      if (next.wildcard === "explicit") Subscriptions.dropWildcard(next)
    } else if (Subscriptions.hasName(next, name)) {
      Subscriptions.removeName(next, name)
      Subscriptions.insist(next, [name])
      // ★ The client cannot know whether the wildcard has it: tell.
      if (next.wildcard !== "none") next.forced = HashSet.add(next.forced, name)
    }
  }
  return { ...self, next, at }
}

/**
 * Takes what a request subscribes to and unsubscribes from: all of it, or as many names as given and what is left to be
 * taken. Nonces do not matter here: a stale one changes nothing about the subscription.
 *
 * @since 0.1.0
 */
export const subscribe = (
  self: Subscription,
  request: IncrementalRequest,
  first: boolean,
  count: number
): Subscription | Taking => {
  const { initialResourceVersions, resourceNamesSubscribe, resourceNamesUnsubscribe } = request
  if (!first && resourceNamesSubscribe.length === 0 && resourceNamesUnsubscribe.length === 0) return self
  const next = Subscriptions.draft(self)
  if (first) {
    next.initial = initialResourceVersions
    if (resourceNamesSubscribe.length === 0) next.wildcard = "legacy"
  }
  const taking = advance({ _tag: "Incremental", request, first, next, at: 0 }, count)
  return taking.at < sizeOf(taking) ? taking : taking.next
}

const noNames: ReadonlyArray<string> = []

/**
 * Makes the next response and the state after it. `undefined`: there was nothing to say after all. `fresh` are the
 * resources that are new to the client.
 *
 * @since 0.1.0
 */
export const flush = (
  self: Subscription,
  { changes, removals, set, ttl, updates }: Flush,
  openers: ReadonlyArray<string>
): readonly [Subscriptions.Draft, Response.Response | undefined, fresh: ReadonlyArray<Resource>] => {
  const wild = Subscriptions.isWild(self)
  const first = self.mark === undefined
  const everything = wild && (first || self.resync)
  const advanced = first || everything || updates
  const changed = updates ? changes.changed : []

  const before = self.initial.size === 0 ? InitialVersions.none : InitialVersions.compare(self.initial, set)
  const { included, held, lost, missing } = answers(self, set, before)
  const gone = [...lost]
  if (first) {
    for (const name of before.others.keys()) {
      // What was asked for again, or given up, is answered by name. But under a wildcard only this tells the client.
      const isAnswered = HashSet.has(self.insisted, name) && (!wild || Subscriptions.hasName(self, name))
      if (!isAnswered && ResourceSet.get(set, name) === undefined) gone.push(name)
    }
  }

  let resources: ReadonlyArray<Resource>
  if (everything) {
    if (self.initial.size === 0 || self.resync) resources = ResourceSet.all(set)
    else if (included.size === 0 && HashSet.size(self.insisted) === 0) resources = before.unheld()
    else {
      const isSent = (resource: Resource) =>
        included.has(resource.name) || !holds(self, before, resource.name, resource)
      resources = ResourceSet.all(set).filter(isSent)
    }
  } else if (included.size === 0) {
    resources = changed
  } else {
    const byName = new Map(included)
    for (const resource of changed) byName.set(resource.name, resource)
    resources = Array.from(byName.values())
  }

  let { lingering } = self
  if (lingering.size > 0 || (advanced && changes.gone.size > 0)) {
    const leaving = new Map([...lingering, ...(advanced ? changes.gone : [])])
    const back = Array.from(leaving.keys()).filter((name) => ResourceSet.find(set, name) !== undefined)
    if (removals) {
      const left = Subscriptions.without(leaving, back)
      // The client may know it by the name it asked for or by its own: both are told.
      for (const name of left.keys()) gone.push(name)
      lingering = new Map()
    } else {
      // What is sent now is what the client has from now on.
      const sent = resources.flatMap(({ aliases, name }) => [name, ...aliases])
      lingering = Subscriptions.without(leaving, [...missing, ...lost, ...sent, ...(advanced ? back : [])])
      // What came back after the client asked for everything again is sent, even if it is as it was.
      if (self.resync) lingering = new Map(Array.from(lingering.keys(), (name) => [name, undefined]))
    }
  }
  let absent: ReadonlyArray<string> = noNames
  let later: ReadonlyArray<string> = noNames
  if (self.typeUrl === ResourceType.VirtualHost.typeUrl) {
    // ★ VHDS: a host that does not exist is answered by a resource without a body. Envoy then answers 404 at once; on
    // `removed_resources` its HTTP request would hang.
    const isGone = new Set(gone)
    const hosts = missing.filter((name) => Subscriptions.hasName(self, name))
    // One that the client still holds is taken away first: a name must not be in a response twice.
    absent = [...openers, ...hosts.filter((name) => !isGone.has(name))]
    later = hosts.filter((name) => isGone.has(name))
    for (const name of missing) if (!Subscriptions.hasName(self, name)) gone.push(name)
  } else {
    // ★ A name that does not exist is told so at once; in silence the client waits for 15 seconds.
    for (const name of missing) gone.push(name)
  }
  const removed = gone.length > 1 ? Array.from(new Set(gone)) : gone

  const next = Subscriptions.draft(self)
  if (!wild) {
    const returned = advanced ? changes.returned.flatMap((name) => ResourceSet.find(set, name) ?? []) : []
    next.names = Subscriptions.hold(
      Subscriptions.release(self.names, [...missing, ...lost, ...(advanced ? changes.gone.keys() : [])]),
      [...resources, ...held, ...returned]
    )
  }
  next.mark = advanced ? set.mark : ResourceSet.ahead(self.mark, resources, [...missing, ...lost])
  next.owed = false
  next.resync = false
  next.forced = later.length === 0 ? Subscriptions.noForced : HashSet.fromIterable(later)
  next.initial = Subscriptions.noVersions
  next.insisted = Subscriptions.noForced
  next.lingering = lingering
  if (!self.owed && resources.length === 0 && removed.length === 0 && absent.length === 0) return [next, undefined, []]

  const make = () =>
    Response.make({
      protocol: "Incremental",
      typeUrl: self.typeUrl,
      version: set.version,
      resources,
      removed,
      absent,
      aliases: matchedAliases(self, resources),
      ttl
    })
  // Alike for every stream: all there is, or the difference between two revisions, when this client asked for no names.
  const alike = wild && HashMap.isEmpty(self.names) && HashSet.size(self.forced) === 0
  const response =
    alike && everything && self.initial.size === 0 && removed.length === 0
      ? SharedResponse.of(set, set.mark, `delta full ${ttl}`, make)
      : alike && !everything && self.mark !== undefined && self.lingering.size === 0
        ? SharedResponse.of(set, self.mark, `delta changed ${updates} ${removals} ${ttl}`, make)
        : make()
  return [next, response, resources]
}

/** Whether the client said, when it subscribed, that it holds a resource as it is. */
const holds = (self: Subscription, before: InitialVersions.Comparison, name: string, resource: Resource): boolean =>
  !self.resync &&
  !HashSet.has(self.insisted, name) &&
  (name === resource.name
    ? before.isHeld(resource)
    : (self.initial.get(name) ?? self.initial.get(resource.name)) === resource.version)

interface Answers {
  readonly included: ReadonlyMap<string, Resource>
  /** What the client has from an earlier stream. */
  readonly held: ReadonlyArray<Resource>
  readonly missing: ReadonlyArray<string>
  /** What the client may hold and must not hold any more. */
  readonly lost: ReadonlyArray<string>
}

const noAnswers: Answers = { included: new Map(), held: [], missing: [], lost: [] }

/** What there is under the names that are to be answered. */
const answers = (self: Subscription, set: ResourceSet.ResourceSet, before: InitialVersions.Comparison): Answers => {
  if (HashSet.size(self.forced) === 0) return noAnswers
  const included = new Map<string, Resource>()
  const held: Array<Resource> = []
  const missing: Array<string> = []
  const lost: Array<string> = []
  const isAsked = ({ aliases, name }: Resource) =>
    Subscriptions.isWild(self) ||
    Subscriptions.hasName(self, name) ||
    aliases.some((alias) => Subscriptions.hasName(self, alias))
  for (const name of self.forced) {
    const resource = ResourceSet.find(set, name)
    if (resource === undefined) {
      missing.push(name)
      // Asked for by an alias: the client may hold it by its own name.
      const own = self.mark === undefined ? name : ResourceSet.nameAt(self.mark, name)
      if (own !== name && !HashSet.has(self.forced, own) && ResourceSet.get(set, own) === undefined) lost.push(own)
    }
    // Given up under a `*` that is switched off: there is no wildcard that would have it.
    else if (!isAsked(resource)) lost.push(name, resource.name)
    else if (holds(self, before, name, resource)) held.push(resource)
    else included.set(resource.name, resource)
  }
  return { included, held, missing, lost }
}

/** The aliases under which a client asked for these resources. */
const matchedAliases = (
  self: Subscription,
  resources: ReadonlyArray<Resource>
): ReadonlyMap<string, ReadonlyArray<string>> => {
  const matched = new Map<string, ReadonlyArray<string>>()
  if (HashMap.isEmpty(self.names)) return matched
  for (const resource of resources) {
    if (resource.aliases.length === 0) continue
    const aliases = resource.aliases.filter((alias) => Subscriptions.hasName(self, alias))
    if (aliases.length > 0) matched.set(resource.name, aliases)
  }
  return matched
}

/**
 * A response that renews the TTLs of `due`: names, versions and TTLs without bodies.
 *
 * @since 0.1.0
 */
export const heartbeat = (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  due: ReadonlyArray<Resource>
): Response.Response =>
  Response.make({
    protocol: "Incremental",
    typeUrl: self.typeUrl,
    version: set.version,
    heartbeats: due,
    aliases: matchedAliases(self, due),
    ttl: true
  })
