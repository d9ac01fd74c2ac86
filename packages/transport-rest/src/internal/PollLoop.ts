/**
 * The reducer that makes polls a stream: a message of the client is sent with the next poll, a response of a poll is a
 * message to the client. It is pure, so its rules can be written down as traces.
 *
 * - The answer to a response, ACK or NACK, is the next poll, after the pause.
 * - ★ A new subscription, or the first one of a stream, is polled for at once and without a version. With one, a server
 *   that judges by the version alone would answer that nothing changed; and a new stream needs an answer to be known to
 *   work.
 * - Without credit, or while the client has not answered a response, there is no poll: a busy client costs the server
 *   nothing.
 * - ★ No names, after there were names, is no subscription. As a poll it would be a wildcard, so there is no poll.
 */
import type { StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import type * as Status from "@effect-xds/transport/Status"

export interface Options {
  /** The time from the end of a poll to the next one, in milliseconds. */
  readonly refreshDelay: number
  /** The largest random part of `refreshDelay` that is added to it. */
  readonly jitter: number
}

/** A `DiscoveryResponse`. */
export interface Received {
  /** The nonce with which the client answers. */
  readonly nonce: string
  /** Whether the nonce is the server's; otherwise it is not sent back. */
  readonly isNonceGiven: boolean
  readonly message: Uint8Array
}

export interface PollLoop {
  readonly options: Options
  /** The client's last request, with the node of its first one. */
  readonly asked: StateOfTheWorldRequest | undefined
  /** Whether the client ever named resources. */
  readonly named: boolean
  /** Whether a changed subscription has no answer yet. */
  readonly fresh: boolean
  /** The number of messages that the client takes. */
  readonly credit: number
  /** The last response, until the client ACKs or NACKs it. */
  readonly unanswered: Received | undefined
  readonly isNonceGiven: boolean
  readonly polling: boolean
  /** The earliest time of the next poll, in milliseconds. */
  readonly pausedUntil: number
}

export type Input =
  /** The client sends a request. */
  | { readonly _tag: "Send"; readonly request: StateOfTheWorldRequest }
  /** The client gives credit. */
  | { readonly _tag: "Next" }
  /** A poll returned a response. `random`: in [0, 1), for the next pause. */
  | { readonly _tag: "Changed"; readonly response: Received; readonly random: number }
  /** A poll returned 304. */
  | { readonly _tag: "Unchanged"; readonly random: number }
  | { readonly _tag: "Failed"; readonly status: Status.Status }
  /** {@link deadline} has come. */
  | { readonly _tag: "Deadline" }

export type Output =
  /** Poll. `fresh`: the server should answer at once. */
  | { readonly _tag: "Poll"; readonly request: StateOfTheWorldRequest; readonly fresh: boolean }
  /** Abandon the poll under way. */
  | { readonly _tag: "Abort" }
  | { readonly _tag: "Deliver"; readonly message: Uint8Array }
  | { readonly _tag: "End"; readonly status: Status.Status }

const none: ReadonlyArray<Output> = []

/** The state of a new stream. */
export const make = (options: Options): PollLoop => ({
  options,
  asked: undefined,
  named: false,
  fresh: false,
  credit: 1,
  unanswered: undefined,
  isNonceGiven: false,
  polling: false,
  pausedUntil: Number.NEGATIVE_INFINITY
})

/** When a `Deadline` input is due, in milliseconds: −Infinity at once, Infinity never. */
export const deadline = (self: PollLoop): number => {
  if (self.polling || self.credit === 0 || !isWanted(self)) return Number.POSITIVE_INFINITY
  if (self.fresh) return Number.NEGATIVE_INFINITY
  return self.unanswered === undefined ? self.pausedUntil : Number.POSITIVE_INFINITY
}

const isWanted = ({ asked, named }: PollLoop): boolean =>
  asked !== undefined && (!named || asked.resourceNames.length > 0)

const isSame = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  one.length === other.length && one.every((name, index) => name === other[index])

/** @param now milliseconds, never less than in the step before */
export const step = (self: PollLoop, input: Input, now: number): readonly [PollLoop, ReadonlyArray<Output>] => {
  switch (input._tag) {
    case "Send":
      return send(self, input.request)
    case "Next":
      return [{ ...self, credit: self.credit + 1 }, none]
    case "Changed": {
      const { response } = input
      const next = { ...pause(self, input.random, now), credit: self.credit - 1, unanswered: response }
      return [{ ...next, isNonceGiven: response.isNonceGiven }, [{ _tag: "Deliver", message: response.message }]]
    }
    case "Unchanged": {
      const next = pause(self, input.random, now)
      // The poll has delivered the NACK.
      return [{ ...next, asked: next.asked && { ...next.asked, errorDetail: undefined } }, none]
    }
    case "Failed":
      return [{ ...self, polling: false, asked: undefined }, [{ _tag: "End", status: input.status }]]
    case "Deadline": {
      const { asked, fresh, isNonceGiven } = self
      if (asked === undefined || now < deadline(self)) return [self, none]
      const request: StateOfTheWorldRequest = fresh
        ? { ...asked, versionInfo: "", responseNonce: "", errorDetail: undefined }
        : { ...asked, responseNonce: isNonceGiven ? asked.responseNonce : "" }
      return [{ ...self, polling: true }, [{ _tag: "Poll", request, fresh }]]
    }
  }
}

const pause = (self: PollLoop, random: number, now: number): PollLoop => {
  const { jitter, refreshDelay } = self.options
  return { ...self, polling: false, fresh: false, pausedUntil: now + refreshDelay * (1 + jitter * random) }
}

const send = (self: PollLoop, request: StateOfTheWorldRequest): readonly [PollLoop, ReadonlyArray<Output>] => {
  const { asked, polling, unanswered } = self
  const isAnswer =
    asked !== undefined &&
    request.responseNonce === unanswered?.nonce &&
    isSame(request.resourceNames, asked.resourceNames)
  const next: PollLoop = {
    ...self,
    asked: { ...request, node: request.node ?? asked?.node },
    named: self.named || request.resourceNames.length > 0,
    fresh: self.fresh || !isAnswer,
    unanswered: undefined
  }
  return polling ? [{ ...next, polling: false }, [{ _tag: "Abort" }]] : [next, none]
}
