/** What is left of a call at a server of HTTP/2, and how a reset of that server is told. */
import { Code, createClient } from "@connectrpc/connect"
import { encodeEnvelope } from "@connectrpc/connect/protocol"
import { XdsTransport } from "@effect-xds/connect-xds"
import { ServerReflection } from "@effect-xds/proto/grpc/reflection/v1/reflection"
import { Health } from "@effect-xds/proto/grpc/health/v1/health"
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as Http2 from "node:http2"
import * as Mesh from "./Mesh.js"

type Does = (stream: Http2.ServerHttp2Stream, headers: Http2.IncomingHttpHeaders) => void

/** A server that does at each call what it is told to, and never ends a stream of its own accord. */
const scripted = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = Http2.createServer()
    const open = new Set<Http2.ServerHttp2Stream>()
    const resets: Array<number> = []
    const script: { does: Does } = { does: () => undefined }
    server.on("stream", (stream, headers) => {
      open.add(stream)
      stream.on("error", () => undefined)
      stream.once("close", () => {
        open.delete(stream)
        resets.push(stream.rstCode)
      })
      stream.resume()
      script.does(stream, headers)
    })
    const sessions = new Set<Http2.ServerHttp2Session>()
    server.on("session", (session) => {
      sessions.add(session)
      session.on("error", () => undefined)
      session.once("close", () => sessions.delete(session))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return { server, open, resets, script, sessions, port }
  }),
  ({ server, sessions }) =>
    Effect.sync(() => {
      server.close()
      for (const session of sessions) session.destroy()
    })
)

/** The same, and a client of it. */
const served = (options: Partial<XdsTransport.Options> = {}) =>
  Effect.gen(function* () {
    const backend = yield* scripted
    const plane = yield* Mesh.ControlPlane
    yield* plane.set(Mesh.service("shop", backend.port))
    const transport = yield* XdsTransport.make({ target: "xds:///shop", ...options })
    return { ...backend, client: createClient(Health, transport), both: createClient(ServerReflection, transport) }
  })

const answering =
  (...body: ReadonlyArray<Uint8Array>): Does =>
  (stream, headers) => {
    stream.respond({ ":status": 200, "content-type": headers["content-type"] })
    for (const chunk of body) stream.write(chunk)
  }

/** Answers that are an error, and go on after that. */
const endless: Readonly<Record<string, Does>> = {
  "a page": (stream) => {
    stream.respond({ ":status": 503, "content-type": "text/html" })
    stream.write(Buffer.alloc(300_000))
  },
  "too large": answering(encodeEnvelope(0, new Uint8Array(1_000))),
  "no message": answering(encodeEnvelope(0, Uint8Array.of(0x08)))
}

describe("a call that failed", () => {
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    it.scopedLive(`leaves no stream at the server, with a deadline or without: ${protocol}`, () =>
      Effect.gen(function* () {
        const { client, open, script } = yield* served({ protocol, readMaxBytes: 100 })
        for (const [name, does] of Object.entries(endless)) {
          script.does = does
          for (const options of [{}, { timeoutMs: 60_000 }]) {
            yield* Mesh.failure(() => Mesh.all(client.watch({}, options)))
            yield* Waiting.eventually(() => expect([name, open.size]).toEqual([name, 0]))
            // What is wrong with a message of a unary call is seen at its end, which does not come.
            if (name !== "a page") continue
            yield* Mesh.failure(() => client.check({}, options))
            yield* Waiting.eventually(() => expect([name, open.size]).toEqual([name, 0]))
          }
        }
      }).pipe(Effect.provide(Mesh.mesh))
    )
  }

  it.scopedLive("leaves none of its attempts before", () =>
    Effect.gen(function* () {
      const { client, open, port, script } = yield* served()
      const plane = yield* Mesh.ControlPlane
      const routes = [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))]
      yield* plane.set({ ...Mesh.service("shop", port), routes })
      let attempts = 0
      script.does = (stream, headers) => {
        attempts++
        endless["a page"]?.(stream, headers)
      }
      // Until the client has the new routes, a call has one attempt.
      yield* Waiting.eventually(
        Effect.gen(function* () {
          attempts = 0
          const error = yield* Mesh.failure(() => Mesh.all(client.watch({}, { timeoutMs: 60_000 })))
          expect([error.code, attempts]).toEqual([Code.Unavailable, 4])
        })
      )
      yield* Waiting.eventually(() => expect(open.size).toBe(0))
    }).pipe(Effect.provide(Mesh.mesh))
  )
})

describe("a call that failed before its answer was read", () => {
  it.scopedLive("does not hold the connection when that is not needed any more", () =>
    Effect.gen(function* () {
      const { client, open, script, sessions } = yield* served({ readMaxBytes: 100 })
      const plane = yield* Mesh.ControlPlane
      script.does = (stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true })
        stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
        stream.write(encodeEnvelope(0, new Uint8Array()))
        // Behind what the client has read: more than waits for a reader.
        stream.session?.ping(() => stream.end(encodeEnvelope(0, new Uint8Array(120_000))))
      }
      const answers = client.watch({}, { timeoutMs: 60_000 })[Symbol.asyncIterator]()
      yield* Effect.promise(() => answers.next())
      yield* Waiting.eventually(() => expect(open.size).toBe(0))
      const error = yield* Mesh.failure(() => answers.next())
      expect(error.code).toBe(Code.ResourceExhausted)
      const other = yield* Mesh.backend()
      yield* plane.set(Mesh.service("shop", other.port))
      yield* Waiting.eventually(() => expect(sessions.size).toBe(0))
    }).pipe(Effect.provide(Mesh.mesh))
  )
})

/** Answers with a status of gRPC. */
const ending =
  (status: string): Does =>
  (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true })
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": status }))
    stream.end(encodeEnvelope(0, new Uint8Array()))
  }

async function* endlessRequests() {
  yield {}
  await new Promise(() => undefined)
}

describe("a call that the server has ended", () => {
  for (const [name, status] of Object.entries({ success: "0", "an error": "7" })) {
    it.scopedLive(`leaves no stream that its requests could come on, and no reset says that it failed: ${name}`, () =>
      Effect.gen(function* () {
        const { both, client, open, resets, script } = yield* served()
        script.does = ending(status)
        for (const options of [{}, { timeoutMs: 60_000 }]) {
          const calls: ReadonlyArray<() => Promise<unknown>> = [
            () => Mesh.all(both.serverReflectionInfo(endlessRequests(), options)),
            () => Mesh.all(client.watch({}, options))
          ]
          for (const call of calls) {
            const exit = yield* Effect.exit(Effect.tryPromise(call))
            expect(exit._tag).toBe(status === "0" ? "Success" : "Failure")
            yield* Waiting.eventually(() => expect(open.size).toBe(0))
          }
        }
        expect(resets).toEqual([0, 0, 0, 0])
      }).pipe(Effect.provide(Mesh.mesh))
    )
  }
})

const resetting =
  (code: number, isBegun: boolean): Does =>
  (stream, headers) => {
    if (!isBegun) return stream.close(code)
    // ★ Node ends what it resets; with trailers to come that is no end yet.
    stream.respond({ ":status": 200, "content-type": headers["content-type"] }, { waitForTrailers: true })
    stream.write(Uint8Array.of(0, 0, 0), () => setImmediate(() => stream.close(code)))
  }

describe("a reset of the server", () => {
  const codes: Readonly<Record<string, readonly [number, Code]>> = {
    REFUSED_STREAM: [Http2.constants.NGHTTP2_REFUSED_STREAM, Code.Unavailable],
    CANCEL: [Http2.constants.NGHTTP2_CANCEL, Code.Canceled],
    ENHANCE_YOUR_CALM: [Http2.constants.NGHTTP2_ENHANCE_YOUR_CALM, Code.ResourceExhausted],
    INADEQUATE_SECURITY: [Http2.constants.NGHTTP2_INADEQUATE_SECURITY, Code.PermissionDenied],
    INTERNAL_ERROR: [Http2.constants.NGHTTP2_INTERNAL_ERROR, Code.Internal],
    PROTOCOL_ERROR: [Http2.constants.NGHTTP2_PROTOCOL_ERROR, Code.Internal]
  }

  it.scopedLive("is the status that gRPC has for it, before the headers and behind them", () =>
    Effect.gen(function* () {
      const { client, script } = yield* served()
      for (const [name, [code, expected]] of Object.entries(codes)) {
        for (const isBegun of [false, true]) {
          script.does = resetting(code, isBegun)
          const calls = { unary: () => client.check({}), stream: () => Mesh.all(client.watch({})) }
          for (const [kind, call] of Object.entries(calls)) {
            const error = yield* Mesh.failure(call)
            expect([name, kind, isBegun, Code[error.code]]).toEqual([name, kind, isBegun, Code[expected]])
          }
        }
      }
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("that refuses a call again is UNAVAILABLE, and tried again where the route says so", () =>
    Effect.gen(function* () {
      const { client, port, script } = yield* served()
      const plane = yield* Mesh.ControlPlane
      const routes = [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))]
      yield* plane.set({ ...Mesh.service("shop", port), routes })
      // Until the client has the new routes, a call is not tried again.
      yield* Waiting.eventually(
        Effect.tryPromise(() => {
          let refusals = 0
          script.does = (stream, headers) => {
            if (++refusals > 2) return ending("0")(stream, headers)
            stream.close(Http2.constants.NGHTTP2_REFUSED_STREAM)
          }
          return client.check({})
        })
      )
    }).pipe(Effect.provide(Mesh.mesh))
  )
})
