import type { Step } from "@effect-xds/testing/simulation/Script"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import * as Trace from "@effect-xds/testing/invariants/Trace"
import * as Arbitraries from "@effect-xds/testing/simulation/Arbitraries"
import type { ResourceSpec } from "@effect-xds/testing/simulation/ResourceSpec"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { SnapshotStore } from "@effect-xds/server/SnapshotStore"
import * as XdsServerMetrics from "@effect-xds/server/XdsServerMetrics"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { assert, describe, it } from "@effect/vitest"
import { create } from "@bufbuild/protobuf"
import { Clock, Effect, Either, Metric, TestClock } from "effect"
import * as fc from "fast-check"

const typeUrl = ResourceType.Cluster.typeUrl
const web = { typeUrl, name: "web", content: 1 }

const publish = (at: number, ...upsert: ReadonlyArray<ResourceSpec>): Step => ({
  at,
  _tag: "Publish",
  group: "group",
  upsert,
  remove: []
})

const watch = (at: number, client: string, name: string): Step => ({
  at,
  _tag: "Watch",
  client,
  typeUrl,
  name
})

/** All four variants under everything that can go wrong, drawn from a seed. */
const anything = (seed: number): Simulation.Plan => {
  const clients = ["sotw", "delta", "sotw-separate", "delta-separate"]
  const [drawn] = fc.sample(
    fc.record({
      script: Arbitraries.simulationScript({ clients }),
      faults: Arbitraries.faults({ clients, servers: ["xds"] })
    }),
    { seed, numRuns: 1 }
  )
  return {
    seed,
    servers: [{ name: "xds" }],
    clients: [
      { name: "sotw" },
      { name: "delta", protocol: "Incremental" },
      { name: "sotw-separate", aggregated: false },
      { name: "delta-separate", protocol: "Incremental", aggregated: false }
    ],
    ...drawn
  }
}

const failure = (plan: Simulation.Plan) => Effect.flip(Simulation.run(plan))

describe("Simulation", () => {
  it.live("one seed, one run", () =>
    Effect.gen(function* () {
      const one = yield* Simulation.run(anything(7))
      const two = yield* Simulation.run(anything(7))
      assert.strictEqual(one.hash, two.hash)
      assert.strictEqual(Trace.render(one.trace), Trace.render(two.trace))
      const other = yield* Simulation.run({ ...anything(7), seed: 8 })
      assert.notStrictEqual(one.hash, other.hash)
    })
  )

  it.live("delivers through a connection that breaks", () =>
    Effect.gen(function* () {
      const { trace, verdict } = yield* Simulation.run({
        servers: [{ name: "xds" }],
        clients: [{ name: "one" }, { name: "two", protocol: "Incremental" }],
        script: [watch(0, "one", "web"), watch(0, "two", "web"), publish(100, web)],
        faults: [{ at: 103, _tag: "Reset", client: "one", server: "xds", delivery: "before" }]
      })
      assert.deepStrictEqual(verdict, [])
      const told = trace.flatMap((event) => (event._tag === "Told" ? [`${event.client} ${event.what}`] : []))
      assert.deepStrictEqual(told, ["one Error", "two Updated", "one Updated"])
    })
  )

  it.live("a client says which server was silent, by its address", () =>
    Effect.gen(function* () {
      const { trace } = yield* Simulation.run({
        servers: [{ name: "xds" }],
        clients: [{ name: "app" }],
        script: [watch(0, "app", "web")]
      })
      const [told] = trace.flatMap((event) => (event._tag === "Told" ? [event] : []))
      assert.strictEqual(told?.detail, "xds did not send it within 15000 ms")
    })
  )

  it.live("an hour with 100 clients takes seconds: no more messages than what happens asks for", () =>
    Effect.gen(function* () {
      const clients = Array.from({ length: 100 }, (_, index) => ({
        name: `client-${index}`,
        protocol: index % 2 === 0 ? ("StateOfTheWorld" as const) : ("Incremental" as const),
        aggregated: index % 4 < 2
      }))
      const minutes = Array.from({ length: 60 }, (_, minute) => minute * 60_000)
      const { duration, messages, verdict } = yield* Simulation.run({
        servers: [{ name: "xds" }],
        clients,
        script: [
          ...clients.map(({ name }) => watch(0, name, "web")),
          ...minutes.map((at, index) => publish(at, { ...web, content: index }))
        ],
        faults: minutes.map((at, index) => ({
          at: at + 30_000,
          _tag: "Reset" as const,
          client: `client-${index}`,
          server: "xds",
          delivery: "after" as const
        }))
      })
      assert.deepStrictEqual(verdict, [])
      assert.isAbove(messages, 20_000)
      assert.isBelow(messages, 30_000)
      assert.isAbove(duration, 3_540_000)
    })
  )

  it.live("runs a body and a publisher of the user beside the script, on a TestClock", () =>
    Effect.gen(function* () {
      const publisher = Effect.gen(function* () {
        const store = yield* SnapshotStore
        for (const name of ["a", "b"]) {
          yield* store.set("group", { clusters: [create(ClusterSchema, { name })] })
          yield* Effect.sleep("1 minute")
        }
      })
      const { verdict } = yield* Simulation.run({
        servers: [{ name: "xds", publisher }],
        clients: [{ name: "app" }],
        body: (world) =>
          Effect.gen(function* () {
            const { name } = yield* world.client("app").get(ClusterSchema, "a")
            assert.strictEqual(name, "a")
            yield* TestClock.adjust("61 seconds")
            assert.strictEqual((yield* world.client("app").get(ClusterSchema, "b")).name, "b")
            assert.isBelow(yield* Clock.currentTimeMillis, 62_000)
            assert.strictEqual((yield* world.server("xds").status).length, 1)
          })
      })
      assert.deepStrictEqual(verdict, [])
    })
  )

  it.live("a body or publisher that fails is a problem of the run", () =>
    Effect.gen(function* () {
      const { verdict } = yield* Simulation.run({
        servers: [{ name: "xds", publisher: Effect.fail("no database") }],
        clients: [],
        body: (world) => Effect.sync(() => world.client("nobody"))
      })
      assert.deepStrictEqual(
        verdict.map(({ rule }) => rule),
        ["publisher", "body"]
      )
      assert.include(Simulation.formatVerdict(verdict), 'there is no client "nobody"')
    })
  )

  it.live("what is left behind is found", () =>
    Effect.gen(function* () {
      const { verdict } = yield* Simulation.run({
        servers: [{ name: "xds" }],
        clients: [],
        body: () => Effect.forkDaemon(Effect.sleep("1 day"))
      })
      assert.deepStrictEqual(
        verdict.map(({ problem, rule }) => `${rule}: ${problem}`),
        ["nothingLeft: 0 streams, 1 timers and 1 fibers are left"]
      )
    })
  )

  it.live("refuses what makes no sense, and says where", () =>
    Effect.gen(function* () {
      const plan: Simulation.Plan = { seed: 5, servers: [{ name: "xds" }], clients: [{ name: "app" }] }
      const unknown = yield* failure({ ...plan, script: [watch(10, "ap", "web")] })
      assert.strictEqual(unknown.reason, "UnknownHost")
      assert.include(
        unknown.message,
        'seed 5: step 0 of the script (Watch at 10 ms) names the client "ap"; there are app'
      )
      const reset = { at: 0, _tag: "Reset" as const, client: "app", server: "xdss", delivery: "after" as const }
      assert.include((yield* failure({ ...plan, faults: [reset] })).message, 'names the server "xdss"; there are xds')
      const jump = { at: 0, _tag: "ClockJump" as const, host: "sun", by: 1 }
      assert.strictEqual((yield* failure({ ...plan, faults: [jump] })).reason, "UnknownHost")
      assert.strictEqual((yield* failure({ ...plan, clients: [{ name: "xds" }] })).reason, "UnknownHost")
      assert.strictEqual((yield* failure({ ...plan, clients: [{ name: "a", servers: ["b"] }] })).reason, "UnknownHost")
      assert.strictEqual((yield* failure({ ...plan, servers: [] })).reason, "UnknownHost")
      const endless = { at: 0, _tag: "SlowReader" as const, client: "app", for: Number.POSITIVE_INFINITY }
      const error = yield* failure({ ...plan, faults: [endless] })
      assert.strictEqual(error.reason, "EndlessFault")
      assert.include(error.message, "fault 0 (SlowReader at 0 ms) does not end within limits.time (86400 s)")
    })
  )

  it.live("never hangs: gives up with the seed and the last events, and leaves no stream open", () =>
    Effect.gen(function* () {
      const open = Effect.map(Metric.value(XdsServerMetrics.streams), ({ value }) => value)
      const before = yield* open
      const plan: Simulation.Plan = {
        seed: 5,
        servers: [{ name: "xds" }],
        clients: [{ name: "app" }],
        script: [watch(0, "app", "web")]
      }
      const restless = publish(0, web)
      const noise = (world: Simulation.World) =>
        Effect.forkDaemon(
          Effect.forEach(
            Array.from({ length: 100_000 }, (_, content) => content),
            (content) => Effect.zipRight(Effect.sleep("10 seconds"), world.perform(publish(0, { ...web, content })))
          )
        )
      const never = yield* failure({ ...plan, script: [watch(0, "app", "web"), restless], body: noise })
      assert.strictEqual(never.reason, "NeverQuiet")
      assert.strictEqual(never.lastEvents.length, 20)
      assert.include(never.message, "the last events:")
      const long = yield* failure({ ...plan, limits: { time: 100_000 }, body: () => Effect.sleep("1 hour") })
      assert.strictEqual(long.reason, "TooLong")
      assert.match(Trace.render(long.lastEvents), /app +watches CDS web/)
      const circles = yield* failure({
        ...plan,
        limits: { steps: 5_000 },
        body: () => Effect.forever(Effect.yieldNow())
      })
      assert.strictEqual(circles.reason, "TooManySteps")
      const many = yield* failure({ ...plan, limits: { events: 3 } })
      assert.strictEqual(many.reason, "TooManyEvents")
      assert.isTrue(Either.isRight(yield* Effect.either(Simulation.run(plan))))
      assert.strictEqual(yield* open, before)
    })
  )
})
