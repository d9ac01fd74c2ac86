/**
 * A deliberately naive server for one stream, written from the specification alone, for comparison with the real one.
 *
 * For each type it keeps the subscription and what was sent, in plain maps, and finds what to send by comparing everything each
 * time. Nothing is shared, logged or cached. It does not know TTLs, labels of whole types, VHDS openers and the phases of make
 * before break. On an aggregated stream it sends types in their order.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import type { IncrementalRequest, Protocol, Request, StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Response } from "@effect-xds/core/wire/Response"
import { byTypeUrl, ClusterLoadAssignment, VirtualHost } from "@effect-xds/proto/ResourceType"

/**
 * A resource that the client has, as far as the server knows.
 *
 * @since 0.1.0
 */
export interface Sent {
  /** The fingerprint of the content, or `version <v>` if the client only quoted a version. */
  readonly identity: string
  /** All its aliases. */
  readonly aliases: ReadonlyArray<string>
  /** Incremental: the names other than its own by which the client requested it. */
  readonly asked: ReadonlyArray<string>
}

/**
 * The subscription of one (stream, type), and what was sent.
 *
 * @since 0.1.0
 */
export interface Subscription {
  /** `legacy`: no name was ever listed. `explicit`: by `*`. */
  readonly wildcard: "none" | "legacy" | "explicit"
  /** Subscribed names and aliases, as the client listed them, without `*`. */
  readonly names: ReadonlySet<string>
  readonly sent: ReadonlyMap<string, Sent>
  /** Names to answer even if nothing changed; `*` stands for all that the wildcard covers. */
  readonly owed: ReadonlySet<string>
  /** Whether the first request of the type, or one for everything, is not answered yet. */
  readonly unanswered: boolean
  readonly lastNonce: string
}

/**
 * A response of the reference server: names and contents, sorted by name.
 *
 * @since 0.1.0
 */
export interface Answer {
  readonly typeUrl: string
  readonly nonce: string
  readonly resources: ReadonlyArray<Resource>
  /** Incremental: `removed_resources`. */
  readonly removed: ReadonlyArray<string>
  /** VHDS: resources without a body. */
  readonly absent: ReadonlyArray<string>
}

/**
 * An input, the same for the reference server and the real one.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Request"; readonly request: Request }
  /** All resources of the client's group; `undefined`: the group was never set. */
  | { readonly _tag: "Changed"; readonly resources: ReadonlyArray<Resource> | undefined }
  | { readonly _tag: "Writable" }

/**
 * The reference server for one stream.
 *
 * @since 0.1.0
 */
export interface ReferenceModel {
  readonly protocol: Protocol
  /** Type URLs whose wildcard is switched off. */
  readonly wildcardOff: ReadonlySet<string>
  readonly resources: ReadonlyArray<Resource> | undefined
  readonly subscriptions: ReadonlyMap<string, Subscription>
  readonly nonces: number
  readonly credit: boolean
}

/**
 * A new stream: no group, no credit.
 *
 * @since 0.1.0
 */
export const make = (
  protocol: Protocol,
  wildcardOff: ReadonlySet<string> = new Set([VirtualHost.typeUrl])
): ReferenceModel => ({
  protocol,
  wildcardOff,
  resources: undefined,
  subscriptions: new Map(),
  nonces: 0,
  credit: false
})

const fresh: Subscription = {
  wildcard: "legacy",
  names: new Set(),
  sent: new Map(),
  owed: new Set(),
  unanswered: true,
  lastNonce: ""
}

/** Rank of a domain for a host: longer suffixes first, then longer prefixes, then `*`; 0 if it does not match. */
const rank = (domain: string, asked: string): number => {
  const start = asked.lastIndexOf("/") + 1
  if (start === 0 || start === asked.length || domain.lastIndexOf("/") + 1 !== start) return 0
  if (domain.slice(0, start) !== asked.slice(0, start)) return 0
  const [pattern, host] = [domain.slice(start), asked.slice(start)]
  if (pattern === "*") return 1
  if (pattern.split("*").length !== 2 || host.length < pattern.length) return 0
  if (pattern.startsWith("*")) return host.endsWith(pattern.slice(1)) ? 2_000 + pattern.length : 0
  return pattern.endsWith("*") && host.startsWith(pattern.slice(0, -1)) ? 1_000 + pattern.length : 0
}

/**
 * The glob collection that has a resource of this name directly below its path, with the same context parameters in any order.
 * Empty for old names.
 *
 * @since 0.1.0
 */
export const collectionOf = (name: string): string => {
  const [path = "", query = ""] = name.split("?")
  if (!path.startsWith("xdstp://") || path.endsWith("/*")) return ""
  return `${path.slice(0, path.lastIndexOf("/") + 1)}*${query === "" ? "" : `?${query.split("&").sort().join("&")}`}`
}

/**
 * Whether a name is a glob collection.
 *
 * @since 0.1.0
 */
export const isCollection = (name: string): boolean => /^xdstp:.*\/\*(\?|$)/.test(name)

/**
 * Whether names have this name, or the collection of which it is a member.
 *
 * @since 0.1.0
 */
export const isNamed = (names: ReadonlySet<string>, name: string): boolean =>
  names.has(name) || names.has(collectionOf(name))

/**
 * A resource with the names and aliases that lead to it.
 *
 * @since 0.1.0
 */
export type Named = Pick<Resource, "typeUrl" | "name" | "aliases">

/**
 * The resource that an incremental client requests by a name: by name, by alias, or the virtual host with the best matching
 * domain.
 *
 * @since 0.1.0
 */
export const ledTo = <A extends Named>(resources: ReadonlyArray<A>, typeUrl: string, asked: string): A | undefined => {
  const all = resources.filter((resource) => resource.typeUrl === typeUrl)
  const exact = all.find(({ name }) => name === asked) ?? all.find(({ aliases }) => aliases.includes(asked))
  if (exact !== undefined || typeUrl !== VirtualHost.typeUrl) return exact
  const matches = all.flatMap((resource) =>
    [resource.name, ...resource.aliases].map((domain) => ({ resource, rank: rank(domain, asked) }))
  )
  return matches.filter(({ rank }) => rank > 0).toSorted((one, other) => other.rank - one.rank)[0]?.resource
}

/**
 * Whether a request for a resource, by any name that leads to it, is not answered yet.
 *
 * @since 0.1.0
 */
export const isAskedFor = ({ resources, subscriptions }: ReferenceModel, typeUrl: string, name: string): boolean => {
  const owed = subscriptions.get(typeUrl)?.owed ?? new Set()
  return isNamed(owed, name) || Array.from(owed).some((each) => ledTo(resources ?? [], typeUrl, each)?.name === name)
}

/**
 * One step: at most one response, and only with credit.
 *
 * @since 0.1.0
 */
export const step = (
  self: ReferenceModel,
  input: Input
): readonly [next: ReferenceModel, answer: Answer | undefined] => {
  switch (input._tag) {
    case "Changed":
      return flush(withListed({ ...self, resources: input.resources }))
    case "Writable":
      return flush({ ...self, credit: true })
    case "Request": {
      const { request } = input
      const before = self.subscriptions.get(request.typeUrl)
      const isWildcardOff = self.wildcardOff.has(request.typeUrl)
      const after =
        request._tag === "StateOfTheWorld"
          ? replaced(before, request, isWildcardOff)
          : edited(before, request, isWildcardOff)
      return flush(withListed({ ...self, subscriptions: new Map(self.subscriptions).set(request.typeUrl, after) }))
    }
  }
}

/** A collection that is owed is owed by the names of its members, as far as they are listed: also when it is given up. */
const withListed = (self: ReferenceModel): ReferenceModel => {
  const subscriptions = new Map(self.subscriptions)
  for (const { name, typeUrl } of self.resources ?? []) {
    const subscription = subscriptions.get(typeUrl)
    if (subscription?.names.has(name) !== true || !subscription.owed.has(collectionOf(name))) continue
    subscriptions.set(typeUrl, { ...subscription, owed: new Set([...subscription.owed, name]) })
  }
  return { ...self, subscriptions }
}

/** State of the world: a request replaces the list of names, unless its nonce is stale. */
const replaced = (
  before: Subscription | undefined,
  request: StateOfTheWorldRequest,
  isWildcardOff: boolean
): Subscription => {
  const self = before ?? fresh
  const { resourceNames, responseNonce } = request
  if (self.lastNonce !== "" && responseNonce !== "" && responseNonce !== self.lastNonce) return self
  const neverNamed = self.wildcard === "legacy" && resourceNames.length === 0
  const wildcard = neverNamed ? "legacy" : resourceNames.includes("*") ? "explicit" : "none"
  const names = new Set(resourceNames.filter((name) => name !== "*"))
  const owed = new Set(self.owed)
  for (const name of names) if (!self.names.has(name)) owed.add(name)
  // Under a wildcard it may be due for another reason: its cluster was sent.
  const isCovered = wildcard !== "none" && !isWildcardOff
  for (const name of owed) if (name !== "*" && !isNamed(names, name) && !isCovered) owed.delete(name)
  const sent = new Map(self.sent)
  if (wildcard === "none" || isWildcardOff) for (const name of sent.keys()) if (!isNamed(names, name)) sent.delete(name)
  const isWidened = wildcard !== "none" && self.wildcard === "none"
  if (isWidened) owed.add("*")
  // The request crossed the first response. The client may still hold a resource that it dropped in between, so it gets the
  // state.
  const isFullState = byTypeUrl(request.typeUrl)?.family === "full-state"
  const isCrossing = isFullState && self.lastNonce !== "" && responseNonce === ""
  const isOther =
    wildcard !== self.wildcard ||
    names.size !== self.names.size ||
    Array.from(names).some((name) => !self.names.has(name))
  return { ...self, names, wildcard, owed, sent, unanswered: self.unanswered || isWidened || (isCrossing && isOther) }
}

/** Incremental: a request adds and removes names, whatever its nonce is. */
const edited = (
  before: Subscription | undefined,
  request: IncrementalRequest,
  isWildcardOff: boolean
): Subscription => {
  const self = before ?? fresh
  const names = new Set(self.names)
  const owed = new Set(self.owed)
  const sent = new Map(self.sent)
  let { unanswered, wildcard } = self

  const subscribe = new Set(request.resourceNamesSubscribe)
  if (wildcard === "legacy" && subscribe.size > 0) wildcard = before !== undefined ? "explicit" : "none"
  else if (subscribe.has("*")) {
    for (const name of sent.keys()) doubt(sent, name)
    owed.add("*")
    unanswered = true
  }
  if (subscribe.has("*")) wildcard = "explicit"
  for (const name of subscribe) {
    if (name === "*") continue
    names.add(name)
    owed.add(name)
    for (const each of sent.keys()) if (each === name || collectionOf(each) === name) doubt(sent, each)
  }
  for (const name of request.resourceNamesUnsubscribe) {
    if (name === "*" && wildcard === "explicit") {
      wildcard = "none"
      for (const each of owed) if (!isNamed(names, each)) owed.delete(each)
    } else if (isCollection(name) && names.delete(name)) {
      // Its members that were not listed are given up with it, or answered, like names.
      owed.delete(name)
      for (const each of [...owed, ...sent.keys()]) {
        if (collectionOf(each) !== name || names.has(each)) continue
        if (wildcard === "none") owed.delete(each)
        else if (sent.has(each)) owed.add(each)
        doubt(sent, each)
      }
    } else if (names.delete(name)) {
      // Under a wildcard the client cannot know whether to keep the resource, so it gets an answer.
      // So it does under a collection.
      if (wildcard === "none" && !isNamed(names, name)) owed.delete(name)
      else owed.add(name)
      if (sent.get(name) === untold) sent.delete(name)
      doubt(sent, name)
      for (const [other, each] of sent) {
        if (each.asked.includes(name)) sent.set(other, { ...each, asked: each.asked.filter((asked) => asked !== name) })
      }
    }
  }
  // Names were requested again or unsubscribed before the first response: the client may have had quoted resources by those.
  const isOther = subscribe.size > (subscribe.has("*") ? 1 : 0) || names.size < self.names.size
  const isGiven = request.resourceNamesUnsubscribe.some((name) => self.names.has(name))
  if (before !== undefined && (wildcard === "none" || isWildcardOff) && (isOther || isGiven)) {
    for (const name of sent.keys()) if (!isNamed(names, name)) doubt(sent, name)
  }
  // Unsubscribed resources are forgotten on both sides.
  if (wildcard === "none" || isWildcardOff) {
    const given = new Set(request.resourceNamesUnsubscribe)
    const isEnded = self.wildcard !== "none" && wildcard === "none"
    for (const [name, { identity }] of sent) {
      const all = [name, collectionOf(name), ...(self.sent.get(name)?.asked ?? [])]
      const isGivenUp = isEnded || all.some((each) => given.has(each))
      if (isGivenUp && !all.some((each) => names.has(each)) && !isQuoted(identity)) sent.delete(name)
    }
  }
  if (before === undefined) {
    // The client quotes what it holds from an earlier stream: only the rest is sent.
    for (const [name, version] of request.initialResourceVersions) {
      // A quote without a version is a host without a body, not a virtual host.
      const isEmpty = request.typeUrl === VirtualHost.typeUrl && version === ""
      sent.set(name, { identity: isEmpty ? noBody : `version ${version}`, aliases: [], asked: [] })
    }
  }
  return { ...self, names, wildcard, owed, sent, unanswered }
}

/** Whether the client only quoted the resource: then it is not sent if the version is current. */
const isQuoted = (identity: string | undefined): boolean => identity?.startsWith("version ") === true

/** A quoted resource that the client may have forgotten: no resource has this version. */
const doubtedOf = (identity: string): Sent => ({ identity: `version \u0002${identity}`, aliases: [], asked: [] })
const isDoubted = (identity: string): boolean => identity.startsWith("version \u0002")

/** An alias of a removed resource, not reported yet. */
const untold: Sent = { identity: "version \u0001", aliases: [], asked: [] }

/** Marks a resource whose name is requested again or unsubscribed as possibly forgotten. */
const doubt = (sent: Map<string, Sent>, name: string): void => {
  const identity = sent.get(name)?.identity
  if (identity === noBody) sent.delete(name)
  else if (identity !== undefined && isQuoted(identity) && identity !== untold.identity && !isDoubted(identity)) {
    sent.set(name, doubtedOf(identity))
  }
}

const sentOf = ({ aliases, fingerprint }: Resource, asked: ReadonlyArray<string>): Sent => ({
  identity: fingerprint,
  aliases,
  asked
})

/** A quoted name that was reported missing. No resource has this version. */
const noBody = "version \u0000"

interface Due {
  readonly worthSending: boolean
  /** Incremental: not sent now, because this response removes one of their names. */
  readonly withheld: ReadonlyArray<Resource>
  readonly resources: ReadonlyArray<Resource>
  /** Those of the resources that are new to the client or requested. */
  readonly news: ReadonlyArray<Resource>
  readonly removed: ReadonlyArray<string>
  readonly absent: ReadonlyArray<string>
}

/** Sends the first type, in order, that has something to send. */
const flush = (self: ReferenceModel): readonly [ReferenceModel, Answer | undefined] => {
  if (!self.credit || self.resources === undefined) return [self, undefined]
  const subscriptions = new Map(self.subscriptions)
  const inOrder = Array.from(subscriptions).sort(
    ([one], [other]) => (byTypeUrl(one)?.order ?? Infinity) - (byTypeUrl(other)?.order ?? Infinity)
  )
  for (const [typeUrl, subscription] of inOrder) {
    const target = self.resources
      .filter((resource) => resource.typeUrl === typeUrl && isCovered(self, subscription, resource))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
    const due =
      self.protocol === "Incremental"
        ? changes(self, typeUrl, subscription, target)
        : state(self, typeUrl, subscription, target)
    const isLater = (name: string) =>
      subscription.names.has(name) &&
      !due.removed.includes(name) &&
      due.withheld.some((each) => each.name !== name && ledTo(self.resources ?? [], typeUrl, name)?.name === each.name)
    const settled: Subscription = {
      ...subscription,
      sent: new Map([
        ...target.flatMap((each): ReadonlyArray<readonly [string, Sent]> => {
          const before = subscription.sent.get(each.name)
          if (!due.withheld.includes(each)) return [[each.name, sentOf(each, aliasesAsked(self, subscription, each))]]
          if (before === undefined || isQuoted(before.identity)) return []
          return [[each.name, { ...before, asked: before.asked.filter((name) => !due.removed.includes(name)) }]]
        }),
        // Names of a resource that is not sent yet are not reported yet.
        ...Array.from(subscription.sent.values()).flatMap(({ asked }) =>
          asked.filter(isLater).map((name) => [name, untold] as const)
        )
      ]),
      // Resources that the client holds are removed first; then those names are answered.
      owed: new Set([
        ...Array.from(subscription.sent.values()).flatMap(({ asked }) => asked.filter(isLater)),
        ...due.removed.filter((name) => {
          if (!subscription.names.has(name)) return false
          const isHost = typeUrl === VirtualHost.typeUrl && subscription.owed.has(name)
          return isHost || ledTo(self.resources ?? [], typeUrl, name) !== undefined
        })
      ]),
      unanswered: false
    }
    subscriptions.set(typeUrl, settled)
    if (!due.worthSending) continue
    const nonce = String(self.nonces + 1)
    subscriptions.set(typeUrl, { ...settled, lastNonce: nonce })
    const endpoints = subscriptions.get(ClusterLoadAssignment.typeUrl)
    if (endpoints !== undefined) {
      // The client warms a new or changed cluster on its assignment, which is sent again.
      const again = due.news
        .flatMap((cluster) => cluster.assignment ?? [])
        .filter((name) => isAsked(self, endpoints, name))
      const owed = new Set([...endpoints.owed, ...again])
      subscriptions.set(ClusterLoadAssignment.typeUrl, { ...endpoints, owed })
    }
    const { absent, removed, resources } = due
    return [
      { ...self, subscriptions, nonces: self.nonces + 1, credit: false },
      { typeUrl, nonce, resources, removed, absent }
    ]
  }
  return [{ ...self, subscriptions }, undefined]
}

const hasWildcard = (self: ReferenceModel, typeUrl: string, { wildcard }: Subscription): boolean =>
  wildcard !== "none" && !self.wildcardOff.has(typeUrl)

/**
 * Whether a resource is subscribed: by wildcard, name or, incremental, alias.
 *
 * @since 0.1.0
 */
export const isCovered = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  hasWildcard(self, resource.typeUrl, subscription) ||
  isNamed(subscription.names, resource.name) ||
  aliasesAsked(self, subscription, resource).length > 0

/** The names other than its own by which a resource is requested. */
const aliasesAsked = (
  self: ReferenceModel,
  { names }: Pick<Subscription, "names">,
  resource: Resource
): ReadonlyArray<string> =>
  self.protocol === "StateOfTheWorld"
    ? []
    : Array.from(names).filter(
        (name) => name !== resource.name && ledTo(self.resources ?? [], resource.typeUrl, name)?.name === resource.name
      )

const isAsked = (self: ReferenceModel, subscription: Subscription, name: string): boolean =>
  hasWildcard(self, ClusterLoadAssignment.typeUrl, subscription) ||
  subscription.names.has(name) ||
  // A collection asks for what exists.
  (subscription.names.has(collectionOf(name)) &&
    self.resources?.some((each) => each.typeUrl === ClusterLoadAssignment.typeUrl && each.name === name) === true)

const isOwed = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  isNamed(subscription.owed, resource.name) ||
  aliasesAsked(self, { names: subscription.owed }, resource).length > 0 ||
  (subscription.owed.has("*") && hasWildcard(self, resource.typeUrl, subscription))

/** State of the world: everything for full-state types, else what is new to the client. */
const state = (
  self: ReferenceModel,
  typeUrl: string,
  subscription: Subscription,
  target: ReadonlyArray<Resource>
): Due => {
  const news = target.filter(
    (resource) =>
      isOwed(self, subscription, resource) || subscription.sent.get(resource.name)?.identity !== resource.fingerprint
  )
  const isFullState = byTypeUrl(typeUrl)?.family === "full-state"
  const isGone = Array.from(subscription.sent).some(
    ([name]) =>
      !target.some((resource) => resource.name === name) &&
      (hasWildcard(self, typeUrl, subscription) || isNamed(subscription.names, name))
  )
  return {
    worthSending: subscription.unanswered || news.length > 0 || (isFullState && isGone),
    withheld: [],
    resources: isFullState ? target : news,
    news,
    removed: [],
    absent: []
  }
}

/**
 * Whether a client that quoted a resource by its own name may not know that its requested names lead to it. That is certain
 * only for the resource's own name, and for its one alias.
 */
const mayNotKnow = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean => {
  const [alias, ...others] = aliasesAsked(self, subscription, resource)
  if (alias === undefined) return false
  if (others.length > 0 || subscription.names.has(resource.name)) return true
  if (hasWildcard(self, resource.typeUrl, subscription)) return true
  if (resource.aliases.includes(alias)) return false
  // A better match of the host may have been removed.
  const all = self.resources?.filter(({ typeUrl }) => typeUrl === resource.typeUrl) ?? []
  return Array.from(subscription.sent).some(([name, { identity }]) => {
    if (identity === noBody) return false
    const held = isDoubted(identity) ? identity.slice(doubtedOf("").identity.length) : identity
    return !all.some((each) => each.name === name && held === `version ${each.version}`)
  })
}

/** Incremental: what is new to the client, what is removed, and requested names without a resource. */
const changes = (
  self: ReferenceModel,
  typeUrl: string,
  subscription: Subscription,
  target: ReadonlyArray<Resource>
): Due => {
  const news = target.filter((resource) => {
    const before = subscription.sent.get(resource.name)
    if (isQuoted(before?.identity)) {
      return before?.identity !== `version ${resource.version}` || mayNotKnow(self, subscription, resource)
    }
    if (before?.identity !== resource.fingerprint || isOwed(self, subscription, resource)) return true
    // A name that led elsewhere leads here now.
    return aliasesAsked(self, subscription, resource).some((name) => !before.asked.includes(name))
  })
  const { names, owed, sent } = subscription
  const resources = self.resources ?? []
  const leads = (name: string) => ledTo(resources, typeUrl, name) !== undefined
  const exists = (name: string) => resources.some((each) => each.typeUrl === typeUrl && each.name === name)
  // A client that requested by an alias may quote only the resource's own name.
  const mayHaveOthers = Array.from(names).some((name) => !isQuoted(sent.get(name)?.identity))
  const removed = new Set<string>()
  const absent: Array<string> = []
  for (const [name, { asked, identity }] of sent) {
    // The client may know it by a requested name or by its own.
    for (const each of asked) if (names.has(each) && !leads(each)) removed.add(each)
    if (identity === noBody || target.some((resource) => resource.name === name)) continue
    if (isQuoted(identity) && exists(name) && !mayHaveOthers) continue
    if (identity === untold.identity && leads(name)) continue
    // A name that was requested again gets an answer.
    if (isDoubted(identity) && names.has(name) && !leads(name)) continue
    removed.add(name)
  }
  for (const name of owed) {
    if (name === "*" || removed.has(name)) continue
    // The members are the answer for a collection.
    if (target.some((each) => collectionOf(each.name) === name)) continue
    const resource = ledTo(resources, typeUrl, name)
    if (resource !== undefined && target.includes(resource)) continue
    if (resource !== undefined) removed.add(resource.name)
    if (typeUrl === VirtualHost.typeUrl && names.has(name)) absent.push(name)
    else removed.add(name)
  }
  // No name is in a response twice.
  const isTaken = (resource: Resource) => aliasesAsked(self, subscription, resource).some((name) => removed.has(name))
  const [withheld, now] = [news.filter(isTaken), news.filter((resource) => !isTaken(resource))]
  return {
    worthSending: subscription.unanswered || now.length + removed.size + absent.length > 0,
    withheld,
    resources: now,
    news: now,
    removed: Array.from(removed).sort(),
    absent: absent.sort()
  }
}

/**
 * The resources of a type that are due because the store differs from what the client has.
 *
 * @since 0.1.0
 */
export interface Pending {
  readonly updates: ReadonlyArray<string>
  /** Names without a resource now. */
  readonly removals: ReadonlyArray<string>
  /**
   * Incremental: resources that the client requested by a name of another one now. They are removed with that one, and wait for
   * nothing.
   */
  readonly superseded: ReadonlyArray<string>
}

/**
 * Finds what is {@link Pending}.
 *
 * @since 0.1.0
 */
export const pending = (self: ReferenceModel, typeUrl: string): Pending => {
  const subscription = self.subscriptions.get(typeUrl)
  if (subscription === undefined || self.resources === undefined) return { updates: [], removals: [], superseded: [] }
  const target = self.resources.filter((each) => each.typeUrl === typeUrl && isCovered(self, subscription, each))
  const isHeld = (resource: Resource) => {
    const before = subscription.sent.get(resource.name)
    if (before?.identity === `version ${resource.version}`) return true
    // A name that led elsewhere leads here now.
    const aliases = aliasesAsked(self, subscription, resource)
    return before?.identity === resource.fingerprint && aliases.every((name) => before.asked.includes(name))
  }
  const isTold = self.protocol === "Incremental" || byTypeUrl(typeUrl)?.family === "full-state"
  const removals = Array.from(subscription.sent).filter(([name]) => !target.some((resource) => resource.name === name))
  const all = self.resources
  /** Another resource has one of its names: removal and replacement go together. */
  const isSuperseded = ([name, { aliases, asked }]: readonly [string, Sent]) =>
    self.protocol === "Incremental" &&
    ([name, ...aliases].some((each) =>
      all.some(
        (other) => other.typeUrl === typeUrl && [other.name, ...other.aliases].includes(each) && other.name !== name
      )
    ) ||
      [name, ...asked].some((each) => subscription.names.has(each) && ledTo(all, typeUrl, each) !== undefined))
  // Requested names without a resource now.
  const lost = Array.from(subscription.sent.values()).flatMap(({ asked }) =>
    asked.filter((name) => subscription.names.has(name) && ledTo(all, typeUrl, name) === undefined)
  )
  const namesOf = (entries: typeof removals) => entries.map(([name]) => name)
  return {
    updates: target.filter((resource) => !isHeld(resource)).map((resource) => resource.name),
    removals: isTold ? [...namesOf(removals.filter((each) => !isSuperseded(each))), ...lost] : [],
    superseded: isTold ? namesOf(removals.filter(isSuperseded)) : []
  }
}

/**
 * Records a response of another server. So the model follows that server, and knows at each time what is due; it gets no credit
 * of its own.
 *
 * @param since for a later part of a response: names requested after the first part, `*` for everything. Only names that the
 * part reports missing are answered by it: its resources were found before
 * @since 0.1.0
 */
export const observe = (
  self: ReferenceModel,
  response: Response,
  nonce: string,
  since: ReadonlySet<string> = new Set()
): ReferenceModel => {
  const before = self.subscriptions.get(response.typeUrl)
  if (before === undefined) return self
  const isFullState = self.protocol === "StateOfTheWorld" && byTypeUrl(response.typeUrl)?.family === "full-state"
  const sent = new Map(isFullState ? [] : before.sent)
  const owed = new Set(before.owed)
  owed.delete("*")
  // A quoted version that was current counts as sent.
  for (const resource of self.resources ?? []) {
    const { name, typeUrl, version } = resource
    if (typeUrl !== response.typeUrl || sent.get(name)?.identity !== `version ${version}`) continue
    sent.set(name, sentOf(resource, aliasesAsked(self, before, resource)))
  }
  for (const [name, { identity }] of sent) if (identity === noBody) sent.delete(name)
  // After the first response, resources that the client held from an earlier stream and did not request do not count on this
  // stream, even if `*` is requested later.
  if (!hasWildcard(self, response.typeUrl, before)) {
    for (const [name, { identity }] of sent) {
      if (isQuoted(identity) && !isNamed(before.names, name)) sent.delete(name)
    }
  }
  for (const resource of [...response.resources, ...response.heartbeats]) {
    const asked = response.aliases.get(resource.name) ?? []
    for (const each of asked) if (sent.get(each) === untold) sent.delete(each)
    for (const [other, each] of sent) {
      const others = each.asked.filter((name) => name !== resource.name && !asked.includes(name))
      if (others.length < each.asked.length) sent.set(other, { ...each, asked: others })
    }
    // By a name that leads nowhere now the client still knows it, until that is reported.
    const lost = (sent.get(resource.name)?.asked ?? []).filter(
      (name) => before.names.has(name) && ledTo(self.resources ?? [], response.typeUrl, name) === undefined
    )
    sent.set(resource.name, sentOf(resource, [...asked, ...lost.filter((name) => !asked.includes(name))]))
    for (const each of [resource.name, collectionOf(resource.name), ...asked]) owed.delete(each)
  }
  const gone = [...response.removed, ...response.absent]
  const told = new Set([
    ...gone,
    ...response.resources.flatMap(({ name }) => [name, ...(response.aliases.get(name) ?? [])])
  ])
  for (const name of gone) {
    // Other names by which it was requested must still be reported.
    for (const each of sent.get(name)?.asked ?? []) {
      if (!before.names.has(each) || told.has(each) || sent.has(each)) continue
      sent.set(each, untold)
      if (ledTo(self.resources ?? [], response.typeUrl, each) !== undefined) owed.add(each)
    }
    sent.delete(name)
    for (const [other, each] of sent) {
      if (each.asked.includes(name)) sent.set(other, { ...each, asked: each.asked.filter((asked) => asked !== name) })
    }
    // A removed virtual host is reported missing afterwards, unless another one has the name.
    const isHost = response.typeUrl === VirtualHost.typeUrl && !response.absent.includes(name)
    const isOther = ledTo(self.resources ?? [], response.typeUrl, name) !== undefined
    if (!before.names.has(name)) owed.delete(name)
    else if (isOther) owed.add(name)
    else if (!isHost) owed.delete(name)
  }
  // In state of the world, a response without a name is the only answer to a name without a resource.
  if (self.protocol === "StateOfTheWorld") owed.clear()
  for (const name of since) if (before.owed.has(name) && !response.removed.includes(name)) owed.add(name)
  const unanswered = before.unanswered && since.has("*")
  const after: Subscription = { ...before, sent, owed, unanswered, lastNonce: nonce }
  return { ...self, subscriptions: new Map(self.subscriptions).set(response.typeUrl, after) }
}
