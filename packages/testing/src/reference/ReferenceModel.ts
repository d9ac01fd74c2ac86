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
import type { IncrementalRequest, Protocol, Request, StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Response } from "@effect-xds/core/wire/Response"
import { byTypeUrl, ClusterLoadAssignment, VirtualHost } from "@effect-xds/proto/ResourceType"

/**
 * A resource the client has, as far as the server knows.
 *
 * @since 0.1.0
 */
export interface Sent {
  /** The fingerprint of the content, or `version <v>` if the client only quoted a version. */
  readonly identity: string
  /** Its other names, whoever asks for them. */
  readonly aliases: ReadonlyArray<string>
  /** Incremental: the names beside its own by which the client asked for it. */
  readonly asked: ReadonlyArray<string>
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

/** How well a domain matches a host: longer suffixes before shorter ones, those before prefixes, `*` last; 0: not at all. */
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
 * What names and aliases lead to.
 *
 * @since 0.1.0
 */
export type Named = Pick<Resource, "typeUrl" | "name" | "aliases">

/**
 * The resource that an incremental client means by a name: of that name, with that alias, or the virtual host with the
 * domain that matches best.
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
 * Whether a resource was asked for, by its name or another that leads to it, and the answer did not go out yet.
 *
 * @since 0.1.0
 */
export const isAskedFor = ({ resources, subscriptions }: ReferenceModel, typeUrl: string, name: string): boolean => {
  const owed = subscriptions.get(typeUrl)?.owed ?? new Set()
  return Array.from(owed).some((each) => each === name || ledTo(resources ?? [], typeUrl, each)?.name === name)
}

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
    for (const name of sent.keys()) doubt(sent, name)
    owed.add("*")
    unanswered = true
  }
  if (subscribe.has("*")) wildcard = "explicit"
  for (const name of subscribe) {
    if (name === "*") continue
    names.add(name)
    owed.add(name)
    doubt(sent, name)
  }
  for (const name of request.resourceNamesUnsubscribe) {
    if (name === "*" && wildcard === "explicit") {
      wildcard = "none"
      for (const each of owed) if (!names.has(each)) owed.delete(each)
    } else if (names.delete(name)) {
      // Under a wildcard the client cannot know whether it may keep the resource, so it is told.
      if (wildcard === "none") owed.delete(name)
      else owed.add(name)
      if (sent.get(name) === untold) sent.delete(name)
      doubt(sent, name)
      for (const [other, each] of sent) {
        if (each.asked.includes(name)) sent.set(other, { ...each, asked: each.asked.filter((asked) => asked !== name) })
      }
    }
  }
  // Names were asked for again or given up before the first answer: by those the client may have had what it quoted.
  const isOther = subscribe.size > (subscribe.has("*") ? 1 : 0) || names.size < self.names.size
  const isGiven = request.resourceNamesUnsubscribe.some((name) => self.names.has(name))
  if (before !== undefined && (wildcard === "none" || isWildcardOff) && (isOther || isGiven)) {
    for (const name of sent.keys()) if (!names.has(name)) doubt(sent, name)
  }
  // What is not asked for any more is forgotten on both sides.
  if (wildcard === "none" || isWildcardOff) {
    const given = new Set(request.resourceNamesUnsubscribe)
    const isEnded = self.wildcard !== "none" && wildcard === "none"
    for (const [name, { identity }] of sent) {
      const all = [name, ...(self.sent.get(name)?.asked ?? [])]
      const isGivenUp = isEnded || all.some((each) => given.has(each))
      if (isGivenUp && !all.some((each) => names.has(each)) && !isQuoted(identity)) sent.delete(name)
    }
  }
  if (before === undefined) {
    // The client says what it holds from an earlier stream: only the rest is news.
    for (const [name, version] of request.initialResourceVersions) {
      // What came without a body is no virtual host that it would hold.
      const isEmpty = request.typeUrl === VirtualHost.typeUrl && version === ""
      sent.set(name, { identity: isEmpty ? noBody : `version ${version}`, aliases: [], asked: [] })
    }
  }
  return { ...self, names, wildcard, owed, sent, unanswered }
}

/** Whether the client only said that it holds the resource: then it is not sent if the version is right. */
const isQuoted = (identity: string | undefined): boolean => identity?.startsWith("version ") === true

/** What the client said that it holds, but may have forgotten: no resource has such a version. */
const doubtedOf = (identity: string): Sent => ({ identity: `version \u0002${identity}`, aliases: [], asked: [] })
const isDoubted = (identity: string): boolean => identity.startsWith("version \u0002")

/** An alias of what was taken away: nothing was said of it. */
const untold: Sent = { identity: "version \u0001", aliases: [], asked: [] }

/** What is asked for again, or given up, the client may have forgotten. */
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

/** The client said that it was told that there is nothing. No resource has this version. */
const noBody = "version \u0000"

interface Due {
  readonly worthSending: boolean
  /** Incremental: not sent, because a name of theirs is taken away in this response. */
  readonly withheld: ReadonlyArray<Resource>
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
        // Of names whose resource is not sent yet nothing was said.
        ...Array.from(subscription.sent.values()).flatMap(({ asked }) =>
          asked.filter(isLater).map((name) => [name, untold] as const)
        )
      ]),
      // What the client holds is taken away first; then it is said what there is by that name, or that there is nothing.
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

/**
 * Whether a resource is asked for: by wildcard, name or, incremental, alias.
 *
 * @since 0.1.0
 */
export const isCovered = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  hasWildcard(self, resource.typeUrl, subscription) ||
  subscription.names.has(resource.name) ||
  aliasesAsked(self, subscription, resource).length > 0

/** The names beside its own by which a resource is asked for. */
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
  hasWildcard(self, ClusterLoadAssignment.typeUrl, subscription) || subscription.names.has(name)

const isOwed = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  subscription.owed.has(resource.name) ||
  aliasesAsked(self, { names: subscription.owed }, resource).length > 0 ||
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
    ([name]) =>
      !target.some((resource) => resource.name === name) &&
      (hasWildcard(self, typeUrl, subscription) || subscription.names.has(name))
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
 * A client that quotes the name of a resource does not say which of the names that it asks for it takes for it: that is certain
 * only of the resource's own, and of its one alias.
 */
const mayNotKnow = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean => {
  const [alias, ...others] = aliasesAsked(self, subscription, resource)
  if (alias === undefined) return false
  if (others.length > 0 || subscription.names.has(resource.name)) return true
  if (hasWildcard(self, resource.typeUrl, subscription)) return true
  if (resource.aliases.includes(alias)) return false
  // A better match of the host may be gone.
  const all = self.resources?.filter(({ typeUrl }) => typeUrl === resource.typeUrl) ?? []
  return Array.from(subscription.sent).some(([name, { identity }]) => {
    if (identity === noBody) return false
    const held = isDoubted(identity) ? identity.slice(doubtedOf("").identity.length) : identity
    return !all.some((each) => each.name === name && held === `version ${each.version}`)
  })
}

/** Incremental: what is new to the client, what is gone, and which of the names it asked for lead nowhere. */
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
  // A client that asked by an alias may quote the name of the resource alone.
  const mayHaveOthers = Array.from(names).some((name) => !isQuoted(sent.get(name)?.identity))
  const removed = new Set<string>()
  const absent: Array<string> = []
  for (const [name, { asked, identity }] of sent) {
    // The client may know it by what it asked for or by its own name.
    for (const each of asked) if (names.has(each) && !leads(each)) removed.add(each)
    if (identity === noBody || target.some((resource) => resource.name === name)) continue
    if (isQuoted(identity) && exists(name) && !mayHaveOthers) continue
    if (identity === untold.identity && leads(name)) continue
    // What was asked for again is answered by name.
    if (isDoubted(identity) && names.has(name) && !leads(name)) continue
    removed.add(name)
  }
  for (const name of owed) {
    if (name === "*" || removed.has(name)) continue
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
 * What the client would have to be sent of a type because the store is different from what it has.
 *
 * @since 0.1.0
 */
export interface Pending {
  readonly updates: ReadonlyArray<string>
  /** Names under which there is nothing any more. */
  readonly removals: ReadonlyArray<string>
  /** Incremental: what the client asked for by a name that is another's now. It goes with that one, and waits for nothing. */
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
  /** Another resource has one of its names: they go and come together. */
  const isSuperseded = ([name, { aliases, asked }]: readonly [string, Sent]) =>
    self.protocol === "Incremental" &&
    ([name, ...aliases].some((each) =>
      all.some(
        (other) => other.typeUrl === typeUrl && [other.name, ...other.aliases].includes(each) && other.name !== name
      )
    ) ||
      [name, ...asked].some((each) => subscription.names.has(each) && ledTo(all, typeUrl, each) !== undefined))
  // Names that were asked for and lead nowhere now.
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
 * Takes note of a response that another server sent. With it the model follows that server and knows at each time
 * what is still to be sent; it is then given no credit of its own.
 *
 * @param since of a later part of a response: what was asked for after the first one, `*` for everything. Only what the part
 *   says does not exist is an answer to it: its resources were found before
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
  // A version that was right counts as sent.
  for (const resource of self.resources ?? []) {
    const { name, typeUrl, version } = resource
    if (typeUrl !== response.typeUrl || sent.get(name)?.identity !== `version ${version}`) continue
    sent.set(name, sentOf(resource, aliasesAsked(self, before, resource)))
  }
  for (const [name, { identity }] of sent) if (identity === noBody) sent.delete(name)
  // What the client held from an earlier stream and does not ask for is none of this stream's business after the first
  // answer, also when `*` is asked for later.
  if (!hasWildcard(self, response.typeUrl, before)) {
    for (const [name, { identity }] of sent) {
      if (isQuoted(identity) && !before.names.has(name)) sent.delete(name)
    }
  }
  for (const resource of [...response.resources, ...response.heartbeats]) {
    const asked = response.aliases.get(resource.name) ?? []
    for (const each of asked) if (sent.get(each) === untold) sent.delete(each)
    for (const [other, each] of sent) {
      const others = each.asked.filter((name) => name !== resource.name && !asked.includes(name))
      if (others.length < each.asked.length) sent.set(other, { ...each, asked: others })
    }
    // By a name that leads nowhere now the client still knows it, until it is told.
    const lost = (sent.get(resource.name)?.asked ?? []).filter(
      (name) => before.names.has(name) && ledTo(self.resources ?? [], response.typeUrl, name) === undefined
    )
    sent.set(resource.name, sentOf(resource, [...asked, ...lost.filter((name) => !asked.includes(name))]))
    for (const each of [resource.name, ...asked]) owed.delete(each)
  }
  const gone = [...response.removed, ...response.absent]
  const told = new Set([
    ...gone,
    ...response.resources.flatMap(({ name }) => [name, ...(response.aliases.get(name) ?? [])])
  ])
  for (const name of gone) {
    // Who asked for it by other names is still to be told what those lead to.
    for (const each of sent.get(name)?.asked ?? []) {
      if (!before.names.has(each) || told.has(each) || sent.has(each)) continue
      sent.set(each, untold)
      if (ledTo(self.resources ?? [], response.typeUrl, each) !== undefined) owed.add(each)
    }
    sent.delete(name)
    for (const [other, each] of sent) {
      if (each.asked.includes(name)) sent.set(other, { ...each, asked: each.asked.filter((asked) => asked !== name) })
    }
    // A virtual host that was taken away is then said not to exist; or there is another by that name.
    const isHost = response.typeUrl === VirtualHost.typeUrl && !response.absent.includes(name)
    const isOther = ledTo(self.resources ?? [], response.typeUrl, name) !== undefined
    if (!before.names.has(name)) owed.delete(name)
    else if (isOther) owed.add(name)
    else if (!isHost) owed.delete(name)
  }
  // In state of the world there is no other answer to a name that leads nowhere than a response without it.
  if (self.protocol === "StateOfTheWorld") owed.clear()
  for (const name of since) if (before.owed.has(name) && !response.removed.includes(name)) owed.add(name)
  const unanswered = before.unanswered && since.has("*")
  const after: Subscription = { ...before, sent, owed, unanswered, lastNonce: nonce }
  return { ...self, subscriptions: new Map(self.subscriptions).set(response.typeUrl, after) }
}
