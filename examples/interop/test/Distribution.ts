/** Whether calls are divided as they are to be, but for chance. */

export type Counts = Readonly<Record<string, number>>

export const total = (counts: Counts): number => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** By the number of hosts: what χ² exceeds in one of a million equal distributions. */
const bounds: Readonly<Record<number, number>> = { 1: 0, 2: 23.93, 3: 27.63, 4: 30.66, 5: 33.38 }

export const boundOf = (hosts: number): number => {
  const bound = bounds[hosts]
  if (bound === undefined) throw new Error(`no bound of χ² for ${hosts} hosts: add it to Distribution.ts`)
  return bound
}

/** χ² of counts that are to be as shares are. */
export const fromShares = (seen: Counts, shares: Counts): number => {
  const ratio = total(seen) / total(shares)
  return Object.entries(shares).reduce(
    (sum, [host, share]) => sum + ((seen[host] ?? 0) - share * ratio) ** 2 / (share * ratio),
    0
  )
}

/** χ² of two samples. */
export const fromEachOther = (one: Counts, two: Counts): number => {
  const ratio = Math.sqrt(total(two) / total(one))
  return Object.keys({ ...one, ...two }).reduce((sum, host) => {
    const [a, b] = [one[host] ?? 0, two[host] ?? 0]
    return sum + (a * ratio - b / ratio) ** 2 / (a + b)
  }, 0)
}
