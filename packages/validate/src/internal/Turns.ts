/** Turns of the event loop for long work, by what is done and not by the clock, which a test may hold. */
import * as Effect from "effect/Effect"

/** Messages, or resources that are compared, of one turn: some milliseconds. */
const perTurn = 2000

/** Counts what is done, so that others come between. */
export class Pace {
  private done = 0

  isTurnOver(count: number): boolean {
    this.done += count
    if (this.done < perTurn) return false
    this.done = 0
    return true
  }
}

/** Waits for one turn. */
export const breathe = Effect.async<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 0)
  return Effect.sync(() => clearTimeout(timer))
})

/**
 * The result of work in steps.
 *
 * @param perStep what is done in one of them
 */
export const toEnd = <A>(work: Generator<undefined, A>, pace: Pace, perStep: number): Effect.Effect<A> =>
  Effect.gen(function* () {
    for (;;) {
      const next = work.next()
      if (next.done === true) return next.value
      if (pace.isTurnOver(perStep)) yield* breathe
    }
  })
