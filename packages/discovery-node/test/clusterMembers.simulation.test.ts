/**
 * An hour of 200 hosts whose health flaps, with DNS that fails, a control plane that goes away and assignments whose TTL ends. `XDS_RUNS=20` runs more
 * seeds, `XDS_SEED=7` begins with another, or runs that one again.
 */
import { Bootstrap, XdsClient } from "@effect-xds/client"
import * as ClusterMembers from "@effect-xds/discovery-node/ClusterMembers"
import { ScriptedServer, SimulatedTime } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, LogLevel, Random, Stream, TestClock } from "effect"
import { clusters, DiscoveryWorld, interval, timeout } from "./DiscoveryWorld.js"
import { Ledger } from "./MembershipInvariants.js"

/** Seeds that failed once, by what was wrong. */
const regressions: Readonly<Record<string, number>> = {}

const first = Number(process.env["XDS_SEED"] ?? "1")
const seeds = Array.from({ length: Number(process.env["XDS_RUNS"] ?? "1") }, (_, index) => first + index)

/** Real milliseconds, on a machine that does other things, too. */
const limit = 300_000

/** Timers and fibers of four clusters and a client that wait for nobody's answer. */
const most = { timers: 20, fibers: 60 }

const hour = (seed: number) =>
  Effect.gen(function* () {
    const time = yield* SimulatedTime.SimulatedTime
    const ledger = new Ledger(seed, time.now, 1.2 * interval + 3 * timeout)
    const world = new DiscoveryWorld(ledger)
    const program = Effect.gen(function* () {
      yield* world.begin
      const { of } = yield* ClusterMembers.ClusterMembers
      const members = new Map<string, ClusterMembers.Service>()
      for (const { name } of clusters) {
        const cluster = yield* of(name)
        members.set(name, cluster)
        yield* Effect.forkScoped(
          Stream.runForEach(cluster.events, (event) =>
            Effect.gen(function* () {
              if (event._tag !== "Added") return ledger.happened(name, event, undefined)
              const { inUse, warming } = yield* cluster.status
              const known = (inUse ?? warming)?.hosts.find(({ host }) => host === event.host)
              ledger.happened(name, event, known?.address.replace(/:80$/, ""))
            })
          )
        )
      }
      const look = Effect.gen(function* () {
        for (const [name, cluster] of members) ledger.look(name, yield* cluster.current)
        ledger.bounded("timers", time.timers(), world.busy, most.timers)
        ledger.bounded("fibers", time.fibers(), world.busy, most.fibers)
      })
      /** Calls to who may be called. */
      const call = Effect.gen(function* () {
        for (const cluster of members.values()) {
          const { priorities } = yield* cluster.current
          const hosts = priorities.flatMap(({ healthy }) => healthy)
          for (let n = 0; n < 3; n++) {
            const host = hosts[yield* Random.nextIntBetween(0, Math.max(1, hosts.length))]
            if (host === undefined) continue
            const isUp = world.isUp(host.address.replace(/:80$/, ""))
            yield* cluster.report(host.id, { _tag: "Response", status: isUp ? 200 : 503 })
          }
        }
      })
      for (let second = 0; second < 3_600 && ledger.problems.length === 0; second += 4) {
        yield* world.turn
        yield* call
        yield* TestClock.adjust("4 seconds")
        yield* look
      }
      // Who is ejected is back after 300 s at most.
      yield* world.calm
      for (let minute = 0; minute < 10 && ledger.problems.length === 0; minute++) {
        yield* world.turn
        yield* TestClock.adjust("60 seconds")
        yield* look
      }
      for (const [name, cluster] of members) ledger.calm(name, yield* cluster.current)
    })
    const layer = ClusterMembers.layer().pipe(
      Layer.provideMerge(XdsClient.layer({ bootstrap: Bootstrap.make({ servers: ["xds:1"] }) })),
      Layer.provideMerge(ScriptedServer.layer),
      Layer.provide(Layer.merge(world.resolver, world.prober))
    )
    yield* Effect.provide(Effect.scoped(program), layer)
    // Nothing is left behind.
    yield* TestClock.adjust("1 seconds")
    ledger.bounded("timers, after the end", time.timers(), 0, 0)
    expect(ledger.problems).toEqual([])
    expect(world.busy).toBe(0)
    return ledger.counts
  }).pipe(Logger.withMinimumLogLevel(LogLevel.None), SimulatedTime.run({ seed }))

describe("an hour of 200 hosts", () => {
  for (const seed of seeds) {
    it.live(
      `nobody is lost, nobody who fails is called (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const counts = yield* hour(seed)
          // It is no hour in which nothing happens.
          expect(Math.min(...Object.values(counts))).toBeGreaterThan(0)
          expect(counts.probes).toBeGreaterThan(8_000)
        }),
      limit
    )
  }
  for (const [title, seed] of Object.entries(regressions)) it.live(`${title} (seed ${seed})`, () => hour(seed), limit)
})
