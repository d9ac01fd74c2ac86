/** Numbers that are no limits: NaN, as of a variable of the environment that is not set, would let everything in. */
import { expect, it } from "@effect/vitest"
import { ClientTransport, type ServerTransport } from "@effect-xds/transport"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { Duration, Effect, Layer } from "effect"
import * as Http from "node:http"

const names = [
  "maxJsonValues",
  "maxClientBytes",
  "maxStreams",
  "maxStreamsPerPeer",
  "writeBufferBytes",
  "knownVersionsBytes",
  "maxConnections",
  "maxConnectionsPerPeer",
  "interceptTimeout",
  "requestTimeout",
  "shutdownGrace",
  "idleTimeout",
  "handshakeTimeout"
] as const

/** Of these, less than is possible means the lowest. */
const bounded = ["maxRequestBytes", "maxWholeRequestBytes", "maxConnectionStreams"] as const

const accept = (): ServerTransport.StreamHandler => ({
  onRequest: () => undefined,
  onWritable: () => undefined,
  onEnd: () => undefined
})

/** Why a transport cannot serve. */
const reasonOf = (options: ConnectServer.Options) =>
  Effect.map(
    Effect.flip(Effect.scoped(ConnectServer.make({ port: 0, ...options }).serve(accept))),
    ({ reason }) => reason
  )

it.effect.each(names)("%s", (name) =>
  Effect.gen(function* () {
    expect(yield* reasonOf({ [name]: Number.NaN })).toBe(`${name} must be 0 or more, not NaN`)
    expect(yield* reasonOf({ [name]: -1 })).toBe(`${name} must be 0 or more, not -1`)
    yield* Effect.scoped(ConnectServer.make({ port: 0, [name]: Infinity }).serve(accept))
  })
)

it.effect.each(bounded)("%s, which may be less than is possible", (name) =>
  Effect.gen(function* () {
    expect(yield* reasonOf({ [name]: Number.NaN })).toBe(`${name} must be a number, not NaN`)
    yield* Effect.scoped(ConnectServer.make({ port: 0, [name]: -1 }).serve(accept))
  })
)

it.effect("in an HTTP server of another program, and as an application", () =>
  Effect.gen(function* () {
    const reason = "maxStreams must be 0 or more, not NaN"
    const server = Http.createServer()
    expect(yield* reasonOf({ server, maxStreams: Number.NaN })).toBe(reason)
    const failed = yield* Effect.flip(Effect.scoped(Layer.build(ConnectServer.layerApp({ maxStreams: Number.NaN }))))
    expect(failed.reason).toBe(reason)
  })
)

it.effect("of pings: durations as whatever they are given", () =>
  Effect.gen(function* () {
    expect(yield* reasonOf({ keepalive: { interval: Number.NaN } })).toBe(
      "keepalive.interval must be 0 or more, not NaN"
    )
    expect(yield* reasonOf({ keepalive: { timeout: [Number.NaN, 0] } })).toBe(
      "keepalive.timeout must be 0 or more, not NaN"
    )
    expect(yield* reasonOf({ keepalive: { timeout: [-1, 0] } })).toBe("keepalive.timeout must be 0 or more, not -1000")
    expect(yield* reasonOf({ idleTimeout: `${Number.NaN} seconds` })).toBe(
      'idleTimeout must be 0 or more, not "NaN seconds"'
    )
    expect(yield* reasonOf({ idleTimeout: "-1.5 seconds" })).toBe('idleTimeout must be 0 or more, not "-1.5 seconds"')
    expect(yield* reasonOf({ idleTimeout: -2_000_000n })).toBe("idleTimeout must be 0 or more, not -2")
    for (const idleTimeout of ["1.5 seconds", [1, 5], 0n, Duration.infinity] as const) {
      yield* Effect.scoped(ConnectServer.make({ port: 0, idleTimeout }).serve(accept))
    }
  })
)

it.scoped("of a client", () =>
  Effect.gen(function* () {
    const server = { address: "http://127.0.0.1:1", credentials: ClientTransport.insecure }
    const said = (options: ConnectClient.Options) =>
      Effect.map(Effect.flip(ConnectClient.make(options).connect(server)), ({ reason }) => reason)
    expect(yield* said({ maxResponseBytes: Number.NaN })).toBe("maxResponseBytes must be 0 or more, not NaN")
    expect(yield* said({ connectTimeout: -1 })).toBe("connectTimeout must be 0 or more, not -1")
    expect(yield* said({ keepalive: { interval: Number.NaN } })).toBe("keepalive.interval must be 0 or more, not NaN")
    expect(yield* said({ keepalive: { timeout: Number.NaN } })).toBe("keepalive.timeout must be 0 or more, not NaN")
  })
)
