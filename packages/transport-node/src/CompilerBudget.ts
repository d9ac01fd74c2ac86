/**
 * How much a function has to run until V8 optimizes it. Clients that come to a server that has just started are served by code that
 * is new to V8: it optimizes so much of it at once that this is a quarter of the CPU time, and little of that pays while they come.
 * So V8 waits longer for a minute. This puts work off, and saves none.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Engine from "./Engine.js"

interface Budget {
  readonly flag: string
  /** V8's own, which cannot be asked for. */
  readonly initial: number
  readonly raised: number
}

/**
 * By the version of V8, major and minor: its flags and their defaults change. Only where it was measured, and pays: on Node 24 and
 * 26, which have a quicker compiler before that one, it does not. docs/performance.md has the figures.
 */
const budgets: ReadonlyMap<string, Budget> = new Map([
  // Node 20: bytes of bytecode.
  ["11.3", { flag: "--interrupt-budget", initial: 67_584, raised: 500_000 }],
  // Node 22: calls.
  ["12.4", { flag: "--invocation-count-for-turbofan", initial: 3_000, raised: 10_000 }]
])

/** Later the clients of a server that was started anew are there, and what still runs is worth optimizing. */
const lasting = "1 minute"

/**
 * Raises the budget for a minute, or until the scope ends. Who gave Node the flag keeps their value.
 *
 * @since 0.1.0
 */
export const raise = (engine: Engine.Engine): Effect.Effect<void, never, Scope.Scope> => {
  const budget = budgets.get(Engine.versionOf(engine))
  if (budget === undefined || Engine.wasGiven(engine, [budget.flag])) return Effect.void
  const set = (value: number) => Effect.sync(() => engine.setFlags(`${budget.flag}=${value}`))
  return Effect.acquireUseRelease(
    set(budget.raised),
    () => Effect.sleep(lasting),
    () => set(budget.initial)
  ).pipe(Effect.forkScoped, Effect.asVoid)
}

/**
 * {@link raise} for a server of your own: `effect-xds serve` does so by itself. It is about the whole process.
 *
 * @example
 * ```ts
 * import { XdsServer } from "@effect-xds/server"
 * import { CompilerBudget } from "@effect-xds/transport-node"
 * import { Layer } from "effect"
 *
 * export const server = XdsServer.layer({ group: (node) => node.cluster }).pipe(Layer.merge(CompilerBudget.layer))
 * ```
 *
 * @since 0.1.0
 */
export const layer: Layer.Layer<never> = Layer.scopedDiscard(Effect.suspend(() => raise(Engine.ofProcess)))
