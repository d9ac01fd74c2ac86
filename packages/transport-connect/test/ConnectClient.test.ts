import { ResourceType } from "@effect-xds/proto"
import { FreePort } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ClientTransport, Status } from "@effect-xds/transport"
import * as Certificates from "@effect-xds/testing/Certificates"
import { ConnectClient } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import * as Grpc from "@grpc/grpc-js"
import { Cause, Effect, Either, Exit, Logger, Scope } from "effect"
import { createHook } from "node:async_hooks"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import { networkInterfaces, tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import * as ServerAddress from "../src/client/ServerAddress.js"
import * as Http2Client from "./Http2Client.js"
import { adsPath, answering, frame, request, response, serve } from "./RecordingServer.js"

const { authority, client, server, stranger } = await Effect.runPromise(Certificates.mutual)

/** Vitest gives `any`. */
const containing = (text: string): unknown => expect.stringContaining(text)

const ads: ClientTransport.Method = { protocol: "StateOfTheWorld", typeUrl: undefined }

const channel = (
  address: string,
  options: ConnectClient.Options = {},
  credentials: ClientTransport.Credentials = ClientTransport.insecure
) => ConnectClient.make(options).connect({ address, credentials })

/** Opens a stream that writes down what it hears, and takes message after message unless it is told not to. */
const open = (to: ClientTransport.Channel, method = ads, behaviour: { readonly take?: boolean } = {}) => {
  const messages: Array<string> = []
  const ends: Array<Status.Status> = []
  const heard = { opened: 0, messages, ends }
  const stream = to.open(method, {
    onOpen: () => {
      heard.opened++
    },
    onMessage: (message) => {
      messages.push(Buffer.from(message).toString("latin1"))
      if (behaviour.take !== false) stream.next()
    },
    onEnd: (status) => void ends.push(status)
  })
  return { heard, stream }
}

/** A server of Node's own, for what a gRPC server would not do. */
const bare = (onStream: (stream: Http2.ServerHttp2Stream) => void) =>
  Effect.acquireRelease(
    Effect.async<{
      readonly server: Http2.Http2Server
      readonly sessions: Array<Http2.ServerHttp2Session>
      readonly address: string
    }>((resume) => {
      const sessions: Array<Http2.ServerHttp2Session> = []
      const listener = Http2.createServer()
      listener.on("session", (session) => sessions.push(session))
      listener.on("stream", (stream: Http2.ServerHttp2Stream) => {
        stream.on("error", () => undefined)
        onStream(stream)
      })
      listener.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed({ server: listener, sessions, address: addressOf(listener) }))
      )
    }),
    ({ server, sessions }) =>
      Effect.sync(() => {
        server.close()
        setImmediate(() => sessions.forEach((session) => session.destroy()))
      })
  )

const addressOf = (listener: Net.Server): string => {
  const address = listener.address()
  return typeof address === "object" && address !== null ? `127.0.0.1:${address.port}` : ""
}

const grpcHeaders = { ":status": 200, "content-type": "application/grpc" }

describe("ConnectClient", () => {
  it.scopedLive("speaks every streaming method, and gives messages in their order", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, answering)
      const to = yield* channel(address)
      const methods = [{ ...ResourceType.aggregated, typeUrl: undefined }, ...ResourceType.all].flatMap((type) =>
        (["StateOfTheWorld", "Incremental"] as const)
          .filter((protocol) => (protocol === "Incremental" ? type.delta : type.stream) !== undefined)
          .map((protocol) => ({ protocol, typeUrl: type.typeUrl }))
      )
      for (const method of methods) {
        const { heard, stream } = open(to, method)
        yield* eventually(() => expect(heard.opened).toBe(1))
        stream.send(method.protocol === "Incremental" ? Buffer.from([0x12, 1, 0x61]) : request("a"))
        stream.send(method.protocol === "Incremental" ? Buffer.from([0x12, 1, 0x62]) : request("b"))
        yield* eventually(() => expect(heard.messages).toEqual(["\n\u0001a*\u0001n", "\n\u0001b*\u0001n"]))
        stream.end()
        expect(heard.ends).toEqual([])
      }
      expect(streams.map(({ stream: { method } }) => ({ protocol: method.protocol, typeUrl: method.typeUrl }))).toEqual(
        methods
      )
      yield* eventually(() => expect(streams.flatMap(({ ends }) => ends)).toHaveLength(methods.length))
      // All of it on one connection.
      expect(new Set(streams.map(({ stream }) => stream.peer.address)).size).toBe(1)
    })
  )

  it.scopedLive("delivers nothing without credit, and the server is slowed down by it", () =>
    Effect.gen(function* () {
      const large = { body: Buffer.alloc(100_000, "x"), suffix: new Uint8Array(0) }
      const { address, streams } = yield* serve(
        {},
        {
          onRequest: ({ stream }) => void stream.write(large),
          onWritable: ({ stream }) => void stream.write(large)
        }
      )
      const { heard, stream } = open(yield* channel(address), ads, { take: false })
      yield* eventually(() => expect(heard.opened).toBe(1))
      stream.send(request("a"))
      // What fits into the window of the stream and buffers was written, and then no more.
      let written = -1
      yield* eventually(() => {
        const now = streams[0]?.writable ?? 0
        const stands = now > 5 && now === written
        written = now
        expect(stands).toBe(true)
      })
      expect(written).toBeLessThan(40)
      expect(heard.messages).toHaveLength(1)
      stream.next()
      stream.next()
      yield* eventually(() => expect(heard.messages).toHaveLength(3))
      for (let message = 0; message < 30; message++) stream.next()
      yield* eventually(() => expect(heard.messages).toHaveLength(33))
      expect(new Set(heard.messages.map((message) => message.length))).toEqual(new Set([100_000]))
    })
  )

  it.scopedLive("gives what was sent before an orderly end, then the end with the server's words", () =>
    Effect.gen(function* () {
      const { address } = yield* serve(
        {},
        {
          onRequest: ({ stream }) => {
            for (const nonce of ["1", "2", "3"]) stream.write(response("v", nonce))
            stream.end(Status.make("PERMISSION_DENIED", "nicht für dich: 100 %"))
          }
        }
      )
      const { heard, stream } = open(yield* channel(address), ads, { take: false })
      yield* eventually(() => expect(heard.opened).toBe(1))
      stream.send(request("a"))
      yield* eventually(() => expect(heard.messages).toHaveLength(1))
      stream.next()
      yield* eventually(() => expect(heard.messages).toHaveLength(2))
      expect(heard.ends).toEqual([])
      stream.next()
      yield* eventually(() => expect(heard.ends).toEqual([Status.make("PERMISSION_DENIED", "nicht für dich: 100 %")]))
      expect(heard.messages).toHaveLength(3)
    })
  )

  it.scopedLive("ends a stream whose message is larger than the limit, with words", () =>
    Effect.gen(function* () {
      const { address } = yield* serve(
        {},
        {
          onRequest: ({ stream }) => void stream.write({ body: new Uint8Array(70_000_000), suffix: new Uint8Array(0) })
        }
      )
      const first = open(yield* channel(address))
      yield* eventually(() => expect(first.heard.opened).toBe(1))
      first.stream.send(request("a"))
      yield* eventually(() =>
        expect(first.heard.ends).toEqual([
          {
            code: "RESOURCE_EXHAUSTED",
            message:
              "a response of 70000000 bytes is larger than this client's limit of 67108864 bytes; ask for fewer resources at a time"
          }
        ])
      )
      const second = open(yield* channel(address, { maxResponseBytes: 80_000_000 }))
      yield* eventually(() => expect(second.heard.opened).toBe(1))
      second.stream.send(request("a"))
      yield* eventually(() => expect(second.heard.messages.map((message) => message.length)).toEqual([70_000_000]))
    })
  )

  it.scopedLive("says that there is no server, and connects when there is one", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const port = yield* FreePort.any()
      const { address } = yield* Scope.extend(serve({ port }, answering), scope)
      const to = yield* channel(address)
      const first = open(to)
      yield* eventually(() => expect(first.heard.opened).toBe(1))
      yield* Scope.close(scope, Exit.void)
      yield* eventually(() => expect(first.heard.ends).toMatchObject([{ code: "UNAVAILABLE" }]))
      const second = open(to)
      yield* eventually(() =>
        expect(second.heard.ends).toEqual([
          Status.make("UNAVAILABLE", `cannot connect to ${address}: connect ECONNREFUSED ${address}`)
        ])
      )
      expect(second.heard.opened).toBe(0)
      yield* serve({ port }, answering)
      const third = open(to)
      yield* eventually(() => expect(third.heard.opened).toBe(1))
    })
  )

  it.scopedLive("finds a connection that is lost without a word, by pings", () =>
    Effect.gen(function* () {
      const sockets: Array<Net.Socket> = []
      const listener = Net.createServer((socket) => {
        sockets.push(socket)
        socket.on("error", () => undefined)
        // The empty settings of a server, and nothing ever after.
        socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
      })
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => (listener.close(), sockets.forEach((socket) => socket.destroy())))
      )
      const { heard } = open(yield* channel(addressOf(listener), { keepalive: { interval: 20, timeout: 20 } }))
      yield* eventually(() => expect(heard.ends).toEqual([Status.make("UNAVAILABLE", "the connection was lost")]))
      expect(heard.opened).toBe(1)
    })
  )

  it.scopedLive("reaches an IPv6 address with a zone", () =>
    Effect.gen(function* () {
      const loopback = Object.entries(networkInterfaces()).find(([, all = []]) =>
        all.some(({ address }) => address === "::1")
      )
      // A machine without IPv6.
      if (loopback === undefined) return
      const { port, streams } = yield* serve({ host: "::1" })
      const { heard } = open(yield* channel(`[::1%${loopback[0]}]:${port}`))
      yield* eventually(() => expect([heard.opened, heard.ends]).toEqual([1, []]))
      yield* eventually(() => expect(streams[0]?.stream.headers["host"]).toBe(`[::1]:${port}`))
    })
  )

  it.scopedLive("reaches an address that is no host of a URL", () =>
    Effect.gen(function* () {
      const { port } = yield* serve()
      const { heard } = open(yield* channel(`[127.0.0.1]:${port}`))
      yield* eventually(() => expect([heard.opened, heard.ends]).toEqual([1, []]))
    })
  )

  it.scopedLive("gives up on a connection that is not made in time", () =>
    Effect.gen(function* () {
      const listener = Net.createServer((socket) => void socket.on("error", () => undefined))
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => void listener.close())
      )
      const address = addressOf(listener)
      const { heard } = open(yield* channel(address, { connectTimeout: 50 }, { _tag: "Tls", ca: authority.cert }))
      yield* eventually(() =>
        expect(heard.ends).toEqual([
          Status.make(
            "UNAVAILABLE",
            `cannot connect to ${address}: the server takes connections and says nothing in TLS, for 50 ms; it may be in the clear`
          )
        ])
      )
    })
  )

  it.scopedLive("gives up on a connection on which the server says nothing in HTTP/2 in time", () =>
    Effect.gen(function* () {
      let closed = 0
      const listener = Net.createServer((socket) => {
        socket.on("error", () => undefined)
        socket.on("close", () => closed++)
        socket.resume()
      })
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => void listener.close())
      )
      const { heard } = open(yield* channel(addressOf(listener), { connectTimeout: 50 }))
      yield* eventually(() =>
        expect(heard.ends).toEqual([
          Status.make(
            "UNAVAILABLE",
            "the server takes connections and says nothing in HTTP/2, for 50 ms: it may be no gRPC server, or it may want TLS"
          )
        ])
      )
      yield* eventually(() => expect(closed).toBe(1))
    })
  )

  it.scopedLive("says so of a server that speaks another protocol", () =>
    Effect.gen(function* () {
      for (const words of ["SSH-2.0-OpenSSH_9.6\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n"]) {
        const listener = Net.createServer((socket) => void socket.on("error", () => undefined).write(words))
        yield* Effect.acquireRelease(
          Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
          () => Effect.sync(() => void listener.close())
        )
        const { heard } = open(yield* channel(addressOf(listener)))
        yield* eventually(() =>
          expect(heard.ends).toMatchObject([
            { message: "what the server says is not HTTP/2: it may be no gRPC server, or it may want TLS" }
          ])
        )
      }
    })
  )

  it.scopedLive(
    "hears nothing more of a stream that it ended, and nothing is left of a channel whose scope closed",
    () =>
      Effect.gen(function* () {
        const { address, streams } = yield* serve({}, answering)
        const scope = yield* Scope.make()
        const to = yield* Scope.extend(channel(address), scope)
        const first = open(to)
        yield* eventually(() => expect(first.heard.opened).toBe(1))
        first.stream.send(request("a"))
        first.stream.end()
        first.stream.end()
        first.stream.send(request("b"))
        yield* eventually(() => expect(streams[0]?.ends).toHaveLength(1))
        const second = open(to)
        yield* eventually(() => expect(second.heard.opened).toBe(1))
        yield* eventually(() => expect(streams).toHaveLength(2))
        yield* Scope.close(scope, Exit.void)
        yield* eventually(() => expect(streams[1]?.ends).toHaveLength(1))
        const late = open(to)
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(() => setImmediate(resolve))))
        expect([first, second, late].map(({ heard }) => heard.ends)).toEqual([[], [], []])
      })
  )

  it.scopedLive("leaves a connection that goes away, stream by stream", () =>
    Effect.gen(function* () {
      let streams = 0
      const { address, sessions } = yield* bare((stream) => {
        streams++
        stream.respond(grpcHeaders)
      })
      const to = yield* channel(address)
      const first = open(to)
      yield* eventually(() => expect(first.heard.opened).toBe(1))
      yield* eventually(() => expect(streams).toBe(1))
      sessions[0]?.close()
      const opened: Array<ReturnType<typeof open>> = []
      yield* eventually(() => {
        opened.push(open(to))
        expect(sessions.length).toBeGreaterThan(1)
      })
      // What is open may go on.
      expect(first.heard.ends).toEqual([])
      opened.forEach(({ stream }) => stream.end())
    })
  )

  it.scopedLive("leaves no connection behind, also none that went away and that its server never closes", () =>
    Effect.gen(function* () {
      const { frame } = Http2Client.bytes
      const sockets: Array<Net.Socket> = []
      const listener = Net.createServer({ allowHalfOpen: true }, (socket) => {
        sockets.push(socket)
        socket.on("error", () => undefined)
        socket.resume()
        socket.write(frame(4, 0, 0, Buffer.alloc(0)))
      })
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => (listener.close(), sockets.forEach((socket) => socket.destroy())))
      )
      const scope = yield* Scope.make()
      const to = yield* Scope.extend(channel(addressOf(listener)), scope)
      const first = open(to)
      yield* eventually(() => expect(first.heard.opened).toBe(1))
      // GOAWAY, after which the stream goes on.
      sockets[0]?.write(frame(7, 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])))
      yield* eventually(() => {
        open(to)
        expect(sockets.length).toBe(2)
      })
      yield* Scope.close(scope, Exit.void)
      yield* eventually(() => {
        // What is written to a connection that is gone is answered with a reset; to one that is only ended, it is not.
        for (const socket of sockets) socket.write(frame(6, 0, 0, Buffer.alloc(8)))
        expect(sockets.map(({ closed }) => closed)).toEqual([true, true])
      })
    })
  )

  it.scopedLive("says what is wrong with an answer that is not gRPC", () =>
    Effect.gen(function* () {
      const whole = (headers: Http2.OutgoingHttpHeaders) => (stream: Http2.ServerHttp2Stream) =>
        stream.respond(headers, { endStream: true })
      const bytes = (headers: Http2.OutgoingHttpHeaders, body: Uint8Array) => (stream: Http2.ServerHttp2Stream) => {
        stream.respond(headers)
        stream.write(body)
      }
      const cases: ReadonlyArray<readonly [(stream: Http2.ServerHttp2Stream) => void, Status.Code, string]> = [
        [whole({ ":status": 404 }), "UNIMPLEMENTED", "the server answered with HTTP status 404 and no gRPC status"],
        [whole({ ":status": 503 }), "UNAVAILABLE", "the server answered with HTTP status 503 and no gRPC status"],
        [
          bytes({ ":status": 200, "content-type": "text/html" }, Buffer.from("hello")),
          "UNKNOWN",
          'the server\'s answer is "text/html" and not gRPC'
        ],
        [whole({ ...grpcHeaders, "grpc-status": 7, "grpc-message": "no%20way" }), "PERMISSION_DENIED", "no way"],
        [whole({ ...grpcHeaders, "grpc-status": 99, "grpc-message": "100 %" }), "UNKNOWN", "status 99: 100 %"],
        [whole(grpcHeaders), "INTERNAL", "the server ended the stream without a status"],
        [
          bytes(grpcHeaders, Buffer.from([9, 0, 0, 0, 0])),
          "INTERNAL",
          "a gRPC message begins with a byte 0 or 1, the server's with 9"
        ],
        [
          bytes(grpcHeaders, frame(gzipSync("a"), 1)),
          "INTERNAL",
          "a message is compressed with no grpc-encoding; this client takes gzip"
        ],
        [
          bytes({ ...grpcHeaders, "grpc-encoding": "gzip" }, frame(Buffer.from("not gzip"), 1)),
          "INTERNAL",
          "a message is not gzip: incorrect header check"
        ],
        [
          (stream) => stream.close(Http2.constants.NGHTTP2_REFUSED_STREAM),
          "UNAVAILABLE",
          "the server refused the stream"
        ]
      ]
      for (const [answer, code, message] of cases) {
        const { address } = yield* bare(answer)
        const { heard } = open(yield* channel(address))
        yield* eventually(() => expect(heard.ends).toEqual([Status.make(code, message)]))
        expect(heard.messages).toEqual([])
      }
    })
  )

  it.scopedLive("says that a server speaks HTTP/1.1 only", () =>
    Effect.gen(function* () {
      const listener = Http.createServer()
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => void listener.close())
      )
      const { heard } = open(yield* channel(addressOf(listener)))
      yield* eventually(() => expect(heard.ends).toMatchObject([{ code: "UNAVAILABLE" }]))
    })
  )

  it.scopedLive("takes compressed messages of a real gRPC server", () =>
    Effect.gen(function* () {
      const bytes = (message: Buffer): Buffer => message
      const grpc = new Grpc.Server({ "grpc.default_compression_algorithm": Grpc.compressionAlgorithms.gzip })
      grpc.addService(
        {
          stream: {
            path: adsPath,
            requestStream: true,
            responseStream: true,
            requestSerialize: bytes,
            requestDeserialize: bytes,
            responseSerialize: bytes,
            responseDeserialize: bytes
          }
        },
        {
          stream: (call: Grpc.ServerDuplexStream<Buffer, Buffer>) => {
            call.on("data", (message: Buffer) => call.write(Buffer.concat([message, Buffer.alloc(100_000, "z")])))
            call.on("end", () => call.end())
          }
        }
      )
      const port = yield* Effect.acquireRelease(
        Effect.async<number>((resume) => {
          grpc.bindAsync("127.0.0.1:0", Grpc.ServerCredentials.createInsecure(), (_, bound) =>
            resume(Effect.succeed(bound))
          )
        }),
        () => Effect.sync(() => grpc.forceShutdown())
      )
      const { heard, stream } = open(yield* channel(`dns:///localhost:${port}`))
      yield* eventually(() => expect(heard.opened).toBe(1))
      stream.send(request("a"))
      yield* eventually(() => expect(heard.messages.map((message) => message.length)).toEqual([100_003]))
    })
  )

  it.scopedLive("inflates large messages off the event loop, in order, and hears of the end after them", () =>
    Effect.gen(function* () {
      const zlib = new Set<number>()
      let aside = 0
      const hook = createHook({
        init: (id, type) => {
          if (type === "ZLIB") zlib.add(id)
        },
        before: (id) => {
          if (zlib.has(id)) aside++
        }
      })
      yield* Effect.acquireRelease(
        Effect.sync(() => hook.enable()),
        () => Effect.sync(() => hook.disable())
      )
      const compressed = (letter: string, size: number) => frame(gzipSync(letter.repeat(size)), 1)
      const answer = [
        [frame(Buffer.from("a")), compressed("b", 5_000_000), frame(Buffer.from("c")), compressed("d", 10)],
        [compressed("e", 200_000), compressed("f", 3_000_000)]
      ]
      const { address } = yield* bare((stream) => {
        stream.respond({ ...grpcHeaders, "grpc-encoding": "gzip" }, { waitForTrailers: true })
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": 7 }))
        for (const chunk of answer) stream.write(Buffer.concat(chunk))
        stream.end()
      })
      const { heard } = open(yield* channel(address))
      yield* eventually(() => expect(heard.ends.map(({ code }) => code)).toEqual(["PERMISSION_DENIED"]))
      expect(heard.messages.map((message) => [message[0], message.length])).toEqual([
        ["a", 1],
        ["b", 5_000_000],
        ["c", 1],
        ["d", 10],
        ["e", 200_000],
        ["f", 3_000_000]
      ])
      expect(aside).toBeGreaterThan(2)
    })
  )

  it.scopedLive("says that a large message is no gzip, or larger than the limit when it is inflated", () =>
    Effect.gen(function* () {
      const cases = [
        [frame(Buffer.alloc(5_000), 1), "INTERNAL", "a message is not gzip: incorrect header check"],
        [
          frame(gzipSync(Buffer.alloc(300_000)), 1),
          "RESOURCE_EXHAUSTED",
          "a response that was inflated is larger than this client's limit of 200000 bytes; ask for fewer resources at a time"
        ]
      ] as const
      for (const [bytes, code, message] of cases) {
        const { address } = yield* bare((stream) => {
          stream.respond({ ...grpcHeaders, "grpc-encoding": "gzip" })
          stream.write(bytes)
        })
        const { heard } = open(yield* channel(address, { maxResponseBytes: 200_000 }))
        yield* eventually(() => expect(heard.ends).toEqual([Status.make(code, message)]))
        expect(heard.messages).toEqual([])
      }
    })
  )

  it.scopedLive("asks for call credentials for each stream", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, answering)
      let asked = 0
      const headers = () => {
        asked++
        if (asked === 2) return Effect.fail(new Error("the token service is away"))
        if (asked === 3) return Effect.never
        return Effect.succeed({ Authorization: `Bearer ${asked}` })
      }
      const to = yield* channel(address, { headers, connectTimeout: 100 })
      const first = open(to)
      yield* eventually(() => expect(first.heard.opened).toBe(1))
      const second = open(to)
      yield* eventually(() =>
        expect(second.heard.ends).toEqual([
          Status.make("UNAUTHENTICATED", "no call credentials: the token service is away")
        ])
      )
      const third = open(to)
      yield* eventually(() =>
        expect(third.heard.ends).toEqual([Status.make("UNAVAILABLE", "no call credentials within 100 ms")])
      )
      const fourth = open(to)
      yield* eventually(() => expect(fourth.heard.opened).toBe(1))
      yield* eventually(() =>
        expect(streams.map(({ stream }) => stream.headers["authorization"])).toEqual(["Bearer 1", "Bearer 4"])
      )
    })
  )

  it.scopedLive("asks no longer for call credentials of a stream that ends, or whose channel is closed", () =>
    Effect.gen(function* () {
      let asked = 0
      let stopped = 0
      const headers = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => asked++),
          () => Effect.never,
          () => Effect.sync(() => stopped++)
        )
      const scope = yield* Scope.make()
      const to = yield* Scope.extend(channel("127.0.0.1:1", { headers, connectTimeout: "10 minutes" }), scope)
      const first = open(to)
      open(to)
      yield* eventually(() => expect([asked, stopped]).toEqual([2, 0]))
      first.stream.end()
      yield* eventually(() => expect(stopped).toBe(1))
      yield* Scope.close(scope, Exit.void)
      yield* eventually(() => expect(stopped).toBe(2))
    })
  )

  it.scopedLive("ends a stream whose call credentials are no headers, and says so in the log", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, answering)
      const logs: Array<string> = []
      const logger = Logger.make(({ cause, message }) => logs.push(`${String(message)} ${Cause.pretty(cause)}`))
      let asked = 0
      // @ts-expect-error It gives what code without types may give.
      const headers: ConnectClient.Options["headers"] = () => {
        asked++
        if (asked === 1) return Effect.succeed(undefined)
        if (asked === 2) return Effect.succeed(null)
        if (asked === 3) return Promise.reject(new Error("away"))
        return Effect.succeed({})
      }
      const to = yield* channel(address, { headers }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      for (const attempt of [1, 2, 3]) {
        const { heard } = open(to)
        yield* eventually(() =>
          expect(heard.ends).toEqual([Status.make("UNAUTHENTICATED", "call credentials failed; the log says why")])
        )
        yield* eventually(() => expect(logs.length).toBe(attempt))
      }
      expect(logs[0]).toContain("client failed on a stream TypeError")
      expect(logs[2]).toContain("headers gave no Effect: a promise")
      const good = open(to)
      yield* eventually(() => expect(good.heard.opened).toBe(1))
      yield* eventually(() => expect(streams.length).toBe(1))
    })
  )

  it.scopedLive("a client that throws ends its stream and no other", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, answering)
      const to = yield* channel(address)
      const bad = to.open(ads, {
        onOpen: () => bad.send(request("a")),
        onMessage: () => {
          throw new Error("a defect of the client")
        },
        onEnd: () => undefined
      })
      yield* eventually(() => expect(streams[0]?.ends).toHaveLength(1))
      const good = open(to)
      yield* eventually(() => expect(good.heard.opened).toBe(1))
    })
  )

  it.scopedLive("a type without a service of its own needs an aggregated stream, and is told so", () =>
    Effect.gen(function* () {
      const { address } = yield* serve()
      const { heard } = open(yield* channel(address), {
        protocol: "Incremental",
        typeUrl: "type.googleapis.com/my.Type"
      })
      yield* eventually(() =>
        expect(heard.ends).toMatchObject([{ code: "UNIMPLEMENTED", message: containing("my.Type") }])
      )
    })
  )
})

describe("ConnectClient with TLS", () => {
  const tls = { ...server, ca: authority.cert }
  const credentials = (more: Partial<Extract<ClientTransport.Credentials, { readonly _tag: "Tls" }>> = {}) =>
    ({ _tag: "Tls", ca: authority.cert, ...more }) as const

  it.scopedLive("trusts whom its authority signed, and says why it does not trust others", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ tls })
      const end = (own: ClientTransport.Credentials) =>
        Effect.gen(function* () {
          const { heard } = open(yield* channel(`127.0.0.1:${port}`, {}, own))
          const opens = own._tag === "Tls"
          yield* eventually(() => expect((opens ? heard.opened : 0) + heard.ends.length).toBe(1))
          return heard.ends[0]
        })
      expect(yield* end(credentials())).toBe(undefined)
      expect(yield* end(credentials({ serverName: "localhost" }))).toBe(undefined)
      expect(yield* end(credentials({ serverName: "other.example" }))).toMatchObject({
        code: "UNAVAILABLE",
        message: containing("the server's certificate is not for other.example, but for DNS:")
      })
      expect(yield* end(credentials({ ca: stranger.cert }))).toMatchObject({
        code: "UNAVAILABLE",
        message: containing("the server's certificate is of no authority that this client trusts")
      })
      expect(yield* end({ _tag: "Insecure" })).toMatchObject({ code: "UNAVAILABLE" })
    })
  )

  it.scopedLive("says what may be wrong when it is not let in", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ tls: { ...tls, requireClientCertificate: true } })
      const { port: plain } = yield* serve()
      const why = (own: ClientTransport.Credentials, to = port) =>
        Effect.gen(function* () {
          const { heard } = open(yield* channel(`localhost:${to}`, {}, own))
          yield* eventually(() => expect(heard.ends.length).toBe(1))
          return heard.ends[0]?.message
        })
      // In TLS 1.3 the server's alert comes when the handshake is over for the client.
      expect(yield* why(credentials())).toMatch(
        /^the connection was lost: the server wants a certificate of this client \([a-z0-9 ]*certificate required\)$/
      )
      expect(yield* why(credentials({ cert: stranger.cert, key: stranger.key }))).toContain(
        "; the server said nothing, it may not accept this client's certificate"
      )
      expect(yield* why({ _tag: "Insecure" })).toContain("the server said nothing in HTTP/2, it may want TLS")
      expect(yield* why(credentials(), plain)).toBe(
        `cannot connect to localhost:${plain}: what the other side says is not TLS; it may be in the clear`
      )
      // A server that resets whoever connects, as one that is being started behind a proxy.
      const listener = yield* Effect.acquireRelease(
        Effect.sync(() => Net.createServer((socket) => socket.destroy())),
        (it) => Effect.sync(() => it.close())
      )
      yield* Effect.async<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const { heard } = open(yield* channel(addressOf(listener)))
      yield* eventually(() => expect(heard.ends).toMatchObject([{ message: containing("it may want TLS") }]))
    })
  )

  it.scopedLive("shows its own certificate, as the files are when it connects", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ tls: { ...tls, requireClientCertificate: true } })
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "xds-tls-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const [cert, key] = [join(folder, "tls.crt"), join(folder, "tls.key")]
      const write = (own: Certificates.Certificate) => {
        writeFileSync(cert, own.cert)
        writeFileSync(key, own.key)
      }
      write(stranger)
      const to = yield* channel(`localhost:${port}`, {}, credentials({ cert, key }))
      const refused = open(to)
      yield* eventually(() => expect(refused.heard.ends).toMatchObject([{ code: "UNAVAILABLE" }]))
      write(client)
      const first = open(to)
      yield* eventually(() =>
        expect(streams.map(({ stream }) => stream.peer.identity?.commonName)).toEqual(["node one"])
      )
      first.stream.end()
    })
  )

  it.effect("fails for what can never be used", () =>
    Effect.gen(function* () {
      const why = (address: string, own: ClientTransport.Credentials) =>
        channel(address, {}, own).pipe(
          Effect.scoped,
          Effect.flip,
          Effect.map(({ message }) => message)
        )
      expect(yield* why("xds:1", credentials({ cert: "x" }))).toBe(
        'cannot use the xDS server "xds:1": a client certificate needs both cert and key'
      )
      expect(yield* why("xds:1", credentials({ ca: "/no/such/file" }))).toContain("TLS cannot be used: ENOENT")
      expect(yield* why("xds:99999", ClientTransport.insecure)).toContain("99999 is not a port")
    })
  )
})

it("addresses are read in gRPC's syntax", () => {
  const read = (address: string) =>
    Either.match(ServerAddress.parse(address), {
      onLeft: (reason) => reason,
      onRight: (found) => (found._tag === "Tcp" ? [found.host, found.port, found.authority] : found.path)
    })
  expect(read("xds.example:18000")).toEqual(["xds.example", 18_000, "xds.example:18000"])
  expect(read("localhost")).toEqual(["localhost", 443, "localhost"])
  expect(read("127.0.0.1:1")).toEqual(["127.0.0.1", 1, "127.0.0.1:1"])
  expect(read("[::1]:18000")).toEqual(["::1", 18_000, "[::1]:18000"])
  expect(read("[fe80::1%eth0]:18000")).toEqual(["fe80::1%eth0", 18_000, "[fe80::1]:18000"])
  expect(read("dns:///xds.example:18000")).toEqual(["xds.example", 18_000, "xds.example:18000"])
  expect(read("dns://8.8.8.8/xds.example")).toEqual(["xds.example", 443, "xds.example"])
  expect(read("dns:xds.example:18000")).toEqual(["xds.example", 18_000, "xds.example:18000"])
  expect(read("ipv4:10.0.0.1:18000")).toEqual(["10.0.0.1", 18_000, "10.0.0.1:18000"])
  expect(read("ipv6:[::1]:18000")).toEqual(["::1", 18_000, "[::1]:18000"])
  expect(read("unix:/run/xds.sock")).toBe("/run/xds.sock")
  expect(read("unix:///run/xds.sock")).toBe("/run/xds.sock")
  expect(read("unix://")).toBe('"unix://" has no path; give unix:/run/xds.sock')
  const tooLong = `/run/${"s".repeat(103)}`
  expect(read(`unix:${tooLong.slice(1)}`)).toBe(tooLong.slice(1))
  expect(read(`unix:${tooLong}`)).toBe(
    `the path ${tooLong} has 108 bytes, and that of a Unix socket at most 107; choose a shorter one`
  )
  expect(read("")).toBe("the address is empty; give host:port")
  expect(read("::1")).toBe('"::1" is not host:port; IPv6 is written [::1]:18000')
  expect(read("google-c2p:///name")).toBe(
    "names of the scheme google-c2p: are not supported; dns, ipv4, ipv6, unix are"
  )
  expect(read("ipv4:10.0.0.1:1,10.0.0.2:1")).toContain("a list of addresses is not supported")
  expect(read("host:0")).toBe("0 is not a port")
})
