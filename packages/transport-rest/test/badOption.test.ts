/** Numbers that are no limits: NaN, as of a variable of the environment that is not set, would let everything in. */
import { expect, it } from "@effect/vitest"
import { ClientTransport, ServerTransport } from "@effect-xds/transport"
import { RestClient, RestServer } from "@effect-xds/transport-rest"
import * as RestApp from "@effect-xds/transport-rest/RestApp"
import { Context, Effect, Layer } from "effect"

const names = [
  "maxSessions",
  "maxHeld",
  "maxRequests",
  "maxRequestBytes",
  "maxJsonValues",
  "maxNames",
  "maxClientBytes",
  "compressFrom",
  "maxConnections",
  "wait",
  "maxWait",
  "answerTimeout",
  "idleTimeout",
  "bodyTimeout",
  "keepAliveTimeout",
  "shutdownGrace"
] as const

const accept = (): ServerTransport.StreamHandler => ({
  onRequest: () => undefined,
  onWritable: () => undefined,
  onEnd: () => undefined
})

const reasonOf = (service: ServerTransport.Service) =>
  Effect.map(Effect.flip(Effect.scoped(service.serve(accept))), ({ reason }) => reason)

it.effect.each(names)("%s", (name) =>
  Effect.gen(function* () {
    const of = (value: number) => RestServer.make({ port: 0, [name]: value })
    expect(yield* reasonOf(of(Number.NaN))).toBe(`${name} must be 0 or more, not NaN`)
    expect(yield* reasonOf(of(-1))).toBe(`${name} must be 0 or more, not -1`)
    yield* Effect.scoped(of(Infinity).serve(accept))
  })
)

it.scoped("in an HTTP server of another program", () =>
  Effect.gen(function* () {
    const context = yield* Layer.build(RestApp.layer({ maxSessions: Number.NaN }))
    const transport = Context.get(context, ServerTransport.ServerTransport)
    expect(yield* reasonOf(transport)).toBe("maxSessions must be 0 or more, not NaN")
  })
)

it.scoped("of a client", () =>
  Effect.gen(function* () {
    const server = { address: "http://127.0.0.1:1", credentials: ClientTransport.insecure }
    for (const name of ["maxResponseBytes", "jitter", "refreshDelay", "wait", "requestTimeout"] as const) {
      const { reason } = yield* Effect.flip(RestClient.make({ [name]: Number.NaN }).connect(server))
      expect(reason).toBe(`${name} must be 0 or more, not NaN`)
    }
  })
)
