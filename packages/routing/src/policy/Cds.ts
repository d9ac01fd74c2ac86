/**
 * `cds_experimental`: a cluster of the configuration. It makes the policies under it: of a leaf its priorities, the
 * first that can be used or all by their shares; of an aggregate a priority for each of its leaves, or, where it is told who is
 * well in them, their shares, and those without one in reserve.
 *
 * @see https://github.com/grpc/proposal/blob/master/A75-xds-aggregate-cluster-behavior-fixes.md
 * @since 0.1.0
 */
import * as AggregateLeaves from "@effect-xds/discovery/AggregateLeaves"
import * as Localities from "@effect-xds/discovery/Locality"
import type * as PriorityLoads from "@effect-xds/discovery/PriorityLoad"
import type { Assignment, Healths, Locality } from "../Assignment.js"
import * as Assignments from "../Assignment.js"
import type { Endpoint } from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import * as Status from "../CallStatus.js"
import * as Pickers from "../Picker.js"
import type { Configured, Output } from "../Policy.js"
import { define } from "../Policy.js"
import type { ClusterConfig } from "../XdsConfig.js"
import * as SameData from "../internal/SameData.js"
import * as ClusterImpl from "./ClusterImpl.js"
import * as OneChild from "./OneChild.js"
import * as OutlierDetection from "./OutlierDetection.js"
import * as OverrideHost from "./OverrideHost.js"
import * as Priority from "./Priority.js"
import * as WeightedTarget from "./WeightedTarget.js"

/**
 * A cluster, and all clusters, among which an aggregate finds its leaves.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly cluster: string
  readonly clusters: ReadonlyMap<string, ClusterConfig>
  /** Whether calls may belong to sessions. Default: false. */
  readonly sessions?: boolean | undefined
  /** It is a leaf of an aggregate, and others take calls instead of those of it who are not well. Default: false. */
  readonly isCalm?: boolean | undefined
  /** Of a leaf of an aggregate: what its priorities get. Default: as its assignment says. */
  readonly loads?: ReadonlyArray<Shares> | undefined
}

/** What a priority of a leaf gets. */
type Shares = Pick<PriorityLoads.Load, "healthy" | "degraded">

/** A priority of a leaf: its name stays while it shares a locality with what it was. */
interface Named {
  readonly name: string
  readonly localities: ReadonlySet<string>
}

/**
 * What a config says of a cluster: itself and, of an aggregate, its leaves.
 *
 * @since 0.1.0
 */
export interface Given {
  readonly cluster: string
  readonly sessions: boolean
  readonly isCalm: boolean
  readonly loads: ReadonlyArray<Shares> | undefined
  readonly parts: ReadonlyArray<ClusterConfig | undefined>
}

/**
 * Its state.
 *
 * @since 0.1.0
 */
export interface State extends OneChild.Hearing {
  /** What the child was made of; `undefined` before the first config. */
  readonly given: Given | undefined
  readonly named: ReadonlyArray<Named>
  /** Names given so far: none is given twice. */
  readonly names: number
  /** Whether there is a child. */
  readonly hasChild: boolean
  /** `undefined`: what the child says is told. */
  readonly failure: Picker | undefined
  /** What a call is told that finds no endpoint, for people; empty: what the child says. */
  readonly missing: string
}

const nothing: ReadonlyArray<Output> = []
const child = "child"

/** The same index sharing a locality, then any sharing one, then a new name. */
const nameAll = (
  self: State,
  cluster: string,
  priorities: ReadonlyArray<ReadonlyArray<Locality>>
): readonly [ReadonlyArray<Named>, names: number] => {
  let { names } = self
  const free = new Map(self.named.map((each) => [each.name, each]))
  const wanted = priorities.map((localities) => new Set(localities.map(({ name }) => name)))
  const shares = (named: Named, localities: ReadonlySet<string>) =>
    free.has(named.name) && Array.from(localities).some((name) => named.localities.has(name))
  const given = wanted.map((localities, index) => {
    const same = self.named[index]
    if (same === undefined || !shares(same, localities)) return undefined
    free.delete(same.name)
    return same.name
  })
  const named = wanted.map((localities, index): Named => {
    let name = given[index]
    if (name === undefined) {
      const other = self.named.find((each) => shares(each, localities))
      if (other === undefined) name = `priority-${cluster}-${names++}`
      else {
        free.delete(other.name)
        name = other.name
      }
    }
    return { name, localities }
  })
  return [named, names]
}

const leafOf = (
  self: State,
  { assignment, cluster, note }: ClusterConfig & { readonly _tag: "Leaf" },
  { isCalm, loads, sessions }: Given
): readonly [State, Configured | Picker] => {
  const { discovery, maxRequests, outlierDetection, policy } = cluster
  const used = (isCalm ? assignment?.health?.calm : undefined) ?? assignment
  const { priorities = [] } = used ?? {}
  const shares =
    loads === undefined
      ? used?.shares
      : used?.health?.groups.map(({ health, priority }) => loads[priority]?.[health] ?? 0)
  if (priorities.length === 0) {
    const message = note === "" ? `cluster ${JSON.stringify(cluster.name)} has no endpoints` : note
    return [self, Pickers.fail("NoEndpoint", message)]
  }
  const [named, names] = nameAll(self, cluster.name, priorities)
  const weighed = priorities.map(Assignments.weighed)
  const child = (mark: (endpoint: Endpoint) => Endpoint): Configured =>
    ClusterImpl.policy.with({
      cluster: cluster.name,
      edsServiceName: discovery._tag === "Eds" ? discovery.name : "",
      drops: [...dropsOf(assignment), ...failingOf(used?.health?.groups ?? [], shares ?? [])],
      maxRequests,
      child: withSessions(
        amongPriorities(
          weighed.map((endpoints, index) => ({
            name: named[index]?.name ?? "",
            child: policy,
            endpoints: endpoints.map(mark)
          })),
          shares
        ),
        mark
      )
    })
  const draining = priorities.flatMap((localities) => localities.flatMap(({ draining = [] }) => draining))
  /** ★ Above the priorities: a session stays where it is, whichever of them is in use (A75). */
  const withSessions = (among: Configured, mark: (endpoint: Endpoint) => Endpoint): Configured =>
    sessions
      ? OverrideHost.policy.with({
          ...(cluster.sessions ?? OverrideHost.standard),
          endpoints: [...weighed.flat(), ...draining].map(mark),
          child: among
        })
      : among
  const config =
    outlierDetection === undefined
      ? child((endpoint) => endpoint)
      : OutlierDetection.policy.with({ settings: outlierDetection, endpoints: weighed.flat(), child })
  return [{ ...self, named, names, missing: missingOf(cluster.name, priorities, note) }, config]
}

/** Which localities are without endpoints, of all priorities or of some. */
const missingOf = (name: string, priorities: ReadonlyArray<ReadonlyArray<Locality>>, note: string): string => {
  const what = `cluster ${JSON.stringify(name)}`
  const empty = priorities.flatMap((localities, index) =>
    localities.every(({ endpoints }) => endpoints.length === 0) ? [{ index, localities }] : []
  )
  if (empty.length === 0) return note
  if (empty.length === priorities.length && note !== "") return note
  const places = empty.map(({ index, localities }) => {
    const names = localities.slice(0, maxNamed).map((locality) => JSON.stringify(Localities.wordsOf(locality.name)))
    if (localities.length > maxNamed) names.push("and more")
    return `priority ${index} (${localities.length === 0 ? "no locality" : `locality ${names.join(", ")}`})`
  })
  const rest = empty.length === priorities.length ? "" : "; those of other priorities cannot be connected to"
  return `${what} has no endpoints that can be used in ${places.slice(0, maxNamed).join(", ")}${rest}`
}

/** Localities and priorities in a message. */
const maxNamed = 3

/** ★ A priority that gets no calls has no child: that one would connect. */
const amongPriorities = (priorities: Priority.Config["priorities"], shares: Assignment["shares"]): Configured =>
  shares === undefined
    ? Priority.policy.with({ priorities })
    : WeightedTarget.policy.with({
        targets: new Map(
          priorities.flatMap(({ name, ...rest }, index) => {
            const weight = shares[index] ?? 0
            return weight > 0 ? [[name, { ...rest, weight }] as const] : []
          })
        )
      })

const dropsOf = (assignment: Assignment | undefined): Assignment["drops"] => assignment?.drops ?? []

/** ★ The share of priorities whose calls are to fail is no other's: those would be overloaded, too. If it is all, nobody is there. */
const failingOf = (groups: Healths["groups"], shares: ReadonlyArray<number>): Assignment["drops"] => {
  let [failing, all] = [0, 0]
  for (const [index, { fails }] of groups.entries()) {
    const share = shares[index] ?? 0
    all += share
    if (fails) failing += share
  }
  if (failing === 0 || failing === all) return []
  return [{ category: "fail_traffic_on_panic", numerator: Math.round((1_000_000 * failing) / all) }]
}

/** ★ Calls of a cluster that is not there never wait: they would hold it for ever. */
const gone = (message: string): Picker => ({ _tag: "Drop", status: Status.unavailable("Resource", message) })

/**
 * Policies of clusters, by their names, and what they were made of.
 *
 * @since 0.1.0
 */
export type Made = ReadonlyMap<string, { readonly given: Given; readonly child: Configured }>

/**
 * The policies of clusters: ★ those of before, the same values, where nothing has changed. Each holds no more of the clusters than it
 * needs: what was made long ago does not keep what there was then.
 *
 * @since 0.1.0
 */
export const all = (
  before: Made,
  names: Iterable<string>,
  { clusters, sessions }: Pick<Config, "clusters" | "sessions">
): Made => {
  const made = new Map<string, { readonly given: Given; readonly child: Configured }>()
  for (const cluster of names) {
    const given = givenOf({ cluster, clusters, sessions })
    const known = before.get(cluster)
    if (known !== undefined && isSame(known.given, given)) {
      made.set(cluster, known)
      continue
    }
    const needed = new Map<string, ClusterConfig>()
    const [own] = given.parts
    for (const name of own?._tag === "Aggregate" ? [cluster, ...own.leaves] : [cluster]) {
      const config = clusters.get(name)
      if (config !== undefined) needed.set(name, config)
    }
    made.set(cluster, { given, child: policy.with({ cluster, clusters: needed, sessions }) })
  }
  return made
}

const givenOf = ({ cluster, clusters, isCalm = false, loads, sessions = false }: Config): Given => {
  const config = clusters.get(cluster)
  const leaves = config?._tag === "Aggregate" ? config.leaves.map((leaf) => clusters.get(leaf)) : []
  return { cluster, sessions, isCalm, loads, parts: [config, ...leaves] }
}

const isSame = (a: Given, b: Given): boolean =>
  a.cluster === b.cluster &&
  a.sessions === b.sessions &&
  a.isCalm === b.isCalm &&
  SameData.isSame(a.loads, b.loads) &&
  a.parts.length === b.parts.length &&
  a.parts.every((part, index) => part === b.parts[index])

const configOf = (self: State, given: Given, { cluster, clusters }: Config): readonly [State, Configured | Picker] => {
  const config = clusters.get(cluster)
  if (config === undefined) return [self, gone(`cluster ${JSON.stringify(cluster)} is not there`)]
  if (config._tag === "Failed") return [self, gone(config.message)]
  if (config._tag === "Leaf") return leafOf(self, config, given)
  // Policy, drops and limits are those of the leaves.
  const { sessions } = given
  const { discovery } = config.cluster
  const assignments = config.leaves.map((leaf) => {
    const known = clusters.get(leaf)
    return known?._tag === "Leaf" ? known.assignment : undefined
  })
  const totals = assignments.map((assignment) => assignment?.health?.total ?? 0)
  const inTurn = config.leaves.map((leaf, at) => ({
    name: leaf,
    child: policy.with({ cluster: leaf, clusters, sessions, isCalm: AggregateLeaves.isCalm(totals, at) }),
    endpoints: []
  }))
  const next = { ...self, missing: "" }
  // ★ A draw for each call would take sessions from one leaf to another.
  if (sessions || !assignments.some((assignment) => assignment?.health !== undefined)) {
    return [next, Priority.policy.with({ priorities: inTurn })]
  }
  const { leaves, total } = AggregateLeaves.loadOf(
    assignments.map((assignment) => assignment?.health?.tallies ?? []),
    discovery._tag === "Aggregate" ? discovery.panicThreshold : undefined
  )
  const targets = new Map<string, WeightedTarget.Target>()
  for (const [at, leaf] of config.leaves.entries()) {
    const loads = leaves[at] ?? []
    const weight = loads.reduce((sum, { degraded, healthy }) => sum + healthy + degraded, 0)
    if (weight === 0) continue
    const child = policy.with({ cluster: leaf, clusters, isCalm: total === 100, loads: withinLeaf(loads) })
    targets.set(leaf, { weight, child, endpoints: [] })
  }
  const rest = inTurn.filter(({ name }) => !targets.has(name)).map((each) => ({ ...each, name: `rest ${each.name}` }))
  const first = { name: "shares", child: WeightedTarget.policy.with({ targets }), endpoints: [] }
  return [next, Priority.policy.with({ priorities: targets.size === 0 ? rest : [first, ...rest] })]
}

/** ★ What one group alone gets of a leaf's calls is all, whatever the leaf gets: the leaf hears nothing of who is well in others. */
const withinLeaf = (loads: ReadonlyArray<Shares>): ReadonlyArray<Shares> => {
  const given = loads.flatMap(({ degraded, healthy }) => [healthy, degraded]).filter((share) => share > 0)
  const within = (share: number): number => (given.length === 1 && share > 0 ? 100 : share)
  return loads.map(({ degraded, healthy }) => ({ healthy: within(healthy), degraded: within(degraded) }))
}

/** ★ What is missing is told in the user's words: a policy does not know its cluster. */
const worded = (picker: Picker, missing: string): Picker => {
  if (missing === "") return picker
  if (picker._tag === "Observed") {
    const child = worded(picker.child, missing)
    return child === picker.child ? picker : { ...picker, child }
  }
  if (picker._tag === "Weighted") {
    return { ...picker, targets: picker.targets.map((share) => ({ ...share, child: worded(share.child, missing) })) }
  }
  return picker._tag === "Fail" && picker.status.reason === "NoEndpoint" ? Pickers.fail("NoEndpoint", missing) : picker
}

const tell = ({ failure, heard, missing, updating }: State): ReadonlyArray<Output> => {
  if (updating) return nothing
  if (failure !== undefined) return [{ _tag: "State", state: "TRANSIENT_FAILURE", picker: failure }]
  if (heard === undefined) return nothing
  return [{ _tag: "State", state: heard.state, picker: worded(heard.picker, missing) }]
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define<Config, State>({
  name: "cds_experimental",
  make: () => ({
    given: undefined,
    named: [],
    names: 0,
    hasChild: false,
    failure: undefined,
    missing: "",
    heard: undefined,
    updating: false
  }),
  step: (self, input) => {
    switch (input._tag) {
      case "Config": {
        // Of a change elsewhere nothing below hears: it would be as much work as all clusters have endpoints.
        const given = givenOf(input.config)
        if (self.given !== undefined && isSame(self.given, given)) return [self, nothing]
        const [next, made] = configOf({ ...self, given }, given, input.config)
        if ("_tag" in made) {
          const outputs: ReadonlyArray<Output> = self.hasChild ? [{ _tag: "Remove", name: child }] : nothing
          return [{ ...next, hasChild: false, failure: made, heard: undefined, updating: true }, outputs]
        }
        const _tag = self.hasChild ? "Update" : "Create"
        return [
          { ...next, hasChild: true, failure: undefined, updating: true },
          [{ _tag, name: child, child: made, endpoints: [] }]
        ]
      }
      case "Configured":
        return self.updating ? OneChild.hear(self, input, tell) : [self, nothing]
      case "ChildState":
        return OneChild.hear(self, input, tell)
      case "ExitIdle":
        return [self, self.hasChild ? [{ _tag: "ExitIdle", name: child }] : nothing]
      case "Connection":
      case "Outcomes":
      case "Sessions":
      case "Deadline":
        return [self, nothing]
    }
  },
  deadline: () => Number.POSITIVE_INFINITY
})
