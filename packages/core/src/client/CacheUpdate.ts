/**
 * Applies a validated response to the cache: updated, unchanged, rejected and removed resources, and resource errors.
 *
 * An error does not remove a held resource, unless the server has `fail_on_data_errors`: the resource stays in use, and its
 * watchers get an ambient error.
 *
 * @see https://github.com/grpc/proposal/blob/master/A88-xds-data-error-handling.md
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail } from "../wire/Request.js"
import { viewOf } from "../wire/Wire.js"
import type { ClientCache, Entry, Failure, Held, Notice, Result, Step, TypeCache } from "./CachedType.js"
import {
  CacheDraft,
  collectionOf,
  holdsAny,
  inOrder,
  isOfMembers,
  isUnusable,
  put,
  requested,
  typeOf,
  updatedOf
} from "./CachedType.js"
import type { InUse, Placed } from "./ResponseOrder.js"
import * as ResponseOrders from "./ResponseOrder.js"
import type { Validation } from "./Validation.js"

const never = Number.POSITIVE_INFINITY
const { INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED } = StatusCode.codes

/**
 * A held resource in the form that validation compares with a response.
 *
 * @since 0.1.0
 */
export const useOf = (entry: Entry | undefined, server: string): InUse | undefined => {
  if (entry?.held === undefined) return undefined
  const { failure, held } = entry
  const isPlain = failure === undefined && held.expiresAt === never && held.server === server && !held.isToldAgain
  return { version: held.version, bytes: viewOf(held.bytes), isPlain }
}

/** The order of resources after a response. A small response says nothing about the others, so the order before stays. */
const orderOf = (before: TypeCache, after: TypeCache, validation: Validation, server: string): TypeCache["order"] => {
  const { entries, revision } = after
  if (!ResponseOrders.isLarge(validation.order.length, before.order.places)) return before.order
  const places: Array<Placed> = []
  for (const each of validation.order) {
    if (typeof each !== "string") {
      places.push(each)
      continue
    }
    const use = useOf(entries.get(each), server)
    if (use !== undefined) places.push(ResponseOrders.place(each, use))
  }
  return { server, places, revision }
}

/**
 * The rules for applying a response.
 *
 * @since 0.1.0
 */
export interface Policy {
  readonly server: string
  /** `fail_on_data_errors`: data errors remove a held resource. */
  readonly failOnDataErrors: boolean
  /** Whether a removed resource is dropped. Else it stays in use, and its watchers get an ambient error. */
  readonly dropRemoved: boolean
  /** Whether the stream is subscribed to a resource. */
  readonly isServed: (name: string) => boolean
  /** Whether the response answers a request that asked for the resource. */
  readonly isAnswered: (name: string) => boolean
  /** Names waited for that a complete response lacks. */
  readonly missing: ReadonlyArray<string>
  /** Whether the same response was rejected before. */
  readonly isRepeat: boolean
  /** When the stream began, in milliseconds. A server repeats its resource errors on each stream. */
  readonly since: number
  /** Most resources of a type. */
  readonly maxResources: number
}

/**
 * Applies a validated response.
 *
 * @since 0.1.0
 */
export const apply = (
  self: ClientCache,
  typeUrl: string,
  version: string,
  validation: Validation,
  policy: Policy,
  now: number
): Step => {
  const { server } = policy
  const type = typeOf(self, typeUrl)
  const changes = new CacheDraft(self, typeUrl, type)
  const drop = policy.failOnDataErrors
  const gone: Array<string> = []
  const refused: Array<string> = []
  const came = (name: string) => {
    const glob = collectionOf(type, name)
    if (glob !== undefined) changes.cameTo(glob)
  }
  const deleted = (name: string, entry: Entry, message: string) => {
    // ★ Reported once.
    if (entry.status === "DoesNotExist") return
    if (type.collections) gone.push(name)
    const failure = { error: { code: NOT_FOUND, message }, version: "", at: now }
    changes.fail(name, entry, "DoesNotExist", failure, policy.dropRemoved)
  }
  // A collection that does not exist has no members, whatever the client holds of it.
  const empty = (glob: string) => {
    if (!type.collections || !Collection.isGlob(glob)) return
    for (const [name, entry] of type.entries) {
      const isThere = entry.held !== undefined || isUnusable(entry)
      if (isThere && !validation.seen.has(name) && Collection.of(name) === glob)
        deleted(name, entry, `${glob} does not exist, the server says`)
    }
  }

  for (const { bytes, isToldAgain, keys, name, ownName, ttl, value, version: own } of validation.updated) {
    const entry = changes.get(name) ?? requested
    const expiresAt = ttl === undefined ? never : now + ttl
    const held: Held = { server, ownName, version: own, value, keys, bytes, updatedAt: now, expiresAt, isToldAgain }
    const next: Entry = { ...entry, status: "Acked", held, failure: undefined }
    changes.set(name, next)
    changes.tell(name, next, updatedOf(held))
    came(name)
  }
  for (const { isHeartbeat, isPlain, name, ownName, ttl, version: own } of validation.unchanged) {
    came(name)
    if (isPlain) continue
    const entry = changes.get(name)
    if (entry?.held === undefined) continue
    const expiresAt = ttl === undefined ? never : now + ttl
    // A heartbeat says nothing about the content, so a reported error stays.
    const failure = isHeartbeat ? entry.failure : undefined
    const status = isHeartbeat ? entry.status : "Acked"
    // In state of the world the version belongs to the response: unchanged resources keep theirs.
    const ownVersion = own ?? entry.held.version
    const isSame =
      entry.held.expiresAt === expiresAt &&
      entry.held.version === ownVersion &&
      entry.held.server === server &&
      entry.held.ownName === ownName &&
      entry.failure === failure
    const isTold = entry.held.isToldAgain && !isHeartbeat
    if (isSame) {
      if (isTold) changes.tell(name, entry, updatedOf(entry.held))
      continue
    }
    const held: Held = { ...entry.held, server, ownName, version: ownVersion, expiresAt }
    const next: Entry = { ...entry, status, failure, held }
    changes.set(name, next)
    if (isTold) changes.tell(name, next, updatedOf(held))
    else if (entry.failure !== undefined && failure === undefined) changes.tell(name, next, { _tag: "Recovered" })
  }
  for (const { name, reason } of validation.rejected) {
    const known = changes.get(name)
    // A repeated rejection of a resource that nobody holds or named is already reported; no entry remembers it.
    if (known === undefined && policy.isRepeat) continue
    const error = { code: INVALID_ARGUMENT, message: reason }
    // Beyond the limit it is told, and not remembered.
    if (known === undefined && changes.size >= policy.maxResources)
      changes.tell(name, requested, { _tag: "Error", error })
    else changes.fail(name, known ?? requested, "Nacked", { error, version, at: now }, drop)
    if (type.collections) refused.push(name)
  }
  for (const name of validation.removed) {
    empty(name)
    const entry = changes.get(name)
    if (entry !== undefined) deleted(name, entry, `${name} does not exist, the server says`)
  }
  for (const { error, name } of validation.failed) {
    const known = changes.get(name)
    // A resource that nobody holds or named: NOT_FOUND is no news.
    if (name === "*" || (known === undefined && error.code === NOT_FOUND)) continue
    if (known === undefined && changes.size >= policy.maxResources) continue
    const isDropping = drop && isDataError(error)
    if (error.code === NOT_FOUND) empty(name)
    changes.fail(name, known ?? requested, "ReceivedError", { error, version: "", at: now }, isDropping)
    if (type.collections) (error.code === NOT_FOUND ? gone : refused).push(name)
  }
  // ★ Error of `*`: held resources stay in use, unless it is NOT_FOUND or, with `fail_on_data_errors`, a data error.
  const whole = validation.failed.find(({ name }) => name === "*")
  const dropped = new Set<string>()
  if (whole !== undefined && (whole.error.code === NOT_FOUND || (drop && isDataError(whole.error)))) {
    const { error } = whole
    for (const [name, entry] of type.entries) {
      const isFree = entry.held?.server === server && HashSet.size(entry.watchers) === 0 && Authority.isInWildcard(name)
      if (!isFree || validation.seen.has(name)) continue
      dropped.add(name)
      changes.set(name, { ...entry, status: "Requested", held: undefined })
      changes.tell(name, entry, { _tag: error.code === NOT_FOUND ? "DoesNotExist" : "Error", error })
    }
  }
  for (const name of policy.missing) {
    const entry = changes.get(name)
    if (entry?.held === undefined && entry?.status === "Requested") {
      deleted(name, entry, `${name} is not in version ${JSON.stringify(version)}`)
    }
  }
  // Usually the response has all that is held.
  if (validation.isComplete && (validation.known < type.held || type.rejected > 0)) {
    for (const [name, entry] of type.entries) {
      // A server reports a resource error once per stream, not in every response.
      if (validation.seen.has(name) || dropped.has(name)) continue
      if (entry.status === "ReceivedError" && (entry.failure?.at ?? 0) >= policy.since) continue
      // A rejected resource that was never held is removed like a held one.
      if ((entry.held === undefined && entry.status !== "Nacked") || isOfMembers(name, entry)) continue
      // ★ If this server never sent the resource, the response may answer an older request: its absence means nothing.
      const isKnown = entry.held?.server === server ? policy.isServed(name) : policy.isAnswered(name)
      if (isKnown) deleted(name, entry, `${name} is not in version ${JSON.stringify(version)}`)
    }
  }
  changes.refused(refused)
  changes.removed(gone, now)
  const [next, notices] = changes.end()
  const after = typeOf(next, typeUrl)
  const [failure, told] = failureOfAll(type, after, whole?.error, validation, typeUrl, now)
  return [
    put(next, typeUrl, { ...after, failure, order: orderOf(type, after, validation, server) }),
    told === undefined ? notices : [...notices, told]
  ]
}

const isDataError = ({ code }: ErrorDetail): boolean => code === NOT_FOUND || code === PERMISSION_DENIED

/**
 * The result for wildcard watchers of an error of `*`.
 *
 * @since 0.1.0
 */
export const resultOfAll = (type: TypeCache, error: ErrorDetail): Result =>
  error.code === NOT_FOUND
    ? { _tag: "DoesNotExist", error }
    : { _tag: holdsAny(type) ? "AmbientError" : "Error", error }

/** The error of `*` after a response, and the notice of it. ★ An equal error is reported once, until resources come again. */
const failureOfAll = (
  before: TypeCache,
  after: TypeCache,
  error: ErrorDetail | undefined,
  validation: Validation,
  typeUrl: string,
  now: number
): readonly [Failure | undefined, Notice | undefined] => {
  const { failure } = before
  const notice = (result: Result): Notice | undefined => {
    const watchers = inOrder(before.watchers)
    return watchers.length === 0 ? undefined : { typeUrl, name: "*", watchers, result }
  }
  if (error !== undefined) {
    const isTold = failure?.error.code === error.code && failure.error.message === error.message
    return [isTold ? failure : { error, version: "", at: now }, isTold ? undefined : notice(resultOfAll(after, error))]
  }
  const isGiven = validation.failed.length === 0 || validation.updated.length > 0 || validation.unchanged.length > 0
  if (failure === undefined || !isGiven) return [failure, undefined]
  return [
    undefined,
    resultOfAll(after, failure.error)._tag === "AmbientError" ? notice({ _tag: "Recovered" }) : undefined
  ]
}
