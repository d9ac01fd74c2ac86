/**
 * The names in an incremental request: what it subscribes to and unsubscribes from, taken some names at a time.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Incremental xDS"
 * @since 0.1.0
 */
import type * as Steps from "../Steps.js"
import type { IncrementalRequest } from "../wire/Request.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"
import * as HashSet from "effect/HashSet"

/**
 * A request that is being taken, some names at a time.
 *
 * @since 0.1.0
 */
export interface PartialNames {
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
export const sizeOf = ({ request }: PartialNames): number =>
  request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length

/**
 * Takes so many names more.
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
