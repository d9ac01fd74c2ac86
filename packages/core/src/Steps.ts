/**
 * Long work in steps. The driver decides whether other work runs between two steps. The result depends on the inputs alone,
 * which stay unchanged.
 *
 * @since 0.1.0
 */

/**
 * Work that ends with `A`. Other work may run at each yield.
 *
 * @since 0.1.0
 */
export type Steps<A> = Generator<undefined, A>

/** Resources per step. A step takes at most 0.1 ms, or 1–2 ms while its code is new. */
export const atOnce = 64

/** Work that is under way, and its result once it has ended. Held by those who wait for it. */
interface Shared<A, B> {
  work: Steps<A> | undefined
  made: B | undefined
}

/**
 * Work that many callers share: each goes on where the last one stopped. Its result is not kept here, but those who asked
 * before it was there have it, and nothing is made twice for them.
 *
 * @since 0.1.0
 */
export class InTurns<A, B> {
  #shared: Shared<A, B> | undefined

  /** The remaining work, unless its result is known meanwhile. `end` makes the result, and may keep it. */
  steps(known: () => B | undefined, make: () => Steps<A>, end: (made: A) => B): Steps<B> {
    return this.#waiting((this.#shared ??= { work: undefined, made: undefined }), known, make, end)
  }

  *#waiting(shared: Shared<A, B>, known: () => B | undefined, make: () => Steps<A>, end: (made: A) => B): Steps<B> {
    for (;;) {
      const result = shared.made ?? known()
      if (result !== undefined) return result
      const work = shared.work ?? make()
      // If the work throws, the next caller starts it again.
      shared.work = undefined
      const { done, value } = work.next()
      if (done === true) {
        if (this.#shared === shared) this.#shared = undefined
        return (shared.made = end(value))
      }
      shared.work = work
      yield
    }
  }
}

/**
 * Work that many callers share and that is done once: {@link InTurns} whose result is kept.
 *
 * @since 0.1.0
 */
export class Once<A extends object> {
  readonly #turns = new InTurns<A, A>()
  #made: A | undefined

  constructor(private readonly make: () => Steps<A>) {}

  /** The result; `undefined` until the work has ended. */
  get value(): A | undefined {
    return this.#made
  }

  /** The remaining work. */
  steps(): Steps<A> {
    return this.#turns.steps(
      () => this.#made,
      this.make,
      (made) => (this.#made = made)
    )
  }

  /** The result, without letting other work run. */
  toEnd(): A {
    return this.#made ?? toEnd(this.steps())
  }
}

/**
 * Finished work with this result.
 *
 * @since 0.1.0
 */
export const of = function* <A>(value: A): Steps<A> {
  return value
}

/**
 * `Array.filter` in steps.
 *
 * @since 0.1.0
 */
export const filter = function* <A>(from: Iterable<A>, is: (item: A, place: number) => boolean): Steps<Array<A>> {
  const found: Array<A> = []
  let place = 0
  for (const item of from) {
    if (is(item, place)) found.push(item)
    if (++place % atOnce === 0) yield
  }
  return found
}

/**
 * A loop in steps.
 *
 * @since 0.1.0
 */
export const each = function* <A>(items: Iterable<A>, work: (item: A) => void): Steps<void> {
  let place = 0
  for (const item of items) {
    work(item)
    if (++place % atOnce === 0) yield
  }
}

/**
 * The result, without letting other work run.
 *
 * @since 0.1.0
 */
export const toEnd = <A>(work: Steps<A>): A => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
