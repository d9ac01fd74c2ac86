import { ClientTransport, ServerTransport } from "@effect-xds/transport"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { eventually } from "@effect-xds/testing/Waiting"
import { expect, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect, Layer } from "effect"

const variables = (entries: ReadonlyArray<readonly [string, string]>) =>
  Layer.setConfigProvider(ConfigProvider.fromMap(new Map(entries)))

const server = ConnectServer.layerConfig({
  host: Config.withDefault(Config.string("XDS_HOST"), "127.0.0.1"),
  port: Config.integer("XDS_PORT"),
  keepalive: { interval: Config.duration("XDS_KEEPALIVE") }
})

const client = ConnectClient.layerConfig({
  connectTimeout: Config.duration("XDS_CONNECT_TIMEOUT"),
  headers: Config.map(Config.string("XDS_TOKEN"), (token) => () => Effect.succeed({ authorization: token }))
})

it.scopedLive("both transports are made of variables", () =>
  Effect.gen(function* () {
    const seen: Array<string | undefined> = []
    const { serve } = yield* ServerTransport.ServerTransport
    const address = yield* serve(({ headers }) => {
      seen.push(headers["authorization"])
      return { onRequest: () => undefined, onWritable: () => undefined, onEnd: () => undefined }
    })
    expect(address).toMatch(/^localhost:\d+$/)
    const { connect } = yield* ClientTransport.ClientTransport
    const channel = yield* connect({ address, credentials: ClientTransport.insecure })
    channel.open(
      { protocol: "StateOfTheWorld", typeUrl: undefined },
      { onOpen: () => undefined, onMessage: () => undefined, onEnd: () => undefined }
    )
    yield* eventually(() => expect(seen).toEqual(["secret"]))
  }).pipe(
    Effect.provide(Layer.merge(server, client)),
    Effect.provide(
      variables([
        ["XDS_HOST", "localhost"],
        ["XDS_PORT", "0"],
        ["XDS_KEEPALIVE", "1 minute"],
        ["XDS_CONNECT_TIMEOUT", "3 seconds"],
        ["XDS_TOKEN", "secret"]
      ])
    )
  )
)

it.effect("a variable that is not there, or is none such, fails the layer with its name", () =>
  Effect.gen(function* () {
    const missing = yield* Effect.flip(Effect.provide(ServerTransport.ServerTransport, server)).pipe(
      Effect.provide(variables([["XDS_KEEPALIVE", "1 minute"]]))
    )
    expect(missing).toMatchObject({ path: ["XDS_PORT"] })
    const wrong = yield* Effect.flip(Effect.provide(ServerTransport.ServerTransport, server)).pipe(
      Effect.provide(
        variables([
          ["XDS_PORT", "18000"],
          ["XDS_KEEPALIVE", "soon"]
        ])
      )
    )
    expect(wrong).toMatchObject({ path: ["XDS_KEEPALIVE"] })
  })
)
