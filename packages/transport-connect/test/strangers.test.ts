import { eventually, until } from "@effect-xds/testing/Waiting"
import { ConnectServerMetrics } from "@effect-xds/transport-connect"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import { Inflater } from "@effect-xds/transport-node/Inflater"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect, Metric } from "effect"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import { gzipSync } from "node:zlib"
import * as Http2Client from "./Http2Client.js"
import { adsPath, answering, deltaPath, frame, request, serve } from "./RecordingServer.js"

/** A connection that was accepted and settled: the server has said its settings. */
const session = (port: number) =>
  Effect.tap(Http2Client.connect(port), (client) =>
    Effect.async<void>((resume) => {
      client.once("remoteSettings", () => resume(Effect.void))
      client.once("close", () => resume(Effect.void))
    })
  )

V8.setFlagsFromString("--expose_gc")
const collect = new Vm.Script("gc()")

/** Bytes in use when nothing more is freed. */
const used = Effect.gen(function* () {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 6; round++) {
    collect.runInNewContext()
    yield* Effect.sleep(5)
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    least = Math.min(least, heapUsed + arrayBuffers)
  }
  return least
})

const valueOf = (limit: string) => Effect.map(Metric.value(TransportMetrics.refusing(limit)), ({ value }) => value)

describe("connections", () => {
  it.scopedLive("without a stream give way to a newcomer, the oldest first; those with a stream stay", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ maxConnections: 4 }, answering)
      const busy = yield* session(port)
      const call = Http2Client.open(busy)
      call.stream.write(frame(request("type")))
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      const idle = [yield* session(port), yield* session(port), yield* session(port)]
      const closed = idle.map(() => false)
      idle.forEach((each, at) => each.once("close", () => void (closed[at] = true)))
      for (let newcomer = 0; newcomer < 2; newcomer++) {
        const next = Http2Client.open(yield* session(port))
        next.stream.write(frame(request("type")))
        yield* eventually(() => expect(streams.length).toBe(2 + newcomer))
        yield* eventually(() => expect(closed[newcomer]).toBe(true))
      }
      expect(closed).toEqual([true, true, false])
      expect(busy.destroyed).toBe(false)
      expect(yield* valueOf("maxConnections")).toBe(0)
    })
  )

  it.scopedLive("that bring nothing give way, too; where none is idle the newcomer is refused, and that is told", () =>
    Effect.gen(function* () {
      const { logs, port, streams } = yield* serve({ maxConnections: 2 }, answering)
      const silent = Net.connect(port, "127.0.0.1").on("error", () => undefined)
      yield* Effect.async<void>((resume) => void silent.once("connect", () => resume(Effect.void)))
      const calls: Array<Http2Client.Call> = []
      for (let number = 0; number < 2; number++) {
        const client = yield* session(port)
        const call = Http2Client.open(client)
        calls.push(call)
        call.stream.write(frame(request("type")))
        yield* eventually(() => expect(streams.length).toBe(number + 1))
      }
      yield* eventually(() => expect(silent.destroyed).toBe(true))
      const before = (yield* Metric.value(ConnectServerMetrics.refusedConnections)).count
      const refused = yield* session(port)
      yield* eventually(() => expect(refused.destroyed).toBe(true))
      expect(yield* valueOf("maxConnections")).toBe(1)
      expect((yield* Metric.value(ConnectServerMetrics.refusedConnections)).count).toBe(before + 1)
      expect(logs.find(({ message }) => message === "connection refused")?.annotations["reason"]).toBe(
        "this server has 2 connections, its limit, and none is idle"
      )
      // As soon as one has no stream any more there is room again.
      calls[0]?.stream.close(Http2.constants.NGHTTP2_CANCEL)
      yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
      const welcome = yield* session(port)
      Http2Client.open(welcome).stream.write(frame(request("type")))
      yield* eventually(() => expect(streams.length).toBe(3))
    })
  )

  it.scopedLive("of one address are bounded by an option", () =>
    Effect.gen(function* () {
      const { logs, port, streams } = yield* serve({ maxConnectionsPerPeer: 1 }, answering)
      const first = yield* session(port)
      Http2Client.open(first).stream.write(frame(request("type")))
      yield* eventually(() => expect(streams.length).toBe(1))
      const refused = yield* session(port)
      yield* eventually(() => expect(refused.destroyed).toBe(true))
      expect(logs.find(({ message }) => message === "connection refused")?.annotations["reason"]).toBe(
        "127.0.0.1 has 1 connections, the limit for one address, and none is idle"
      )
    })
  )

  it.scopedLive("of an address at its limit take no room from others, even if the server is full", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ host: "0.0.0.0", maxConnections: 2, maxConnectionsPerPeer: 1 })
      const first = yield* session(port)
      Http2Client.open(first).stream.write(frame(request("type")))
      yield* eventually(() => expect(streams.length).toBe(1))
      const other = Net.connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" }).on("error", () => undefined)
      yield* Effect.addFinalizer(() => Effect.sync(() => other.destroy()))
      let ended = false
      other.once("close", () => void (ended = true))
      yield* Effect.async<void>((resume) => void other.once("connect", () => resume(Effect.void)))
      const refused = yield* session(port)
      yield* eventually(() => expect(refused.destroyed).toBe(true))
      expect(ended).toBe(false)
      const replacement = Net.connect({ port, host: "127.0.0.1", localAddress: "127.0.0.2" }).on(
        "error",
        () => undefined
      )
      yield* Effect.addFinalizer(() => Effect.sync(() => replacement.destroy()))
      yield* eventually(() => expect(ended).toBe(true))
      expect(replacement.destroyed).toBe(false)
    })
  )

  it.scopedLive("without a stream are closed after some time; a stream keeps them", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ idleTimeout: 1_000 }, answering)
      const busy = yield* session(port)
      Http2Client.open(busy).stream.write(frame(request("type")))
      yield* eventually(() => expect(streams.length).toBe(1))
      const idle = yield* session(port)
      yield* eventually(() => expect(idle.destroyed).toBe(true))
      const second = yield* session(port)
      yield* eventually(() => expect(second.destroyed).toBe(true))
      expect(busy.destroyed).toBe(false)
    })
  )

  it.scopedLive("a hundred that come and go leave nothing", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ maxConnections: 20 }, answering)
      const count = Effect.map(Metric.value(ConnectServerMetrics.connections), (state) => state.count)
      const before = yield* count
      for (let round = 0; round < 100; round++) {
        const client = Http2.connect(`http://127.0.0.1:${port}`).on("error", () => undefined)
        const call = Http2Client.open(client)
        call.stream.write(frame(request("type")))
        yield* eventually(() => expect(streams.length).toBe(round + 1))
        if (round % 2 === 0) setImmediate(() => client.destroy())
        else call.stream.close(Http2.constants.NGHTTP2_CANCEL)
      }
      yield* eventually(() => expect(streams.filter(({ ends }) => ends.length !== 1).length).toBe(0))
      // The last ones are idle and may stay.
      yield* until("no connection but the idle", count, (now) => now <= before + 20)
    })
  )
})

describe("ten thousand", () => {
  /** A connection that says what HTTP/2 begins with, and nothing else: all that is needed on this side. */
  const open = (port: number): Promise<Net.Socket> =>
    new Promise((resolve, reject) => {
      const socket = Net.connect(port, "127.0.0.1")
      socket.on("error", reject)
      // The server's settings: the session has begun.
      socket.once("data", () => resolve(socket.resume()))
      socket.write(Http2Client.bytes.preface)
    })

  it.scopedLive(
    "connections of one address that ask for nothing keep no newcomer out, and leave nothing when they are gone",
    () =>
      Effect.gen(function* () {
        const maxConnections = 1_000
        const { port, streams } = yield* serve({ maxConnections }, answering)
        const counted = Effect.map(Metric.value(ConnectServerMetrics.connections), ({ count }) => count)
        const closedIdle = Effect.map(Metric.value(ConnectServerMetrics.idleConnectionsClosed), ({ count }) => count)
        const [before, closedBefore] = [yield* counted, yield* closedIdle]
        const sockets = new Set<Net.Socket>()
        yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
        for (let round = 0; round < 100; round++) {
          yield* Effect.promise(async () => {
            for (const socket of await Promise.all(Array.from({ length: 100 }, () => open(port)))) {
              sockets.add(socket)
              socket.once("close", () => sockets.delete(socket))
            }
          })
          if (round % 10 !== 9) continue
          // A newcomer is served at once, each time.
          const client = yield* session(port)
          const call = Http2Client.open(client)
          call.stream.write(frame(request("type")))
          yield* eventually(() => {
            expect(streams.at(-1)?.requests.length).toBe(1)
            expect(streams.length).toBe((round + 1) / 10)
          })
          expect((yield* counted) - before).toBeLessThanOrEqual(maxConnections)
          expect(yield* valueOf("maxConnections")).toBe(0)
        }
        expect((yield* closedIdle) - closedBefore).toBeGreaterThanOrEqual(9_000)
        for (const socket of sockets) socket.destroy()
        yield* until("no connection but the newcomers'", counted, (now) => now - before <= 10)
        expect(streams.flatMap(({ ends }) => ends)).toEqual([])
      })
  )

  it.scopedLive("streams that are opened and closed leave nothing: no bytes, no counts, no room of others", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ maxConnections: 10 }, answering)
      const bytes = Metric.value(TransportMetrics.clientBytes("unread requests"))
      const open = Metric.value(ConnectServerMetrics.streams)
      const [heldBefore, openBefore] = [(yield* bytes).value, (yield* open).count]
      const cut = frame(request("type ".repeat(100))).subarray(0, 100)
      const visit = (round: number) =>
        Effect.gen(function* () {
          for (let lot = 0; lot < 50; lot++) {
            // Node ends a session on which a thousand streams are reset.
            const client = Http2.connect(`http://127.0.0.1:${port}`).on("error", () => undefined)
            const first = streams.length
            for (let number = 0; number < 100; number++) {
              const call = Http2Client.open(client)
              // Some say something, some a part of it, some nothing.
              if (number % 3 === 0) call.stream.write(frame(request(`type ${round} ${lot} ${number}`)))
              if (number % 3 === 1) call.stream.write(cut)
              call.stream.once("response", () => {
                if (number % 2 === 0) call.stream.end()
                else setImmediate(() => call.stream.close(Http2.constants.NGHTTP2_CANCEL))
              })
            }
            yield* eventually(() => {
              expect(streams.length).toBe(first + 100)
              expect(streams.filter(({ ends }) => ends.length !== 1).length).toBe(0)
            })
            streams.length = 0
            setImmediate(() => client.destroy())
          }
        })
      // Five thousand, and as many again.
      yield* visit(0)
      let [before, left] = [yield* used, Number.POSITIVE_INFINITY]
      // What is measured is not only theirs, so it is measured again before it counts.
      for (let round = 1; round <= 3 && left > 100; round++) {
        yield* visit(round)
        const after = yield* used
        left = Math.min(left, (after - before) / 5_000)
        before = after
      }
      expect(left).toBeLessThan(100)
      expect([(yield* bytes).value, (yield* open).count]).toEqual([heldBefore, openBefore])
    })
  )
})

describe("streams that are refused", () => {
  it.scopedLive(
    "are told of once in a minute for each address and reason; while it is so newcomers are said to be refused",
    () =>
      Effect.gen(function* () {
        const { logs, port, streams } = yield* serve({ maxStreams: 1 }, answering)
        const client = yield* session(port)
        const only = Http2Client.open(client)
        only.stream.write(frame(request("type")))
        yield* eventually(() => expect(streams.length).toBe(1))
        expect(yield* valueOf("maxStreams")).toBe(0)
        for (let number = 0; number < 50; number++) {
          const refused = yield* Effect.promise(() => Http2Client.open(client).closed)
          expect(refused["grpc-status"]).toBe("8")
        }
        const told = logs.filter(({ message }) => message === "stream refused")
        expect(told.map(({ annotations }) => annotations["reason"])).toEqual(["too many streams"])
        expect(yield* valueOf("maxStreams")).toBe(1)
        // Another reason is another line.
        yield* Effect.promise(() => Http2Client.open(client, { ":path": "/no.Such/Method" }).closed)
        expect(logs.filter(({ message }) => message === "stream refused")).toHaveLength(2)
        only.stream.close(Http2.constants.NGHTTP2_CANCEL)
        yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
        expect(yield* valueOf("maxStreams")).toBe(0)
      })
  )
})

/** Counts the turns of the event loop from here on. */
const countTurns = (): { readonly turn: () => number; readonly stop: () => void } => {
  let turn = 0
  let counting = true
  const count = (): void => {
    turn++
    if (counting) setImmediate(count)
  }
  setImmediate(count)
  return {
    turn: () => turn,
    stop: () => {
      counting = false
    }
  }
}

/** Milliseconds of the processor. */
const spend = (milliseconds: number): void => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

describe("requests", () => {
  it.scopedLive("that come in one piece are read some at a time, in their order, and others have their turn", () =>
    Effect.gen(function* () {
      const { stop, turn } = countTurns()
      const turns: Array<number> = []
      const { port, streams } = yield* serve(
        {},
        {
          onRequest: () => {
            turns.push(turn())
            spend(0.5)
          }
        }
      )
      const call = Http2Client.open(yield* session(port))
      // None of them is short.
      const types = Array.from({ length: 200 }, (_, at) => `type ${at} ${"x".repeat(600)}`)
      call.stream.end(Buffer.concat(types.map((type) => frame(request(type)))))
      yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
      stop()
      expect(streams[0]?.requests.map(({ typeUrl }) => typeUrl)).toEqual(types)
      const inTurn = new Map<number, number>()
      for (const each of turns) inTurn.set(each, (inTurn.get(each) ?? 0) + 1)
      // 4 ms are one turn's; what was seen as one turn may have been the end of one and the beginning of the next.
      expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(18)
      expect(streams[0]?.ends).toEqual(["the client ended the stream"])
    })
  )

  it.scopedLive("of 4 MB that are 4 KB on the way are inflated aside: a small one is answered before they are", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const { port, streams } = yield* serve({}, { onRequest: (_, { typeUrl }) => void order.push(typeUrl) })
      const attacker = yield* session(port)
      // Two million fields that nobody knows.
      const field = Buffer.from([0x7a, 0])
      const bomb = frame(gzipSync(Buffer.concat([request("large"), Buffer.alloc(4 * 1024 * 1024 - 100, field)])), 1)
      for (let number = 0; number < 4; number++) {
        const call = Http2Client.open(attacker, { ":path": deltaPath, "grpc-encoding": "gzip" })
        call.stream.write(bomb)
      }
      yield* eventually(() => expect(streams.length).toBe(4))
      const honest = Http2Client.open(yield* session(port), { "grpc-encoding": "gzip" })
      honest.stream.write(frame(gzipSync(request("small")), 1))
      yield* eventually(() => expect(order.length).toBeGreaterThanOrEqual(5))
      expect(order[0]).toBe("small")
      expect(order.filter((type) => type === "large").length + order.filter((type) => type === "").length).toBe(4)
    })
  )

  it.scopedLive("that wait to be inflated are given up with their streams, so that no newcomer waits for them", () =>
    Effect.gen(function* () {
      const inflate = yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(Inflater.prototype, "inflate")),
        (spy) => Effect.sync(() => spy.mockRestore())
      )
      const waiting = (): ReadonlyArray<number> =>
        inflate.mock.contexts.map((inflater) => (inflater instanceof Inflater ? inflater.size : Number.NaN))
      const { port, streams } = yield* serve()
      const attacker = yield* session(port)
      const bomb = frame(gzipSync(Buffer.alloc(4 * 1024 * 1024 - 100, Buffer.from([0x7a, 0]))), 1)
      for (let number = 0; number < 100; number++) {
        const call = Http2Client.open(attacker, { ":path": deltaPath, "grpc-encoding": "gzip" })
        call.stream.write(bomb)
      }
      yield* eventually(() => expect(waiting().length).toBe(100))
      setImmediate(() => attacker.destroy())
      yield* eventually(() => expect(streams.filter(({ ends }) => ends.length === 1).length).toBe(100))
      // Two are being inflated, at most.
      expect(waiting()[0]).toBeLessThanOrEqual(2)
      const requests = streams.map((stream) => stream.requests.length).reduce((sum, count) => sum + count)
      expect(requests).toBeLessThan(100)
    })
  )

  it.scopedLive("after one that is inflated wait for it", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const call = Http2Client.open(yield* session(port), { ":path": adsPath, "grpc-encoding": "gzip" })
      const large = frame(gzipSync(Buffer.concat([request("first"), Buffer.alloc(300_000, Buffer.from([0x7a, 0]))])), 1)
      call.stream.write(Buffer.concat([large, frame(request("second")), large]))
      call.stream.end(frame(request("third")))
      yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
      expect(streams[0]?.requests.map(({ typeUrl }) => typeUrl)).toEqual(["first", "second", "first", "third"])
    })
  )

  it.scopedLive("that a server does not want yet are not read: the client's window fills, and nothing is lost", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve(
        {},
        { onRequest: ({ requests, stream }) => requests.length === 1 && stream.setReading?.(false) }
      )
      const call = Http2Client.open(yield* session(port))
      call.stream.write(frame(request("one")))
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      const more = Array.from({ length: 3_000 }, (_, at) => `type ${at} ${"x".repeat(1000)}`)
      call.stream.end(Buffer.concat(more.map((type) => frame(request(type)))))
      const held = Effect.map(Metric.value(TransportMetrics.clientBytes("unread requests")), ({ value }) => value)
      // 64 KB are taken, and the one frame that came on top of them; the window, 256 KB, counts as if it were full.
      yield* eventually(() => expect(Effect.runSync(held)).toBeGreaterThan(320_000))
      expect(yield* held).toBeLessThanOrEqual(256 * 1024 + 2 * 65_536)
      expect(streams[0]?.requests.length).toBe(1)
      streams[0]?.stream.setReading?.(true)
      yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
      expect(streams[0]?.requests.slice(1).map(({ typeUrl }) => typeUrl)).toEqual(more)
      expect((yield* Metric.value(TransportMetrics.clientBytes("unread requests"))).value).toBe(0)
    })
  )

  it.scopedLive("for which there is no turn wait in their sockets, however many streams they come on", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({}, { onRequest: () => spend(5) })
      const client = yield* session(port)
      const held = Metric.value(TransportMetrics.clientBytes("unread requests"))
      let most = 0
      const note = (): void => {
        most = Math.max(most, Effect.runSync(held).value)
        if (streams.length < 200 || streams.some(({ ends }) => ends.length === 0)) setImmediate(note)
      }
      setImmediate(note)
      // 2.8 MB, in frames that are whole requests.
      const message = frame(request("x".repeat(14_000)))
      for (let number = 0; number < 200; number++) Http2Client.open(client).stream.end(message)
      yield* eventually(() => {
        expect(streams.length).toBe(200)
        expect(streams.filter(({ ends }) => ends.length !== 1).length).toBe(0)
      })
      expect(streams.every(({ requests }) => requests.length === 1)).toBe(true)
      // What is read from a socket at once, and once more when something was written to it meanwhile.
      expect(most).toBeLessThanOrEqual(4 * 65_536)
      expect(most).toBeGreaterThan(0)
    })
  )

  it.scopedLive("that are short are read in a turn that is over for larger ones", () =>
    Effect.gen(function* () {
      const { stop, turn } = countTurns()
      const turns: Array<number> = []
      const onRequest = (): void => {
        turns.push(turn())
        spend(5)
      }
      const { port } = yield* serve({}, { onRequest })
      const client = yield* session(port)
      const [one, other] = [Http2Client.open(client), Http2Client.open(client)]
      let together = 0
      // They may come in two pieces, but not each time.
      for (let round = 1; round <= 20; round++) {
        for (const { stream } of [one, other]) stream.write(frame(request("short")))
        yield* eventually(() => expect(turns.length).toBe(2 * round))
        if (turns.at(-1) === turns.at(-2)) together++
      }
      stop()
      expect(together).toBeGreaterThan(0)
    })
  )

  it.scopedLive("that are complete are no longer in the budget, while their stream goes on", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve()
      const call = Http2Client.open(yield* session(port))
      const held = Metric.value(TransportMetrics.clientBytes("unread requests"))
      for (let round = 1; round <= 2; round++) {
        const message = frame(request("x".repeat(10_000)))
        call.stream.write(message.subarray(0, 8_000))
        yield* eventually(() => expect(Effect.runSync(held).value).toBeGreaterThanOrEqual(8_000))
        call.stream.write(message.subarray(8_000))
        yield* eventually(() => expect(streams[0]?.requests.length).toBe(round))
        yield* eventually(() => expect(Effect.runSync(held).value).toBe(0))
      }
      expect(streams[0]?.ends).toEqual([])
    })
  )

  it.scopedLive("that are not complete share a budget: who has held some of it for the longest time is ended", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ maxClientBytes: 3_000_000 })
      const clients = yield* session(port)
      const begun = frame(request("x".repeat(2_000_000))).subarray(0, 900_000)
      const calls: Array<Http2Client.Call> = []
      for (let number = 0; number < 6; number++) {
        const call = Http2Client.open(clients)
        call.stream.write(begun)
        calls.push(call)
        yield* eventually(() => expect(streams.length).toBe(number + 1))
      }
      yield* eventually(() => expect(streams[0]?.ends.length).toBe(1))
      expect(streams[0]?.ends).toEqual([
        "this server holds as many bytes of requests that are not complete as it may; try again later"
      ])
      expect(streams[5]?.ends).toEqual([])
      expect((yield* Metric.value(TransportMetrics.clientBytes("unread requests"))).value).toBeLessThanOrEqual(
        3_000_000
      )
    })
  )
})
