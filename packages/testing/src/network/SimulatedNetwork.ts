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
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Network from "../internal/Network.js"
import { SimulatedStream } from "../internal/SimulatedStream.js"
import type { Event, Trace, TracedResource } from "../invariants/Trace.js"
import { SimulatedTime } from "../simulation/SimulatedTime.js"
import type { NetworkFault } from "./Fault.js"

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

const defaults: Network.Settings = {
  seed: 0,
  latency: 5,
  jitter: 10,
  connectTimeout: 20_000,
  keepalive: 40_000,
  window: 2,
  maxRequests: 1_000,
  maxEvents: 1_000_000
}

/**
 * A network.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<typeof SimulatedNetwork.Service, never, SimulatedTime> =>
  Effect.map(SimulatedTime, (time) => {
    const network = new Network.Network(time, { ...defaults, ...withoutUndefined(options) })

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
        ...network.tracer.resourceOf(typeUrl, name, version, value),
        ...(aliases.length === 0 ? {} : { aliases }),
        ...(ttl === undefined ? {} : { ttl })
      }),
      record: (event) => network.record(event),
      unrecorded: () => network.unrecorded
    }
  })

const withoutUndefined = (options: Options): Partial<Network.Settings> =>
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
