/**
 * Work that may be long, in steps: whoever drives it decides whether others run in between. It depends on what it was given alone,
 * however it is driven, and changes nothing of that.
 *
 * @since 0.1.0
 */

/**
 * Work that ends with `A`. Others may run wherever it yields.
 *
 * @since 0.1.0
 */
export type Steps<A> = Generator<undefined, A>

/** Resources that are looked at before others may run: no more than a tenth of a millisecond, and a millisecond or two while their code is new. */
export const atOnce = 64

/**
 * Work that many need and that is done once: whoever needs it goes on with what the others left.
 *
 * @since 0.1.0
 */
export class Once<A extends object> {
  private work: Steps<A> | undefined
  private made: A | undefined

  constructor(private readonly make: () => Steps<A>) {}

  /** What it ended with; `undefined`: it did not end yet. */
  get value(): A | undefined {
    return this.made
  }

  /** What is left of it. */
  *steps(): Steps<A> {
    while (this.made === undefined) {
      const work = this.work ?? this.make()
      // Work that throws is begun anew by whoever needs it next.
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
 * Work that is done already.
 *
 * @since 0.1.0
 */
export const of = function* <A>(value: A): Steps<A> {
  return value
}

/**
 * Those of many that are such.
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
 * What it ends with, without letting others run.
 *
 * @since 0.1.0
 */
export const toEnd = <A>(work: Steps<A>): A => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
