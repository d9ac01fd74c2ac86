import { create, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, WatchableType, XdsClient, type ResourceEvent } from "@effect-xds/client"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ScriptedServer, SpanTracer } from "@effect-xds/testing"
import { ClientTransport, EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Exit, Fiber, Layer, Logger, Random, Stream, TestClock } from "effect"

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
      expect(lines.join()).toContain("the EventLoop that was provided is not used any more: soon failed")
      yield* TestClock.adjust("2 seconds")
      yield* serve("good:1", "2", "a")
      expect(good.at(-1)).toMatchObject({ _tag: "Updated", version: "2" })
    }).pipe(Effect.provide(setup([], loop)))
  })
})

describe("★ what is handed in and fails is named, and everything else goes on", () => {
  const settled = Effect.repeatN(Effect.yieldNow(), 50)

  it.effect("an event loop that never calls back", () => {
    const loop: EventLoop.Service = { ...EventLoop.process, soon: () => undefined }
    return Effect.gen(function* () {
      lines.length = 0
      const good = yield* watching("a")
      yield* serve("good:1", "1", "a")
      expect(good).toMatchObject([{ _tag: "Updated", version: "1" }])
      // Nobody said that the first request was written: so there is no ACK, until it must have been.
      const server = yield* ScriptedServer.ScriptedServer
      expect(server.open().map(({ requests }) => requests.length)).toEqual([1])
      yield* TestClock.adjust("1 second")
      yield* settled
      expect(lines).toEqual([
        "the EventLoop that was provided is not used any more: what it was given was not done within 1 s; " +
          "that of the process does the rest"
      ])
      expect(server.open().map(({ requests }) => requests.at(-1)?.responseNonce)).toEqual(["1"])
    }).pipe(Effect.provide(setup([], loop)))
  })

  const plain = XdsClient.layer({ bootstrap }).pipe(Layer.provideMerge(ScriptedServer.layer), Layer.provide(capture))

  /** A server that is lost, and comes back with another state. */
  const lostAndFound = Effect.gen(function* () {
    lines.length = 0
    const good = yield* watching("a")
    const [stream] = (yield* ScriptedServer.ScriptedServer).open()
    stream?.end()
    yield* TestClock.adjust("5 seconds")
    yield* serve("good:1", "2", "a")
    expect(good.at(-1)).toMatchObject({ _tag: "Updated", version: "2" })
    yield* settled
  })

  for (const [title, random, words] of [
    [
      "throws",
      () => {
        throw new Error("no dice")
      },
      "Random failed: no dice"
    ],
    ["gives what is no number", () => Number.NaN, "is not in [0, 1)"],
    ["gives too much", () => 7, "Random failed: 7 is not in [0, 1)"]
  ] satisfies ReadonlyArray<readonly [string, () => number, string]>) {
    it.effect(`a source of random numbers that ${title}`, () => {
      const broken: Random.Random = { ...Random.make(1), next: Effect.sync(random) }
      return lostAndFound.pipe(
        Effect.provide(plain.pipe(Layer.provide(Layer.setRandom(broken)))),
        Effect.andThen(Effect.sync(() => expect(lines.join("\n")).toContain(words)))
      )
    })
  }

  for (const at of ["span", "attribute", "end"] as const) {
    it.effect(`a tracer that throws at ${at}`, () => {
      const fail = (): void => {
        throw new Error(`no ${at}`)
      }
      const tracer = SpanTracer.make(() => {
        if (at === "span") fail()
        return { [at]: fail }
      })
      return lostAndFound.pipe(
        Effect.provide(plain.pipe(Layer.provide(Layer.setTracer(tracer)))),
        Effect.andThen(Effect.sync(() => expect(lines.join("\n")).toContain(`the tracer failed: no ${at}`)))
      )
    })
  }

  it.effect("a logger that throws", () =>
    lostAndFound.pipe(
      Effect.provide(
        XdsClient.layer({ bootstrap }).pipe(
          Layer.provideMerge(ScriptedServer.layer),
          Layer.provide(
            Logger.replace(
              Logger.defaultLogger,
              Logger.make(() => {
                throw new Error("no log")
              })
            )
          )
        )
      )
    )
  )

  it.effect("a watcher that throws ends its own watch: the response is answered, and others are told", () =>
    Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      const thrower = yield* Effect.fork(
        Stream.runForEach(client.watch(ClusterSchema, "a"), () =>
          Effect.sync(() => {
            throw new Error("no use")
          })
        )
      )
      const good = yield* watching("a")
      yield* serve("good:1", "1", "a")
      yield* settled
      expect(Exit.isFailure(yield* Fiber.await(thrower))).toBe(true)
      expect(good).toHaveLength(1)
      const [stream] = (yield* ScriptedServer.ScriptedServer).open()
      expect(stream?.requests.at(-1)).toMatchObject({ responseNonce: "1", versionInfo: "1" })
      expect(stream?.credit()).toBe(1)
    }).pipe(Effect.provide(plain))
  )

  for (const [title, validate, words] of [
    [
      "throws",
      () => {
        throw new Error("no rules")
      },
      "no rules"
    ],
    ["gives a promise", () => Promise.resolve("later"), "validate"],
    ["gives a number", () => 7, "validate"]
  ] satisfies ReadonlyArray<readonly [string, () => unknown, string]>) {
    it.effect(`a validator that ${title}: the resource is rejected, and the stream goes on`, () =>
      Effect.gen(function* () {
        const client = yield* XdsClient.XdsClient
        // Whatever the types say.
        const broken: object = { validate }
        const type = WatchableType.fromSchema(ClusterSchema, broken)
        const heard: Array<ResourceEvent.ResourceEvent<Cluster>> = []
        yield* Effect.fork(Stream.runForEach(client.watch(type, "a"), (event) => Effect.sync(() => heard.push(event))))
        yield* settled
        yield* serve("good:1", "1", "a")
        expect(heard).toMatchObject([{ _tag: "Error", error: { code: 3 } }])
        expect(JSON.stringify(heard)).toContain(words)
        const [stream] = (yield* ScriptedServer.ScriptedServer).open()
        expect(stream?.requests.at(-1)).toMatchObject({ responseNonce: "1", errorDetail: { code: 3 } })
        expect(stream?.credit()).toBe(1)
      }).pipe(Effect.provide(plain))
    )
  }

  it.effect("a bootstrap without servers: each watch is told so", () =>
    Effect.gen(function* () {
      const heard = yield* watching("a")
      expect(heard).toMatchObject([{ _tag: "Error" }])
      expect(JSON.stringify(heard)).toContain("the bootstrap names no server")
    }).pipe(
      Effect.provide(
        XdsClient.layer({ bootstrap: { ...bootstrap, servers: [] } }).pipe(Layer.provideMerge(ScriptedServer.layer))
      )
    )
  )
})

describe("A decoder that gives something else than its type says", () => {
  for (const [title, given, words] of [
    ["nothing", undefined, "decode gave no Either: undefined"],
    ["a value", "web", "decode gave no Either: string"],
    ["a promise", Promise.resolve(Either.right("web")), "decode gave no Either: a promise"],
    // ★ Node would end the process.
    ["a promise that is rejected", "rejected", "decode gave no Either: a promise"],
    ["a reason that is no text", Either.left(new Error("no such filter")), "no such filter"]
  ] as const) {
    it(`gives ${title}: the resource is rejected, and is not the value \`undefined\``, () => {
      // Whatever the types say.
      const careless = (): unknown => (given === "rejected" ? Promise.reject(new Error("away")) : given)
      const options: Readonly<Record<string, unknown>> = {
        decode: careless,
        decodeInSteps: function* () {
          yield
          return careless()
        }
      }
      const { decoder } = WatchableType.make(
        Object.assign({ typeUrl, decode: () => Either.right("never"), decodeInSteps: undefined }, options)
      )
      expect(decoder.decode(new Uint8Array(), "web")).toEqual(Either.left(words))
      const steps = decoder.decodeInSteps?.(new Uint8Array(), "web")
      steps?.next()
      expect(steps?.next()).toEqual({ done: true, value: Either.left(words) })
    })
  }
})
