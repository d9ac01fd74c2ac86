/** Debounces changes: many signals become one check. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface ChangeSignal {
  readonly signal: () => void
  /**
   * Waits for a signal, then until there was none for `settle` milliseconds, so that a program that writes piece by
   * piece is not read halfway. It waits at most `maxSettle` milliseconds.
   */
  readonly settled: Effect.Effect<void>
}

export const make = (settle: number, maxSettle: number): ChangeSignal => {
  const latch = Effect.unsafeMakeLatch(false)
  let count = 0
  return {
    signal: () => {
      count++
      latch.unsafeOpen()
    },
    settled: Effect.gen(function* () {
      yield* latch.await
      const start = yield* Clock.currentTimeMillis
      for (;;) {
        const seen = count
        yield* Effect.sleep(settle)
        if (count === seen || (yield* Clock.currentTimeMillis) - start >= maxSettle) break
      }
      latch.unsafeClose()
    })
  }
}
