/** The deadlines of everything that waits: held polls, bodies that are being read, sessions that are idle. */
import * as TimerTable from "@effect-xds/transport-node/TimerTable"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Milliseconds: ten thousand held polls cost at most fifty wake-ups a second. */
const tick = 20

/** What has a deadline. */
export interface Due {
  /** Its deadline has come, and is gone. Must not throw. */
  readonly onDue: () => void
}

export interface Deadlines {
  /** Milliseconds that never go back. */
  readonly now: () => number
  /** Sets the deadline of an item so many milliseconds from now, in place of an earlier one. */
  readonly set: (item: Due, milliseconds: number) => void
  readonly clear: (item: Due) => void
  /** How many items have one. */
  readonly size: () => number
}

export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  // Not the wall clock, which may go back.
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
