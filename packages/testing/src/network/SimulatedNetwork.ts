/**
 * A network in one process, between any number of clients and servers: both ports of the transport, so that `XdsServer`
 * and `XdsClient` run on it unchanged. Messages go through the real codecs, take time, and whatever can go wrong with a
 * connection goes wrong when a {@link NetworkFault} says so. Everything is drawn from one seed.
 *
 * What a fault does is what TCP and gRPC make of it. Within a stream nothing is reordered, doubled or lost: a message
 * arrives after all before it, or the stream ends. A connection through which nothing gets is found out by keepalive.
 *
 * @since 0.1.0
 */
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import type { Protocol } from "@effect-xds/core/wire/Request"
import * as Request from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import { PCGRandom } from "effect/Utils"
import type { NetworkFault } from "./Fault.js"
import * as Reference from "../reference/Reference.js"
import { SimulatedTime } from "../simulation/SimulatedTime.js"
import type { Event, Message, StreamName, Trace, TracedResource } from "../invariants/Trace.js"
import { fingerprint } from "../invariants/Trace.js"

/**
 * What a network is like when nothing is wrong with it. Times are milliseconds.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Of latencies. Default: 0. */
  readonly seed?: number | string | undefined
  /** The shortest way of a message. Default: 5. */
  readonly latency?: number | undefined
  /** What is added at random, up to this. Default: 10. */
  readonly jitter?: number | undefined
  /** How long a client tries to connect. Default: 20 000. */
  readonly connectTimeout?: number | undefined
  /** When either side finds out that nothing gets through any more. Default: 40 000. */
  readonly keepalive?: number | undefined
  /** Responses of one stream that are on their way or not yet read. Default: 2. */
  readonly window?: number | undefined
  /** Requests of one stream that are on their way; with more the stream is ended. Default: 1 000. */
  readonly maxRequests?: number | undefined
  /** Events that are kept; those after them are counted only. Default: 1 000 000. */
  readonly maxEvents?: number | undefined
}

/**
 * The network itself, for whoever watches it or makes it fail.
 *
 * @since 0.1.0
 */
export class SimulatedNetwork extends Context.Tag("@effect-xds/testing/network/SimulatedNetwork")<
  SimulatedNetwork,
  {
    /** The port for a server at this address. */
    readonly serverAt: (address: string) => ServerTransport.Service
    /** The port for a client of this name. */
    readonly clientNamed: (name: string) => ClientTransport.Service
    /** Begins a fault; it ends by itself. */
    readonly inject: (fault: NetworkFault) => Effect.Effect<void>
    /** A server dies: its clients lose their connections, and what it does afterwards reaches nobody. */
    readonly kill: (address: string) => Effect.Effect<void>
    /** A client dies: its servers lose their connections, and what it does afterwards reaches nobody. */
    readonly killClient: (name: string) => Effect.Effect<void>
    /** Messages that are on their way or not yet read. */
    readonly underWay: () => number
    /** Streams of which at least one side does not know that they are over. */
    readonly openStreams: () => number
    /** Messages that were sent or taken so far. */
    readonly messages: () => number
    /** When something happened to a stream last. */
    readonly lastActivity: () => number
    /** What happened so far. */
    readonly trace: () => Trace
    /** A resource as traces name it. */
    readonly traced: (
      resource: Pick<Resource, "typeUrl" | "name" | "version" | "value" | "aliases" | "ttl">
    ) => TracedResource
    /** Adds an event to the trace, at the present time. */
    readonly record: (event: Unstamped) => void
    /** Events that were too many for the trace. */
    readonly unrecorded: () => number
  }
>() {}

/**
 * An event without its time.
 *
 * @since 0.1.0
 */
export type Unstamped = Event extends infer E ? (E extends Event ? Omit<E, "at"> : never) : never

/** What goes through one direction of a stream. */
type Parcel =
  | { readonly _tag: "Head" }
  | { readonly _tag: "Message"; readonly bytes: Uint8Array; readonly message: Message }
  | { readonly _tag: "Credit" }
  | { readonly _tag: "End"; readonly status: Status.Status }

interface InTransit {
  readonly parcel: Parcel
  arrivesAt: number
}

/** A connection as its two sides see it; `isLost`: nothing gets through any more, for good. */
interface Connection {
  readonly pair: Pair
  state: "connecting" | "open" | "closed"
  isLost: boolean
  readonly streams: Set<SimulatedStream>
}

/** A client and a server. */
interface Pair {
  readonly client: string
  readonly server: string
  /** The one that new streams use. */
  connection: Connection | undefined
  /** Also those that only the server believes in. */
  readonly connections: Set<Connection>
  /** Partitions between the two. */
  cuts: number
  streams: number
}

interface ServerHost {
  accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
  readonly streams: Set<SimulatedStream>
}

type Settled = Required<{ [Key in keyof Options]: Exclude<Options[Key], undefined> }>

const defaults: Settled = {
  seed: 0,
  latency: 5,
  jitter: 10,
  connectTimeout: 20_000,
  keepalive: 40_000,
  window: 2,
  maxRequests: 1_000,
  maxEvents: 1_000_000
}

const lost = (reason: string): Status.Status => Status.make("UNAVAILABLE", reason)

class Network {
  readonly pairs = new Map<string, Pair>()
  readonly servers = new Map<string, ServerHost>()
  readonly slow = new Map<string, Array<{ readonly latency: number; readonly jitter: number }>>()
  /** By client: faults that keep it from reading. */
  readonly holds = new Map<string, number>()
  readonly events: Array<Event> = []
  readonly streams = new Set<SimulatedStream>()
  unrecorded = 0
  messages = 0
  lastActivity = 0
  lastStream = 0
  private readonly references = new Map<string, ReadonlyArray<string>>()

  constructor(
    readonly time: typeof SimulatedTime.Service,
    readonly options: Settled
  ) {}

  record(event: Unstamped): void {
    if (this.events.length >= this.options.maxEvents) this.unrecorded++
    else this.events.push({ at: this.time.now(), ...event })
    if (event._tag === "Sent" || event._tag === "Received") this.messages++
    if ("stream" in event) this.lastActivity = this.time.now()
  }

  pairOf(client: string, server: string): Pair {
    const key = JSON.stringify([client, server])
    const known = this.pairs.get(key)
    if (known !== undefined) return known
    const pair: Pair = { client, server, connection: undefined, connections: new Set(), cuts: 0, streams: 0 }
    this.pairs.set(key, pair)
    return pair
  }

  hostOf(server: string): ServerHost {
    const known = this.servers.get(server)
    if (known !== undefined) return known
    const host: ServerHost = { accept: undefined, streams: new Set() }
    this.servers.set(server, host)
    return host
  }

  latency(client: string, random: PCGRandom): number {
    let { jitter, latency } = this.options
    for (const slow of this.slow.get(client) ?? []) {
      latency = Math.max(latency, slow.latency)
      jitter = Math.max(jitter, slow.jitter)
    }
    return latency + Math.floor(random.number() * (jitter + 1))
  }

  /** The connection for a new stream: the one that is there, or one that is being made now. */
  connect(pair: Pair, random: PCGRandom): Connection {
    if (pair.connection !== undefined) return pair.connection
    const connection: Connection = { pair, state: "connecting", isLost: false, streams: new Set() }
    pair.connection = connection
    pair.connections.add(connection)
    const deadline = this.time.now() + this.options.connectTimeout
    const attempt = (): void => {
      if (connection.state !== "connecting") return
      if (pair.cuts > 0) {
        // Tried again and again until it gets through.
        if (this.time.now() >= deadline) this.closeClientSide(connection, "the server cannot be reached: timeout")
        else this.time.schedule(Math.min(1_000, deadline - this.time.now()), attempt)
        return
      }
      if (this.hostOf(pair.server).accept === undefined) {
        this.closeClientSide(connection, "the server cannot be reached: connection refused")
        return
      }
      connection.state = "open"
      for (const stream of Array.from(connection.streams)) stream.onConnected()
    }
    this.time.schedule(2 * this.latency(pair.client, random), attempt)
    return connection
  }

  /** The client knows that the connection is gone. */
  closeClientSide(connection: Connection, reason: string): void {
    connection.state = "closed"
    if (connection.pair.connection === connection) connection.pair.connection = undefined
    for (const stream of Array.from(connection.streams)) stream.failClient(reason)
    this.forget(connection)
  }

  /** The server knows that the connection is gone. */
  closeServerSide(connection: Connection, reason: string): void {
    for (const stream of Array.from(connection.streams)) stream.failServer(reason)
    this.forget(connection)
  }

  forget(connection: Connection): void {
    if (connection.streams.size === 0 && connection.state === "closed") connection.pair.connections.delete(connection)
  }

  // Faults.

  inject(fault: NetworkFault): void {
    switch (fault._tag) {
      case "Slow": {
        const slow = { latency: fault.latency, jitter: fault.jitter }
        const all = this.slow.get(fault.client) ?? []
        this.slow.set(fault.client, all)
        all.push(slow)
        this.time.schedule(fault.for, () => void all.splice(all.indexOf(slow), 1))
        return
      }
      case "Reset":
        return this.reset(this.pairOf(fault.client, fault.server), fault.delivery)
      case "HalfOpen":
        return this.halfOpen(this.pairOf(fault.client, fault.server), fault.believes)
      case "SlowReader": {
        const { client } = fault
        this.holds.set(client, (this.holds.get(client) ?? 0) + 1)
        this.time.schedule(fault.for, () => {
          this.holds.set(client, (this.holds.get(client) ?? 1) - 1)
          for (const stream of Array.from(this.streams)) if (stream.name.client === client) stream.read()
        })
        return
      }
      case "Partition": {
        for (const client of fault.clients) this.partition(this.pairOf(client, fault.server), fault.for)
        return
      }
    }
  }

  private reset(pair: Pair, delivery: "before" | "after"): void {
    for (const connection of Array.from(pair.connections)) {
      if (connection.isLost) continue
      if (pair.connection === connection) pair.connection = undefined
      // At once for both sides, or when everything arrived.
      const end = (): void => {
        if (delivery === "after" && Array.from(connection.streams).some((stream) => stream.isMoving)) {
          this.time.schedule(10, end)
          return
        }
        connection.isLost = true
        this.closeServerSide(connection, "connection reset")
        this.closeClientSide(connection, "connection reset")
      }
      for (const stream of connection.streams) stream.isEnding = delivery === "after"
      this.time.schedule(0, end)
    }
  }

  private halfOpen(pair: Pair, believes: "client" | "server"): void {
    for (const connection of Array.from(pair.connections)) {
      if (connection.isLost) continue
      connection.isLost = true
      const [now, later] =
        believes === "client"
          ? [this.closeServerSide.bind(this), this.closeClientSide.bind(this)]
          : [this.closeClientSide.bind(this), this.closeServerSide.bind(this)]
      this.time.schedule(0, () => now(connection, "connection reset"))
      this.time.schedule(this.options.keepalive, () => later(connection, "keepalive: nothing gets through"))
    }
  }

  private partition(pair: Pair, duration: number): void {
    const { keepalive } = this.options
    pair.cuts++
    for (const connection of Array.from(pair.connections)) {
      if (duration < keepalive) continue
      this.time.schedule(keepalive, () => {
        if (connection.isLost || connection.state !== "open") return
        connection.isLost = true
        this.closeClientSide(connection, "keepalive: nothing gets through")
        this.closeServerSide(connection, "keepalive: nothing gets through")
      })
    }
    this.time.schedule(duration, () => {
      pair.cuts--
      if (pair.cuts > 0) return
      for (const connection of pair.connections) for (const stream of connection.streams) stream.resume()
    })
  }

  /** A client dies. */
  killClient(client: string): void {
    for (const pair of this.pairs.values()) {
      if (pair.client !== client) continue
      pair.connection = undefined
      for (const connection of Array.from(pair.connections)) {
        if (connection.isLost) continue
        connection.isLost = true
        const end = this.time.now() + this.options.keepalive
        const notice = (): void => {
          // While nothing gets through the server does not hear of it before its keepalive finds out.
          if (pair.cuts === 0 || this.time.now() >= end) this.closeServerSide(connection, "connection reset")
          else this.time.schedule(1_000, notice)
        }
        this.time.schedule(this.options.latency, notice)
        for (const stream of Array.from(connection.streams)) stream.port.end()
        connection.state = "closed"
        this.forget(connection)
      }
    }
  }

  /** A server dies. */
  kill(address: string): void {
    const host = this.hostOf(address)
    host.accept = undefined
    for (const pair of this.pairs.values()) {
      if (pair.server !== address) continue
      for (const connection of Array.from(pair.connections)) {
        connection.isLost = true
        const notice = (): void => {
          // Nobody is there to tell the client while nothing gets through.
          if (pair.cuts === 0 || connection.state === "closed") this.closeClientSide(connection, "connection reset")
          else this.time.schedule(1_000, notice)
        }
        this.time.schedule(this.options.latency, notice)
      }
    }
  }

  resourceOf(typeUrl: string, name: string, version: string, bytes: Uint8Array | undefined): TracedResource {
    if (bytes === undefined) return { name, fingerprint: "", version, refersTo: [] }
    const print = fingerprint(bytes)
    const key = `${typeUrl} ${name} ${print}`
    let refersTo = this.references.get(key)
    if (refersTo === undefined) {
      refersTo = Reference.of(typeUrl, name, bytes)
      // A cache, no more: begun anew when it is large.
      if (this.references.size >= 10_000) this.references.clear()
      this.references.set(key, refersTo)
    }
    return { name, fingerprint: print, version, refersTo }
  }

  responseOf(protocol: Protocol, bytes: Uint8Array): Message {
    const decoded = Either.getOrThrow(ClientResponse.decode(protocol, bytes))
    const { nonce, removed, resources, typeUrl, version } = decoded
    return {
      _tag: "Response",
      typeUrl,
      nonce,
      version,
      resources: resources.map(({ aliases, name, value, version }) => ({
        ...this.resourceOf(typeUrl, name === "" && value !== undefined ? (nameIn(value) ?? "") : name, version, value),
        ...(aliases.length === 0 ? {} : { aliases })
      })),
      removed
    }
  }
}

const nameIn = (bytes: Uint8Array): string | undefined => ResourceType.nameOfBytes(bytes)

const requestOf = (request: Request.Request): Message => {
  const { errorDetail, responseNonce: nonce, typeUrl } = request
  const error = errorDetail?.message
  return request._tag === "StateOfTheWorld"
    ? {
        _tag: "Request",
        typeUrl,
        nonce,
        version: request.versionInfo,
        names: request.resourceNames,
        unsubscribe: [],
        held: {},
        error
      }
    : {
        _tag: "Request",
        typeUrl,
        nonce,
        version: "",
        names: request.resourceNamesSubscribe,
        unsubscribe: request.resourceNamesUnsubscribe,
        held: Object.fromEntries(request.initialResourceVersions),
        error
      }
}

/** One stream, with both its sides. */
class SimulatedStream {
  private client: "opening" | "open" | "ended" = "opening"
  private server: "none" | "open" | "ended" = "none"
  private handler: ServerTransport.StreamHandler | undefined
  private readonly toServer: Array<InTransit> = []
  private readonly toClient: Array<InTransit> = []
  /** Arrived at the client, and not read: there is no credit. */
  private readonly inbox: Array<Parcel> = []
  private credit = 1
  private reading = false
  /** Responses that the client has not read yet. */
  private unread = 0
  private isBlocked = false
  /** The connection is about to break: nothing new gets through. */
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
      // What is malformed is found out by the server.
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
      this.settle()
    }
  }

  /** Gives the client what it has credit for. */
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
    this.settle()
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

  private write({ body, suffix }: ServerTransport.Outgoing): boolean {
    if (this.server !== "open") return false
    const bytes = new Uint8Array(body.byteLength + suffix.byteLength)
    bytes.set(body)
    bytes.set(suffix, body.byteLength)
    const message = this.network.responseOf(this.name.protocol, bytes)
    this.network.record({ _tag: "Sent", stream: this.name, message })
    this.unread++
    this.post(this.toClient, { _tag: "Message", bytes, message })
    this.isBlocked = this.unread >= this.network.options.window
    return !this.isBlocked
  }

  /** The server's host stops: gracefully, or it is dead already. */
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

  /** Whether it was open. */
  private endServer(reason: string): boolean {
    const wasOpen = this.server === "open"
    this.server = "ended"
    this.network.hostOf(this.name.server).streams.delete(this)
    if (wasOpen) this.network.record({ _tag: "Ended", stream: this.name, side: "server", reason })
    this.settle()
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

  // The way between.

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
    this.settle()
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

  /** The way is free again: what waited is on its way anew. */
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

  /** Forgotten when both sides know that it is over. */
  private settle(): void {
    if (this.client !== "ended" || this.server === "open") return
    if (this.server === "none" && this.toServer.length > 0 && !this.connection.isLost) return
    this.network.streams.delete(this)
    this.connection.streams.delete(this)
    this.network.forget(this.connection)
  }
}

const malformed: Message = {
  _tag: "Request",
  typeUrl: "",
  nonce: "",
  version: "",
  names: [],
  unsubscribe: [],
  held: {},
  error: "malformed"
}

/**
 * A network.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<typeof SimulatedNetwork.Service, never, SimulatedTime> =>
  Effect.map(SimulatedTime, (time) => {
    const network = new Network(time, { ...defaults, ...withoutUndefined(options) })

    const serverAt = (address: string): ServerTransport.Service => ({
      serve: (accept) =>
        Effect.acquireRelease(
          Effect.suspend(() => {
            const host = network.hostOf(address)
            if (host.accept !== undefined) {
              const reason = "another server serves there already"
              return Effect.fail(new ServerTransport.ServerTransportError({ address, reason }))
            }
            host.accept = accept
            network.record({ _tag: "Started", host: address, group: undefined })
            return Effect.succeed(address)
          }),
          () =>
            Effect.sync(() => {
              const host = network.hostOf(address)
              // A server that died may have a successor already.
              if (host.accept === accept) host.accept = undefined
              network.record({ _tag: "Stopped", host: address })
              // Whoever comes now must connect anew.
              for (const pair of network.pairs.values()) if (pair.server === address) pair.connection = undefined
              for (const stream of Array.from(host.streams)) stream.stopServer()
            })
        )
    })

    const clientNamed = (client: string): ClientTransport.Service => ({
      connect: ({ address }) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const streams = new Set<SimulatedStream>()
            return {
              streams,
              open: (method: ClientTransport.Method, handler: ClientTransport.StreamHandler) => {
                const { protocol, typeUrl } = method
                const id = ++network.lastStream
                const stream = new SimulatedStream(network, { id, client, server: address, protocol, typeUrl }, handler)
                for (const each of streams) if (!network.streams.has(each)) streams.delete(each)
                streams.add(stream)
                return stream.port
              }
            }
          }),
          ({ streams }) => Effect.sync(() => streams.forEach((stream) => stream.port.end()))
        )
    })

    return {
      serverAt,
      clientNamed,
      inject: (fault) => Effect.sync(() => network.inject(fault)),
      kill: (address) => Effect.sync(() => network.kill(address)),
      killClient: (name) => Effect.sync(() => network.killClient(name)),
      underWay: () => Array.from(network.streams).reduce((sum, stream) => sum + stream.size, 0),
      openStreams: () => network.streams.size,
      messages: () => network.messages,
      lastActivity: () => network.lastActivity,
      trace: () => network.events,
      traced: ({ aliases, name, ttl, typeUrl, value, version }) => ({
        ...network.resourceOf(typeUrl, name, version, value),
        ...(aliases.length === 0 ? {} : { aliases }),
        ...(ttl === undefined ? {} : { ttl })
      }),
      record: (event) => network.record(event),
      unrecorded: () => network.unrecorded
    }
  })

const withoutUndefined = (options: Options): Partial<Settled> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/**
 * A network, and on it the ports of one server, whose address is `server`, and of one client, named `client`. For more
 * of them see {@link server} and {@link client}.
 *
 * @since 0.1.0
 */
export const layer = (
  options: Options = {}
): Layer.Layer<
  SimulatedNetwork | ServerTransport.ServerTransport | ClientTransport.ClientTransport,
  never,
  SimulatedTime
> =>
  Layer.merge(server("server"), client("client")).pipe(
    Layer.provideMerge(Layer.effect(SimulatedNetwork, make(options)))
  )

/**
 * The port of a server at an address.
 *
 * @since 0.1.0
 */
export const server = (address: string): Layer.Layer<ServerTransport.ServerTransport, never, SimulatedNetwork> =>
  Layer.effect(
    ServerTransport.ServerTransport,
    Effect.map(SimulatedNetwork, (network) => network.serverAt(address))
  )

/**
 * The port of a client with a name.
 *
 * @since 0.1.0
 */
export const client = (name: string): Layer.Layer<ClientTransport.ClientTransport, never, SimulatedNetwork> =>
  Layer.effect(
    ClientTransport.ClientTransport,
    Effect.map(SimulatedNetwork, (network) => network.clientNamed(name))
  )
