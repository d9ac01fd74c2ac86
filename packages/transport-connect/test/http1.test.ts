/** The time that a connection of HTTP/1.1 has for its requests. */
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as Net from "node:net"
import { response, serve } from "./RecordingServer.js"

const checkPath = "/grpc.health.v1.Health/Check"
const fetchPath = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"

const post = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`

/** Sends this; what comes back, and whether the connection is closed. */
const send = (port: number, bytes: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const socket = Net.connect(port, "127.0.0.1")
      const came = { text: "", closed: false }
      socket.on("error", () => undefined)
      socket.on("data", (chunk: Buffer) => void (came.text += chunk.toString()))
      socket.on("close", () => void (came.closed = true))
      socket.write(bytes)
      return { socket, came, answers: () => came.text.split("HTTP/1.1 200 OK").length - 1 }
    }),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )

/** Waits until a connection that comes now is dropped: the time of earlier ones is over, too. */
const timeout = (port: number) =>
  Effect.flatMap(send(port, ""), ({ came }) => eventually(() => expect(came.closed).toBe(true)))

const limits = { handshakeTimeout: 50, requestTimeout: "1 minute" } as const

/** What Node warns of while the scope is open. */
const warnings = Effect.acquireRelease(
  Effect.sync(() => {
    const heard: Array<string> = []
    const hear = ({ message }: Error): void => void heard.push(message)
    process.on("warning", hear)
    return { heard, hear }
  }),
  ({ hear }) => Effect.sync(() => process.off("warning", hear))
)

describe("over HTTP/1.1 the time for a request is over with its head", () => {
  it.scopedLive("so that interceptors may take longer", () =>
    Effect.gen(function* () {
      const [looking, looked] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { port } = yield* serve({
        ...limits,
        interceptors: [
          (call) => Effect.zipRight(Deferred.succeed(looking, undefined), Effect.as(Deferred.await(looked), call))
        ]
      })
      const { answers, came } = yield* send(port, post(checkPath))
      yield* Deferred.await(looking)
      yield* timeout(port)
      expect(came).toEqual({ text: "", closed: false })
      yield* Deferred.succeed(looked, undefined)
      yield* eventually(() => expect(answers()).toBe(1))
    })
  )

  it.scopedLive("and begins when the last one is answered, also if it came before an answer", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve(limits)
      const { answers, came } = yield* send(port, post(checkPath) + post(fetchPath))
      yield* eventually(() => expect([answers(), streams[0]?.requests.length]).toEqual([1, 1]))
      yield* timeout(port)
      expect(came.closed).toBe(false)
      streams[0]?.stream.write(response("1", "n"))
      yield* eventually(() => expect(answers()).toBe(2))
      // Nothing more comes.
      yield* eventually(() => expect(came.closed).toBe(true))
    })
  )

  it.scopedLive("but does not begin with a part of it", () =>
    Effect.gen(function* () {
      const { port } = yield* serve(limits)
      const { came, socket } = yield* send(port, post(checkPath).slice(0, -4))
      const sending = setInterval(() => socket.write("x"), 10)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(sending)))
      yield* eventually(() => expect(came).toEqual({ text: "", closed: true }))
    })
  )
})

it.scopedLive("over HTTP/1.1 a time that no timer of Node can wait gives no warning for each answer", () =>
  Effect.gen(function* () {
    const { heard } = yield* warnings
    const { port } = yield* serve({ handshakeTimeout: "30 days", idleTimeout: "30 days", requestTimeout: "30 days" })
    const { answers } = yield* send(port, post(checkPath) + post(checkPath))
    yield* eventually(() => expect(answers()).toBe(2))
    expect(heard).toEqual([])
  })
)
