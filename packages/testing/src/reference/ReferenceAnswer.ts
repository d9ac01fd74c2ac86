/**
 * The response that the reference model sends: everything is compared each time.
 *
 * @since 0.1.0
 */
import { ledTo, collectionOf, isNamed } from "./ReferenceNames.js"
import {
  type ReferenceModel,
  isSubscribed,
  type Subscription,
  type Sent,
  sentOf,
  aliasesAsked,
  isQuoted,
  unreported,
  hasWildcard,
  noBody,
  isUncertain,
  uncertainOf
} from "./ReferenceSubscription.js"
import type { Resource } from "@effect-xds/core/resource/Resource"
import { byTypeUrl, ClusterLoadAssignment, VirtualHost } from "@effect-xds/proto/ResourceType"

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

/**
 * Sends the first type, in order, that has something to send.
 *
 * @since 0.1.0
 */
export const flush = (self: ReferenceModel): readonly [ReferenceModel, Answer | undefined] => {
  if (!self.credit || self.resources === undefined) return [self, undefined]
  const subscriptions = new Map(self.subscriptions)
  const inOrder = Array.from(subscriptions).sort(
    ([one], [other]) => (byTypeUrl(one)?.order ?? Infinity) - (byTypeUrl(other)?.order ?? Infinity)
  )
  for (const [typeUrl, subscription] of inOrder) {
    const target = self.resources
      .filter((resource) => resource.typeUrl === typeUrl && isSubscribed(self, subscription, resource))
      .sort((one, other) => (one.name < other.name ? -1 : 1))
    const due =
      self.protocol === "Incremental"
        ? changes(self, typeUrl, subscription, target)
        : state(self, typeUrl, subscription, target)
    const isLater = (name: string) =>
      subscription.names.has(name) &&
      !due.removed.includes(name) &&
      due.withheld.some((each) => each.name !== name && ledTo(self.resources ?? [], typeUrl, name)?.name === each.name)
    const answered: Subscription = {
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
          asked.filter(isLater).map((name) => [name, unreported] as const)
        )
      ]),
      // Resources that the client holds are removed first; then those names are answered.
      toAnswer: new Set([
        ...Array.from(subscription.sent.values()).flatMap(({ asked }) => asked.filter(isLater)),
        ...due.removed.filter((name) => {
          if (!subscription.names.has(name)) return false
          const isHost = typeUrl === VirtualHost.typeUrl && subscription.toAnswer.has(name)
          return isHost || ledTo(self.resources ?? [], typeUrl, name) !== undefined
        })
      ]),
      unanswered: false
    }
    subscriptions.set(typeUrl, answered)
    if (!due.worthSending) continue
    const nonce = String(self.nonces + 1)
    subscriptions.set(typeUrl, { ...answered, lastNonce: nonce })
    const endpoints = subscriptions.get(ClusterLoadAssignment.typeUrl)
    if (endpoints !== undefined) {
      // The client warms a new or changed cluster on its assignment, which is sent again.
      const again = due.news
        .flatMap((cluster) => cluster.assignment ?? [])
        .filter((name) => isAsked(self, endpoints, name))
      const toAnswer = new Set([...endpoints.toAnswer, ...again])
      subscriptions.set(ClusterLoadAssignment.typeUrl, { ...endpoints, toAnswer })
    }
    const { absent, removed, resources } = due
    return [
      { ...self, subscriptions, nonces: self.nonces + 1, credit: false },
      { typeUrl, nonce, resources, removed, absent }
    ]
  }
  return [{ ...self, subscriptions }, undefined]
}

const isAsked = (self: ReferenceModel, subscription: Subscription, name: string): boolean =>
  hasWildcard(self, ClusterLoadAssignment.typeUrl, subscription) ||
  subscription.names.has(name) ||
  // A collection asks for what exists.
  (subscription.names.has(collectionOf(name)) &&
    self.resources?.some((each) => each.typeUrl === ClusterLoadAssignment.typeUrl && each.name === name) === true)

const mustAnswer = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  isNamed(subscription.toAnswer, resource.name) ||
  aliasesAsked(self, { names: subscription.toAnswer }, resource).length > 0 ||
  (subscription.toAnswer.has("*") && hasWildcard(self, resource.typeUrl, subscription))

/** State of the world: everything for full-state types, else what is new to the client. */
const state = (
  self: ReferenceModel,
  typeUrl: string,
  subscription: Subscription,
  target: ReadonlyArray<Resource>
): Due => {
  const news = target.filter(
    (resource) =>
      mustAnswer(self, subscription, resource) ||
      subscription.sent.get(resource.name)?.identity !== resource.fingerprint
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
    const held = isUncertain(identity) ? identity.slice(uncertainOf("").identity.length) : identity
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
    if (before?.identity !== resource.fingerprint || mustAnswer(self, subscription, resource)) return true
    // A name that led elsewhere leads here now.
    return aliasesAsked(self, subscription, resource).some((name) => !before.asked.includes(name))
  })
  const { names, toAnswer, sent } = subscription
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
    if (identity === unreported.identity && leads(name)) continue
    // A name that was requested again gets an answer.
    if (isUncertain(identity) && names.has(name) && !leads(name)) continue
    removed.add(name)
  }
  for (const name of toAnswer) {
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
