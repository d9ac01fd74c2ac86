/** Peers that leave a connection open which is over for this server: they do not close TCP, or do not even read. */
import * as Certificates from "@effect-xds/testing/Certificates"
import { eventually, until } from "@effect-xds/testing/Waiting"
import { ConnectServerMetrics } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import * as Net from "node:net"
import * as Tls from "node:tls"
import * as Http2Client from "./Http2Client.js"
import { serve } from "./RecordingServer.js"

const { frame, open, preface } = Http2Client.bytes
const { authority, server } = await Effect.runPromise(Certificates.mutual)
const tls = { ...server, ca: authority.cert }

const connections = Effect.map(Metric.value(ConnectServerMetrics.connections), ({ count }) => count)
const none = until("no connection", connections, (count) => count === 0)

/** A server, when those of other tests have none any more. */
const alone = (...given: Parameters<typeof serve>) => Effect.zipRight(none, serve(...given))

const settings = (id: number, value: number) => {
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(id, 0)
  bytes.writeUInt32BE(value, 2)
  return frame(4, 0, 0, bytes)
}

const windowUpdate = (credit: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(credit)
  return frame(8, 0, 0, bytes)
}

const goaway = frame(7, 0, 0, Buffer.alloc(8))

/** Begins with HTTP/2, and never closes its side. */
const stubborn = (socket: Net.Socket, bytes: Uint8Array = preface) =>
  Effect.acquireRelease(
    Effect.async<Net.Socket>((resume) => {
      socket.on("error", () => undefined)
      // The server's settings: the session has begun.
      socket.once("data", () => resume(Effect.succeed(socket)))
      socket.write(bytes)
    }),
    () => Effect.sync(() => socket.destroy())
  )

const cleartext = (port: number) => Net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })

const ways = {
  "without TLS": { options: {}, connect: cleartext },
  "with HTTP/2 only": { options: { http1: false }, connect: cleartext },
  "with TLS": {
    options: { tls },
    connect: (port: number) => {
      const socket = Tls.connect({ port, host: "127.0.0.1", ca: authority.cert, ALPNProtocols: ["h2"] })
      socket.allowHalfOpen = true
      return socket
    }
  }
}

describe("a connection that a peer leaves open", () => {
  it.scopedLive.each(Object.entries(ways))("and has no stream takes no place from a newcomer, %s", ([, way]) =>
    Effect.gen(function* () {
      const { port } = yield* alone({ ...way.options, maxConnections: 3 })
      for (let number = 1; number <= 8; number++) {
        const socket = yield* stubborn(way.connect(port))
        socket.resume()
        yield* until("three at most", connections, (count) => count === Math.min(3, number))
      }
    })
  )

  it.scopedLive("is closed when it was idle for long, and is told so", () =>
    Effect.gen(function* () {
      const { port } = yield* alone({ idleTimeout: 50 })
      const socket = yield* stubborn(cleartext(port))
      const types: Array<number> = []
      socket.on("data", (bytes: Buffer) => {
        for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes.readUInt8(at + 3))
      })
      yield* none
      yield* eventually(() => expect(socket.readableEnded).toBe(true))
      expect(types).toContain(goaway.readUInt8(3))
    })
  )

  it.scopedLive("after it said goodbye is closed an interval later", () =>
    Effect.gen(function* () {
      const { port } = yield* alone({ keepalive: { interval: 20 } })
      const socket = yield* stubborn(cleartext(port), Buffer.concat([preface, goaway]))
      socket.resume()
      yield* eventually(() => expect(socket.readableEnded).toBe(true))
      yield* none
    })
  )

  it.scopedLive(
    "and reads nothing of what was sent is closed when it is taken for lost, and its bytes are dropped",
    () =>
      Effect.gen(function* () {
        const body = new Uint8Array(12 * 1024 * 1024)
        const { logs, port, streams } = yield* alone(
          { keepalive: { interval: 20, timeout: 100 } },
          { onStream: ({ stream }) => void stream.write({ body, suffix: new Uint8Array() }) }
        )
        // As large a window as Envoy's.
        const hung = Buffer.concat([preface, settings(4, 0x7fffffff), windowUpdate(0x7fff0000), open(1)])
        const socket = yield* stubborn(cleartext(port), hung)
        socket.pause()
        yield* eventually(() => expect(streams[0]?.ends).toEqual(["the connection was lost"]))
        yield* none
        expect(logs.filter(({ message }) => message === "connection lost").length).toBe(1)
      })
  )
})
