/**
 * The deadlines of everything that waits, kept by one fiber that sleeps until the earliest. They are rounded up to
 * ticks, so that ten thousand held polls cost at most fifty wake-ups a second and no timer each.
 */
import * as Alarm from "@effect-xds/transport/Alarm"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Milliseconds. */
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
  const ticks = new Map<Due, number>()
  const items = new Map<number, Set<Due>>()

  const clear = (item: Due): void => {
    const at = ticks.get(item)
    if (at === undefined) return
    ticks.delete(item)
    const together = items.get(at)
    together?.delete(item)
    if (together?.size === 0) items.delete(at)
  }

  const fire = (): void => {
    const time = now()
    const due: Array<Due> = []
    let next = Number.POSITIVE_INFINITY
    for (const [at, together] of items) {
      if (at <= time) {
        for (const item of together) due.push(item)
      } else if (at < next) {
        next = at
      }
    }
    for (const item of due) clear(item)
    alarm.advance(next)
    for (const item of due) item.onDue()
  }

  const alarm: Alarm.Alarm = yield* Alarm.make(now, fire)

  return {
    now,
    clear,
    size: () => ticks.size,
    set: (item, milliseconds) => {
      clear(item)
      const at = Math.ceil((now() + Math.max(milliseconds, 1)) / tick) * tick
      ticks.set(item, at)
      const together = items.get(at)
      if (together === undefined) items.set(at, new Set([item]))
      else together.add(item)
      alarm.advance(at)
    }
  }
})
