/** Further services on the port, what stands before calls, HTTP servers of one's own, Unix sockets. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { Code, ConnectError } from "@connectrpc/connect"
import {
  LoadReportingService,
  LoadStatsRequestSchema,
  LoadStatsResponseSchema
} from "@effect-xds/proto/envoy/service/load_stats/v3/lrs"
import { AggregatedDiscoveryService } from "@effect-xds/proto/envoy/service/discovery/v3/ads"
import { eventually } from "@effect-xds/testing/Waiting"
import { ServerTransport, Status } from "@effect-xds/transport"
import * as Certificates from "@effect-xds/testing/Certificates"
import { ConnectApp, ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import type { Interceptor } from "@effect-xds/transport-connect/Interceptor"
import { describe, expect, it } from "@effect/vitest"
import * as Grpc from "@grpc/grpc-js"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { once } from "node:events"
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { mount } from "../src/server/Mounting.js"
import * as GrpcClient from "./GrpcClient.js"
import * as Http2Client from "./Http2Client.js"
import { answering, frame, request, serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)

const loadPath = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"

const report = (id: string): Buffer =>
  Buffer.from(toBinary(LoadStatsRequestSchema, create(LoadStatsRequestSchema, { node: { id } })))

/** A load reporting server that names the node in its answer, and what became of its calls. */
const loadReporting = () => {
  const ended: Array<string> = []
  const services: ConnectServer.Options["services"] = (router) =>
    router.service(LoadReportingService, {
      async *streamLoadStats(requests, context) {
        context.signal.addEventListener("abort", () => ended.push("aborted"), { once: true })
        try {
          for await (const { node } of requests) {
            if (node?.id === "bad") throw new ConnectError("not you", Code.PermissionDenied)
            yield { clusters: [node?.id ?? ""] }
          }
        } finally {
          ended.push("ended")
        }
      }
    })
  return { services, ended }
}

const clusters = (bytes: Buffer | undefined): ReadonlyArray<string> =>
  fromBinary(LoadStatsResponseSchema, bytes ?? Buffer.alloc(0)).clusters

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "xds-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

describe("a further service", () => {
  it.scopedLive("★ is served beside xDS to a real gRPC client, and is listed and healthy", () =>
    Effect.gen(function* () {
      const { ended, services } = loadReporting()
      const { address } = yield* serve({ services }, answering)
      const client = yield* GrpcClient.connect(address)
      const load = GrpcClient.open(client, loadPath)
      const ads = GrpcClient.open(client)
      load.stream.write(report("n1"))
      ads.stream.write(request("t"))
      yield* eventually(() => expect([load.messages.length, ads.messages.length]).toEqual([1, 1]))
      expect(clusters(load.messages[0])).toEqual(["n1"])
      load.stream.write(report("n2"))
      yield* eventually(() => expect(clusters(load.messages[1])).toEqual(["n2"]))
      load.stream.end()
      expect((yield* wait(load.status)).code).toBe(Grpc.status.OK)
      expect(ended).toContain("ended")
      const health = JSON.stringify({ service: LoadReportingService.typeName })
      const post = { method: "POST", headers: { "content-type": "application/json" }, body: health }
      const answer = yield* wait(fetch(`http://${address}/grpc.health.v1.Health/Check`, post))
      expect(yield* wait(answer.json())).toEqual({ status: "SERVING" })
    })
  )

  it.scopedLive("fails with its own errors, counts towards the bound, and is aborted with its client", () =>
    Effect.gen(function* () {
      const { ended, services } = loadReporting()
      const { address } = yield* serve({ services, maxStreams: 1 }, answering)
      const client = yield* GrpcClient.connect(address)
      const bad = GrpcClient.open(client, loadPath)
      bad.stream.write(report("bad"))
      expect((yield* wait(bad.status)).code).toBe(Grpc.status.PERMISSION_DENIED)
      const one = GrpcClient.open(client, loadPath)
      one.stream.write(report("n1"))
      yield* eventually(() => expect(one.messages.length).toBe(1))
      expect((yield* wait(GrpcClient.open(client).status)).code).toBe(Grpc.status.RESOURCE_EXHAUSTED)
      const other = GrpcClient.open(client, loadPath)
      other.stream.write(report("n2"))
      expect((yield* wait(other.status)).code).toBe(Grpc.status.RESOURCE_EXHAUSTED)
      ended.length = 0
      one.stream.cancel()
      yield* eventually(() => expect([...ended].sort()).toEqual(["aborted", "ended"]))
      const after = GrpcClient.open(client)
      after.stream.write(request("t"))
      yield* eventually(() => expect(after.messages.length).toBe(1))
    })
  )

  it.scopedLive("ends with the server, also where its code does not", () =>
    Effect.gen(function* () {
      const services: ConnectServer.Options["services"] = (router) =>
        router.service(LoadReportingService, {
          async *streamLoadStats(requests) {
            for await (const { node } of requests) {
              yield { clusters: [node?.id ?? ""] }
              await new Promise(() => undefined)
            }
          }
        })
      const scope = yield* Scope.make()
      const { address } = yield* Scope.extend(serve({ services, shutdownGrace: "1 second" }), scope)
      const client = yield* GrpcClient.connect(address)
      const load = GrpcClient.open(client, loadPath)
      load.stream.write(report("n1"))
      yield* eventually(() => expect(load.messages.length).toBe(1))
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(load.status)).code).toBe(Grpc.status.UNAVAILABLE)
    })
  )

  it.scopedLive("may be neither one of xDS nor one that throws when it is added", () =>
    Effect.gen(function* () {
      const reasonOf = (services: ConnectServer.Options["services"]) =>
        Effect.map(Effect.flip(serve({ services })), ({ message }) => message)
      expect(yield* reasonOf((router) => router.service(AggregatedDiscoveryService, {}))).toMatch(
        /services cannot be added.*StreamAggregatedResources is served by the transport itself/
      )
      expect(
        yield* reasonOf(() => {
          throw new Error("no database")
        })
      ).toContain("no database")
      // The types let it pass.
      const late = (): unknown => Promise.reject(new Error("away"))
      expect(yield* reasonOf(late)).toContain("`services` gave a promise; services are added before it returns")
    })
  )
})

describe("an interceptor", () => {
  const guard: Interceptor = (call) =>
    call.headers["authorization"] === "Bearer good"
      ? Effect.succeed(call)
      : Effect.fail(Status.make("UNAUTHENTICATED", "say who you are"))

  it.scopedLive("★ refuses streams, unary calls and calls of other services, before anything is read", () =>
    Effect.gen(function* () {
      const { services } = loadReporting()
      const { address, logs, streams } = yield* serve({ services, interceptors: [guard] }, answering)
      const client = yield* GrpcClient.connect(address)
      for (const path of [undefined, loadPath, "/grpc.health.v1.Health/Watch"]) {
        const call = GrpcClient.open(client, path)
        call.stream.write(Buffer.alloc(0))
        call.stream.end()
        const status = yield* wait(call.status)
        expect([status.code, status.details]).toEqual([Grpc.status.UNAUTHENTICATED, "say who you are"])
      }
      const fetchPath = `http://${address}/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters`
      const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
      expect((yield* wait(fetch(fetchPath, post))).status).toBe(401)
      expect(streams).toEqual([])
      expect(logs.some(({ annotations }) => annotations["reason"] === "refused by an interceptor")).toBe(true)
      const metadata = new Grpc.Metadata()
      metadata.set("authorization", "Bearer good")
      const bytes = (message: Buffer): Buffer => message
      const good = client.makeBidiStreamRequest(
        "/" + AggregatedDiscoveryService.typeName + "/StreamAggregatedResources",
        bytes,
        bytes,
        metadata
      )
      good.write(request("t"))
      yield* wait(once(good, "data"))
      expect(streams.length).toBe(1)
      good.on("error", () => undefined)
      good.cancel()
    })
  )

  it.scopedLive(
    "tells the server of other headers and of another peer, one after the other, and hears of the end",
    () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const named =
          (name: string): Interceptor =>
          (call) =>
            Effect.as(
              Effect.acquireRelease(
                Effect.sync(() => seen.push(`begins ${name}`)),
                () => Effect.sync(() => seen.push(`ends ${name}`))
              ),
              {
                path: "/elsewhere",
                headers: { ...call.headers, "x-seen": `${call.headers["x-seen"] ?? ""}${name}` },
                peer: { ...call.peer, identity: { commonName: name, subjectAltNames: [], fingerprint: "" } }
              }
            )
        const { address, streams } = yield* serve({ interceptors: [named("a"), named("b")] }, answering)
        const client = yield* GrpcClient.connect(address)
        const call = GrpcClient.open(client)
        call.stream.write(request("t"))
        yield* eventually(() => expect(call.messages.length).toBe(1))
        expect([streams[0]?.stream.headers["x-seen"], streams[0]?.stream.peer.identity?.commonName]).toEqual([
          "ab",
          "b"
        ])
        expect(seen).toEqual(["begins a", "begins b"])
        call.stream.cancel()
        yield* eventually(() => expect(seen).toEqual(["begins a", "begins b", "ends b", "ends a"]))
      })
  )

  it.scopedLive.each(["application/grpc", "application/grpc-web+proto"])(
    "that knows better who the peer is gives the address whose streams are limited, %s",
    (contentType) =>
      Effect.gen(function* () {
        const proxied: Interceptor = (call) =>
          Effect.succeed({ ...call, peer: { ...call.peer, address: `${call.headers["x-real-ip"] ?? ""}:1` } })
        const { port, streams } = yield* serve({ maxStreamsPerPeer: 2, interceptors: [proxied] }, answering)
        const session = yield* Http2Client.connect(port)
        const open = (address: string) =>
          Http2Client.open(session, { "content-type": contentType, "x-real-ip": address })
        for (const address of ["1.1.1.1", "2.2.2.2", "1.1.1.1", "2.2.2.2"]) {
          const before = streams.length
          open(address)
          yield* eventually(() => expect(streams.length).toBe(before + 1))
        }
        const refused = open("1.1.1.1")
        refused.stream.end()
        const trailers = yield* wait(refused.closed)
        if (contentType === "application/grpc") expect(trailers["grpc-status"]).toBe("8")
        else expect(Buffer.concat(refused.chunks).toString()).toContain("grpc-status: 8")
        expect(streams.length).toBe(4)
        expect(streams.flatMap(({ ends }) => ends)).toEqual([])
      })
  )

  it.scopedLive("that throws, lies or never ends fails its own call only", () =>
    Effect.gen(function* () {
      const never = yield* Deferred.make<never>()
      let looking = 0
      let interrupted = 0
      // @ts-expect-error It gives what code without types may give.
      const bad: Interceptor = (call) => {
        switch (call.headers["x-bad"]) {
          case "throws":
            throw new Error("ouch")
          case "lies":
            return Effect.succeed(null)
          case "promises":
            return Promise.reject(new Error("away"))
          case "hides":
            return Effect.succeed({ ...call, peer: {} })
          case "status":
            return Effect.fail("nonsense")
          case "hangs":
            looking++
            return Effect.onInterrupt(Deferred.await(never), () => Effect.sync(() => interrupted++))
          default:
            return Effect.succeed(call)
        }
      }
      const { address, logs, port } = yield* serve({ interceptors: [bad], interceptTimeout: "300 millis" }, answering)
      const session = yield* Http2Client.connect(port)
      const statusOf = (kind: string) =>
        Effect.map(
          wait(Http2Client.open(session, { "x-bad": kind }).closed),
          (headers) => `${String(headers["grpc-status"])} ${String(headers["grpc-message"])}`
        )
      expect(yield* statusOf("throws")).toBe("13 internal error")
      expect(yield* statusOf("lies")).toBe("13 internal error")
      expect(yield* statusOf("promises")).toBe("13 internal error")
      expect(yield* statusOf("hides")).toBe("13 internal error")
      expect(yield* statusOf("status")).toBe("13 internal error")
      expect(yield* statusOf("hangs")).toBe("14 the server could not look at the call within 300 ms")
      expect(logs.filter(({ message }) => message === "an interceptor failed").length).toBe(5)
      // Its client goes away while it is looked at.
      const gone = Http2Client.open(session, { "x-bad": "hangs" })
      yield* eventually(() => expect(looking).toBe(2))
      gone.stream.close(Http2.constants.NGHTTP2_CANCEL)
      yield* eventually(() => expect(interrupted).toBe(2))
      const good = Http2Client.open(session)
      good.stream.write(frame(request("t")))
      yield* eventually(() => expect(good.chunks.length).toBeGreaterThan(0))
      const client = yield* GrpcClient.connect(address)
      const call = GrpcClient.open(client)
      call.stream.write(request("t"))
      yield* eventually(() => expect(call.messages.length).toBe(1))
    })
  )

  it.scopedLive("that is at work when the server ends is given up", () =>
    Effect.gen(function* () {
      const began = yield* Deferred.make<void>()
      const hangs: Interceptor = () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.never)
      const scope = yield* Scope.make()
      const { address } = yield* Scope.extend(serve({ interceptors: [hangs] }), scope)
      const client = yield* GrpcClient.connect(address)
      const call = GrpcClient.open(client)
      yield* Deferred.await(began)
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(call.status)).code).toBe(Grpc.status.UNAVAILABLE)
    })
  )
})

/** Begins to listen, and ends all at the end of the scope. */
const listen = <S extends Net.Server>(server: S) =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: S; readonly port: number }>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resume(Effect.succeed({ server, port: typeof address === "object" ? (address?.port ?? 0) : 0 }))
      })
    }),
    ({ server }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        if (server instanceof Http.Server) server.closeAllConnections()
      })
  )

describe("an HTTP server of one's own", () => {
  it("has its events back when it is left, also where others stand before them by then", () => {
    const server = Http.createServer()
    const taken: Array<string> = []
    const take = (): boolean => taken.push("taken") > 0
    const unmount = mount(server, { onStream: take, onRequest: take })
    server.on("stream", () => taken.push("own"))
    const emit = server.emit.bind(server)
    server.emit = (event: string, ...args: ReadonlyArray<unknown>) => emit(event, ...args)
    const stream = { respond: () => undefined, session: undefined }
    server.emit("stream", stream, {})
    unmount()
    server.emit("stream", stream, {})
    expect(taken).toEqual(["taken", "own"])
  })

  it.scopedLive("★ of node:http2 keeps its handlers for what is not xDS, also those that come later", () =>
    Effect.gen(function* () {
      const own: Array<string> = []
      const http2 = Http2.createServer()
      http2.on("stream", (stream: Http2.ServerHttp2Stream, headers) => {
        own.push(`stream ${headers[":path"] ?? ""}`)
        stream.respond({ ":status": 204 }, { endStream: true })
      })
      const { port } = yield* listen(http2)
      const scope = yield* Scope.make()
      const { address, streams } = yield* Scope.extend(
        serve({ server: http2, shutdownGrace: "1 second" }, answering),
        scope
      )
      expect(address).toBe(`127.0.0.1:${port}`)
      http2.on("request", ({ url }: Http2.Http2ServerRequest) => own.push(`request ${url}`))
      const client = yield* GrpcClient.connect(address)
      const call = GrpcClient.open(client)
      call.stream.write(request("t"))
      yield* eventually(() => expect(call.messages.length).toBe(1))
      expect(own).toEqual([])
      const session = yield* Http2Client.connect(port)
      const page = yield* wait(Http2Client.open(session, { ":path": "/page", ":method": "GET" }).headers)
      expect(page[":status"]).toBe(204)
      expect(own).toEqual(["stream /page", "request /page"])
      // What is served there ends; the server of one's own goes on.
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(call.status)).code).toBe(Grpc.status.UNAVAILABLE)
      expect(streams[0]?.ends).toEqual(["server is shutting down"])
      const after = yield* wait(Http2Client.open(session).headers)
      expect([after[":status"], own.length]).toEqual([204, 4])
      session.close()
    })
  )

  it.scopedLive("with TLS knows its clients, and of HTTP/1.1 serves Connect and gRPC-Web", () =>
    Effect.gen(function* () {
      const { authority, server: tls } = yield* Certificates.mutual
      const secure = Http2.createSecureServer({ ...tls, allowHTTP1: true })
      const { port } = yield* listen(secure)
      yield* serve({ server: secure }, answering)
      const credentials = Grpc.credentials.createSsl(Buffer.from(authority.cert), null, null, {
        checkServerIdentity: () => undefined
      })
      // Node 26 takes no IP address for the name of a server, which grpc-js says otherwise.
      const options = { "grpc.ssl_target_name_override": "localhost" }
      const client = yield* GrpcClient.connect(`127.0.0.1:${port}`, credentials, options)
      const call = GrpcClient.open(client)
      call.stream.write(request("t"))
      const failed = yield* Effect.race(
        Effect.as(
          eventually(() => expect(call.messages.length).toBe(1)),
          undefined
        ),
        Effect.map(wait(call.status), ({ details }) => details)
      )
      expect(failed).toBeUndefined()
      call.stream.cancel()
      client.close()

      const plain = Http.createServer((_, response) => response.writeHead(418).end())
      const { port: other } = yield* listen(plain)
      yield* serve({ server: plain }, answering)
      const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
      const base = `http://127.0.0.1:${other}`
      expect((yield* wait(fetch(`${base}/grpc.health.v1.Health/Check`, post))).status).toBe(200)
      expect((yield* wait(fetch(`${base}/other`, post))).status).toBe(418)
    })
  )

  it.scopedLive("is asked by an application that mounts it by itself", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(ConnectServer.layerApp({ shutdownGrace: "1 second" }))
      const app = yield* Effect.provide(ConnectApp.ConnectApp, context)
      const transport = yield* Effect.provide(ServerTransport.ServerTransport, context)
      const http2 = Http2.createServer()
      const onStream = (...[stream, headers, flags, rawHeaders]: Parameters<typeof app.onStream>): void => {
        if (!app.onStream(stream, headers, flags, rawHeaders)) stream.respond({ ":status": 404 }, { endStream: true })
      }
      http2.on("stream", onStream)
      const { port } = yield* listen(http2)
      const session = yield* Http2Client.connect(port)
      const early = yield* wait(Http2Client.open(session).closed)
      expect(early["grpc-message"]).toBe("the control plane does not serve")
      const ends: Array<string> = []
      const accept = (stream: ServerTransport.AcceptedStream): ServerTransport.StreamHandler => ({
        onRequest: () => void stream.write({ body: Buffer.from("ok"), suffix: new Uint8Array() }),
        onWritable: () => undefined,
        onEnd: (reason) => void ends.push(reason)
      })
      const scope = yield* Scope.make()
      yield* Scope.extend(transport.serve(accept), scope)
      expect((yield* Effect.flip(Effect.scoped(transport.serve(accept)))).message).toContain(
        "another server serves on it"
      )
      const call = Http2Client.open(session)
      call.stream.write(frame(request("t")))
      yield* eventually(() => expect(Buffer.concat(call.chunks).toString()).toContain("ok"))
      expect((yield* wait(Http2Client.open(session, { ":path": "/page" }).headers))[":status"]).toBe(404)
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(call.closed))["grpc-status"]).toBe("14")
      expect(ends).toEqual(["server is shutting down"])
      session.close()
    })
  )
})

describe("a call that an application passes on late", () => {
  /** Calls that the client opens and gives up; each is passed on after that, by `pass`. */
  const late = (options: ConnectServer.AppOptions) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(Layer.build(ConnectServer.layerApp(options)), scope)
      const app = yield* Effect.provide(ConnectApp.ConnectApp, context)
      const waiting: Array<() => boolean> = []
      let gone = 0
      const http1 = Http.createServer((request, response) => {
        waiting.push(() => app.onRequest(request, response))
        response.once("close", () => gone++)
      })
      const http2 = Http2.createServer()
      const onStream = (...call: Parameters<typeof app.onStream>): void => {
        call[0].on("error", () => undefined)
        waiting.push(() => app.onStream(...call))
        call[0].once("close", () => gone++)
      }
      http2.on("stream", onStream)
      const compatible = Http2.createServer((request, response) => {
        waiting.push(() => app.onRequest(request, response))
        response.once("close", () => gone++)
      })
      const path = "/grpc.health.v1.Health/Check"
      const request = Http.request({ port: (yield* listen(http1)).port, path, method: "POST", agent: false })
      request.on("error", () => undefined)
      request.setHeader("content-type", "application/json")
      request.end("{}")
      const streams = yield* Effect.forEach([http2, compatible], (server) =>
        Effect.gen(function* () {
          const session = yield* Http2Client.connect((yield* listen(server)).port)
          return Http2Client.open(session).stream
        })
      )
      yield* eventually(() => expect(waiting.length).toBe(3))
      request.destroy()
      for (const stream of streams) stream.close(Http2.constants.NGHTTP2_CANCEL)
      yield* eventually(() => expect(gone).toBe(3))
      const close = Effect.disconnect(Scope.close(scope, Exit.void)).pipe(Effect.timeout("30 seconds"))
      return { context, scope, close, pass: () => waiting.map((pass) => pass()) }
    })

  const noHandler: ServerTransport.StreamHandler = {
    onRequest: () => undefined,
    onWritable: () => undefined,
    onEnd: () => undefined
  }

  it.scopedLive("is not served if its client has gone meanwhile, and does not hold up the end", () =>
    Effect.gen(function* () {
      const { close, context, pass, scope } = yield* late({ shutdownGrace: "10 minutes" })
      const transport = yield* Effect.provide(ServerTransport.ServerTransport, context)
      yield* Scope.extend(
        transport.serve(() => noHandler),
        scope
      )
      expect(pass()).toEqual([true, true, true])
      yield* close
    })
  )

  it.scopedLive("is not looked at by interceptors then, whose scopes nobody would close", () =>
    Effect.gen(function* () {
      let asked = 0
      const interceptors: ReadonlyArray<Interceptor> = [(call) => Effect.sync(() => (asked++, call))]
      const { close, context, pass, scope } = yield* late({ interceptors })
      const transport = yield* Effect.provide(ServerTransport.ServerTransport, context)
      yield* Scope.extend(
        transport.serve(() => noHandler),
        scope
      )
      expect(pass()).toEqual([true, true, true])
      yield* close
      expect(asked).toBe(0)
    })
  )

  it.scopedLive("is not answered then either if no server serves", () =>
    Effect.gen(function* () {
      const { close, pass } = yield* late({})
      expect(pass()).toEqual([true, true, true])
      yield* close
    })
  )
})

describe("a Unix socket", () => {
  it.scopedLive("★ is served to gRPC clients and to ours, and goes with the server", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "xds.sock")
      const scope = yield* Scope.make()
      const { address, streams } = yield* Scope.extend(serve({ path }, answering), scope)
      expect(address).toBe(`unix:${path}`)
      const client = yield* GrpcClient.connect(`unix:${path}`)
      const call = GrpcClient.open(client)
      call.stream.write(request("t"))
      yield* eventually(() => expect(call.messages.length).toBe(1))
      expect(streams[0]?.stream.peer).toEqual({ address: `unix:${path}`, identity: undefined })
      const channel = yield* ConnectClient.make().connect({
        address: `unix:${path}`,
        credentials: { _tag: "Insecure" }
      })
      const messages: Array<Uint8Array> = []
      const stream = channel.open(
        { protocol: "StateOfTheWorld", typeUrl: undefined },
        {
          onOpen: () => stream.send(request("u")),
          onMessage: (message) => void messages.push(message),
          onEnd: () => undefined
        }
      )
      yield* eventually(() => expect(messages.length).toBe(1))
      expect(existsSync(path)).toBe(true)
      yield* Scope.close(scope, Exit.void)
      expect(existsSync(path)).toBe(false)
    })
  )

  it.scopedLive("that a server left behind is replaced; another's, and a file, is not", () =>
    Effect.gen(function* () {
      const home = yield* folder
      const path = join(home, "xds.sock")
      // A process that dies leaves its socket: so does a rename of it before the server ends.
      const dead = Net.createServer().listen(`${path}.1`)
      yield* wait(once(dead, "listening"))
      const { renameSync } = yield* wait(import("node:fs"))
      renameSync(`${path}.1`, path)
      dead.close()
      const { address } = yield* serve({ path }, answering)
      expect(address).toBe(`unix:${path}`)
      expect((yield* Effect.flip(serve({ path }))).message).toContain("another server listens on")
      const file = join(home, "file")
      writeFileSync(file, "kept")
      expect((yield* Effect.flip(serve({ path: file }))).message).toContain("there is a file")
      expect(existsSync(file)).toBe(true)
      expect((yield* Effect.flip(serve({ path: join(home, "no", "x.sock") }))).message).toContain(
        "its folder is not there, or"
      )
      chmodSync(home, 0o500)
      if (process.getuid?.() !== 0) {
        expect((yield* Effect.flip(serve({ path: join(home, "y.sock") }))).message).toContain("may not write to it")
      }
      chmodSync(home, 0o700)
      const none = yield* Effect.flip(serve({ path, tls: yield* Certificates.selfSigned("xds") }))
      expect(none.message).toContain("there is no TLS on a Unix socket")
    })
  )
})
