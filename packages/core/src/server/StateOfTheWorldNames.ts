/**
 * The names in a state-of-the-world request: a list that replaces the one before, processed in portions.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "How the client specifies what resources to return"
 * @since 0.1.0
 */
import * as Collection from "../protocol/Collection.js"
import * as Steps from "../Steps.js"
import type { StateOfTheWorldRequest } from "../wire/Request.js"
import * as Collections from "./Collections.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"

/**
 * Whether a request is stale: its nonce is not that of the last response, so its names may be older. It is ignored whole.
 * Before the first response a nonce belongs to an earlier stream and means nothing.
 *
 * @since 0.1.0
 */
export const isStale = (self: Subscription, request: StateOfTheWorldRequest): boolean =>
  request.responseNonce !== "" && self.sent !== undefined && self.sent.nonce !== request.responseNonce

const sameList = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a === b || (a.length === b.length && a.every((name, index) => name === b[index]))

/**
 * A request whose names are processed in portions.
 *
 * @since 0.1.0
 */
export interface PartialNames {
  readonly _tag: "StateOfTheWorld"
  readonly request: StateOfTheWorldRequest
  readonly first: boolean
  readonly before: Subscription
  /** The names of the request processed so far, in sets of {@link namesPerSet}: one set of 100 000 names takes 20 ms. */
  readonly wanted: ReadonlyArray<ReadonlySet<string>>
  readonly star: boolean
  /** The subscription after the names processed so far. */
  readonly next: Subscription
  /** Number of names processed so far: first those of the request, then those of the list before. */
  readonly at: number
}

/** Most names in one set. */
const namesPerSet = 8_192

const isIn = (wanted: ReadonlyArray<ReadonlySet<string>>, name: string): boolean => {
  for (const names of wanted) if (names.has(name)) return true
  return false
}

/**
 * Starts processing the names of a request that is not stale.
 *
 * @since 0.1.0
 */
export const begin = function* (
  self: Subscription,
  request: StateOfTheWorldRequest,
  first: boolean
): Steps.Steps<PartialNames> {
  // Names, also `*`, end the legacy wildcard for good. One that goes on never gets here; see `subscribe`.
  const star = request.resourceNames.includes("*")
  const next = Subscriptions.draft(self)
  next.lastNames = request.resourceNames
  if (star && next.wildcard !== "explicit") yield* RequestedNames.addWildcard(next)
  return { _tag: "StateOfTheWorld", request, first, before: self, wanted: [], star, next, at: 0 }
}

/**
 * Number of names in all.
 *
 * @since 0.1.0
 */
export const sizeOf = (self: PartialNames): number => self.request.resourceNames.length + self.before.lastNames.length

/**
 * Processes about `count` more names; a long name counts as several.
 *
 * @since 0.1.0
 */
export const advance = function* (self: PartialNames, count: number): Steps.Steps<PartialNames> {
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
    if (!Collections.isAsked(before, name)) added.push(name)
    kept.push(name)
  }
  RequestedNames.addNames(next, added)
  Collections.note(next, added)
  // New names also keep what the wildcard sent under them: its removal must be sent.
  if (heldByWildcard !== undefined) yield* RequestedNames.keepHeld(next, heldByWildcard, kept)
  const unlisted = next.collections === undefined ? dropped : dropped.filter((name) => !Collections.giveUp(next, name))
  RequestedNames.removeNames(next, unlisted)
  for (const name of unlisted) if (Collection.isGlob(name)) yield* Collections.leave(next, name)
  return { ...self, wanted, next, at }
}

/**
 * The subscription after all names are processed.
 *
 * @since 0.1.0
 */
export const finish = function* ({ before, next: taken, request, star }: PartialNames): Steps.Steps<Subscription> {
  const next = Subscriptions.draft(taken)
  const isDropped = (name: string) => Subscriptions.hasName(before, name) && !Subscriptions.hasName(taken, name)
  if (!star) {
    next.pendingRemovals = yield* PendingRemovals.withoutMany(
      next.pendingRemovals,
      yield* Steps.filter(next.pendingRemovals.keys(), isDropped)
    )
    if (next.collections !== undefined && Subscriptions.isWild(next) && next.cursor !== undefined) {
      yield* Collections.keepMembers(next)
      const isMember = (name: string) => !Collections.isAsked(next, name)
      const members = yield* Steps.filter(next.names.keys(), isMember)
      yield* RequestedNames.keepHeld(next, next.cursor, members)
    }
    yield* RequestedNames.endWildcard(next)
  }
  // ★ A request without a nonce crossed the first response, and is not stale. The client may still hold a resource of that
  // response whose name it dropped in between. So it gets the state, even if that is empty.
  const isCrossing = before.sent !== undefined && request.responseNonce === ""
  const isOther =
    Subscriptions.askedNames(next) !== Subscriptions.askedNames(before) || next.wildcard !== before.wildcard
  if (isCrossing && isOther && !deletionsAreSilent(before)) next.mustReply = true
  return next
}

/**
 * Whether a request lists the same names as the one before.
 *
 * @since 0.1.0
 */
export const isRepeated = (self: Subscription, { resourceNames }: StateOfTheWorldRequest): boolean =>
  sameList(self.lastNames, resourceNames)

/**
 * Processes the names of a request that is not stale: all of them, or about `count`, with the rest to follow.
 *
 * @since 0.1.0
 */
export const subscribe = function* (
  self: Subscription,
  request: StateOfTheWorldRequest,
  first: boolean,
  count: number
): Steps.Steps<Subscription | PartialNames> {
  const { resourceNames } = request
  if (!first && isRepeated(self, request)) return self
  if (first && resourceNames.length === 0) {
    const next = Subscriptions.draft(self)
    next.wildcard = "legacy"
    return next
  }
  // The lists differ, so one of them is not empty: a legacy wildcard that goes on never gets here. ★ Names, also `*`, end the
  // legacy wildcard for good. ★ An empty list after names unsubscribes from all.
  const partialRequest = yield* advance(yield* begin(self, request, first), count)
  return partialRequest.at < sizeOf(partialRequest) ? partialRequest : yield* finish(partialRequest)
}

/**
 * Whether removals of this type are never sent: the client drops a resource when nothing refers to it any more.
 *
 * @since 0.1.0
 */
export const deletionsAreSilent = (self: Subscription): boolean => self.family === "by-name"
