/**
 * What strangers leave behind: nothing. Streams are opened and closed five thousand at a time, each with a node, a group, types
 * and names that nobody else has, in every state that a stream can end in.
 */
import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import type { Status } from "@effect-xds/transport"
import { ServerTransport } from "@effect-xds/transport"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, Stream } from "effect"
import * as V8 from "node:v8"
import * as Vm from "node:vm"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl
const VHDS = ResourceType.VirtualHost.typeUrl

const strangers = 5_000
/** A leak of one entry in one table is a hundred bytes and more for each stranger. */
const bytesPerStranger = 50

V8.setFlagsFromString("--expose_gc")
const collect = new Vm.Script("gc()")

/** Lets the event loop turn, so that work in slices and the finalizers of the heap have their turn. */
const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Bytes in use, when nothing more is freed. */
const used = Effect.gen(function* () {
  let now = Number.POSITIVE_INFINITY
  for (let before = Number.NaN; now !== before;) {
    before = now
    for (let turns = 0; turns < 4; turns++) {
      collect.runInNewContext()
      yield* turn
    }
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    now = Math.min(before, heapUsed + arrayBuffers)
  }
  return now
})

/**
 * How much is left of five thousand after as many others. What is measured is not only theirs, so it is measured again before it
 * counts.
 */
const expectNothingLeft = <E>(visit: (round: number) => Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    yield* visit(0)
    let before = yield* used
    let least = Number.POSITIVE_INFINITY
    for (let round = 1; round <= 4 && least > bytesPerStranger; round++) {
      yield* visit(round)
      const after = yield* used
      least = Math.min(least, (after - before) / strangers)
      before = after
    }
    expect(least, "bytes left of each stranger").toBeLessThan(bytesPerStranger)
  })

const nodeOf = (id: string, cluster: string) => toBinary(NodeSchema, create(NodeSchema, { id, cluster }))
const cluster = (name: string, altStatName: string) => create(ClusterSchema, { name, altStatName })

interface Opened {
  readonly handler: ServerTransport.StreamHandler
  readonly end: () => void
}

/** A transport whose streams take what they are given and keep nothing of it. */
const transport = () => {
  let accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
  const layer = Layer.succeed(ServerTransport.ServerTransport, {
    serve: (accepts) =>
      Effect.sync(() => {
        accept = accepts
        return "here"
      })
  })
  const open = (protocol: Request.Protocol, onEnd: (status: Status.Status) => void = () => undefined): Opened => {
    if (accept === undefined) throw new Error("nobody serves")
    let isOver = false
    const handler = accept({
      peer: { address: "here", identity: undefined },
      method: { protocol, typeUrl: undefined, unary: false },
      headers: {},
      write: () => true,
      end: (status) => {
        isOver = true
        onEnd(status)
      }
    })
    return { handler, end: () => (isOver ? undefined : handler.onEnd("gone")) }
  }
  return { layer, open }
}

/** A node with a megabyte of metadata. */
const megabyte = 1024 * 1024
const largeNode = (id: string, cluster = "edge") => {
  const blob = { kind: { case: "stringValue" as const, value: `${id} `.padEnd(megabyte, "x") } }
  return toBinary(NodeSchema, create(NodeSchema, { id, cluster, metadata: { fields: { blob } } }))
}

const error = (stranger: string) => ({ code: 3, message: `${stranger} does not like it` })

/** What a stranger does before it goes, one after another. */
const behaviours: ReadonlyArray<(id: string, open: (protocol: Request.Protocol) => Opened) => Opened> = [
  // Asks for everything there is, by names of its own, and for types of its own.
  (id, open) => {
    const opened = open("Incremental")
    const { onRequest } = opened.handler
    onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, "edge") }))
    onRequest(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: [id, "a"] }))
    onRequest(Request.incremental({ typeUrl: `type.googleapis.com/${id}`, resourceNamesSubscribe: [id] }))
    onRequest(Request.incremental({ typeUrl: EDS, resourceNamesUnsubscribe: [id] }))
    onRequest(Request.incremental({ typeUrl: VHDS }))
    onRequest(Request.incremental({ typeUrl: CDS, responseNonce: "1", errorDetail: error(id) }))
    return opened
  },
  (id, open) => {
    const opened = open("StateOfTheWorld")
    const { onRequest } = opened.handler
    onRequest(Request.stateOfTheWorld({ typeUrl: CDS, node: nodeOf(id, "edge"), resourceNames: [id, "a"] }))
    onRequest(Request.stateOfTheWorld({ typeUrl: EDS, resourceNames: [id] }))
    onRequest(Request.stateOfTheWorld({ typeUrl: EDS, resourceNames: [], responseNonce: "2" }))
    onRequest(Request.stateOfTheWorld({ typeUrl: `type.googleapis.com/${id}` }))
    onRequest(Request.stateOfTheWorld({ typeUrl: CDS, responseNonce: "9", errorDetail: error(id) }))
    return opened
  },
  // Waits for a group of its own, which is never set.
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, `group of ${id}`) }))
    return opened
  },
  // Is refused: by the hook, for what it sends, or for how much.
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, "refused") }))
    return opened
  },
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: "", node: nodeOf(id, `group of ${id}`) }))
    return opened
  },
  (id, open) => {
    const opened = open("Incremental")
    const names = [`${id} 1`, `${id} 2`, `${id} 3`, `${id} 4`]
    opened.handler.onRequest(
      Request.incremental({ typeUrl: EDS, node: nodeOf(id, "edge"), resourceNamesSubscribe: names })
    )
    return opened
  },
  // Goes while its group is looked for.
  (id, open) => {
    const opened = open("Incremental")
    opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf(id, "slow") }))
    opened.handler.onRequest(Request.incremental({ typeUrl: EDS }))
    return opened
  },
  // Says nothing, or not who it is.
  (_, open) => open("StateOfTheWorld"),
  (_, open) => {
    const opened = open("StateOfTheWorld")
    opened.handler.onRequest(Request.stateOfTheWorld({ typeUrl: CDS }))
    return opened
  }
]

describe("a server", () => {
  it.scopedLive("keeps nothing of ten thousand strangers that came and went", () =>
    Effect.gen(function* () {
      const { layer, open } = transport()
      yield* Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        const server = yield* XdsServer.XdsServer
        yield* store.set("edge", { clusters: [cluster("a", ""), cluster("b", "")] })
        const resident = open("Incremental")
        resident.handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf("resident", "edge") }))

        const visit = (round: number) =>
          Effect.gen(function* () {
            const opened: Array<Opened> = []
            for (let index = 0; index < strangers; index++) {
              const behaviour = behaviours[index % behaviours.length]
              if (behaviour !== undefined) opened.push(behaviour(`stranger ${round} ${index}`, open))
              // The runner of the tests hears of a thread all the time.
              if (index % 500 === 0) yield* turn
            }
            // Some of what they ask for changes while they are there, and somebody listens.
            const listener = yield* Effect.fork(Stream.runDrain(server.events))
            yield* turn
            yield* store.update("edge", { upsert: { clusters: [cluster("a", `${round}`)] } })
            yield* turn
            for (const each of opened.splice(0)) each.end()
            yield* listener.interruptAsFork(listener.id())
            yield* turn
            expect(yield* server.status).toHaveLength(1)
          })
        yield* expectNothingLeft(visit)
        resident.end()
      }).pipe(
        Effect.provide(
          XdsServer.layer({
            maxNames: 3,
            group: ({ cluster: group }) =>
              group === "refused"
                ? Effect.fail(new XdsServer.Refusal({ reason: "strangers are not served" }))
                : group === "slow"
                  ? Effect.never
                  : Effect.succeed(group)
          }).pipe(Layer.provideMerge(SnapshotStore.layerMemory()), Layer.provide(layer))
        ),
        Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none))
      )
    })
  )
})

const manyEntries = Object.fromEntries(Array.from({ length: 17_000 }, (_, index) => [`key ${index}`, "value"]))

/** Does something with a server that never finds the group of clients of `slow`. */
const withServer = <A, E>(
  options: Partial<XdsServer.Options>,
  then: (
    open: (protocol: Request.Protocol, onEnd?: (status: Status.Status) => void) => Opened
  ) => Effect.Effect<A, E, XdsServer.XdsServer>
) =>
  Effect.suspend(() => {
    const { layer, open } = transport()
    return Effect.provide(
      Effect.zipRight(
        Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.set("edge", { clusters: [cluster("a", "")] })),
        then(open)
      ),
      XdsServer.layer({
        group: ({ cluster }) => (cluster === "slow" ? Effect.never : Effect.succeed(cluster)),
        ...options
      }).pipe(
        Layer.provideMerge(SnapshotStore.layerMemory()),
        Layer.provide(layer),
        Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
      )
    )
  })

const held = Effect.map(Metric.value(TransportMetrics.clientBytes("admitting")), ({ value }) => value)
const isRefusing = Effect.map(Metric.value(TransportMetrics.refusing("maxClientBytes")), ({ value }) => value === 1)

describe("the node of a first request", () => {
  it.scopedLive("is forgotten when the group of its client is known", () =>
    withServer({}, (open) =>
      Effect.gen(function* () {
        const visit = (id: string): Opened => {
          const opened = open("Incremental")
          opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: largeNode(id) }))
          return opened
        }
        const opened = [visit("first")]
        const before = yield* used
        for (let index = 0; index < 100; index++) opened.push(visit(`n${index}`))
        yield* turn
        expect((yield* (yield* XdsServer.XdsServer).status).length).toBe(101)
        expect(((yield* used) - before) / megabyte).toBeLessThan(20)
        expect(yield* held).toBe(0)
        for (const each of opened) each.end()
      })
    )
  )

  it.scopedLive(
    "counts while the group of its client is looked for: where there is no room, newcomers are told to come again",
    () =>
      withServer({ maxClientBytes: 4.5 * megabyte }, (open) =>
        Effect.gen(function* () {
          const ends: Array<Status.Status> = []
          const visit = (cluster: string): Opened => {
            const opened = open("Incremental", (status) => void ends.push(status))
            opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node: largeNode("n", cluster) }))
            return opened
          }
          const slow = Array.from({ length: 4 }, () => visit("slow"))
          expect(ends).toEqual([])
          expect(yield* isRefusing).toBe(false)
          visit("slow")
          visit("edge")
          expect(ends.map(({ code }) => code)).toEqual(["UNAVAILABLE", "UNAVAILABLE"])
          expect(ends[0]?.message).toContain("as many clients as it has room for")
          expect(yield* isRefusing).toBe(true)
          expect(yield* held).toBeGreaterThan(4 * megabyte)
          expect(yield* held).toBeLessThan(4.5 * megabyte)
          slow[0]?.end()
          const last = visit("edge")
          yield* turn
          expect(ends.length).toBe(2)
          expect(yield* isRefusing).toBe(false)
          for (const each of [...slow, last]) each.end()
          expect(yield* held).toBe(0)
        })
      )
  )

  it.scopedLive("is not decoded if it has too many fields, at whatever depth; an Envoy's is", () =>
    withServer({}, (open) =>
      Effect.gen(function* () {
        const ends: Array<Status.Status> = []
        const visit = (node: Uint8Array): void => {
          const opened = open("Incremental", (status) => void ends.push(status))
          opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node }))
          opened.end()
        }
        const extensions = Array.from({ length: 1_500 }, (_, index) => ({
          name: `envoy.filters.http.${index}`,
          category: "envoy.filters.http",
          typeUrls: ["envoy.extensions.filters.http.a.v3.A", "envoy.a.A"]
        }))
        visit(toBinary(NodeSchema, create(NodeSchema, { id: "envoy", cluster: "edge", extensions })))
        expect(ends).toEqual([])
        const list = Array.from({ length: 9_000 }, () => ({ kind: { case: "boolValue" as const, value: true } }))
        const value = { kind: { case: "listValue" as const, value: { values: list } } }
        for (const node of [
          // Extensions, fields that are not known, and groups, all of two bytes.
          Buffer.alloc(65_536, Buffer.from([0x42, 0])),
          Buffer.alloc(65_536, Buffer.from([0x7a, 0])),
          Buffer.alloc(65_536, Buffer.from([0x7b, 0x7c])),
          toBinary(NodeSchema, create(NodeSchema, { metadata: { fields: { list: value } } })),
          toBinary(NodeSchema, create(NodeSchema, { dynamicParameters: { a: { params: manyEntries } } }))
        ]) {
          ends.length = 0
          visit(node)
          expect(ends.map(({ code }) => code)).toEqual(["RESOURCE_EXHAUSTED"])
          expect(ends[0]?.message).toMatch(/more than \d+ fields, the limit/)
        }
      })
    )
  )

  it.scopedLive("leaves a thousand characters of each of its names, and no more", () =>
    withServer({}, (open) =>
      Effect.gen(function* () {
        const server = yield* XdsServer.XdsServer
        const opened = open("Incremental")
        const node = toBinary(NodeSchema, create(NodeSchema, { id: "i".repeat(megabyte), cluster: "edge" }))
        opened.handler.onRequest(Request.incremental({ typeUrl: CDS, node }))
        yield* turn
        const [client] = yield* server.status
        expect(client?.node?.id).toBe(`${"i".repeat(1024)}…`)
        opened.end()
      })
    )
  )
})

describe("what a client names", () => {
  it.scopedLive("is bounded in length, also type URLs and the group", () =>
    withServer({ maxNameLength: 100 }, (open) =>
      Effect.sync(() => {
        const ends: Array<Status.Status> = []
        const note = (status: Status.Status): void => void ends.push(status)
        const long = "x".repeat(101)
        open("Incremental", note).handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf("n", long) }))
        const { handler } = open("Incremental", note)
        handler.onRequest(Request.incremental({ typeUrl: CDS, node: nodeOf("n", "edge") }))
        handler.onRequest(Request.incremental({ typeUrl: `type.googleapis.com/${long}` }))
        expect(ends.map(({ code }) => code)).toEqual(["RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"])
      })
    )
  )
})

describe("a store", () => {
  it.effect("keeps nothing of ten thousand groups that were set and cleared", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const seen: Array<string> = []
      const listener = yield* Effect.fork(
        Stream.runForEach(store.changes, ({ group }) => Effect.sync(() => void (seen[0] = group)))
      )
      yield* expectNothingLeft((round) =>
        Effect.gen(function* () {
          for (let index = 0; index < strangers; index++) {
            const group = `group ${round} ${index}`
            yield* store.set(group, { clusters: [cluster("a", group)] })
            yield* store.clear(group)
          }
          yield* turn
        })
      )
      yield* listener.interruptAsFork(listener.id())
    })
  )
})
