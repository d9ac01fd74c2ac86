/** The option `http1: false`: the port speaks HTTP/2 and nothing else. */
import * as Certificates from "@effect-xds/testing/Certificates"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import * as Grpc from "@grpc/grpc-js"
import { Effect } from "effect"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as GrpcClient from "./GrpcClient.js"
import * as Http2Client from "./Http2Client.js"
import { answering, request, serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)
const { authority, server } = await Effect.runPromise(Certificates.mutual)
const tls = { ...server, ca: authority.cert }

const post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n"

const refused = {
  level: "WARN",
  message: "connection refused",
  reason: "it does not speak HTTP/2, and this server speaks nothing else: see the option http1"
}

const refusals = (logs: ReadonlyArray<{ level: string; message: string; annotations: Record<string, unknown> }>) =>
  logs.flatMap(({ annotations, level, message }) =>
    message === "connection refused" ? [{ level, message, reason: annotations["reason"] }] : []
  )

/** Sends this and reads until the connection is closed. */
const closing = (socket: Net.Socket, bytes: string) =>
  Effect.async<void>((resume) => {
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.void))
    socket.resume()
    socket.write(bytes)
  })

const answered = (address: string, credentials?: Grpc.ChannelCredentials) =>
  Effect.gen(function* () {
    const client = yield* GrpcClient.connect(address, credentials, {
      "grpc.ssl_target_name_override": "localhost"
    })
    const call = GrpcClient.open(client)
    call.stream.write(request("a"))
    yield* eventually(() => expect(call.messages.length).toBe(1))
  })

describe("a port with HTTP/2 only", () => {
  it.scopedLive("serves gRPC, and says once a minute that somebody spoke something else", () =>
    Effect.gen(function* () {
      const { address, logs, port, streams } = yield* serve({ http1: false }, answering)
      for (const bytes of [post, "GET / HTTP/1.1\r\nhost: a\r\n\r\n", "\u0016\u0003\u0001 a hello of TLS, or so"]) {
        yield* closing(Net.connect(port, "127.0.0.1"), bytes)
      }
      yield* answered(address)
      expect(refusals(logs)).toEqual([refused])
      expect(streams.length).toBe(1)
    })
  )

  it.scopedLive("drops who does not greet in time, and keeps who does", () =>
    Effect.gen(function* () {
      const { logs, port } = yield* serve({ http1: false, handshakeTimeout: 50 })
      const session = yield* Http2Client.connect(port)
      yield* Effect.async<void>((resume) => void session.once("remoteSettings", () => resume(Effect.void)))
      for (const bytes of ["", "P", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]) {
        const socket = Net.connect(port, "127.0.0.1")
        yield* Effect.forkScoped(closing(socket, bytes))
        yield* eventually(() => expect(socket.closed).toBe(true))
      }
      // Those came later than this one, and have been dropped.
      expect((yield* wait(Http2Client.open(session).headers))[":status"]).toBe(200)
      expect(refusals(logs)).toEqual([])
    })
  )

  it.scopedLive("makes room for a newcomer among those who say nothing", () =>
    Effect.gen(function* () {
      const { address, port } = yield* serve({ http1: false, maxConnections: 2 }, answering)
      const silent = [Net.connect(port, "127.0.0.1"), Net.connect(port, "127.0.0.1")]
      for (const socket of silent) {
        socket.on("error", () => undefined)
        socket.resume()
      }
      // The server greets first.
      for (const socket of silent) yield* eventually(() => expect(socket.bytesRead).toBeGreaterThan(0))
      yield* answered(address)
      yield* eventually(() => expect(silent.map(({ closed }) => closed)).toEqual([true, false]))
      silent[1]?.destroy()
    })
  )

  it.scopedLive("with TLS offers HTTP/2 only, and refuses who does not ask for it", () =>
    Effect.gen(function* () {
      const { address, logs, port } = yield* serve({ http1: false, tls }, answering)
      yield* answered(address, Grpc.credentials.createSsl(Buffer.from(authority.cert)))
      const options = { port, host: "127.0.0.1", ca: authority.cert }
      yield* closing(Tls.connect({ ...options, ALPNProtocols: ["http/1.1"] }), post)
      expect(refusals(logs)).toEqual([])
      expect(logs.map(({ message }) => message)).toContain("TLS handshake failed")
      yield* closing(Tls.connect(options), post)
      expect(refusals(logs)).toEqual([refused])
    })
  )
})
