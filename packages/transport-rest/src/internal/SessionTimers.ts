/** The deadlines of held polls, incomplete bodies and idle sessions. */
import * as TimerTable from "@effect-xds/transport-node/TimerTable"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** SessionTimers are rounded up to this many milliseconds: ten thousand held polls cost at most fifty wake-ups a second. */
const tick = 20

/** An item with a deadline. */
export interface Due {
  /** Called at the deadline, which is removed before. Must not throw. */
  readonly onDue: () => void
}

export interface SessionTimers {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Sets the deadline of an item, in milliseconds from now. It replaces an earlier one. */
  readonly set: (item: Due, milliseconds: number) => void
  readonly clear: (item: Due) => void
  /** The number of items with a deadline. */
  readonly size: () => number
}

export const make: Effect.Effect<SessionTimers, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  // Monotonic: the wall clock may go back.
  const now = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
  const onDue = (items: ReadonlyArray<Due>): void => {
    for (const item of items) item.onDue()
  }
  const table = yield* TimerTable.make<Due>({ now, tick, onDue })
  return {
    now,
    set: (item, milliseconds) => table.set(item, now() + milliseconds),
    clear: (item) => table.set(item, Number.POSITIVE_INFINITY),
    size: table.size
  }
})
