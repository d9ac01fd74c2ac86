import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SnapshotStore, XdsServer, type ServerEvent } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect, Exit, Layer, Scope, Stream, TestClock } from "effect"
import { capture, CDS, clusters, lines, settled, setup } from "./OnDemandServer.js"

const EDS = ResourceType.ClusterLoadAssignment.typeUrl

const node = toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: "edge" }))
const subscribe = (...resourceNamesSubscribe: ReadonlyArray<string>) =>
  Request.incremental({ typeUrl: CDS, node, resourceNamesSubscribe })

const set = Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.set("edge", clusters("there")))

describe("resources made on demand", () => {
  it.effect("a name that the group does not have is made, and sent to the client that asked", () => {
    const asked: Array<ReadonlyArray<string>> = []
    const onMissing = (group: string, typeUrl: string, name: string) => {
      asked.push([group, typeUrl, name])
      return Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.update(group, { upsert: clusters(name) }))
    }
    return Effect.gen(function* () {
      yield* set
      const client = yield* MemoryClient.open()
      client.send(subscribe("there", "made"))
      expect((yield* client.receive).names).toEqual(["there"])
      expect((yield* client.receive).names).toEqual(["made"])
      expect(asked).toEqual([["edge", CDS, "made"]])
      // The call is over.
      yield* settled
      // It went away, and is asked for once more.
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.update("edge", { remove: { clusters: ["made"] } })
      client.send(subscribe("made"))
      yield* Effect.repeat(settled, { until: () => asked.length === 2 })
    }).pipe(Effect.provide(setup({ onMissing })))
  })

  it.effect("one call at a time for a name, whoever asks; calls and names are bounded", () => {
    const asked: Array<string> = []
    const onMissing = (_group: string, _typeUrl: string, name: string) => {
      asked.push(name)
      return Effect.never
    }
    return Effect.gen(function* () {
      lines.length = 0
      yield* set
      const one = yield* MemoryClient.open()
      const two = yield* MemoryClient.open()
      one.send(subscribe("a", "b"))
      two.send(subscribe("a", "b", "c", "d"))
      yield* settled
      expect(asked).toEqual(["a", "b"])
      expect(lines.filter((line) => line.includes(`not called for group "edge", ${CDS} "d"`))).toHaveLength(1)
      yield* TestClock.adjust("10 seconds")
      yield* settled
      expect(asked).toEqual(["a", "b", "c"])
      expect(lines.join("\n")).toContain(`group "edge", ${CDS} "a": it took longer than 10 s`)
    }).pipe(Effect.provide(setup({ onMissing, maxMissingCalls: 2, maxMissingNames: 3 })))
  })

  it.effect("what clients name is bounded in bytes", () => {
    const asked: Array<string> = []
    const onMissing = (_group: string, _typeUrl: string, name: string) => {
      asked.push(name)
      return Effect.never
    }
    return Effect.gen(function* () {
      yield* set
      const client = yield* MemoryClient.open()
      client.send(subscribe("x".repeat(5_000), "small"))
      yield* settled
      expect(asked).toEqual(["small"])
    }).pipe(Effect.provide(setup({ onMissing, maxMissingBytes: 4_000 })))
  })

  for (const [title, hook, words] of [
    ["fails", () => Effect.fail("no database"), "no database"],
    ["dies", () => Effect.die(new Error("a mistake")), "a mistake"],
    ["gives no Effect", (): unknown => 7, "it gave no Effect"],
    ["gives a Promise", (): unknown => Promise.resolve(7), "it gave no Effect"],
    [
      "gives a Promise that is rejected",
      (): unknown => Promise.reject(new Error("away")),
      "it gave no Effect: a promise"
    ],
    ["gives nothing", (): unknown => undefined, "it gave no Effect"],
    ["interrupts itself", () => Effect.interrupt, "Interrupted by"],
    ["takes no end", () => Effect.forever(Effect.yieldNow()), "it took longer than 0.05 s"],
    ["waits, and cannot be interrupted", () => Effect.uninterruptible(Effect.never), "it took longer than 0.05 s"],
    [
      "throws",
      () => {
        throw new Error("at once")
      },
      "at once"
    ],
    [
      "throws what cannot be put into words",
      () => {
        throw Object.create(null)
      },
      "something that cannot be put into words"
    ]
  ] as const) {
    // Whatever the types say.
    const careless: Readonly<Record<string, unknown>> = { missingTimeout: "50 millis", onMissing: hook }
    it.live(`★ a hook that ${title} is named in the log, with group, type and name; nobody is disturbed`, () =>
      Effect.gen(function* () {
        lines.length = 0
        yield* set
        const client = yield* MemoryClient.open()
        client.send(subscribe("there", "bad"))
        expect((yield* client.receive).names).toEqual(["there"])
        // The call is over, and nothing came of it.
        expect(yield* client.receive).toMatchObject({ names: [], removed: ["bad"] })
        yield* settled
        expect(lines.join("\n")).toContain(`the hook for missing resources failed for group "edge", ${CDS} "bad": `)
        expect(lines.join("\n")).toContain(words)
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.update("edge", { upsert: clusters("bad") })
        expect((yield* client.receive).names).toEqual(["bad"])
      }).pipe(Effect.provide(setup(Object.assign({}, careless))))
    )
  }

  it.effect("calls end with the server's scope", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const onMissing = () =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            interrupted++
          })
        )
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(setup({ onMissing }), scope)
      yield* Effect.gen(function* () {
        yield* set
        const client = yield* MemoryClient.open()
        client.send(subscribe("a"))
        yield* settled
      }).pipe(Effect.provide(context))
      yield* Scope.close(scope, Exit.void)
      yield* settled
      expect(interrupted).toBe(1)
    }).pipe(Effect.scoped)
  )
})

describe("the event Named", () => {
  it.effect("has the names of a request, so many at most, and says how many were left out", () =>
    Effect.gen(function* () {
      yield* set
      const events: Array<ServerEvent.ServerEvent> = []
      const server = yield* XdsServer.XdsServer
      yield* Effect.forkScoped(Stream.runForEach(server.events, (event) => Effect.sync(() => void events.push(event))))
      yield* settled
      const client = yield* MemoryClient.open()
      client.send(subscribe("a", "b"))
      client.send(
        Request.incremental({ typeUrl: CDS, resourceNamesSubscribe: ["b", "c"], resourceNamesUnsubscribe: ["a", "no"] })
      )
      client.send(subscribe("c"))
      const many = Array.from({ length: 100_000 - 2 }, (_, index) => `many ${index}`)
      client.send(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: ["x".repeat(1_000), ...many] }))
      const names = () => events.flatMap((event) => (event._tag === "Named" ? [event] : []))
      // The many are taken in turns.
      yield* Effect.repeat(settled, { until: () => names().length === 3 })
      const named = names()
      expect(named).toMatchObject([
        { typeUrl: CDS, subscribed: ["a", "b"], unsubscribed: [], omitted: 0, client: { group: "edge" } },
        { typeUrl: CDS, subscribed: ["c"], unsubscribed: ["a"], omitted: 0 },
        { typeUrl: EDS, subscribed: ["x".repeat(256), "many 0", "many 1"], omitted: 100_000 - 1 - 3 }
      ])
    }).pipe(Effect.scoped, Effect.provide(setup({ maxEventNames: 3 })))
  )
})

describe("options from a ConfigProvider", () => {
  const serve = (variables: ReadonlyArray<readonly [string, string]>) =>
    XdsServer.layerConfig({
      group: Config.succeed(() => "edge"),
      controlPlane: Config.string("XDS_CONTROL_PLANE"),
      phaseDeadline: Config.withDefault(Config.duration("XDS_PHASE_DEADLINE"), "5 seconds"),
      maxStreams: Config.withDefault(Config.integer("XDS_MAX_STREAMS"), 10)
    }).pipe(
      Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
      Layer.provide(capture),
      Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(variables))))
    )

  it.effect("make a server that goes by them", () =>
    Effect.gen(function* () {
      const client = yield* MemoryClient.open()
      expect((yield* client.ended).message).toContain("serves its 0 streams already")
    }).pipe(
      Effect.provide(
        serve([
          ["XDS_CONTROL_PLANE", "plane"],
          ["XDS_MAX_STREAMS", "0"]
        ])
      )
    )
  )

  it.effect("or say which variable is missing, or wrong", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(Effect.scoped(Layer.build(serve([]))))
      expect(JSON.stringify(missing)).toContain("XDS_CONTROL_PLANE")
      const wrong = yield* Effect.flip(
        Effect.scoped(
          Layer.build(
            serve([
              ["XDS_CONTROL_PLANE", "plane"],
              ["XDS_PHASE_DEADLINE", "soon"]
            ])
          )
        )
      )
      expect(JSON.stringify(wrong)).toContain("XDS_PHASE_DEADLINE")
    })
  )
})
