/**
 * Serves xDS on one port: gRPC, gRPC-Web and Connect, over HTTP/2 and HTTP/1.1, with or without TLS.
 *
 * gRPC streams, which Envoy and gRPC clients open, are served on bare HTTP/2 streams; everything else goes through
 * Connect. Beside xDS it serves health checking (`grpc.health.v1`, SERVING until the server shuts down), server
 * reflection, and further services of an application. It listens itself, or serves requests of an existing HTTP server.
 *
 * Its timers are real ones and not those of Effect's `Clock`: they guard real sockets.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import { BadOption, ServerTransport, Status } from "@effect-xds/transport"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as ServerTls from "@effect-xds/transport-node/ServerTls"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Http1 from "node:http"
import type * as Http2 from "node:http2"
import { ConnectApp } from "./ConnectApp.js"
import { Application } from "./server/Application.js"
import { Connections, type Limits } from "./server/Connections.js"
import { refuse } from "./server/GrpcStream.js"
import { Mounted, pathOf } from "./server/Mounted.js"
import * as Mounting from "./server/Mounting.js"
import { PeerLog } from "./server/PeerLog.js"
import * as Settings from "./server/Settings.js"

export type { AppOptions } from "./server/Settings.js"

/**
 * TLS options of the server.
 *
 * @since 0.1.0
 */
export type TlsOptions = ServerTls.TlsOptions

/**
 * An existing HTTP server: of `node:http2` (with or without TLS), `node:http` or `node:https`.
 *
 * @since 0.1.0
 */
export type HttpServer = Mounting.HttpServer

/**
 * Pings, which detect connections that were lost silently. A connection that is over, but left open by its client, is
 * closed after one or two intervals.
 *
 * @since 0.1.0
 */
export interface KeepaliveOptions {
  /** The time between pings. Default: 30 seconds. */
  readonly interval?: Duration.DurationInput | undefined
  /**
   * How long nothing at all may come after a ping before the connection is ended. A pause of this process counts as a
   * tenth of it at most. Default: 10 seconds.
   */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * Options for listening and serving. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options extends Settings.AppOptions, ListenAddress.Options {
  /**
   * An existing HTTP server to serve in. It listens itself and has its own TLS, limits and keepalive; so `host`,
   * `port`, `path`, `tls` and the connection options here are ignored. Calls of this transport are taken before the
   * server's own handlers, which get all others. Give a `node:http2` server a `maxSessionMemory` of some hundred
   * megabytes: Node counts a shared response once per stream.
   */
  readonly server?: HttpServer | undefined
  /** TLS 1.2 or newer. Default: no TLS. Not used on a Unix socket, which its permissions protect. */
  readonly tls?: TlsOptions | undefined
  /**
   * The most open connections. For one more, the oldest idle connection is closed: HTTP/2 without a stream, HTTP/1.1
   * between requests, or one before its first bytes. If none is idle, the new one is closed. Default 10 000.
   */
  readonly maxConnections?: number | undefined
  /**
   * The most open connections from one IP address, with the same rule. Default: as `maxConnections`, since all clients
   * may come through one load balancer.
   */
  readonly maxConnectionsPerPeer?: number | undefined
  /**
   * Whether HTTP/1.1 is served beside HTTP/2: browsers and other clients of gRPC-Web and Connect may need it, gRPC and
   * Envoy do not. Without it a client with a connection of its own costs a tenth less, since nobody has to look which
   * protocol it speaks, and one that speaks HTTP/1.1 is disconnected. Default `true`.
   */
  readonly http1?: boolean | undefined
  /** How long an HTTP/2 connection is kept without a stream. Default: 5 minutes. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /**
   * The most open streams on one connection (SETTINGS_MAX_CONCURRENT_STREAMS); above it clients wait or connect again.
   * Default 1000.
   */
  readonly maxConnectionStreams?: number | undefined
  readonly keepalive?: KeepaliveOptions | undefined
  /**
   * How long a new connection may take for its TLS handshake and first bytes (of HTTP/2 its settings, too), and
   * HTTP/1.1 for the head of a request; also the request of a call, unless `requestTimeout` is set. Default: 10 seconds.
   */
  readonly handshakeTimeout?: Duration.DurationInput | undefined
}

/** SETTINGS_MAX_CONCURRENT_STREAMS has four bytes, and Node throws at the first client if it is given more. */
const connectionStreams = (given: number): number => Math.max(1, Math.min(given, 2 ** 32 - 1))

const limitsOf = (options: Options, shutdownGrace: number): Limits => {
  const maxConnections = options.maxConnections ?? 10_000
  return {
    maxConnections,
    maxConnectionsPerPeer: options.maxConnectionsPerPeer ?? maxConnections,
    maxConnectionStreams: connectionStreams(options.maxConnectionStreams ?? 1000),
    idleTimeout: Milliseconds.of(options.idleTimeout, "5 minutes"),
    handshakeTimeout: Milliseconds.of(options.handshakeTimeout, "10 seconds"),
    shutdownGrace,
    keepalive: {
      interval: Milliseconds.of(options.keepalive?.interval, "30 seconds"),
      timeout: Milliseconds.of(options.keepalive?.timeout, "10 seconds")
    }
  }
}

type Accept = (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler

type Failure = ServerTransport.ServerTransportError

/** Makes the application; `services` is user code and may throw. */
const application = (
  settings: Settings.Settings,
  accept: Accept,
  address: string,
  path: string | undefined
): Effect.Effect<{ readonly application: Application; readonly log: PeerLog }, Failure> =>
  Effect.flatMap(Effect.runtime(), (runtime) =>
    Effect.try({
      try: () => {
        const log = new PeerLog(runtime)
        return { application: new Application(settings, accept, runtime, log, path), log }
      },
      catch: (cause) => {
        const reason = `its services cannot be added: ${Reason.of(cause)}`
        return new ServerTransport.ServerTransportError({ address, reason })
      }
    })
  )

const listening = (options: Options, accept: Accept): Effect.Effect<string, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const wanted = ListenAddress.of(options)
    const address = ListenAddress.show(wanted)
    const fail = (reason: string, cause?: string): Failure =>
      new ServerTransport.ServerTransportError({ address, reason, cause })
    if (options.tls !== undefined && wanted.path !== undefined) {
      return yield* fail("there is no TLS on a Unix socket: its permissions guard it")
    }
    const limits = {
      maxConnections: 0,
      maxConnectionsPerPeer: 0,
      maxConnectionStreams: -Infinity,
      idleTimeout: 0,
      handshakeTimeout: 0
    }
    const wrong =
      Settings.wrongWith(options) ??
      (
        BadOption.find(options, limits) ??
        BadOption.find(options.keepalive ?? {}, { interval: 0, timeout: 0 }, "keepalive")
      )?.message
    if (wrong !== undefined) return yield* fail(wrong)
    const credentials =
      options.tls === undefined
        ? undefined
        : yield* Effect.mapError(ServerTls.load(options.tls), ({ reason }) => fail(reason))
    const settings = Settings.of({ ...options, requestTimeout: options.requestTimeout ?? options.handshakeTimeout })
    const server = yield* Effect.acquireRelease(
      Effect.map(
        application(settings, accept, address, wanted.path),
        ({ application, log }) =>
          new Connections(
            limitsOf(options, settings.shutdownGrace),
            credentials,
            wanted,
            application,
            log,
            options.http1 ?? true
          )
      ),
      (server) => Effect.promise(() => server.close())
    )
    if (options.tls !== undefined && credentials !== undefined) {
      yield* ServerTls.watch(options.tls, credentials, server.reload)
    }
    return ListenAddress.show(
      yield* Effect.mapError(server.listen(), (cause) => fail(ListenAddress.reasonOf(cause), Reason.of(cause)))
    )
  })

const checked = (options: Settings.AppOptions, address: string): Effect.Effect<void, Failure> => {
  const reason = Settings.wrongWith(options)
  return reason === undefined ? Effect.void : new ServerTransport.ServerTransportError({ address, reason })
}

const mounted = (
  settings: Settings.Settings,
  accept: Accept,
  address: string
): Effect.Effect<Mounted, Failure, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(
      application(settings, accept, address, undefined),
      ({ application }) => new Mounted(application, settings.shutdownGrace)
    ),
    (mounted) => mounted.close
  )

/** The address in words. */
const addressOf = (server: HttpServer): string => {
  const address = server.address()
  if (address === null) return "the HTTP server it is mounted in"
  return typeof address === "string" ? `unix:${address}` : ListenAddress.format(address.address, address.port)
}

const inServer = (server: HttpServer, options: Options, accept: Accept): Effect.Effect<string, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const address = addressOf(server)
    yield* checked(options, address)
    const handlers = yield* mounted(Settings.of(options), accept, address)
    yield* Effect.acquireRelease(
      Effect.sync(() => Mounting.mount(server, handlers)),
      (unmount) => Effect.sync(unmount)
    )
    return address
  })

/**
 * The transport. Each `serve` listens on the address of the options. It fails for a port that is in use or not allowed,
 * unusable TLS files, limits that are negative or NaN, and services that cannot be added.
 *
 * When the scope closes, no connection is accepted any more, every stream ends with UNAVAILABLE, connections get
 * GOAWAY,
 * and the rest is destroyed after `shutdownGrace`.
 *
 * Refusals: UNIMPLEMENTED for an unknown path or a compression other than gzip, RESOURCE_EXHAUSTED for too many streams
 * or a message over the limit, INTERNAL for bytes that are no request.
 *
 * A JSON request may not hold a `google.protobuf.Any` of a type that was never loaded; a response may. The deadline of
 * a gRPC stream (`grpc-timeout`) is left to the client, which ends the stream, and so is one of any call that is more
 * than 24 days away.
 *
 * The headers of a stream are those of the HTTP request without pseudo headers; `:authority` is passed as `host`.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): ServerTransport.Service => ({
  serve: (accept) =>
    options.server === undefined ? listening(options, accept) : inServer(options.server, options, accept)
})

/**
 * The transport as a layer.
 *
 * @example
 * import { ConnectServer } from "@effect-xds/transport-connect"
 *
 * const transport = ConnectServer.layer({ host: "0.0.0.0", port: 18000 })
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<ServerTransport.ServerTransport> =>
  Layer.succeed(ServerTransport.ServerTransport, make(options))

/**
 * The transport with options from a `ConfigProvider`, by default environment variables.
 *
 * @example
 * import { ConnectServer } from "@effect-xds/transport-connect"
 * import { Config } from "effect"
 *
 * const transport = ConnectServer.layerConfig({
 *   host: Config.withDefault(Config.string("XDS_HOST"), "127.0.0.1"),
 *   port: Config.port("XDS_PORT"),
 *   tls: { cert: Config.string("XDS_TLS_CERT"), key: Config.string("XDS_TLS_KEY") }
 * })
 *
 * @since 0.1.0
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ServerTransport.ServerTransport, ConfigError> =>
  Layer.effect(ServerTransport.ServerTransport, Effect.map(Config.unwrap(config), make))

const notServing = Status.make("UNAVAILABLE", "the control plane does not serve")

/**
 * The transport for an existing HTTP server. The server on this transport serves the requests passed to {@link
 * ConnectApp}. Only one server at a time can use it.
 *
 * @example
 * import { ConnectApp, ConnectServer } from "@effect-xds/transport-connect"
 * import { Effect } from "effect"
 * import { createServer } from "node:http"
 *
 * const transport = ConnectServer.layerApp()
 * const program = Effect.map(ConnectApp.ConnectApp, (app) =>
 *   createServer((request, response) => {
 *     if (!app.onRequest(request, response)) response.writeHead(404).end()
 *   })
 * )
 *
 * @since 0.1.0
 */
export const layerApp = (
  options: Settings.AppOptions = {}
): Layer.Layer<ConnectApp | ServerTransport.ServerTransport, Failure> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const address = "the HTTP server it is mounted in"
      yield* checked(options, address)
      const settings = Settings.of(options)
      let serving: Mounted | undefined
      // Only to know the paths of its calls; it serves nothing.
      const closed = yield* application(settings, () => noHandler, address, undefined)
      const serve: ServerTransport.Service["serve"] = (accept) =>
        Effect.gen(function* () {
          if (serving !== undefined) {
            const reason = "another server serves on it; each needs a transport of its own"
            return yield* new ServerTransport.ServerTransportError({ address, reason })
          }
          const handlers = yield* mounted(settings, accept, address)
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              serving = handlers
            }),
            () =>
              Effect.sync(() => {
                serving = undefined
              })
          )
          return address
        })
      const app: Context.Tag.Service<ConnectApp> = {
        onStream: (stream, headers, flags, rawHeaders) => {
          if (serving !== undefined) return serving.onStream(stream, headers, flags, rawHeaders)
          if (!closed.application.has(headers[":path"] ?? "")) return false
          if (!stream.destroyed && !stream.closed) refuse(stream, notServing)
          return true
        },
        onRequest: (request, response) => {
          if (serving !== undefined) return serving.onRequest(request, response)
          if (!closed.application.has(pathOf(request))) return false
          const answer: Http1.ServerResponse | Http2.Http2ServerResponse = response
          answer.writeHead(503, { "content-type": "text/plain; charset=utf-8" })
          answer.end(`${notServing.message}\n`)
          return true
        }
      }
      return Context.make(ServerTransport.ServerTransport, { serve }).pipe(Context.add(ConnectApp, app))
    })
  )

const noHandler: ServerTransport.StreamHandler = {
  onRequest: () => undefined,
  onWritable: () => undefined,
  onEnd: () => undefined
}
