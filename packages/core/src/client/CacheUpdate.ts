/**
 * A validated response taken into the cache: what is new, unchanged, rejected, gone, and what the server cannot give.
 *
 * An error does not take a resource away unless the server is marked so: what is in use stays in use, and its watchers are
 * told of an ambient error.
 *
 * @see https://github.com/grpc/proposal/blob/master/A88-xds-data-error-handling.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import type * as Option from "effect/Option"
import * as Authority from "../protocol/Authority.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { ClientCache, Entry, Failure, Held, Notice, Result, Step, TypeCache } from "./CachedType.js"
import { CacheDraft, inOrder, put, requested, typeOf, updatedOf } from "./CachedType.js"
import type { InUse, Placed, Validation } from "./Validation.js"
import * as Validations from "./Validation.js"

const never = Number.POSITIVE_INFINITY
const { INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED } = StatusCode.codes

/**
 * A held resource, as validation compares it with what comes.
 *
 * @since 0.1.0
 */
export const useOf = (entry: Option.Option<Entry>, server: string): InUse | undefined => {
  if (entry._tag === "None" || entry.value.held === undefined) return undefined
  const { failure, held } = entry.value
  const isPlain = failure === undefined && held.expiresAt === never && held.server === server
  return { version: held.version, bytes: held.bytes, isPlain }
}

/** The order that a response leaves. A small one says nothing of the others. */
const orderOf = (before: TypeCache, after: TypeCache, validation: Validation, server: string): TypeCache["order"] => {
  const { entries, revision } = after
  if (validation.order.length * 2 < before.order.places.length) return before.order
  const places: Array<Placed> = []
  for (const each of validation.order) {
    if (typeof each !== "string") {
      places.push(each)
      continue
    }
    const use = useOf(HashMap.get(entries, each), server)
    if (use !== undefined) places.push(Validations.place(each, use))
  }
  return { server, places, revision }
}

/**
 * How resources of a response are taken.
 *
 * @since 0.1.0
 */
export interface Policy {
  readonly server: string
  /** Whether data errors take a held resource away (`fail_on_data_errors`). */
  readonly failOnDataErrors: boolean
  /** Whether the stream asks for a resource. */
  readonly isServed: (name: string) => boolean
  /** Whether the response is to a request that asked for a resource. */
  readonly isAnswered: (name: string) => boolean
  /** Waited for, and not among everything that there is. */
  readonly missing: ReadonlyArray<string>
  /** Whether the same response was rejected before. */
  readonly isRepeat: boolean
  /** When the stream began, in milliseconds: what a server said on an earlier one it says again. */
  readonly since: number
  /** Resources of a type at most. */
  readonly maxResources: number
}

/**
 * Takes a validated response.
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
  const deleted = (name: string, entry: Entry, message: string) => {
    // ★ Told once.
    if (entry.status === "DoesNotExist") return
    changes.fail(name, entry, "DoesNotExist", { error: { code: NOT_FOUND, message }, version: "", at: now }, drop)
  }

  for (const { bytes, name, ownName, ttl, value, version: own } of validation.updated) {
    const entry = changes.get(name) ?? requested
    const expiresAt = ttl === undefined ? never : now + ttl
    const held: Held = { server, ownName, version: own, value, bytes, updatedAt: now, expiresAt }
    const next: Entry = { ...entry, status: "Acked", held, failure: undefined }
    changes.set(name, next)
    changes.tell(name, next, updatedOf(held))
  }
  for (const { isHeartbeat, isPlain, name, ownName, ttl, version: own } of validation.unchanged) {
    if (isPlain) continue
    const entry = changes.get(name)
    if (entry?.held === undefined) continue
    const expiresAt = ttl === undefined ? never : now + ttl
    // A heartbeat says nothing of the content: an error that was told stays.
    const failure = isHeartbeat ? entry.failure : undefined
    const status = isHeartbeat ? entry.status : "Acked"
    // In state of the world only the response has a version: resources that did not change keep theirs.
    const ownVersion = own ?? entry.held.version
    const isSame =
      entry.held.expiresAt === expiresAt &&
      entry.held.version === ownVersion &&
      entry.held.server === server &&
      entry.held.ownName === ownName &&
      entry.failure === failure
    if (isSame) continue
    const held: Held = { ...entry.held, server, ownName, version: ownVersion, expiresAt }
    const next: Entry = { ...entry, status, failure, held }
    changes.set(name, next)
    if (entry.failure !== undefined && failure === undefined) changes.tell(name, next, { _tag: "Recovered" })
  }
  for (const { name, reason } of validation.rejected) {
    const known = changes.get(name)
    // Of what was never there and nobody named, nothing is kept: that it was told is not known otherwise.
    if (known === undefined && policy.isRepeat) continue
    const entry = known ?? requested
    changes.fail(name, entry, "Nacked", { error: { code: INVALID_ARGUMENT, message: reason }, version, at: now }, drop)
  }
  for (const name of validation.removed) {
    const entry = changes.get(name)
    if (entry !== undefined) deleted(name, entry, `${name} does not exist, the server says`)
  }
  for (const { error, name } of validation.failed) {
    const known = changes.get(name)
    // Of what was never there and nobody named, that it does not exist is no news.
    if (name === "*" || (known === undefined && error.code === NOT_FOUND)) continue
    if (known === undefined && changes.size >= policy.maxResources) continue
    const isDropping = drop && isDataError(error)
    changes.fail(name, known ?? requested, "ReceivedError", { error, version: "", at: now }, isDropping)
  }
  // ★ An error of everything: what is held stays in use, unless the error says that there is nothing, or nothing for us.
  const whole = validation.failed.find(({ name }) => name === "*")
  const dropped = new Set<string>()
  if (whole !== undefined && (whole.error.code === NOT_FOUND || (drop && isDataError(whole.error)))) {
    const { error } = whole
    for (const [name, entry] of type.entries) {
      const isFree = entry.held?.server === server && HashSet.size(entry.watchers) === 0 && Authority.isCovered(name)
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
  // Most often all that is held is there.
  if (validation.isComplete && (validation.known < type.held || type.rejected > 0)) {
    for (const [name, entry] of type.entries) {
      // What the server cannot give it says once on a stream, not with every response.
      if (validation.seen.has(name) || dropped.has(name)) continue
      if (entry.status === "ReceivedError" && (entry.failure?.at ?? 0) >= policy.since) continue
      // What was rejected and never held is gone like what is held.
      if (entry.held === undefined && entry.status !== "Nacked") continue
      // ★ What this server never sent may be missing because the response is to an older request.
      const isKnown = entry.held?.server === server ? policy.isServed(name) : policy.isAnswered(name)
      if (isKnown) deleted(name, entry, `${name} is not in version ${JSON.stringify(version)}`)
    }
  }
  const [next, notices] = changes.end()
  const after = typeOf(next, typeUrl)
  const [failure, told] = failureOfAll(type, after.held, whole?.error, validation, typeUrl, now)
  return [
    put(next, typeUrl, { ...after, failure, order: orderOf(type, after, validation, server) }),
    told === undefined ? notices : [...notices, told]
  ]
}

const isDataError = ({ code }: ErrorDetail): boolean => code === NOT_FOUND || code === PERMISSION_DENIED

/**
 * What an error of everything means to those who watch everything.
 *
 * @since 0.1.0
 */
export const resultOfAll = (held: number, error: ErrorDetail): Result =>
  error.code === NOT_FOUND ? { _tag: "DoesNotExist", error } : { _tag: held > 0 ? "AmbientError" : "Error", error }

/** The error of everything after a response, and what is told of it: ★ the same once, until resources come again. */
const failureOfAll = (
  before: TypeCache,
  held: number,
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
    return [isTold ? failure : { error, version: "", at: now }, isTold ? undefined : notice(resultOfAll(held, error))]
  }
  const isGiven = validation.failed.length === 0 || validation.updated.length > 0 || validation.unchanged.length > 0
  if (failure === undefined || !isGiven) return [failure, undefined]
  return [
    undefined,
    resultOfAll(held, failure.error)._tag === "AmbientError" ? notice({ _tag: "Recovered" }) : undefined
  ]
}
