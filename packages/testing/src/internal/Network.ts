/**
 * The hosts of a simulated network, the connections between them, and the effects of faults.
 */
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import type { PCGRandom } from "effect/Utils"
import type { Event, Unstamped } from "../invariants/Trace.js"
import type { NetworkFault } from "../network/Fault.js"
import type { SimulatedTime } from "../simulation/SimulatedTime.js"
import type { SimulatedStream } from "./SimulatedStream.js"
import { MessageTracer } from "./TracedMessage.js"

/** A connection as both sides see it. `isLost`: nothing gets through any more, for good. */
export interface Connection {
  readonly pair: Pair
  state: "connecting" | "open" | "closed"
  isLost: boolean
  readonly streams: Set<SimulatedStream>
}

/** A client and a server. */
interface Pair {
  readonly client: string
  readonly server: string
  /** The connection for new streams. */
  connection: Connection | undefined
  /** All connections, including those that only the server believes to be open. */
  readonly connections: Set<Connection>
  /** Number of partitions between the two. */
  cuts: number
  streams: number
}

interface ServerHost {
  accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
  readonly streams: Set<SimulatedStream>
}

/** `SimulatedNetwork.Options` with their defaults. */
export interface Settings {
  readonly seed: number | string
  readonly latency: number
  readonly jitter: number
  readonly connectTimeout: number
  readonly keepalive: number
  readonly window: number
  readonly maxRequests: number
  readonly maxEvents: number
}

/** The state of a simulated network. */
export class Network {
  readonly pairs = new Map<string, Pair>()
  readonly servers = new Map<string, ServerHost>()
  readonly slow = new Map<string, Array<{ readonly latency: number; readonly jitter: number }>>()
  /** By client: number of faults that keep it from reading. */
  readonly holds = new Map<string, number>()
  readonly events: Array<Event> = []
  readonly streams = new Set<SimulatedStream>()
  unrecorded = 0
  messages = 0
  lastActivity = 0
  lastStream = 0
  readonly tracer = new MessageTracer()

  constructor(
    readonly time: typeof SimulatedTime.Service,
    readonly options: Settings
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

  /** The connection for a new stream: the open one, or a new one. */
  connect(pair: Pair, random: PCGRandom): Connection {
    if (pair.connection !== undefined) return pair.connection
    const connection: Connection = { pair, state: "connecting", isLost: false, streams: new Set() }
    pair.connection = connection
    pair.connections.add(connection)
    const deadline = this.time.now() + this.options.connectTimeout
    const attempt = (): void => {
      if (connection.state !== "connecting") return
      if (pair.cuts > 0) {
        // Retries until it gets through, or the timeout.
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

  /** The client notices the loss of the connection. */
  closeClientSide(connection: Connection, reason: string): void {
    connection.state = "closed"
    if (connection.pair.connection === connection) connection.pair.connection = undefined
    for (const stream of Array.from(connection.streams)) stream.failClient(reason)
    this.forget(connection)
  }

  /** The server notices the loss of the connection. */
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
      // Both sides lose it: at once, or when everything has arrived.
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

  /** Kills a client. */
  killClient(client: string): void {
    for (const pair of this.pairs.values()) {
      if (pair.client !== client) continue
      pair.connection = undefined
      for (const connection of Array.from(pair.connections)) {
        if (connection.isLost) continue
        connection.isLost = true
        const end = this.time.now() + this.options.keepalive
        const notice = (): void => {
          // While nothing gets through, the server notices only by keepalive.
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

  /** Kills a server. */
  kill(address: string): void {
    const host = this.hostOf(address)
    host.accept = undefined
    for (const pair of this.pairs.values()) {
      if (pair.server !== address) continue
      for (const connection of Array.from(pair.connections)) {
        connection.isLost = true
        const notice = (): void => {
          // While nothing gets through, the client is not notified.
          if (pair.cuts === 0 || connection.state === "closed") this.closeClientSide(connection, "connection reset")
          else this.time.schedule(1_000, notice)
        }
        this.time.schedule(this.options.latency, notice)
      }
    }
  }
}
