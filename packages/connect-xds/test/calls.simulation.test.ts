/**
 * Control plane, client, routing and calls in one process and in simulated time, from a seed: servers come, go, hang and
 * fail, the control plane changes its mind and is cut off. Each call ends by its deadline; none goes to an endpoint that
 * was taken away longer than a second ago; nothing is left at the end.
 *
 * `XDS_RUNS=50` for more seeds, `XDS_SEED=7` for one of them.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import type * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import type { Prober } from "@effect-xds/discovery-node/Prober"
import * as Resolvers from "@effect-xds/discovery-node/Resolver"
import type { Profile } from "@effect-xds/routing/Cluster"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import { RingStore } from "@effect-xds/routing/RingStore"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import * as SimulatedNetwork from "@effect-xds/testing/network/SimulatedNetwork"
import * as SimulatedTime from "@effect-xds/testing/simulation/SimulatedTime"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import { Call } from "../src/internal/Call.js"
import { ChannelCounters } from "../src/internal/ChannelCounters.js"
import { ChannelDriver } from "../src/internal/ChannelDriver.js"
import type { Connection, Events } from "../src/internal/Connection.js"
import * as Environments from "../src/internal/Environment.js"
import * as Resources from "../src/internal/Resources.js"
import * as Mesh from "./Mesh.js"

/** What a server does with calls. `silent`: it takes connections and calls, and says nothing. */
type Mood = "well" | "down" | "silent" | "busy"

/** Servers, connections to them, and what must not be. */
class World {
  readonly moods = new Map<number, Mood>()
  readonly open = new Set<SimulatedConnection>()
  /** When the client was told that a port is none of the endpoints; absent: it is one. */
  readonly gone = new Map<number, number>()
  readonly faults: Array<string> = []
  calls = 0
  answered = 0

  constructor(readonly environment: Environments.Environment) {}

  mood(port: number): Mood {
    return this.moods.get(port) ?? "well"
  }

  turn(port: number, mood: Mood): void {
    this.moods.set(port, mood)
    // What is silent keeps its connections: nobody notices but by deadlines.
    if (mood === "down") for (const each of [...this.open]) if (each.port === port) each.lose("connection reset")
  }
}

class SimulatedConnection implements Connection {
  hasAnswered = false
  readonly port: number
  private readonly going = new Set<(outcome: "answered" | "lost") => void>()
  private isDraining = false
  private isOver = false
  private isReady = false

  constructor(
    private readonly world: World,
    readonly address: string,
    private readonly events: Events
  ) {
    this.port = Number(address.slice(address.lastIndexOf(":") + 1))
    world.open.add(this)
    const { after, random } = world.environment
    after(1 + random() * 30, () => {
      if (this.isOver) return
      if (world.mood(this.port) === "down") return this.lose("connection refused")
      this.isReady = true
      events.ready()
    })
  }

  /** What becomes of a call: an answer, or the connection is lost, or nothing. */
  call(signal: AbortSignal): Promise<"answered" | "lost"> {
    const { after, now, random } = this.world.environment
    if (!this.isReady || this.isOver) this.world.faults.push(`a call to ${this.address}, which is not connected`)
    const gone = this.world.gone.get(this.port)
    if (gone !== undefined && now() - gone > 1_000) {
      this.world.faults.push(`a call to ${this.address}, which was taken away ${now() - gone} ms ago`)
    }
    return new Promise((resolve) => {
      const end = (outcome: "answered" | "lost"): void => {
        if (!this.going.delete(end)) return
        signal.removeEventListener("abort", abort)
        if (outcome === "answered") this.hasAnswered = true
        resolve(outcome)
        if (this.isDraining && this.going.size === 0) this.end()
      }
      const abort = (): void => end("lost")
      this.going.add(end)
      signal.addEventListener("abort", abort, { once: true })
      if (this.world.mood(this.port) !== "silent") after(random() * 200, () => end("answered"))
    })
  }

  readonly drain = (): void => {
    this.isDraining = true
    if (this.going.size === 0) this.end()
  }

  readonly close = (): void => this.lose("closed")

  lose(reason: string): void {
    if (this.isOver) return
    this.events.gone(reason)
    for (const end of [...this.going]) end("lost")
    this.end()
  }

  private end(): void {
    if (this.isOver) return
    this.isOver = true
    this.world.open.delete(this)
    // After what called it: a connection tells nothing within `drain`.
    this.world.environment.after(0, () => this.events.ended())
  }
}

const ports = [1, 2, 3, 4, 5, 6]
const seconds = 20

/** Checks of endpoints, whose results the world says. */
const healthChecks = [
  {
    timeout: { nanos: 200_000_000 },
    interval: { nanos: 500_000_000 },
    noTrafficInterval: { nanos: 500_000_000 },
    unhealthyThreshold: 2,
    healthyThreshold: 1,
    healthChecker: { case: "tcpHealthCheck" as const, value: {} }
  }
]

/** Checks fail as calls do. */
const proberOf = (world: World): Prober => ({
  open: ({ address }) =>
    Effect.succeed(() => {
      const mood = world.mood(Number(address.slice(address.lastIndexOf(":") + 1)))
      if (mood === "silent") return Effect.never
      const result: HealthCheck.Result =
        mood === "well" ? { _tag: "Success" } : { _tag: "Network", why: "it is not well" }
      return Effect.delay(Effect.succeed(result), 10)
    })
})

/** @param kind "plain": without checks */
const play = (seed: number, kind: "plain" | Profile) =>
  Effect.gen(function* () {
    const time = yield* SimulatedTime.SimulatedTime
    const network = yield* SimulatedNetwork.SimulatedNetwork
    const store = yield* SnapshotStore.SnapshotStore
    const client = yield* XdsClient.XdsClient
    const resolver = yield* Resolvers.make()
    const runFork = Runtime.runFork(yield* Effect.runtime())
    const environment: Environments.Environment = {
      ...(yield* Environments.make),
      now: time.now,
      after: (milliseconds, task) => time.schedule(milliseconds, task)
    }
    const world = new World(environment)
    const resources = yield* Resources.make(client, resolver, {
      profile: kind === "plain" ? "grpc" : kind,
      prober: proberOf(world)
    })
    const counters = new ChannelCounters()
    const driver: ChannelDriver<SimulatedConnection> = new ChannelDriver<SimulatedConnection>({
      name: "shop",
      authority: "shop",
      counters,
      rings: new RingStore(),
      environment,
      wayOf: () => "",
      connect: (address, events) => new SimulatedConnection(world, address, events),
      watch: (what, name) => {
        const fiber = runFork(
          resources.watch(what, name, {
            again: Effect.unsafeMakeLatch(false),
            cut: () => undefined,
            tell: (news) => {
              const isOfEndpoints = news._tag === (kind === "plain" ? "Assignment" : "Cluster")
              if (isOfEndpoints && news.known._tag === "Value") {
                const text = JSON.stringify(news.known.value)
                for (const port of ports) {
                  if (text.includes(`127.0.0.1:${port}"`)) world.gone.delete(port)
                  else if (!world.gone.has(port)) world.gone.set(port, time.now())
                }
              }
              driver.news(news)
            }
          })
        )
        return () => fiber.unsafeInterruptAsFork(fiber.id())
      },
      refresh: () => undefined,
      resolveAgain: () => undefined
    })
    const publish = (listed: ReadonlyArray<number>) =>
      store.set("shop", {
        ...Mesh.service("shop", ...listed),
        routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))],
        // ★ What is not listed any more is to get no calls, though its checks pass.
        clusters: [Mesh.cluster("shop", kind === "plain" ? {} : { healthChecks, ignoreHealthOnHostRemoval: true })]
      })
    yield* publish(ports)
    driver.start()

    const call = async (timeout: number, waitForReady: boolean): Promise<void> => {
      world.calls++
      const began = time.now()
      const controller = new AbortController()
      const made = new Call(
        driver,
        environment,
        { path: "/shop.Cart/Add", headers: CallHeaders.empty, waitForReady, timeout, signal: controller.signal },
        () => []
      )
      try {
        for (;;) {
          const { connection } = await made.place()
          const outcome = await connection.call(made.signal)
          if (made.ended !== undefined) throw made.ended
          const isBusy = outcome === "answered" && world.mood(connection.port) === "busy"
          if (outcome === "answered" && !isBusy) {
            made.over("Succeeded")
            world.answered++
            break
          }
          const failure = {
            code: Code.Unavailable,
            isCommitted: false,
            isUnsent: false,
            isRefused: false,
            pushback: undefined
          }
          if (!(await made.again(failure))) throw new ConnectError("failed", Code.Unavailable)
        }
      } catch (error) {
        made.over("Failed")
        if (!(error instanceof ConnectError)) world.faults.push(String(error))
      }
      const took = time.now() - began
      if (took > timeout + 1) world.faults.push(`a call with ${timeout} ms took ${took} ms`)
    }

    const going: Array<Fiber.RuntimeFiber<void>> = []
    for (let step = 0; step < seconds * 20; step++) {
      yield* Effect.sleep(50)
      const chance = yield* Random.next
      const port = 1 + (yield* Random.nextIntBetween(0, ports.length))
      const moods: ReadonlyArray<Mood> = ["well", "well", "down", "silent", "busy"]
      if (chance < 0.1) world.turn(port, moods[yield* Random.nextIntBetween(0, moods.length)] ?? "well")
      else if (chance < 0.15) {
        const listed: Array<number> = []
        for (const each of ports) if ((yield* Random.next) < 0.7) listed.push(each)
        yield* publish(listed)
      } else if (chance < 0.16) {
        yield* network.inject({ _tag: "Reset", client: "client", server: "server", delivery: "before" })
      } else if (chance < 0.17) {
        yield* network.inject({ _tag: "Partition", clients: ["client"], server: "server", for: 5_000 })
      }
      const timeout = 20 + Math.floor((yield* Random.next) ** 2 * 3_000)
      const waitForReady = (yield* Random.next) < 0.3
      going.push(yield* Effect.fork(Effect.promise(() => call(timeout, waitForReady))))
    }
    yield* Effect.sleep("4 seconds")
    // All have ended by themselves.
    const late = going.filter((fiber) => fiber.unsafePoll() === null).length
    if (late > 0) world.faults.push(`${late} calls have not ended`)
    yield* Fiber.joinAll(going.filter((fiber) => fiber.unsafePoll() !== null))
    const left = { calls: driver.calls, held: counters.held }
    driver.close()
    yield* Effect.sleep("1 second")
    return {
      faults: world.faults,
      calls: world.calls,
      answered: world.answered,
      left,
      connections: world.open.size + driver.connections
    }
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Layer.merge(
        XdsServer.layer({ group: () => "shop" }),
        XdsClient.layer({
          bootstrap: Bootstrap.make({ servers: ["server"], node: { id: "app" } }),
          protocol: "Incremental"
        })
      ).pipe(
        Layer.provideMerge(
          Layer.merge(SnapshotStore.layerMemory({ validate: "off" }), SimulatedNetwork.layer({ seed }))
        ),
        Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
      )
    ),
    SimulatedTime.run({ seed })
  )

const first = Number(process.env["XDS_SEED"] ?? "1")
const runs = Number(process.env["XDS_RUNS"] ?? "3")

describe("calls in simulated time", () => {
  const kinds = ["plain", "grpc", "envoy"] as const
  for (const [seed, kind] of Array.from({ length: runs }, (_, n) =>
    kinds.map((each) => [first + n, each] as const)
  ).flat()) {
    it.live(`${kind}: end by their deadlines, and none goes to who was taken away (seed ${seed})`, () =>
      Effect.gen(function* () {
        const { answered, calls, connections, faults, left } = yield* play(seed, kind)
        expect(faults).toEqual([])
        expect(left).toEqual({ calls: 0, held: 0 })
        expect(connections).toBe(0)
        expect(calls).toBe(seconds * 20)
        expect(answered).toBeGreaterThan(calls / 4)
      })
    )
  }
})
