/**
 * A deliberately naive server for one stream, written from the specification alone: to be compared with the real one.
 *
 * It keeps, for each type, what the client wants and what the client was sent, as plain maps, and finds out what to
 * send by looking at everything each time. Nothing is shared, logged or remembered beyond that. It does not know TTLs,
 * labels of whole types, the opener of VHDS and the phases of make-before-break; on an aggregated stream it sends types
 * in their order.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import type { IncrementalRequest, Protocol, Request, StateOfTheWorldRequest } from "@effect-xds/core/Request"
import type { Resource } from "@effect-xds/core/Resource"
import type { Response } from "@effect-xds/core/Response"
import { byTypeUrl, ClusterLoadAssignment, VirtualHost } from "@effect-xds/proto/ResourceType"

/**
 * A resource the client has, as far as the server knows.
 *
 * @since 0.1.0
 */
export interface Sent {
  /** The fingerprint of the content, or `version <v>` if the client only quoted a version. */
  readonly identity: string
  readonly aliases: ReadonlyArray<string>
}

/**
 * What one (stream, type) asked for and was sent.
 *
 * @since 0.1.0
 */
export interface Subscription {
  /** `legacy`: no name was ever given. `explicit`: the client named `*`. */
  readonly wildcard: "none" | "legacy" | "explicit"
  /** Names and aliases, as the client gave them, without `*`. */
  readonly names: ReadonlySet<string>
  readonly sent: ReadonlyMap<string, Sent>
  /** Names to be answered even if nothing changed; `*` stands for everything the wildcard has. */
  readonly owed: ReadonlySet<string>
  /** The stream's first request of the type, or one that asks for everything, is still to be answered. */
  readonly unanswered: boolean
  readonly lastNonce: string
}

/**
 * What the reference server answers: names and contents, sorted by name.
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
 * What happens to the reference server; the same things happen to the real one.
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
  /** Type URLs for which the wildcard matches nothing. */
  readonly wildcardOff: ReadonlySet<string>
  readonly resources: ReadonlyArray<Resource> | undefined
  readonly subscriptions: ReadonlyMap<string, Subscription>
  readonly nonces: number
  readonly credit: boolean
}

/**
 * A stream that has just been opened: no group, no credit.
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

const isNamed = (names: ReadonlySet<string>, resource: Pick<Resource, "name" | "aliases">): boolean =>
  names.has(resource.name) || resource.aliases.some((alias) => names.has(alias))

/**
 * One step: at most one answer, and only with credit.
 *
 * @since 0.1.0
 */
export const step = (
  self: ReferenceModel,
  input: Input
): readonly [next: ReferenceModel, answer: Answer | undefined] => {
  switch (input._tag) {
    case "Changed":
      return flush({ ...self, resources: input.resources })
    case "Writable":
      return flush({ ...self, credit: true })
    case "Request": {
      const { request } = input
      const before = self.subscriptions.get(request.typeUrl)
      const after =
        request._tag === "StateOfTheWorld"
          ? replaced(before, request, self.wildcardOff.has(request.typeUrl))
          : edited(before, request, self.wildcardOff.has(request.typeUrl))
      return flush({ ...self, subscriptions: new Map(self.subscriptions).set(request.typeUrl, after) })
    }
  }
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
  // Under a wildcard it may be owed for another reason: its cluster was sent.
  const isCovered = wildcard !== "none" && !isWildcardOff
  for (const name of owed) if (name !== "*" && !names.has(name) && !isCovered) owed.delete(name)
  const sent = new Map(self.sent)
  if (wildcard === "none" || isWildcardOff) for (const name of sent.keys()) if (!names.has(name)) sent.delete(name)
  const isWidened = wildcard !== "none" && self.wildcard === "none"
  if (isWidened) owed.add("*")
  // It crossed the first response: of that the client may hold what it gave up and asks for again, and a full state tells.
  const isFullState = byTypeUrl(request.typeUrl)?.family === "full-state"
  const isCrossing = isFullState && self.lastNonce !== "" && responseNonce === ""
  const isOther =
    wildcard !== self.wildcard ||
    names.size !== self.names.size ||
    Array.from(names).some((name) => !self.names.has(name))
  return { ...self, names, wildcard, owed, sent, unanswered: self.unanswered || isWidened || (isCrossing && isOther) }
}

/** Incremental: a request adds and takes away names, whatever its nonce is. */
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
    for (const [name, { identity }] of sent) if (isQuoted(identity)) sent.set(name, doubted)
    owed.add("*")
    unanswered = true
  }
  if (subscribe.has("*")) wildcard = "explicit"
  for (const name of subscribe) {
    if (name === "*") continue
    names.add(name)
    owed.add(name)
    if (isQuoted(sent.get(name)?.identity)) sent.delete(name)
  }
  for (const name of request.resourceNamesUnsubscribe) {
    if (name === "*" && wildcard === "explicit") {
      wildcard = "none"
      for (const each of owed) if (!names.has(each)) owed.delete(each)
    } else if (names.delete(name)) {
      // Under a wildcard the client cannot know whether it may keep the resource, so it is told.
      if (wildcard === "none") owed.delete(name)
      else owed.add(name)
      if (isQuoted(sent.get(name)?.identity)) sent.delete(name)
    }
  }
  // What is not asked for any more is forgotten on both sides.
  if (wildcard === "none" || isWildcardOff) {
    for (const [name, { aliases, identity }] of sent) {
      if (!isNamed(names, { name, aliases }) && !isQuoted(identity)) sent.delete(name)
    }
  }
  if (before === undefined) {
    // The client says what it holds from an earlier stream: only the rest is news.
    for (const [name, version] of request.initialResourceVersions) {
      sent.set(name, { identity: `version ${version}`, aliases: [] })
    }
  }
  return { ...self, names, wildcard, owed, sent, unanswered }
}

/** Whether the client only said that it holds the resource: then it is not sent if the version is right. */
const isQuoted = (identity: string | undefined): boolean => identity?.startsWith("version ") === true

/** What the client said that it holds, but may have forgotten: no resource has an empty version. */
const doubted: Sent = { identity: "version ", aliases: [] }

interface Due {
  readonly worthSending: boolean
  readonly resources: ReadonlyArray<Resource>
  /** Those of the resources that are new to the client or asked for. */
  readonly news: ReadonlyArray<Resource>
  readonly removed: ReadonlyArray<string>
  readonly absent: ReadonlyArray<string>
}

/** Sends the first type, in their order, that has something to say. */
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
    const settled: Subscription = {
      ...subscription,
      sent: new Map(target.map((each) => [each.name, { identity: each.fingerprint, aliases: each.aliases }])),
      // A virtual host that the client holds is taken away first, and then said not to exist.
      owed: new Set(
        due.removed.filter(
          (name) => typeUrl === VirtualHost.typeUrl && subscription.owed.has(name) && subscription.names.has(name)
        )
      ),
      unanswered: false
    }
    subscriptions.set(typeUrl, settled)
    if (!due.worthSending) continue
    const nonce = String(self.nonces + 1)
    subscriptions.set(typeUrl, { ...settled, lastNonce: nonce })
    const endpoints = subscriptions.get(ClusterLoadAssignment.typeUrl)
    if (endpoints !== undefined) {
      // The client warms a new or changed cluster on its assignment, so that is sent again.
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

const isCovered = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  hasWildcard(self, resource.typeUrl, subscription) || isNamed(subscription.names, resource)

const isAsked = (self: ReferenceModel, subscription: Subscription, name: string): boolean =>
  hasWildcard(self, ClusterLoadAssignment.typeUrl, subscription) || subscription.names.has(name)

const isOwed = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  isNamed(subscription.owed, resource) ||
  (subscription.owed.has("*") && hasWildcard(self, resource.typeUrl, subscription))

/** State of the world: everything for types whose responses are the full state, else what is new to the client. */
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
    ([name, { aliases }]) =>
      !target.some((resource) => resource.name === name) &&
      (hasWildcard(self, typeUrl, subscription) || isNamed(subscription.names, { name, aliases }))
  )
  return {
    worthSending: subscription.unanswered || news.length > 0 || (isFullState && isGone),
    resources: isFullState ? target : news,
    news,
    removed: [],
    absent: []
  }
}

/** Incremental: what is new to the client, what is gone, and which of the names it asked for lead nowhere. */
const changes = (
  self: ReferenceModel,
  typeUrl: string,
  subscription: Subscription,
  target: ReadonlyArray<Resource>
): Due => {
  const news = target.filter((resource) => {
    const identity = subscription.sent.get(resource.name)?.identity
    if (isQuoted(identity)) return identity !== `version ${resource.version}`
    return identity !== resource.fingerprint || isOwed(self, subscription, resource)
  })
  const removed = new Set<string>()
  const absent: Array<string> = []
  for (const [name, { aliases, identity }] of subscription.sent) {
    if (target.some((resource) => resource.name === name)) continue
    const exists = self.resources?.some((each) => each.typeUrl === typeUrl && each.name === name) === true
    if (isQuoted(identity) && exists) continue
    removed.add(name)
    // The client may know it by what it asked for or by its own name.
    if (hasWildcard(self, typeUrl, subscription)) continue
    for (const alias of aliases) if (subscription.names.has(alias)) removed.add(alias)
  }
  for (const name of subscription.owed) {
    if (name === "*" || removed.has(name) || target.some((resource) => isNamed(new Set([name]), resource))) continue
    const resource = self.resources?.find((each) => each.typeUrl === typeUrl && each.aliases.includes(name))
    if (resource !== undefined) removed.add(resource.name)
    if (typeUrl === VirtualHost.typeUrl && subscription.names.has(name)) absent.push(name)
    else removed.add(name)
  }
  return {
    worthSending: subscription.unanswered || news.length + removed.size + absent.length > 0,
    resources: news,
    news,
    removed: Array.from(removed).sort(),
    absent: absent.sort()
  }
}

/**
 * What the client would have to be sent of a type because the store is different from what it has.
 *
 * @since 0.1.0
 */
export const pending = (
  self: ReferenceModel,
  typeUrl: string
): { readonly updates: ReadonlyArray<string>; readonly removals: ReadonlyArray<string> } => {
  const subscription = self.subscriptions.get(typeUrl)
  if (subscription === undefined || self.resources === undefined) return { updates: [], removals: [] }
  const target = self.resources.filter((each) => each.typeUrl === typeUrl && isCovered(self, subscription, each))
  const isHeld = (resource: Resource) => {
    const identity = subscription.sent.get(resource.name)?.identity
    return identity === resource.fingerprint || identity === `version ${resource.version}`
  }
  const isTold = self.protocol === "Incremental" || byTypeUrl(typeUrl)?.family === "full-state"
  const removals = Array.from(subscription.sent).filter(
    ([name, { aliases }]) =>
      !target.some((resource) => resource.name === name) &&
      (hasWildcard(self, typeUrl, subscription) || isNamed(subscription.names, { name, aliases }))
  )
  return {
    updates: target.filter((resource) => !isHeld(resource)).map((resource) => resource.name),
    removals: isTold ? removals.map(([name]) => name) : []
  }
}

/**
 * Takes note of a response that another server sent. With it the model follows that server and knows at each time
 * what is still to be sent; it is then given no credit of its own.
 *
 * @since 0.1.0
 */
export const observe = (self: ReferenceModel, response: Response, nonce: string): ReferenceModel => {
  const before = self.subscriptions.get(response.typeUrl)
  if (before === undefined) return self
  const isFullState = self.protocol === "StateOfTheWorld" && byTypeUrl(response.typeUrl)?.family === "full-state"
  const sent = new Map(isFullState ? [] : before.sent)
  const owed = new Set(before.owed)
  owed.delete("*")
  // A version that was right counts as sent.
  for (const { aliases, fingerprint, name, typeUrl, version } of self.resources ?? []) {
    if (typeUrl !== response.typeUrl || sent.get(name)?.identity !== `version ${version}`) continue
    sent.set(name, { identity: fingerprint, aliases })
  }
  // What the client held from an earlier stream and does not ask for is none of this stream's business after the first
  // answer, also when `*` is asked for later.
  if (!hasWildcard(self, response.typeUrl, before)) {
    for (const [name, { aliases, identity }] of sent) {
      if (isQuoted(identity) && !isNamed(before.names, { name, aliases })) sent.delete(name)
    }
  }
  for (const { aliases, fingerprint, name } of [...response.resources, ...response.heartbeats]) {
    sent.set(name, { identity: fingerprint, aliases })
    for (const each of [name, ...aliases]) owed.delete(each)
  }
  for (const name of [...response.removed, ...response.absent]) {
    sent.delete(name)
    // A virtual host that was taken away is then said not to exist.
    const isToCome =
      response.typeUrl === VirtualHost.typeUrl && before.names.has(name) && !response.absent.includes(name)
    if (!isToCome) owed.delete(name)
  }
  // In state of the world there is no other answer to a name that leads nowhere than a response without it.
  if (self.protocol === "StateOfTheWorld") owed.clear()
  const after: Subscription = { ...before, sent, owed, unanswered: false, lastNonce: nonce }
  return { ...self, subscriptions: new Map(self.subscriptions).set(response.typeUrl, after) }
}
