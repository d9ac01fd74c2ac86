import { create, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, XdsClient, type ResourceEvent } from "@effect-xds/client"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ScriptedServer } from "@effect-xds/testing"
import { ClientTransport, EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Layer, Logger, Stream, TestClock } from "effect"

const { typeUrl } = ResourceType.Cluster

const clusters = (version: string, name: string) =>
  Response.make({
    protocol: "StateOfTheWorld",
    typeUrl,
    version,
    resources: [
      Either.getOrThrow(
        Resource.make({
          typeUrl,
          name,
          value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName: version }))
        })
      )
    ]
  })

const bootstrap = Bootstrap.make({
  servers: ["good:1"],
  authorities: new Map([
    ["bad", { servers: Bootstrap.make({ servers: ["bad:1"] }).servers, clientListenerResourceNameTemplate: undefined }]
  ]),
  node: { id: "n" }
})
const badName = "xdstp://bad/envoy.config.cluster.v3.Cluster/a"

const settle = Effect.repeatN(Effect.yieldNow(), 20)

/** A way to `bad:1` that throws at what it is told to, as often as it is told to. */
const throwing = (where: Array<keyof ClientTransport.ClientStream | "open">) =>
  Layer.effect(
    ClientTransport.ClientTransport,
    Effect.map(ClientTransport.ClientTransport, ({ connect }) => {
      const maybe = (at: (typeof where)[number]): void => {
        if (where[0] !== at) return
        where.shift()
        throw new Error(`no ${at}`)
      }
      return {
        connect: (server: ClientTransport.Server) =>
          Effect.map(connect(server), (channel): ClientTransport.Channel => {
            if (server.address !== "bad:1") return channel
            return {
              open: (method, handler) => {
                maybe("open")
                const stream = channel.open(method, handler)
                return {
                  send: (message) => {
                    maybe("send")
                    stream.send(message)
                  },
                  next: () => {
                    maybe("next")
                    stream.next()
                  },
                  end: () => {
                    stream.end()
                    maybe("end")
                  }
                }
              }
            }
          })
      }
    })
  ).pipe(Layer.provideMerge(ScriptedServer.layer))

const watching = (name: string) =>
  Effect.gen(function* () {
    const client = yield* XdsClient.XdsClient
    const heard: Array<ResourceEvent.ResourceEvent<Cluster>> = []
    yield* Effect.fork(
      Stream.runForEach(client.watch(ClusterSchema, name), (event) => Effect.sync(() => heard.push(event)))
    )
    yield* settle
    return heard
  })

const lines: Array<string> = []
const capture = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message }) => void lines.push(String(Array.isArray(message) ? message[0] : message)))
)

const setup = (where: Parameters<typeof throwing>[0], loop: EventLoop.Service = EventLoop.process) =>
  XdsClient.layer({ bootstrap }).pipe(
    Layer.provideMerge(throwing(where)),
    Layer.provide(Layer.succeed(EventLoop.EventLoop, loop)),
    Layer.provide(capture)
  )

/** Accepts what is open and answers it, once. */
const serve = (address: string, version: string, name: string) =>
  Effect.gen(function* () {
    const server = yield* ScriptedServer.ScriptedServer
    const stream = server.open().find((each) => each.server.address === address)
    if (stream === undefined) return yield* Effect.dieMessage(`no stream to ${address}`)
    stream.accept()
    yield* settle
    stream.respond(clusters(version, name), version)
    yield* settle
  })

describe("★ A transport or an event loop that throws is the end of one stream: the client says so, and tries again", () => {
  for (const at of ["open", "send", "next"] as const) {
    it.effect(`at ${at}`, () =>
      Effect.gen(function* () {
        lines.length = 0
        const [good, bad] = [yield* watching("a"), yield* watching(badName)]
        yield* serve("good:1", "1", "a")
        if (at !== "open") yield* serve("bad:1", "1", badName)
        expect(good).toMatchObject([{ _tag: "Updated", version: "1" }])
        expect(lines.filter((line) => line.includes(`no ${at}`) && line.includes("bad:1"))).not.toEqual([])
        yield* TestClock.adjust("2 seconds")
        yield* serve("bad:1", "2", badName)
        expect(bad.at(-1)).toMatchObject({ _tag: "Updated", version: "2" })
        yield* serve("good:1", "2", "a")
        expect(good).toHaveLength(2)
      }).pipe(Effect.provide(setup([at])))
    )
  }

  it.effect("at end", () =>
    Effect.gen(function* () {
      lines.length = 0
      yield* Effect.scoped(Effect.asVoid(watching(badName)))
      yield* serve("bad:1", "1", badName)
    }).pipe(Effect.provide(setup(["end"])), Effect.andThen(Effect.sync(() => expect(lines.join()).toContain("no end"))))
  )

  it.effect("an event loop that throws once", () => {
    let left = 1
    const loop: EventLoop.Service = {
      ...EventLoop.process,
      soon: (work) => {
        if (left-- > 0) throw new Error("no turn")
        EventLoop.process.soon(work)
      }
    }
    return Effect.gen(function* () {
      lines.length = 0
      const good = yield* watching("a")
      yield* serve("good:1", "1", "a")
      expect(lines.join()).toContain("no turn")
      yield* TestClock.adjust("2 seconds")
      yield* serve("good:1", "2", "a")
      expect(good.at(-1)).toMatchObject({ _tag: "Updated", version: "2" })
    }).pipe(Effect.provide(setup([], loop)))
  })
})
