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
import * as Steps from "../Steps.js"
import type { ResourceError } from "../wire/ClientResponse.js"
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
import type { Rejection, Unchanged, Update, Validation } from "./Validation.js"

const never = Number.POSITIVE_INFINITY
const nothing: ReadonlyArray<readonly [string, Entry]> = []
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

/** A validated response on its way into the cache, one resource at a time. The functions below call its methods in their order. */
class Applying {
  readonly #changes: CacheDraft
  readonly #type: TypeCache
  /** Collections with members that do not exist any more. */
  readonly gone = new Set<string>()
  /** Collections with members that cannot be used. */
  readonly refused = new Set<string>()
  /** Resources that the error of `*` removed. */
  readonly #dropped = new Set<string>()
  readonly #whole: ErrorDetail | undefined
  /** What is there of the collections that end. */
  #ending: ReadonlyMap<string, Array<readonly [name: string, entry: Entry]>> | undefined
  readonly #places: Array<Placed> = []

  constructor(
    self: ClientCache,
    private readonly typeUrl: string,
    private readonly version: string,
    private readonly validation: Validation,
    private readonly policy: Policy,
    private readonly now: number
  ) {
    this.#type = typeOf(self, typeUrl)
    this.#changes = new CacheDraft(self, typeUrl, this.#type)
    this.#whole = validation.failed.find(({ name }) => name === "*")?.error
  }

  /** What is to be looked through for collections is looked through in steps, before anything else. */
  *prepare(): Steps.Steps<void> {
    const { failed, rejected, removed } = this.validation
    if (!this.#type.collections) return
    const isLessening = failed.length + rejected.length + removed.length > 0 || this.ofComplete !== nothing
    if (isLessening) yield* this.#changes.countMembers()
    const ending = this.#globsThatEnd()
    if (ending.size === 0) return
    yield* Steps.each(this.#type.entries, (each) => this.#addTo(ending, each))
    this.#ending = ending
  }

  update({ bytes, isToldAgain, keys, name, ownName, ttl, value, version }: Update): void {
    const { now } = this
    const entry = this.#changes.get(name) ?? requested
    const expiresAt = ttl === undefined ? never : now + ttl
    const { server } = this.policy
    const held: Held = { server, ownName, version, value, keys, bytes, updatedAt: now, expiresAt, isToldAgain }
    const next: Entry = { ...entry, status: "Acked", held, failure: undefined }
    this.#changes.set(name, next)
    this.#changes.tell(name, next, updatedOf(held))
    this.#came(name)
  }

  renew({ isHeartbeat, isPlain, name, ownName, ttl, version: own }: Unchanged): void {
    this.#came(name)
    if (isPlain) return
    const changes = this.#changes
    const { server } = this.policy
    const entry = changes.get(name)
    if (entry?.held === undefined) return
    const expiresAt = ttl === undefined ? never : this.now + ttl
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
      return
    }
    const held: Held = { ...entry.held, server, ownName, version: ownVersion, expiresAt }
    const next: Entry = { ...entry, status, failure, held }
    changes.set(name, next)
    if (isTold) changes.tell(name, next, updatedOf(held))
    else if (entry.failure !== undefined && failure === undefined) changes.tell(name, next, { _tag: "Recovered" })
  }

  reject({ name, reason }: Rejection): void {
    const changes = this.#changes
    const { failOnDataErrors, isRepeat, maxResources } = this.policy
    const known = changes.get(name)
    // A repeated rejection of a resource that nobody holds or named is already reported; no entry remembers it.
    if (known === undefined && isRepeat) return
    const error = { code: INVALID_ARGUMENT, message: reason }
    // Beyond the limit it is told, and not remembered.
    if (known === undefined && changes.size >= maxResources) changes.tell(name, requested, { _tag: "Error", error })
    else {
      const failure = { error, version: this.version, at: this.now }
      changes.fail(name, known ?? requested, "Nacked", failure, failOnDataErrors)
    }
    this.#note(this.refused, name)
  }

  remove(name: string): void {
    this.#empty(name)
    const entry = this.#changes.get(name)
    if (entry !== undefined) this.#deleted(name, entry, `${name} does not exist, the server says`)
  }

  fail({ error, name }: ResourceError): void {
    const changes = this.#changes
    const { failOnDataErrors, maxResources } = this.policy
    const known = changes.get(name)
    // A resource that nobody holds or named: NOT_FOUND is no news.
    if (name === "*" || (known === undefined && error.code === NOT_FOUND)) return
    if (known === undefined && changes.size >= maxResources) return
    const isDropping = failOnDataErrors && isDataError(error)
    if (error.code === NOT_FOUND) this.#empty(name)
    const failure = { error, version: "", at: this.now }
    changes.fail(name, known ?? requested, "ReceivedError", failure, isDropping)
    this.#note(error.code === NOT_FOUND ? this.gone : this.refused, name)
  }

  /** ★ Error of `*`: held resources stay in use, unless it is NOT_FOUND or, with `fail_on_data_errors`, a data error. */
  get ofWhole(): Iterable<readonly [string, Entry]> {
    const error = this.#whole
    if (error === undefined) return nothing
    const isDropping = error.code === NOT_FOUND || (this.policy.failOnDataErrors && isDataError(error))
    return isDropping ? this.#type.entries : nothing
  }

  failOfWhole([name, entry]: readonly [string, Entry]): void {
    const error = this.#whole
    const isFree =
      entry.held?.server === this.policy.server && HashSet.size(entry.watchers) === 0 && Authority.isInWildcard(name)
    if (error === undefined || !isFree || this.validation.seen.has(name)) return
    this.#dropped.add(name)
    this.#changes.set(name, { ...entry, status: "Requested", held: undefined })
    this.#changes.tell(name, entry, { _tag: error.code === NOT_FOUND ? "DoesNotExist" : "Error", error })
  }

  miss(name: string): void {
    const entry = this.#changes.get(name)
    if (entry?.held === undefined && entry?.status === "Requested") this.#deleted(name, entry, this.#isNotIn(name))
  }

  /** What a complete response may lack. Usually it has all that is held. */
  get ofComplete(): Iterable<readonly [string, Entry]> {
    const { isComplete, known } = this.validation
    const { entries, held, rejected } = this.#type
    return isComplete && (known < held || rejected > 0) ? entries : nothing
  }

  lack([name, entry]: readonly [string, Entry]): void {
    const { isAnswered, isServed, server, since } = this.policy
    // A server reports a resource error once per stream, not in every response.
    if (this.validation.seen.has(name) || this.#dropped.has(name)) return
    if (entry.status === "ReceivedError" && (entry.failure?.at ?? 0) >= since) return
    // A rejected resource that was never held is removed like a held one.
    if ((entry.held === undefined && entry.status !== "Nacked") || isOfMembers(name, entry)) return
    // ★ If this server never sent the resource, the response may answer an older request: its absence means nothing.
    const isKnown = entry.held?.server === server ? isServed(name) : isAnswered(name)
    if (isKnown) this.#deleted(name, entry, this.#isNotIn(name))
  }

  refuse(glob: string): void {
    this.#changes.refused(glob)
  }

  lessen(glob: string): void {
    this.#changes.lessened(glob, this.now)
  }

  /** The order of resources after a response. A small response says nothing about the others, so the order before stays. */
  get ordered(): Validation["order"] {
    const { order } = this.validation
    return this.#isLarge ? order : []
  }

  get #isLarge(): boolean {
    return ResponseOrders.isLarge(this.validation.order.length, this.#type.order.places)
  }

  place(each: Placed | string): void {
    if (typeof each !== "string") return void this.#places.push(each)
    const use = useOf(this.#changes.get(each), this.policy.server)
    if (use !== undefined) this.#places.push(ResponseOrders.place(each, use))
  }

  end(): Step {
    const { now, policy, typeUrl, validation } = this
    const type = this.#type
    const [next, notices] = this.#changes.end()
    const after = typeOf(next, typeUrl)
    const [failure, told] = failureOfAll(type, after, this.#whole, validation, typeUrl, now)
    const order = this.#isLarge ? { server: policy.server, places: this.#places, revision: after.revision } : type.order
    return [put(next, typeUrl, { ...after, failure, order }), told === undefined ? notices : [...notices, told]]
  }

  #came(name: string): void {
    const glob = collectionOf(this.#type, name)
    if (glob !== undefined) this.#changes.cameTo(glob)
  }

  #note(to: Set<string>, name: string): void {
    const glob = collectionOf(this.#type, name)
    if (glob !== undefined) to.add(glob)
  }

  #isNotIn(name: string): string {
    return `${name} is not in version ${JSON.stringify(this.version)}`
  }

  #deleted(name: string, entry: Entry, message: string): void {
    // ★ Reported once.
    if (entry.status === "DoesNotExist") return
    this.#note(this.gone, name)
    const failure = { error: { code: NOT_FOUND, message }, version: "", at: this.now }
    this.#changes.fail(name, entry, "DoesNotExist", failure, this.policy.dropRemoved)
  }

  /** A collection that does not exist has no members, whatever the client holds of it. */
  #empty(glob: string): void {
    if (!this.#type.collections || !Collection.isGlob(glob)) return
    for (const [name, entry] of this.#membersThatEnd().get(glob) ?? [])
      this.#deleted(name, entry, `${glob} does not exist, the server says`)
  }

  #membersThatEnd(): ReadonlyMap<string, ReadonlyArray<readonly [name: string, entry: Entry]>> {
    if (this.#ending !== undefined) return this.#ending
    const ending = this.#globsThatEnd()
    for (const each of this.#type.entries) this.#addTo(ending, each)
    return (this.#ending = ending)
  }

  #globsThatEnd(): Map<string, Array<readonly [name: string, entry: Entry]>> {
    const { failed, removed } = this.validation
    const globs = new Map<string, Array<readonly [name: string, entry: Entry]>>()
    for (const name of removed) if (Collection.isGlob(name)) globs.set(name, [])
    for (const { error, name } of failed) if (error.code === NOT_FOUND && Collection.isGlob(name)) globs.set(name, [])
    return globs
  }

  #addTo(
    ending: ReadonlyMap<string, Array<readonly [name: string, entry: Entry]>>,
    each: readonly [name: string, entry: Entry]
  ): void {
    const [name, entry] = each
    const isThere = entry.held !== undefined || isUnusable(entry)
    const glob = isThere && !this.validation.seen.has(name) ? Collection.of(name) : undefined
    if (glob !== undefined) ending.get(glob)?.push(each)
  }
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
  const applying = new Applying(self, typeUrl, version, validation, policy, now)
  for (const each of validation.updated) applying.update(each)
  for (const each of validation.unchanged) applying.renew(each)
  for (const each of validation.rejected) applying.reject(each)
  for (const each of validation.removed) applying.remove(each)
  for (const each of validation.failed) applying.fail(each)
  for (const each of applying.ofWhole) applying.failOfWhole(each)
  for (const each of policy.missing) applying.miss(each)
  for (const each of applying.ofComplete) applying.lack(each)
  for (const each of applying.refused) applying.refuse(each)
  for (const each of applying.gone) applying.lessen(each)
  for (const each of applying.ordered) applying.place(each)
  return applying.end()
}

/**
 * {@link apply} in steps.
 *
 * @since 0.1.0
 */
export const applyInSteps = function* (
  self: ClientCache,
  typeUrl: string,
  version: string,
  validation: Validation,
  policy: Policy,
  now: number
): Steps.Steps<Step> {
  const applying = new Applying(self, typeUrl, version, validation, policy, now)
  yield* applying.prepare()
  yield* Steps.each(validation.updated, (each) => applying.update(each))
  yield* Steps.each(validation.unchanged, (each) => applying.renew(each))
  yield* Steps.each(validation.rejected, (each) => applying.reject(each))
  yield* Steps.each(validation.removed, (each) => applying.remove(each))
  yield* Steps.each(validation.failed, (each) => applying.fail(each))
  yield* Steps.each(applying.ofWhole, (each) => applying.failOfWhole(each))
  yield* Steps.each(policy.missing, (each) => applying.miss(each))
  yield* Steps.each(applying.ofComplete, (each) => applying.lack(each))
  yield* Steps.each(applying.refused, (each) => applying.refuse(each))
  yield* Steps.each(applying.gone, (each) => applying.lessen(each))
  yield* Steps.each(applying.ordered, (each) => applying.place(each))
  return applying.end()
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
