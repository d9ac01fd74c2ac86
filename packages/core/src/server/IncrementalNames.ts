/**
 * The names in an incremental request: subscriptions and unsubscriptions, processed in portions.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Incremental xDS"
 * @since 0.1.0
 */
import * as Collection from "../protocol/Collection.js"
import type * as Steps from "../Steps.js"
import type { IncrementalRequest } from "../wire/Request.js"
import * as Collections from "./Collections.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"
import * as NameSet from "./NameSet.js"

/**
 * A request whose names are processed in portions.
 *
 * @since 0.1.0
 */
export interface PartialNames {
  readonly _tag: "Incremental"
  readonly request: IncrementalRequest
  readonly first: boolean
  /** The subscription after the names processed so far. */
  readonly next: Subscription
  /** Number of names processed so far: first those subscribed to, then those unsubscribed from. */
  readonly at: number
}

/**
 * Number of names in all.
 *
 * @since 0.1.0
 */
export const sizeOf = ({ request }: PartialNames): number =>
  request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length

/**
 * Processes about `count` more names; a long name counts as several.
 *
 * @since 0.1.0
 */
export const advance = function* (self: PartialNames, count: number): Steps.Steps<PartialNames> {
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
      // A later `*` before the first response: resources that the client holds are due, too.
      if (!first && next.cursor === undefined && next.wildcard !== "legacy") next.resendAll = true
      yield* RequestedNames.addWildcard(next)
    } else {
      added.push(name)
    }
  }
  // ★ A held name is sent again: the client may have forgotten it.
  RequestedNames.addNames(next, added)
  if (!first) RequestedNames.resendHeld(next, added)
  Collections.note(next, added)
  // ★ The first subscribed name turns a legacy wildcard into `*`.
  if (at >= subscribed && subscribed > 0 && next.wildcard === "legacy") next.wildcard = "explicit"
  for (; at < all && left > 0; at++) {
    const name = resourceNamesUnsubscribe[at - subscribed] ?? "*"
    left -= RequestedNames.effort(name)
    if (name === "*") {
      // An unsubscription from `*` does not end a legacy wildcard, and means nothing without a `*`.
      if (next.wildcard !== "explicit") continue
      yield* Collections.keepMembers(next)
      yield* RequestedNames.dropWildcard(next)
    } else if (!Collections.isAsked(next, name)) {
      continue
    } else if (Collection.isGlob(name)) {
      const members = yield* Collections.leave(next, name)
      if (next.wildcard !== "none") next.requested = yield* NameSet.addAllInSteps(next.requested, members)
    } else if (Collections.giveUp(next, name)) {
      // ★ The client cannot know whether the collection covers the resource, so it gets an answer.
      RequestedNames.resendHeld(next, [name])
      next.requested = NameSet.add(next.requested, name)
    } else {
      // ★ Envoy requests a resource that it got by an alias again by its own name. It has the resource already.
      RequestedNames.keepAlias(next, name)
      RequestedNames.removeNames(next, [name])
      // The client drops an unsubscribed resource: no removal is needed.
      if (!Subscriptions.isWild(next)) next.pendingRemovals = PendingRemovals.without(next.pendingRemovals, [name])
      RequestedNames.resendHeld(next, [name])
      // ★ The client cannot know whether the wildcard covers the resource, so it gets an answer.
      if (next.wildcard !== "none") next.requested = NameSet.add(next.requested, name)
    }
  }
  return { ...self, next, at }
}

/**
 * Whether a request lists no names: an ACK or NACK.
 *
 * @since 0.1.0
 */
export const isAnswer = ({ resourceNamesSubscribe, resourceNamesUnsubscribe }: IncrementalRequest): boolean =>
  resourceNamesSubscribe.length === 0 && resourceNamesUnsubscribe.length === 0

/**
 * Processes the names of a request: all of them, or about `count`, with the rest to follow. Nonces do not matter here:
 * subscriptions with a stale nonce apply, too.
 *
 * @since 0.1.0
 */
export const subscribe = function* (
  self: Subscription,
  request: IncrementalRequest,
  first: boolean,
  count: number
): Steps.Steps<Subscription | PartialNames> {
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
