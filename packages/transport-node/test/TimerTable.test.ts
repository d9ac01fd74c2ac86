import * as TimerTable from "@effect-xds/transport-node/TimerTable"
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"

/** A table, and what it told of: the items that were due together, and at what time. */
const make = (onDue: (item: string, set: (item: string, at: number) => void) => void = () => undefined) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const now = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
    const told: Array<string> = []
    let count = 0
    const table: TimerTable.TimerTable<string> = yield* TimerTable.make<string>({
      now,
      tick: 10,
      onCount: (change) => {
        count += change
      },
      onDue: (items) => {
        told.push(`${now()} ${items.join()}`)
        for (const item of items) onDue(item, table.set)
      }
    })
    return { table, told, counted: () => count }
  })

describe("a timer table", () => {
  it.scoped("wakes up once for all that are due in one tick, the earliest first", () =>
    Effect.gen(function* () {
      const { counted, table, told } = yield* make()
      table.set("c", 21)
      table.set("b", 19)
      table.set("a", 12)
      expect([table.size(), counted()]).toEqual([3, 3])
      yield* TestClock.adjust(19)
      expect(told).toEqual([])
      yield* TestClock.adjust(1)
      expect(told).toEqual(["20 b,a"])
      expect([table.size(), counted()]).toEqual([1, 1])
      table.set("d", 55)
      table.set("e", 41)
      yield* TestClock.adjust(100)
      expect(told).toEqual(["20 b,a", "30 c", "50 e", "60 d"])
      expect([table.size(), counted()]).toEqual([0, 0])
    })
  )

  it.scoped("moves a deadline and takes it away", () =>
    Effect.gen(function* () {
      const { counted, table, told } = yield* make()
      table.set("a", 10)
      table.set("b", 10)
      table.set("a", 50)
      table.set("b", Number.POSITIVE_INFINITY)
      table.set("b", Number.POSITIVE_INFINITY)
      expect([table.size(), counted()]).toEqual([1, 1])
      yield* TestClock.adjust(40)
      expect(told).toEqual([])
      yield* TestClock.adjust(60)
      expect(told).toEqual(["50 a"])
      expect([table.size(), counted()]).toEqual([0, 0])
    })
  )

  it.scoped("of one that is due again at once sleeps in between", () =>
    Effect.gen(function* () {
      const { table, told } = yield* make((item, set) => set(item, 0))
      table.set("a", 0)
      yield* TestClock.adjust(35)
      expect(told).toEqual(["10 a", "20 a", "30 a"])
    })
  )
})
