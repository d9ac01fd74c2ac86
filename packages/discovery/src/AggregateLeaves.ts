/**
 * The leaves of an aggregate cluster: the clusters that have hosts.
 *
 * @see https://github.com/grpc/proposal/blob/master/A75-xds-aggregate-cluster-behavior-fixes.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"

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
