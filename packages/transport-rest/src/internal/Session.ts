/**
 * What stands in for a stream: the polls of one client for one type and one list of names, towards the server a
 * state-of-the-world stream that outlives them. So the server knows REST clients as it knows all others.
 *
 * REST takes each response as it is: a response may be lost, and what it lacks is gone. So every answer is complete,
 * and which one a client has is judged by the version that it quotes and by nothing else.
 *
 * Nothing is written ahead: the server is given credit when a poll comes, and what it wrote while nobody asked is put
 * in the place of what it wrote before.
 */
import * as Request from "@effect-xds/core/wire/Request"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import type { Served } from "./ServedTypes.js"
import type { Deadlines, Due } from "./Deadlines.js"
import type { DiscoveryResponse } from "./DiscoveryResponse.js"
import { streamNonce } from "./DiscoveryResponse.js"
import { createHash } from "node:crypto"

/** How a poll ends. */
export type Answer =
  | { readonly _tag: "Response"; readonly response: DiscoveryResponse }
  /** The client has everything. */
  | { readonly _tag: "Unchanged" }
  | { readonly _tag: "Refused"; readonly status: Status.Status }

export interface Poll {
  /** Without the node; names in order, each once. */
  readonly request: Request.StateOfTheWorldRequest
  readonly peer: ServerTransport.Peer
  /** How long to wait for a change, in milliseconds; 0: not at all. */
  readonly wait: number
  /** How long to wait for the server's first answer, in milliseconds. */
  readonly patience: number
  readonly answer: (answer: Answer) => void
}

/** What a session needs from those who keep it. */
export interface Environment {
  readonly accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler
  readonly deadlines: Deadlines
  readonly responseOf: (outgoing: ServerTransport.Outgoing) => DiscoveryResponse
  /** A poll waits (1), or no longer does (-1). */
  readonly onHeld: (change: 1 | -1) => void
  /** No poll waits any more. */
  readonly onIdle: () => void
  /** The server ended it. */
  readonly onEnd: () => void
}

/** A poll that waits: of its request nothing is kept. */
class Held implements Due {
  /** Has what was delivered last, as far as can be told. */
  current = true
  /** What it lacks was asked of the server: that may take longer than it would wait for a change. */
  asked = false
  /** Waits no longer than the server is at work. */
  lingers = false

  constructor(
    readonly wait: number,
    /** When its time to wait for a change is up. */
    readonly until: number,
    readonly patience: number,
    readonly answer: (answer: Answer) => void,
    readonly onDue: () => void
  ) {}
}

/** What the clients of a session were given last. */
interface Delivered {
  readonly version: string
  readonly nonce: string
  /** By which the server knows it. */
  readonly streamNonce: string
  /** The server was told what the client said to it. */
  judged: boolean
  /** The version that the client went on with when it rejected this one, as {@link mark} has it. */
  rejectedFor: string | undefined
}

/** A client that has been given the same again, because it quotes a version that it had before. */
interface Repeat {
  readonly version: string
  readonly quoted: string
  readonly peer: string
}

/** What a client says that its version is, to be compared: it may say anything, at any length. */
const mark = (version: string): string =>
  version.length <= 64 ? version : `#${createHash("sha256").update(version).digest("base64")}`

const everything: ReadonlyArray<string> = ["*"]

export class Session implements ServerTransport.AcceptedStream {
  readonly method: ServerTransport.Method
  readonly whole = true
  /** In place of no names `*` stands, which can be asked for again. */
  readonly #names: ReadonlyArray<string>
  /** Whether every response is complete by itself; else only one that answers a subscription is. */
  readonly #complete: boolean
  #handler: ServerTransport.StreamHandler | undefined
  #ended = false
  /** The server may write. */
  #credit = true
  /** The server is at work: what it has to say it will say in some turns. */
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

  /** Hands the session to the server, with the first request and its poll. */
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

  /** Answers a poll, now or when there is something to say. The result takes the poll back. */
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

  /** Ends the session from this side. */
  finish(status: Status.Status): void {
    if (this.#ended) return
    const handler = this.#handler
    this.end(status)
    handler?.onEnd(status.message)
  }

  // What the server calls.

  readonly write = (outgoing: ServerTransport.Outgoing): boolean => {
    if (this.#ended) return false
    this.#credit = false
    this.#pending = { outgoing, complete: this.#complete || this.#subscribing }
    this.#subscribing = false
    this.#settle()
    // Credit is given by a poll.
    return false
  }

  readonly setReading = (wanted: boolean): void => {
    this.#working = !wanted
    if (!wanted) return
    for (const held of this.#held) {
      if (!held.lingers) continue
      held.lingers = false
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

  // How polls wait.

  #hold(poll: Poll): Held {
    const { answer, patience, wait } = poll
    const until = this.environment.deadlines.now() + wait
    const held = new Held(wait, until, patience, answer, () => this.#timeOut(held))
    this.#held.add(held)
    this.environment.onHeld(1)
    return held
  }

  /** Waits if there was no answer yet. */
  #wait(held: Held): () => void {
    if (!this.#held.has(held)) return () => undefined
    const { patience, until, wait } = held
    const isDue = this.#delivered === undefined || held.asked
    held.lingers = !isDue && this.#working
    const left = until - this.environment.deadlines.now()
    const limit = isDue || held.lingers ? Math.max(patience, wait) : left
    if (limit > 0) this.environment.deadlines.set(held, limit)
    else this.#timeOut(held)
    return () => this.#release(held)
  }

  #timeOut(held: Held): void {
    // Once more what it seems to have lost or rejected.
    if (!held.current && !held.asked) {
      this.#ask(held)
      // The server may take some turns for it.
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

  // Which response a client has.

  /** Whether a client has what was delivered last. */
  #has(delivered: Delivered, { errorDetail, responseNonce, versionInfo }: Request.StateOfTheWorldRequest): boolean {
    if (errorDetail !== undefined) {
      if (responseNonce !== "" && responseNonce !== delivered.nonce) return false
      delivered.rejectedFor = mark(versionInfo)
      return true
    }
    // Who has nothing is given everything, whatever its version.
    if (versionInfo === "") return false
    return versionInfo === delivered.version || mark(versionInfo) === delivered.rejectedFor
  }

  /** Tells the server of the ACK or the NACK, before there can be a later response which would make it stale. */
  #judge(delivered: Delivered, request: Request.StateOfTheWorldRequest): void {
    if (delivered.judged) return
    delivered.judged = true
    this.#handler?.onRequest({ ...request, resourceNames: this.#names, responseNonce: delivered.streamNonce })
  }

  /**
   * ★ A client that goes on quoting what it had before has lost its response or, as Envoy does it, rejected it without a
   * word. It is given the same once more at once; then, if it would wait, only when its time is up, lest a rejection
   * becomes a storm.
   */
  #isRepeated({ version }: Delivered, { peer, request, wait }: Poll): boolean {
    const quoted = mark(request.versionInfo)
    const before = this.#repeat
    this.#repeat = { version, quoted, peer: peer.address }
    const again = before?.version === version && before.quoted === quoted && before.peer === peer.address
    return again && wait > 0
  }

  // What there is to say.

  /** Has the server write what is new, if anything is. */
  #pull(): void {
    this.#giveCredit()
    this.#settle()
  }

  /** Has the server write everything that is asked for, in the name of a poll that lacks it. */
  #ask(held: Held): void {
    held.asked = true
    this.#refresh()
  }

  /** Has the server write everything that is asked for, as for one who was never sent anything. */
  #refresh(): void {
    // What is written between the two requests is not the answer.
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

  /** Delivers what is pending to all who wait. */
  #settle(): void {
    const pending = this.#pending
    if (pending === undefined || this.#unsubscribing || this.#held.size === 0) return
    if (!pending.complete) {
      // Something is new to all who wait; of many names the server takes some turns to say what.
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
