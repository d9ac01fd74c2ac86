import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Http2 from "node:http2"
import * as Mesh from "./Mesh.js"

/** Says what it was asked; `/busy` is 503 until it was asked twice; `/silent` says nothing, and `/early` does not hear. */
const server = Effect.acquireRelease(
  Effect.promise(async () => {
    let busy = 0
    const sessions = new Set<Http2.ServerHttp2Session>()
    const http = Http2.createServer((request, response) => {
      if (request.url === "/silent") return
      if (request.url === "/early") return void response.end("enough")
      if (request.url === "/busy" && ++busy <= 2) return void response.writeHead(503).end("busy")
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        response.setHeader("set-cookie", ["a=1", "b=2"])
        const body = Buffer.concat(chunks).toString()
        response.end(JSON.stringify([request.method, request.url, request.authority, request.headers["kind"], body]))
      })
    })
    http.on("session", (session) => {
      sessions.add(session)
      session.once("close", () => sessions.delete(session))
    })
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
    const listening = http.address()
    const port = typeof listening === "object" && listening !== null ? listening.port : 0
    return { port, http, sessions, busy: () => busy }
  }),
  ({ http, sessions }) =>
    Effect.promise(
      () =>
        new Promise<void>((resolve) => {
          http.close(() => resolve())
          for (const session of sessions) session.destroy()
        })
    )
)

describe("an HttpClient", () => {
  it.scopedLive("sends requests where xDS says, tries again what routes say, and ends by its deadline", () =>
    Effect.gen(function* () {
      const backend = yield* server
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", backend.port),
        routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop", { pathSpecifier: { case: "prefix", value: "/" } }))]
      })
      const client = yield* XdsHttpClient.make({ target: "xds:///shop" })
      const answer = yield* client.execute(
        HttpClientRequest.post("/items/7?color=red").pipe(
          HttpClientRequest.setHeader("kind", "test"),
          HttpClientRequest.bodyText("hello")
        )
      )
      expect(answer.status).toBe(200)
      expect(answer.cookies.cookies["b"]?.value).toBe("2")
      expect(yield* answer.json).toEqual(["POST", "/items/7?color=red", "shop", "test", "hello"])
      expect((yield* client.get("/busy")).status).toBe(200)
      expect(backend.busy()).toBe(3)
      const limited = yield* XdsHttpClient.make({ target: "xds:///shop", timeoutMs: 300 })
      const error = yield* Effect.flip(limited.get("/silent"))
      expect(String(error.cause)).toContain(`no answer from 127.0.0.1:${backend.port}`)
      const interrupted = yield* Effect.either(Effect.timeout(client.get("/silent"), "100 millis"))
      expect(interrupted._tag).toBe("Left")
      const far = yield* Effect.flip(
        Effect.flatMap(HttpClient.HttpClient, (http) => http.get("/items")).pipe(
          Effect.provide(XdsHttpClient.layer({ target: "xds:///nobody" }))
        )
      )
      expect(String("cause" in far ? far.cause : far)).toContain('Listener "nobody"')
      yield* Waiting.eventually(() => expect(backend.sessions.size).toBe(2))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("the name of a service may have a slash", () =>
    Effect.gen(function* () {
      const backend = yield* server
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("team/shop", backend.port),
        routes: [Mesh.routes("team/shop", ["team%2Fshop"], Mesh.to("team/shop"))]
      })
      const client = yield* XdsHttpClient.make({ target: "xds:///team/shop" })
      const answer = yield* client.get("/items/7", { urlParams: { color: "red" } })
      expect(yield* answer.json).toEqual(["GET", "/items/7?color=red", "team%2Fshop", null, ""])
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("★ a header that cannot be sent is refused, and takes no place of the cluster's or of the hosts'", () =>
    Effect.gen(function* () {
      const backend = yield* server
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", backend.port),
        routes: [Mesh.routes("shop", ["*"], Mesh.to("shop"))],
        clusters: [Mesh.cluster("shop", { circuitBreakers: { thresholds: [{ maxRequests: 1 }] } })]
      })
      const client = yield* XdsHttpClient.make({
        target: "xds:///shop",
        anyHost: true,
        maxHosts: 1,
        hostIdleTime: "10 millis"
      })
      const get = (host: string, headers: Record<string, string> = {}) =>
        Effect.flatMap(client.get(`http://${host}/items`, { headers }), ({ text }) => text)
      yield* get("a.example")
      const refused = yield* Effect.flip(get("a.example", { kind: "日本" }))
      expect("cause" in refused ? String(refused.cause) : "").toContain("TypeError")
      // The place of the first one is free when its stream is closed.
      yield* Waiting.eventually(get("a.example"))
      yield* Waiting.eventually(get("b.example"))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("ends the stream of a body that nobody reads any more", () =>
    Effect.gen(function* () {
      const backend = yield* server
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", backend.port))
      const make = (target: string, timeoutMs?: number) => XdsHttpClient.make({ target, timeoutMs })
      const shop = yield* make("xds:///shop")
      let open = 0
      const silent = Stream.acquireRelease(
        Effect.sync(() => open++),
        () => Effect.sync(() => open--)
      ).pipe(Stream.flatMap(() => Stream.concat(Stream.make(new Uint8Array(1_000)), Stream.never)))
      const requests = {
        "no listener": [yield* make("xds:///nobody"), "/"],
        "an answer before its end": [shop, "/early"],
        "the deadline": [yield* make("xds:///shop", 300), "/silent"],
        interruption: [shop, "/silent"]
      } as const
      for (const [name, [client, path]] of Object.entries(requests)) {
        const request = HttpClientRequest.post(path).pipe(HttpClientRequest.bodyStream(silent))
        const answer = yield* Effect.fork(Effect.flatMap(client.execute(request), ({ text }) => text))
        if (name === "interruption") {
          yield* Waiting.eventually(() => expect([name, open]).toEqual([name, 1]))
          yield* Fiber.interrupt(answer)
        }
        yield* Fiber.await(answer)
        yield* Waiting.eventually(() => expect([name, open]).toEqual([name, 0]))
      }
    }).pipe(Effect.provide(Mesh.mesh))
  )
})
