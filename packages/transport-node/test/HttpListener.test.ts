import * as Certificates from "@effect-xds/testing/Certificates"
import * as SpanTracer from "@effect-xds/testing/SpanTracer"
import * as HttpListener from "@effect-xds/transport-node/HttpListener"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Logger, Option, Scope, type Tracer } from "effect"
import { once } from "node:events"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"

const listen = (respond: (request: Http.IncomingMessage) => Effect.Effect<HttpListener.Answer, never, Scope.Scope>) =>
  Effect.gen(function* () {
    const server = Http.createServer()
    const address = yield* HttpListener.listen(server, { host: "127.0.0.1", port: 0 })
    yield* HttpListener.answer(server, respond)
    yield* Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
    return { server, url: `http://${ListenAddress.show(address)}/x?secret=1` }
  }).pipe(Effect.orDie)

const plain = (body: HttpListener.Answer["body"]): HttpListener.Answer => ({ status: 200, headers: {}, body })

describe("HttpListener", () => {
  it.scopedLive("destroys what is left when the grace period is over, also a connection in its TLS handshake", () =>
    Effect.gen(function* () {
      const { cert, key } = yield* Certificates.selfSigned("xds")
      const server = Https.createServer({ cert, key, handshakeTimeout: 600_000 })
      const scope = yield* Scope.make()
      const bound = yield* Scope.extend(HttpListener.listen(server, { host: "127.0.0.1", port: 0 }, 50), scope)
      const accepted = once(server, "connection")
      const silent = Net.connect(bound.path === undefined ? bound : expect.fail("it is no Unix socket"))
      yield* Effect.addFinalizer(() => Effect.sync(() => silent.destroy()))
      const closed = once(silent, "close")
      yield* Effect.promise(() => accepted)
      yield* Effect.disconnect(Scope.close(scope, Exit.void)).pipe(Effect.timeout("30 seconds"))
      yield* Effect.promise(() => closed)
    })
  )

  it.scopedLive("a large answer that is not read ends with its client, and its scope closes", () =>
    Effect.gen(function* () {
      for (const body of ["x".repeat(50_000_000), new Uint8Array(50_000_000)]) {
        const closed = yield* Deferred.make<void>()
        const { url } = yield* listen(() =>
          Effect.as(
            Effect.addFinalizer(() => Deferred.succeed(closed, undefined)),
            plain(body)
          )
        )
        const request = Http.get(url, { agent: false })
        request.on("error", () => undefined)
        yield* Effect.promise(() => once(request, "response"))
        expect(yield* Deferred.isDone(closed)).toBe(false)
        request.destroy()
        yield* Deferred.await(closed)
      }
    })
  )

  it.scopedLive("an effect whose client is gone is interrupted", () =>
    Effect.gen(function* () {
      const [began, interrupted] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { url } = yield* listen(() =>
        Effect.zipRight(Deferred.succeed(began, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
        )
      )
      const request = Http.get(url, { agent: false })
      request.on("error", () => undefined)
      yield* Deferred.await(began)
      request.destroy()
      yield* Deferred.await(interrupted)
    })
  )

  it.scopedLive(
    "what an effect dies of is told, and the client gets 500; an answer that breaks off is seen to be cut",
    () => {
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, message }) => void lines.push(`${String(message)} ${cause.toString()}`))
      return Effect.gen(function* () {
        const { url } = yield* listen(({ url }) => {
          if (url === "/dies") return Effect.die(new Error("no way"))
          return Effect.succeed(
            plain(
              (async function* () {
                yield "begun"
                await Promise.resolve()
                throw new Error("broken off")
              })()
            )
          )
        })
        const died = yield* Effect.promise(() => fetch(new URL("/dies", url)))
        expect(died.status).toBe(500)
        const cut = yield* Effect.either(Effect.tryPromise(async () => (await fetch(new URL("/cut", url))).text()))
        expect(cut._tag).toBe("Left")
        expect(lines).toHaveLength(2)
        expect(lines[0]).toMatch(/^GET of HTTP could not be answered.*no way/s)
        expect(lines[1]).toContain("broken off")
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    }
  )

  it.scopedLive("a request is a span below that of its client, without the query", () => {
    const spans: Array<Tracer.Span> = []
    const tracer = SpanTracer.make((span) => {
      spans.push(span)
      return {}
    })
    return Effect.gen(function* () {
      const { url } = yield* listen(() => Effect.succeed(plain("fine")))
      const [trace, span] = ["a".repeat(32), "b".repeat(16)]
      const headers = { traceparent: `00-${trace}-${span}-01` }
      expect(yield* Effect.promise(async () => (await fetch(url, { headers })).text())).toBe("fine")
      const [only] = spans
      expect([spans.length, only?.name, only?.traceId, only?.kind]).toEqual([1, "http.server GET", trace, "server"])
      expect(Option.map(only?.parent ?? Option.none(), ({ spanId }) => spanId)).toEqual(Option.some(span))
      expect(only?.attributes.get("url.path")).toBe("/x")
      expect(only?.attributes.get("http.response.status_code")).toBe(200)
    }).pipe(Effect.withTracer(tracer))
  })

  it.scopedLive("what is no port is a failure, in words", () =>
    Effect.gen(function* () {
      for (const port of [Number("abc"), -1, 70_000]) {
        const server = Http.createServer()
        const cause = yield* Effect.flip(HttpListener.listen(server, { host: "127.0.0.1", port }))
        expect(ListenAddress.reasonOf(cause)).toBe("a port is a whole number from 0 to 65535")
      }
    })
  )

  it.live("no request is answered any more when the scope is closed, and a port in use is a failure", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { server } = yield* Scope.extend(
        listen(() => Effect.succeed(plain("fine"))),
        scope
      )
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const second = yield* Effect.exit(
        Effect.scoped(HttpListener.listen(Http.createServer(), { host: "127.0.0.1", port }))
      )
      expect(Exit.isFailure(second) && second.cause.toString()).toContain("EADDRINUSE")
      yield* Scope.close(scope, Exit.void)
      expect([server.listening, server.listenerCount("request")]).toEqual([false, 0])
    })
  )
})
