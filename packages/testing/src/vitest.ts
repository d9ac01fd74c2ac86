/**
 * Simulations as tests: `it.sim` runs one with many seeds, shrinks a failing one, and shows its trace. Store conformance as
 * tests: `describeStore`. The only module of this package that needs vitest.
 *
 * `XDS_SIM_SEED=<number>` runs one seed, `XDS_SIM_SEED=random` starts at a random seed, `XDS_SIM_RUNS=<number>` sets the number
 * of runs.
 *
 * @since 0.1.0
 */
import * as base from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type * as Scope from "effect/Scope"
import type { Plan } from "./simulation/Simulation.js"
import type { RandomPlan } from "./simulation/SimulationCheck.js"
import * as SimulationCheck from "./simulation/SimulationCheck.js"
import * as StoreConformance from "./store/StoreConformance.js"

/**
 * A plan, some parts of which may be random, and its number of runs.
 *
 * @since 0.1.0
 */
export interface SimOptions extends Omit<RandomPlan, "body"> {
  /** Number of seeds. Default: 20. */
  readonly runs?: number | undefined
  /** The first seed; the others follow it. Default: 1. */
  readonly seed?: number | undefined
  /** Fault → a seed that once failed with it. Each is a test of its own. */
  readonly regressions?: Readonly<Record<string, number>> | undefined
  /** Most runs for shrinking. Default: 200. */
  readonly maxShrinks?: number | undefined
  /** Limit for a test in real milliseconds. Default: 60 000. */
  readonly timeout?: number | undefined
}

/**
 * Defines a test, and one more for each regression.
 *
 * @since 0.1.0
 */
export type Sim = (name: string, options: SimOptions, body?: Plan["body"]) => void

/** A whole number in the environment; an empty text is none. Throws at anything else: nothing would run, and pass. */
const numberIn = (variable: string, least: number): number | undefined => {
  const given = process.env[variable]?.trim() ?? ""
  if (given === "") return undefined
  const number = Number(given)
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`${variable} is ${JSON.stringify(given)}: give a whole number from ${least} on, or leave it out`)
}

const seedsOf = (options: SimOptions): ReadonlyArray<number> => {
  const isRandom = process.env["XDS_SIM_SEED"] === "random"
  const given = isRandom ? undefined : numberIn("XDS_SIM_SEED", 0)
  if (given !== undefined) return [given]
  const first = isRandom ? Math.floor(Math.random() * 2 ** 31) : (options.seed ?? 1)
  const runs = numberIn("XDS_SIM_RUNS", 1) ?? options.runs ?? 20
  return Array.from({ length: runs }, (_, index) => first + index)
}

/**
 * The test function for simulations.
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
 * `it` of `@effect/vitest` with `it.sim`.
 *
 * @since 0.1.0
 */
export const it: typeof base.it & { readonly sim: Sim } = Object.assign(base.it, { sim })

/** A check lets a listener throw, which is logged. */
const silent = Logger.replace(Logger.defaultLogger, Logger.none)

/**
 * Store conformance: defines a test for each promise of a store. Each test makes two empty stores.
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
    /** Limit for a test in real milliseconds. Default: 60 000. */
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
