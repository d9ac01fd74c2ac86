import { describe, expect, it } from "@effect/vitest"
import { eventually } from "@effect-xds/testing/Waiting"
import { Deferred, Effect } from "effect"
import { once } from "node:events"
import type * as Http2 from "node:http2"
import * as Net from "node:net"
import { Worker } from "node:worker_threads"
import * as Keepalive from "../src/grpc/Keepalive.js"
import * as Http2Client from "./Http2Client.js"

const { frame } = Http2Client.bytes

/** Port of an HTTP/2 server that answers pings also while this thread does nothing: it has a thread of its own. */
const elsewhere = Effect.acquireRelease(
  Effect.sync(
    () =>
      new Worker(
        `const server = require("node:http2").createServer().listen(0, "127.0.0.1", () =>
           require("node:worker_threads").parentPort.postMessage(server.address().port))`,
        { eval: true }
      )
  ),
  (worker) => Effect.promise(() => worker.terminate())
).pipe(
  Effect.flatMap((worker) => Effect.promise(() => once(worker, "message"))),
  Effect.map(([port]) => Number(port))
)

/** A server that never answers a ping, and the sockets of its clients. */
const silent = Effect.acquireRelease(
  Effect.promise(async () => {
    const sockets: Array<Net.Socket> = []
    const server = Net.createServer((socket) => {
      sockets.push(socket)
      socket.on("error", () => undefined)
      socket.resume()
      socket.write(frame(4, 0, 0, Buffer.alloc(0)))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    return { server, sockets, port: typeof address === "object" && address !== null ? address.port : 0 }
  }),
  ({ server, sockets }) =>
    Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
)

/** Pings of a session; `onPing` is called before each. */
const keepAlive = (
  session: Http2.ClientHttp2Session,
  timeout: number,
  onPing: (count: number) => void = () => undefined
) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pings = { count: 0, lost: Array<string>() }
      const stop = Keepalive.start(session, {
        interval: 20,
        timeout,
        isWanted: () => {
          pings.count++
          onPing(pings.count)
          return true
        },
        onLost: (reason) => pings.lost.push(reason)
      })
      return { pings, stop }
    }),
    ({ stop }) => Effect.sync(stop)
  ).pipe(Effect.map(({ pings }) => pings))

describe("keepalive", () => {
  it.scopedLive("a pause of this process longer than the timeout is not taken for silence of the peer", () =>
    Effect.gen(function* () {
      const session = yield* Http2Client.connect(yield* elsewhere)
      yield* Effect.promise(() => once(session, "remoteSettings"))
      const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
      const pings = yield* keepAlive(session, 400, (count) => {
        // Once when the ping is under way, and its answer will lie in the socket; once before it is.
        if (count === 3) setImmediate(pause)
        if (count === 6) pause()
      })
      yield* eventually(() => expect(pings.count).toBeGreaterThan(9))
      expect(pings.lost).toEqual([])
      expect(session.destroyed).toBe(false)
    })
  )

  it.scopedLive("a peer that sends anything is there, also if its answers to pings never come", () =>
    Effect.gen(function* () {
      const { port, sockets } = yield* silent
      const session = yield* Http2Client.connect(port)
      yield* Effect.promise(() => once(session, "remoteSettings"))
      const sending = setInterval(() => sockets[0]?.write(frame(4, 0, 0, Buffer.alloc(0))), 10)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(sending)))
      const pings = yield* keepAlive(session, 400)
      // More than Node lets go unanswered: what it does not send any more is not an answer.
      yield* eventually(() => expect(pings.count).toBeGreaterThan(14))
      expect(pings.lost).toEqual([])
      clearInterval(sending)
      yield* eventually(() => expect(pings.lost).toEqual(["no answer to a ping in 400 ms"]))
      yield* eventually(() => expect(session.destroyed).toBe(true))
    })
  )

  it.scopedLive("who is lost is not waited for: what was sent to it is dropped at once", () =>
    Effect.gen(function* () {
      const { port } = yield* silent
      const socket = Net.connect(port, "127.0.0.1")
      const session = yield* Http2Client.connect(0, { createConnection: () => socket })
      yield* Effect.promise(() => once(session, "remoteSettings"))
      const lost = yield* Deferred.make<boolean>()
      const onLost = (): void =>
        queueMicrotask(() => Deferred.unsafeDone(lost, Effect.succeed(session.destroyed && socket.destroyed)))
      yield* Effect.acquireRelease(
        Effect.sync(() => Keepalive.start(session, { interval: 20, timeout: 100, socket, onLost })),
        (stop) => Effect.sync(stop)
      )
      expect(yield* Deferred.await(lost)).toBe(true)
    })
  )
})
