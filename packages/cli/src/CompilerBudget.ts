/**
 * Compiler budget: how much a function runs until V8 optimizes it.
 *
 * After a restart all clients come at once, to a process that has compiled nothing yet. V8 then optimizes hundreds of functions in a
 * second. Of a thousand new streams that is a quarter of all CPU time, and pays off later. So in the first minute functions have to run
 * several times as much. V8 with Maglev, as in Node 24 and later, compiles in between and gains too little from it.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { setFlagsFromString } from "node:v8"

/** A flag of V8, what it has by default, and for the first minute. */
interface Budget {
  readonly flag: string
  readonly usual: number
  readonly raised: number
}

/** By the major and minor version of V8; the figures are those of `node --v8-options`. Others are left alone. */
const budgets: ReadonlyMap<string, Budget> = new Map([
  // Node 20: bytes of bytecode.
  ["11.3", { flag: "--interrupt-budget", usual: 66 * 1024, raised: 500_000 }],
  // Node 22: calls.
  ["12.4", { flag: "--invocation-count-for-turbofan", usual: 3_000, raised: 12_000 }]
])

/**
 * For how long the budget is raised.
 *
 * @since 0.1.0
 */
export const time = Duration.minutes(1)

/**
 * What the budget belongs to: the version of V8, the arguments that Node was started with, and how a flag is set.
 *
 * @since 0.1.0
 */
export interface Engine {
  readonly v8: string
  readonly arguments: ReadonlyArray<string>
  readonly set: (flag: string) => void
}

const ofProcess: Engine = {
  v8: process.versions.v8,
  arguments: process.execArgv,
  set: setFlagsFromString
}

const budgetOf = ({ arguments: given, v8 }: Engine): Budget | undefined => {
  const budget = budgets.get(v8.split(".", 2).join("."))
  // Who sets it knows what they want. V8 takes `_` for `-`.
  const isGiven = given.some((each) => budget !== undefined && each.replaceAll("_", "-").startsWith(budget.flag))
  return isGiven ? undefined : budget
}

/**
 * Raises the budget until {@link time} is over, at most until the end of the scope.
 *
 * @since 0.1.0
 */
export const raise = (engine: Engine = ofProcess): Effect.Effect<void, never, Scope.Scope> => {
  const budget = budgetOf(engine)
  if (budget === undefined) return Effect.void
  const set = (value: number) => Effect.sync(() => engine.set(`${budget.flag}=${value}`))
  return Effect.acquireRelease(set(budget.raised), () => set(budget.usual)).pipe(
    Effect.zipRight(Effect.forkScoped(Effect.delay(set(budget.usual), time))),
    Effect.asVoid
  )
}
