import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, TestClock } from "effect"
import * as ChangeSignal from "../src/internal/ChangeSignal.js"

const quietPeriod = 50
const maxDelay = 1_000

/** How many milliseconds go by until it is read, if there is a sign every so many. */
const timeUntilSettled = (interval: number, signs: number) =>
  Effect.gen(function* () {
    const change = ChangeSignal.make(quietPeriod, maxDelay)
    const settled = yield* Effect.fork(change.quiet)
    let time = 0
    for (let sign = 0; sign < signs && (yield* Fiber.poll(settled))._tag === "None"; sign++) {
      change.signal()
      yield* TestClock.adjust(interval)
      time += interval
    }
    while ((yield* Fiber.poll(settled))._tag === "None") {
      yield* TestClock.adjust(10)
      time += 10
    }
    return time
  })

describe("signs of change", () => {
  it.effect("become one look, when none came for a while", () =>
    Effect.gen(function* () {
      // The last of five comes after 160 ms.
      expect(yield* timeUntilSettled(40, 5)).toBeGreaterThanOrEqual(160 + quietPeriod)
    })
  )

  it.effect("without end are looked at nevertheless, after a time", () =>
    Effect.gen(function* () {
      const time = yield* timeUntilSettled(40, 1_000)
      expect(time).toBeGreaterThanOrEqual(maxDelay)
      expect(time).toBeLessThanOrEqual(maxDelay + 2 * quietPeriod)
    })
  )
})
