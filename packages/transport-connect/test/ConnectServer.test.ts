import { ResourceType } from "@effect-xds/proto"
import { eventually } from "@effect-xds/testing/Waiting"
import { Status } from "@effect-xds/transport"
import { ConnectServer, ConnectServerMetrics } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Metric, Scope } from "effect"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import * as Net from "node:net"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import * as GrpcClient from "./GrpcClient.js"
import * as Http2Client from "./Http2Client.js"
import type { Recorded } from "./RecordingServer.js"
import { adsPath, answering, deltaPath, frame, request, response, serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)

const streamingPaths = [
  adsPath,
  deltaPath,
  ...ResourceType.all.flatMap(({ delta, service = "", stream }) =>
    [stream, delta].flatMap((name) => (name === undefined ? [] : [`/${service}/${name}`]))
  )
]

/** Vitest gives `any`. */
const containing = (text: string): unknown => expect.stringContaining(text)

/** A connection with three streams, made of bytes. */
const byHand = (port: number) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { open, preface } = Http2Client.bytes
      const socket = Net.connect(port, "127.0.0.1")
      socket.on("error", () => undefined)
      socket.resume()
      socket.write(Buffer.concat([preface, open(1), open(3), open(5)]))
      return socket
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

describe("gRPC streams", () => {
  it.scopedLive("answer a real gRPC client on every streaming method", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, answering)
      const client = yield* GrpcClient.connect(address)
      for (const path of streamingPaths) {
        const call = GrpcClient.open(client, path)
        yield* wait(call.metadata)
        call.stream.write(path.includes("Delta") ? Buffer.from([0x12, 1, 0x61]) : request("a"))
        yield* eventually(() => expect(call.messages).toEqual([Buffer.from("\n\u0001a*\u0001n")]))
        call.stream.end()
        expect((yield* wait(call.status)).code).toBe(0)
      }
      expect(streams.map(({ stream }) => stream.method)).toEqual([
        { protocol: "StateOfTheWorld", typeUrl: undefined, unary: false },
        { protocol: "Incremental", typeUrl: undefined, unary: false },
        ...ResourceType.all.flatMap(({ delta, stream, typeUrl }) => [
          ...(stream === undefined ? [] : [{ protocol: "StateOfTheWorld", typeUrl, unary: false }]),
          ...(delta === undefined ? [] : [{ protocol: "Incremental", typeUrl, unary: false }])
        ])
      ])
      expect(streams.map(({ ends }) => ends)).toEqual(streams.map(() => ["the client ended the stream"]))
    })
  )

  it.scopedLive("send headers before there is a response, and give those of the client", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, { ":authority": "xds.example", "X-Two": ["a", "b"] })
      const headers = yield* wait(call.headers)
      expect(headers[":status"]).toBe(200)
      expect(headers["content-type"]).toBe("application/grpc")
      expect(streams[0]?.stream.headers).toEqual({
        host: "xds.example",
        "content-type": "application/grpc",
        te: "trailers",
        "x-two": "a, b"
      })
      expect(streams[0]?.stream.peer.address).toMatch(/^127\.0\.0\.1:\d+$/)
      expect(streams[0]?.stream.peer.identity).toBe(undefined)
    })
  )

  it.scopedLive("read messages cut at every byte, and gzip", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, { "grpc-encoding": "gzip" })
      const bytes = Buffer.concat([
        frame(request("first")),
        frame(gzipSync(request("second")), 1),
        frame(request("third"))
      ])
      for (const byte of bytes) call.stream.write(Buffer.from([byte]))
      yield* eventually(() =>
        expect(streams[0]?.requests.map(({ typeUrl }) => typeUrl)).toEqual(["first", "second", "third"])
      )
    })
  )

  it.scopedLive("flush what was written before they end, with the status percent-encoded", () =>
    Effect.gen(function* () {
      const large = Buffer.alloc(300_000, 7)
      const { address } = yield* serve(
        {},
        {
          onRequest: ({ stream }) => {
            stream.write(response("one", "1"))
            stream.write({ body: large, suffix: Buffer.from([0x2a, 1, 0x32]) })
            stream.end(Status.make("PERMISSION_DENIED", "100 % nicht für dich: 不"))
            stream.end(Status.ok)
          }
        }
      )
      const client = yield* GrpcClient.connect(address)
      const call = GrpcClient.open(client)
      call.stream.write(request("a"))
      const status = yield* wait(call.status)
      expect(status.code).toBe(7)
      expect(status.details).toBe("100 % nicht für dich: 不")
      expect(call.messages[0]).toEqual(Buffer.from("\n\u0003one*\u00011"))
      // The suffix of a large response goes first: its body is not copied.
      expect(call.messages[1]?.equals(Buffer.concat([Buffer.from([0x2a, 1, 0x32]), large]))).toBe(true)
      expect(call.messages.length).toBe(2)
    })
  )

  it.scopedLive("may be ended while they are accepted, and then hear nothing", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve(
        {},
        { onStream: ({ stream }) => stream.end(Status.make("UNAVAILABLE", "no")) }
      )
      const client = yield* GrpcClient.connect(address)
      const call = GrpcClient.open(client)
      call.stream.write(request("a"))
      expect((yield* wait(call.status)).code).toBe(14)
      expect(streams[0]).toMatchObject({ requests: [], ends: [], writable: 0 })
    })
  )

  it.scopedLive("end once when the client cancels or disconnects", () =>
    Effect.gen(function* () {
      const { address, port, streams } = yield* serve()
      const client = yield* GrpcClient.connect(address)
      const call = GrpcClient.open(client)
      yield* wait(call.metadata)
      call.stream.cancel()
      // Clients on node:http2 end their side before they reset it.
      yield* eventually(() =>
        expect(streams[0]?.ends).toEqual([expect.stringMatching(/^the client (ended|cancelled) the stream$/)])
      )
      const session = yield* Http2Client.connect(port)
      const calls = [Http2Client.open(session), Http2Client.open(session)]
      for (const { headers } of calls) yield* wait(headers)
      session.destroy()
      yield* eventually(() => {
        expect(streams[1]?.ends.length).toBe(1)
        expect(streams[2]?.ends.length).toBe(1)
      })
      expect(streams[1]?.stream.write(response("a", "b"))).toBe(false)
      streams[1]?.stream.end(Status.ok)
      expect(streams.map(({ ends }) => ends.length)).toEqual([1, 1, 1])
    })
  )

  it.scopedLive("end once when the client resets them, or its connection", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const socket = yield* byHand(port)
      yield* eventually(() => expect(streams.length).toBe(3))
      socket.write(Http2Client.bytes.reset(3, 8))
      yield* eventually(() => expect(streams[1]?.ends).toEqual(["the client cancelled the stream"]))
      socket.resetAndDestroy()
      yield* eventually(() => {
        expect(streams[0]?.ends).toEqual(["the connection was lost"])
        expect(streams[2]?.ends).toEqual(["the connection was lost"])
      })
      expect(streams[1]?.ends.length).toBe(1)
    })
  )

  it.scopedLive("end once when the client breaks the protocol, and others do not notice", () =>
    Effect.gen(function* () {
      // Node keeps a connection that it said GOAWAY to for a protocol error; only the pings end it.
      const { port, streams } = yield* serve({ keepalive: { interval: 50, timeout: 1500 } })
      const session = yield* Http2Client.connect(port)
      yield* wait(Http2Client.open(session).headers)
      const { frame } = Http2Client.bytes
      for (const last of [
        frame(0, 0, 0, Buffer.from("DATA on stream 0")),
        frame(1, 4, 7, Buffer.alloc(5, 0xff)),
        Buffer.alloc(999, 9)
      ]) {
        const from = streams.length
        const socket = yield* byHand(port)
        yield* eventually(() => expect(streams.length).toBe(from + 3))
        socket.write(last)
        for (const { ends } of streams.slice(from))
          yield* eventually(() => expect(ends).toEqual(["the connection was lost"]))
      }
      expect(streams[0]?.ends).toEqual([])
    })
  )
})

describe("refusals", () => {
  const refused = (
    name: string,
    headers: Record<string, string>,
    body: Uint8Array | undefined,
    expected: Record<string, unknown>,
    options: ConnectServer.Options = {}
  ) =>
    it.scopedLive(name, () =>
      Effect.gen(function* () {
        const { logs, port, streams } = yield* serve(options)
        const session = yield* Http2Client.connect(port)
        const neighbour = Http2Client.open(session)
        yield* wait(neighbour.headers)
        const call = Http2Client.open(session, headers)
        if (body !== undefined) call.stream.write(body)
        expect(yield* wait(call.closed)).toMatchObject(expected)
        expect(streams[0]?.ends).toEqual([])
        expect(streams[1]?.ends.length ?? 1).toBe(1)
        expect(logs.filter(({ level }) => level === "WARN")).toMatchObject([
          {
            message: "stream refused",
            annotations: { peer: containing("127.0.0.1:"), method: headers[":path"] ?? adsPath }
          }
        ])
      })
    )

  refused("name an unknown method", { ":path": "/a.Service/Nothing" }, undefined, {
    ":status": 200,
    "grpc-status": "12",
    "grpc-message": "/a.Service/Nothing is not a method of this server"
  })
  refused("answer 404 to an unknown path that is not gRPC", { ":path": "/", "content-type": "text/plain" }, undefined, {
    ":status": 404
  })
  refused("answer 415 to an unknown content type", { "content-type": "application/jason" }, undefined, {
    ":status": 415
  })
  refused("answer 415 to a stream as unary JSON", { "content-type": "application/json" }, undefined, { ":status": 415 })
  refused("answer 405 to a GET", { ":method": "GET" }, undefined, { ":status": 405, allow: "POST" })
  refused("name an unsupported encoding", { "grpc-encoding": "br" }, undefined, {
    "grpc-status": "12",
    "grpc-accept-encoding": "identity,gzip"
  })
  refused(
    "end a stream as soon as the length shows a message too large",
    {},
    Buffer.from([0, 0, 0, 4, 1]),
    { "grpc-status": "8" },
    {
      maxRequestBytes: 1024
    }
  )
  refused(
    "end a stream whose message inflates too far",
    { "grpc-encoding": "gzip" },
    frame(gzipSync(Buffer.alloc(1e7)), 1),
    {
      "grpc-status": "8"
    }
  )
  refused("end a stream whose message is not gzip", { "grpc-encoding": "gzip" }, frame(Buffer.from("abc"), 1), {
    "grpc-status": "13",
    "grpc-message": containing("not gzip")
  })
  refused("end a stream that is compressed without an encoding", {}, frame(gzipSync(request("a")), 1), {
    "grpc-status": "13"
  })
  refused("end a stream that is not framed", {}, Buffer.from("{}"), { "grpc-status": "13" })
  refused("end a stream whose message is not a request", {}, frame(Buffer.from([0x0a, 0xff])), {
    "grpc-status": "13",
    "grpc-message": containing("2 bytes are not a DiscoveryRequest")
  })

  it.scopedLive("end a stream that is cut inside a message", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session)
      call.stream.end(frame(request("a")).subarray(0, 6))
      expect(yield* wait(call.closed)).toMatchObject({ "grpc-status": "13" })
      expect(streams[0]?.ends).toEqual(["the client ended the stream inside a message"])
    })
  )

  it.scopedLive("keep to the limits of streams, and count them", () =>
    Effect.gen(function* () {
      const counter = ConnectServerMetrics.refusedStreams("too many streams")
      const before = (yield* Metric.value(counter)).count
      const open = (yield* Metric.value(ConnectServerMetrics.streams)).count
      const { port } = yield* serve({ maxStreams: 3, maxStreamsPerPeer: 2 })
      const session = yield* Http2Client.connect(port)
      const calls = [Http2Client.open(session), Http2Client.open(session)]
      for (const { headers } of calls) yield* wait(headers)
      expect(yield* wait(Http2Client.open(session).closed)).toMatchObject({ "grpc-status": "8" })
      expect((yield* Metric.value(counter)).count).toBe(before + 1)
      expect((yield* Metric.value(ConnectServerMetrics.streams)).count).toBe(open + 2)
      calls[0]?.stream.close()
      yield* eventually(async () => {
        const call = Http2Client.open(session)
        const headers = await call.headers
        call.stream.close()
        expect(headers["grpc-status"]).toBe(undefined)
      })
    })
  )

  it.scopedLive("let no connection in above the limit", () =>
    Effect.gen(function* () {
      const { logs, port } = yield* serve({ maxConnections: 1 })
      const session = yield* Http2Client.connect(port)
      yield* wait(Http2Client.open(session).headers)
      const socket = Net.connect(port, "127.0.0.1")
      socket.on("error", () => undefined)
      yield* Effect.async<void>((resume) => void socket.on("close", () => resume(Effect.void)))
      expect(logs).toContainEqual(expect.objectContaining({ level: "WARN", message: "connection refused" }))
    })
  )

  it.scopedLive("drop a connection that says nothing", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ handshakeTimeout: 20, keepalive: { interval: "1 hour" } })
      // The last one lacks the settings, with which HTTP/2 begins.
      for (const bytes of [
        "",
        "P",
        "PR",
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n",
        "PRI",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
      ]) {
        const socket = Net.connect(port, "127.0.0.1")
        socket.on("error", () => undefined)
        socket.write(bytes)
        socket.resume()
        yield* eventually(() => expect(socket.closed).toBe(true))
      }
    })
  )

  it.scopedLive("drop a connection that does not answer pings", () =>
    Effect.gen(function* () {
      const { logs, port, streams } = yield* serve({ keepalive: { interval: 20, timeout: 1500 } })
      const alive = yield* Http2Client.connect(port)
      yield* wait(Http2Client.open(alive).headers)
      // The preface, SETTINGS, and HEADERS are a whole client; it never says another word.
      const socket = Net.connect(port, "127.0.0.1")
      socket.on("error", () => undefined)
      socket.resume()
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
      socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]))
      yield* Effect.async<void>((resume) => void socket.on("close", () => resume(Effect.void)))
      expect(logs.filter(({ message }) => message === "connection lost").length).toBe(1)
      expect(streams[0]?.ends).toEqual([])
    })
  )

  it.scopedLive("survive a defect of the server behind the port", () =>
    Effect.gen(function* () {
      const { logs, port } = yield* serve(
        {},
        {
          onRequest: () => {
            throw new Error("a defect")
          }
        }
      )
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session)
      call.stream.write(frame(request("a")))
      expect(yield* wait(call.closed)).toMatchObject({ "grpc-status": "13", "grpc-message": "internal error" })
      expect(logs.map(({ message }) => message)).toContain("server failed on a stream")
    })
  )
})

describe("credit", () => {
  it.scopedLive("runs out when a client does not read, and comes back once", () =>
    Effect.gen(function* () {
      const body = Buffer.alloc(1_000_000, 1)
      const { port, streams } = yield* serve()
      // A window for what Node buffers, which is 64 KB from Node 22 on, but not for the large response.
      const session = yield* Http2Client.connect(port, { settings: { initialWindowSize: 250_000 } })
      const call = Http2Client.open(session, {}, { read: false })
      yield* wait(call.headers)
      session.setLocalWindowSize(500_000)
      const { stream } = streams[0] ?? expect.unreachable()
      let small = 1
      while (stream.write(response("a", "b"))) expect(small++).toBeLessThan(10_000)
      yield* eventually(() => expect(streams[0]?.writable).toBe(1))
      expect(stream.write({ body, suffix: Buffer.alloc(0) })).toBe(false)
      // A neighbour on the same connection is not held up: its answer is a full turn of everything.
      const neighbour = Http2Client.open(session)
      yield* wait(neighbour.headers)
      expect(streams[0]?.writable).toBe(1)
      call.stream.on("data", (chunk: Buffer) => call.chunks.push(chunk))
      yield* eventually(() => expect(streams[0]?.writable).toBe(2))
      yield* eventually(() =>
        expect(call.chunks.reduce((sum, chunk) => sum + chunk.length, 0)).toBe(body.length + 5 + small * 11)
      )
      expect(streams[0]?.writable).toBe(2)
      expect(stream.write(response("a", "b"))).toBe(true)
    })
  )

  it.scopedLive("lets a stream hold one response however many a server would send", () =>
    Effect.gen(function* () {
      const body = Buffer.alloc(200_000, 1)
      let sent = 0
      const send = ({ stream }: Recorded): void => {
        while (sent < 1000) {
          sent++
          if (!stream.write({ body, suffix: Buffer.alloc(0) })) return
        }
      }
      const { port } = yield* serve({}, { onStream: send, onWritable: send })
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, {}, { read: false })
      yield* wait(call.headers)
      for (let turns = 0; turns < 3; turns++)
        yield* Effect.async<void>((resume) => void session.ping(() => resume(Effect.void)))
      expect(sent).toBe(1)
    })
  )

  it.scopedLive("comes back after every large body, also one whose last piece is a few bytes", () =>
    Effect.gen(function* () {
      const piece = 1024 * 1024
      const sizes = [piece - 1, piece, piece + 1, piece + 100, 2 * piece + 1, 3 * piece]
      const { port, streams } = yield* serve()
      const session = yield* Http2Client.connect(port)
      for (const [index, size] of sizes.entries()) {
        const call = Http2Client.open(session)
        yield* wait(call.headers)
        const { stream } = streams[index] ?? expect.unreachable()
        expect(stream.write({ body: Buffer.alloc(size, 1), suffix: Buffer.alloc(0) })).toBe(false)
        yield* eventually(() => expect(streams[index]?.writable).toBe(1))
        stream.write(response("a", "b"))
        yield* eventually(() => expect(call.chunks.reduce((sum, chunk) => sum + chunk.length, 0)).toBe(size + 5 + 11))
      }
    })
  )

  it.scopedLive("is not there within a large body, however much may be buffered", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ writeBufferBytes: 8_000_000 })
      const call = Http2Client.open(yield* Http2Client.connect(port))
      yield* wait(call.headers)
      const { stream } = streams[0] ?? expect.unreachable()
      const body = Buffer.alloc(3_000_000, 1)
      expect(stream.write({ body, suffix: Buffer.alloc(0) })).toBe(false)
      yield* eventually(() => expect(streams[0]?.writable).toBe(1))
      expect(stream.write(response("a", "b"))).toBe(true)
      yield* eventually(() => expect(Buffer.concat(call.chunks)).toHaveLength(body.length + 5 + 11))
      expect(
        Buffer.concat(call.chunks)
          .subarray(5, 5 + body.length)
          .equals(body)
      ).toBe(true)
    })
  )

  it.scopedLive("comes back for each of many streams with a large body, whole and in order", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const body = Buffer.from(Uint8Array.from({ length: 1_500_001 }, (_, index) => index % 251))
      const reading = yield* Http2Client.connect(port)
      // Those that are not read must not stop the others.
      const deaf = yield* Effect.forEach(Array.from({ length: 40 }), () => Http2Client.connect(port))
      for (const session of deaf) yield* wait(Http2Client.open(session, {}, { read: false }).headers)
      for (const { stream } of streams) stream.write({ body, suffix: Buffer.alloc(0) })
      const calls = Array.from({ length: 20 }, () => Http2Client.open(reading))
      for (const call of calls) yield* wait(call.headers)
      for (const { stream } of streams.slice(40)) stream.write({ body, suffix: Buffer.alloc(0) })
      yield* eventually(() => expect(streams.slice(40).map(({ writable }) => writable)).toEqual(calls.map(() => 1)))
      for (const call of calls) {
        yield* eventually(() => expect(Buffer.concat(call.chunks)).toHaveLength(body.length + 5))
        expect(Buffer.concat(call.chunks).subarray(5).equals(body)).toBe(true)
      }
      expect(streams.slice(0, 40).every(({ writable }) => writable === 0)).toBe(true)
    })
  )

  it.scopedLive("comes back after a body in pieces of any size, whole and in order", () =>
    Effect.gen(function* () {
      const most = 1024 * 1024
      const bodies = [
        [10, 1_000, most - 1, 1, most],
        [most + 5, 3, 2 * most + 1],
        Array.from({ length: 20 }, () => 230_000),
        Array.from({ length: 2_000 }, () => 1_000),
        [most, most, 7],
        [1]
      ].map((sizes, seed) =>
        sizes.map((size, at) => Uint8Array.from({ length: size }, (_, index) => (index + at + seed) % 251))
      )
      const { port, streams } = yield* serve()
      const session = yield* Http2Client.connect(port)
      for (const [index, pieces] of bodies.entries()) {
        const call = Http2Client.open(session)
        yield* wait(call.headers)
        const { stream } = streams[index] ?? expect.unreachable()
        const suffix = Uint8Array.of(1, 2, 3)
        const isAtOnce = stream.writePieces?.(pieces, suffix)
        if (isAtOnce !== true) yield* eventually(() => expect(streams[index]?.writable).toBe(1))
        stream.write(response("a", "b"))
        const whole = Buffer.concat([suffix, ...pieces])
        yield* eventually(() => expect(Buffer.concat(call.chunks)).toHaveLength(5 + whole.length + 11))
        const received = Buffer.concat(call.chunks)
        expect(received.readUInt32BE(1)).toBe(whole.length)
        expect(received.subarray(5, 5 + whole.length).equals(whole)).toBe(true)
        expect(stream.writePieces === undefined).toBe(false)
      }
    })
  )

  it.scopedLive("is not given twice when it never ran out", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ writeBufferBytes: 1_000_000 })
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session)
      yield* wait(call.headers)
      const outgoing = { body: Buffer.alloc(100_000), suffix: Buffer.alloc(0) }
      expect(streams[0]?.stream.write(outgoing)).toBe(true)
      expect(streams[0]?.stream.write(outgoing)).toBe(true)
      yield* eventually(() => expect(call.chunks.reduce((sum, chunk) => sum + chunk.length, 0)).toBe(200_010))
      yield* Effect.async<void>((resume) => void session.ping(() => resume(Effect.void)))
      expect(streams[0]?.writable).toBe(0)
    })
  )

  it.scopedLive("does not stop a connection that has much to read", () =>
    Effect.gen(function* () {
      const body = Buffer.alloc(30_000_000, 1)
      const { port, streams } = yield* serve(
        {},
        { onStream: ({ stream }) => void stream.write({ body, suffix: Buffer.alloc(0) }) }
      )
      const session = yield* Http2Client.connect(port)
      for (let count = 1; count <= 5; count++) {
        const headers = yield* wait(Http2Client.open(session, {}, { read: false }).headers)
        expect(headers[":status"]).toBe(200)
        expect(streams.length).toBe(count)
      }
      expect(streams.map(({ ends }) => ends)).toEqual([[], [], [], [], []])
    })
  )

  it.scopedLive("cuts off a client that does not read the end of its stream", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ shutdownGrace: 20 })
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, {}, { read: false })
      yield* wait(call.headers)
      streams[0]?.stream.write({ body: Buffer.alloc(1_000_000), suffix: Buffer.alloc(0) })
      streams[0]?.stream.end(Status.ok)
      // Reset, which needs no reading; node:http2 tells its client only once it reads.
      yield* Effect.async<void>((resume) => void call.stream.once("aborted", () => resume(Effect.void)))
      expect(call.stream.rstCode).toBe(8)
    })
  )
})

describe("serving", () => {
  it.scopedLive("fails with words when the port is taken", () =>
    Effect.gen(function* () {
      const { address, port } = yield* serve()
      const error = yield* Effect.flip(ConnectServer.make({ port }).serve(() => expect.unreachable()))
      expect(error._tag).toBe("ServerTransportError")
      expect(error.message).toBe(
        `cannot serve on ${address}: the port is in use by another server; choose another one or end that server`
      )
    })
  )

  for (const limit of [Number.POSITIVE_INFINITY, 2 ** 40])
    it.scopedLive(`takes a limit of ${limit}, and means the highest that there is`, () =>
      Effect.gen(function* () {
        const limits = { maxConnectionStreams: limit, maxRequestBytes: limit, maxWholeRequestBytes: limit }
        const { address, port, streams } = yield* serve(limits, answering)
        const session = yield* Http2Client.connect(port)
        const call = Http2Client.open(session, { "grpc-encoding": "gzip" })
        // Too large to be inflated at once.
        const typeUrl = randomBytes(8192).toString("hex")
        call.stream.write(frame(gzipSync(request(typeUrl)), 1))
        yield* eventually(() => expect(streams[0]?.requests.map((each) => each.typeUrl)).toEqual([typeUrl]))
        expect(session.remoteSettings.maxConcurrentStreams).toBe(2 ** 32 - 1)
        const path = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"
        const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{"typeUrl":"a"}' }
        const fetched = yield* wait(fetch(`http://${address}${path}`, post))
        expect(yield* wait(fetched.json())).toEqual({ versionInfo: "a", nonce: "n" })
      })
    )

  it.scopedLive("takes limits below what is possible, and means the lowest", () =>
    Effect.gen(function* () {
      const limits = { maxConnectionStreams: -1, maxRequestBytes: 0, maxWholeRequestBytes: 0 }
      const { address, port } = yield* serve(limits, answering)
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, { "grpc-encoding": "gzip" })
      call.stream.write(frame(gzipSync(request("a")), 1))
      expect((yield* wait(call.closed))["grpc-status"]).toBe("8")
      expect(session.remoteSettings.maxConcurrentStreams).toBe(1)
      const path = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"
      const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
      expect((yield* wait(fetch(`http://${address}${path}`, post))).status).toBe(429)
    })
  )

  it.scopedLive("ends streams, says go away, and cuts off who does not listen, when its scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { address, port, streams } = yield* Scope.extend(serve({ shutdownGrace: 50 }), scope)
      const client = yield* GrpcClient.connect(address)
      const listening = GrpcClient.open(client)
      yield* wait(listening.metadata)
      const session = yield* Http2Client.connect(port)
      const stuck = Http2Client.open(session, {}, { read: false })
      yield* wait(stuck.headers)
      streams[1]?.stream.write({ body: Buffer.alloc(1_000_000), suffix: Buffer.alloc(0) })
      const goaway = new Promise((resolve) => session.on("goaway", resolve))
      const silent = Net.connect(port, "127.0.0.1")
      silent.on("error", () => undefined)
      yield* Effect.async<void>((resume) => void silent.on("connect", () => resume(Effect.void)))
      yield* Scope.close(scope, Exit.void)
      expect(yield* wait(listening.status)).toMatchObject({ code: 14, details: "server is shutting down" })
      expect(yield* wait(goaway)).toBe(0)
      yield* wait(stuck.closed)
      expect(streams.map(({ ends }) => ends)).toEqual([["server is shutting down"], ["server is shutting down"]])
      const error = yield* Effect.async<NodeJS.ErrnoException>((resume) => {
        Net.connect(port, "127.0.0.1").on("error", (cause) => resume(Effect.succeed(cause)))
      })
      expect(error.code).toBe("ECONNREFUSED")
    })
  )

  // On what `tsc -b` built, since it is a process of its own.
  it.live("leaves nothing behind that would keep a process from its end", () =>
    Effect.promise(async () => {
      const program = `
        import { ConnectServer } from "@effect-xds/transport-connect"
        import { Effect, Logger, LogLevel } from "effect"
        import * as Http2 from "node:http2"
        let session, fetched
        await Effect.gen(function* () {
          const handler = (stream) => ({ onRequest: () => stream.write({ body: new Uint8Array(), suffix: new Uint8Array() }), onWritable: () => {}, onEnd: () => {} })
          const address = yield* ConnectServer.make().serve(handler)
          session = Http2.connect("http://" + address)
          const stream = session.request({ ":method": "POST", ":path": "${adsPath}", "content-type": "application/grpc" })
          stream.resume()
          yield* Effect.promise(() => new Promise((resolve) => stream.on("response", resolve)))
          fetched = yield* Effect.promise(() => fetch("http://" + address + "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters",
            { method: "POST", body: "{}", headers: { "content-type": "application/json" } }).then((response) => response.text()))
        }).pipe(Effect.scoped, Effect.runPromise)
        process.stdout.write("closed " + fetched)
      `
      const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
        cwd: import.meta.dirname,
        timeout: 30_000
      })
      expect(stdout).toBe("closed {}")
    })
  )
})

describe("random bytes", () => {
  const random = (seed: number) => (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return seed / 2 ** 32
  }

  it.scopedLive("never end the server or a neighbour's stream", () =>
    Effect.gen(function* () {
      const { address, port, streams } = yield* serve({ maxRequestBytes: 10_000 }, answering)
      const client = yield* GrpcClient.connect(address)
      const neighbour = GrpcClient.open(client)
      yield* wait(neighbour.metadata)
      const next = random(1)
      const bytes = (max: number): Buffer => Buffer.from(Array.from({ length: next() * max }, () => next() * 256))
      const pick = <A>(values: ReadonlyArray<A>): A =>
        values[Math.floor(next() * values.length)] ?? expect.unreachable()
      const fetches = ResourceType.all.flatMap(({ fetch, service = "" }) =>
        fetch === undefined ? [] : [`/${service}/${fetch}`]
      )
      const types = ["application/grpc", "application/grpc", "application/grpc-web", "application/connect+proto"]
      const unaryTypes = [
        "application/json",
        "application/proto",
        "application/grpc+json",
        "application/connect+json",
        ""
      ]
      for (let round = 0; round < 6; round++) {
        const session = yield* Http2Client.connect(port)
        const calls = [...streamingPaths, ...fetches].map((path) => {
          const call = Http2Client.open(session, {
            ":path": path,
            "content-type": pick([...types, ...unaryTypes]),
            ...pick<Record<string, string>>([{}, { "grpc-encoding": "gzip" }, { "grpc-timeout": "1m" }, { host: "[[" }])
          })
          const body = pick([
            bytes(50),
            frame(bytes(50)),
            frame(bytes(50), 1),
            Buffer.concat([frame(request("a")), bytes(9)])
          ])
          if (next() < 0.7) call.stream.end(body)
          else {
            call.stream.write(body)
            call.stream.close(8)
          }
          return call
        })
        yield* wait(Promise.all(calls.map(({ closed }) => closed)))
        // And without HTTP/2, or with a connection that begins like it.
        for (const start of [
          "",
          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
          "POST / HTTP/1.1\r\nhost: [[\r\n\r\n",
          "GET / HTTP/1.0\r\n\r\n"
        ]) {
          const socket = Net.connect(port, "127.0.0.1")
          socket.on("error", () => undefined)
          socket.resume()
          socket.end(Buffer.concat([Buffer.from(start), bytes(200)]))
          yield* Effect.async<void>((resume) => void socket.on("close", () => resume(Effect.void)))
        }
      }
      neighbour.stream.write(request("alive"))
      yield* eventually(() => expect(neighbour.messages.length).toBe(1))
      expect(streams[0]?.ends).toEqual([])
      yield* eventually(() => expect(streams.slice(1).every(({ ends }) => ends.length === 1)).toBe(true))
    })
  )
})
