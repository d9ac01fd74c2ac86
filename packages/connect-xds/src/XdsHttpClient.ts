/**
 * An `HttpClient` of `@effect/platform` whose requests go where xDS says, over HTTP/2, or over HTTP/1.1 where the cluster says so or a server has
 * nothing else.
 *
 * It is not in the index: `@effect/platform` is loaded only by programs that import this module.
 *
 * @since 0.1.0
 */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as BadOption from "@effect-xds/transport/BadOption"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as RcMap from "effect/RcMap"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Payload } from "./internal/HttpCalls.js"
import * as HttpCalls from "./internal/HttpCalls.js"
import type { TargetError } from "./Target.js"
import type { XdsChannel } from "./XdsChannels.js"
import { XdsChannels } from "./XdsChannels.js"

/**
 * What a client is to be like.
 *
 * @since 0.1.0
 */
export interface Options {
  /** `xds:///service`. */
  readonly target: string
  /**
   * Whether the host of a URL, `http://shop.example/items`, chooses the virtual host and is `:authority`. The first request for a
   * host opens a channel for it, which fetches its virtual host on demand (VHDS) where the routes have none. Default: false, the
   * target is the host.
   */
  readonly anyHost?: boolean | undefined
  /** With `anyHost`: the most hosts at a time; requests for others fail. Default: 1 000. */
  readonly maxHosts?: number | undefined
  /** With `anyHost`: how long a host without requests stays open. Default: 1 minute. */
  readonly hostIdleTime?: Duration.DurationInput | undefined
  /** Whether requests wait where others fail, but for their deadline. Default: false. */
  readonly waitForReady?: boolean | undefined
  /** Milliseconds for each request, until its answer is whole; the route may say less. Default: no limit. */
  readonly timeoutMs?: number | undefined
}

/**
 * A client, until the scope closes. URLs are paths, `/items/7`: the host is the target. ★ Routes match the path without its
 * query, and the headers as they are sent. Status codes become those of gRPC where a route says what is tried again: 429, 502, 503 and 504 are `unavailable`.
 *
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<HttpClient.HttpClient, TargetError, XdsChannels | Scope.Scope> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { maxHosts: 0, hostIdleTime: 0, timeoutMs: 0 })
    const { anyHost = false, hostIdleTime = "1 minute", maxHosts = 1_000, target } = options
    const channels = yield* XdsChannels
    if (!anyHost) {
      const channel = yield* channels.open(target, { http1: true })
      const client = clientOf(options, () => Effect.succeed({ channel, onOver: () => undefined }))
      // Of the URL its path and query alone are sent, so it only has to be one: with `%2F` in its host it is none.
      const origin = `http://${channel.target.authority}`
      return HttpClient.mapRequest(client, HttpClientRequest.prependUrl(URL.canParse(origin) ? origin : "http://xds"))
    }
    const open = yield* RcMap.make({
      lookup: (authority: string) => channels.open(target, { authority, http1: true }),
      capacity: maxHosts,
      idleTimeToLive: hostIdleTime
    })
    return clientOf(options, ({ host }) =>
      Effect.gen(function* () {
        // Until the answer is whole.
        const scope = yield* Scope.make()
        const close = Scope.close(scope, Exit.void)
        const channel = yield* RcMap.get(open, host).pipe(
          Effect.provideService(Scope.Scope, scope),
          Effect.catchTag("ExceededCapacityException", () =>
            Effect.fail(new Error(`there are ${maxHosts} hosts with requests, the most that are allowed`))
          ),
          Effect.onError(() => close)
        )
        return { channel, onOver: () => void Effect.runFork(close) }
      })
    )
  })

/** A channel for one request, and what is to be called when that is over. */
interface Held {
  readonly channel: XdsChannel
  readonly onOver: () => void
}

const clientOf = (
  { timeoutMs, waitForReady = false }: Options,
  hold: (url: URL) => Effect.Effect<Held, TargetError | Error>
): HttpClient.HttpClient =>
  HttpClient.make((request, url, signal) => {
    const failed = (cause: unknown) => new HttpClientError.RequestError({ request, reason: "Transport", cause })
    const { headers } = request
    const send = (payload: Payload) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.mapError(hold(url), failed), ({ channel, onOver }) => {
          let isBegun = false
          return restore(
            Effect.tryPromise({
              try: () => {
                // From here on the call says when it is over.
                isBegun = true
                return HttpCalls.send(channel, {
                  method: request.method,
                  path: url.pathname,
                  query: url.search,
                  headers,
                  payload,
                  waitForReady,
                  timeout: timeoutMs,
                  signal,
                  onOver
                })
              },
              catch: failed
            })
            // ★ Who is interrupted while the host opens has begun nothing.
          ).pipe(Effect.ensuring(Effect.sync(() => (isBegun ? undefined : onOver()))))
        })
      ).pipe(Effect.map((response) => HttpClientResponse.fromWeb(request, response)))
    const { body } = request
    switch (body._tag) {
      case "Empty":
        return send(undefined)
      case "Uint8Array":
        return send(body.body)
      case "Stream":
        // ★ It runs before anybody reads it. Who reads it ends it; where nobody came to that, it is ended here.
        return Effect.flatMap(Effect.runtime(), (runtime) =>
          Effect.acquireUseRelease(
            Effect.sync(() => Stream.toReadableStreamRuntime(body.stream, runtime)),
            send,
            (payload) => (payload.locked ? Effect.void : Effect.ignore(Effect.tryPromise(() => payload.cancel())))
          )
        )
      case "Raw":
        return typeof body.body === "string" || body.body instanceof Uint8Array
          ? send(typeof body.body === "string" ? new TextEncoder().encode(body.body) : body.body)
          : Effect.fail(failed(new Error("a raw body must be text or bytes")))
      case "FormData":
        return Effect.fail(failed(new Error("form data is not supported; encode it as bytes")))
    }
  })

/**
 * The client as the `HttpClient` of a program, for the life of the layer.
 *
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<HttpClient.HttpClient, TargetError, XdsChannels> =>
  Layer.scoped(HttpClient.HttpClient, make(options))
