/**
 * The turns of the event loop that reading takes: whatever clients send, after some milliseconds others have theirs. What is
 * left over waits in order; who has just sent something comes before those who are in the middle of something large.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

/** Milliseconds of reading in one turn. */
const length = 4

/** Milliseconds that what is short may take beyond that: to put it off costs more than to do it. */
const grace = 6

/**
 * The turns of one server.
 *
 * @since 0.1.0
 */
export class TimeSlices {
  #end = 0
  #begun = false
  #light: Array<() => void> = []
  #heavy: Array<() => void> = []

  /** Counts the time of this turn from here on, if it is not counted yet: what comes before reading takes time, too. */
  begin(): void {
    if (!this.#begun) this.#begin(performance.now())
  }

  /** Whether others are to have their turn before more is read. */
  isOver(): boolean {
    return this.#isBeyond(0)
  }

  /** The same before something short. */
  isLate(): boolean {
    return this.#isBeyond(grace)
  }

  /** Does the work in a turn after this one; it must not throw. `heavy`: it goes on with something large. */
  later(work: () => void, heavy: boolean): void {
    if (heavy) this.#heavy.push(work)
    else this.#light.push(work)
    if (!this.#begun) this.#begin(performance.now())
  }

  /** Whether the turn has taken that many milliseconds more than its own; one that is not counted yet begins. */
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

  /** Does what there is time for; what is left, and what came meanwhile. `one`: of it one is done in any case. */
  #run(queue: Array<() => void>, one: boolean): Array<() => void> {
    let at = 0
    for (; at < queue.length && ((one && at === 0) || !this.isOver()); at++) queue[at]?.()
    return queue.slice(at)
  }
}

/**
 * Long work in parts: between two of them, where it yields, others may have their turn. A part is short.
 *
 * @since 0.1.0
 */
export type Parts<A> = Generator<void, A, void>

/**
 * Waits until there is time in a turn; at once where there is.
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
 * Does the parts, as many in a turn as there is time for. Fails with what they throw; where it is interrupted, the rest is
 * left undone.
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
 * Waits for a turn after this one: for work that is long by itself, after other work.
 *
 * @since 0.1.0
 */
export const next = (slices: Pick<TimeSlices, "later">): Promise<void> =>
  new Promise((resolve) => slices.later(resolve, true))

/**
 * {@link inSlices} for who has promises. Rejects with what the parts throw.
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
 * All that comes one after the other; where a turn is over before the next is made, others have theirs.
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
