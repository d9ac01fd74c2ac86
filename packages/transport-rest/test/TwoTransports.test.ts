/** One server on gRPC and REST at once; and what stands between a transport and a server. */
import { Request } from "@effect-xds/core"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as MemoryTransport from "@effect-xds/testing/memory/MemoryTransport"
import { eventually } from "@effect-xds/testing/Waiting"
import * as Transport from "@effect-xds/transport"
import { ServerTransport } from "@effect-xds/transport"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { RestClient, RestServer } from "@effect-xds/transport-rest"
import { describe, expect, it } from "@effect/vitest"
import * as EffectModules from "effect"
import { Effect, Layer, Option, Stream, TestClock } from "effect"
import { readFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { runInThisContext } from "node:vm"
import * as TypeScript from "typescript"
import * as ControlPlane from "./ControlPlane.js"

const firstOf = (client: Layer.Layer<XdsClient.XdsClient, unknown>) =>
  Effect.gen(function* () {
    const xds = yield* XdsClient.XdsClient
    const event = yield* Stream.runHead(Stream.filter(xds.watch(ClusterSchema, "a"), ({ _tag }) => _tag === "Updated"))
    return Option.map(event, ({ _tag }) => _tag)
  }).pipe(Effect.provide(client), Effect.orDie)

describe("one server on several transports", () => {
  it.scopedLive("★ has one status and one stream of events for the clients of both", () =>
    Effect.gen(function* () {
      const both = ServerTransport.layerAll(ConnectServer.layer(), RestServer.layer())
      const server = yield* ControlPlane.serveOn(both)
      const [grpc = "", rest = ""] = server.address.split(", ")
      yield* server.store.set("edge", ControlPlane.clusters("a"))
      const bootstrap = (address: string, id: string) =>
        Bootstrap.make({ servers: [address], node: { id, cluster: "edge" } })
      const byGrpc = XdsClient.layer({ bootstrap: bootstrap(grpc, "by gRPC") }).pipe(
        Layer.provide(ConnectClient.layer())
      )
      const byRest = XdsClient.layer({ bootstrap: bootstrap(`http://${rest}`, "by REST"), aggregated: false }).pipe(
        Layer.provide(RestClient.layer({ refreshDelay: "50 millis" }))
      )
      expect(yield* firstOf(byGrpc)).toEqual(Option.some("Updated"))
      expect(yield* firstOf(byRest)).toEqual(Option.some("Updated"))
      yield* eventually(() => {
        const nodes = server.events.flatMap((event) => JSON.stringify(event).match(/by (?:gRPC|REST)/g) ?? [])
        expect(new Set(nodes)).toEqual(new Set(["by gRPC", "by REST"]))
      })
      // A session of REST is remembered when its client is gone, a stream of gRPC is not.
      const status = yield* server.status
      expect(status.map(({ node }) => node?.id)).toEqual(["by REST"])
    })
  )

  it.scopedLive("serves on none if one of them cannot, and says which", () =>
    Effect.gen(function* () {
      const taken = Http.createServer()
      const port = yield* Effect.acquireRelease(
        Effect.async<number>((resume) => {
          taken.listen(0, "127.0.0.1", () => {
            const address = taken.address()
            resume(Effect.succeed(typeof address === "object" ? (address?.port ?? 0) : 0))
          })
        }),
        () => Effect.sync(() => taken.close())
      )
      const addresses: Array<string> = []
      const noted: ServerTransport.Service = {
        serve: (accept) => Effect.tap(ConnectServer.make().serve(accept), (address) => addresses.push(address))
      }
      const all = ServerTransport.all([noted, RestServer.make({ port })])
      const failure = yield* Effect.flip(Effect.scoped(all.serve(() => handler)))
      expect(failure.address).toBe(`127.0.0.1:${port}`)
      const refused = yield* Effect.either(Effect.tryPromise(() => fetch(`http://${addresses[0] ?? ""}/`)))
      expect(refused._tag).toBe("Left")
    })
  )
})

const handler: ServerTransport.StreamHandler = {
  onRequest: () => undefined,
  onWritable: () => undefined,
  onEnd: () => undefined
}

interface Decorators {
  readonly recording: (transport: ServerTransport.Service, record: (line: string) => void) => ServerTransport.Service
  readonly throttled: (transport: ServerTransport.Service, pause: string) => ServerTransport.Service
}

/** The example of the README, as it is written there. */
const decorators = (): Decorators => {
  const readme = readFileSync(join(import.meta.dirname, "../../transport/README.md"), "utf8")
  const code = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)]
    .map(([, text = ""]) => text)
    .find((text) => text.includes("recording"))
  const { outputText } = TypeScript.transpileModule(code ?? "", {
    compilerOptions: { module: TypeScript.ModuleKind.CommonJS, target: TypeScript.ScriptTarget.ES2022 }
  })
  const modules: Readonly<Record<string, unknown>> = { "@effect-xds/transport": Transport, effect: EffectModules }
  const exports: Partial<Decorators> = {}
  const run: unknown = runInThisContext(`(function (exports, require) {${outputText}\n})`)
  if (typeof run === "function") Reflect.apply(run, undefined, [exports, (name: string) => modules[name]])
  const { recording, throttled } = exports
  if (recording === undefined || throttled === undefined) throw new Error("the README has no such example")
  return { recording, throttled }
}

describe("the README's decorators of a transport", () => {
  /** A server in memory that answers everything with one byte, and what happened. */
  const serve = (decorate: (transport: ServerTransport.Service) => ServerTransport.Service) =>
    Effect.gen(function* () {
      const context = yield* Layer.build(MemoryTransport.layer)
      const memory = yield* Effect.provide(MemoryTransport.MemoryTransport, context)
      const transport = yield* Effect.provide(ServerTransport.ServerTransport, context)
      const happened: Array<string> = []
      yield* decorate(transport).serve((stream) => {
        let credit = true
        let waiting = 0
        const flush = (): void => {
          while (credit && waiting > 0) {
            waiting--
            credit = stream.write({ body: new Uint8Array(1), suffix: new Uint8Array() })
          }
        }
        return {
          onRequest: () => {
            waiting++
            flush()
          },
          onWritable: () => {
            credit = true
            flush()
          },
          onEnd: (reason) => void happened.push(`end ${reason}`)
        }
      })
      const call = {
        peer: { address: "memory:1", identity: undefined },
        method: { protocol: "StateOfTheWorld", typeUrl: undefined, unary: false },
        headers: {}
      } as const
      const link = memory.open(call, {
        onResponse: () => {
          happened.push("response")
          return true
        },
        onEnd: ({ code }) => void happened.push(`ended ${code}`)
      })
      return { happened, link, ask: () => link?.send(Request.stateOfTheWorld({ typeUrl: "t" })) }
    })

  it.scoped("★ record what goes by", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const { ask, link } = yield* serve((transport) => decorators().recording(transport, (line) => lines.push(line)))
      ask()
      link?.end("the client is gone")
      expect(lines).toEqual(["memory:1 asks for t", "memory:1 is sent 1 bytes", "memory:1 is gone: the client is gone"])
    })
  )

  it.scoped("★ give each client a pause after each response", () =>
    Effect.gen(function* () {
      const { ask, happened, link } = yield* serve((transport) => decorators().throttled(transport, "1 second"))
      ask()
      ask()
      ask()
      expect(happened.length).toBe(1)
      yield* TestClock.adjust("999 millis")
      expect(happened.length).toBe(1)
      yield* TestClock.adjust("1 millis")
      expect(happened.length).toBe(2)
      yield* TestClock.adjust("1 second")
      expect(happened.length).toBe(3)
      ask()
      link?.end("gone")
      yield* TestClock.adjust("1 minute")
      expect(happened).toEqual(["response", "response", "response", "end gone"])
    })
  )
})
