import type * as EventLoop from "@effect-xds/transport/EventLoop"
import { describe, expect, it } from "@effect/vitest"
import * as UnhurriedLoop from "../src/internal/UnhurriedLoop.js"

/** An event loop by hand: `turn` takes that many milliseconds of others. */
const byHand = () => {
  let now = 0
  let waiting: Array<{ readonly work: () => void }> = []
  const loop: EventLoop.Service = {
    soon: (work) => work(),
    later: (work) => {
      const item = { work }
      waiting.push(item)
      return () => void (waiting = waiting.filter((each) => each !== item))
    },
    elapsed: () => now
  }
  const turn = (milliseconds: number): void => {
    now += milliseconds
    const due = waiting
    waiting = []
    for (const { work } of due) work()
  }
  return { loop, turn, waits: () => waiting.length }
}

/** The turns until the work is done. */
const turnsUntilDone = (milliseconds: ReadonlyArray<number>, isAwaited: () => boolean = () => false) => {
  const { loop, turn, waits } = byHand()
  let done = 0
  UnhurriedLoop.make(loop, isAwaited).later(() => {
    done++
  })
  let turns = 0
  for (const each of milliseconds) {
    if (done > 0) break
    turn(each)
    turns++
  }
  expect([done, waits()]).toEqual([1, 0])
  return turns
}

describe("★ a client does not wait for warnings: work that nobody waits for", () => {
  it("comes after a turn in which others had little to do", () => {
    expect(turnsUntilDone([0.1, 5])).toBe(1)
    expect(turnsUntilDone([5, 5, 5, 0.5, 5])).toBe(4)
  })

  it("comes at last, however much others have to do", () => {
    expect(turnsUntilDone(Array.from({ length: 20 }, () => 5))).toBe(9)
  })

  it("is hurried up when somebody waits for it", () => {
    let turns = 0
    expect(
      turnsUntilDone(
        Array.from({ length: 20 }, () => 5),
        () => ++turns > 3
      )
    ).toBe(4)
  })

  it("is taken back in whatever turn it waits", () => {
    const { loop, turn, waits } = byHand()
    const cancel = UnhurriedLoop.make(loop, () => false).later(() => expect.unreachable())
    turn(5)
    turn(5)
    cancel()
    expect(waits()).toBe(0)
    turn(0)
  })
})
