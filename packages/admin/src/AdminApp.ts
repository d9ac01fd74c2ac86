/**
 * The admin port, mounted in an existing HTTP application. It needs `@effect/platform` and is not in the index.
 *
 * @since 0.1.0
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import type { SnapshotStore, XdsServer } from "@effect-xds/server"
import type { Answer } from "@effect-xds/transport-node/HttpListener"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Answers from "./internal/Answers.js"

const responseOf = ({ body, headers, status }: Answer): HttpServerResponse.HttpServerResponse => {
  if (body === undefined) return HttpServerResponse.empty({ status, headers })
  if (typeof body === "string") return HttpServerResponse.text(body, { status, headers })
  if (body instanceof Uint8Array) return HttpServerResponse.uint8Array(body, { status, headers })
  const pieces = Stream.fromAsyncIterable(body, (cause) => cause)
  return HttpServerResponse.stream(Stream.encodeText(pieces), { status, headers })
}

/**
 * The HTTP application. It answers every request; those for other paths with 404. Checking the `Host` header is left to
 * the surrounding server.
 *
 * @since 0.1.0
 */
export const make = (
  options: Answers.Options = {}
): Effect.Effect<HttpApp.Default<never, Scope.Scope>, never, XdsServer.XdsServer | SnapshotStore.SnapshotStore> =>
  Effect.map(Answers.make(options), (respond) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => Effect.map(respond(request), responseOf))
  )
