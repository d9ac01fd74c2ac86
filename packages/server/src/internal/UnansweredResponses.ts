/**
 * The responses of one stream that the client has not answered yet, with what they hold: the words of a NACK may quote that.
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Request } from "@effect-xds/core/wire/Request"

/** A response that is not answered yet. */
export interface Unanswered {
  readonly typeUrl: string
  readonly nonce: string
  readonly resources: ReadonlyArray<Resource>
}

/** Responses of one stream that are kept. */
const maxUnanswered = 16

/** All are answered. */
export const none: ReadonlyArray<Unanswered> = []

/** What others are copies of: see `noSent` in core's Subscription. */
const noUnanswered: Unanswered = { typeUrl: "", nonce: "", resources: [] }
const oneUnanswered: ReadonlyArray<Unanswered> = [noUnanswered]

/** With a response that was sent, the last one. */
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

/** After a request, which may answer one of them. Responses are answered in order; Envoy answers only the last of several. */
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

/** What the words of a NACK of a type may quote. */
export const quotable = (self: ReadonlyArray<Unanswered>, typeUrl: string): ReadonlyArray<ReadonlyArray<Resource>> =>
  self.filter((response) => response.typeUrl === typeUrl).map(({ resources }) => resources)
