/**
 * One stream of a simulated network: the states of its two sides, and the messages between them.
 */
import * as Request from "@effect-xds/core/wire/Request"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Either from "effect/Either"
import * as Hash from "effect/Hash"
import { PCGRandom } from "effect/Utils"
import type { Message, StreamName } from "../invariants/Trace.js"
import type { Connection, Network } from "./Network.js"
import { malformed, requestOf } from "./TracedMessage.js"

/** A message of one direction of a stream. */
type Parcel =
  | { readonly _tag: "Head" }
  | { readonly _tag: "Message"; readonly bytes: Uint8Array; readonly message: Message }
  | { readonly _tag: "Credit" }
  | { readonly _tag: "End"; readonly status: Status.Status }

interface InTransit {
  readonly parcel: Parcel
  arrivesAt: number
}

const lost = (reason: string): Status.Status => Status.make("UNAVAILABLE", reason)

/** One stream with both its sides. */
export class SimulatedStream {
  private client: "opening" | "open" | "ended" = "opening"
  private server: "none" | "open" | "ended" = "none"
  private handler: ServerTransport.StreamHandler | undefined
  private readonly toServer: Array<InTransit> = []
  private readonly toClient: Array<InTransit> = []
  /** Messages that arrived at the client and wait for credit. */
  private readonly inbox: Array<Parcel> = []
  private credit = 1
  private reading = false
  /** Responses that the client has not read yet. */
  private unread = 0
  private isBlocked = false
  /** The connection is about to break: nothing new is sent. */
  isEnding = false
  private readonly connection: Connection
  private readonly random: PCGRandom

  constructor(
    private readonly network: Network,
    readonly name: StreamName,
    private readonly receiver: ClientTransport.StreamHandler
  ) {
    const pair = network.pairOf(name.client, name.server)
    this.random = new PCGRandom(
      Hash.string(JSON.stringify([network.options.seed, name.client, name.server, ++pair.streams]))
    )
    network.streams.add(this)
    network.record({ _tag: "Opening", stream: name })
    this.connection = network.connect(pair, this.random)
    this.connection.streams.add(this)
    if (this.connection.state === "open") network.time.schedule(0, () => this.onConnected())
  }

  get isMoving(): boolean {
    return this.toServer.length + this.toClient.length > 0
  }

  get size(): number {
    return this.toServer.length + this.toClient.length + this.inbox.length
  }

  onConnected(): void {
    if (this.client !== "opening") return
    this.client = "open"
    this.network.record({ _tag: "Opened", stream: this.name, side: "client" })
    this.post(this.toServer, { _tag: "Head" })
    this.receiver.onOpen()
  }

  // The client's side.

  readonly port: ClientTransport.ClientStream = {
    send: (bytes) => {
      if (this.client !== "open") return
      const decoded = Request.decode(this.name.protocol, bytes)
      // A malformed message is detected by the server.
      const message = Either.isRight(decoded) ? requestOf(decoded.right) : malformed
      this.network.record({ _tag: "Sent", stream: this.name, message })
      if (this.toServer.length >= this.network.options.maxRequests) {
        this.network.time.schedule(0, () => {
          this.failServer("too many requests are on their way")
          this.failClient("too many requests are on their way")
        })
        return
      }
      this.post(this.toServer, { _tag: "Message", bytes, message })
    },
    next: () => {
      this.credit++
      this.read()
    },
    end: () => {
      if (this.client === "ended") return
      const wasOpen = this.client === "open"
      this.client = "ended"
      this.inbox.length = 0
      this.network.record({ _tag: "Ended", stream: this.name, side: "client", reason: "by the client" })
      if (wasOpen) this.post(this.toServer, { _tag: "End", status: Status.make("CANCELLED", "ended by the client") })
      this.forgetIfOver()
    }
  }

  /** Delivers messages to the client, as far as there is credit. */
  read(): void {
    if (this.reading) return
    this.reading = true
    for (let parcel = this.inbox[0]; parcel !== undefined; parcel = this.inbox[0]) {
      if (this.client !== "open" || (this.network.holds.get(this.name.client) ?? 0) > 0) break
      if (parcel._tag === "End") {
        this.inbox.length = 0
        this.endClient(parcel.status)
        break
      }
      if (parcel._tag !== "Message" || this.credit === 0) break
      this.inbox.shift()
      this.credit--
      this.network.record({ _tag: "Received", stream: this.name, message: parcel.message })
      this.post(this.toServer, { _tag: "Credit" })
      this.receiver.onMessage(parcel.bytes)
    }
    this.reading = false
  }

  failClient(reason: string): void {
    this.inbox.length = 0
    this.toClient.length = 0
    this.endClient(lost(reason))
  }

  private endClient(status: Status.Status): void {
    if (this.client === "ended") return
    this.client = "ended"
    const reason = status.message === "" ? status.code : `${status.code} ${status.message}`
    this.network.record({ _tag: "Ended", stream: this.name, side: "client", reason })
    this.forgetIfOver()
    this.receiver.onEnd(status)
  }

  // The server's side.

  private onHead(): void {
    const host = this.network.hostOf(this.name.server)
    if (host.accept === undefined) {
      this.post(this.toClient, { _tag: "End", status: lost("the server went away") })
      this.server = "ended"
      return
    }
    this.server = "open"
    host.streams.add(this)
    this.network.record({ _tag: "Opened", stream: this.name, side: "server" })
    const { client, protocol, typeUrl } = this.name
    this.handler = host.accept({
      peer: { address: client, identity: undefined },
      method: { protocol, typeUrl, unary: false },
      headers: {},
      write: (outgoing) => this.write(outgoing),
      end: (status) => {
        if (!this.endServer(status.message === "" ? status.code : `${status.code} ${status.message}`)) return
        this.post(this.toClient, { _tag: "End", status })
      }
    })
  }

  isHandledBy(handler: unknown): boolean {
    return this.server === "open" && this.handler === handler
  }

  private write({ body, suffix }: ServerTransport.Outgoing): boolean {
    if (this.server !== "open") return false
    const bytes = new Uint8Array(body.byteLength + suffix.byteLength)
    bytes.set(body)
    bytes.set(suffix, body.byteLength)
    const message = this.network.tracer.responseOf(this.name.protocol, bytes)
    this.network.record({ _tag: "Sent", stream: this.name, message })
    this.unread++
    this.post(this.toClient, { _tag: "Message", bytes, message })
    this.isBlocked = this.unread >= this.network.options.window
    return !this.isBlocked
  }

  /** Stops the server's side, gracefully or after its death. */
  stopServer(): void {
    const { handler } = this
    if (!this.endServer("the server stopped")) return
    this.post(this.toClient, { _tag: "End", status: lost("the server stopped") })
    handler?.onEnd("the server stopped")
  }

  failServer(reason: string): void {
    const { handler } = this
    this.toServer.length = 0
    if (this.endServer(reason)) handler?.onEnd(reason)
  }

  /** Returns whether it was open. */
  private endServer(reason: string): boolean {
    const wasOpen = this.server === "open"
    this.server = "ended"
    this.network.hostOf(this.name.server).streams.delete(this)
    if (wasOpen) this.network.record({ _tag: "Ended", stream: this.name, side: "server", reason })
    this.forgetIfOver()
    return wasOpen
  }

  private onRequest(parcel: Parcel & { readonly _tag: "Message" }): void {
    const decoded = Request.decode(this.name.protocol, parcel.bytes)
    this.network.record({ _tag: "Received", stream: this.name, message: parcel.message })
    if (Either.isRight(decoded)) return this.handler?.onRequest(decoded.right)
    const status = Status.make("INVALID_ARGUMENT", decoded.left.message)
    const { handler } = this
    if (!this.endServer(decoded.left.message)) return
    this.post(this.toClient, { _tag: "End", status })
    handler?.onEnd(decoded.left.message)
  }

  // Transport between the sides.

  private post(way: Array<InTransit>, parcel: Parcel): void {
    if (this.connection.isLost || this.isEnding) return
    const { network } = this
    const last = way.at(-1)?.arrivesAt ?? 0
    const arrivesAt = Math.max(last, network.time.now() + network.latency(this.name.client, this.random))
    way.push({ parcel, arrivesAt })
    network.time.schedule(arrivesAt - network.time.now(), () => this.deliver(way))
  }

  private deliver(way: Array<InTransit>): void {
    const now = this.network.time.now()
    for (let first = way[0]; first !== undefined && first.arrivesAt <= now; first = way[0]) {
      if (this.connection.isLost) {
        way.length = 0
        break
      }
      if (this.connection.pair.cuts > 0) return
      way.shift()
      if (way === this.toServer) this.arriveAtServer(first.parcel)
      else this.arriveAtClient(first.parcel)
    }
    this.forgetIfOver()
  }

  private arriveAtServer(parcel: Parcel): void {
    if (parcel._tag === "Head") return this.onHead()
    if (this.server !== "open") return
    switch (parcel._tag) {
      case "Message":
        return this.onRequest(parcel)
      case "Credit":
        this.unread--
        if (this.isBlocked && this.unread < this.network.options.window) {
          this.isBlocked = false
          this.handler?.onWritable()
        }
        return
      case "End": {
        const { handler } = this
        if (this.endServer(parcel.status.message)) handler?.onEnd(parcel.status.message)
        return
      }
    }
  }

  private arriveAtClient(parcel: Parcel): void {
    if (this.client !== "open") return
    this.inbox.push(parcel)
    this.read()
  }

  /** The partition is over: waiting messages are sent again. */
  resume(): void {
    for (const way of [this.toServer, this.toClient]) {
      let last = 0
      for (const each of way) {
        const soonest = this.network.time.now() + this.network.latency(this.name.client, this.random)
        each.arrivesAt = last = Math.max(last, each.arrivesAt, soonest)
        this.network.time.schedule(each.arrivesAt - this.network.time.now(), () => this.deliver(way))
      }
    }
  }

  /** Removes the stream from the network once both sides have ended. */
  private forgetIfOver(): void {
    if (this.client !== "ended" || this.server === "open") return
    if (this.server === "none" && this.toServer.length > 0 && !this.connection.isLost) return
    this.network.streams.delete(this)
    this.connection.streams.delete(this)
    this.network.forget(this.connection)
  }
}
