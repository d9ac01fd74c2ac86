/**
 * The unanswered responses of one stream, with their resources: a NACK may quote them.
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Request } from "@effect-xds/core/wire/Request"

/** A response without an answer. */
export interface Unanswered {
  readonly typeUrl: string
  readonly nonce: string
  readonly resources: ReadonlyArray<Resource>
}

/** The most responses kept per stream. */
const maxUnanswered = 16

/** No response is unanswered. */
export const none: ReadonlyArray<Unanswered> = []

/** The object that others are copied from: see `noSent` in core's Subscription. */
const noUnanswered: Unanswered = { typeUrl: "", nonce: "", resources: [] }
const oneUnanswered: ReadonlyArray<Unanswered> = [noUnanswered]

/** The state after a response was sent. */
export const sent = (
  self: ReadonlyArray<Unanswered>,
  typeUrl: string,
  nonce: string,
  resources: ReadonlyArray<Resource>
): ReadonlyArray<Unanswered> => {
  const last = { ...noUnanswered, typeUrl, nonce, resources }
  if (self.length === 0) return oneUnanswered.with(0, last)
  return [...(self.length < maxUnanswered ? self : self.slice(1)), last]
}

/**
 * The state after a request, which may be an answer. Responses are answered in order; Envoy answers only the last of
 * several.
 */
export const after = (
  self: ReadonlyArray<Unanswered>,
  { responseNonce, typeUrl }: Pick<Request, "responseNonce" | "typeUrl">
): ReadonlyArray<Unanswered> => {
  if (responseNonce === "" || self.length === 0) return self
  if (self.length === 1 && self[0]?.nonce === responseNonce) return none
  const last = self.findIndex((response) => response.typeUrl === typeUrl && response.nonce === responseNonce)
  if (last < 0) return self
  return self.filter((response, index) => index > last || response.typeUrl !== typeUrl)
}

/** The resources that a NACK of a type may quote. */
export const quotable = (self: ReadonlyArray<Unanswered>, typeUrl: string): ReadonlyArray<ReadonlyArray<Resource>> =>
  self.filter((response) => response.typeUrl === typeUrl).map(({ resources }) => resources)
