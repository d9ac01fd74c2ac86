/** What a channel needs of the world beside connections: time and chance. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"

export interface Environment {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Does something after so many milliseconds. The result takes it back. */
  readonly after: (milliseconds: number, task: () => void) => () => void
  /** In [0, 1). */
  readonly random: () => number
}

/** The longest time of Node's timers, in milliseconds: 24 days. One that is longer fires at once. */
export const longest = 2_147_483_647

const node = (milliseconds: number, task: () => void): (() => void) => {
  const timer = setTimeout(task, Math.min(milliseconds, longest))
  return () => clearTimeout(timer)
}

/** Random numbers from a seed (mulberry32): an effect for each would cost more than the call that draws it. */
const numbers = (seed: number): (() => number) => {
  let state = Math.floor(seed * 4_294_967_296)
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Time is that of Effect's clock. With the clock of the machine timers are Node's: a fiber for each call costs more. */
export const make: Effect.Effect<Environment> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const runtime = yield* Effect.runtime()
  const isOfMachine = clock === Context.get(DefaultServices.liveServices, Clock.Clock)
  return {
    now: () => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n),
    after: isOfMachine
      ? node
      : (milliseconds, task) => {
          const fiber = Runtime.runFork(runtime)(Effect.delay(Effect.sync(task), milliseconds))
          return () => fiber.unsafeInterruptAsFork(fiber.id())
        },
    random: numbers(yield* Random.next)
  }
})
