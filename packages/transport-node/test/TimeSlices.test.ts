import type { Parts } from "@effect-xds/transport-node/TimeSlices"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect, Fiber } from "effect"

/** Takes the event loop for so long, in milliseconds. */
const busy = (milliseconds: number): void => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

const longerThanATurn = 5

describe("a turn of the event loop", () => {
  it("begins with the first question, unless something before it took time", () => {
    const unaware = new TimeSlices.TimeSlices()
    busy(longerThanATurn)
    expect(unaware.isOver()).toBe(false)

    const aware = new TimeSlices.TimeSlices()
    aware.begin()
    busy(longerThanATurn)
    // Whoever says it again begins nothing anew.
    aware.begin()
    expect(aware.isOver()).toBe(true)
  })

  it("is longer for what is short, and ends for it, too", () => {
    let now = 0
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now)
    try {
      const turns = new TimeSlices.TimeSlices()
      const questions = [0, 3, 4, 9, 10].map((at) => {
        now = at
        return [at, turns.isOver(), turns.isLate()]
      })
      expect(questions).toEqual([
        [0, false, false],
        [3, false, false],
        [4, true, false],
        [9, true, false],
        [10, true, true]
      ])
      const late = new TimeSlices.TimeSlices()
      // The first question begins a turn.
      expect([late.isLate(), late.isOver()]).toEqual([false, false])
    } finally {
      clock.mockRestore()
    }
  })

  it.effect("that is over: what is to be read waits for another, and then goes on", () =>
    Effect.gen(function* () {
      const later: Array<() => void> = []
      let over = true
      const turns: Pick<TimeSlices.TimeSlices, "isOver" | "later"> = {
        isOver: () => over,
        later: (work) => void later.push(work)
      }
      let parts = 0
      const work = function* (): Parts<string> {
        parts++
        yield
        return "done"
      }
      const effects = yield* Effect.fork(TimeSlices.inSlices(turns, work()))
      yield* Effect.yieldNow()
      const promised = TimeSlices.promise(turns, work())
      expect(parts).toBe(0)
      over = false
      for (const goOn of later) goOn()
      expect(yield* Fiber.join(effects)).toBe("done")
      expect(yield* Effect.promise(() => promised)).toBe("done")
      expect(parts).toBe(2)
    })
  )
})
