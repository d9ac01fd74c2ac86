/** HTTP/1.1 where a cluster says so, or a server has nothing else: for the Connect protocol and for plain HTTP. */
import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Code, createClient } from "@connectrpc/connect"
import { HttpClientRequest } from "@effect/platform"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import { ServerReflection } from "@effect-xds/proto/grpc/reflection/v1/reflection"
import { FreePort, Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Http from "node:http"
import type { Socket } from "node:net"
import * as Mesh from "./Mesh.js"

const { checker, failure, portOf } = Mesh

const saying = (version: "httpProtocolOptions" | "http2ProtocolOptions") => ({
  typedExtensionProtocolOptions: {
    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": anyPack(
      HttpProtocolOptionsSchema,
      create(HttpProtocolOptionsSchema, {
        upstreamProtocolOptions: {
          case: "explicitHttpConfig",
          value: { protocolConfig: { case: version, value: {} } }
        }
      })
    )
  }
})

const connect = (options: Partial<XdsTransport.Options> = {}) =>
  checker("xds:///shop", { protocol: "connect", ...options })

/** A call that is answered when it is released. */
const gate = () => {
  let release = (): void => undefined
  const held = new Promise<void>((resolve) => (release = resolve))
  return { onCheck: (service: string) => (service === "hold" ? held : undefined), release: () => release() }
}

async function* requests() {
  yield await Promise.resolve({})
}

describe("HTTP/1.1", () => {
  it.scopedLive(
    "is spoken where a server has nothing else; connections are kept, and no more than calls under way",
    () =>
      Effect.gen(function* () {
        const { onCheck, release } = gate()
        const server = yield* Mesh.backend({ http1: true, onCheck })
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", server.port))
        const client = yield* connect()
        for (let call = 0; call < 20; call++) expect(yield* portOf(client)).toBe(server.port)
        expect(yield* Effect.promise(() => Mesh.all(client.watch({ service: "5" })))).toHaveLength(5)
        yield* Effect.promise(() => client.check({}, { timeoutMs: 5_000, headers: { trace: "7" } }))
        expect(server.seen.at(-1)?.headers.get("trace")).toBe("7")
        expect(server.seen.at(-1)?.headers.get("host")).toBe("shop")
        expect(server.connections()).toBe(1)
        const calls = Array.from({ length: 5 }, () => client.check({ service: "hold" }))
        yield* Waiting.eventually(() => expect(server.connections()).toBe(5))
        release()
        yield* Effect.promise(() => Promise.all(calls))
        yield* Mesh.counts(client, 40)
        expect(server.connections()).toBeLessThanOrEqual(20)
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("is spoken where the cluster says so, and HTTP/2 where it says that; an update takes it over", () =>
    Effect.gen(function* () {
      const old = yield* Mesh.backend({ http1: true })
      const young = yield* Mesh.backend()
      const plane = yield* Mesh.ControlPlane
      const set = (version: "httpProtocolOptions" | "http2ProtocolOptions", port: number) =>
        plane.set({ ...Mesh.service("shop", port), clusters: [Mesh.cluster("shop", saying(version))] })
      yield* set("httpProtocolOptions", old.port)
      const client = yield* connect()
      expect(yield* portOf(client)).toBe(old.port)
      yield* set("http2ProtocolOptions", young.port)
      yield* Mesh.answeredBy(client, young.port)
      // ★ What a cluster says is not tried in another way.
      yield* set("http2ProtocolOptions", old.port)
      const refused = yield* Waiting.until(
        "a refusal",
        Effect.tryPromise({ try: () => client.check({}), catch: String }).pipe(Effect.merge),
        (result) => typeof result === "string"
      )
      expect(refused).toContain("the server does not speak HTTP/2")
      yield* set("httpProtocolOptions", old.port)
      yield* Mesh.answeredBy(client, old.port)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("is none of gRPC's, and streams in both directions are refused with words", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const grpc = yield* checker()
      const error = yield* failure(() => grpc.check({}))
      expect(error.code).toBe(Code.Unavailable)
      expect(error.rawMessage).toContain("the server does not speak HTTP/2")
      const transport = yield* XdsTransport.make({ target: "xds:///shop", protocol: "connect" })
      const reflection = createClient(ServerReflection, transport)
      const both = yield* failure(() => reflection.serverReflectionInfo(requests())[Symbol.asyncIterator]().next())
      expect(both.code).toBe(Code.Unimplemented)
      expect(both.rawMessage).toBe(`streams in both directions need HTTP/2; 127.0.0.1:${server.port} speaks HTTP/1.1`)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("has a bound of connections: calls wait for one, but for their deadline", () =>
    Effect.gen(function* () {
      const { onCheck, release } = gate()
      const server = yield* Mesh.backend({ http1: true, onCheck })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const client = yield* connect()
      const held = Array.from({ length: 2 }, () => client.check({ service: "hold" }))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(2))
      const waiting = client.check({})
      const late = yield* failure(() => client.check({}, { timeoutMs: 100 }))
      expect(late.code).toBe(Code.DeadlineExceeded)
      expect(server.connections()).toBe(2)
      expect(server.seen).toHaveLength(2)
      release()
      yield* Effect.promise(() => Promise.all([...held, waiting]))
      expect(server.seen).toHaveLength(3)
      expect(server.connections()).toBe(2)
    }).pipe(Effect.provide(Mesh.meshOf({ maxHttp1Connections: 2 })))
  )

  it.scopedLive("updates fail no call: those under way finish, connections end, new calls go to the new place", () =>
    Effect.gen(function* () {
      const { onCheck, release } = gate()
      const old = yield* Mesh.backend({ http1: true, onCheck })
      const young = yield* Mesh.backend({ http1: true })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", old.port))
      const client = yield* connect()
      yield* Mesh.counts(client, 20)
      const held = client.check({ service: "hold" })
      yield* Waiting.eventually(() => expect(old.seen.at(-1)?.service).toBe("hold"))
      const { end, load } = Mesh.calling(client)
      const move = Effect.gen(function* () {
        yield* plane.set(Mesh.service("shop", young.port))
        yield* Waiting.eventually(() => expect(young.seen.length).toBeGreaterThan(20))
        // Those that are idle end at once.
        yield* Waiting.eventually(() => expect(old.connections()).toBe(1))
        release()
        yield* Waiting.eventually(() => expect(old.connections()).toBe(0))
        yield* end
      })
      const [calls] = yield* Effect.all([load, move], { concurrency: 2 })
      yield* Effect.promise(() => held)
      expect(old.seen.length + young.seen.length).toBe(calls + 21)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "a server that closes idle connections gets new ones; one that is killed is UNAVAILABLE, and comes back",
    () =>
      Effect.gen(function* () {
        const server = yield* Mesh.backend({
          http1: true,
          port: yield* FreePort.any(),
          onCheck: (name) => (name === "hold" ? new Promise(() => undefined) : undefined)
        })
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", server.port))
        const client = yield* connect()
        for (let round = 0; round < 10; round++) {
          yield* Effect.promise(() => client.check({}))
          server.goAway()
          yield* Waiting.eventually(() => expect(server.connections()).toBeLessThanOrEqual(1))
          // The client reads that a connection ended before a call is sent on it: in turns of the event loop, not in time.
          for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise(setImmediate))
        }
        yield* Mesh.lostWhileHeld(client, server)
        const again = yield* Mesh.backend({ http1: true, port: server.port })
        yield* Waiting.eventually(Effect.tryPromise(() => client.check({})))
        expect(again.seen.length).toBeGreaterThan(0)
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("nothing is left when a channel is closed, and its calls end", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true, onCheck: () => new Promise(() => undefined) })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const channels = yield* XdsChannels.XdsChannels
      const scope = yield* Scope.make()
      const channel = yield* Scope.extend(channels.open("xds:///shop", { http1: true }), scope)
      const client = yield* Scope.extend(connect(), scope)
      const call = yield* Effect.fork(failure(() => client.check({})))
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(1))
      yield* Scope.close(scope, Exit.void)
      expect((yield* call).code).toBe(Code.Unavailable)
      expect(channel.driver.connections).toBe(0)
      yield* Waiting.eventually(() => expect(server.connections()).toBe(0))
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("nothing is sent when a channel is closed: calls that wait for a connection end with it", () =>
    Effect.gen(function* () {
      const server = yield* Mesh.backend({ http1: true, onCheck: () => new Promise(() => undefined) })
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(connect(), scope)
      const calls = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 4 }, () => failure(() => client.check({}, { timeoutMs: 10_000 }))),
          { concurrency: 4 }
        )
      )
      yield* Waiting.eventually(() => expect(server.seen).toHaveLength(1))
      yield* Scope.close(scope, Exit.void)
      expect((yield* calls).map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => Code.Unavailable))
      yield* Waiting.eventually(() => expect(server.connections()).toBe(0))
      expect(server.seen).toHaveLength(1)
    }).pipe(Effect.provide(Mesh.meshOf({ maxHttp1Connections: 1 })))
  )
})

/** Tells method, path and body; `/early` answers before it has read what it is sent, `/600` without an end. */
const plain = Effect.acquireRelease(
  Effect.promise(async () => {
    const sockets = new Set<Socket>()
    const seen: Array<string> = []
    const http = Http.createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`)
      if (request.url === "/early") return void response.writeHead(413).end("too much")
      if (request.url === "/600") return void request.socket.write("HTTP/1.1 600 Odd\r\ncontent-length: 9\r\n\r\nodd")
      if (request.url === "/none") return void response.writeHead(204).end()
      // The connection goes as an idle one would, while the request is on its way.
      if (request.url === "/cut" && seen.filter((each) => each.endsWith("/cut")).length === 1) {
        return void request.socket.resetAndDestroy()
      }
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => chunks.push(chunk))
      request.on("end", () => {
        response.setHeader("set-cookie", ["a=1", "b=2"])
        response.end(
          JSON.stringify([
            request.method,
            request.url,
            request.headers.host,
            request.headers["content-length"] ?? request.headers["transfer-encoding"],
            Buffer.concat(chunks).toString()
          ])
        )
      })
    })
    http.on("connection", (socket: Socket) => {
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
    const listening = http.address()
    const port = typeof listening === "object" && listening !== null ? listening.port : 0
    return { port, http, sockets, seen }
  }),
  ({ http }) =>
    Effect.promise(
      () =>
        new Promise<void>((resolve) => {
          http.close(() => resolve())
          http.closeAllConnections()
        })
    )
)

describe("an HttpClient over HTTP/1.1", () => {
  it.scopedLive("sends bytes with their length and streams without; an answer that comes early, is empty or cut", () =>
    Effect.gen(function* () {
      const server = yield* plain
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const client = yield* XdsHttpClient.make({ target: "xds:///shop", timeoutMs: 5_000 })
      expect(yield* Effect.flatMap(client.get("/items?color=red"), (answer) => answer.json)).toEqual([
        "GET",
        "/items?color=red",
        "shop",
        null,
        ""
      ])
      const post = HttpClientRequest.post("/items").pipe(HttpClientRequest.bodyText("hello"))
      const posted = yield* client.execute(post)
      expect(posted.cookies.cookies["b"]?.value).toBe("2")
      expect(yield* posted.json).toEqual(["POST", "/items", "shop", "5", "hello"])
      const streamed = HttpClientRequest.put("/items").pipe(
        HttpClientRequest.bodyStream(Stream.make("a", "b").pipe(Stream.encodeText))
      )
      expect(yield* Effect.flatMap(client.execute(streamed), (answer) => answer.json)).toEqual([
        "PUT",
        "/items",
        "shop",
        "chunked",
        "ab"
      ])
      expect((yield* client.get("/none")).status).toBe(204)
      expect(server.sockets.size).toBe(1)
      const endless = Stream.forever(Stream.succeed(new Uint8Array(1_000))).pipe(Stream.tap(() => Effect.sleep(1)))
      const early = yield* client.execute(HttpClientRequest.post("/early").pipe(HttpClientRequest.bodyStream(endless)))
      expect([early.status, yield* early.text]).toEqual([413, "too much"])
      // ★ What is safe to send twice is sent again when a kept connection ends; what is not, is not.
      yield* client.get("/items")
      expect((yield* client.get("/cut")).status).toBe(200)
      server.seen.length = 0
      yield* client.get("/items")
      const cut = yield* Effect.flip(client.post("/cut"))
      expect(String(cut.cause)).toContain("was lost")
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive("fails where a stream cannot be sent again or a status is none, and keeps no connection for it", () =>
    Effect.gen(function* () {
      const server = yield* plain
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", server.port))
      const client = yield* XdsHttpClient.make({ target: "xds:///shop", timeoutMs: 10_000 })
      const chunks = Stream.make("a", "b").pipe(Stream.encodeText)
      for (let round = 0; round < 3; round++) {
        expect((yield* client.get("/items")).status).toBe(200)
        expect(String((yield* Effect.flip(client.get("/600"))).cause)).toContain("in the range of 200 to 599")
        expect((yield* client.get("/items")).status).toBe(200)
        server.seen.length = 0
        const cut = yield* Effect.flip(
          client.execute(HttpClientRequest.put("/cut").pipe(HttpClientRequest.bodyStream(chunks)))
        )
        expect(String(cut.cause)).toContain("was lost")
      }
      expect((yield* client.get("/items")).status).toBe(200)
    }).pipe(Effect.provide(Mesh.meshOf({ maxHttp1Connections: 1 })))
  )
})
