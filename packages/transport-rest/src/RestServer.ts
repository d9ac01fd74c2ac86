/**
 * Serves xDS over REST: clients POST a `DiscoveryRequest` to `/v3/discovery:clusters` and the like, and are answered
 * with a `DiscoveryResponse`, or with 304 if nothing changed. It listens itself; module `RestApp` mounts it in an
 * existing HTTP application.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "REST-JSON polling subscriptions"
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as HttpListener from "@effect-xds/transport-node/HttpListener"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as ServerTls from "@effect-xds/transport-node/ServerTls"
import * as TlsFailure from "@effect-xds/transport-node/TlsFailure"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import * as Http from "node:http"
import * as Https from "node:https"
import type { Socket } from "node:net"
import * as DiscoveryApp from "./internal/DiscoveryApp.js"
import * as HttpRequest from "./internal/HttpRequest.js"
import * as Settings from "./internal/Settings.js"
import * as RestServerMetrics from "./RestServerMetrics.js"
import * as ServedTypes from "./internal/ServedTypes.js"

export type { Options } from "./internal/Settings.js"

/**
 * Options for listening.
 *
 * @since 0.1.0
 */
export interface ListenOptions extends Settings.Options, ListenAddress.Options {
  /** TLS options; then it serves HTTPS. Default: no TLS. */
  readonly tls?: ServerTls.TlsOptions | undefined
  /** The most open connections; further ones are closed at once. Default 10 000. */
  readonly maxConnections?: number | undefined
  /** How long a connection is kept open between requests; at most 24 days. Default: 65 seconds. */
  readonly keepAliveTimeout?: Duration.DurationInput | undefined
  /** How long clients may read their answers when the server shuts down. Default: 5 seconds. */
  readonly shutdownGrace?: Duration.DurationInput | undefined
}

const createServer = (
  { keepAliveTimeout, maxConnections }: ListenOptions,
  tls: Https.ServerOptions | undefined,
  bodyTimeout: number
): Http.Server => {
  const timeouts = {
    keepAliveTimeout: Math.min(Milliseconds.longestKeepAlive, Milliseconds.of(keepAliveTimeout, "65 seconds")),
    headersTimeout: bodyTimeout,
    // A slow body is answered earlier, after `bodyTimeout`; this limit is for bodies that are read and dropped.
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
 * The transport. Each `serve` listens on the address of the options. It fails for a port that is in use or not allowed,
 * for limits and durations that are negative or NaN, and for unusable TLS options.
 *
 * When the scope closes, held polls are answered with 503, no connection is accepted any more, and those that are still
 * open after `shutdownGrace` are destroyed.
 *
 * To the server, a client is one state-of-the-world stream per type and list of names that it polls for. A poll with
 * the version of the last response is an ACK; one with `error_detail` is a NACK. Every response holds all requested
 * resources.
 *
 * A refusal is an HTTP status with JSON that says what is wrong and where: `{"code": "INVALID_ARGUMENT", "message":
 * "…"}`.
 *
 * @since 0.1.0
 */
export const make = (options: ListenOptions = {}): ServerTransport.Service => ({
  serve: (accept) =>
    Effect.gen(function* () {
      const shutdownGrace = Milliseconds.of(options.shutdownGrace, "5 seconds")
      const settings = Settings.of(options)
      const listen = ListenAddress.of(options)
      const wanted = ListenAddress.show(listen)
      const fail = (cause: unknown): ServerTransport.ServerTransportError =>
        new ServerTransport.ServerTransportError({
          address: wanted,
          reason: ListenAddress.reasonOf(cause),
          cause: Reason.of(cause)
        })
      const problem =
        Settings.wrongWith(options) ??
        BadOption.find(options, { maxConnections: 0, keepAliveTimeout: 0, shutdownGrace: 0 })?.message ??
        ServedTypes.problemOf(settings.types)
      if (problem !== undefined) {
        return yield* new ServerTransport.ServerTransportError({ address: wanted, reason: problem })
      }
      const credentials =
        options.tls === undefined
          ? undefined
          : yield* Effect.mapError(
              ServerTls.load(options.tls),
              ({ reason }) => new ServerTransport.ServerTransportError({ address: wanted, reason })
            )
      const node = createServer(options, credentials, settings.bodyTimeout)
      const bound = yield* Effect.mapError(HttpListener.listen(node, listen, shutdownGrace), fail)
      if (options.tls !== undefined && credentials !== undefined && node instanceof Https.Server) {
        const runtime = yield* Effect.runtime()
        const fork = Runtime.runFork(runtime)
        const log = LogThrottle.make(runtime, () => performance.now())
        // Of a socket that is gone Node knows the address if it was asked for before.
        node.on("connection", ({ remoteAddress }: Socket) => remoteAddress)
        node.on("tlsClientError", (error, socket) => {
          const reason = TlsFailure.ofHandshake(error, socket)
          const { remoteAddress = "unknown" } = TlsFailure.transportOf(socket)
          // One line per peer and reason in a minute: who is not let in may come again at once, without end.
          const message = `TLS handshake of REST with ${remoteAddress} failed: ${reason}`
          log(LogLevel.Warning, message, message)
        })
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
          // Later requests on connections that are still open have no handler any more.
          node.on("request", (_request, response) => response.writeHead(503, { connection: "close" }).end())
        })
      )
      const respond = yield* DiscoveryApp.make(settings, accept)
      yield* HttpListener.answer(node, (request) => respond(HttpRequest.ofNode(request, listen.path)))
      return ListenAddress.show(bound)
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
 * The transport with options from a `ConfigProvider`, by default environment variables.
 *
 * @example
 * import { RestServer } from "@effect-xds/transport-rest"
 * import { Config } from "effect"
 *
 * const transport = RestServer.layerConfig({
 *   port: Config.port("XDS_REST_PORT"),
 *   wait: Config.withDefault(Config.duration("XDS_REST_WAIT"), "30 seconds")
 * })
 *
 * @since 0.1.0
 */
export const layerConfig = (
  config: Config.Config.Wrap<ListenOptions>
): Layer.Layer<ServerTransport.ServerTransport, ConfigError> =>
  Layer.effect(ServerTransport.ServerTransport, Effect.map(Config.unwrap(config), make))
