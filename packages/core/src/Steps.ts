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

/** Resources that are looked at before others may run: some tenths of a millisecond. */
export const atOnce = 256

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
