/**
 * xDS over REST, mounted in an existing HTTP application. It needs `@effect/platform` and is not in the index.
 *
 * @since 0.1.0
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { WholeAnswer } from "@effect-xds/transport-node/HttpListener"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { IncomingMessage } from "node:http"
import * as ServedTypes from "./internal/ServedTypes.js"
import * as DiscoveryApp from "./internal/DiscoveryApp.js"
import type { HttpRequest } from "./internal/HttpRequest.js"
import * as Peers from "./internal/Peers.js"
import * as Refusal from "./internal/Refusal.js"
import * as RequestBody from "./internal/RequestBody.js"
import * as Settings from "./internal/Settings.js"

/**
 * The transport as an HTTP application.
 *
 * @since 0.1.0
 */
export class RestApp extends Context.Tag("@effect-xds/transport-rest/RestApp")<
  RestApp,
  {
    /** Answers every request; those for other paths with 404. */
    readonly app: HttpApp.Default
    /** A route for each served path, to combine with other routes. */
    readonly router: HttpRouter.HttpRouter
  }
>() {}

const notServing = Effect.succeed(
  Refusal.toAnswer(
    new Refusal.Refusal({ status: 503, code: "UNAVAILABLE", message: "the control plane does not serve" })
  )
)

/** The address that the HTTP server gives takes precedence over the connection's: the server may know of a proxy. */
const requestOf = (given: HttpServerRequest.HttpServerRequest): HttpRequest => {
  const { headers, method, remoteAddress, source, url } = given
  const address = Option.getOrUndefined(remoteAddress)
  if (source instanceof IncomingMessage) {
    const { socket } = source
    return {
      method,
      url,
      headers,
      peer: () => Peers.ofSocket(socket, address),
      body: (limits, onSize) => RequestBody.ofNode(source, limits, onSize)
    }
  }
  return {
    method,
    url,
    headers,
    peer: () => ({ address: address ?? "unknown", identity: undefined }),
    body: (limits, onSize) => RequestBody.ofStream(given.stream, limits, onSize)
  }
}

const responseOf = ({ body, headers, status }: WholeAnswer): HttpServerResponse.HttpServerResponse => {
  if (body === undefined) return HttpServerResponse.empty({ status, headers })
  return typeof body === "string"
    ? HttpServerResponse.text(body, { status, headers })
    : HttpServerResponse.uint8Array(body, { status, headers })
}

/**
 * The transport for an existing HTTP server. {@link RestApp} answers requests from the server on this transport; before
 * one is attached, it answers 503. The HTTP server must interrupt requests whose clients disconnect, as that of
 * `@effect/platform-node` does.
 *
 * @since 0.1.0
 */
export const layer = (options: Settings.Options = {}): Layer.Layer<RestApp | ServerTransport.ServerTransport> =>
  Layer.effectContext(
    Effect.sync(() => {
      const settings = Settings.of(options)
      let serving: DiscoveryApp.Respond | undefined
      // Servers run applications uninterruptibly, but a request without a client must not wait on.
      const app: HttpApp.Default = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.map(serving === undefined ? notServing : Effect.interruptible(serving(requestOf(request))), responseOf)
      )
      const address = "the HTTP server it is mounted in"
      const serve: ServerTransport.Service["serve"] = (accept) =>
        Effect.gen(function* () {
          if (serving !== undefined) {
            const reason = "another server serves on it; each needs a transport of its own"
            return yield* new ServerTransport.ServerTransportError({ address, reason })
          }
          const problem = Settings.wrongWith(options) ?? ServedTypes.problemOf(settings.types)
          if (problem !== undefined) {
            return yield* new ServerTransport.ServerTransportError({ address, reason: problem })
          }
          const discovery = yield* DiscoveryApp.make(settings, accept)
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
      const router = Array.from(ServedTypes.byPath(settings.types).keys()).reduce<HttpRouter.HttpRouter>(
        // In a router's path a single colon begins a parameter.
        (router, path) => HttpRouter.all(router, `/${path.slice(1).replaceAll(":", "::")}`, app),
        HttpRouter.empty
      )
      return Context.make(ServerTransport.ServerTransport, { serve }).pipe(Context.add(RestApp, { app, router }))
    })
  )
