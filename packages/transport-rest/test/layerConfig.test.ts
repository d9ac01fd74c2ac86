import { ServerTransport, ClientTransport } from "@effect-xds/transport"
import { RestClient, RestServer } from "@effect-xds/transport-rest"
import { expect, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect, Layer } from "effect"

const variables = (entries: ReadonlyArray<readonly [string, string]>) =>
  Layer.setConfigProvider(ConfigProvider.fromMap(new Map(entries)))

const server = RestServer.layerConfig({
  host: Config.string("XDS_HOST"),
  port: Config.integer("XDS_PORT"),
  wait: Config.duration("XDS_WAIT")
})

const client = RestClient.layerConfig({ requestTimeout: Config.duration("XDS_TIMEOUT") })

const noHandler = { onRequest: () => undefined, onWritable: () => undefined, onEnd: () => undefined }

it.scopedLive("both transports are made of variables", () =>
  Effect.gen(function* () {
    const { serve } = yield* ServerTransport.ServerTransport
    const address = yield* serve(() => noHandler)
    expect(address).toMatch(/^localhost:\d+$/)
    const { connect } = yield* ClientTransport.ClientTransport
    yield* connect({ address, credentials: ClientTransport.insecure })
  }).pipe(
    Effect.provide(Layer.merge(server, client)),
    Effect.provide(
      variables([
        ["XDS_HOST", "localhost"],
        ["XDS_PORT", "0"],
        ["XDS_WAIT", "1 minute"],
        ["XDS_TIMEOUT", "3 seconds"]
      ])
    )
  )
)

it.effect("a variable that is not there fails the layer with its name", () =>
  Effect.gen(function* () {
    const missing = yield* Effect.flip(Effect.provide(ClientTransport.ClientTransport, client))
    expect(missing).toMatchObject({ path: ["XDS_TIMEOUT"] })
  }).pipe(Effect.provide(variables([])))
)
