/**
 * Effect's runtime lets other fibers run, and interrupts, after each 2048 steps of a fiber: between any two steps of a
 * program, then. A test does what it is about once for each of {@link places}.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Runtime from "effect/Runtime"

/** Steps after which the runtime lets others run. */
const most = 2_048

/**
 * Places for {@link fork}: more than most effects take steps before they wait for something.
 *
 * @since 0.1.0
 */
export const places: ReadonlyArray<number> = Array.from({ length: 100 }, (_, index) => index)

/**
 * Takes so many steps that the runtime lets others run when about `place` more are taken: for what {@link fork} begins, but
 * not in its first turn.
 *
 * @since 0.1.0
 */
export const before = (place: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    let left = most - place
    return Effect.whileLoop({ while: () => left-- > 0, body: () => Effect.void, step: () => undefined })
  })

/**
 * Begins an effect in this very step. It runs until it waits for something, and lets others run when about `place` steps
 * of it are taken. `undefined`: it lets nobody run.
 *
 * @example
 * import { AutoYield } from "@effect-xds/testing"
 * import { Effect, Fiber } from "effect"
 *
 * const test = Effect.gen(function* () {
 *   let held = 0
 *   const work = Effect.acquireUseRelease(
 *     Effect.sync(() => held++),
 *     () => Effect.never,
 *     () => Effect.sync(() => held--)
 *   )
 *   for (const place of AutoYield.places) {
 *     yield* Fiber.interrupt(yield* AutoYield.fork(work, place))
 *     console.log(place, held)
 *   }
 * })
 *
 * @since 0.1.0
 */
export const fork = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  place?: number
): Effect.Effect<Fiber.RuntimeFiber<A, E>, never, R> =>
  Effect.map(Effect.runtime<R>(), (runtime) =>
    Runtime.runFork(runtime)(place === undefined ? effect : Effect.zipRight(before(place), effect))
  )
