/** What is not a gRPC stream: unary calls, gRPC-Web and Connect. Such requests are read in turns, too, or are bounded. */
import { BytesValueSchema } from "@bufbuild/protobuf/wkt"
import { fromBinary } from "@bufbuild/protobuf"
import { eventually } from "@effect-xds/testing/Waiting"
import { Status } from "@effect-xds/transport"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { vi } from "vitest"
import { Readable } from "node:stream"
import { gzipSync } from "node:zlib"
import * as WrappedRequests from "../src/server/WrappedRequests.js"
import * as Http2Client from "./Http2Client.js"
import { adsPath, answering, frame, request, serve } from "./RecordingServer.js"

const fetchPath = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"

/** Half a million fields that nobody knows, and one that everybody does. */
const many = Buffer.concat([request("type"), Buffer.alloc(1_000_000, Buffer.from([0x7a, 0]))])

interface Case {
  readonly name: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
}

const stream = { ":path": adsPath }
const unary = { ":path": fetchPath }

/** Each turn has time for one part only; how many were taken. */
const countTurns = Effect.acquireRelease(
  Effect.sync(() => {
    vi.spyOn(TimeSlices.prototype, "isOver").mockReturnValue(true)
    return vi.spyOn(TimeSlices.prototype, "later")
  }),
  () => Effect.sync(() => vi.restoreAllMocks())
)

it.scopedLive(
  "a turn begins where a session is accepted, and with a request over HTTP/1.1: that takes of its time",
  () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({}, answering)
      const begin = yield* Effect.acquireRelease(
        Effect.sync(() => vi.spyOn(TimeSlices.prototype, "begin")),
        () => Effect.sync(() => vi.restoreAllMocks())
      )
      const call = Http2Client.open(yield* Http2Client.connect(port))
      call.stream.end(frame(request("type")))
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      expect(begin.mock.calls.length).toBe(1)
      const headers = { "content-type": "application/proto" }
      yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}${fetchPath}`, { method: "POST", headers, body: many })
      )
      expect(begin.mock.calls.length).toBe(2)
    })
)

describe("a request in protobuf", () => {
  const cases: ReadonlyArray<Case> = [
    { name: "of a unary gRPC call", headers: unary, body: frame(many) },
    { name: "that is compressed", headers: { ...unary, "grpc-encoding": "gzip" }, body: frame(gzipSync(many), 1) },
    { name: "of gRPC-Web", headers: { ...stream, "content-type": "application/grpc-web+proto" }, body: frame(many) },
    {
      name: "of a stream of Connect",
      headers: { ...stream, "content-type": "application/connect+proto" },
      body: frame(many)
    },
    { name: "of a unary call of Connect", headers: { ...unary, "content-type": "application/proto" }, body: many },
    {
      name: "of a unary call of Connect that is compressed",
      headers: { ...unary, "content-type": "application/proto", "content-encoding": "gzip" },
      body: gzipSync(many)
    }
  ]
  for (const { body, headers, name } of cases) {
    it.scopedLive(`${name} is read 2 048 fields at a time`, () =>
      Effect.gen(function* () {
        const { port, streams } = yield* serve({}, answering)
        const client = yield* Http2Client.connect(port)
        const later = yield* countTurns
        const call = Http2Client.open(client, headers)
        call.stream.end(body)
        yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
        expect(streams[0]?.requests[0]?.typeUrl).toBe("type")
        expect(later.mock.calls.length).toBeGreaterThanOrEqual(500_000 / 2048)
        expect((yield* Effect.promise(() => call.closed))[":status"]).toBe(200)
      })
    )
  }

  it.scopedLive("waits where it is while the server does not want it", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve(
        {},
        { onRequest: ({ requests, stream }) => requests.length === 1 && stream.setReading?.(false) }
      )
      const call = Http2Client.open(yield* Http2Client.connect(port), {
        ...stream,
        "content-type": "application/connect+proto"
      })
      call.stream.end(Buffer.concat(["one", "two", "three"].map((type) => frame(request(type)))))
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
      const held = Metric.value(TransportMetrics.clientBytes("unread requests"))
      yield* eventually(() => expect(Effect.runSync(held).value).toBeGreaterThan(0))
      expect(streams[0]?.requests.length).toBe(1)
      streams[0]?.stream.setReading?.(true)
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(3))
      expect(streams[0]?.requests.map(({ typeUrl }) => typeUrl)).toEqual(["one", "two", "three"])
    })
  )

  it.scopedLive("★ that waits in a stream of Connect counts, as much as may be there: the oldest gives way", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve(
        { maxClientBytes: 600_000 },
        { onRequest: ({ requests, stream }) => requests.length === 1 && stream.setReading?.(false) }
      )
      const client = yield* Http2Client.connect(port)
      const held = Metric.value(TransportMetrics.clientBytes("unread requests"))
      const holds = (bytes: number) => eventually(() => expect(Effect.runSync(held).value).toBe(bytes))
      for (let number = 1; number <= 3; number++) {
        const call = Http2Client.open(client, { ...stream, "content-type": "application/connect+proto" })
        call.stream.write(Buffer.concat(["one", "two"].map((type) => frame(request(type)))))
        yield* eventually(() => expect(streams[number - 1]?.requests.length).toBe(1))
        yield* holds(Math.min(number, 2) * 256 * 1024)
      }
      expect(streams.map(({ ends }) => ends)).toEqual([
        ["this server holds as many bytes of requests that are not read as it may; try again later"],
        [],
        []
      ])
      streams[1]?.stream.setReading?.(true)
      yield* eventually(() => expect(streams[1]?.requests.length).toBe(2))
      yield* holds(256 * 1024)
      streams[2]?.stream.end(Status.ok)
      yield* holds(0)
    })
  )

  it.live("is wrapped whatever pieces it comes in, and others are left as they are", () =>
    Effect.promise(async () => {
      const end = frame(Buffer.from("{}"), 2)
      const zipped = frame(gzipSync(request("zipped")), 1)
      const body = Buffer.concat([
        frame(request("a")),
        frame(Buffer.alloc(0)),
        zipped,
        frame(request("x".repeat(300))),
        end
      ])
      const reading = { isWrapped: true, isBare: false, isCompressed: false, isJson: false, maxBytes: 1000 }
      for (let size = 1; size < 40; size++) {
        const chunks = Array.from({ length: Math.ceil(body.length / size) }, (_, at) =>
          body.subarray(at * size, (at + 1) * size)
        )
        const seen: Array<Uint8Array> = []
        const held: Array<number> = []
        const source = Readable.from(chunks)
        for await (const chunk of WrappedRequests.read(source, { ...reading, onHeld: (bytes) => held.push(bytes) }))
          seen.push(chunk)
        const messages: Array<[flag: number, message: Uint8Array]> = []
        const all = Buffer.concat(seen)
        for (let at = 0; at < all.length; at += 5 + all.readUInt32BE(at + 1))
          messages.push([all[at] ?? 0, all.subarray(at + 5, at + 5 + all.readUInt32BE(at + 1))])
        expect(messages.map(([flag]) => flag)).toEqual([0, 0, 1, 0, 2])
        const wrapped = [0, 1, 3].map((at) => fromBinary(BytesValueSchema, messages[at]?.[1] ?? Buffer.alloc(0)).value)
        expect(Buffer.concat(wrapped)).toEqual(Buffer.concat([request("a"), request("x".repeat(300))]))
        expect(messages[2]?.[1]).toEqual(zipped.subarray(5))
        const most = request("x".repeat(300)).length
        expect(Math.max(...held)).toBeLessThan(most)
        expect(Math.max(...held)).toBeGreaterThanOrEqual(most - size)
        // ★ What is whole is held no longer.
        expect(held.at(-1)).toBe(0)
      }
    })
  )
})

describe("a request in JSON", () => {
  const text = `{"node":{"id":"n","extensions":[${"{},".repeat(10_000)}{}]}}`
  const cases: ReadonlyArray<Case> = [
    { name: "of a unary call", headers: { ...unary, "content-type": "application/json" }, body: Buffer.from(text) },
    {
      name: "of a unary call that is compressed",
      headers: { ...unary, "content-type": "application/json", "content-encoding": "gzip" },
      body: gzipSync(text)
    },
    {
      name: "of a stream",
      headers: { ...stream, "content-type": "application/connect+json" },
      body: frame(Buffer.from(text))
    },
    {
      name: "of gRPC-Web",
      headers: { ...stream, "content-type": "application/grpc-web+json" },
      body: frame(Buffer.from(text))
    }
  ]
  const names = Array.from({ length: 18_000 }, (_, at) => `cluster-${at}`)
  const large = (type: string): string =>
    JSON.stringify({ resourceNames: names, typeUrl: type, unknown: [1, { a: 2 }] })
  const json = "application/connect+json"
  const read: ReadonlyArray<Case> = [
    {
      name: "of a unary call",
      headers: { ...unary, "content-type": "application/json" },
      body: Buffer.from(large("type"))
    },
    {
      name: "of a unary call that is compressed",
      headers: { ...unary, "content-type": "application/json", "content-encoding": "gzip" },
      body: gzipSync(large("type"))
    },
    { name: "of a stream", headers: { ...stream, "content-type": json }, body: frame(Buffer.from(large("type"))) },
    {
      name: "of a stream that is compressed",
      headers: { ...stream, "content-type": json, "connect-content-encoding": "gzip" },
      body: frame(gzipSync(large("type")), 1)
    }
  ]
  for (const { body, headers, name } of read) {
    it.scopedLive(`${name} is parsed and encoded in parts`, () =>
      Effect.gen(function* () {
        const { port, streams } = yield* serve({}, answering)
        const later = yield* countTurns
        const call = Http2Client.open(yield* Http2Client.connect(port), headers)
        call.stream.end(body)
        yield* eventually(() => expect(streams[0]?.requests.length).toBe(1))
        expect(streams[0]?.requests[0]).toMatchObject({ typeUrl: "type", resourceNames: names })
        // Pieces of 16 KB of the text, 256 names that are encoded, 2 048 fields that are read.
        const turns = large("type").length / 16_384 + names.length / 256 + names.length / 2_048
        expect(later.mock.calls.length).toBeGreaterThanOrEqual(Math.floor(turns))
        expect((yield* Effect.promise(() => call.closed))[":status"]).toBe(200)
      })
    )
  }

  it.scopedLive("comes in whatever pieces, one after the other", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({}, {})
      const call = Http2Client.open(yield* Http2Client.connect(port), { ...stream, "content-type": json })
      const types = ["one", "", "three"]
      const body = Buffer.concat(types.map((type) => frame(Buffer.from(JSON.stringify({ type_url: type })))))
      for (let at = 0; at < body.length; at += 3) {
        call.stream.write(body.subarray(at, at + 3))
        yield* Effect.sleep(0)
      }
      yield* eventually(() => expect(streams[0]?.requests.length).toBe(3))
      expect(streams[0]?.requests.map(({ typeUrl }) => typeUrl)).toEqual(types)
      call.stream.close()
    })
  )

  it.scopedLive("that is none is refused with where it is wrong, and no word of it", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({}, answering)
      const client = yield* Http2Client.connect(port)
      const answerTo = (body: string) =>
        Effect.promise(async () => {
          const call = Http2Client.open(client, { ...unary, "content-type": "application/json" })
          call.stream.end(body)
          const headers = await call.closed
          return `${String(headers[":status"])} ${Buffer.concat(call.chunks).toString()}`
        })
      const wrong = "the request is not JSON: line 1: it is wrong there"
      expect(yield* answerTo(`{"type_url": secret}`)).toBe(`400 {"code":"invalid_argument","message":"${wrong}"}`)
      expect(yield* answerTo("[1]")).toContain(
        "the request is not a DiscoveryRequest: it is an array and not an object"
      )
      const kind = "the request is not a DiscoveryRequest: cannot decode field "
      expect(yield* answerTo(`{"type_url": 7}`)).toContain(kind)
      const large = yield* answerTo(`{"type_url": "${"x".repeat(1_048_577)}"}`)
      expect(large).toContain("429 ")
      expect(large).toContain("more than 1048576 bytes")
      const inflated = Http2Client.open(client, {
        ...unary,
        "content-type": "application/json",
        "content-encoding": "gzip"
      })
      inflated.stream.end(gzipSync(`{"type_url": "${"x".repeat(1_048_577)}"}`))
      expect((yield* Effect.promise(() => inflated.closed))[":status"]).toBe(429)
      expect(streams).toEqual([])
    })
  )

  for (const { body, headers, name } of cases) {
    it.scopedLive(`${name} is refused before it is parsed if it has more than 20 000 values`, () =>
      Effect.gen(function* () {
        const { logs, port, streams } = yield* serve({}, answering)
        const call = Http2Client.open(yield* Http2Client.connect(port), headers)
        call.stream.end(body)
        yield* Effect.promise(() => call.closed)
        expect(streams.flatMap(({ requests }) => requests)).toEqual([])
        const answer = `${Buffer.concat(call.chunks).toString()}${JSON.stringify(logs)}`
        expect(answer).toContain("more than 20000 JSON values")
      })
    )
  }
})

describe("requests that are not complete", () => {
  it.scopedLive("count: the oldest gives way, and a whole one is answered", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ maxClientBytes: 1_000_000 }, answering)
      const client = yield* Http2Client.connect(port)
      const closed: Array<number> = []
      for (let number = 0; number < 6; number++) {
        const call = Http2Client.open(client, { ...unary, "content-type": "application/proto" })
        call.stream.write(many.subarray(0, 300_000))
        void call.closed.then(() => closed.push(number))
      }
      yield* eventually(() => expect(closed.length).toBe(3))
      expect(closed).toEqual([0, 1, 2])
      const held = yield* Metric.value(TransportMetrics.clientBytes("unread requests"))
      expect(held.value).toBeLessThanOrEqual(1_000_000)
      const call = Http2Client.open(client, unary)
      call.stream.end(frame(request("type")))
      expect((yield* Effect.promise(() => call.closed))["grpc-status"]).toBe("0")
    })
  )
})
