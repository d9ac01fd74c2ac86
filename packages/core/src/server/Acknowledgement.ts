/**
 * Outstanding responses, and the ACK or NACK that answers each.
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
import * as NameSet from "./NameSet.js"
import * as NameTable from "./NameTable.js"

/**
 * The outcome of an ACK or NACK.
 *
 * @since 0.1.0
 */
export type Reply =
  | { readonly _tag: "Acked"; readonly sent: Sent }
  | { readonly _tag: "Nacked"; readonly sent: Sent }
  /** The nonce belongs to no outstanding response. */
  | { readonly _tag: "Unrelated" }

/**
 * Handles the ACK or NACK in a request. ★ A request with `error_detail` is a NACK; the version is only a hint. A NACK triggers
 * no response: the next one goes out when something changes.
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
    if (sent.heartbeats.length > 0) next.mayBeLost = NameSet.addAll(self.mayBeLost, sent.heartbeats)
    const { before, beforeRejection } = self
    // For an older response it is unknown what the client had before.
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
 * Whether a NACK differs from the last recorded one, in nonce or error. A client may repeat an old NACK with each request.
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
 * Records a NACK of an older response, or one without a nonce. It is for status only.
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

/** Most outstanding responses of a type. An answer to an older one is unrelated. */
const maxOpen = 64

/**
 * Whether the client NACKed the last response, so that the next one is a correction.
 *
 * @since 0.1.0
 */
export const isRejected = ({ acked, nacked, sent }: Subscription): boolean =>
  nacked !== undefined && nacked.nonce === sent?.nonce && nacked.nonce !== acked?.nonce

/**
 * ★ Whether the client never accepted the resource under a removed name: it was new or changed in the NACKed response, or
 * later. Its removal is part of the correction and waits for nothing.
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
  // Under a wildcard the name may be an alias; fingerprints are kept by the resource's own name.
  const before = beforeRejection.before.get(isWild(self) ? (resource?.name ?? name) : name)
  if (before === undefined) return isWild(self) && (resource !== undefined || self.names.size === 0)
  return before === "" || (resource !== undefined && before !== resource.fingerprint)
}

/**
 * Records a sent response. `update`: whether it carries a change, so that later phases wait for its ACK. `before`: the
 * subscription before the response; `undefined` for a later part of one.
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
  if (self.mayBeLost.size > 0) {
    self.mayBeLost = NameSet.removeAll(
      self.mayBeLost,
      resources.map(({ name }) => name)
    )
  }
  if (before?.cursor !== undefined)
    self.before = isWild(before) ? NameTable.fromTrie(before.cursor.fingerprints) : before.names
  self.sent = sent
  self.outstanding =
    self.outstanding.length === 0
      ? oneOutstanding.with(0, open)
      : [...self.outstanding.slice(self.outstanding.length < maxOpen ? 0 : 1), open]
  if (update) self.unackedUpdate = sent
}
