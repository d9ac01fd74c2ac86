/**
 * Serves xDS over REST: clients POST what they want and have to `/v3/discovery:clusters` and the like, and are answered
 * with a `DiscoveryResponse`, or with 304 when nothing changed. It listens for itself ({@link layer}), or is mounted in an
 * HTTP application of one's own ({@link layerApp}).
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "REST-JSON polling subscriptions"
 * @since 0.1.0
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as ListenAddress from "@effect-xds/transport/ListenAddress"
import * as ServerTls from "@effect-xds/transport/ServerTls"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Http from "node:http"
import * as Https from "node:https"
import * as DiscoveryApp from "./internal/DiscoveryApp.js"
import * as Refusal from "./internal/Refusal.js"
import * as RestServerMetrics from "./RestServerMetrics.js"

/**
 * How polls are answered, and what is bounded. Everything has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * Milliseconds that every poll is held while nothing changed, before it is answered with 304 (long polling). Default
   * 0: it is answered at once. A request may ask for another time: with the query `?wait=30` or the header
   * `Prefer: wait=30`, in seconds. However long, it is three quarters of `x-envoy-expected-rq-timeout-ms` at most, so
   * that the answer reaches an Envoy in time.
   */
  readonly wait?: number | undefined
  /** Longest that a poll is held, in milliseconds, whoever asks for it. Default 60 000. */
  readonly maxWait?: number | undefined
  /**
   * Milliseconds that the first poll of a client waits for the server: while it is authorized, and while its group was
   * never set. Then it is answered with 503. Default 5000.
   */
  readonly answerTimeout?: number | undefined
  /**
   * Milliseconds after its last poll until a client is forgotten; if it polls later it is sent everything, whatever
   * version it quotes. To be longer than the slowest client's `refresh_delay`. Default 600 000.
   */
  readonly idleTimeout?: number | undefined
  /**
   * Sessions: one for each client, type and list of names. More end those that were not polled for the longest time;
   * if none can be ended, polls are answered with 503. Default 50 000.
   */
  readonly maxSessions?: number | undefined
  /** Polls that are held at a time; more are answered at once, as without long polling. Default 20 000. */
  readonly maxHeld?: number | undefined
  /** Requests at a time, with those that are held; more are answered with 503. Default 30 000. */
  readonly maxRequests?: number | undefined
  /** The largest body of a request in bytes; a larger one is answered with 413. Default 4 194 304; an Envoy's has 77 KB. */
  readonly maxRequestBytes?: number | undefined
  /** Milliseconds that a body may take to come; then it is answered with 408. Default 10 000. */
  readonly bodyTimeout?: number | undefined
  /** Bytes from which on a response is compressed where the client accepts gzip. Default 1024. */
  readonly compressFrom?: number | undefined
  /**
   * Takes JSON requests with fields that this version does not know. Default `false`: they are answered with 400, which
   * names the field.
   */
  readonly ignoreUnknownFields?: boolean | undefined
  /**
   * Headers by which clients are told apart, besides node, address and certificate: a poll that differs in one is of
   * another client, which is authorized for itself. Name all that `group` and `authorize` look at. Default:
   * `authorization`, `cookie`, `x-api-key`, `x-forwarded-client-cert`, `x-forwarded-for`.
   */
  readonly identityHeaders?: ReadonlyArray<string> | undefined
}

/**
 * How to listen.
 *
 * @since 0.1.0
 */
export interface ListenOptions extends Options {
  /**
   * The address to listen on. Default `127.0.0.1`: what is served may hold secrets, and without TLS everyone who
   * reaches the port can read it. `0.0.0.0` or `::` for every interface.
   */
  readonly host?: string | undefined
  /** The port. Default 0: any free one. */
  readonly port?: number | undefined
  /** Serves HTTPS. Default: in the clear. */
  readonly tls?: ServerTls.TlsOptions | undefined
  /** Connections at a time; more are closed at once. Default 10 000. */
  readonly maxConnections?: number | undefined
  /** Milliseconds that a connection is kept open between requests. Default 65 000. */
  readonly keepAliveTimeout?: number | undefined
  /** Milliseconds that clients have to read their answers when the server shuts down. Default 5000. */
  readonly shutdownGrace?: number | undefined
}

const settingsOf = (options: Options): DiscoveryApp.Settings => ({
  wait: options.wait ?? 0,
  maxWait: options.maxWait ?? 60_000,
  answerTimeout: options.answerTimeout ?? 5_000,
  idleTimeout: options.idleTimeout ?? 600_000,
  maxSessions: options.maxSessions ?? 50_000,
  maxHeld: options.maxHeld ?? 20_000,
  maxRequests: options.maxRequests ?? 30_000,
  maxRequestBytes: options.maxRequestBytes ?? 4 * 1024 * 1024,
  bodyTimeout: options.bodyTimeout ?? 10_000,
  compressFrom: options.compressFrom ?? 1024,
  ignoreUnknownFields: options.ignoreUnknownFields ?? false,
  identityHeaders: options.identityHeaders ?? [
    "authorization",
    "cookie",
    "x-api-key",
    "x-forwarded-client-cert",
    "x-forwarded-for"
  ]
})

const createServer = (
  { keepAliveTimeout, maxConnections }: ListenOptions,
  tls: Https.ServerOptions | undefined,
  bodyTimeout: number
): Http.Server => {
  const timeouts = {
    keepAliveTimeout: keepAliveTimeout ?? 65_000,
    headersTimeout: bodyTimeout,
    // A body that is too slow is answered before that; this is for what is read only to be dropped.
    requestTimeout: 2 * bodyTimeout,
    connectionsCheckingInterval: 1000
  }
  const server =
    tls === undefined
      ? Http.createServer(timeouts)
      : Https.createServer({ handshakeTimeout: bodyTimeout, ...timeouts, ...tls })
  server.maxConnections = maxConnections ?? 10_000
  return server
}

/**
 * The transport. Each `serve` listens for itself, on the address of the options; its failures are a port that is in use
 * or not allowed and TLS options that cannot be used.
 *
 * When the scope closes, polls that are held are answered with 503, no connection is accepted any more, and those that
 * are open after `shutdownGrace` are cut off.
 *
 * A client is seen by the server as a state-of-the-world stream for each type and list of names that it polls for. That
 * it quotes the version it was sent last is an ACK; `error_detail` in a request is a NACK. Every response holds all that
 * was asked for.
 *
 * What clients see of refusals: an HTTP status and JSON that says what and where, `{"code": "INVALID_ARGUMENT",
 * "message": "…"}`.
 *
 * @since 0.1.0
 */
export const make = (options: ListenOptions = {}): ServerTransport.Service => ({
  serve: (accept) =>
    Effect.gen(function* () {
      const { host = "127.0.0.1", port = 0, shutdownGrace = 5000 } = options
      const settings = settingsOf(options)
      const wanted = ListenAddress.format(host, port)
      const fail = (cause: unknown): ServerTransport.ServerTransportError =>
        new ServerTransport.ServerTransportError({ address: wanted, reason: ListenAddress.reasonOf(cause), cause })
      const credentials =
        options.tls === undefined
          ? undefined
          : yield* Effect.mapError(
              ServerTls.load(options.tls),
              ({ cause, reason }) => new ServerTransport.ServerTransportError({ address: wanted, reason, cause })
            )
      const node = createServer(options, credentials, settings.bodyTimeout)
      const server = yield* Effect.mapError(
        NodeHttpServer.make(() => node, { host, port }),
        ({ cause }) => fail(cause)
      )
      // Errors from here on are of single connections that could not be accepted.
      node.on("error", () => undefined)
      if (options.tls !== undefined && credentials !== undefined && node instanceof Https.Server) {
        const fork = Runtime.runFork(yield* Effect.runtime())
        const reload: ServerTls.Reload = {
          onChange: ({ ca, cert, ciphers, key, minVersion }) => {
            node.setSecureContext({ key, cert, ca, ciphers, minVersion })
            RestServerMetrics.tlsReloads.unsafeUpdate(1, [])
            fork(Effect.logInfo("TLS files of REST changed and are in use"))
          },
          onUnusable: ({ reason }) =>
            void fork(Effect.logWarning(`TLS files of REST changed and cannot be used; the old ones stay: ${reason}`))
        }
        yield* ServerTls.watch(options.tls, credentials, reload)
      }
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          // Nobody answers any more what still comes on connections that are open.
          node.on("request", (_request, response) => response.writeHead(503, { connection: "close" }).end())
          const timer = setTimeout(() => node.closeAllConnections(), shutdownGrace)
          node.once("close", () => clearTimeout(timer))
        })
      )
      yield* server.serve(yield* DiscoveryApp.make(settings, accept))
      return server.address._tag === "TcpAddress" ? ListenAddress.format(host, server.address.port) : wanted
    })
})

/**
 * The transport as a layer.
 *
 * @example
 * import { RestServer } from "@effect-xds/transport-rest"
 *
 * const transport = RestServer.layer({ host: "0.0.0.0", port: 18001, wait: 30_000 })
 *
 * @since 0.1.0
 */
export const layer = (options: ListenOptions = {}): Layer.Layer<ServerTransport.ServerTransport> =>
  Layer.succeed(ServerTransport.ServerTransport, make(options))

/**
 * The transport as an HTTP application.
 *
 * @since 0.1.0
 */
export class RestApp extends Context.Tag("@effect-xds/transport-rest/RestApp")<
  RestApp,
  {
    /** Answers every request, those for other paths with 404. */
    readonly app: HttpApp.Default
    /** A route for each path that is served, to be put together with others. */
    readonly router: HttpRouter.HttpRouter
  }
>() {}

const notServing = Effect.succeed(
  Refusal.toResponse(
    new Refusal.Refusal({ status: 503, code: "UNAVAILABLE", message: "the control plane does not serve" })
  )
)

/**
 * The transport to mount in an HTTP server of one's own: what the server on this transport serves, {@link RestApp}
 * answers. While none serves, it answers with 503. The HTTP server is to be one that interrupts requests whose clients
 * are gone, as that of `@effect/platform-node` does.
 *
 * @since 0.1.0
 */
export const layerApp = (options: Options = {}): Layer.Layer<RestApp | ServerTransport.ServerTransport> =>
  Layer.effectContext(
    Effect.sync(() => {
      let serving: HttpApp.Default | undefined
      const app: HttpApp.Default = Effect.suspend(() => serving ?? notServing)
      const address = "the HTTP server it is mounted in"
      const serve: ServerTransport.Service["serve"] = (accept) =>
        Effect.gen(function* () {
          if (serving !== undefined) {
            const reason = "another server serves on it; each needs a transport of its own"
            return yield* new ServerTransport.ServerTransportError({ address, reason })
          }
          const discovery = yield* DiscoveryApp.make(settingsOf(options), accept)
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              serving = discovery
            }),
            () =>
              Effect.sync(() => {
                serving = undefined
              })
          )
          return address
        })
      const router = DiscoveryApp.paths.reduce<HttpRouter.HttpRouter>(
        // To a router a single colon begins a parameter.
        (router, path) => HttpRouter.all(router, `/${path.slice(1).replaceAll(":", "::")}`, app),
        HttpRouter.empty
      )
      return Context.make(ServerTransport.ServerTransport, { serve }).pipe(Context.add(RestApp, { app, router }))
    })
  )
