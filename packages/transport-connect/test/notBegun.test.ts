/** Calls that never begin, and answers to what is no call: neither is counted as a stream, so each is limited in time. */
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectServerMetrics } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import * as Http2Client from "./Http2Client.js"
import { adsPath, serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)
const late = Effect.map(Metric.value(ConnectServerMetrics.refusedStreams("request timeout")), ({ count }) => count)
const contentTypes = ["application/grpc", "application/grpc-web+proto", "application/connect+proto"]

describe("a call", () => {
  it.scopedLive.each(contentTypes)("of a server's stream whose request never comes is cut off, %s", (contentType) =>
    Effect.gen(function* () {
      const { port } = yield* serve({ requestTimeout: 50 })
      const before = yield* late
      const session = yield* Http2Client.connect(port)
      const call = Http2Client.open(session, { ":path": "/grpc.health.v1.Health/Watch", "content-type": contentType })
      yield* eventually(() => expect(call.stream.closed).toBe(true))
      expect(call.stream.rstCode).toBe(8)
      expect((yield* late) - before).toBe(1)
    })
  )

  it.scopedLive("that has begun is not, whatever its client says or does not say", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ requestTimeout: 100 })
      const session = yield* Http2Client.connect(port)
      const open = (path: string) =>
        Http2Client.open(session, { ":path": path, "content-type": "application/connect+proto" }).stream
      // The first ones may be cut off while the server still loads what serves them.
      for (;;) {
        const stream = open(adsPath)
        yield* eventually(() => expect(streams.length > 0 || stream.closed).toBe(true))
        if (streams.length > 0) break
      }
      // This one came later, and is over.
      const watch = open("/grpc.health.v1.Health/Watch")
      yield* eventually(() => expect(watch.closed).toBe(true))
      expect(streams.map(({ ends }) => ends)).toEqual([[]])
    })
  )
})

describe("an answer that a client does not read is given up, where", () => {
  const cases = {
    "the method is unknown": { ":path": "/nothing", "content-type": "application/json" },
    "it is no POST": { ":method": "GET" },
    "the content type is unknown": { ":path": "/grpc.health.v1.Health/Watch", "content-type": "text/plain" },
    "there is no room for a call": { "content-type": "application/grpc-web+proto" }
  }
  it.scopedLive.each(Object.entries(cases))("%s", ([, headers]) =>
    Effect.gen(function* () {
      const { port } = yield* serve({ shutdownGrace: 50, maxStreams: 0 })
      const before = yield* late
      const session = yield* Http2Client.connect(port, { settings: { initialWindowSize: 0 } })
      yield* Effect.async<void>((resume) => void session.once("localSettings", () => resume(Effect.void)))
      const call = Http2Client.open(session, headers)
      expect([404, 405, 415, 200]).toContain((yield* wait(call.headers))[":status"])
      yield* eventually(() => expect(call.stream.closed).toBe(true))
      expect(call.stream.rstCode).toBe(8)
      expect(call.chunks).toEqual([])
      expect(yield* late).toBe(before)
    })
  )
})
