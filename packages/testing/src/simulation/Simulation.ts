/**
 * Whole simulations in one process and from one seed: servers, clients, their actions, and faults. The servers are real
 * `XdsServer`s and the clients real `XdsClient`s; only time and the network are simulated.
 *
 * A run ends when its script, faults and body are done and nothing has happened for a while. Then the invariants of the trace
 * are checked, everything is closed, and nothing may be left.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as LogLevel from "effect/LogLevel"
import * as Logger from "effect/Logger"
import * as SimulatedClients from "../internal/SimulatedClients.js"
import * as SimulatedServers from "../internal/SimulatedServers.js"
import { Surroundings } from "../internal/Surroundings.js"
import type { Trace } from "../invariants/Trace.js"
import * as Traces from "../invariants/Trace.js"
import { keyOf } from "../invariants/trace/TraceInvariant.js"
import * as TraceInvariants from "../invariants/TraceInvariants.js"
import type { Fault } from "../network/Fault.js"
import * as Faults from "../network/Fault.js"
import * as SimulatedNetwork from "../network/SimulatedNetwork.js"
import * as Directory from "./Directory.js"
import type { Limits, Plan, World } from "./Plan.js"
import { check, defaultLimits } from "./Plan.js"
import type { Run } from "./Run.js"
import { SimulationError, tail } from "./Run.js"
import type { Action } from "./Script.js"
import * as SimulatedTime from "./SimulatedTime.js"

/** Runs a plan. `onNetwork` gets the trace early, for the last events of an aborted run. */
const simulate = (plan: Plan, limits: Limits, onNetwork: (trace: () => Trace) => void) =>
  Effect.gen(function* () {
    const seed = plan.seed ?? 0
    const time = yield* SimulatedTime.SimulatedTime
    const network = yield* SimulatedNetwork.make({ ...plan.network, seed, maxEvents: limits.events })
    onNetwork(network.trace)
    const record = network.record
    const surroundings = new Surroundings(plan, time, network)
    const isMoving = plan.script?.some(({ _tag }) => _tag === "Move") === true
    const directory = yield* Directory.make(plan.clients.map((own) => [own.name, own.group ?? "group"]))
    const servers = yield* SimulatedServers.make(surroundings, directory, isMoving)
    const clients = yield* SimulatedClients.make(surroundings)
    const closeAll = Effect.zipRight(clients.stopAll, servers.stopAll)
    // A run that is given up closes them, too.
    yield* Effect.addFinalizer(() => closeAll)

    const perform = (action: Action): Effect.Effect<void> =>
      Effect.suspend(() => {
        switch (action._tag) {
          case "Watch":
            return clients.watch(action)
          case "Unwatch":
            return clients.unwatch(action)
          case "Publish":
            return servers.publish(action)
          case "Move":
            if (!isMoving) throw new Error("no client is moved in a simulation whose script moves none")
            return directory.move(action.client, action.group)
          case "Clear":
            return servers.clear(action.group)
        }
      })

    const inject = (fault: Fault): Effect.Effect<void> =>
      Effect.suspend(() => {
        record({ _tag: "Fault", fault: { at: time.now(), ...fault } })
        switch (fault._tag) {
          case "Crash":
            return servers.crash(fault)
          case "ClientCrash":
            return clients.crash(fault)
          case "ClockJump": {
            const isClient = plan.clients.some(({ name }) => name === fault.host)
            const { clock } = isClient ? clients.get(fault.host) : servers.get(fault.host)
            return Effect.sync(() => clock.jump(fault.by))
          }
          case "Slow":
          case "Reset":
          case "HalfOpen":
          case "SlowReader":
          case "Partition":
            return Effect.zipRight(network.inject(fault), Effect.sleep(Faults.duration(fault)))
        }
      })

    const quiet = Effect.gen(function* () {
      const began = time.now()
      for (;;) {
        // Streams that were quiet may continue after a fault.
        const idle = time.now() - Math.max(began, network.lastActivity())
        if (idle >= limits.quiet) return
        if (time.now() - began > limits.maxToQuiet) {
          const detail = `messages still go on ${limits.maxToQuiet / 1000} s after everything was over`
          return yield* new SimulationError({ reason: "NeverQuiet", seed, detail, lastEvents: tail(network.trace()) })
        }
        yield* Effect.sleep(limits.quiet - idle)
      }
    })

    const world: World = {
      client: (name) => clients.get(name).service,
      server: (name) => {
        const { service } = servers.get(name)
        if (service === undefined) throw new Error(`the server ${name} was never started`)
        return service
      },
      store: (server) => servers.get(server).store,
      watchState: (client, typeUrl, name) => clients.get(client).states.get(keyOf(typeUrl, name)),
      perform,
      inject,
      quiet,
      until: (condition) => SimulatedTime.until(condition),
      note: (text) => Effect.sync(() => record({ _tag: "Note", text })),
      trace: network.trace
    }

    const timed = <A extends { readonly at: number }>(
      items: ReadonlyArray<A>,
      act: (item: A) => Effect.Effect<void>
    ): Effect.Effect<void> =>
      Effect.forEach(items, (item) => Effect.delay(act(item), Duration.millis(item.at)), {
        concurrency: "unbounded",
        discard: true
      })
    const inOrder = (plan.script ?? []).toSorted((one, other) => one.at - other.at)
    const script = Effect.forEach(
      inOrder,
      (step) =>
        Effect.zipRight(
          Effect.suspend(() => Effect.sleep(Math.max(0, step.at - time.now()))),
          perform(step)
        ),
      { discard: true }
    )
    const body =
      plan.body === undefined
        ? Effect.void
        : Effect.exit(Effect.scoped(Effect.suspend(() => plan.body?.(world) ?? Effect.void))).pipe(
            Effect.map((exit) => {
              if (Exit.isFailure(exit)) surroundings.failed("body", "the body does not fail", exit.cause)
            })
          )
    yield* Effect.all([script, timed(plan.faults ?? [], inject), body], { concurrency: "unbounded", discard: true })
    yield* quiet
    if (network.unrecorded() > 0) {
      const detail = `more than ${limits.events} events; shorten the script or raise limits.events`
      return yield* new SimulationError({ reason: "TooManyEvents", seed, detail, lastEvents: tail(network.trace()) })
    }
    const trace = network.trace().slice()
    const duration = time.now()
    const messages = network.messages()

    // Everything that is left after closing is a leak.
    yield* closeAll
    yield* Effect.sleep(60_000)
    const { problems } = surroundings
    const left = { streams: network.openStreams(), timers: time.timers(), fibers: time.fibers() }
    if (left.streams + left.timers + left.fibers > 0) {
      problems.push({
        rule: "nothingLeft",
        sentence: "no fibers, timers or streams are left when all is closed",
        problem: `${left.streams} streams, ${left.timers} timers and ${left.fibers} fibers are left`
      })
    }
    for (const [rule, { check, sentence }] of Object.entries(plan.invariants ?? TraceInvariants.all)) {
      for (const problem of check(trace)) problems.push({ rule, sentence, problem })
    }
    return { seed, trace, hash: Traces.hash(trace), verdict: problems, messages, duration } satisfies Run
  }).pipe(Effect.scoped)

/**
 * Runs a simulation. Fails with {@link SimulationError} if it does not end; other problems are in the verdict.
 *
 * @example
 * import { Simulation, Trace } from "@effect-xds/testing"
 * import { Effect } from "effect"
 *
 * const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
 *
 * const program = Effect.gen(function* () {
 *   const { trace, verdict } = yield* Simulation.run({
 *     servers: [{ name: "xds" }],
 *     clients: [{ name: "app" }],
 *     script: [
 *       { at: 0, _tag: "Watch", client: "app", typeUrl, name: "web" },
 *       { at: 100, _tag: "Publish", group: "group", upsert: [{ typeUrl, name: "web", content: 1 }], remove: [] }
 *     ],
 *     faults: [{ at: 105, _tag: "Reset", client: "app", server: "xds", delivery: "before" }]
 *   })
 *   console.log(Trace.render(trace), verdict)
 * })
 *
 * @since 0.1.0
 */
export const run = (plan: Plan): Effect.Effect<Run, SimulationError> =>
  Effect.suspend(() => {
    const limits = { ...defaultLimits, ...plan.limits }
    const wrong = check(plan, limits)
    if (wrong !== undefined) return wrong
    const seed = plan.seed ?? 0
    let trace: () => Trace = () => []
    const simulation = simulate(plan, limits, (of) => {
      trace = of
    })
    return SimulatedServers.loadTypes.pipe(
      Effect.zipRight(SimulatedClients.loadModules),
      Effect.zipRight(SimulatedTime.run({ seed, limits })(simulation)),
      Effect.catchTag("SimulationAborted", (error) =>
        Effect.fail(
          new SimulationError({ reason: error.reason, seed, detail: error.message, lastEvents: tail(trace()) })
        )
      ),
      Logger.withMinimumLogLevel(plan.logLevel ?? LogLevel.None)
    )
  })

export {
  defaultLimits,
  type ClientPlan,
  type Limits,
  type Plan,
  type ServerPlan,
  type World,
  type WatchState
} from "./Plan.js"
export { SimulationError, formatVerdict, type Problem, type Run } from "./Run.js"
