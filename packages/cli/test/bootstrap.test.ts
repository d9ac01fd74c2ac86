/** What `bootstrap` prints, in the hands of those for whom it is. */
import { Bootstrap, WatchableType, XdsClient } from "@effect-xds/client"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { ConnectClient } from "@effect-xds/transport-connect"
import { Server, ServerCredentials, type UntypedServiceImplementation } from "@grpc/grpc-js"
import { Chunk, Effect, Either, Layer, Stream } from "effect"
import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it, onTestFinished } from "vitest"
import { mutualTls } from "./MutualTls.js"
import { deadline, effectXds, serve, start, temporaryDirectory } from "./ServeProcess.js"

const example = fileURLToPath(new URL("../../../examples/serve/config", import.meta.url))
const application = fileURLToPath(new URL("ShopClient.mjs", import.meta.url))

const asIs = (bytes: Buffer): Buffer => bytes

/** A backend that answers each call with its name. */
const backend = async (name: string): Promise<number> => {
  const ask = {
    path: "/shop.Shop/Ask",
    requestStream: false,
    responseStream: false,
    requestSerialize: asIs,
    requestDeserialize: asIs,
    responseSerialize: asIs,
    responseDeserialize: asIs
  }
  const implementation: UntypedServiceImplementation = {
    ask: (_call: unknown, respond: (error: null, answer: Buffer) => void) => respond(null, Buffer.from(name))
  }
  const server = new Server()
  server.addService({ ask }, implementation)
  onTestFinished(() => server.forceShutdown())
  return new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error)
    )
  })
}

/** The directory of the example, with the port of this test's backend. */
const configuration = async (name: string): Promise<string> => {
  const directory = temporaryDirectory()
  cpSync(example, directory, { recursive: true })
  const shop = join(directory, "internal", "shop.yaml")
  const text = readFileSync(shop, "utf8").replace("port_value: 9001 ", `port_value: ${await backend(name)} `)
  expect(text).not.toContain("9001")
  writeFileSync(shop, text)
  return directory
}

/** What `bootstrap grpc` prints. */
const bootstrap = async (...args: ReadonlyArray<string>): Promise<string> => {
  const printing = effectXds("bootstrap", "grpc", "--node-cluster", "internal", ...args)
  expect(await printing.exit, printing.stderr()).toBe(0)
  return printing.stdout()
}

/** Runs a gRPC application with this environment to its end. */
const answerWith = async (env: Readonly<Record<string, string>>): Promise<string> => {
  const running = start(process.execPath, [application], { env: { ...process.env, ...env } })
  await running.exit
  return `${running.stdout()}${running.stderr()}`
}

/** What the first event of our own client says when it watches the example's listener. */
const hear = (bootstrap: Bootstrap.Bootstrap) =>
  Effect.gen(function* () {
    const client = yield* XdsClient.XdsClient
    const events = client.watch(WatchableType.fromSchema(ListenerSchema), "shop")
    const [event] = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(events, 1)))
    return event && `${event.name} ${event._tag}`
  }).pipe(Effect.provide(XdsClient.layer({ bootstrap }).pipe(Layer.provide(ConnectClient.layer()))), Effect.runPromise)

const read = (text: string): Bootstrap.Bootstrap => Either.getOrThrow(Bootstrap.fromText(text))

describe("bootstrap grpc", () => {
  it("leads a gRPC application to its backend", { timeout: 3 * deadline }, async () => {
    const { grpc } = await serve(await configuration("backend 1"))
    const text = await bootstrap("--server", grpc, "--node-id", "app-1")
    expect(await answerWith({ GRPC_XDS_BOOTSTRAP_CONFIG: text })).toBe("backend 1\n")
    const file = join(temporaryDirectory(), "xds.json")
    writeFileSync(file, text)
    expect(await answerWith({ GRPC_XDS_BOOTSTRAP: file })).toBe("backend 1\n")
    expect(read(text)).toMatchObject({
      servers: [{ address: grpc, credentials: { _tag: "Insecure" } }],
      node: { id: "app-1", cluster: "internal" }
    })
  })

  it("leads our own client to the resources, over mTLS too", { timeout: 3 * deadline }, async () => {
    const { grpc } = await serve(example)
    expect(await hear(read(await bootstrap("--server", grpc)))).toBe("shop Updated")
    const tls = await mutualTls()
    const secure = await serve(example, tls.server)
    expect(await hear(read(await bootstrap("--server", secure.grpc, ...tls.client)))).toBe("shop Updated")
  })
})
