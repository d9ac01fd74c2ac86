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
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Payload } from "./internal/HttpCalls.js"
import * as HttpCalls from "./internal/HttpCalls.js"
import type { TargetError } from "./Target.js"
import { XdsChannels } from "./XdsChannels.js"

/**
 * What a client is to be like.
 *
 * @since 0.1.0
 */
export interface Options {
  /** `xds:///service`. */
  readonly target: string
  /** Whether requests wait where others fail, but for their deadline. Default: false. */
  readonly waitForReady?: boolean | undefined
  /** Milliseconds for each request, until its answer is whole; the route may say less. Default: no limit. */
  readonly timeoutMs?: number | undefined
}

/**
 * A client, until the scope closes. URLs are paths, `/items/7`: the host is the target. ★ Routes match the path without its
 * query. Status codes become those of gRPC where a route says what is tried again: 429, 502, 503 and 504 are `unavailable`.
 *
 * @since 0.1.0
 */
export const make = ({
  target,
  timeoutMs,
  waitForReady = false
}: Options): Effect.Effect<HttpClient.HttpClient, TargetError, XdsChannels | Scope.Scope> =>
  Effect.gen(function* () {
    const channels = yield* XdsChannels
    const channel = yield* channels.open(target, { http1: true })
    const client = HttpClient.make((request, url, signal) => {
      const failed = (cause: unknown) => new HttpClientError.RequestError({ request, reason: "Transport", cause })
      const { headers } = request
      const send = (payload: Payload) =>
        Effect.tryPromise({
          try: () =>
            HttpCalls.send(channel, {
              method: request.method,
              path: url.pathname,
              query: url.search,
              headers,
              callHeaders: CallHeaders.fromEntries(Object.entries(headers)),
              payload,
              waitForReady,
              timeout: timeoutMs,
              signal
            }),
          catch: failed
        }).pipe(Effect.map((response) => HttpClientResponse.fromWeb(request, response)))
      const { body } = request
      switch (body._tag) {
        case "Empty":
          return send(undefined)
        case "Uint8Array":
          return send(body.body)
        case "Stream":
          return Effect.flatMap(Stream.toReadableStreamEffect(body.stream), send)
        case "Raw":
          return typeof body.body === "string" || body.body instanceof Uint8Array
            ? send(typeof body.body === "string" ? new TextEncoder().encode(body.body) : body.body)
            : Effect.fail(failed(new Error("a raw body must be text or bytes")))
        case "FormData":
          return Effect.fail(failed(new Error("form data is not supported; encode it as bytes")))
      }
    })
    return HttpClient.mapRequest(client, HttpClientRequest.prependUrl(`http://${channel.target.authority}`))
  })

/**
 * The client as the `HttpClient` of a program, for the life of the layer.
 *
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<HttpClient.HttpClient, TargetError, XdsChannels> =>
  Layer.scoped(HttpClient.HttpClient, make(options))
