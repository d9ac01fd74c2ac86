/**
 * Clusters that a policy tree must have: those that calls can choose, and those that calls hold which chose them before.
 *
 * A cluster goes in two steps. First it can be chosen no more; when the last call that chose it is committed, it leaves
 * the tree.
 *
 * @see https://github.com/grpc/proposal/blob/master/A31-xds-timeout-support-and-config-selector.md
 * @since 0.1.0
 */

/**
 * The state; plain data.
 *
 * @since 0.1.0
 */
export interface ClusterHolds {
  readonly chosen: ReadonlySet<string>
  /** Calls that hold a cluster. */
  readonly calls: ReadonlyMap<string, number>
}

/**
 * What happens. `Release`: a call is committed: it picks no more.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Config"; readonly clusters: ReadonlySet<string> }
  | { readonly _tag: "Hold" | "Release"; readonly cluster: string }

/**
 * No clusters.
 *
 * @since 0.1.0
 */
export const empty: ClusterHolds = { chosen: new Set(), calls: new Map() }

/**
 * Takes one input.
 *
 * @since 0.1.0
 */
export const step = (self: ClusterHolds, input: Input): ClusterHolds => {
  if (input._tag === "Config") return { ...self, chosen: input.clusters }
  const count = (self.calls.get(input.cluster) ?? 0) + (input._tag === "Hold" ? 1 : -1)
  const calls = new Map(self.calls)
  if (count > 0) calls.set(input.cluster, count)
  else calls.delete(input.cluster)
  return { ...self, calls }
}

/**
 * Whether the tree must have a cluster.
 *
 * @since 0.1.0
 */
export const has = ({ calls, chosen }: ClusterHolds, cluster: string): boolean =>
  chosen.has(cluster) || calls.has(cluster)

/**
 * The clusters of the tree. ★ When it changes, the tree is given it first, then calls choose by the new configuration.
 *
 * @since 0.1.0
 */
export const clusters = ({ calls, chosen }: ClusterHolds): ReadonlySet<string> => new Set([...chosen, ...calls.keys()])
