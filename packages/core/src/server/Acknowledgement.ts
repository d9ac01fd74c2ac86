/**
 * Responses that are outstanding, and the ACK or NACK that answers them.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "ACK, NACK, and resource type instance version"
 * @since 0.1.0
 */
import type { ErrorDetail } from "../wire/Request.js"
import type { Response } from "../wire/Response.js"
import {
  type Sent,
  type Subscription,
  noneOutstanding,
  draft,
  noSent,
  type PendingRemoval,
  isWild,
  type Draft,
  type Outstanding,
  noOutstanding,
  noList,
  oneOutstanding
} from "./Subscription.js"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"

/**
 * The outcome of an answer to a response.
 *
 * @since 0.1.0
 */
export type Reply =
  | { readonly _tag: "Acked"; readonly sent: Sent }
  | { readonly _tag: "Nacked"; readonly sent: Sent }
  /** A nonce that is not the last one, or that was answered before. */
  | { readonly _tag: "Unrelated" }

/**
 * Takes the ACK or NACK in a request. ★ A NACK is what has an `error_detail`: the version is only a hint. Nothing is
 * sent for it; the next response goes out when something changes.
 *
 * @since 0.1.0
 */
export const reply = (
  self: Subscription,
  nonce: string,
  error: ErrorDetail | undefined,
  now: number
): readonly [Subscription, Reply] => {
  const index = nonce === "" ? -1 : self.outstanding.findIndex((sent) => sent.nonce === nonce)
  const sent = index < 0 ? undefined : self.outstanding[index]
  if (sent === undefined) return [self, { _tag: "Unrelated" }]
  // Responses are answered in order; Envoy answers only the last of several.
  const open = index + 1 === self.outstanding.length ? noneOutstanding : self.outstanding.slice(index + 1)
  const next = draft(self)
  next.outstanding = open
  const { nonce: answered, version } = sent
  if (error !== undefined) {
    next.nacked = { nonce: answered, version, at: now, error }
    for (const name of sent.heartbeats) next.rejectedHeartbeats = HashSet.add(next.rejectedHeartbeats, name)
    const { before, beforeRejection } = self
    // Of an older response it is not known what the client had before.
    const isLast = self.sent?.nonce === answered
    if (beforeRejection === undefined && isLast && before !== undefined)
      next.beforeRejection = { nonce: answered, before }
    return [next, { _tag: "Nacked", sent }]
  }
  if (self.unackedUpdate !== undefined && !open.some((later) => later.nonce === self.unackedUpdate?.nonce))
    next.unackedUpdate = undefined
  next.acked = { ...noSent, nonce: answered, version, at: now }
  next.beforeRejection = undefined
  if (open.length === 0) next.before = undefined
  return [next, { _tag: "Acked", sent }]
}

/**
 * Whether a NACK says something that the last one noted did not: of another response, or other words. A client may repeat
 * an old NACK with each request.
 *
 * @since 0.1.0
 */
export const isNewRejection = (
  { nacked }: Subscription,
  nonce: string,
  error: ErrorDetail | undefined
): error is ErrorDetail =>
  error !== undefined &&
  (nacked?.nonce !== nonce || nacked.error.code !== error.code || nacked.error.message !== error.message)

/**
 * Notes the words of a NACK that is no answer to a response: of an older one, or without a nonce. They are for people; nothing
 * else comes of them.
 *
 * @since 0.1.0
 */
export const noteRejection = (
  self: Subscription,
  nonce: string,
  error: ErrorDetail | undefined,
  now: number
): Subscription => {
  if (!isNewRejection(self, nonce, error)) return self
  const rejected = nonce === self.sent?.nonce ? self.sent : self.outstanding.find((sent) => sent.nonce === nonce)
  const next = draft(self)
  next.nacked = { nonce, version: rejected?.version ?? "", at: now, error }
  return next
}

/** Most responses of a type whose answers are still told apart. */
const maxOpen = 64

/**
 * Whether the client rejected the last response, so that whatever is sent next corrects it.
 *
 * @since 0.1.0
 */
export const isRejected = ({ acked, nacked, sent }: Subscription): boolean =>
  nacked !== undefined && nacked.nonce === sent?.nonce && nacked.nonce !== acked?.nonce

/**
 * ★ Whether the client never accepted what it was sent under a name that is gone: it was new or changed in the response
 * that it rejected, or later. Its deletion is a part of the correction and waits for nothing.
 *
 * @since 0.1.0
 */
export const wasNeverAccepted = (
  self: Subscription,
  name: string,
  { resource, since }: Omit<PendingRemoval, "due">
): boolean => {
  const { beforeRejection } = self
  if (beforeRejection === undefined || !isRejected(self) || Number(since) < Number(beforeRejection.nonce)) return false
  // Under a wildcard it may have been asked for by an alias, too; what it had is known by its own name.
  const before = HashMap.get(beforeRejection.before, isWild(self) ? (resource?.name ?? name) : name)
  if (Option.isNone(before)) return isWild(self) && (resource !== undefined || HashMap.isEmpty(self.names))
  return before.value === "" || (resource !== undefined && before.value !== resource.fingerprint)
}

/**
 * Notes a response that goes out. `update`: it tells the client of a change, so that later phases wait for its ACK.
 * `before`: the subscription that the response was made from; `undefined`: it is a later part of one.
 *
 * @since 0.1.0
 */
export const send = (
  self: Draft,
  sent: Sent,
  { heartbeats, resources }: Pick<Response, "heartbeats" | "resources">,
  update: boolean,
  before: Subscription | undefined
): void => {
  const open: Outstanding = {
    ...noOutstanding,
    nonce: sent.nonce,
    version: sent.version,
    at: sent.at,
    heartbeats: heartbeats.length === 0 ? noList : heartbeats.map(({ name }) => name)
  }
  if (HashSet.size(self.rejectedHeartbeats) > 0) {
    for (const { name } of resources) self.rejectedHeartbeats = HashSet.remove(self.rejectedHeartbeats, name)
  }
  if (before?.cursor !== undefined) self.before = isWild(before) ? before.cursor.fingerprints : before.names
  self.sent = sent
  self.outstanding =
    self.outstanding.length === 0
      ? oneOutstanding.with(0, open)
      : [...self.outstanding.slice(self.outstanding.length < maxOpen ? 0 : 1), open]
  if (update) self.unackedUpdate = sent
}
