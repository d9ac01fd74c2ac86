// Each kind of fault is seen to happen, and what clients and servers make of it.
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import * as SimulatedNetwork from "@effect-xds/testing/network/SimulatedNetwork"
import * as SimulatedTime from "@effect-xds/testing/simulation/SimulatedTime"
import type { Step } from "@effect-xds/testing/simulation/Script"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import type { PlannedFault } from "@effect-xds/testing/network/Fault"
import type { Event } from "@effect-xds/testing/invariants/Trace"
import * as Trace from "@effect-xds/testing/invariants/Trace"
import { ClientTransport } from "@effect-xds/transport"
import { assert, describe, it } from "@effect/vitest"
import { create } from "@bufbuild/protobuf"
import { Cause, Effect, Layer } from "effect"

const typeUrl = ResourceType.Cluster.typeUrl

/** A change of one cluster each second, seen by one client of each variant while something goes wrong. */
const suffer = (...faults: ReadonlyArray<PlannedFault>) =>
  Simulation.run({
    servers: [{ name: "xds" }],
    clients: [{ name: "sotw" }, { name: "delta", protocol: "Incremental" }],
    script: [
      { at: 0, _tag: "Watch", client: "sotw", typeUrl, name: "web" },
      { at: 0, _tag: "Watch", client: "delta", typeUrl, name: "web" },
      ...Array.from({ length: 10 }, (_, second): Step => ({
        at: 1_000 * second,
        _tag: "Publish",
        group: "group",
        upsert: [{ typeUrl, name: "web", content: second }],
        remove: []
      }))
    ],
    faults
  }).pipe(
    Effect.tap(({ trace, verdict }) =>
      Effect.sync(() =>
        assert.deepStrictEqual(verdict, [], `${Simulation.formatVerdict(verdict)}\n${Trace.render(trace)}`)
      )
    )
  )

const endsOf = (trace: Trace.Trace, client: string, side: "client" | "server") =>
  trace.flatMap((event) =>
    event._tag === "Ended" && event.stream.client === client && event.side === side ? [event] : []
  )

const takenBy = (trace: Trace.Trace, client: string) =>
  trace.filter(
    (event): event is Event & { readonly _tag: "Received" } =>
      event._tag === "Received" && event.message._tag === "Response" && event.stream.client === client
  )

const sentTo = (trace: Trace.Trace, client: string) =>
  trace.filter((event) => event._tag === "Sent" && event.message._tag === "Response" && event.stream.client === client)

describe("SimulatedNetwork", () => {
  it.effect("tells of a fault for a machine that is not there, which would let a test pass", () =>
    Effect.gen(function* () {
      const network = yield* SimulatedNetwork.SimulatedNetwork
      const { connect } = network.clientNamed("app")
      network.serverAt("xds")
      const why = (fault: Effect.Effect<void>) =>
        Effect.map(Effect.sandbox(fault).pipe(Effect.flip), (cause) => Cause.pretty(cause).split("\n")[0])
      assert.strictEqual(
        yield* why(network.inject({ _tag: "SlowReader", client: "node-1", for: 1 })),
        'Error: the simulated network has no client "node-1"; it has "client", "app". A client has the name of its port, not that of its node'
      )
      const partition = { _tag: "Partition", clients: ["app"], server: "other", for: 1 } as const
      const noServer =
        'Error: the simulated network has no server "other"; it has "server", "xds". A server has the address of its port'
      assert.deepStrictEqual(yield* Effect.all([why(network.inject(partition)), why(network.kill("other"))]), [
        noServer,
        noServer
      ])
      assert.include(yield* why(network.killClient("xds")), 'has no client "xds"')
      // A client has been told of it, though nobody serves there.
      yield* connect({ address: "other", credentials: ClientTransport.insecure })
      yield* network.inject(partition)
      yield* network.kill("xds")
      yield* network.killClient("app")
    }).pipe(Effect.scoped, Effect.provide(SimulatedNetwork.layer()), SimulatedTime.run())
  )

  it.live("joins a server and a client, as layers", () => {
    const program = Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", { clusters: [create(ClusterSchema, { name: "web" })] })
      const client = yield* XdsClient.XdsClient
      assert.strictEqual((yield* client.get(ClusterSchema, "web")).name, "web")
      const network = yield* SimulatedNetwork.SimulatedNetwork
      assert.strictEqual(network.openStreams(), 1)
    })
    const bootstrap = Bootstrap.make({ servers: ["server"], node: { id: "app", cluster: "edge" } })
    const layer = Layer.merge(XdsServer.layer({ group: (node) => node.cluster }), XdsClient.layer({ bootstrap })).pipe(
      Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), SimulatedNetwork.layer()))
    )
    return SimulatedTime.run()(Effect.provide(program, layer))
  })

  it.live("is quiet when nothing is wrong: each change is taken by each client", () =>
    Effect.gen(function* () {
      const { trace } = yield* suffer()
      assert.strictEqual(takenBy(trace, "sotw").length, 10)
      assert.strictEqual(takenBy(trace, "delta").length, 10)
      assert.deepStrictEqual([...endsOf(trace, "sotw", "client"), ...endsOf(trace, "delta", "server")], [])
    })
  )

  it.live("slow: messages take long, streams overtake one another, and within one none does", () =>
    Effect.gen(function* () {
      const { trace } = yield* suffer(
        { at: 2_500, _tag: "Slow", client: "sotw", latency: 700, jitter: 0, for: 2_000 },
        { at: 2_500, _tag: "Slow", client: "delta", latency: 10, jitter: 3_000, for: 2_000 }
      )
      // Sent at 3 s together with the other's.
      const [slow] = takenBy(trace, "sotw").filter(({ at }) => at > 3_000)
      assert.isAtLeast(slow?.at ?? 0, 3_700)
      const nonces = takenBy(trace, "delta").map(({ message }) => Number(message.nonce))
      assert.deepStrictEqual(
        nonces,
        nonces.toSorted((one, other) => one - other)
      )
      const late = takenBy(trace, "delta").filter(({ at }) => at > 3_100 && at % 1_000 > 100)
      assert.isAbove(late.length, 0)
    })
  )

  it.live("reset: what is on its way is lost before, and taken after", () =>
    Effect.gen(function* () {
      const before = (yield* suffer({ at: 3_001, _tag: "Reset", client: "sotw", server: "xds", delivery: "before" }))
        .trace
      const after = (yield* suffer({ at: 3_001, _tag: "Reset", client: "sotw", server: "xds", delivery: "after" }))
        .trace
      for (const [trace, taken] of [
        [before, 3],
        [after, 4]
      ] as const) {
        const [end] = endsOf(trace, "sotw", "client")
        assert.include(end?.reason, "connection reset")
        assert.strictEqual(takenBy(trace, "sotw").filter(({ at }) => at <= (end?.at ?? 0)).length, taken)
        assert.strictEqual(endsOf(trace, "sotw", "server")[0]?.at, end?.at)
        assert.deepStrictEqual(endsOf(trace, "delta", "client"), [])
      }
    })
  )

  it.live("half-open: one side goes on believing until keepalive finds out", () =>
    Effect.gen(function* () {
      for (const believes of ["client", "server"] as const) {
        const other = believes === "client" ? "server" : "client"
        const { trace } = yield* suffer({ at: 3_500, _tag: "HalfOpen", client: "delta", server: "xds", believes })
        assert.strictEqual(endsOf(trace, "delta", other)[0]?.at, 3_500)
        assert.deepInclude(endsOf(trace, "delta", believes)[0], { at: 43_500 })
        const lost = sentTo(trace, "delta").length - takenBy(trace, "delta").length
        // The server goes on sending to nobody, as far as its credit goes.
        assert.strictEqual(lost, believes === "server" ? 2 : 0)
      }
    })
  )

  it.live("slow reader: there is no credit, and changes become one", () =>
    Effect.gen(function* () {
      const { trace } = yield* suffer({ at: 1_500, _tag: "SlowReader", client: "sotw", for: 7_000 })
      assert.strictEqual(sentTo(trace, "delta").length, 10)
      // Two before, two that fill the window, one for all that came meanwhile, and the last.
      assert.strictEqual(sentTo(trace, "sotw").length, 6)
      assert.deepStrictEqual(
        takenBy(trace, "sotw").filter(({ at }) => at > 1_500 && at < 8_500),
        []
      )
    })
  )

  it.live("partition: what is on its way arrives when it heals, and keepalive ends a long one", () =>
    Effect.gen(function* () {
      const partition = { at: 2_500, _tag: "Partition" as const, clients: ["sotw", "delta"], server: "xds" }
      const short = (yield* suffer({ ...partition, for: 3_000 })).trace
      assert.deepStrictEqual(endsOf(short, "sotw", "client"), [])
      assert.deepStrictEqual(
        takenBy(short, "sotw").filter(({ at }) => at > 2_600 && at < 5_500),
        []
      )
      assert.strictEqual(takenBy(short, "sotw").filter(({ at }) => at >= 5_500 && at < 5_600).length, 3)
      const long = (yield* suffer({ ...partition, for: 100_000 })).trace
      assert.include(endsOf(long, "sotw", "client")[0]?.reason, "keepalive")
      assert.strictEqual(endsOf(long, "sotw", "server")[0]?.at, 42_500)
      // Attempts to connect meanwhile are in vain.
      assert.include(endsOf(long, "sotw", "client")[1]?.reason, "cannot be reached: timeout")
    })
  )

  it.live("crash: a server dies, with or without its state, and clients come back to it", () =>
    Effect.gen(function* () {
      for (const state of ["kept", "lost"] as const) {
        const { trace } = yield* suffer({ at: 3_500, _tag: "Crash", server: "xds", state, for: 2_000 })
        assert.include(endsOf(trace, "sotw", "client")[0]?.reason, "connection reset")
        assert.include(endsOf(trace, "sotw", "client")[1]?.reason, "connection refused")
        const again = trace.findIndex((event) => event._tag === "Started" && event.host === "xds" && event.at === 5_500)
        const next = trace.slice(again).find((event) => event._tag === "Stored")
        // With its state it has a group at once; without, when its publisher speaks next.
        assert.strictEqual(next?.at, state === "kept" ? 5_500 : 6_000)
      }
    })
  )

  it.live("clock jump: timers of clients and servers go by their own clocks", () =>
    Effect.gen(function* () {
      const { trace } = yield* Simulation.run({
        servers: [{ name: "xds" }],
        clients: [{ name: "right" }, { name: "wrong" }],
        script: ["right", "wrong"].map((client): Step => ({
          at: 0,
          _tag: "Watch",
          client,
          typeUrl: ResourceType.RouteConfiguration.typeUrl,
          name: "r"
        })),
        // Wakes the client up, after its clock went wrong.
        faults: [{ at: 5_000, _tag: "ClockJump", host: "wrong", by: 3_600_000 }],
        body: (world) =>
          Effect.delay(
            world.perform({
              _tag: "Watch",
              client: "wrong",
              typeUrl: ResourceType.RouteConfiguration.typeUrl,
              name: "s"
            }),
            "6 seconds"
          )
      })
      const told = (client: string) => trace.find((event) => event._tag === "Told" && event.client === client)
      assert.isAtLeast(told("right")?.at ?? 0, 15_000)
      assert.isBelow(told("wrong")?.at ?? Infinity, 7_000)
    })
  )
})
