/** How many faults are told. */

/** At least 1. Throws for NaN, a mistake of the program: with it there would be no limit. */
export const of = (given: number | undefined): number => {
  const most = Math.max(1, given ?? 100)
  if (Number.isNaN(most)) throw new RangeError("maxFaults must be a number, not NaN")
  return most
}
