/**
 * All sessions of a server: looked up by client and subscription, bounded in number and bytes, ended when they are idle
 * too long.
 */
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import type { ByteBudget, Holder } from "@effect-xds/transport-node/ByteBudget"
import * as Status from "@effect-xds/transport/Status"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import type { Parts } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import { createHash } from "node:crypto"
import * as RestServerMetrics from "../RestServerMetrics.js"
import type { Served } from "./ServedTypes.js"
import type { SessionTimers, Due } from "./SessionTimers.js"
import type { DiscoveryRequest } from "./DiscoveryRequest.js"
import type { Shared } from "./DiscoveryResponse.js"
import * as Names from "./Names.js"
import * as Peers from "./Peers.js"
import * as Refusal from "./Refusal.js"
import type { Answer } from "./Session.js"
import { Session } from "./Session.js"

export interface Limits {
  readonly maxSessions: number
  readonly maxHeld: number
  /** How long a session may be idle, in milliseconds. */
  readonly idleTimeout: number
}

/** The key of a session: the client and its subscription, in a compact form. */
export interface Key {
  readonly text: string
  /** Bytes that a session with this key holds, beside those of every session. */
  readonly bytes: number
}

/** A poll with its sender. */
export interface Incoming {
  readonly type: Omit<Served, "path">
  readonly decoded: Pick<DiscoveryRequest, "request" | "nodeKey">
  readonly peer: ServerTransport.Peer
  readonly headers: Readonly<Record<string, string>>
  /** Header values that tell clients with the same node apart. */
  readonly credentials: ReadonlyArray<string>
  /** `wait` and `patience` of the poll, in milliseconds. */
  readonly wait: number
  readonly patience: number
}

/** Bytes per name: it is kept here, and in the server's subscription. */
const bytesPerName = 256

/** The key of a poll. It is a hash, since there may be a hundred thousand names. */
export function* keyOf(incoming: Incoming): Parts<Key> {
  const { credentials, decoded, headers, peer, type } = incoming
  const hash = createHash("sha256")
  const who = [type.typeUrl, Peers.hostOf(peer.address), peer.identity?.fingerprint, credentials, decoded.nodeKey]
  hash.update(JSON.stringify(who))
  let bytes = 0
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0)
  for (const names of Names.inLots(decoded.request.resourceNames)) {
    hash.update(JSON.stringify(names))
    for (const name of names) bytes += bytesPerName + 2 * name.length
    yield
  }
  return { text: hash.digest("base64"), bytes }
}

/** An open session. */
interface Open extends Holder {
  readonly session: Session
}

export class Sessions implements Due {
  readonly #open = new Map<string, Open>()
  /** Sessions without a held poll, least recently polled first, with the time of their last poll in milliseconds. */
  readonly #idle = new Map<string, number>()
  #held = 0
  #closed = false
  readonly #refusing = new TransportMetrics.Refusing("maxSessions")

  constructor(
    private readonly limits: Limits,
    private readonly deadlines: SessionTimers,
    private readonly budget: ByteBudget,
    private readonly accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler,
    private readonly responseOf: Shared
  ) {}

  get closed(): boolean {
    return this.#closed
  }

  /** Whether a poll with this key begins a session: then its node is needed. */
  isNew({ text }: Key): boolean {
    return !this.#open.has(text)
  }

  /** Answers a poll once, now or later. The result withdraws the poll. `node`: encoded, for a new session. */
  poll(
    key: Key,
    incoming: Incoming,
    node: Uint8Array | undefined,
    answer: (answer: Either.Either<Answer, Refusal.Refusal>) => void
  ): () => void {
    const nothing = (): void => undefined
    const refuse = (refusal: Refusal.Refusal): (() => void) => {
      answer(Either.left(refusal))
      return nothing
    }
    if (this.#closed) return refuse(Refusal.ofStatus(shuttingDown))
    const { decoded, patience, peer, wait } = incoming
    const mayWait = this.#held < this.limits.maxHeld
    const poll = {
      request: decoded.request,
      peer,
      wait: mayWait ? wait : 0,
      patience: mayWait ? patience : 0,
      answer: (given: Answer) => answer(Either.right(given))
    }
    const known = this.#open.get(key.text)
    if (known !== undefined) {
      this.#idle.delete(key.text)
      this.budget.setIdle(known, false)
      return known.session.poll(poll)
    }
    if (this.#open.size >= this.limits.maxSessions && !this.#endOldest("there are too many sessions")) {
      this.#refusing.set(true)
      const message = `${this.limits.maxSessions} clients wait for changes already, the limit of this server`
      return refuse(new Refusal.Refusal({ status: 503, code: "RESOURCE_EXHAUSTED", message }))
    }
    return this.#begin(key, incoming).open(poll, node)
  }

  /** A function of its own, so that the session's closures do not keep the first poll in memory. */
  #begin({ bytes, text }: Key, { decoded, headers, peer, type }: Incoming): Session {
    const { registry } = type
    const environment = {
      accept: this.accept,
      deadlines: this.deadlines,
      responseOf:
        registry === undefined
          ? this.responseOf
          : (outgoing: ServerTransport.Outgoing) => this.responseOf(outgoing, registry),
      onHeld: (change: 1 | -1) => {
        this.#held += change
        RestServerMetrics.held.unsafeModify(change, [])
      },
      onIdle: () => this.#onIdle(text),
      onEnd: () => this.#onEnd(text)
    }
    const session = new Session(environment, type, decoded.request.resourceNames, peer, headers)
    const open = { session, evict: () => session.finish(Status.make("UNAVAILABLE", noRoom)) }
    this.#open.set(text, open)
    RestServerMetrics.sessions.unsafeModify(1, [])
    this.budget.set(open, bytes)
    return session
  }

  /** Ends all sessions; later polls are refused. */
  close(): void {
    this.#closed = true
    for (const { session } of Array.from(this.#open.values())) session.finish(shuttingDown)
    this.deadlines.clear(this)
    this.#refusing.set(false)
  }

  /** Ends sessions that were idle too long. */
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
    this.#refusing.set(false)
    const open = this.#open.get(key)
    if (open !== undefined) this.budget.setIdle(open, true)
  }

  #onEnd(key: string): void {
    const open = this.#open.get(key)
    if (open === undefined) return
    this.#open.delete(key)
    this.#idle.delete(key)
    this.budget.delete(open)
    this.#refusing.set(false)
    RestServerMetrics.sessions.unsafeModify(-1, [])
  }

  #endOldest(reason: string): boolean {
    const [key] = this.#idle.keys()
    const open = key === undefined ? undefined : this.#open.get(key)
    open?.session.finish(Status.make("UNAVAILABLE", reason))
    return open !== undefined
  }
}

const noRoom = "sessions hold as many bytes as they may, and this is the oldest of them; poll again"
const shuttingDown = Status.make("UNAVAILABLE", "the control plane shuts down")
