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
import type { ClientResponse } from "../wire/ClientResponse.js"
import * as ClientCache from "./ClientCache.js"
import type { ClientDraft } from "./ClientDraft.js"
import { responseDelay } from "./ClientDraft.js"
import type { ViolationReason } from "./ClientOutput.js"
import * as ClientStream from "./ClientStream.js"
import * as ClientSubscriptions from "./ClientSubscription.js"
import * as Fallback from "./Fallback.js"
import * as Validation from "./Validation.js"

const { NOT_FOUND } = StatusCode.codes

/**
 * Handles a response of the stream `key`.
 *
 * @since 0.1.0
 */
export const receive = (draft: ClientDraft, key: string, response: ClientResponse): void => {
  const to = draft.streams.get(key)
  if (to?.stream.connection !== "connected") return
  const { maxErrorBytes, maxResources } = draft.options
  const typeUrl = response.typeUrl === "" ? (to.typeUrl ?? "") : response.typeUrl
  const subscription = ClientStream.subscription(to.stream, typeUrl)
  const decoder = draft.options.decoders.find((each) => each.typeUrl === typeUrl)
  const violation = (reason: ViolationReason, message: string) =>
    draft.outputs.push({ _tag: "Violation", stream: key, typeUrl, reason, message })
  if (subscription?.hasRequested !== true || decoder === undefined) {
    Fallback.serverAnswers(draft, key)
    violation("TypeNotAskedFor", `a response of type ${JSON.stringify(typeUrl)}, which was not asked for: ignored`)
    return draft.drive(key, { _tag: "Responsive" })
  }
  const { nonce, version } = response
  if (nonce === "") violation("NonceMissing", "a response without a nonce: it is used, and cannot be answered")
  if (version === "" && to.server.protocol === "StateOfTheWorld") {
    violation("VersionMissing", "a response without a version")
  }

  const last = to.server.protocol === "StateOfTheWorld" ? { version, accepted: subscription.version } : undefined
  const validation = Validation.make(typeUrl === response.typeUrl ? response : { ...response, typeUrl }, decoder, {
    isNamed: (name) => HashSet.has(subscription.names, name) || ClientCache.isRetained(draft.cache, typeUrl, name),
    isMember: (name) =>
      ClientSubscriptions.isMember(subscription, name) ||
      ClientCache.isOfRetainedCollection(draft.cache, typeUrl, name),
    wildcard: subscription.wildcard || ClientCache.isRetained(draft.cache, typeUrl, "*"),
    ...ClientCache.inUse(draft.cache, typeUrl, to.server.id, response.resources.length),
    isRenewed: (name, own) => ClientCache.isRenewed(draft.cache, typeUrl, name, to.server.id, own, last),
    room: maxResources - ClientCache.size(draft.cache, typeUrl)
  })
  const error = Validation.errorOf(validation.problems, maxErrorBytes)
  const isRepeat =
    error !== undefined &&
    validation.updated.length === 0 &&
    ClientSubscriptions.isRejected(subscription, version, error, draft.now)
  // Names without a request of their own: the legacy wildcard has covered them from the start, and this response is complete.
  const isAll = validation.isComplete && ClientSubscriptions.isSilent(subscription)
  const missing = isAll
    ? Array.from(HashMap.keys(subscription.waiting)).filter((name) => !validation.seen.has(name))
    : []
  cancelTimers(draft, key, typeUrl, validation, missing)
  const { failOnDataErrors = false } = to.server
  const [cache, notices] = ClientCache.apply(
    draft.cache,
    typeUrl,
    version,
    validation,
    {
      server: to.server.id,
      failOnDataErrors,
      // ★ A virtual host that is removed is a 404.
      dropRemoved: failOnDataErrors || isOf(typeUrl, VirtualHost),
      isServed: (name) => ClientSubscriptions.brings(subscription, name),
      isAnswered: (name) => ClientSubscriptions.isAnswered(subscription, name, draft.now - responseDelay),
      missing,
      isRepeat: isRepeat && subscription.rejection?.version === version,
      since: to.stream.backoff.startedAt,
      maxResources
    },
    draft.now
  )
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

/** Cancels the timers of all seen resources; those that came need no timer on other streams either. */
const cancelTimers = (
  draft: ClientDraft,
  key: string,
  typeUrl: string,
  validation: Validation.Validation,
  missing: ReadonlyArray<string>
): void => {
  // Usually no timer runs.
  const isWaiting = Array.from(draft.streams.values()).some(({ stream }) => {
    const subscription = ClientStream.subscription(stream, typeUrl)
    return subscription !== undefined && !HashMap.isEmpty(subscription.waiting)
  })
  if (!isWaiting) return
  const brought = [...validation.updated.map(nameOf), ...validation.unchanged.map(nameOf)]
  // A member answers for its collection.
  const came = [...brought, ...brought.flatMap((name) => Collection.of(name) ?? [])]
  const { failed, rejected, removed } = validation
  const bad = rejected.map(nameOf)
  const failing = failed.flatMap(({ error, name }) => (error.code === NOT_FOUND ? [] : [name]))
  const others = [...bad, ...failing].flatMap((name) => Collection.of(name) ?? [])
  const seen = [...came, ...bad, ...others, ...removed, ...failed.map(nameOf), ...missing]
  for (const other of draft.streams.keys()) {
    draft.drive(other, { _tag: "Resolved", typeUrl, names: other === key ? seen : came })
  }
}

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
