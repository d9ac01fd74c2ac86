/**
 * A network in one process, between any number of clients and servers. It implements both ports of the transport, so
 * `XdsServer` and `XdsClient` run on it unchanged. Messages pass through the real codecs and take time. Connections fail as a
 * {@link Faults.NetworkFault} says. All randomness comes from one seed.
 *
 * Faults have the effects that TCP and gRPC give them. Within a stream no message is reordered, doubled or lost: it arrives
 * after all messages before it, or the stream ends. Keepalive detects a connection through which nothing gets.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Network from "../internal/Network.js"
import { SimulatedStream } from "../internal/SimulatedStream.js"
import type { StreamName, Trace, TracedResource, Unstamped } from "../invariants/Trace.js"
import { SimulatedTime } from "../simulation/SimulatedTime.js"
import * as Faults from "./Fault.js"

/**
 * The properties of a network without faults. Times are milliseconds.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Seed of random latencies. Default: 0. */
  readonly seed?: number | string | undefined
  /** Least latency of a message. Default: 5. */
  readonly latency?: number | undefined
  /** Most random latency added to it. Default: 10. */
  readonly jitter?: number | undefined
  /** Connect timeout of a client. Default: 20 000. */
  readonly connectTimeout?: number | undefined
  /** Keepalive: time until a side notices that nothing gets through. Default: 40 000. */
  readonly keepalive?: number | undefined
  /** Most responses of one stream that are on their way or not yet read. Default: 2. */
  readonly window?: number | undefined
  /** Most requests of one stream that are on their way. One more ends the stream. Default: 1 000. */
  readonly maxRequests?: number | undefined
  /** Most events in the trace. Later ones are only counted. Default: 1 000 000. */
  readonly maxEvents?: number | undefined
}

/**
 * The network, for observation and faults.
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
    /** Starts a fault, which ends by itself. Dies for a client or server that never was on the network, as do `kill` and `killClient`. */
    readonly inject: (fault: Faults.NetworkFault) => Effect.Effect<void>
    /** Kills a server: its clients lose their connections, and it has no further effect. */
    readonly kill: (address: string) => Effect.Effect<void>
    /** Kills a client: its servers lose their connections, and it has no further effect. */
    readonly killClient: (name: string) => Effect.Effect<void>
    /** Number of messages that are on their way or not yet read. */
    readonly underWay: () => number
    /** The stream that a server handles with this; `undefined`: it is over. */
    readonly streamOf: (handler: unknown) => StreamName | undefined
    /** Number of streams that at least one side has not ended. */
    readonly openStreams: () => number
    /** Number of messages sent and received so far. */
    readonly messages: () => number
    /** Time of the last event of a stream. */
    readonly lastActivity: () => number
    /** The trace so far. */
    readonly trace: () => Trace
    /** A resource in the form of traces. */
    readonly traced: (
      resource: Pick<Resource, "typeUrl" | "name" | "version" | "value" | "aliases" | "ttl">
    ) => TracedResource
    /** Adds an event to the trace, at the current time. */
    readonly record: (event: Unstamped) => void
    /** Number of events that did not fit into the trace. */
    readonly unrecorded: () => number
  }
>() {}

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

/** The least that options may be. */
const least = {
  latency: 0,
  jitter: 0,
  connectTimeout: 0,
  keepalive: 0,
  window: 0,
  maxRequests: 0,
  maxEvents: 0
} as const

/**
 * A network.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<typeof SimulatedNetwork.Service, never, SimulatedTime> =>
  Effect.map(Effect.zipRight(BadOption.check(options, least), SimulatedTime), (time) => {
    const network = new Network.Network(time, { ...defaults, ...withoutUndefined(options) })

    const clients = new Set<string>()
    /** Those that serve, or were asked for. */
    const servers = new Set<string>()
    /** Dies for a machine that is not there: a fault without effect would let a test pass. */
    const known = (named: { readonly clients?: ReadonlyArray<string>; readonly servers?: ReadonlyArray<string> }) =>
      Effect.suspend(() => {
        const client = named.clients?.find((name) => !clients.has(name))
        if (client !== undefined) return Effect.die(new NoSuchMachine("client", client, clients))
        const server = named.servers?.find((address) => !servers.has(address))
        return server === undefined ? Effect.void : Effect.die(new NoSuchMachine("server", server, servers))
      })

    const portOf = (address: string): ServerTransport.Service => ({
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
              // A dead server may have a successor already.
              if (host.accept === accept) host.accept = undefined
              network.record({ _tag: "Stopped", host: address })
              // New streams need a new connection.
              for (const pair of network.pairs.values()) if (pair.server === address) pair.connection = undefined
              for (const stream of Array.from(host.streams)) stream.stopServer()
            })
        )
    })

    const portNamed = (client: string): ClientTransport.Service => ({
      connect: ({ address }) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            servers.add(address)
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
      serverAt: (address) => {
        servers.add(address)
        return portOf(address)
      },
      clientNamed: (name) => {
        clients.add(name)
        return portNamed(name)
      },
      inject: (fault) =>
        Effect.zipRight(
          known(Faults.hosts(fault)),
          Effect.sync(() => network.inject(fault))
        ),
      kill: (address) =>
        Effect.zipRight(
          known({ servers: [address] }),
          Effect.sync(() => network.kill(address))
        ),
      killClient: (name) =>
        Effect.zipRight(
          known({ clients: [name] }),
          Effect.sync(() => network.killClient(name))
        ),
      underWay: () => Array.from(network.streams).reduce((sum, stream) => sum + stream.size, 0),
      streamOf: (handler) => Array.from(network.streams).find((stream) => stream.isHandledBy(handler))?.name,
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

class NoSuchMachine extends Error {
  constructor(what: "client" | "server", name: string, there: ReadonlySet<string>) {
    const named = Array.from(there, (each) => JSON.stringify(each)).join(", ")
    super(
      `the simulated network has no ${what} ${JSON.stringify(name)}; it has ${named === "" ? "none" : named}. ` +
        (what === "client"
          ? "A client has the name of its port, not that of its node"
          : "A server has the address of its port")
    )
  }
}

const withoutUndefined = (options: Options): Partial<Network.Settings> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))

/**
 * A network with the ports of one server, at the address `server`, and of one client, named `client`. For more of them see
 * {@link server} and {@link client}.
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
