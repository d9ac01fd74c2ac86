/**
 * The leaves of an aggregate cluster: the clusters that have hosts.
 *
 * @see https://github.com/grpc/proposal/blob/master/A75-xds-aggregate-cluster-behavior-fixes.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as PriorityLoads from "./PriorityLoad.js"

/**
 * How deep aggregates may be nested.
 *
 * @since 0.1.0
 */
export const maxDepth = 16

/**
 * What is known of a cluster: those it names, or that it has hosts of its own; `undefined`: it is not there.
 *
 * @since 0.1.0
 */
export type Lookup = (cluster: string) => { readonly clusters: ReadonlyArray<string> | undefined } | undefined

/**
 * The leaves of a cluster, depth first.
 *
 * @since 0.1.0
 */
export interface Leaves {
  /** ★ Those, too, of which nothing is known: they fail alone. */
  readonly leaves: ReadonlyArray<string>
  /** Every cluster that was looked at, the first one and aggregates, too. */
  readonly visited: ReadonlyArray<string>
}

/**
 * The leaves of a cluster, each at its first place; of one that is no aggregate, itself. Left: it is nested in itself or too
 * deep, in words.
 *
 * @since 0.1.0
 */
export const of = (cluster: string, lookup: Lookup): Either.Either<Leaves, string> => {
  const leaves = new Set<string>()
  const done = new Set<string>()
  const visit = (name: string, way: ReadonlyArray<string>): string | undefined => {
    if (way.includes(name)) {
      return `cluster ${JSON.stringify(name)} is nested in itself: ${[...way, name].join(" → ")}; take it out`
    }
    if (done.has(name)) return undefined
    const clusters = lookup(name)?.clusters
    done.add(name)
    if (clusters === undefined) {
      leaves.add(name)
      return undefined
    }
    if (way.length >= maxDepth)
      return `aggregates are nested deeper than ${maxDepth}, at ${JSON.stringify(name)}; nest less`
    for (const each of clusters) {
      const problem = visit(each, [...way, name])
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const problem = visit(cluster, [])
  return problem === undefined
    ? Either.right({ leaves: Array.from(leaves), visited: Array.from(done) })
    : Either.left(problem)
}

/**
 * Whether a leaf does without panic, where the first leaf that can takes all calls: where enough are well in it and those after it
 * together, or nobody is in it and somebody after it. ★ By itself it would panic, take all calls, and those after it would never
 * get one.
 *
 * @param totals `total` of the load of each leaf, the best first; 0: nothing is known of it
 * @since 0.1.0
 */
export const isCalm = (totals: ReadonlyArray<number>, at: number): boolean => {
  const [own = 0, ...after] = totals.slice(at)
  const rest = after.reduce((sum, total) => sum + total, 0)
  return own + rest >= 100 || (own === 0 && rest > 0)
}

/**
 * How calls are shared among leaves, as Envoy shares them: the priorities of all leaves in one row, those without hosts left out,
 * are as the priorities of one cluster.
 *
 * @since 0.1.0
 */
export interface Load {
  /** Of each leaf the loads of its priorities. Its hosts panic as the leaf says, and not as this does. */
  readonly leaves: ReadonlyArray<ReadonlyArray<PriorityLoads.Load>>
  /** How much is there for calls to go to, at most 100. ★ With 100 no leaf need panic: each has those who are well for its share. */
  readonly total: number
}

/**
 * The loads of leaves with these priorities, the best first.
 *
 * @param panicThreshold of the aggregate, in percent: only where all priorities are below it they share by hosts
 * @since 0.1.0
 */
export const loadOf = (
  leaves: ReadonlyArray<ReadonlyArray<PriorityLoads.Tally>>,
  panicThreshold: number = PriorityLoads.defaults.panicThreshold
): Load => {
  const isThere = ({ hosts }: PriorityLoads.Tally): boolean => hosts.all > 0
  const { loads, total } = PriorityLoads.make(leaves.flat().filter(isThere), { panicThreshold })
  let at = 0
  const nextOf = (tally: PriorityLoads.Tally): PriorityLoads.Load => (isThere(tally) ? loads[at++] : undefined) ?? none
  return { leaves: leaves.map((tallies) => tallies.map(nextOf)), total }
}

const none: PriorityLoads.Load = { healthy: 0, degraded: 0, isPanicking: false }
