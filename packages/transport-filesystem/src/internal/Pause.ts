/** Yields to the event loop during long work: a large file takes seconds, in which clients must be served. */

/** Milliseconds of work in one turn. */
const slice = 10

export class Pause {
  #since = performance.now()

  /** Whether this turn is over; then wait for {@link turn}. */
  get isDue(): boolean {
    return performance.now() - this.#since > slice
  }

  async turn(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#since = performance.now()
  }
}

/** The result of a computation. At each `yield` others may run. */
export const inTurns = async <A>(computation: Generator<undefined, A>): Promise<A> => {
  const pause = new Pause()
  for (let next = computation.next(); ; next = computation.next()) {
    if (next.done === true) return next.value
    if (pause.isDue) await pause.turn()
  }
}
