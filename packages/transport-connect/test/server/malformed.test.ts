import { fromBinary } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { BadRequest } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectServerMetrics } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import type { ClientHttp2Session } from "node:http2"
import * as Http2Client from "../Http2Client.js"
import { adsPath, deltaPath, frame } from "../RecordingServer.js"
import { CDS, cluster, clusters, EDS, group, serve } from "./ControlPlane.js"
import { encode, type Protocol, protocols, statusOf, XdsClient } from "./XdsClient.js"

const streamingPaths: ReadonlyArray<readonly [path: string, protocol: Protocol]> = [
  [adsPath, "StateOfTheWorld"],
  [deltaPath, "Incremental"],
  ...ResourceType.all.flatMap(({ delta, service = "", stream }) => [
    ...(stream === undefined ? [] : [[`/${service}/${stream}`, "StateOfTheWorld"] as const]),
    ...(delta === undefined ? [] : [[`/${service}/${delta}`, "Incremental"] as const])
  ])
]
const unaryPaths = ResourceType.all.flatMap(({ fetch, service = "" }) =>
  fetch === undefined ? [] : [`/${service}/${fetch}`]
)

/** Numbers below 1 that are the same for the same seed. */
const random = (seed: number) => (): number => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

/** INVALID_ARGUMENT, RESOURCE_EXHAUSTED, INTERNAL. */
const refusals = [3, 8, 13]

/** What the transport logs of an exception that it did not expect. */
const defect = "server failed on a stream"

/** A server with two clients on connections of their own, of which the first's is to be shared. */
const surrounded = Effect.gen(function* () {
  const server = yield* serve({}, { shutdownGrace: 1_000 })
  const { clients, figures, logs, port, store } = server
  yield* store.set(group, clusters("a"))
  const session = yield* Http2Client.connect(port)
  const beside = new XdsClient(session, "Incremental", { node: "beside" })
  const elsewhere = new XdsClient(yield* Http2Client.connect(port), "StateOfTheWorld", { node: "elsewhere" })
  for (const client of [beside, elsewhere]) {
    client.subscribe(CDS)
    client.ack(yield* client.receive)
  }
  let changes = 0
  return {
    ...server,
    session,
    /** Both are sent the next change, and nothing else. */
    areServed: Effect.gen(function* () {
      yield* store.update(group, { upsert: { clusters: [cluster("a", String(++changes))] } })
      for (const client of [beside, elsewhere]) {
        const update = yield* client.receive
        expect(update).toMatchObject({ typeUrl: CDS, names: ["a"] })
        client.ack(update)
      }
    }),
    /** Nobody but them is there. */
    areAlone: Effect.gen(function* () {
      yield* eventually(() => Effect.runPromise(Effect.map(figures, ({ calls }) => expect(calls).toBe(2))))
      expect(yield* clients).toEqual(["beside", "elsewhere"])
      expect(yield* figures).toMatchObject({ calls: 2, streams: 2, deadlines: 0 })
      expect(logs).not.toContain(defect)
    })
  }
})

const send = (
  session: ClientHttp2Session,
  path: string,
  body: Uint8Array,
  contentType = "application/grpc"
): Promise<ReturnType<typeof statusOf>> => {
  const call = Http2Client.open(session, { ":path": path, "content-type": contentType })
  call.stream.end(body)
  return call.closed.then(statusOf)
}

describe("random bytes", () => {
  it.scopedLive("end their stream with a status, on every streaming method, and are counted", () =>
    Effect.gen(function* () {
      const { areAlone, areServed, figures, session } = yield* surrounded
      let sent = 0
      for (let seed = 1; seed <= 12; seed++) {
        const next = random(seed)
        const bytes = (most: number) => Buffer.from(Array.from({ length: 1 + next() * most }, () => next() * 256))
        const forms = [
          () => bytes(60),
          () => frame(bytes(60)),
          () => frame(bytes(60), 1),
          () => frame(bytes(2)),
          // The fields of a request, with nonsense for their content.
          () => frame(Buffer.from([0x0a, ...bytes(20), 0x12, ...bytes(20), 0x1a, ...bytes(20)]))
        ]
        const calls = streamingPaths.map(([path]) => {
          const form = forms[Math.floor(next() * forms.length)] ?? expect.unreachable()
          sent++
          return send(session, path, form())
        })
        const statuses = yield* Effect.promise(() => Promise.all(calls))
        for (const [index, status] of statuses.entries()) {
          expect(refusals, `seed ${seed}, ${streamingPaths[index]?.[0]}: ${JSON.stringify(status)}`).toContain(
            status.code
          )
          expect(status.message, `seed ${seed}`).not.toBe("")
        }
        yield* areServed
      }
      yield* areAlone
      expect((yield* figures).violations).toBe(sent)
    })
  )

  it.scopedLive("end their call with a status, on every unary method", () =>
    Effect.gen(function* () {
      const { areAlone, areServed, figures, session } = yield* surrounded
      for (let seed = 1; seed <= 12; seed++) {
        const next = random(seed)
        const bytes = (most: number) => Buffer.from(Array.from({ length: 1 + next() * most }, () => next() * 256))
        const calls = unaryPaths.map((path) => send(session, path, next() < 0.5 ? bytes(60) : frame(bytes(60))))
        const statuses = yield* Effect.promise(() => Promise.all(calls))
        for (const [index, { code }] of statuses.entries())
          // UNIMPLEMENTED: two messages, or none, for a call that takes one.
          expect([...refusals, 12], `seed ${seed}, ${unaryPaths[index]}`).toContain(code)
        yield* areServed
      }
      yield* areAlone
      expect((yield* figures).violations).toBe(12 * unaryPaths.length)
    })
  )
})

describe("requests that nobody should send", () => {
  it.scopedLive.each(protocols)("are answered or end their stream, with words, %s", (protocol) =>
    Effect.gen(function* () {
      const { areAlone, areServed, session } = yield* surrounded
      const path = protocol === "Incremental" ? deltaPath : adsPath
      for (const { bytes, isValid, what } of BadRequest.all(protocol, { id: "bad", cluster: group }, CDS)) {
        const call = Http2Client.open(session, { ":path": path })
        if (isValid) {
          call.stream.write(frame(bytes))
          yield* eventually(() => expect(Buffer.concat(call.chunks).includes(CDS), what).toBe(true))
          call.stream.end()
          yield* Effect.promise(() => call.closed)
          continue
        }
        call.stream.end(frame(bytes))
        const status = statusOf(yield* Effect.promise(() => call.closed))
        expect([what, refusals.includes(status.code)]).toEqual([what, true])
        expect(status.message, what).toMatch(/ /)
        expect(status.message, what).not.toMatch(/call stack|RangeError|undefined/)
      }
      yield* areServed
      yield* areAlone
    })
  )
})

describe("a unary call", () => {
  const path = unaryPaths[0] ?? ""
  const contentTypes = ["application/grpc", "application/proto", "application/json"]

  it.scopedLive.each(contentTypes)("whose request never ends is cut off, %s", (contentType) =>
    Effect.gen(function* () {
      const { figures, logs, port } = yield* serve({}, { handshakeTimeout: 500 })
      const session = yield* Http2Client.connect(port)
      const late = ConnectServerMetrics.refusedStreams("request timeout")
      const before = (yield* Metric.value(late)).count
      const call = Http2Client.open(session, { ":path": path, "content-type": contentType })
      call.stream.write(frame(encode("StateOfTheWorld", { node: "slow" })).subarray(0, 9))
      yield* Effect.promise(() => call.closed)
      expect(call.stream.rstCode).toBe(8)
      expect((yield* Metric.value(late)).count).toBe(before + 1)
      expect(yield* figures).toMatchObject({ connections: 1, calls: 0, streams: 0, deadlines: 0 })
      expect(logs).not.toContain(defect)
    })
  )

  it.scopedLive.each(contentTypes)("of bytes that are no request is refused and counted, %s", (contentType) =>
    Effect.gen(function* () {
      const { areAlone, areServed, figures, session } = yield* surrounded
      const call = Http2Client.open(session, { ":path": path, "content-type": contentType })
      call.stream.end(contentType === "application/grpc" ? frame(Buffer.from([0x0a, 9])) : Buffer.from([0x0a, 9]))
      const headers = yield* Effect.promise(() => call.closed)
      if (contentType === "application/grpc") expect(refusals).toContain(statusOf(headers).code)
      else expect([400, 500]).toContain(Number(headers[":status"]))
      yield* areServed
      yield* areAlone
      expect((yield* figures).violations).toBe(1)
    })
  )

  it.scopedLive.each(contentTypes)("that is too large is refused and counted as such, %s", (contentType) =>
    Effect.gen(function* () {
      const { areAlone, areServed, session } = yield* surrounded
      const tooLarge = ConnectServerMetrics.refusedStreams("message too large")
      const before = (yield* Metric.value(tooLarge)).count
      const call = Http2Client.open(session, { ":path": path, "content-type": contentType })
      const body = Buffer.alloc(5_000_000, 0x20)
      call.stream.end(contentType === "application/grpc" ? frame(body) : body)
      const headers = yield* Effect.promise(() => call.closed)
      if (contentType === "application/grpc") expect(statusOf(headers).code).toBe(8)
      else expect(headers[":status"]).toBe(429)
      yield* areServed
      yield* areAlone
      yield* eventually(async () => expect((await Effect.runPromise(Metric.value(tooLarge))).count).toBe(before + 1))
    })
  )
})

const schemas = { StateOfTheWorld: DiscoveryRequestSchema, Incremental: DeltaDiscoveryRequestSchema }

describe.each(protocols)("a request that is cut, %s", (protocol) => {
  const whole = encode(protocol, {
    typeUrl: EDS,
    node: "cut",
    names: ["a", "b"],
    unsubscribe: ["c"],
    version: "1",
    nonce: "7",
    error: "no"
  })
  const path = protocol === "StateOfTheWorld" ? adsPath : deltaPath

  /** What a request that is cut still says; `undefined` if it is none any more. */
  const read = (bytes: Uint8Array) => {
    try {
      const { node, typeUrl } = fromBinary<typeof DiscoveryRequestSchema | typeof DeltaDiscoveryRequestSchema>(
        schemas[protocol],
        bytes
      )
      return { node, typeUrl }
    } catch {
      return undefined
    }
  }

  it.scopedLive("ends its stream with a status wherever the message is cut, or is served as what it still is", () =>
    Effect.gen(function* () {
      const { areAlone, areServed, figures, session } = yield* surrounded
      const seen = new Set<number>()
      let violations = 0
      for (let length = 0; length <= whole.length; length++) {
        const bytes = whole.subarray(0, length)
        const request = read(bytes)
        const { code, message } = yield* Effect.promise(() => send(session, path, frame(bytes)))
        const isServed = request?.node !== undefined && request.typeUrl !== ""
        const expected = request === undefined ? 13 : isServed ? 0 : 3
        expect({ length, code }).toEqual({ length, code: expected })
        if (request === undefined) expect(message).toContain(`${length} bytes are not a `)
        seen.add(code)
        if (code !== 0) violations++
        if (length % 10 === 0) yield* areServed
      }
      expect([...seen].sort()).toEqual([0, 13, 3].sort())
      yield* areAlone
      expect((yield* figures).violations).toBe(violations)
    })
  )

  it.scopedLive("ends its stream with a status wherever the stream is cut", () =>
    Effect.gen(function* () {
      const { areAlone, areServed, figures, session } = yield* surrounded
      const framed = frame(whole)
      for (let length = 1; length < framed.length; length++) {
        expect(yield* Effect.promise(() => send(session, path, framed.subarray(0, length)))).toEqual({
          code: 13,
          message: "the client ended the stream inside a message"
        })
        if (length % 10 === 0) yield* areServed
      }
      yield* areAlone
      expect((yield* figures).violations).toBe(framed.length - 1)
    })
  )
})
