/**
 * What makes polls a stream: what a client sends sets the next poll, what a poll brings is a message. Pure, so that its
 * rules can be written down as traces.
 *
 * - The answer to a response, ACK or NACK, is the next poll, after the pause.
 * - ★ What is asked for anew is polled for at once and without a version: servers that judge by the version alone would
 *   say that nothing changed. So it is on a new stream, which a server has to answer for the client to know that it is
 *   there.
 * - Without credit, or while a response is unanswered, nothing is polled: a client that is busy costs the server nothing.
 * - ★ No names after there were names is nothing, and as a poll it would be everything: so it is none.
 */
import type { StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import type * as Status from "@effect-xds/transport/Status"

export interface Options {
  /** Milliseconds from the end of a poll to the next one. */
  readonly refreshDelay: number
  /** The largest part of that delay which is added to it at random. */
  readonly jitter: number
}

/** A `DiscoveryResponse`. */
export interface Received {
  /** By which the client answers it. */
  readonly nonce: string
  /** Whether the server gave that nonce; else the server is not told of it. */
  readonly isNonceGiven: boolean
  readonly message: Uint8Array
}

export interface PollLoop {
  readonly options: Options
  /** What the client sent last, with the node that it sent first. */
  readonly asked: StateOfTheWorldRequest | undefined
  /** Whether the client ever gave names. */
  readonly named: boolean
  /** Whether what is asked for was not answered yet. */
  readonly fresh: boolean
  /** Messages that the client takes. */
  readonly credit: number
  /** The last response, until the client answers it. */
  readonly unanswered: Received | undefined
  readonly isNonceGiven: boolean
  readonly polling: boolean
  /** When the next poll may begin, in milliseconds. */
  readonly pausedUntil: number
}

export type Input =
  /** The client sends a request. */
  | { readonly _tag: "Send"; readonly request: StateOfTheWorldRequest }
  /** The client gives credit. */
  | { readonly _tag: "Next" }
  /** The poll brought a response. `random`: in [0, 1), for the next pause. */
  | { readonly _tag: "Changed"; readonly response: Received; readonly random: number }
  /** The poll brought nothing: 304. */
  | { readonly _tag: "Unchanged"; readonly random: number }
  | { readonly _tag: "Failed"; readonly status: Status.Status }
  /** The time of {@link deadline} has come. */
  | { readonly _tag: "Deadline" }

export type Output =
  /** Poll. `fresh`: it is to be answered at once. */
  | { readonly _tag: "Poll"; readonly request: StateOfTheWorldRequest; readonly fresh: boolean }
  /** Give up the poll that is under way. */
  | { readonly _tag: "Abort" }
  | { readonly _tag: "Deliver"; readonly message: Uint8Array }
  | { readonly _tag: "End"; readonly status: Status.Status }

const none: ReadonlyArray<Output> = []

/** A stream that is open. */
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
      // The server has heard of the rejection.
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
