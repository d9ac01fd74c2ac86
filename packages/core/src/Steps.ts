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

/**
 * Work that many callers share and that is done once: each caller goes on where the last one stopped.
 *
 * @since 0.1.0
 */
export class Once<A extends object> {
  private work: Steps<A> | undefined
  private made: A | undefined

  constructor(private readonly make: () => Steps<A>) {}

  /** The result; `undefined` until the work has ended. */
  get value(): A | undefined {
    return this.made
  }

  /** The remaining work. */
  *steps(): Steps<A> {
    while (this.made === undefined) {
      const work = this.work ?? this.make()
      // If the work throws, the next caller starts it again.
      this.work = undefined
      const { done, value } = work.next()
      if (done === true) {
        this.made = value
      } else {
        this.work = work
        yield
      }
    }
    return this.made
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
