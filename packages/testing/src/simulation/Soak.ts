/**
 * Soak test: random scenarios, run with as many seeds as there is time for.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Arbitraries from "./Arbitraries.js"
import type { ClientPlan } from "./Simulation.js"
import type { RandomPlan } from "./SimulationCheck.js"
import * as SimulationCheck from "./SimulationCheck.js"

/** One client of each variant. */
const clients: ReadonlyArray<ClientPlan> = [
  { name: "sotw" },
  { name: "delta", protocol: "Incremental" },
  { name: "sotw-separate", aggregated: false },
  { name: "delta-separate", protocol: "Incremental", aggregated: false, failOnDataErrors: false }
]
const names = clients.map(({ name }) => name)
const aggregated = clients.filter((client) => client.aggregated !== false)
const incremental = clients.filter((client) => client.protocol === "Incremental")

/**
 * All protocol variants, random watches and changes, and every kind of fault.
 *
 * @since 0.1.0
 */
export const scenarios: Readonly<Record<string, RandomPlan>> = {
  "one server": {
    servers: [{ name: "xds" }],
    clients,
    script: Arbitraries.simulationScript({ clients: names }),
    faults: Arbitraries.faults({ clients: names, servers: ["xds"] })
  },
  "two servers, of which clients use the second when the first is gone": {
    servers: [{ name: "one" }, { name: "two" }],
    clients: clients.map((client) => ({ ...client, servers: ["one", "two"] })),
    // No wildcard watches: their resources from the other server may be removed without notice.
    script: Arbitraries.simulationScript({ clients: names, wildcard: false }),
    faults: Arbitraries.faults({ clients: names, servers: ["one", "two"], maxLength: 12 })
  },
  "two groups, which are cleared and set again": {
    servers: [{ name: "xds" }],
    clients: clients.map((client, index) => ({ ...client, group: index % 2 === 0 ? "even" : "odd" })),
    script: Arbitraries.simulationScript({ clients: names, groups: ["even", "odd"], clear: true }),
    faults: Arbitraries.faults({ clients: names, servers: ["xds"] })
  },
  "three groups, of which clients are moved from one to another": {
    servers: [{ name: "xds" }],
    clients: clients.map((client) => ({ ...client, group: "one" })),
    script: Arbitraries.simulationScript({ clients: names, groups: ["one", "two", "three"], move: true }),
    faults: Arbitraries.faults({ clients: names, servers: ["xds"] })
  },
  "clusters and routes that replace others": {
    servers: [{ name: "xds" }],
    clients: aggregated,
    script: Arbitraries.replacementScript({ clients: aggregated.map(({ name }) => name) }),
    faults: Arbitraries.faults({ clients: aggregated.map(({ name }) => name), servers: ["xds"], maxLength: 4 })
  },
  "clients that die and come back": {
    servers: [{ name: "xds" }],
    clients,
    script: Arbitraries.simulationScript({ clients: names, maxLength: 40 }),
    faults: Arbitraries.faults({ clients: names, servers: ["xds"], clientCrashes: true, maxLength: 12 })
  },
  "virtual hosts that are renamed, on demand and with TTLs": {
    servers: [{ name: "xds", options: { ttl: "always" } }],
    clients: incremental,
    script: Arbitraries.hostScript({ clients: incremental.map(({ name }) => name) }),
    faults: Arbitraries.faults({
      clients: incremental.map(({ name }) => name),
      servers: ["xds"],
      clientCrashes: true,
      maxLength: 6
    })
  },
  "glob collections": {
    servers: [{ name: "xds", options: { ttl: "always" } }],
    clients: incremental,
    script: Arbitraries.collectionScript({ clients: incremental.map(({ name }) => name), ttl: true }),
    faults: Arbitraries.faults({
      clients: incremental.map(({ name }) => name),
      servers: ["xds"],
      clientCrashes: true,
      maxLength: 6
    })
  }
}

/**
 * The progress of a soak.
 *
 * @since 0.1.0
 */
export interface Progress {
  /** The next seed, to continue from. */
  readonly seed: number
  readonly runs: number
  /** Number of protocol messages sent and received. */
  readonly messages: number
  /** Milliseconds of simulated time. */
  readonly simulated: number
}

/**
 * Runs every scenario with one seed after another until there were enough messages, or a problem.
 *
 * @returns the report of a problem; `undefined` if there is none
 * @since 0.1.0
 */
export const run = async (options: {
  /** The first seed. */
  readonly seed: number
  /** Number of protocol messages to reach. */
  readonly messages: number
  /** Called after each seed. */
  readonly onProgress: (progress: Progress) => void
}): Promise<string | undefined> => {
  let progress: Progress = { seed: options.seed, runs: 0, messages: 0, simulated: 0 }
  while (progress.messages < options.messages) {
    for (const [name, plan] of Object.entries(scenarios)) {
      const checked = SimulationCheck.check(name, SimulationCheck.draw(plan, progress.seed))
      const result = await Effect.runPromise(Effect.either(checked))
      if (Either.isLeft(result)) return result.left.report
      progress = {
        ...progress,
        runs: progress.runs + 1,
        messages: progress.messages + result.right.messages,
        simulated: progress.simulated + result.right.duration
      }
    }
    progress = { ...progress, seed: progress.seed + 1 }
    options.onProgress(progress)
  }
  return undefined
}
