/**
 * Answers HTTP requests with effects, on Node's own HTTP server. For servers over HTTP; it needs Node and is not in the
 * index.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { Buffer } from "node:buffer"
import type * as Http from "node:http"
import type { Socket } from "node:net"
import * as ListenAddress from "./ListenAddress.js"

/**
 * An answer to a request.
 *
 * @since 0.1.0
 */
export interface Answer {
  /** The HTTP status code. */
  readonly status: number
  /** Names in lower case. `content-length` is added if the length is known. */
  readonly headers: Readonly<Record<string, string>>
  /** An iterable is written as fast as the client reads. */
  readonly body: string | Uint8Array | AsyncIterable<string> | undefined
}

/**
 * An answer with its whole body in memory.
 *
 * @since 0.1.0
 */
export interface WholeAnswer extends Answer {
  readonly body: string | Uint8Array | undefined
}

/**
 * Listens until the scope closes, and then waits for connections to end. Gives the address; fails with Node's error.
 *
 * @param grace milliseconds after which the connections that are left are destroyed. Default: they are waited for
 * @since 0.1.0
 */
export const listen = (
  server: Http.Server,
  address: ListenAddress.ListenAddress,
  grace?: number
): Effect.Effect<ListenAddress.ListenAddress, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    // Node's closeAllConnections does not know those in their TLS handshake.
    const sockets = new Set<Socket>()
    server.on("connection", (socket: Socket) => {
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    })
    yield* Effect.addFinalizer(() =>
      Effect.async<void>((resume) => {
        if (!server.listening) return resume(Effect.void)
        const destroy = (): void => sockets.forEach((socket) => socket.destroy())
        const timer = grace === undefined ? undefined : setTimeout(destroy, grace)
        server.close(() => {
          clearTimeout(timer)
          resume(Effect.void)
        })
      })
    )
    const bound = yield* ListenAddress.listen(server, address)
    // Later errors concern single connections that could not be accepted.
    server.on("error", () => undefined)
    return bound
  })

const parentOf = (header: string | ReadonlyArray<string> | undefined): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] =
    typeof header === "string" ? (/^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/.exec(header) ?? []) : []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: Number.parseInt(flags, 16) % 2 === 1 })
}

const drained = (response: Http.ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      response.off("drain", go).off("close", go)
      resolve()
    }
    response.on("drain", go).on("close", go)
  })

const pour = async (response: Http.ServerResponse, pieces: AsyncIterable<string>): Promise<void> => {
  for await (const piece of pieces) {
    if (response.closed) return
    if (!response.write(piece)) await drained(response)
  }
  response.end()
}

/** Writes the answer. Waits until it is passed to the system, or the client is gone. */
const write = (
  request: Http.IncomingMessage,
  response: Http.ServerResponse,
  { body, headers, status }: Answer
): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (response.closed) return resume(Effect.void)
    // `close` follows the end of an answer, too.
    response.once("close", () => resume(Effect.void))
    const isWhole = typeof body === "string" || body instanceof Uint8Array
    response.writeHead(status, isWhole ? { ...headers, "content-length": Buffer.byteLength(body) } : { ...headers })
    if (body === undefined || request.method === "HEAD") response.end()
    else if (isWhole) response.end(body)
    else {
      pour(response, body).catch((cause: unknown) => {
        // The reset shows the client that the answer is incomplete.
        response.destroy()
        resume(Effect.die(cause))
      })
    }
  })

/**
 * Answers requests until the scope closes; those that have begun go on. An effect is interrupted when its client
 * disconnects. Its scope stays open until the answer is written. A defect is logged, and the client gets 500. Each
 * request is a span `http.server METHOD`, a child of the one in the header `traceparent`.
 *
 * @since 0.1.0
 */
export const answer = (
  server: Http.Server,
  respond: (request: Http.IncomingMessage) => Effect.Effect<Answer, never, Scope.Scope>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fork = Runtime.runFork(yield* Effect.runtime())
    const onRequest = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
      const { headers, method = "", url = "" } = request
      const parent = parentOf(headers["traceparent"])
      const handled = Effect.gen(function* () {
        const given = yield* respond(request)
        yield* Effect.annotateCurrentSpan("http.response.status_code", given.status)
        yield* Effect.uninterruptible(write(request, response, given))
      }).pipe(
        Effect.scoped,
        Effect.withSpan(`http.server ${method}`, {
          kind: "server",
          captureStackTrace: false,
          attributes: { "http.request.method": method, "url.path": url.replace(/\?.*$/s, "") },
          ...(parent !== undefined && { parent })
        }),
        Effect.catchAllCause((cause) => {
          if (Cause.isInterruptedOnly(cause)) return Effect.void
          if (!response.headersSent) response.writeHead(500).end()
          return Effect.logError(`${method} of HTTP could not be answered`, cause)
        })
      )
      const fiber = fork(handled)
      response.once("close", () => {
        if (!response.writableEnded) fiber.unsafeInterruptAsFork(fiber.id())
      })
    }
    server.on("request", onRequest)
    yield* Effect.addFinalizer(() => Effect.sync(() => void server.off("request", onRequest)))
  })
