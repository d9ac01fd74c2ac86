/**
 * Outcomes that virtual host and path alone decide, of all virtual hosts of a table, in one hash table of numbers.
 *
 * A call to a host that was not called lately waits for memory: for each object that names the next. Here a virtual host is
 * a number, a path is a number, and one place tells the outcome.
 *
 * @since 0.1.0
 */
import type { Match, VirtualHost } from "./VirtualHost.js"

/**
 * The outcomes.
 *
 * @since 0.1.0
 */
export interface CertainRoutes {
  /** Paths have numbers of their own: most virtual hosts have the same ones. */
  readonly paths: ReadonlyMap<string, number>
  /** Three numbers for each place: virtual host, path, outcome; -1: nobody's. Places are a power of two. */
  readonly places: Int32Array
  readonly outcomes: ReadonlyArray<Match>
}

/**
 * How many places are looked at, from the first one on. What does not find one is left to its virtual host.
 *
 * @since 0.1.0
 */
export const maxProbes = 16

/**
 * Where an outcome is looked for first, before the bits that are too many are cut off.
 *
 * @since 0.1.0
 */
export const placeOf = (virtualHost: number, path: number): number =>
  (Math.imul(virtualHost, 0x9e3779b1) ^ Math.imul(path, 0x85ebca6b)) >>> 7

/**
 * The outcomes of virtual hosts, in the order of their places in the table.
 *
 * @since 0.1.0
 */
export const make = (virtualHosts: ReadonlyArray<VirtualHost | undefined>): CertainRoutes => {
  const count = virtualHosts.reduce((sum, each) => sum + (each?.certain.size ?? 0), 0)
  let size = 16
  while (size < 2 * count) size *= 2
  const paths = new Map<string, number>()
  const places = new Int32Array(3 * size).fill(-1)
  const outcomes: Array<Match> = []
  for (const [virtualHost, each] of virtualHosts.entries()) {
    for (const [path, outcome] of each?.certain ?? []) {
      const number = paths.get(path) ?? paths.size
      paths.set(path, number)
      const first = placeOf(virtualHost, number)
      for (let probe = 0; probe < maxProbes; probe++) {
        const at = 3 * ((first + probe) & (size - 1))
        if (places[at] !== -1) continue
        places.set([virtualHost, number, outcomes.push(outcome) - 1], at)
        break
      }
    }
  }
  return { paths, places, outcomes }
}

/**
 * The outcome of a call to the virtual host at this place in the table; `undefined`: ask the virtual host.
 *
 * @since 0.1.0
 */
export const find = (
  { outcomes, paths, places }: CertainRoutes,
  virtualHost: number,
  path: string
): Match | undefined => {
  const number = paths.get(path)
  if (number === undefined) return undefined
  const first = placeOf(virtualHost, number)
  const mask = places.length / 3 - 1
  for (let probe = 0; probe < maxProbes; probe++) {
    const at = 3 * ((first + probe) & mask)
    const owner = places[at]
    if (owner === virtualHost && places[at + 1] === number) return outcomes[places[at + 2] ?? -1]
    if (owner === -1) return undefined
  }
  return undefined
}
