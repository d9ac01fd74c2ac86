/** Many signs of change become one look, once they have come to rest. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

export interface ChangeSignal {
  readonly signal: () => void
  /**
   * Waits for a sign, then until none has come for `settle` milliseconds: a program that writes a file or a directory
   * piece by piece is not read in the middle. After `maxSettle` it waits no longer.
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
