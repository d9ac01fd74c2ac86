/**
 * A session: the polls of one client for one type and one list of names. To the server it is one state-of-the-world
 * stream, so REST clients look like all others.
 *
 * A REST response may be lost, and a client takes each response as the whole state. So every answer is complete, and
 * what a client holds is judged by the version that it quotes and nothing else.
 *
 * Nothing is written ahead: a poll gives the server credit, and a response written without a poll replaces the one
 * before.
 */
import * as Request from "@effect-xds/core/wire/Request"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import type { Served } from "./ServedTypes.js"
import type { SessionTimers, Due } from "./SessionTimers.js"
import type { DiscoveryResponse } from "./DiscoveryResponse.js"
import { streamNonce } from "./DiscoveryResponse.js"
import { createHash } from "node:crypto"

/** The outcome of a poll. */
export type Answer =
  | { readonly _tag: "Response"; readonly response: DiscoveryResponse }
  /** The client's version is current: 304. */
  | { readonly _tag: "Unchanged" }
  | { readonly _tag: "Refused"; readonly status: Status.Status }

export interface Poll {
  /** The request without its node; names sorted, without duplicates. */
  readonly request: Request.StateOfTheWorldRequest
  readonly peer: ServerTransport.Peer
  /** How long to wait for a change, in milliseconds; 0: not at all. */
  readonly wait: number
  /** How long to wait for the server's first answer, in milliseconds. */
  readonly patience: number
  readonly answer: (answer: Answer) => void
}

/** What a session uses of its owner. */
export interface Environment {
  readonly accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler
  readonly deadlines: SessionTimers
  readonly responseOf: (outgoing: ServerTransport.Outgoing) => DiscoveryResponse
  /** The number of held polls changed by one. */
  readonly onHeld: (change: 1 | -1) => void
  /** No poll is held any more. */
  readonly onIdle: () => void
  /** The server ended the session. */
  readonly onEnd: () => void
}

/** A held poll. Its request is not kept. */
class Held implements Due {
  /** The client has the last delivered response, judged by its version. */
  current = true
  /** The server was asked to send the response again, which may take longer than `wait`. */
  asked = false
  /** The poll waits until the server has finished its work. */
  isSlow = false

  constructor(
    readonly wait: number,
    /** The end of `wait`, in milliseconds. */
    readonly until: number,
    readonly patience: number,
    readonly answer: (answer: Answer) => void,
    readonly onDue: () => void
  ) {}
}

/** The last response that was delivered. */
interface Delivered {
  readonly version: string
  readonly nonce: string
  /** The server's nonce of this response. */
  readonly streamNonce: string
  /** The ACK or NACK was passed to the server. */
  judged: boolean
  /** The version that the client kept when it rejected this one, in the form of {@link mark}. */
  rejectedFor: string | undefined
}

/** The last client that got the same response again, because it quoted an earlier version. */
interface Repeat {
  readonly version: string
  readonly quoted: string
  readonly peer: string
}

/** A client's version in bounded size, for comparison: it may be any text. */
const mark = (version: string): string =>
  version.length <= 64 ? version : `#${createHash("sha256").update(version).digest("base64")}`

const everything: ReadonlyArray<string> = ["*"]

export class Session implements ServerTransport.AcceptedStream {
  readonly method: ServerTransport.Method
  readonly whole = true
  /** `*` in place of no names, since `*` can be subscribed to again. */
  readonly #names: ReadonlyArray<string>
  /** Whether every response is complete. If not, only the response to a subscription is. */
  readonly #complete: boolean
  #handler: ServerTransport.StreamHandler | undefined
  #ended = false
  /** The server has credit to write. */
  #credit = true
  /** The server is processing a request, and may write in a later turn. */
  #working = false
  #unsubscribing = false
  /** The next response answers a subscription. */
  #subscribing = true
  #pending: { readonly outgoing: ServerTransport.Outgoing; readonly complete: boolean } | undefined
  #delivered: Delivered | undefined
  #repeat: Repeat | undefined
  readonly #held = new Set<Held>()

  constructor(
    private readonly environment: Environment,
    type: Pick<Served, "typeUrl" | "family">,
    names: ReadonlyArray<string>,
    readonly peer: ServerTransport.Peer,
    readonly headers: Readonly<Record<string, string>>
  ) {
    this.method = { protocol: "StateOfTheWorld", typeUrl: type.typeUrl, unary: false }
    this.#names = names.length === 0 ? everything : names
    this.#complete = type.family === "full-state" || (names.length === 1 && names[0] !== "*")
  }

  /** Opens the stream to the server with the first request. Its poll is held. */
  open(poll: Poll, node: Uint8Array | undefined): () => void {
    const held = this.#hold(poll)
    const handler = this.environment.accept(this)
    if (!this.#ended) {
      this.#handler = handler
      handler.onRequest({
        ...poll.request,
        resourceNames: this.#names,
        responseNonce: "",
        errorDetail: undefined,
        node
      })
    }
    return this.#wait(held)
  }

  /** Answers a poll, now or at a change. The result withdraws the poll. */
  poll(poll: Poll): () => void {
    const held = this.#hold(poll)
    if (this.#delivered === undefined) this.#pull()
    else {
      held.current = this.#has(this.#delivered, poll.request)
      if (held.current) {
        this.#judge(this.#delivered, poll.request)
        this.#pull()
      } else if (this.#isRepeated(this.#delivered, poll)) this.#pull()
      else this.#ask(held)
    }
    return this.#wait(held)
  }

  /** Ends the session from the transport's side. */
  finish(status: Status.Status): void {
    if (this.#ended) return
    const handler = this.#handler
    this.end(status)
    handler?.onEnd(status.message)
  }

  // Called by the server.

  readonly write = (outgoing: ServerTransport.Outgoing): boolean => {
    if (this.#ended) return false
    this.#credit = false
    this.#pending = { outgoing, complete: this.#complete || this.#subscribing }
    this.#subscribing = false
    this.#answerPolls()
    // Only a poll gives credit.
    return false
  }

  readonly setReading = (wanted: boolean): void => {
    this.#working = !wanted
    if (!wanted) return
    for (const held of this.#held) {
      if (!held.isSlow) continue
      held.isSlow = false
      this.#wait(held)
    }
  }

  readonly end = (status: Status.Status): void => {
    if (this.#ended) return
    this.#ended = true
    this.#handler = undefined
    this.#pending = undefined
    for (const held of this.#held) this.#answer(held, { _tag: "Refused", status })
    this.environment.onEnd()
  }

  // Holding polls.

  #hold(poll: Poll): Held {
    const { answer, patience, wait } = poll
    const until = this.environment.deadlines.now() + wait
    const held = new Held(wait, until, patience, answer, () => this.#timeOut(held))
    this.#held.add(held)
    this.environment.onHeld(1)
    return held
  }

  /** Holds a poll that has no answer yet. */
  #wait(held: Held): () => void {
    if (!this.#held.has(held)) return () => undefined
    const { patience, until, wait } = held
    const isDue = this.#delivered === undefined || held.asked
    held.isSlow = !isDue && this.#working
    const left = until - this.environment.deadlines.now()
    const limit = isDue || held.isSlow ? Math.max(patience, wait) : left
    if (limit > 0) this.environment.deadlines.set(held, limit)
    else this.#timeOut(held)
    return () => this.#release(held)
  }

  #timeOut(held: Held): void {
    // The client seems to have lost or rejected the last response: it is sent again.
    if (!held.current && !held.asked) {
      this.#ask(held)
      // The server may need some turns to write it.
      if (this.#held.has(held) && held.patience > 0) return this.environment.deadlines.set(held, held.patience)
    }
    if (!this.#held.has(held)) return
    if (held.current && this.#delivered !== undefined) return this.#answer(held, { _tag: "Unchanged" })
    const message =
      "the control plane has no answer for this node now: its group is not set, or not known yet, or the answer takes long"
    this.#answer(held, { _tag: "Refused", status: Status.make("UNAVAILABLE", message) })
  }

  #answer(held: Held, answer: Answer): void {
    if (this.#release(held)) held.answer(answer)
  }

  #release(held: Held): boolean {
    if (!this.#held.delete(held)) return false
    this.environment.deadlines.clear(held)
    this.environment.onHeld(-1)
    if (this.#held.size === 0 && !this.#ended) this.environment.onIdle()
    return true
  }

  // Judging which response a client has.

  /** Whether a client has the last delivered response. */
  #has(delivered: Delivered, { errorDetail, responseNonce, versionInfo }: Request.StateOfTheWorldRequest): boolean {
    if (errorDetail !== undefined) {
      if (responseNonce !== "" && responseNonce !== delivered.nonce) return false
      delivered.rejectedFor = mark(versionInfo)
      return true
    }
    // A client without a version gets everything.
    if (versionInfo === "") return false
    return versionInfo === delivered.version || mark(versionInfo) === delivered.rejectedFor
  }

  /** Passes the ACK or NACK to the server before a later response would make it stale. */
  #judge(delivered: Delivered, request: Request.StateOfTheWorldRequest): void {
    if (delivered.judged) return
    delivered.judged = true
    this.#handler?.onRequest({ ...request, resourceNames: this.#names, responseNonce: delivered.streamNonce })
  }

  /**
   * ★ A client that keeps quoting an earlier version has lost its response or, like Envoy, rejected it silently. It
   * gets the response again at once; after that a long poll gets it only at its timeout, so that a rejection causes no
   * storm.
   */
  #isRepeated({ version }: Delivered, { peer, request, wait }: Poll): boolean {
    const quoted = mark(request.versionInfo)
    const before = this.#repeat
    this.#repeat = { version, quoted, peer: peer.address }
    const again = before?.version === version && before.quoted === quoted && before.peer === peer.address
    return again && wait > 0
  }

  // Getting responses from the server.

  /** Lets the server write a change, if there is one. */
  #pull(): void {
    this.#giveCredit()
    this.#answerPolls()
  }

  /** Lets the server write the whole subscription, for a poll that lacks it. */
  #ask(held: Held): void {
    held.asked = true
    this.#refresh()
  }

  /** Unsubscribes and subscribes again, so that the server writes everything. */
  #refresh(): void {
    // A response between the two requests is not the answer.
    this.#unsubscribing = true
    this.#handler?.onRequest(Request.stateOfTheWorld({ typeUrl: "" }))
    this.#unsubscribing = false
    this.#pending = undefined
    this.#subscribing = true
    this.#handler?.onRequest(Request.stateOfTheWorld({ typeUrl: "", resourceNames: this.#names }))
    this.#giveCredit()
  }

  #giveCredit(): void {
    if (this.#credit) return
    this.#credit = true
    this.#handler?.onWritable()
  }

  /** Delivers a pending response to all held polls. */
  #answerPolls(): void {
    const pending = this.#pending
    if (pending === undefined || this.#unsubscribing || this.#held.size === 0) return
    if (!pending.complete) {
      // All held polls lack something. For many names the server needs some turns to write everything.
      for (const held of this.#held) held.asked = true
      return this.#refresh()
    }
    this.#pending = undefined
    const response = this.environment.responseOf(pending.outgoing)
    const { nonce, version } = response
    this.#delivered = {
      version,
      nonce,
      streamNonce: streamNonce(pending.outgoing),
      judged: false,
      rejectedFor: undefined
    }
    for (const held of this.#held) this.#answer(held, { _tag: "Response", response })
  }
}
