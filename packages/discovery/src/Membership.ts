/**
 * The set of hosts that a cluster uses, and the one that is warmed beside it: what xDS says of the cluster goes in.
 *
 * ★ A changed cluster is a new set. No health is carried over; the old set is used until the new one is ready.
 *
 * @since 0.1.0
 */
import type { Cluster } from "./Cluster.js"
import type { AssignmentSource } from "./ClusterType.js"
import * as HostSets from "./HostSet.js"
import * as Sets from "./MemberSet.js"

/**
 * A set, and the number that tells it from the others of the cluster.
 *
 * @since 0.1.0
 */
export interface Generation {
  readonly id: number
  readonly set: Sets.MemberSet
}

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface Membership {
  /** `undefined`: there is no set to use. */
  readonly current: Generation | undefined
  /** The one that is warmed. */
  readonly next: Generation | undefined
  /** Why there is no cluster, for people; `undefined`: there is, or nothing is known yet. */
  readonly failure: string | undefined
  /** Sets that ever were. */
  readonly generations: number
}

/**
 * What happens.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Cluster"; readonly cluster: Cluster }
  /** There is no such cluster, or it cannot be used, and nothing older is to be used. */
  | { readonly _tag: "NoCluster"; readonly message: string }
  /** To one of its sets; what is for one that is not there any more is ignored. */
  | { readonly _tag: "Set"; readonly generation: number; readonly input: Sets.Input }
  | { readonly _tag: "Deadline" }

/**
 * What comes of it.
 *
 * @since 0.1.0
 */
export type Output =
  /** A set begins. `assignment`: what it wants to be told of, until it ends. */
  | { readonly _tag: "Begin"; readonly generation: number; readonly assignment: AssignmentSource | undefined }
  | { readonly _tag: "Set"; readonly generation: number; readonly output: Sets.Output }
  /** A set is over: its queries and checks are. */
  | { readonly _tag: "End"; readonly generation: number }
  /** The hosts in use, or what is known of them, have changed. */
  | { readonly _tag: "Changed" }

/**
 * Nothing is known.
 *
 * @since 0.1.0
 */
export const empty: Membership = { current: undefined, next: undefined, failure: undefined, generations: 0 }

/**
 * When it wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ current, next }: Membership): number =>
  Math.min(
    current === undefined ? Number.POSITIVE_INFINITY : Sets.deadline(current.set),
    next === undefined ? Number.POSITIVE_INFINITY : Sets.deadline(next.set)
  )

type Draft = { -readonly [Key in keyof Membership]: Membership[Key] } & {
  readonly outputs: Array<Output>
  readonly context: Sets.Context
  changed: boolean
}

/**
 * Takes one input. Total.
 *
 * @since 0.1.0
 */
export const step = (
  self: Membership,
  input: Input,
  context: Sets.Context
): readonly [Membership, ReadonlyArray<Output>] => {
  const draft: Draft = {
    current: self.current,
    next: self.next,
    failure: self.failure,
    generations: self.generations,
    outputs: [],
    context,
    changed: false
  }
  switch (input._tag) {
    case "Cluster":
      begin(draft, input.cluster)
      break
    case "NoCluster":
      end(draft, draft.next)
      end(draft, draft.current)
      draft.next = undefined
      draft.current = undefined
      draft.failure = input.message
      draft.changed = true
      break
    case "Set":
      give(draft, input.generation, input.input)
      break
    case "Deadline":
      for (const generation of [draft.current, draft.next]) {
        if (generation !== undefined && Sets.deadline(generation.set) <= context.now) give(draft, generation.id, input)
      }
  }
  if (draft.changed) draft.outputs.push({ _tag: "Changed" })
  const { current, failure, generations, next, outputs } = draft
  return [{ current, next, failure, generations }, outputs]
}

const begin = (self: Draft, cluster: Cluster): void => {
  end(self, self.next)
  const id = ++self.generations
  self.next = { id, set: Sets.make(cluster, self.context.now) }
  self.failure = undefined
  self.changed = true
  self.outputs.push({ _tag: "Begin", generation: id, assignment: cluster.type.assignment })
  give(self, id, { _tag: "Start" })
}

const give = (self: Draft, id: number, input: Sets.Input): void => {
  const place = self.next?.id === id ? "next" : "current"
  const generation = self[place]
  if (generation?.id !== id) return
  const [set, outputs] = Sets.step(generation.set, input, self.context)
  self[place] = { id, set }
  // ★ Before what it says: who is told sees the new state.
  for (const output of outputs) self.outputs.push({ _tag: "Set", generation: id, output })
  if (outputs.some(({ _tag }) => _tag === "Ready") && place === "next") {
    end(self, self.current)
    self.current = self.next
    self.next = undefined
    self.changed = true
  }
  const isNews = set.assignment !== generation.set.assignment || outputs.some(({ _tag }) => tells.has(_tag))
  if (isNews || set.discovery.fault !== generation.set.discovery.fault) self.changed = true
}

const tells: ReadonlySet<Sets.Output["_tag"]> = new Set(["Added", "Updated", "Removed", "Ejected", "Returned"])

/** ★ Its connections are drained: the hosts of another set are others, even at the same addresses. */
const end = (self: Draft, generation: Generation | undefined): void => {
  if (generation === undefined) return
  const { id, set } = generation
  if (generation === self.current) {
    for (const { host } of HostSets.inOrder(set.hosts)) {
      self.outputs.push({ _tag: "Set", generation: id, output: { _tag: "Drain", host: host.id, isCut: false } })
    }
  }
  self.outputs.push({ _tag: "End", generation: id })
}
