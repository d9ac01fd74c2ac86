/**
 * How long a change of the store takes until a client has ACKed it: the responses of one stream that tell of a change and are
 * not answered yet.
 */

/** A response that tells of a change and is not answered. */
export interface Unacked {
  readonly typeUrl: string
  readonly nonce: string
  /** When the store changed, in milliseconds. */
  readonly since: number
}

/** An answer to a response: an ACK or a NACK. */
type Answer = Pick<Unacked, "typeUrl" | "nonce">

/** Responses of one stream that are measured at a time: a client that never answers is not measured. */
const maxUnacked = 64

/** Nothing is measured. */
export const none: ReadonlyArray<Unacked> = []

/** What others are copies of: see `noSent` in core's Subscription. */
const noUnacked: Unacked = { typeUrl: "", nonce: "", since: Number.POSITIVE_INFINITY }
const oneUnacked: ReadonlyArray<Unacked> = [noUnacked]

/** With a response that was sent, the last one. */
export const sent = (
  self: ReadonlyArray<Unacked>,
  { nonce, typeUrl }: Answer,
  since: number
): ReadonlyArray<Unacked> => {
  const last = { ...noUnacked, typeUrl, nonce, since }
  if (self.length === 0) return oneUnacked.with(0, last)
  return [...(self.length < maxUnacked ? self : self.slice(1)), last]
}

/** Whether an answer is that of a response: clients may answer only the last of several. */
const isAnsweredBy =
  ({ nonce, typeUrl }: Answer) =>
  (unacked: Unacked): boolean =>
    unacked.typeUrl === typeUrl && Number(unacked.nonce) <= Number(nonce)

/** Whether an answer is to the only response, as it mostly is. */
const isToOnly = (self: ReadonlyArray<Unacked>, { nonce }: Answer): boolean =>
  self.length === 1 && self[0]?.nonce === nonce

/** The responses that an answer answers. */
export const answeredBy = (self: ReadonlyArray<Unacked>, answer: Answer): ReadonlyArray<Unacked> =>
  self.length === 0 || isToOnly(self, answer) ? self : self.filter(isAnsweredBy(answer))

/** Without the responses that an answer answers. */
export const after = (self: ReadonlyArray<Unacked>, answer: Answer): ReadonlyArray<Unacked> => {
  if (self.length === 0 || isToOnly(self, answer)) return none
  const isAnswered = isAnsweredBy(answer)
  const left = self.filter((unacked) => !isAnswered(unacked))
  return left.length === 0 ? none : left
}
