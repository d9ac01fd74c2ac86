/**
 * Measures the time from a change of the store to its ACK: the unanswered responses of one stream that carry a change.
 */

/** An unanswered response with a change. */
export interface Unacked {
  readonly typeUrl: string
  readonly nonce: string
  /** The time of the change, in milliseconds. */
  readonly since: number
}

/** An answer to a response: an ACK or a NACK. */
type Answer = Pick<Unacked, "typeUrl" | "nonce">

/** The most responses measured per stream: a client that never answers is not measured. */
const maxUnacked = 64

/** No response is measured. */
export const none: ReadonlyArray<Unacked> = []

/** The object that others are copied from: see `noSent` in core's Subscription. */
const noUnacked: Unacked = { typeUrl: "", nonce: "", since: Number.POSITIVE_INFINITY }
const oneUnacked: ReadonlyArray<Unacked> = [noUnacked]

/** The state after a response was sent. */
export const sent = (
  self: ReadonlyArray<Unacked>,
  { nonce, typeUrl }: Answer,
  since: number
): ReadonlyArray<Unacked> => {
  const last = { ...noUnacked, typeUrl, nonce, since }
  if (self.length === 0) return oneUnacked.with(0, last)
  return [...(self.length < maxUnacked ? self : self.slice(1)), last]
}

/** Whether an answer is for a response. Clients may answer only the last of several. */
const isAnsweredBy =
  ({ nonce, typeUrl }: Answer) =>
  (unacked: Unacked): boolean =>
    unacked.typeUrl === typeUrl && Number(unacked.nonce) <= Number(nonce)

/** Whether an answer is for the only response, as it usually is. */
const isToOnly = (self: ReadonlyArray<Unacked>, { nonce }: Answer): boolean =>
  self.length === 1 && self[0]?.nonce === nonce

/** The responses that an answer covers. */
export const answeredBy = (self: ReadonlyArray<Unacked>, answer: Answer): ReadonlyArray<Unacked> =>
  self.length === 0 || isToOnly(self, answer) ? self : self.filter(isAnsweredBy(answer))

/** The state after an answer. */
export const after = (self: ReadonlyArray<Unacked>, answer: Answer): ReadonlyArray<Unacked> => {
  if (self.length === 0 || isToOnly(self, answer)) return none
  const isAnswered = isAnsweredBy(answer)
  const left = self.filter((unacked) => !isAnswered(unacked))
  return left.length === 0 ? none : left
}
