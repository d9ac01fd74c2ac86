/**
 * The names in a state-of-the-world request: a list that replaces the one before it, taken some names at a time.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "How the client specifies what resources to return"
 * @since 0.1.0
 */
import * as Steps from "../Steps.js"
import type { StateOfTheWorldRequest } from "../wire/Request.js"
import * as PendingRemovals from "./PendingRemovals.js"
import * as RequestedNames from "./RequestedNames.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"

/**
 * Whether a request is stale: it names a response that is not the last one, so its names may be older than what was
 * answered since. It is ignored whole. A nonce on a stream that was sent nothing comes from an earlier stream and means
 * nothing.
 *
 * @since 0.1.0
 */
export const isStale = (self: Subscription, request: StateOfTheWorldRequest): boolean =>
  request.responseNonce !== "" && self.sent !== undefined && self.sent.nonce !== request.responseNonce

const sameList = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a === b || (a.length === b.length && a.every((name, index) => name === b[index]))

/**
 * A request that is being taken, some names at a time.
 *
 * @since 0.1.0
 */
export interface PartialNames {
  readonly _tag: "StateOfTheWorld"
  readonly request: StateOfTheWorldRequest
  readonly first: boolean
  readonly before: Subscription
  /** The names of the request that were looked at, so many in each. One set of a hundred thousand takes 20 ms to make. */
  readonly wanted: ReadonlyArray<ReadonlySet<string>>
  readonly star: boolean
  /** The subscription as far as the names were taken. */
  readonly next: Subscription
  /** How many names were looked at: those of the request, then those that were listed before. */
  readonly at: number
}

/** Names in one set. */
const namesPerSet = 8_192

const isIn = (wanted: ReadonlyArray<ReadonlySet<string>>, name: string): boolean => {
  for (const names of wanted) if (names.has(name)) return true
  return false
}

/**
 * Begins to take the names of a request that is not stale.
 *
 * @since 0.1.0
 */
export const begin = function* (
  self: Subscription,
  request: StateOfTheWorldRequest,
  first: boolean
): Steps.Steps<PartialNames> {
  // Names, also `*`, end the legacy wildcard for good: it never gets here, see `subscribe`.
  const star = request.resourceNames.includes("*")
  const next = Subscriptions.draft(self)
  next.lastNames = request.resourceNames
  if (star && next.wildcard !== "explicit") yield* RequestedNames.addWildcard(next)
  return { _tag: "StateOfTheWorld", request, first, before: self, wanted: [], star, next, at: 0 }
}

/**
 * How many names there are to look at in all.
 *
 * @since 0.1.0
 */
export const sizeOf = (self: PartialNames): number => self.request.resourceNames.length + self.before.lastNames.length

/**
 * Looks at so many names more.
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
    if (!Subscriptions.hasName(before, name)) added.push(name)
    kept.push(name)
  }
  RequestedNames.addNames(next, added)
  // Also new names keep what the wildcard brought: if that is deleted, the client must be told.
  if (heldByWildcard !== undefined) yield* RequestedNames.keepHeld(next, heldByWildcard, kept)
  RequestedNames.removeNames(next, dropped)
  return { ...self, wanted, next, at }
}

/**
 * The subscription after all names were looked at.
 *
 * @since 0.1.0
 */
export const finish = function* ({
  before,
  next: taken,
  request,
  star,
  wanted
}: PartialNames): Steps.Steps<Subscription> {
  const next = Subscriptions.draft(taken)
  const isDropped = (name: string) => Subscriptions.hasName(before, name) && !isIn(wanted, name)
  if (!star) {
    next.pendingRemovals = yield* PendingRemovals.withoutMany(
      next.pendingRemovals,
      yield* Steps.filter(next.pendingRemovals.keys(), isDropped)
    )
    yield* RequestedNames.endWildcard(next)
  }
  // ★ Without a nonce it crossed the first response, and is not stale. Of that the client may hold what it gave up here
  // and asks for again: so it is told the state, also if that is empty.
  const isCrossing = before.sent !== undefined && request.responseNonce === ""
  const isOther = next.names !== before.names || next.wildcard !== before.wildcard
  if (isCrossing && isOther && !deletionsAreSilent(before)) next.mustReply = true
  return next
}

/**
 * Whether a request has the names of the one before it.
 *
 * @since 0.1.0
 */
export const isRepeated = (self: Subscription, { resourceNames }: StateOfTheWorldRequest): boolean =>
  sameList(self.lastNames, resourceNames)

/**
 * Takes the names of a request that is not stale: all of them, or as many as given and what is left to be taken.
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
  // Listed names differ, so at least one of the two lists is not empty: a legacy wildcard that goes on never gets here.
  // ★ Names, also `*`, end the legacy wildcard for good; ★ an empty list after names is an unsubscription from all.
  const partialRequest = yield* advance(yield* begin(self, request, first), count)
  return partialRequest.at < sizeOf(partialRequest) ? partialRequest : yield* finish(partialRequest)
}

/**
 * Whether deletions of this type are never told: the client drops such resources when nothing refers to them any more.
 *
 * @since 0.1.0
 */
export const deletionsAreSilent = (self: Subscription): boolean => self.family === "by-name"
