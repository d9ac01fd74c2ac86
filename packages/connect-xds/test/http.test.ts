import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as Cookies from "@effect/platform/Cookies"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { StatefulSessionSchema } from "@effect-xds/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session"
import { CookieBasedSessionStateSchema } from "@effect-xds/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie"
import { GrpcListener, Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
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
        response.setHeader("port", request.socket.localPort ?? 0)
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

  it.scopedLive("★ routes see the headers that are sent, and those for gRPC take no other requests", () =>
    Effect.gen(function* () {
      const [forGrpc, forJson, forDelete, forOthers] = yield* Effect.all([server, server, server, server])
      const plane = yield* Mesh.ControlPlane
      const prefix = { case: "prefix", value: "" } as const
      const exactly = (name: string, value: string) => ({
        pathSpecifier: prefix,
        headers: [{ name, headerMatchSpecifier: { case: "exactMatch" as const, value } }]
      })
      const ports = { grpc: forGrpc.port, json: forJson.port, delete: forDelete.port, others: forOthers.port }
      yield* plane.set({
        ...Mesh.service("shop"),
        routes: [
          Mesh.routes(
            "shop",
            ["*"],
            Mesh.to("grpc", { pathSpecifier: { case: "path", value: "/of-grpc" }, grpc: {} }),
            Mesh.to("grpc", { pathSpecifier: prefix, grpc: {} }),
            Mesh.to("grpc", exactly("content-type", "application/grpc")),
            Mesh.to("json", exactly("content-type", "application/json")),
            Mesh.to("delete", exactly(":method", "DELETE")),
            Mesh.to("others")
          )
        ],
        clusters: Object.keys(ports).map((name) => Mesh.cluster(name)),
        endpoints: Object.entries(ports).map(([name, port]) => Mesh.endpoints(name, port))
      })
      const client = yield* XdsHttpClient.make({ target: "xds:///shop" })
      const portOf = (request: HttpClientRequest.HttpClientRequest) =>
        Effect.map(client.execute(request), ({ headers }) => Number(headers["port"]))
      const json = HttpClientRequest.bodyUnsafeJson({})
      const typed = (type: string) => HttpClientRequest.bodyText("", type)
      expect(yield* portOf(HttpClientRequest.get("/of-grpc"))).toBe(ports.others)
      expect(yield* portOf(HttpClientRequest.post("/items").pipe(json))).toBe(ports.json)
      expect(yield* portOf(HttpClientRequest.del("/items"))).toBe(ports.delete)
      expect(yield* portOf(HttpClientRequest.post("/items").pipe(typed("application/grpc-web")))).toBe(ports.others)
      expect(yield* portOf(HttpClientRequest.post("/of-grpc").pipe(typed("application/grpc+proto")))).toBe(ports.grpc)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("★ a session begins with a cookie of the answer, and its requests go where the first one went", () =>
    Effect.gen(function* () {
      const backends = yield* Effect.all([server, server, server])
      const plane = yield* Mesh.ControlPlane
      const state = create(CookieBasedSessionStateSchema, { cookie: { name: "host", path: "/cart" } })
      const session = create(StatefulSessionSchema, {
        sessionState: { name: "cookie", typedConfig: anyPack(CookieBasedSessionStateSchema, state) }
      })
      const filter = {
        name: "sessions",
        configType: { case: "typedConfig" as const, value: anyPack(StatefulSessionSchema, session) }
      }
      yield* plane.set({
        ...Mesh.service("shop", ...backends.map(({ port }) => port)),
        listeners: [GrpcListener.make("shop", { filters: [filter] })]
      })
      const client = yield* XdsHttpClient.make({ target: "xds:///shop" })
      const cookies = yield* Ref.make(Cookies.empty)
      const browser = HttpClient.withCookiesRef(client, cookies)
      const portsOf = (of: HttpClient.HttpClient, path: string) =>
        Effect.map(
          Effect.replicateEffect(
            Effect.tap(of.get(path), ({ text }) => text),
            6
          ),
          (answers) => new Set(answers.map(({ headers }) => headers["port"]))
        )
      expect((yield* portsOf(browser, "/cart/7")).size).toBe(1)
      const { a, host } = (yield* Ref.get(cookies)).cookies
      expect([a?.value, host?.options?.path]).toEqual(["1", "/cart"])
      // Without the cookie, or with another path, there is no session.
      expect((yield* portsOf(client, "/cart/7")).size).toBe(3)
      expect((yield* portsOf(browser, "/items")).size).toBe(3)
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

  it.scopedLive("headers of one connection are not sent on: HTTP/2 has none of them", () =>
    Effect.gen(function* () {
      const backend = yield* server
      const plane = yield* Mesh.ControlPlane
      yield* plane.set({
        ...Mesh.service("shop", backend.port),
        routes: [Mesh.routes("shop", ["*"], Mesh.to("shop"))]
      })
      const client = yield* XdsHttpClient.make({ target: "xds:///shop" })
      for (const headers of [
        { "http2-settings": "AAMAAABk" },
        { te: "gzip" },
        { te: "trailers" },
        { upgrade: "h2c" }
      ]) {
        const { text } = yield* client.get("/items", { headers: { ...headers, kind: "a" } })
        expect(yield* text).toContain('"a"')
      }
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
