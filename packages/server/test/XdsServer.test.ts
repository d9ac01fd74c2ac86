import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { Client, Snapshot, SnapshotStore, XdsServer, XdsServerMetrics } from "@effect-xds/server"
import type { ServerEvent } from "@effect-xds/server"
import { MemoryClient, MemoryTransport, SpanTracer } from "@effect-xds/testing"
import { EventLoop, ServerTransport } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Logger, Metric, Stream, TestClock, type Tracer } from "effect"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl
const LDS = ResourceType.Listener.typeUrl

const cluster = (name: string, altStatName = "") => create(ClusterSchema, { name, altStatName })
const edsCluster = (name: string) =>
  create(ClusterSchema, { name, clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS } })
const assignment = (clusterName: string) => create(ClusterLoadAssignmentSchema, { clusterName })
const listener = (name: string) => create(ListenerSchema, { name })
const clusters = (...names: ReadonlyArray<string>) => ({ clusters: names.map((name) => cluster(name)) })

const node = (group: string, id = "n1") =>
  toBinary(
    NodeSchema,
    create(NodeSchema, {
      id,
      cluster: group,
      userAgentName: "envoy",
      userAgentVersionType: { case: "userAgentVersion", value: "1.33.0" },
      clientFeatures: ["xds.config.supports-resource-ttl"]
    })
  )

const first = (typeUrl: string, group = "edge", names: ReadonlyArray<string> = []) =>
  Request.incremental({ typeUrl, node: node(group), resourceNamesSubscribe: names })
const ack = ({ nonce, typeUrl }: MemoryClient.Received) => Request.incremental({ typeUrl, responseNonce: nonce })
const nack = ({ nonce, typeUrl }: MemoryClient.Received, message: string) =>
  Request.incremental({ typeUrl, responseNonce: nonce, errorDetail: { code: 13, message } })

const logs: Array<{ readonly level: string; readonly text: string }> = []
const capture = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ logLevel, message }) => {
    logs.push({ level: logLevel.label, text: String(Array.isArray(message) ? message[0] : message) })
  })
)
const linesWith = (words: string) => logs.filter(({ text }) => text.includes(words))

const setup = <R = never>(options: Partial<XdsServer.Options<R>> = {}) =>
  XdsServer.layer<R>({ group: ({ cluster }) => cluster, ...options }).pipe(
    Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
    Layer.provide(capture)
  )

const open = MemoryClient.open

/** Lets the event loop turn once. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** An event loop in which a slice is over as soon as it began, so that each step of a stream has a turn, while it is impatient. */
const impatientLoop = (isImpatient: () => boolean = () => true): EventLoop.Service => {
  let milliseconds = 0
  return { ...EventLoop.process, elapsed: () => (milliseconds += isImpatient() ? 100 : 0.001) }
}

describe("XdsServer", () => {
  it.effect("is one layer: a store, a transport, a server", () =>
    Effect.gen(function* () {
      const Publish = Layer.effectDiscard(
        Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          yield* store.set("edge", { clusters: [cluster("a")], listeners: [listener("ingress")] })
        })
      )
      const Program = XdsServer.layer({ group: (node) => node.cluster }).pipe(
        Layer.merge(Publish),
        Layer.provide(SnapshotStore.layerMemory()),
        Layer.provideMerge(MemoryTransport.layer),
        Layer.provide(capture)
      )
      yield* Effect.gen(function* () {
        expect((yield* XdsServer.XdsServer).address).toBe("memory")
        const client = yield* open()
        client.send(first(CDS))
        expect((yield* client.receive).names).toEqual(["a"])
        client.send(Request.incremental({ typeUrl: LDS }))
        expect((yield* client.receive).names).toEqual(["ingress"])
      }).pipe(Effect.provide(Program))
    })
  )

  it.effect("tells who waits for a group that was never set, and serves it the moment it appears", () =>
    Effect.gen(function* () {
      logs.length = 0
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      const client = yield* open()
      client.send(first(CDS, "late"))
      client.send(Request.incremental({ typeUrl: LDS }))
      const second = yield* open()
      second.send(first(CDS, "late"))

      expect(client.unread()).toBe(0)
      expect(yield* server.status).toMatchObject([
        { node: { id: "n1", userAgentVersion: "1.33.0" }, group: "late", waiting: true },
        { waiting: true }
      ])
      expect(linesWith("waits for group").map(({ text }) => text)).toEqual([
        'node "n1" (cluster "late", envoy 1.33.0) at memory waits for group "late", which is not set; ' +
          'SnapshotStore.set("late", …) answers it'
      ])
      const waiting = Metric.value(Metric.tagged(XdsServerMetrics.waiting, "group", "late"))
      expect((yield* waiting).value).toBe(2)

      yield* store.set("late", clusters("a"))
      expect((yield* client.receive).names).toEqual(["a"])
      expect((yield* client.receive).typeUrl).toBe(LDS)
      expect((yield* second.receive).names).toEqual(["a"])
      expect((yield* server.status).map(({ waiting }) => waiting)).toEqual([false, false])
      expect((yield* waiting).value).toBe(0)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("sends an update to the groups and subscriptions it concerns, and to nobody else", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a", "b"))
      yield* store.set("other", clusters("a", "b"))
      const all = yield* open()
      const onlyB = yield* open()
      const other = yield* open()
      all.send(first(CDS))
      onlyB.send(first(CDS, "edge", ["b"]))
      other.send(first(CDS, "other"))
      for (const client of [all, onlyB, other]) client.send(ack(yield* client.receive))

      yield* store.update("edge", { upsert: { clusters: [cluster("a", "changed")] } })
      expect((yield* all.receive).names).toEqual(["a"])
      yield* store.set("edge", { clusters: [cluster("a", "changed"), cluster("b")] })
      expect([all.unread(), onlyB.unread(), other.unread()]).toEqual([0, 0, 0])

      yield* store.update("edge", { remove: { clusters: ["b"] } })
      expect((yield* onlyB.receive).removed).toEqual(["b"])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("measures the time from a change to its ACK, and nothing else", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const measured = Effect.map(
        Metric.value(Metric.tagged(XdsServerMetrics.changeToAck, "type", "EDS")),
        ({ count, sum }) => ({ count, sum })
      )
      const before = yield* measured
      const since = Effect.map(measured, ({ count, sum }) => [
        count - before.count,
        Math.round((sum - before.sum) * 1e3)
      ])
      const change = (name: string, zone: string) =>
        store.update("edge", {
          upsert: {
            endpoints: [
              create(ClusterLoadAssignmentSchema, {
                clusterName: name,
                policy: {},
                endpoints: [{ locality: { zone } }]
              })
            ]
          }
        })
      yield* store.set("edge", { endpoints: [assignment("a"), assignment("b")] })
      const client = yield* open({ credit: 1 })
      client.send(first(EDS, "edge", ["a"]))
      yield* TestClock.adjust("1 second")
      client.send(ack(yield* client.receive))
      // A first answer is no change.
      expect(yield* since).toEqual([0, 0])

      yield* change("b", "not asked for")
      yield* TestClock.adjust("10 seconds")
      yield* change("a", "1")
      yield* TestClock.adjust("1 second")
      // Two changes behind a slow client are measured from the first.
      yield* change("a", "2")
      yield* TestClock.adjust("1 second")
      client.grant(10)
      const response = yield* client.receive
      yield* TestClock.adjust("1 second")
      client.send(ack(response))
      expect(yield* since).toEqual([1, 3_000])
      // Repeated, or an answer to a question: nothing.
      client.send(ack(response))
      client.send(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: ["a"] }))
      client.send(ack(yield* client.receive))
      expect(yield* since).toEqual([1, 3_000])
      // Of two responses only the last is answered: both changes are accepted.
      yield* change("a", "3")
      yield* client.receive
      yield* TestClock.adjust("1 second")
      yield* change("a", "4")
      client.send(ack(yield* client.receive))
      expect(yield* since).toEqual([3, 4_000])
      // Of two responses the first is answered before the other.
      yield* change("a", "6")
      const earlier = yield* client.receive
      yield* change("a", "7")
      const later = yield* client.receive
      client.send(ack(earlier))
      expect(yield* since).toEqual([4, 4_000])
      yield* TestClock.adjust("2 seconds")
      client.send(ack(later))
      expect(yield* since).toEqual([5, 6_000])
      // What was rejected is not measured.
      yield* change("a", "5")
      client.send(nack(yield* client.receive, "no"))
      expect(yield* since).toEqual([5, 6_000])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("fifty changes behind a slow client are one response", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a"))
      const client = yield* open({ credit: 1 })
      client.send(first(CDS))
      client.send(ack(yield* client.receive))
      const conflated = (yield* Metric.value(XdsServerMetrics.conflations)).count
      for (let count = 0; count < 50; count++) {
        yield* store.update("edge", { upsert: { clusters: [cluster("a", `change ${count}`)] } })
      }
      expect(client.unread()).toBe(0)
      client.grant(10)
      const response = yield* client.receive
      expect(client.unread()).toBe(0)
      expect(
        JSON.stringify(response.message, (_, value: unknown) => (typeof value === "bigint" ? "" : value))
      ).toContain(JSON.stringify(toBinary(ClusterSchema, cluster("a", "change 49"))))
      expect((yield* Metric.value(XdsServerMetrics.conflations)).count - conflated).toBe(49)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a transport may call back while it is written to, and one that throws ends that stream only", () => {
    let accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
    const Transport = Layer.succeed(ServerTransport.ServerTransport, {
      serve: (accepts) =>
        Effect.sync(() => {
          accept = accepts
          return "test"
        })
    })
    return Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a"))
      const connect = (write: (written: number, handler: ServerTransport.StreamHandler | undefined) => boolean) => {
        const seen = { written: 0, ended: "" }
        const handler: ServerTransport.StreamHandler | undefined = accept?.({
          peer: { address: "test", identity: undefined },
          method: { protocol: "Incremental", typeUrl: undefined, unary: false },
          headers: {},
          write: () => write(++seen.written, handler),
          end: (status) => void (seen.ended = status.code)
        })
        handler?.onRequest(first(CDS))
        handler?.onRequest(Request.incremental({ typeUrl: LDS }))
        return seen
      }
      const eager = connect((_, handler) => {
        handler?.onWritable()
        return false
      })
      const broken = connect((written) => {
        if (written === 2) throw new Error("the socket is gone")
        return true
      })
      expect(eager).toEqual({ written: 2, ended: "" })
      expect(broken).toEqual({ written: 2, ended: "INTERNAL" })
      yield* store.set("edge", clusters("b"))
      expect(eager).toEqual({ written: 3, ended: "" })
      expect(broken.written).toBe(2)

      // Each response is answered at once by a request that wants another one: a loop, not a recursion, and others have
      // their turn in between.
      const chatty = connect((written, handler) => {
        if (written < 10_000) handler?.onRequest(Request.incremental({ typeUrl: CDS, resourceNamesSubscribe: ["b"] }))
        return true
      })
      expect(chatty.written).toBeLessThanOrEqual(2 * 64)
      while (chatty.written < 10_000) yield* turn
      expect(chatty.ended).toBe("")
    }).pipe(
      Effect.provide(
        XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
          Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), Transport)),
          Layer.provide(capture)
        )
      )
    )
  })

  it.effect("refuses a first request without a node, with words", () =>
    Effect.gen(function* () {
      const client = yield* open()
      client.send(Request.incremental({ typeUrl: CDS }))
      expect(yield* client.ended).toEqual({
        code: "INVALID_ARGUMENT",
        message: "the first request of a stream must carry the node (field `node`): it says who asks"
      })
      const broken = yield* open()
      broken.send(Request.incremental({ typeUrl: CDS, node: new Uint8Array([255]) }))
      expect((yield* broken.ended).message).toContain("is not an envoy.config.core.v3.Node")
    }).pipe(Effect.provide(setup()))
  )

  it.effect("the node of the first request counts: later ones may have another, or none, also after a NACK", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      yield* store.set("edge", clusters("a"))
      yield* store.set("other", clusters("b"))
      const client = yield* open()
      client.send(first(CDS))
      client.send({ ...nack(yield* client.receive, "no good"), node: node("other", "n2") })
      client.send({ ...first(LDS, "other"), node: undefined })
      expect((yield* client.receive).names).toEqual([])
      client.send(first(EDS, "other"))
      expect((yield* client.receive).names).toEqual([])
      yield* store.set("edge", clusters("a", "c"))
      expect((yield* client.receive).names).toEqual(["c"])
      expect(yield* server.status).toMatchObject([{ node: { id: "n1" }, group: "edge" }])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a throwing group function ends that stream only", () =>
    Effect.gen(function* () {
      logs.length = 0
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a"))
      const good = yield* open()
      good.send(first(CDS))
      yield* good.receive
      const bad = yield* open()
      bad.send(first(CDS, "bad"))
      expect((yield* bad.ended).code).toBe("INTERNAL")
      const lines = linesWith("the group function failed")
      expect(lines).toMatchObject([{ level: "ERROR" }])
      expect(lines[0]?.text).toContain("no such tenant")
      yield* store.set("edge", clusters("a", "b"))
      expect((yield* good.receive).names).toEqual(["b"])
    }).pipe(
      Effect.provide(
        setup({
          group: ({ cluster }) => {
            if (cluster === "bad") throw new Error("no such tenant")
            return cluster
          }
        })
      )
    )
  )

  it.effect("a refused set leaves what is held and served", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a"))
      const client = yield* open()
      client.send(first(CDS))
      client.send(ack(yield* client.receive))
      const error = yield* Effect.flip(store.set("edge", clusters("b", "")))
      expect(error.message).toBe("CDS: a resource: the name is empty; give every resource a name")
      expect(client.unread()).toBe(0)
      yield* store.set("edge", clusters("a", "c"))
      expect(yield* client.receive).toMatchObject({ names: ["c"], removed: [] })
    }).pipe(Effect.provide(setup()))
  )

  it.effect("renews a TTL at half of it, for clients that declare it", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const endpoints = [Snapshot.resource(assignment("a"), { ttl: "10 seconds" })]
      yield* store.set("edge", { endpoints })
      const client = yield* open()
      client.send(first(EDS, "edge", ["a"]))
      client.send(ack(yield* client.receive))
      yield* TestClock.adjust("4 seconds")
      expect(client.unread()).toBe(0)
      yield* TestClock.adjust("1 second")
      const { message } = yield* client.receive
      expect(message.resources).toMatchObject([{ name: "a", ttl: { seconds: 10n } }])
      expect(message.resources[0]).not.toHaveProperty("resource")
      yield* TestClock.adjust("10 seconds")
      expect(client.unread()).toBe(2)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("does not give a TTL where the option says never", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const endpoints = [Snapshot.resource(assignment("a"), { ttl: "10 seconds" })]
      yield* store.set("edge", { endpoints })
      const client = yield* open()
      client.send(first(EDS, "edge", ["a"]))
      yield* client.receive
      yield* TestClock.adjust("1 minute")
      expect(client.unread()).toBe(0)
    }).pipe(
      Effect.provide(setup({ ttl: "always", settings: (group) => (group === "edge" ? { ttl: "never" } : undefined) }))
    )
  )

  it.effect("nothing is left of a stream that ended", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      const transport = yield* MemoryTransport.MemoryTransport
      const streams = Effect.map(Metric.value(XdsServerMetrics.streams), ({ value }) => value)
      const before = yield* streams
      const deadlines = Effect.map(Metric.value(XdsServerMetrics.deadlines), ({ value }) => value)
      const waitingFor = Metric.value(Metric.tagged(XdsServerMetrics.waiting, "group", "never"))
      yield* store.set("edge", { endpoints: [Snapshot.resource(assignment("a"), { ttl: "1 second" })] })
      const client = yield* open()
      client.send(first(EDS, "edge", ["a"]))
      const waiting = yield* open()
      waiting.send(first(CDS, "never"))
      const silent = yield* open()
      expect(yield* server.status).toHaveLength(3)
      expect((yield* streams) - before).toBe(3)
      expect(yield* deadlines).toBe(2)

      const sent = Metric.value(Metric.tagged(XdsServerMetrics.responses, "type", "EDS"))
      const count = (yield* sent).count
      client.end()
      waiting.end()
      silent.end()
      expect(yield* server.status).toEqual([])
      expect(yield* streams).toBe(before)
      expect((yield* waitingFor).value).toBe(0)
      expect(yield* deadlines).toBe(0)
      expect(transport.openStreams()).toBe(0)
      yield* TestClock.adjust("1 minute")
      yield* store.set("edge", clusters("a"))
      expect((yield* sent).count).toBe(count)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("make before break is on, and off for the groups that the settings say", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      for (const [group, types] of [
        ["edge", [CDS]],
        ["fast", [CDS, LDS]]
      ] as const) {
        yield* store.set(group, { clusters: [cluster("a")], listeners: [listener("ingress")] })
        const client = yield* open()
        for (const typeUrl of [CDS, LDS]) {
          client.send(first(typeUrl, group))
          client.send(ack(yield* client.receive))
        }
        const next = { clusters: [cluster("a", "next")], listeners: [create(ListenerSchema, { name: "second" })] }
        yield* store.update(group, { upsert: next })
        const sent: Array<MemoryClient.Received> = []
        while (client.unread() > 0) sent.push(yield* client.receive)
        // With phases the listener waits for the ACK of the cluster.
        expect(sent.map(({ typeUrl }) => typeUrl)).toEqual(types)
        if (group !== "edge" || sent[0] === undefined) continue
        client.send(ack(sent[0]))
        expect((yield* client.receive).names).toEqual(["second"])
      }
    }).pipe(Effect.provide(setup({ settings: (group) => ({ makeBeforeBreak: group !== "fast" }) })))
  )

  it.effect("a stream that changes did not concern knows of them when it next asks", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", { endpoints: [assignment("a"), assignment("b")] })
      const client = yield* open()
      client.send(first(EDS, "edge", ["a"]))
      client.send(ack(yield* client.receive))
      for (const name of ["b", "c", "d"]) {
        yield* store.update("edge", {
          upsert: { endpoints: [create(ClusterLoadAssignmentSchema, { clusterName: name, policy: {} })] }
        })
      }
      expect(client.unread()).toBe(0)
      client.send(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: ["c", "e"] }))
      const received = yield* client.receive
      expect(received.names).toEqual(["c"])
      expect(received.removed).toEqual(["e"])
      client.send(ack(received))
      yield* store.update("edge", {
        upsert: { endpoints: [assignment("e")] },
        remove: { endpoints: ["c"] }
      })
      const next = yield* client.receive
      expect([next.names, next.removed]).toEqual([["e"], ["c"]])
      client.send(ack(next))
      client.send(Request.incremental({ typeUrl: EDS, resourceNamesUnsubscribe: ["e"] }))
      yield* store.update("edge", { remove: { endpoints: ["e"] } })
      expect(client.unread()).toBe(0)
      yield* store.update("edge", { remove: { endpoints: ["a"] } })
      expect((yield* client.receive).removed).toEqual(["a"])
    }).pipe(Effect.provide(setup()))
  )

  it.effect(
    "a stream is one span, from its first byte to its end; a NACK is an event of it, a refusal its error",
    () => {
      const spans: Array<Tracer.Span> = []
      const spanEvents: Array<{ readonly name: string; readonly attributes: unknown }> = []
      const tracer = SpanTracer.make((span) => {
        spans.push(span)
        return { event: (name, _, attributes) => void spanEvents.push({ name, attributes }) }
      })
      return Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.set("edge", clusters("a"))
        const client = yield* open()
        client.send(first(CDS))
        client.send(ack(yield* client.receive))
        yield* store.update("edge", { upsert: clusters("b") })
        client.send(ack(yield* client.receive))
        const streams = () => spans.filter(({ name }) => name === "xds.stream")
        expect(streams().map(({ status }) => status._tag)).toEqual(["Started"])
        client.end()
        expect(streams().map(({ status }) => status._tag)).toEqual(["Ended"])
        expect(Object.fromEntries(streams()[0]?.attributes ?? [])).toMatchObject({
          "xds.protocol": "Incremental",
          "xds.service": "ADS",
          "xds.node.id": "n1",
          "xds.group": "edge"
        })
        const exits = () =>
          streams().map(({ status }) =>
            status._tag === "Ended"
              ? Exit.mapBoth(status.exit, { onFailure: (error) => error, onSuccess: () => "well" })
              : undefined
          )
        expect(exits()).toEqual([Exit.succeed("well")])

        const rejecting = yield* open()
        rejecting.send(first(CDS))
        rejecting.send(nack(yield* rejecting.receive, "no such field"))
        expect(spanEvents).toMatchObject([
          {
            name: "xds.nack",
            attributes: {
              "xds.type": "CDS",
              "xds.nonce": "1",
              "xds.error.code": 13,
              "xds.error.message": "no such field"
            }
          }
        ])
        // Refused for what it sends, and because there are too many.
        const refused = yield* open()
        refused.send(Request.incremental({ typeUrl: CDS }))
        const { code, message } = yield* refused.ended
        expect(exits()[2]).toEqual(Exit.fail({ code, message }))
        yield* open()
        const tooMany = yield* open()
        expect(exits()[4]).toEqual(Exit.fail(yield* tooMany.ended))
        expect(streams()[4]?.attributes.get("xds.service")).toBe("ADS")
      }).pipe(Effect.provide(Layer.provide(setup({ maxStreams: 2 }), Layer.setTracer(tracer))))
    }
  )

  it.effect("ends its streams and stops listening when the scope closes", () =>
    Effect.gen(function* () {
      const streams = Effect.map(Metric.value(XdsServerMetrics.streams), ({ value }) => value)
      const before = yield* streams
      const [client, store] = yield* Effect.gen(function* () {
        const client = yield* open()
        client.send(first(CDS))
        expect((yield* streams) - before).toBe(1)
        return [client, yield* SnapshotStore.SnapshotStore] as const
      }).pipe(Effect.provide(setup()))
      expect((yield* client.ended).code).toBe("UNAVAILABLE")
      expect(yield* streams).toBe(before)
      yield* store.set("edge", clusters("a"))
      expect(client.unread()).toBe(0)
    })
  )

  it.effect("tells what happens, and how much a slow subscriber missed", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      yield* store.set("edge", clusters("a"))
      const seen: Array<ServerEvent.ServerEvent> = []
      const gate = yield* Deferred.make<void>()
      let subscribed = false
      const fiber = yield* server.events.pipe(
        Stream.tap((event) =>
          Effect.gen(function* () {
            subscribed = true
            yield* Deferred.await(gate)
            seen.push(event)
          })
        ),
        Stream.takeUntil((event) => event._tag === "Ended" && event.reason === "done"),
        Stream.runDrain,
        Effect.fork
      )
      const isSubscribed = () => subscribed
      while (!isSubscribed()) {
        ;(yield* open()).end("warm-up")
        yield* turn
      }

      const client = yield* open()
      client.send(first(CDS))
      client.send(nack(yield* client.receive, "no such field"))
      for (let count = 0; count < 100; count++) {
        yield* store.update("edge", { upsert: { clusters: [cluster("a", `change ${count}`)] } })
      }
      yield* Deferred.succeed(gate, undefined)
      while (seen.length < 33) yield* turn
      client.end("done")
      yield* Fiber.join(fiber)

      const events = seen.filter((event) => event._tag !== "Ended" || event.reason !== "warm-up")
      expect(events.slice(0, 4)).toMatchObject([
        { _tag: "Connected", client: { group: "edge", node: { id: "n1" } } },
        { _tag: "Subscribed", typeUrl: CDS, wildcard: true },
        { _tag: "Sent", typeUrl: CDS, nonce: "1", resources: 1 },
        { _tag: "Nacked", nonce: "1", error: { code: 13, message: "no such field" } }
      ])
      expect(events.at(-1)).toMatchObject({ _tag: "Ended", reason: "done" })
      const lost = events.flatMap((event) => (event._tag === "Lost" ? [event.count] : []))
      expect(lost).toHaveLength(1)
      expect(events.length - 1 + (lost[0] ?? 0)).toBe(105)
    }).pipe(Effect.provide(setup({ eventCapacity: 32 })))
  )

  it.effect(
    "status names what a client subscribed to, a hundred names of a type at most, and says how many there are",
    () =>
      Effect.gen(function* () {
        const server = yield* XdsServer.XdsServer
        const client = yield* open()
        const many = Array.from({ length: 150 }, (_, index) => `c${index}`)
        client.send(first(EDS, "edge", ["a", "b", "x".repeat(1_000)]))
        const named = Effect.map(server.status, ([status]) => status?.types[0]?.named.toSorted())
        expect(yield* named).toEqual(["a", "b", "x".repeat(256)])
        client.send(
          Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: many, resourceNamesUnsubscribe: ["a"] })
        )
        expect((yield* server.status)[0]?.types[0]?.names).toBe(152)
        expect(new Set(yield* named).size).toBe(100)
        expect(yield* named).not.toContain("a")
      }).pipe(Effect.provide(setup()))
  )

  it.effect("status tells what each client ACKed and NACKed, with its words", () =>
    Effect.gen(function* () {
      logs.length = 0
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      yield* store.set("edge", { clusters: [cluster("a")], versions: { clusters: "v1" } })
      const client = yield* open({ peer: { address: "10.0.0.1:4000" } })
      client.send(first(CDS))
      client.send(ack(yield* client.receive))
      yield* store.set("edge", { clusters: [cluster("b")], versions: { clusters: "v2" } })
      client.send(nack(yield* client.receive, "b is\nbad"))
      const [status] = yield* server.status
      expect(status).toMatchObject({
        group: "edge",
        peer: { address: "10.0.0.1:4000" },
        types: [
          {
            typeUrl: CDS,
            acked: { nonce: "1", version: "v1" },
            nacked: { nonce: "2", version: "v2", error: { message: "b is\nbad" } }
          }
        ]
      })
      // In the log a client's words are one line.
      expect(linesWith("rejected CDS version v2: b is bad")).toHaveLength(1)
      expect(client.unread()).toBe(0)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a cleared group sends nothing, and goes on when it is set again", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a", "b"))
      const client = yield* open()
      client.send(first(CDS))
      client.send(ack(yield* client.receive))
      yield* store.clear("edge")
      expect(client.unread()).toBe(0)
      yield* store.set("edge", clusters("a", "b"))
      expect(client.unread()).toBe(0)
      yield* store.set("edge", clusters("a"))
      expect((yield* client.receive).removed).toEqual(["b"])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a name that is new to a cleared group waits visibly, until it is given up or the group is set", () =>
    Effect.gen(function* () {
      logs.length = 0
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      const waiting = Effect.map(
        Metric.value(Metric.tagged(XdsServerMetrics.waiting, "group", "cleared")),
        ({ value }) => value
      )
      const events: Array<ServerEvent.ServerEvent> = []
      const listening = yield* Effect.fork(
        Stream.runForEach(server.events, (event) => Effect.sync(() => events.push(event)))
      )
      while (events.length === 0) {
        ;(yield* open()).end("warm-up")
        yield* turn
      }
      yield* store.set("cleared", { endpoints: [assignment("a")] })
      const client = yield* open()
      client.send(first(EDS, "cleared", ["a"]))
      client.send(ack(yield* client.receive))
      yield* store.clear("cleared")
      // It has what it asked for.
      expect(yield* waiting).toBe(0)
      expect(yield* server.status).toMatchObject([{ waiting: false, types: [{ waiting: false }] }])

      client.send(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: ["b"] }))
      expect(yield* waiting).toBe(1)
      expect(yield* server.status).toMatchObject([{ waiting: true, types: [{ waiting: true }] }])
      expect(linesWith('waits for group "cleared", which is not set')).toHaveLength(1)
      client.send(Request.incremental({ typeUrl: EDS, resourceNamesUnsubscribe: ["b"] }))
      expect(yield* waiting).toBe(0)
      client.send(Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: ["c"] }))
      expect(yield* waiting).toBe(1)
      yield* store.set("cleared", { endpoints: [assignment("a"), assignment("c")] })
      expect((yield* client.receive).names).toEqual(["c"])
      expect(yield* waiting).toBe(0)
      expect(yield* server.status).toMatchObject([{ waiting: false, types: [{ waiting: false }] }])
      while (events.at(-1)?._tag !== "Sent") yield* turn
      expect(events.filter(({ _tag }) => _tag === "Waiting")).toMatchObject([
        { typeUrl: EDS, group: "cleared" },
        { typeUrl: EDS, group: "cleared" }
      ])
      yield* Fiber.interrupt(listening)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("rejections of an older response, and those without a nonce, are told in the client's words", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
        for (const isOlder of [true, false]) {
          logs.length = 0
          const group = `${protocol} ${isOlder}`
          const make = protocol === "Incremental" ? Request.incremental : Request.stateOfTheWorld
          yield* store.set(group, clusters("a"))
          const client = yield* open({ method: { protocol } })
          client.send(make({ typeUrl: CDS, node: node(group) }))
          const older = yield* client.receive
          yield* store.set(group, clusters("b"))
          const newer = yield* client.receive
          client.send(make({ typeUrl: CDS, responseNonce: newer.nonce }))
          const errorDetail = { code: 3, message: "nobody read this" }
          client.send(make({ typeUrl: CDS, responseNonce: isOlder ? older.nonce : "", errorDetail }))
          const [status] = yield* server.status
          expect(status?.types).toMatchObject([
            { acked: { nonce: newer.nonce }, nacked: { nonce: isOlder ? older.nonce : "", error: errorDetail } }
          ])
          const what = isOlder ? "an older response, nonce 1" : "something, without the nonce of a response"
          expect(linesWith(`rejected CDS ${what}: nobody read this`)).toHaveLength(1)
          client.end()
        }
      }
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a response that clients may refuse for its size is told of, until it is smaller", () =>
    Effect.gen(function* () {
      logs.length = 0
      const store = yield* SnapshotStore.SnapshotStore
      const server = yield* XdsServer.XdsServer
      const told = Effect.map(
        Metric.value(Metric.tagged(XdsServerMetrics.oversized, "type", "CDS")),
        ({ count }) => count
      )
      const before = yield* told
      yield* store.set("edge", clusters("a"))
      const client = yield* open({ method: { protocol: "StateOfTheWorld" } })
      client.send(Request.stateOfTheWorld({ typeUrl: CDS, node: node("edge") }))
      yield* client.receive
      expect(yield* server.status).toMatchObject([{ oversized: new Map() }])
      for (const content of ["x", "y"]) {
        yield* store.set("edge", { clusters: [cluster("a", content.repeat(1_000))] })
        expect((yield* client.receive).names).toEqual(["a"])
      }
      expect((yield* told) - before).toBe(2)
      const size = (yield* server.status)[0]?.oversized.get(CDS) ?? 0
      expect(size).toBeGreaterThan(1_000)
      expect(linesWith(`CDS of group "edge" takes ${size} bytes in one response, more than 500`)).toHaveLength(1)
      yield* store.set("edge", clusters("a"))
      yield* client.receive
      expect(yield* server.status).toMatchObject([{ oversized: new Map() }])
    }).pipe(Effect.provide(setup({ maxResponseBytes: 500 })))
  )

  it.effect("an Effect finds the group, refuses, or takes too long", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("tenant-edge", clusters("a"))
      const client = yield* open({ headers: { "x-tenant": "tenant" } })
      client.send(first(CDS))
      client.send(Request.incremental({ typeUrl: LDS }))
      expect((yield* client.receive).names).toEqual(["a"])
      expect((yield* client.receive).typeUrl).toBe(LDS)

      const stranger = yield* open()
      stranger.send(first(CDS))
      expect(yield* stranger.ended).toEqual({ code: "PERMISSION_DENIED", message: "no tenant" })

      const slow = yield* open({ headers: { "x-tenant": "slow" } })
      slow.send(first(CDS))
      yield* TestClock.adjust("10 seconds")
      expect((yield* slow.ended).code).toBe("UNAVAILABLE")

      const flood = yield* open({ headers: { "x-tenant": "slow" } })
      for (let count = 0; count < 101; count++) flood.send(first(CDS))
      expect((yield* flood.ended).code).toBe("RESOURCE_EXHAUSTED")

      const defect = yield* open({ headers: { "x-tenant": "defect" } })
      defect.send(first(CDS))
      expect((yield* defect.ended).code).toBe("INTERNAL")
    }).pipe(
      Effect.provide(
        setup({
          group: ({ cluster }, { headers }) => {
            const tenant = headers["x-tenant"]
            if (tenant === undefined) return Effect.fail(new XdsServer.Refusal({ reason: "no tenant" }))
            if (tenant === "slow") return Effect.never
            if (tenant === "defect") return Effect.die(new Error("the directory is down"))
            return Effect.succeed(`${tenant}-${cluster}`)
          }
        })
      )
    )
  )

  it.effect("ends a stream whose first request never comes", () =>
    Effect.gen(function* () {
      const silent = yield* open()
      yield* TestClock.adjust("31 seconds")
      expect(yield* silent.ended).toEqual({
        code: "DEADLINE_EXCEEDED",
        message: "no request within 30 s of opening the stream"
      })
      const waits = yield* open()
      waits.send(first(CDS, "never"))
      yield* TestClock.adjust("1 hour")
      expect(yield* Effect.flatMap(XdsServer.XdsServer, (server) => server.status)).toHaveLength(1)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("answers a unary call once, and gives up on a group that was never set", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a"))
      const method = { protocol: "StateOfTheWorld", typeUrl: CDS, unary: true } as const
      const call = yield* open({ method, credit: 1 })
      call.send(Request.stateOfTheWorld({ typeUrl: CDS, node: node("edge") }))
      expect((yield* call.receive).names).toEqual(["a"])
      expect((yield* call.ended).code).toBe("OK")

      // One request has one response, however large.
      yield* store.set("edge", clusters("a", "b", "c"))
      const whole = yield* open({ method: { ...method, protocol: "Incremental" }, credit: 1 })
      whole.send(Request.incremental({ typeUrl: CDS, node: node("edge") }))
      expect((yield* whole.receive).names).toEqual(["a", "b", "c"])

      const never = yield* open({ method, credit: 1 })
      never.send(Request.stateOfTheWorld({ typeUrl: CDS, node: node("never") }))
      yield* TestClock.adjust("5 seconds")
      expect(yield* never.ended).toEqual({
        code: "UNAVAILABLE",
        message: 'group "never" was not set within 5 s'
      })
    }).pipe(Effect.provide(setup({ maxResponseBytes: 100 })))
  )

  it.effect("bounds streams, streams of a group, names and types", () =>
    Effect.gen(function* () {
      const inGroup = yield* open()
      inGroup.send(first(CDS))
      const second = yield* open()
      second.send(first(CDS))
      expect((yield* second.ended).message).toContain('group "edge" has its 1 streams already')
      inGroup.end()
      const third = yield* open()
      third.send(first(CDS))
      expect(yield* Effect.flatMap(XdsServer.XdsServer, (server) => server.status)).toMatchObject([{ waiting: true }])
      const names = yield* open()
      names.send(first(CDS, "names", ["a", "b", "c"]))
      expect((yield* names.ended).code).toBe("RESOURCE_EXHAUSTED")
      const types = yield* open()
      types.send(first(CDS, "types"))
      types.send(Request.incremental({ typeUrl: LDS }))
      expect((yield* types.ended).code).toBe("RESOURCE_EXHAUSTED")
      yield* open()
      const tooMany = yield* open()
      expect((yield* tooMany.ended).message).toBe("the control plane serves its 2 streams already")
    }).pipe(Effect.provide(setup({ maxStreams: 2, maxStreamsPerGroup: 1, maxNames: 2, maxTypes: 1 })))
  )

  it.effect("bounds the name of a group", () =>
    Effect.gen(function* () {
      const longest = yield* open()
      longest.send(first(CDS, "x".repeat(200)))
      expect(yield* Effect.flatMap(XdsServer.XdsServer, (server) => server.status)).toMatchObject([{ waiting: true }])
      const longer = yield* open()
      longer.send(first(CDS, "x".repeat(201)))
      expect(yield* longer.ended).toMatchObject({
        code: "RESOURCE_EXHAUSTED",
        message: "the name of the group has 201 characters; at most 200 are allowed"
      })
    }).pipe(Effect.provide(setup({ maxNameLength: 200 })))
  )

  it.effect("breaks of the protocol end the stream with the reason", () =>
    Effect.gen(function* () {
      logs.length = 0
      const client = yield* open()
      client.send(first(""))
      expect((yield* client.ended).code).toBe("INVALID_ARGUMENT")
      const other = yield* open({ method: { typeUrl: LDS } })
      other.send(first(CDS))
      expect((yield* other.ended).message).toContain(CDS)
      expect(linesWith("stream ended").length).toBeGreaterThan(0)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("names itself where it is told to, and wildcards can be switched off", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", { clusters: [edsCluster("a")], endpoints: [assignment("a")] })
      const client = yield* open()
      client.send(first(CDS))
      const { message } = yield* client.receive
      expect(message.controlPlane?.identifier).toBe("cp-1")
      client.send(Request.incremental({ typeUrl: EDS }))
      expect((yield* client.receive).names).toEqual([])
    }).pipe(Effect.provide(setup({ controlPlane: "cp-1", wildcard: { [EDS]: false } })))
  )

  it.effect("thousands of streams are told in slices, and the event loop turns in between", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a"))
      const clients = yield* Effect.all(Array.from({ length: 2_000 }, () => open()))
      for (const client of clients) client.send(first(CDS))
      yield* store.update("edge", { upsert: clusters("b") })
      let turns = 0
      while (clients.some((client) => client.unread() < 2)) {
        yield* turn
        turns++
      }
      expect(clients.every((client) => client.unread() === 2)).toBe(true)
      expect(turns).toBeGreaterThan(0)
    }).pipe(Effect.provide(setup()))
  )

  describe("a response of a thousand resources", () => {
    const names = Array.from({ length: 5_000 }, (_, at) => `c${at}`)
    const impatient = () => impatientLoop().elapsed
    /** A slice is never over: what is not put off is done at once. */
    const patient = () => () => 0
    /** Turns until all of them have their first response, in a group of these clusters. */
    const turns = (
      elapsed: () => () => number,
      set: ReadonlyArray<string>,
      asked: ReadonlyArray<string> = [],
      count = 1
    ) =>
      Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.set("edge", clusters(...set))
        const clients = yield* Effect.all(Array.from({ length: count }, () => open()))
        for (const client of clients) client.send(first(CDS, "edge", asked))
        let turns = 0
        for (; clients.some((client) => client.unread() === 0) && turns < 1_000; turns++) yield* turn
        for (const client of clients) {
          expect((yield* client.receive).names.length).toBe(asked.length === 0 ? set.length : asked.length)
        }
        return turns
      }).pipe(
        Effect.provide(
          Layer.provide(setup(), Layer.succeed(EventLoop.EventLoop, { ...EventLoop.process, elapsed: elapsed() }))
        )
      )

    it.effect("is written in a turn after the one in which it was made", () =>
      Effect.gen(function* () {
        const thousand = names.slice(0, 1_000)
        const most = yield* turns(impatient, thousand, names.slice(1, 1_000))
        // To take the names are as many steps. Others have their turn 16 times while it is measured, 15 times while it is written,
        // and twice while its three pieces are put together.
        expect(yield* turns(impatient, thousand, thousand)).toBe(most + 1 + 16 + 15 + 2)
      })
    )

    it.effect("has its own turn also where nobody else has anything to do", () =>
      Effect.gen(function* () {
        expect(yield* turns(patient, names.slice(0, 999))).toBe(0)
        expect(yield* turns(patient, names.slice(0, 1_000))).toBe(1)
      })
    )

    it.effect("is written some hundred resources in a turn, once for all who are sent it", () =>
      Effect.gen(function* () {
        // Others have their turn 4 times while it is reckoned whether that is too large, 79 times while it is measured, 78 times while
        // it is written, and twice while it is put together. The resources were listed when the group was set.
        const alone = yield* turns(impatient, names)
        expect(alone).toBe(1 + 4 + 79 + 78 + 2)
        expect((yield* turns(impatient, names, [], 4)) - alone).toBeLessThan(20)
      })
    )
  })

  it.effect(
    "a change of a client that was there goes before the long answers of clients that come, and these end",
    () => {
      const names = Array.from({ length: 5_000 }, (_, at) => `c${at}`)
      return Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        yield* store.set("edge", clusters(...names))
        const old = yield* open()
        old.send(first(CDS, "edge", ["c7"]))
        old.send(ack(yield* old.receive))
        const many = yield* Effect.all(Array.from({ length: 20 }, () => open()))
        for (const client of many) client.send(first(CDS, "edge", []))
        yield* turn
        yield* store.update("edge", { upsert: { clusters: [cluster("c7", "new")] } })
        let turns = 0
        for (; old.unread() === 0 && turns < 1_000; turns++) yield* turn
        // Twenty answers of a hundred turns and more are under way.
        expect(turns).toBeLessThan(5)
        expect((yield* old.receive).names).toEqual(["c7"])
        expect(many.map((client) => client.unread())).toEqual(many.map(() => 0))
        // Short work without end does not keep them from it.
        for (let count = 0; many.some((client) => client.unread() === 0); count++) {
          expect(count).toBeLessThan(10_000)
          yield* store.update("edge", { upsert: { clusters: [cluster("c7", String(count))] } })
          if (old.unread() > 0) old.send(ack(yield* old.receive))
          yield* turn
        }
      }).pipe(Effect.provide(Layer.provide(setup(), Layer.succeed(EventLoop.EventLoop, impatientLoop()))))
    }
  )

  it.effect("changes that come before a stream has its turn are all told, whatever it was passed over for", () => {
    const names = ["a", "b"]
    return Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", clusters("a", "b", "c"))
      const clients = yield* Effect.all(Array.from({ length: 5 }, () => open()))
      for (const client of clients) {
        client.send(first(CDS, "edge", names))
        client.send(ack(yield* client.receive))
      }
      const change = (name: string, content: string) =>
        store.update("edge", { upsert: { clusters: [cluster(name, content)] } })
      yield* change("c", "1")
      yield* change("a", "1")
      yield* change("c", "2")
      yield* change("b", "1")
      yield* change("c", "3")
      for (const client of clients) {
        const told = new Set<string>()
        while (told.size < names.length) {
          const response = yield* client.receive
          for (const name of response.names) told.add(name)
          client.send(ack(response))
        }
        expect(Array.from(told).sort()).toEqual(names)
      }
    }).pipe(Effect.provide(Layer.provide(setup(), Layer.succeed(EventLoop.EventLoop, impatientLoop()))))
  })

  describe("★ a change that comes while a request is taken, or answered, is told", () => {
    const names = Array.from({ length: 900 }, (_, at) => `c${at}`)
    const changed = "c7"
    it.effect.each([
      { what: "names", asked: names, held: [] },
      { what: "a wildcard", asked: [], held: [] },
      { what: "names, by a client that holds much", asked: names, held: names },
      { what: "a wildcard, by a client that holds much", asked: [], held: names }
    ])("$what", ({ asked, held }) =>
      Effect.gen(function* () {
        // The store is filled in few turns, which are most of the time otherwise.
        let isServed = false
        const impatient = impatientLoop(() => isServed)
        const tellAfter = (turns: number) =>
          Effect.gen(function* () {
            const store = yield* SnapshotStore.SnapshotStore
            isServed = false
            yield* store.set("edge", clusters(...names))
            isServed = true
            const client = yield* open()
            const request = {
              ...first(CDS, "edge", asked),
              initialResourceVersions: new Map(held.map((name) => [name, "1"]))
            }
            client.send(request)
            for (let count = 0; count < turns; count++) yield* turn
            const early = client.unread()
            yield* store.update("edge", { upsert: { clusters: [cluster(changed, "new")] } })
            const contents = ({ message }: MemoryClient.Received) =>
              message.resources.flatMap((each) => ("version" in each ? [[each.name, each.version] as const] : []))
            const got = new Map<string, string>()
            for (let quiet = 0; quiet < 200; quiet++) {
              while (client.unread() > 0) {
                const response = yield* client.receive
                for (const [name, version] of contents(response)) got.set(name, version)
                client.send(ack(response))
                quiet = 0
              }
              yield* turn
            }
            const whole = yield* open()
            whole.send(first(CDS, "edge", [changed]))
            const newest = new Map(contents(yield* whole.receive))
            expect([turns, got.get(changed)]).toEqual([turns, newest.get(changed)])
            return early
          }).pipe(Effect.provide(Layer.provide(setup(), Layer.succeed(EventLoop.EventLoop, impatient))))
        for (let turns = 0; (yield* tellAfter(turns)) === 0; turns += 1 + (turns >> 2));
      })
    )
  })
})

describe("Client", () => {
  it("is told in one line", () => {
    const peer = { address: "10.0.0.1:4000", identity: undefined }
    expect(Client.format({ id: 1, node: undefined, group: undefined, peer })).toBe("client at 10.0.0.1:4000")
  })
})
