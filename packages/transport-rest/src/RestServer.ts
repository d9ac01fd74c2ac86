/**
 * Serves xDS over REST: clients POST what they want and have to `/v3/discovery:clusters` and the like, and are answered
 * with a `DiscoveryResponse`, or with 304 when nothing changed. It listens for itself; module `RestApp` mounts
 * it in an HTTP application of one's own.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "REST-JSON polling subscriptions"
 * @since 0.1.0
 */
import * as HttpListener from "@effect-xds/transport-node/HttpListener"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as ServerTls from "@effect-xds/transport-node/ServerTls"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Http from "node:http"
import * as Https from "node:https"
import * as DiscoveryApp from "./internal/DiscoveryApp.js"
import * as HttpRequest from "./internal/HttpRequest.js"
import * as Settings from "./internal/Settings.js"
import * as RestServerMetrics from "./RestServerMetrics.js"
import * as ServedTypes from "./internal/ServedTypes.js"

export type { Options } from "./internal/Settings.js"

/**
 * How to listen.
 *
 * @since 0.1.0
 */
export interface ListenOptions extends Settings.Options, ListenAddress.Options {
  /** Serves HTTPS. Default: in the clear. */
  readonly tls?: ServerTls.TlsOptions | undefined
  /** Connections at a time; more are closed at once. Default 10 000. */
  readonly maxConnections?: number | undefined
  /** How long a connection is kept open between requests. Default: 65 seconds. */
  readonly keepAliveTimeout?: Duration.DurationInput | undefined
  /** How long clients have to read their answers when the server shuts down. Default: 5 seconds. */
  readonly shutdownGrace?: Duration.DurationInput | undefined
}

const createServer = (
  { keepAliveTimeout, maxConnections }: ListenOptions,
  tls: Https.ServerOptions | undefined,
  bodyTimeout: number
): Http.Server => {
  const timeouts = {
    keepAliveTimeout: Milliseconds.of(keepAliveTimeout, "65 seconds"),
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
      const shutdownGrace = Milliseconds.of(options.shutdownGrace, "5 seconds")
      const settings = Settings.of(options)
      const listen = ListenAddress.of(options)
      const wanted = ListenAddress.show(listen)
      const fail = (cause: unknown): ServerTransport.ServerTransportError =>
        new ServerTransport.ServerTransportError({ address: wanted, reason: ListenAddress.reasonOf(cause), cause })
      const problem = ServedTypes.problemOf(settings.types)
      if (problem !== undefined) {
        return yield* new ServerTransport.ServerTransportError({ address: wanted, reason: problem })
      }
      const credentials =
        options.tls === undefined
          ? undefined
          : yield* Effect.mapError(
              ServerTls.load(options.tls),
              ({ cause, reason }) => new ServerTransport.ServerTransportError({ address: wanted, reason, cause })
            )
      const node = createServer(options, credentials, settings.bodyTimeout)
      const bound = yield* Effect.mapError(HttpListener.listen(node, listen), fail)
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
