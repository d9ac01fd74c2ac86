/**
 * The open calls of a server, of every protocol: their limits, and their shutdown.
 */
import type { ServerTransport } from "@effect-xds/transport"
import { Status } from "@effect-xds/transport"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import * as ConnectServerMetrics from "../ConnectServerMetrics.js"

/** A call that can be ended from outside. */
export interface Call {
  readonly shutdown: (status: Status.Status) => void
}

export interface Limits {
  readonly maxStreams: number
  readonly maxStreamsPerPeer: number
}

/** A call that was not admitted. */
export interface Refusal {
  readonly reason: ConnectServerMetrics.RefusalReason
  readonly status: Status.Status
}

const shuttingDown = Status.make("UNAVAILABLE", "server is shutting down")

export class OpenCalls {
  readonly #open = new Map<Call, string>()
  readonly #perHost = new Map<string, number>()
  readonly #refusing = new TransportMetrics.Refusing("maxStreams")
  #closing = false

  constructor(private readonly limits: Limits) {}

  /** Why there is no room for another call of this peer; `undefined` if there is. */
  refusal(peer: ServerTransport.Peer): Refusal | undefined {
    if (this.#closing) return { reason: "shutting down", status: shuttingDown }
    const { maxStreams, maxStreamsPerPeer } = this.limits
    const tooMany = (message: string): Refusal => ({
      reason: "too many streams",
      status: Status.make("RESOURCE_EXHAUSTED", message)
    })
    if (this.#open.size >= maxStreams) {
      this.#refusing.set(true)
      return tooMany(`this server has ${maxStreams} open streams, its limit`)
    }
    const host = hostOf(peer)
    if ((this.#perHost.get(host) ?? 0) >= maxStreamsPerPeer)
      return tooMany(`${host} has ${maxStreamsPerPeer} open streams on this server, the limit for one address`)
    return undefined
  }

  add(call: Call, peer: ServerTransport.Peer): void {
    const host = hostOf(peer)
    this.#open.set(call, host)
    this.#perHost.set(host, (this.#perHost.get(host) ?? 0) + 1)
    ConnectServerMetrics.streams.unsafeUpdate(1, [])
  }

  delete(call: Call): void {
    const host = this.#open.get(call)
    if (host === undefined) return
    this.#open.delete(call)
    this.#refusing.set(false)
    const left = (this.#perHost.get(host) ?? 1) - 1
    if (left === 0) this.#perHost.delete(host)
    else this.#perHost.set(host, left)
    ConnectServerMetrics.streams.unsafeUpdate(-1, [])
  }

  /** Ends every call, and admits no more. */
  shutdown(): void {
    this.#closing = true
    for (const call of [...this.#open.keys()]) call.shutdown(shuttingDown)
  }
}

const hostOf = (peer: ServerTransport.Peer): string => peer.address.slice(0, peer.address.lastIndexOf(":"))
