/** A control plane and servers on loopback, and what a client is told of them. */
import type { MessageInitShape } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import type { CallOptions, ConnectRouter } from "@connectrpc/connect"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { connectNodeAdapter } from "@connectrpc/connect-node"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import type { Cluster } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterSchema, Cluster_DiscoveryType } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  ClusterLoadAssignment_PolicySchema,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { RouteSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { Health, HealthCheckResponse_ServingStatus } from "@effect-xds/proto/grpc/health/v1/health"
import type { Resources } from "@effect-xds/server/Snapshot"
import { OnDemandHosts, SnapshotStore, XdsServer } from "@effect-xds/server"
import { GrpcListener, Waiting } from "@effect-xds/testing"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { expect } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Https from "node:https"
import type { Socket } from "node:net"
import * as Net from "node:net"
import { TLSSocket } from "node:tls"

export type RouteInit = MessageInitShape<typeof RouteSchema>

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

export const to = (
  cluster: string,
  match: RouteInit["match"] = { pathSpecifier: { case: "prefix", value: "" } }
): RouteInit => ({
  match,
  action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: cluster } } }
})

export const routes = (name: string, domains: ReadonlyArray<string>, ...of: ReadonlyArray<RouteInit>) =>
  create(RouteConfigurationSchema, { name, virtualHosts: [{ name, domains: [...domains], routes: [...of] }] })

export const cluster = (
  name: string,
  more: Omit<Exclude<MessageInitShape<typeof ClusterSchema>, Cluster>, "$typeName" | "$unknown"> = {}
) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: ads },
    ...more
  })

export interface LocalityInit {
  readonly zone?: string
  readonly priority?: number
  readonly weight?: number
  readonly ports: ReadonlyArray<number>
  readonly address?: string
  readonly hostname?: string
  readonly health?: HealthStatus
}

export const localities = (name: string, ...of: ReadonlyArray<LocalityInit>) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName: name,
    endpoints: of.map(
      ({
        address = "127.0.0.1",
        health = HealthStatus.UNKNOWN,
        hostname = "",
        ports,
        priority = 0,
        weight = 1,
        zone = `zone-${priority}`
      }) => ({
        priority,
        locality: { zone },
        loadBalancingWeight: weight,
        lbEndpoints: ports.map((port) => ({
          healthStatus: health,
          hostIdentifier: {
            case: "endpoint" as const,
            value: {
              hostname,
              address: {
                address: {
                  case: "socketAddress" as const,
                  value: { address, portSpecifier: { case: "portValue" as const, value: port } }
                }
              }
            }
          }
        }))
      })
    )
  })

export const endpoints = (name: string, ...ports: ReadonlyArray<number>) => localities(name, { ports })

/** To a cluster, and again where that is unavailable: three times, soon. */
export const retried = (
  cluster: string,
  match: RouteInit["match"] = { pathSpecifier: { case: "prefix", value: "" } }
): RouteInit => ({
  match,
  action: {
    case: "route",
    value: {
      clusterSpecifier: { case: "cluster", value: cluster },
      retryPolicy: { retryOn: "unavailable", numRetries: 3, retryBackOff: { baseInterval: { nanos: 1_000_000 } } }
    }
  }
})

/** A policy that drops so many of a hundred calls. */
export const dropping = (category: string, numerator: number) =>
  create(ClusterLoadAssignment_PolicySchema, { dropOverloads: [{ category, dropPercentage: { numerator } }] })

/** A service with one cluster, of the same name, at these ports. */
export const service = (name: string, ...ports: ReadonlyArray<number>): Resources => ({
  listeners: [GrpcListener.make(name)],
  routes: [routes(name, [name], to(name))],
  clusters: [cluster(name)],
  endpoints: [endpoints(name, ...ports)]
})

/** What a server saw of a call. */
interface Seen {
  readonly service: string
  readonly headers: Headers
  readonly timeout: number | undefined
  readonly authority: string
  /** The common name of the client's certificate; empty if there is none. */
  readonly peer: string
}

export interface Backend {
  readonly port: number
  readonly seen: Array<Seen>
  /** Connections that are open. */
  readonly connections: () => number
  /** Cuts all connections and listens no longer. */
  readonly kill: Effect.Effect<void>
  /** Says GOAWAY on all connections; closes those of HTTP/1.1 that are idle. */
  readonly goAway: () => void
}

export interface BackendOptions {
  readonly port?: number
  /** The path of a pipe, at which it listens instead; its port is 0. */
  readonly path?: string
  /** What it does at a call, before it answers. */
  readonly onCheck?: (service: string, signal: AbortSignal, headers: Headers) => Promise<void> | void
  /** HTTP/1.1 alone. */
  readonly http1?: boolean
  /** It asks for a certificate, and wants one of this authority. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string }
}

/**
 * A server of the health service: `Check` answers SERVING, and `Watch` as often as the name of the service says, all but
 * the first when `more` is called.
 */
export const backend = (options: BackendOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Backend> => {
      const seen: Array<Seen> = []
      const status = HealthCheckResponse_ServingStatus.SERVING
      const routesOf = (router: ConnectRouter) =>
        router.service(Health, {
          check: async ({ service }, { requestHeader, responseHeader, signal, timeoutMs }) => {
            seen.push({ service, headers: requestHeader, timeout: timeoutMs(), ...last })
            responseHeader.set("port", String(port))
            await options.onCheck?.(service, signal, requestHeader)
            return { status }
          },
          async *watch({ service }, { requestHeader, responseHeader, signal, timeoutMs }) {
            seen.push({ service, headers: requestHeader, timeout: timeoutMs(), ...last })
            responseHeader.set("port", String(port))
            await options.onCheck?.(service, signal, requestHeader)
            for (let index = 0; index < Number(service); index++) {
              yield { status }
              await new Promise((resolve) => setTimeout(resolve, 1))
            }
          }
        })
      const adapter = connectNodeAdapter({ routes: routesOf })
      // The codec does not tell them; the handler of a call is called within that of its request.
      let last = { authority: "", peer: "" }
      const handler = (request: Http2.Http2ServerRequest, response: Http2.Http2ServerResponse) => {
        const { socket } = request.stream.session ?? {}
        const peer = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : ""
        last = { authority: request.authority, peer: String(peer) }
        adapter(request, response)
      }
      const sessions = new Set<Http2.ServerHttp2Session>()
      const sockets = new Set<Socket>()
      const server =
        options.http1 === true
          ? options.tls === undefined
            ? Http.createServer(adapter)
            : Https.createServer({ ...options.tls, requestCert: true, rejectUnauthorized: true }, adapter)
          : options.tls === undefined
            ? Http2.createServer(handler)
            : Http2.createSecureServer({ ...options.tls, requestCert: true, rejectUnauthorized: true }, handler)
      // Idle connections of HTTP/1.1 are the client's to end.
      if ("keepAliveTimeout" in server) server.keepAliveTimeout = 0
      server.on("connection", (socket: Socket) => {
        sockets.add(socket)
        socket.once("close", () => sockets.delete(socket))
      })
      server.on("session", (session: Http2.ServerHttp2Session) => {
        sessions.add(session)
        session.on("error", () => undefined)
        session.once("close", () => sessions.delete(session))
      })
      const { path } = options
      const where = path === undefined ? { port: options.port ?? 0, host: "127.0.0.1" } : { path }
      await new Promise<void>((resolve) => server.listen(where, resolve))
      const listening = server.address()
      const port = typeof listening === "object" && listening !== null ? listening.port : 0
      return {
        port,
        seen,
        connections: () => sockets.size,
        kill: Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              // Of a pipe there is no reset.
              for (const socket of sockets) {
                if (options.path === undefined) socket.resetAndDestroy()
                else socket.destroy()
              }
            })
        ),
        goAway: () => {
          if ("closeIdleConnections" in server) server.closeIdleConnections()
          for (const session of sessions) session.goaway(0)
        }
      }
    }),
    ({ kill }) => kill
  )

/** A server that takes connections and says nothing. */
export const silent = Effect.acquireRelease(
  Effect.promise(async () => {
    const sockets = new Set<Socket>()
    const server = Net.createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => undefined)
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const listening = server.address()
    const port = typeof listening === "object" && listening !== null ? listening.port : 0
    return { server, sockets, port }
  }),
  ({ server, sockets }) =>
    Effect.promise(
      () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve())
          for (const socket of sockets) socket.destroy()
        })
    )
)

/** Where the control plane listens. */
export class ControlPlane extends Context.Tag("ControlPlane")<
  ControlPlane,
  { readonly address: string; readonly set: (resources: Resources) => Effect.Effect<void> }
>() {}

/** @param resolve makes virtual hosts that are asked for */
export const controlPlane = (port = 0, resolve: OnDemandHosts.Options["resolve"] = () => Effect.succeed(undefined)) =>
  Layer.effect(
    ControlPlane,
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const { address } = yield* XdsServer.XdsServer
      return { address, set: (resources) => Effect.orDie(Effect.asVoid(store.set("edge", resources))) }
    })
  ).pipe(
    Layer.provideMerge(
      Layer.scoped(
        XdsServer.XdsServer,
        Effect.gen(function* () {
          const hosts = yield* OnDemandHosts.make({ resolve })
          const server = yield* XdsServer.make({ group: () => "edge", onMissing: hosts.onMissing })
          yield* hosts.attach(server)
          return server
        })
      )
    ),
    Layer.provide(ConnectServer.layer({ port, shutdownGrace: 0 })),
    Layer.provideMerge(SnapshotStore.layerMemory())
  )

/** Channels of a client of a control plane at an address. */
export const channelsOf = (address: string, options: XdsChannels.Options = {}) => {
  const bootstrap = Bootstrap.make({ servers: [address], node: { id: "app-1", cluster: "edge" } })
  return XdsChannels.layer({ bootstrap, ...options }).pipe(
    Layer.provide(XdsClient.layer({ bootstrap, protocol: "Incremental" })),
    Layer.provide(ConnectClient.layer())
  )
}

/** A client of the health service through xDS. */
export const checker = (target = "xds:///shop", options: Partial<XdsTransport.Options> = {}) =>
  Effect.map(XdsTransport.make({ target, ...options }), (transport) => createClient(Health, transport))

type Checker = Effect.Effect.Success<ReturnType<typeof checker>>

/** The error of a call that fails. */
export const failure = (call: () => Promise<unknown>) =>
  Effect.flip(Effect.tryPromise({ try: call, catch: (cause) => ConnectError.from(cause) }))

/** Kills a server that holds a call, which ends with words about the connection. */
export const lostWhileHeld = (client: Checker, server: Backend) =>
  Effect.gen(function* () {
    const kill = Effect.zipRight(
      Waiting.eventually(() => expect(server.seen.at(-1)?.service).toBe("hold")),
      server.kill
    )
    const lost = failure(() => client.check({ service: "hold" }))
    const [error] = yield* Effect.all([lost, kill], { concurrency: 2 })
    expect(error.code).toBe(Code.Unavailable)
    expect(error.rawMessage).toMatch(`the connection to 127.0.0.1:${server.port} was lost: `)
  })

/** Calls, one after the other, until they are told to end: how many there were. None may fail. */
export const calling = (client: Checker) => {
  let isDone = false
  const load = Effect.promise(async () => {
    let calls = 0
    while (!isDone) {
      await client.check({})
      calls++
    }
    return calls
  })
  return { load, end: Effect.sync(() => void (isDone = true)) }
}

/** The port that answers a call. */
export const portOf = (client: Checker, service = "", options: CallOptions = {}) =>
  Effect.promise(async () => {
    let port = 0
    await client.check({ service }, { ...options, onHeader: (header) => (port = Number(header.get("port"))) })
    return port
  })

/** All that comes of a stream. */
export const all = async <A>(stream: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for await (const each of stream) found.push(each)
  return found
}

/** How many of so many calls each port answers. */
export const counts = (client: Checker, calls: number, options: CallOptions = {}) =>
  Effect.map(
    Effect.all(
      Array.from({ length: calls }, () => portOf(client, "", options)),
      { concurrency: 20 }
    ),
    (ports) => {
      const found = new Map<number, number>()
      for (const port of ports) found.set(port, (found.get(port) ?? 0) + 1)
      return found
    }
  )

/** Waits until calls are answered by these ports, all of them and no others. */
export const answeredBy = (client: Checker, ...ports: ReadonlyArray<number>) =>
  Waiting.until(
    `answers of ${ports.join(", ")} alone`,
    Effect.map(counts(client, 2 * ports.length), (found) => Array.from(found.keys()).sort((a, b) => a - b)),
    (found) => found.join() === [...ports].sort((a, b) => a - b).join()
  )

export const quiet = Logger.minimumLogLevel(LogLevel.Error)

/** A control plane and channels of a client of it, with all that they log. */
export const loud = (options: XdsChannels.Options = {}) =>
  Layer.unwrapEffect(Effect.map(ControlPlane, ({ address }) => channelsOf(address, options))).pipe(
    Layer.provideMerge(controlPlane())
  )

/** The same, with errors alone. */
export const meshOf = (options: XdsChannels.Options = {}) => loud(options).pipe(Layer.provide(quiet))

/** The same by the rules of gRPC. */
export const mesh = meshOf()
