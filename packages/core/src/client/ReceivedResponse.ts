/**
 * Handling of a response: validation, cache, notices to watchers, answer.
 *
 * @since 0.1.0
 */
import { isOf, VirtualHost } from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import * as Steps from "../Steps.js"
import type { ClientResponse } from "../wire/ClientResponse.js"
import type { ErrorDetail } from "../wire/Request.js"
import * as ClientCache from "./ClientCache.js"
import type { ClientDraft, StreamToServer } from "./ClientDraft.js"
import { responseDelay } from "./ClientDraft.js"
import type { ViolationReason } from "./ClientOutput.js"
import * as ClientStream from "./ClientStream.js"
import type { ClientSubscription } from "./ClientSubscription.js"
import * as ClientSubscriptions from "./ClientSubscription.js"
import * as Fallback from "./Fallback.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"
import * as Validation from "./Validation.js"

const { NOT_FOUND } = StatusCode.codes

/** A response that the client asked for. */
interface Reception {
  readonly key: string
  readonly to: StreamToServer
  readonly typeUrl: string
  readonly response: ClientResponse
  readonly subscription: ClientSubscription
  readonly decoder: ResourceDecoder
  readonly view: Validation.View
}

/** The verdict about a response. */
interface Verdict {
  /** The error of the NACK; `undefined` for an ACK. */
  readonly error: ErrorDetail | undefined
  readonly isRepeat: boolean
  /** Names waited for that a complete response lacks. */
  readonly missing: ReadonlyArray<string>
}

/**
 * Handles a response of the stream `key`.
 *
 * @since 0.1.0
 */
export const receive = (draft: ClientDraft, key: string, response: ClientResponse): void => {
  const reception = begin(draft, key, response)
  if (reception === undefined) return
  const validation = Validation.make(reception.response, reception.decoder, reception.view)
  const verdict = judge(draft, reception, validation)
  const { typeUrl } = reception
  if (isWaiting(draft, typeUrl)) resolve(draft, reception, resolved(validation, verdict))
  const policy = policyOf(draft, reception, verdict)
  end(
    draft,
    reception,
    validation,
    verdict,
    ClientCache.apply(draft.cache, typeUrl, response.version, validation, policy, draft.now)
  )
}

/**
 * {@link receive} in steps.
 *
 * @since 0.1.0
 */
export const receiveInSteps = function* (draft: ClientDraft, key: string, response: ClientResponse): Steps.Steps<void> {
  const reception = begin(draft, key, response)
  if (reception === undefined) return
  const validation = yield* Validation.inSteps(reception.response, reception.decoder, reception.view)
  const verdict = judge(draft, reception, validation)
  const { typeUrl } = reception
  if (isWaiting(draft, typeUrl)) {
    for (const names of partsOf(resolved(validation, verdict))) {
      resolve(draft, reception, names)
      yield
    }
  }
  const policy = policyOf(draft, reception, verdict)
  end(
    draft,
    reception,
    validation,
    verdict,
    yield* ClientCache.applyInSteps(draft.cache, typeUrl, response.version, validation, policy, draft.now)
  )
}

/** `undefined`: the response is not one that the client asked for. */
const begin = (draft: ClientDraft, key: string, response: ClientResponse): Reception | undefined => {
  const to = draft.streams.get(key)
  if (to?.stream.connection !== "connected") return undefined
  const { maxResources } = draft.options
  const typeUrl = response.typeUrl === "" ? (to.typeUrl ?? "") : response.typeUrl
  const subscription = ClientStream.subscription(to.stream, typeUrl)
  const decoder = draft.options.decoders.find((each) => each.typeUrl === typeUrl)
  const violation = (reason: ViolationReason, message: string) =>
    draft.outputs.push({ _tag: "Violation", stream: key, typeUrl, reason, message })
  if (subscription?.hasRequested !== true || decoder === undefined) {
    Fallback.serverAnswers(draft, key)
    violation("TypeNotAskedFor", `a response of type ${JSON.stringify(typeUrl)}, which was not asked for: ignored`)
    draft.drive(key, { _tag: "Responsive" })
    return undefined
  }
  const { nonce, version } = response
  if (nonce === "") violation("NonceMissing", "a response without a nonce: it is used, and cannot be answered")
  if (version === "" && to.server.protocol === "StateOfTheWorld") {
    violation("VersionMissing", "a response without a version")
  }

  const last = to.server.protocol === "StateOfTheWorld" ? { version, accepted: subscription.version } : undefined
  const view: Validation.View = {
    isNamed: (name) => HashSet.has(subscription.names, name) || ClientCache.isRetained(draft.cache, typeUrl, name),
    isMember: (name) =>
      ClientSubscriptions.isMember(subscription, name) ||
      ClientCache.isOfRetainedCollection(draft.cache, typeUrl, name),
    wildcard: subscription.wildcard || ClientCache.isRetained(draft.cache, typeUrl, "*"),
    ...ClientCache.inUse(draft.cache, typeUrl, to.server.id, response.resources.length),
    isRenewed: (name, own) => ClientCache.isRenewed(draft.cache, typeUrl, name, to.server.id, own, last),
    room: maxResources - ClientCache.size(draft.cache, typeUrl)
  }
  const typed = typeUrl === response.typeUrl ? response : { ...response, typeUrl }
  return { key, to, typeUrl, response: typed, subscription, decoder, view }
}

const judge = (
  draft: ClientDraft,
  { response: { version }, subscription }: Reception,
  validation: Validation.Validation
): Verdict => {
  const error = Validation.errorOf(validation.problems, draft.options.maxErrorBytes)
  const isRepeat =
    error !== undefined &&
    validation.updated.length === 0 &&
    ClientSubscriptions.isRejected(subscription, version, error, draft.now)
  // Names without a request of their own: the legacy wildcard has covered them from the start, and this response is complete.
  const isAll = validation.isComplete && ClientSubscriptions.isSilent(subscription)
  const missing = isAll
    ? Array.from(HashMap.keys(subscription.waiting)).filter((name) => !validation.seen.has(name))
    : []
  return { error, isRepeat, missing }
}

const policyOf = (
  draft: ClientDraft,
  { response: { version }, subscription, to, typeUrl }: Reception,
  { isRepeat, missing }: Verdict
): ClientCache.Policy => {
  const { failOnDataErrors = false } = to.server
  return {
    server: to.server.id,
    failOnDataErrors,
    // ★ A virtual host that is removed is a 404.
    dropRemoved: failOnDataErrors || isOf(typeUrl, VirtualHost),
    isServed: (name) => ClientSubscriptions.brings(subscription, name),
    isAnswered: (name) => ClientSubscriptions.isAnswered(subscription, name, draft.now - responseDelay),
    missing,
    isRepeat: isRepeat && subscription.rejection?.version === version,
    since: to.stream.backoff.startedAt,
    maxResources: draft.options.maxResources
  }
}

const end = (
  draft: ClientDraft,
  { key, response: { nonce, version }, subscription, typeUrl }: Reception,
  validation: Validation.Validation,
  { error, isRepeat }: Verdict,
  [cache, notices]: readonly [ClientCache.ClientCache, ReadonlyArray<ClientCache.Notice>]
): void => {
  draft.cache = cache
  draft.notify(notices)
  Fallback.serverAnswers(draft, key, notices)
  markUndeclared(draft, key, typeUrl, validation)
  draft.outputs.push({ _tag: "Received", stream: key, typeUrl, nonce, version, validation, error })
  const isOther = ({ name }: { readonly name: string }) => !HashSet.has(subscription.names, name)
  // Asked for only where it matters: it may look at all names.
  const isWild =
    subscription.quoting === "No" && (validation.updated.some(isOther) || validation.unchanged.some(isOther))
  draft.drive(key, { _tag: "Received", typeUrl, nonce, version, error, isRepeat, isWild })
  Fallback.resourcesCame(draft, key, typeUrl, validation)
}

const nameOf = (each: { readonly name: string }): string => each.name

/** Whether something of the type is waited for. Usually nothing is. */
const isWaiting = (draft: ClientDraft, typeUrl: string): boolean => {
  for (const { stream } of draft.streams.values()) {
    const subscription = ClientStream.subscription(stream, typeUrl)
    if (subscription !== undefined && ClientSubscriptions.isWaiting(subscription)) return true
  }
  return false
}

/** Names that are not waited for any more. */
interface Resolved {
  /** On other streams either. */
  readonly came: ReadonlyArray<string>
  readonly unusable: ReadonlyArray<string>
  readonly gone: ReadonlyArray<string>
}

const resolved = (
  { failed, rejected, removed, unchanged, updated }: Validation.Validation,
  { missing }: Verdict
): Resolved => ({
  came: [...updated.map(nameOf), ...unchanged.map(nameOf)],
  unusable: [...rejected.map(nameOf), ...failed.flatMap(({ error, name }) => (error.code === NOT_FOUND ? [] : [name]))],
  gone: [...removed, ...failed.map(nameOf), ...missing]
})

/** The same names, a few at a time. */
const partsOf = function* ({ came, gone, unusable }: Resolved): Generator<Resolved, undefined> {
  for (let at = 0; at < Math.max(came.length, gone.length, unusable.length); at += Steps.atOnce) {
    const part = (names: ReadonlyArray<string>) => names.slice(at, at + Steps.atOnce)
    yield { came: part(came), gone: part(gone), unusable: part(unusable) }
  }
}

/** Ends the wait for names. A member answers for its collection. */
const resolve = (draft: ClientDraft, { key, typeUrl }: Reception, { came, gone, unusable }: Resolved): void => {
  const brought = withCollections(came)
  const seen = [...brought, ...withCollections(unusable), ...gone]
  for (const other of draft.streams.keys()) {
    draft.drive(other, { _tag: "Resolved", typeUrl, names: other === key ? seen : brought })
  }
}

const withCollections = (names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...names,
  ...names.flatMap((name) => Collection.of(name) ?? [])
]

/** Marks other incremental streams: their servers know only what the client held when the stream began. */
const markUndeclared = (
  draft: ClientDraft,
  key: string,
  typeUrl: string,
  { failed, removed, updated }: Validation.Validation
): void => {
  if (draft.streams.size === 1) return
  const changed = [...updated.map(nameOf), ...removed, ...failed.map(nameOf)]
  for (const [other, { server, stream }] of draft.streams) {
    const subscription = ClientStream.subscription(stream, typeUrl)
    if (other === key || server.protocol !== "Incremental" || subscription === undefined) continue
    if (changed.some((name) => ClientSubscriptions.brings(subscription, name)))
      draft.drive(other, { _tag: "Undeclared", typeUrl })
  }
}
