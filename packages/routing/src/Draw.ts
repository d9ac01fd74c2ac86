/**
 * Chance as an input: a call brings its random numbers, so that the same call picks the same again.
 *
 * @since 0.1.0
 */

/**
 * The `n`-th random number of a call, in [0, 1): the same number whenever it is asked for.
 *
 * @since 0.1.0
 */
export type Draw = (n: number) => number

const belowOne = 1 - Number.EPSILON / 2

/**
 * The `n`-th number, in [0, 1) whatever the function gives: what is no number counts as 0.
 *
 * @since 0.1.0
 */
export const at = (self: Draw, n: number): number => {
  const drawn = self(n)
  return drawn >= 1 ? belowOne : drawn > 0 ? drawn : 0
}

/**
 * The same numbers from the `from`-th on.
 *
 * @since 0.1.0
 */
export const after = (self: Draw, from: number): Draw => (from === 0 ? self : (n) => self(from + n))

/**
 * Of shares, each with the sum of the weights up to it, the place of the first whose `end` is above what was drawn; of the
 * last if none is, -1 if there are none.
 *
 * @param drawn from 0 up to the sum
 * @since 0.1.0
 */
export const share = (shares: ReadonlyArray<{ readonly end: number }>, drawn: number): number => {
  let low = 0
  let high = shares.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((shares[middle]?.end ?? 0) > drawn) high = middle
    else low = middle + 1
  }
  return high
}
