/** Debounces changes: many signals become one check. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface ChangeSignal {
  readonly signal: () => void
  /**
   * Waits for a signal, then until there was none for `quietPeriod` milliseconds, so that a program that writes piece by
   * piece is not read halfway. It waits at most `maxDelay` milliseconds.
   */
  readonly quiet: Effect.Effect<void>
}

export const make = (quietPeriod: number, maxDelay: number): ChangeSignal => {
  const latch = Effect.unsafeMakeLatch(false)
  let count = 0
  return {
    signal: () => {
      count++
      latch.unsafeOpen()
    },
    quiet: Effect.gen(function* () {
      yield* latch.await
      const start = yield* Clock.currentTimeMillis
      for (;;) {
        const seen = count
        yield* Effect.sleep(quietPeriod)
        if (count === seen || (yield* Clock.currentTimeMillis) - start >= maxDelay) break
      }
      latch.unsafeClose()
    })
  }
}
