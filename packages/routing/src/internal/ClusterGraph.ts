/** Clusters and what they need: an aggregate names others, and those may be aggregates, too. */
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import type { Assignment } from "../Assignment.js"
import type { Cluster } from "../Cluster.js"
import type { Address } from "../Endpoint.js"
import * as SameData from "./SameData.js"

/**
 * A resource as it is known. `Failed`: it does not exist, or cannot be used, and nothing older is held.
 *
 * @since 0.1.0
 */
export type Known<A> =
  { readonly _tag: "Value"; readonly value: A } | { readonly _tag: "Failed"; readonly message: string }

/** The value of what is known; `undefined`: there is none. */
export const valueOf = <A>(known: Known<A> | undefined): A | undefined =>
  known?._tag === "Value" ? known.value : undefined

/**
 * A cluster and what it needs, in a configuration.
 *
 * @since 0.1.0
 */
export type ClusterConfig =
  | { readonly _tag: "Failed"; readonly message: string }
  | {
      readonly _tag: "Leaf"
      readonly cluster: Cluster
      /** `undefined`: there are none, see `note`. */
      readonly assignment: Assignment | undefined
      /** Why there are no endpoints, for people; empty if there are. */
      readonly note: string
    }
  /** The leaves, depth first, each once. */
  | { readonly _tag: "Aggregate"; readonly cluster: Cluster; readonly leaves: ReadonlyArray<string> }

/** What is known of clusters, endpoints and addresses. */
interface Clusters {
  readonly resources: {
    readonly Cluster: ReadonlyMap<string, Known<Cluster> | undefined>
    readonly Assignment: ReadonlyMap<string, Known<Assignment> | undefined>
    readonly Dns: ReadonlyMap<string, Known<ReadonlyArray<Address>> | undefined>
  }
}

/** How deep aggregate clusters may be nested. */
export const maxDepth = 16

type LogicalDns = Cluster["discovery"] & { readonly _tag: "LogicalDns" }

export const dnsName = ({ host, port }: LogicalDns): string => `${host}:${port}`

/** As `:authority` has it: an IPv6 address in brackets. */
const hostnameOf = ({ host, port }: LogicalDns): string => IpAddress.withPort(host, port) ?? `${host}:${port}`

/** The name of the resource that a leaf has its endpoints from; `undefined`: they are in the cluster. */
export const endpointsOf = ({ discovery }: Cluster): string | undefined => {
  if (discovery._tag === "Eds") return discovery.name
  return discovery._tag === "LogicalDns" ? dnsName(discovery) : undefined
}

/** Whether two values of a cluster, none of them an aggregate, need the same other resources. */
export const needsSame = (a: Cluster, b: Cluster): boolean =>
  a.discovery._tag !== "Aggregate" && a.discovery._tag === b.discovery._tag && endpointsOf(a) === endpointsOf(b)

/** Adds a cluster and all it needs; `false`: something of it is not known yet. */
export const resolve = (self: Clusters, name: string, found: Map<string, ClusterConfig>): boolean => {
  if (found.has(name)) return true
  const known = self.resources.Cluster.get(name)
  if (known === undefined) return false
  if (known._tag === "Failed") {
    found.set(name, { _tag: "Failed", message: `Cluster ${JSON.stringify(name)}: ${known.message}` })
    return true
  }
  const cluster = known.value
  const { discovery } = cluster
  if (discovery._tag !== "Aggregate") {
    const leaf = leafOf(self, cluster)
    if (leaf === undefined) return false
    found.set(name, leaf)
    return true
  }
  const leaves = leavesOf(self, name)
  if (leaves === undefined) return false
  if (typeof leaves === "string") {
    found.set(name, { _tag: "Failed", message: `Cluster ${JSON.stringify(name)}: ${leaves}` })
    return true
  }
  for (const leaf of leaves) if (!resolve(self, leaf, found)) return false
  found.set(name, { _tag: "Aggregate", cluster, leaves })
  return true
}

const leafOf = ({ resources }: Clusters, cluster: Cluster): ClusterConfig | undefined => {
  const { discovery } = cluster
  if (discovery._tag === "Aggregate") return undefined
  if (discovery._tag === "Members") {
    return { _tag: "Leaf", cluster, assignment: discovery.assignment, note: discovery.note }
  }
  const name = discovery._tag === "Eds" ? discovery.name : dnsName(discovery)
  const known = discovery._tag === "Eds" ? resources.Assignment.get(name) : resources.Dns.get(name)
  if (known === undefined) return undefined
  // An error of endpoints is a note: the cluster is there, and cannot be reached.
  if (known._tag === "Failed") {
    const what = discovery._tag === "Eds" ? "ClusterLoadAssignment" : "DNS"
    return { _tag: "Leaf", cluster, assignment: undefined, note: `${what} ${JSON.stringify(name)}: ${known.message}` }
  }
  const assignment = "priorities" in known.value ? known.value : dnsAssignment(name, known.value, discovery)
  return { _tag: "Leaf", cluster, assignment, note: "" }
}

/** All addresses of a name are one endpoint, in a locality of its own. */
const dnsAssignment = (
  name: string,
  addresses: ReadonlyArray<Address>,
  discovery: Cluster["discovery"]
): Assignment => {
  // ★ What the cluster says of its endpoint's host name is not looked at: it is the name that is resolved (A81).
  const hostname = discovery._tag === "LogicalDns" ? hostnameOf(discovery) : undefined
  const endpoint = { addresses, weight: 1, locality: "", localityWeight: 1, hashKey: undefined, hostname }
  const endpoints = addresses.length === 0 ? [] : [endpoint]
  return { name, priorities: [[{ name: "", weight: 1, endpoints }]], drops: [] }
}

/**
 * The leaves of an aggregate, depth first, each at its first place; `undefined`: something is not known yet; a text: why it
 * cannot be used. ★ A leaf that is missing is passed over; a cycle adds nothing.
 */
const leavesOf = ({ resources }: Clusters, root: string): ReadonlyArray<string> | string | undefined => {
  const leaves = new Set<string>()
  // Each cluster once: a cycle ends, and clusters that share others are no more work than there are clusters.
  const seen = new Set<string>()
  const unknown = new Set<string>()
  /** Adds leaves; a text: why that is not possible. */
  const visit = (name: string, above: ReadonlyArray<string>): string | undefined => {
    if (seen.has(name)) return undefined
    if (above.length >= maxDepth) {
      return `aggregate clusters are nested deeper than ${maxDepth}: ${[...above, name].join(" → ")}`
    }
    seen.add(name)
    const known = resources.Cluster.get(name)
    if (known === undefined) unknown.add(name)
    if (known?._tag !== "Value") return undefined
    const { discovery } = known.value
    if (discovery._tag !== "Aggregate") {
      leaves.add(name)
      return undefined
    }
    for (const each of discovery.clusters) {
      const problem = visit(each, [...above, name])
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const problem = visit(root, [])
  if (problem !== undefined) return problem
  if (unknown.size > 0) return undefined
  return leaves.size === 0 ? "none of its clusters exists" : Array.from(leaves)
}

/** Whether the same is said of a cluster again. */
export const isSameCluster = (a: ClusterConfig, b: ClusterConfig): boolean => {
  if (a._tag === "Failed" || b._tag === "Failed") {
    return a._tag === "Failed" && b._tag === "Failed" && a.message === b.message
  }
  if (a.cluster !== b.cluster) return false
  if (a._tag === "Leaf" && b._tag === "Leaf") {
    if (a.note !== b.note) return false
    // Addresses of a name are made into an assignment each time.
    return SameData.isSame(a.assignment, b.assignment)
  }
  return a._tag === "Aggregate" && b._tag === "Aggregate" && a.leaves.join(" ") === b.leaves.join(" ")
}
