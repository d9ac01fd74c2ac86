/**
 * The hosts of a cluster as one reducer: its discovery, who is there and well, and who is ejected. What discovery lists and
 * outlier detection says goes to the hosts at once; what is left for others comes out.
 *
 * A changed cluster is a new set, see `Membership`.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Assignment } from "./Assignment.js"
import type { Cluster } from "./Cluster.js"
import { assigned, type Running } from "./ClusterType.js"
import type * as Discoveries from "./Discovery.js"
import * as HostSets from "./HostSet.js"
import * as Outliers from "./Outlier.js"
import * as PriorityLoads from "./PriorityLoad.js"

/**
 * What happens. Hosts are told by their `id`.
 *
 * @since 0.1.0
 */
export type Input =
  | Exclude<Discoveries.Input, { readonly _tag: "Assigned" }>
  /** `age`: how many milliseconds ago it came; default: it comes now. */
  | { readonly _tag: "Assignment"; readonly assignment: Assignment; readonly age?: number | undefined }
  | Extract<HostSets.Input, { readonly _tag: "Health" | "Checked" }>
  | Extract<Outliers.Input, { readonly _tag: "CheckPassed" | "Outcome" | "Counted" }>

/**
 * What comes of it.
 *
 * @since 0.1.0
 */
export type Output =
  Extract<Discoveries.Output, { readonly _tag: "Resolve" | "Refused" }> | HostSets.Output | Outliers.Output

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface MemberSet {
  readonly cluster: Cluster
  readonly discovery: Running
  readonly hosts: HostSets.HostSet
  /** `undefined`: nobody is ejected. */
  readonly outlier: Outliers.Outlier | undefined
  /** The last that came; `undefined`: none did. */
  readonly assignment: Assignment | undefined
  /** Since when each host is as it is, in milliseconds. */
  readonly since: HashMap.HashMap<string, number>
}

/**
 * What a step is given beside its input.
 *
 * @since 0.1.0
 */
export type Context = Outliers.Context

/**
 * No hosts; discovery is not started.
 *
 * @since 0.1.0
 */
export const make = (cluster: Cluster, now: number): MemberSet => ({
  cluster,
  discovery: cluster.type.run(),
  hosts: HostSets.make(cluster.hosts),
  outlier: cluster.outlierDetection === undefined ? undefined : Outliers.make(cluster.outlierDetection, now),
  assignment: undefined,
  since: HashMap.empty()
})

/**
 * When it wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ discovery, outlier }: MemberSet): number =>
  Math.min(discovery.deadline, outlier === undefined ? Number.POSITIVE_INFINITY : Outliers.deadline(outlier))

/**
 * Since when a host is as it is, in milliseconds; `undefined`: it is not there.
 *
 * @since 0.1.0
 */
export const since = (self: MemberSet, host: string): number | undefined =>
  Option.getOrUndefined(HashMap.get(self.since, host))

/**
 * The hosts of its priorities, and how health is reckoned of them: ★ as an assignment says, if there is one.
 *
 * @since 0.1.0
 */
export const talliesOf = ({ assignment, cluster, hosts }: MemberSet): ReadonlyArray<PriorityLoads.Tally> => {
  const { overprovisioningFactor, weightedPriorityHealth } = assignment ?? cluster.load
  return PriorityLoads.tally(HashMap.values(hosts.members)).map((tally) => ({
    ...tally,
    overprovisioningFactor,
    weightedPriorityHealth
  }))
}

/**
 * By how much hosts that are well make up for others, in percent: ★ of an assignment, if there is one.
 *
 * @since 0.1.0
 */
export const overprovisioningFactorOf = ({ assignment, cluster }: MemberSet): number =>
  (assignment ?? cluster.load).overprovisioningFactor

/**
 * What is dropped on purpose. ★ An assignment goes before the cluster, also one that drops nothing.
 *
 * @since 0.1.0
 */
export const dropsOf = ({ assignment, cluster }: MemberSet): Assignment["drops"] => assignment?.drops ?? cluster.drops

type Draft = { -readonly [Key in keyof MemberSet]: MemberSet[Key] } & {
  readonly outputs: Array<Output>
  readonly context: Context
}

/**
 * Takes one input. Total: what is of another type of cluster, or of who is not there, is ignored.
 *
 * @since 0.1.0
 */
export const step = (self: MemberSet, input: Input, context: Context): readonly [MemberSet, ReadonlyArray<Output>] => {
  const draft: Draft = {
    cluster: self.cluster,
    discovery: self.discovery,
    hosts: self.hosts,
    outlier: self.outlier,
    assignment: self.assignment,
    since: self.since,
    outputs: [],
    context
  }
  switch (input._tag) {
    case "Assignment":
      draft.assignment = input.assignment
      discover(draft, assigned(input.assignment, input.age))
      break
    case "Missing":
      draft.assignment = undefined
      discover(draft, input)
      break
    case "Health":
    case "Checked":
      tellHosts(draft, input)
      break
    case "CheckPassed":
    case "Outcome":
    case "Counted":
      tellOutlier(draft, input)
      break
    case "Deadline":
      if (self.discovery.deadline <= context.now) discover(draft, input)
      if (self.outlier !== undefined && Outliers.deadline(self.outlier) <= context.now) tellOutlier(draft, input)
      break
    default:
      discover(draft, input)
  }
  const { assignment, cluster, discovery, hosts, outlier, outputs, since } = draft
  return [{ cluster, discovery, hosts, outlier, assignment, since }, outputs]
}

const discover = (self: Draft, input: Discoveries.Input): void => {
  const [discovery, outputs] = self.discovery.step(input, { now: self.context.now })
  self.discovery = discovery
  for (const output of outputs) {
    if (output._tag === "Resolve" || output._tag === "Refused") self.outputs.push(output)
    else tellHosts(self, output)
  }
}

const tellHosts = (self: Draft, input: HostSets.Input): void => {
  const before = self.hosts
  const [hosts, outputs] = HostSets.step(before, input)
  self.hosts = hosts
  for (const output of outputs) {
    self.outputs.push(output)
    switch (output._tag) {
      case "Added":
        self.since = HashMap.set(self.since, output.host, self.context.now)
        tellOutlier(self, { _tag: "Added", host: output.host })
        break
      case "Updated":
        if (HostSets.find(before, output.host)?.flags !== HostSets.find(hosts, output.host)?.flags) {
          self.since = HashMap.set(self.since, output.host, self.context.now)
        }
        break
      case "Removed":
        self.since = HashMap.remove(self.since, output.host)
        tellOutlier(self, { _tag: "Removed", host: output.host })
        break
      default:
    }
  }
}

const tellOutlier = (self: Draft, input: Outliers.Input): void => {
  if (self.outlier === undefined) return
  const [outlier, outputs] = Outliers.step(self.outlier, input, self.context)
  self.outlier = outlier
  for (const output of outputs) {
    self.outputs.push(output)
    if (output._tag !== "Spared") tellHosts(self, { _tag: output._tag, host: output.host })
  }
}
