/** All sessions of a server: found by who asks for what, bounded in number, ended when nobody polls them. */
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Either from "effect/Either"
import * as RestServerMetrics from "../RestServerMetrics.js"
import type { Deadlines, Due } from "./Deadlines.js"
import type { DiscoveryRequest } from "./DiscoveryRequest.js"
import type { DiscoveryResponse } from "./DiscoveryResponse.js"
import * as Peers from "./Peers.js"
import * as Refusal from "./Refusal.js"
import type { Answer } from "./Session.js"
import { Session } from "./Session.js"

export interface Limits {
  readonly maxSessions: number
  readonly maxHeld: number
  /** Milliseconds. */
  readonly idleTimeout: number
}

/** A poll, and who sends it. */
export interface Incoming {
  readonly type: ResourceType.ResourceType
  readonly decoded: DiscoveryRequest
  readonly peer: ServerTransport.Peer
  readonly headers: Readonly<Record<string, string>>
  /** What tells clients with the same node apart. */
  readonly credentials: ReadonlyArray<string>
  /** Milliseconds. */
  readonly wait: number
  readonly patience: number
}

const keyOf = ({ credentials, decoded, peer, type }: Incoming): string =>
  JSON.stringify([
    type.shortName,
    Peers.hostOf(peer.address),
    peer.identity?.fingerprint,
    credentials,
    decoded.nodeKey,
    decoded.request.resourceNames
  ])

export class Sessions implements Due {
  readonly #open = new Map<string, Session>()
  /** Those that nobody waits at, least recently polled first, and since when. */
  readonly #idle = new Map<string, number>()
  #held = 0
  #closed = false

  constructor(
    private readonly limits: Limits,
    private readonly deadlines: Deadlines,
    private readonly accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler,
    private readonly responseOf: (outgoing: ServerTransport.Outgoing) => DiscoveryResponse
  ) {}

  get closed(): boolean {
    return this.#closed
  }

  /** Answers a poll, once, now or later. The result takes the poll back. */
  poll(incoming: Incoming, answer: (answer: Either.Either<Answer, Refusal.Refusal>) => void): () => void {
    const nothing = (): void => undefined
    const refuse = (refusal: Refusal.Refusal): (() => void) => {
      answer(Either.left(refusal))
      return nothing
    }
    if (this.#closed) return refuse(Refusal.ofStatus(shuttingDown))
    const key = keyOf(incoming)
    const { decoded, headers, patience, peer, type, wait } = incoming
    const mayWait = this.#held < this.limits.maxHeld
    const poll = {
      request: decoded.request,
      peer,
      wait: mayWait ? wait : 0,
      patience: mayWait ? patience : 0,
      answer: (given: Answer) => answer(Either.right(given))
    }
    const known = this.#open.get(key)
    if (known !== undefined) {
      this.#idle.delete(key)
      return known.poll(poll)
    }
    const node = decoded.node()
    if (Either.isLeft(node)) return refuse(node.left)
    if (this.#open.size >= this.limits.maxSessions && !this.#endOldest("there are too many sessions")) {
      const message = `${this.limits.maxSessions} clients wait for changes already, the limit of this server`
      return refuse(new Refusal.Refusal({ status: 503, code: "RESOURCE_EXHAUSTED", message }))
    }
    const session: Session = new Session(
      {
        accept: this.accept,
        deadlines: this.deadlines,
        responseOf: this.responseOf,
        onHeld: (change) => {
          this.#held += change
          RestServerMetrics.held.unsafeModify(change, [])
        },
        onIdle: () => this.#onIdle(key),
        onEnd: () => this.#onEnd(key)
      },
      type,
      decoded.request.resourceNames,
      peer,
      headers
    )
    this.#open.set(key, session)
    RestServerMetrics.sessions.unsafeModify(1, [])
    return session.open(poll, node.right)
  }

  /** Ends all, and takes no more polls. */
  close(): void {
    this.#closed = true
    for (const session of Array.from(this.#open.values())) session.finish(shuttingDown)
    this.deadlines.clear(this)
  }

  /** Ends those that nobody has polled for too long. */
  readonly onDue = (): void => {
    const before = this.deadlines.now() - this.limits.idleTimeout
    for (const since of this.#idle.values()) {
      if (since > before) {
        this.deadlines.set(this, since - before)
        return
      }
      this.#endOldest(`no poll for ${this.limits.idleTimeout / 1000} s`)
    }
  }

  #onIdle(key: string): void {
    if (this.#idle.size === 0) this.deadlines.set(this, this.limits.idleTimeout)
    this.#idle.delete(key)
    this.#idle.set(key, this.deadlines.now())
  }

  #onEnd(key: string): void {
    if (!this.#open.delete(key)) return
    this.#idle.delete(key)
    RestServerMetrics.sessions.unsafeModify(-1, [])
  }

  #endOldest(reason: string): boolean {
    const [key] = this.#idle.keys()
    const session = key === undefined ? undefined : this.#open.get(key)
    session?.finish(Status.make("UNAVAILABLE", reason))
    return session !== undefined
  }
}

const shuttingDown = Status.make("UNAVAILABLE", "the control plane shuts down")
