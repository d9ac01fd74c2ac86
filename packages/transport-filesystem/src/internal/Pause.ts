/** Lets others run in between: what a large file asks for takes seconds, and clients are served meanwhile. */

/** Milliseconds that are taken at a time. */
const slice = 10

export class Pause {
  #since = performance.now()

  /** Whether it is the others' turn; then wait for {@link turn}. */
  get isDue(): boolean {
    return performance.now() - this.#since > slice
  }

  async turn(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#since = performance.now()
  }
}

/** What a computation ends with; others run where it yields. */
export const inTurns = async <A>(computation: Generator<undefined, A>): Promise<A> => {
  const pause = new Pause()
  for (let next = computation.next(); ; next = computation.next()) {
    if (next.done === true) return next.value
    if (pause.isDue) await pause.turn()
  }
}
