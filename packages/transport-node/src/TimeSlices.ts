/**
 * A time limit for work in each turn of the event loop, whatever clients send. The rest waits in order for a later
 * turn; short new work goes before the rest of large work.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Milliseconds of work in one turn. */
const length = 4

/** Milliseconds that short work may take beyond that: deferring it would cost more. */
const grace = 6

/**
 * The time slices of one server.
 *
 * @since 0.1.0
 */
export class TimeSlices {
  #end = 0
  #begun = false
  #light: Array<() => void> = []
  #heavy: Array<() => void> = []

  /** Starts the clock of this turn, if it is not running yet: work before reading counts, too. */
  begin(): void {
    if (!this.#begun) this.#begin(performance.now())
  }

  /** Whether the time of this turn is used up. */
  isOver(): boolean {
    return this.#isBeyond(0)
  }

  /** The same for short work, which may run into the grace time. */
  isLate(): boolean {
    return this.#isBeyond(grace)
  }

  /** Runs the work in a later turn; it must not throw. `heavy`: it is a part of large work. */
  later(work: () => void, heavy: boolean): void {
    if (heavy) this.#heavy.push(work)
    else this.#light.push(work)
    if (!this.#begun) this.#begin(performance.now())
  }

  /** Whether this turn is over by that many milliseconds. Starts the clock of a new turn. */
  #isBeyond(more: number): boolean {
    const now = performance.now()
    if (!this.#begun) this.#begin(now)
    return now >= this.#end + more
  }

  #begin(now: number): void {
    this.#begun = true
    this.#end = now + length
    setImmediate(this.#next)
  }

  readonly #next = (): void => {
    this.#begun = false
    if (this.#light.length === 0 && this.#heavy.length === 0) return
    this.#begin(performance.now())
    this.#light = this.#run(this.#light, false)
    this.#heavy = this.#run(this.#heavy, true)
  }

  /** Runs queued work while there is time, and returns the rest. `one`: at least one item runs. */
  #run(queue: Array<() => void>, one: boolean): Array<() => void> {
    let at = 0
    for (; at < queue.length && ((one && at === 0) || !this.isOver()); at++) queue[at]?.()
    return queue.slice(at)
  }
}

/**
 * Long work as a generator of short parts: at each `yield` others may have their turn.
 *
 * @since 0.1.0
 */
export type Parts<A> = Generator<void, A, void>

/**
 * Waits until a turn has time left.
 *
 * @since 0.1.0
 */
export const ready = (slices: Pick<TimeSlices, "isOver" | "later">): Effect.Effect<void> =>
  Effect.async((resume) => {
    const goOn = (): void => resume(Effect.void)
    if (slices.isOver()) slices.later(goOn, false)
    else goOn()
  })

/**
 * Runs the parts, in each turn as many as there is time for. Fails with what a part throws. An interruption stops it
 * between parts.
 *
 * @since 0.1.0
 */
export const inSlices = <A>(slices: Pick<TimeSlices, "isOver" | "later">, parts: Parts<A>): Effect.Effect<A, unknown> =>
  Effect.zipRight(
    ready(slices),
    Effect.async<A, unknown>((resume) => {
      let wanted = true
      const goOn = (): void => {
        try {
          while (wanted) {
            const part = parts.next()
            if (part.done === true) return resume(Effect.succeed(part.value))
            if (slices.isOver()) return slices.later(goOn, true)
          }
        } catch (cause) {
          resume(Effect.fail(cause))
        }
      }
      goOn()
      return Effect.sync(() => {
        wanted = false
      })
    })
  )

/**
 * Waits for a later turn: before long work that cannot be divided.
 *
 * @since 0.1.0
 */
export const next = (slices: Pick<TimeSlices, "later">): Promise<void> =>
  new Promise((resolve) => slices.later(resolve, true))

/**
 * For work that waits for promises. Asked between two parts of it: a promise to wait for if the turn is over.
 *
 * @since 0.1.0
 */
export const pauses =
  (slices: Pick<TimeSlices, "isOver" | "later">): (() => Promise<void> | undefined) =>
  () =>
    slices.isOver() ? next(slices) : undefined

/**
 * {@link inSlices} as a promise. Rejects with what a part throws.
 *
 * @since 0.1.0
 */
export const promise = async <A>(slices: Pick<TimeSlices, "isOver" | "later">, parts: Parts<A>): Promise<A> => {
  for (;;) {
    if (slices.isOver()) await next(slices)
    const part = parts.next()
    if (part.done === true) return part.value
  }
}

/**
 * Collects the items of a generator. When a turn is over, the next item waits for a later one.
 *
 * @since 0.1.0
 */
export const gather = async <A>(
  slices: Pick<TimeSlices, "isOver" | "later">,
  all: AsyncIterable<A>
): Promise<ReadonlyArray<A>> => {
  const gathered: Array<A> = []
  for await (const each of all) {
    gathered.push(each)
    if (slices.isOver()) await next(slices)
  }
  return gathered
}
