/** Long work in steps: the driver decides whether others run between two of them. */

/** Work that ends with `A`. Others may run at each yield. */
export type Steps<A> = Generator<undefined, A>

/** Bytes of one step, but for what cannot be divided. Some 0.1 ms to check, and 1 ms to decode. */
export const bytesAtOnce = 8_192

/** The result, without letting others run. */
export const toEnd = <A>(work: Steps<A>): A => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
