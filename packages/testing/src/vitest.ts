/**
 * Simulations as tests: `it.sim` runs one with many seeds, makes a failing one as small as it can, and shows what
 * happened. The promises of a store as tests: `describeStore`. The only module of this package that needs vitest.
 *
 * `XDS_SIM_SEED=<number>` runs one seed again, `XDS_SIM_SEED=random` begins anywhere, and `XDS_SIM_RUNS=<number>` runs
 * more or fewer.
 *
 * @since 0.1.0
 */
import * as base from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type { Plan } from "./simulation/Simulation.js"
import type { RandomPlan } from "./simulation/SimulationCheck.js"
import * as StoreConformance from "./store/StoreConformance.js"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type * as Scope from "effect/Scope"
import * as SimulationCheck from "./simulation/SimulationCheck.js"

/**
 * A plan of which parts may be drawn at random, and how often it is run.
 *
 * @since 0.1.0
 */
export interface SimOptions extends Omit<RandomPlan, "body"> {
  /** Seeds that are run. Default: 20. */
  readonly runs?: number | undefined
  /** The first of them; the others follow. Default: 1. */
  readonly seed?: number | undefined
  /** Seeds that failed once, by what was wrong; each is a test of its own. */
  readonly regressions?: Readonly<Record<string, number>> | undefined
  /** Runs that may be spent on making a failing one smaller. Default: 200. */
  readonly maxShrinks?: number | undefined
  /** Real milliseconds for a test. Default: 60 000. */
  readonly timeout?: number | undefined
}

/**
 * Defines a test, and one for each regression.
 *
 * @since 0.1.0
 */
export type Sim = (name: string, options: SimOptions, body?: Plan["body"]) => void

const seedsOf = (options: SimOptions): ReadonlyArray<number> => {
  const given = process.env["XDS_SIM_SEED"]
  if (given !== undefined && given !== "random") return [Number(given)]
  const first = given === "random" ? Math.floor(Math.random() * 2 ** 31) : (options.seed ?? 1)
  const runs = Number(process.env["XDS_SIM_RUNS"] ?? options.runs ?? 20)
  return Array.from({ length: runs }, (_, index) => first + index)
}

/**
 * The test function of a simulation.
 *
 * @since 0.1.0
 */
export const sim: Sim = (name, options, body) => {
  const { maxShrinks, timeout = 60_000 } = options
  const check = (seed: number) =>
    SimulationCheck.check(name, SimulationCheck.draw({ ...options, body }, seed), { maxShrinks })
  const seeds = seedsOf(options)
  const title = seeds.length === 1 ? `${name} (seed ${seeds[0]})` : `${name} (seeds ${seeds[0]} to ${seeds.at(-1)})`
  base.it.live(title, () => Effect.forEach(seeds, check, { discard: true }), timeout)
  for (const [what, seed] of Object.entries(options.regressions ?? {})) {
    base.it.live(`${name}: ${what} (seed ${seed})`, () => check(seed), timeout)
  }
}

/**
 * `it` of `@effect/vitest`, and `it.sim`.
 *
 * @since 0.1.0
 */
export const it: typeof base.it & { readonly sim: Sim } = Object.assign(base.it, { sim })

/** A listener that throws is logged, and meant to be. */
const silent = Logger.replace(Logger.defaultLogger, Logger.none)

/**
 * The promises of a store, each as a test. Each test makes two stores that hold nothing.
 *
 * @example
 * import { SnapshotStore } from "@effect-xds/server"
 * import { describeStore } from "@effect-xds/testing/vitest"
 *
 * describeStore("a store in memory", SnapshotStore.makeMemory())
 *
 * @since 0.1.0
 */
export const describeStore = <E>(
  name: string,
  make: Effect.Effect<SnapshotStore.Store, E, Scope.Scope>,
  options: {
    /** Real milliseconds for a test. Default: 60 000. */
    readonly timeout?: number | undefined
  } = {}
): void => {
  base.describe(name, () => {
    for (const { promise, run } of StoreConformance.checks) {
      const test = Effect.scoped(Effect.flatMap(Effect.all([make, make]), ([store, another]) => run(store, another)))
      base.it.live(promise, () => Effect.provide(test, silent), options.timeout ?? 60_000)
    }
  })
}
