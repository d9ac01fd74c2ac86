/**
 * A tree of load-balancing policies: it gives each its inputs, carries out what they want of their children, and tells the
 * state and the picker of the whole.
 *
 * A child whose policy is exchanged is built beside the old one, which is used until the new one leaves CONNECTING or the
 * old one is not READY.
 *
 * @see https://github.com/grpc/proposal/blob/master/A75-xds-aggregate-cluster-behavior-fixes.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Connectivity } from "./Connectivity.js"
import type { Address, Endpoint } from "./Endpoint.js"
import type { Picker } from "./Picker.js"
import { queue } from "./Picker.js"
import type { Configured, Context, Definition, Input as PolicyInput, Output as PolicyOutput } from "./Policy.js"

/**
 * A policy in its place.
 *
 * @since 0.1.0
 */
export interface Node {
  /** The way from the root: names of children, each as in a URL; `~2` and so on where a policy was exchanged. */
  readonly id: string
  readonly policy: Definition
  readonly state: unknown
  readonly children: HashMap.HashMap<string, Slot>
  /** What it said last. */
  readonly told: Told | undefined
  /** Connections that it wants itself. */
  readonly wanted: ReadonlySet<Address>
  /** The earliest of its own and of its children's, in milliseconds. */
  readonly deadline: number
  /** The earliest of its children's. */
  readonly below: number
  /** How many policies its children had in all, to tell those apart that have one name. */
  readonly exchanged: number
}

/**
 * What a policy said: its state and its picker.
 *
 * @since 0.1.0
 */
export interface Told {
  readonly state: Connectivity
  readonly picker: Picker
}

/**
 * A child: the policy in use, and the one that is to follow it.
 *
 * @since 0.1.0
 */
export interface Slot {
  readonly current: Node
  readonly pending: Node | undefined
}

/**
 * A connection, which nodes share that want the same address.
 *
 * @since 0.1.0
 */
export interface Shared {
  readonly state: Connectivity
  /** The ids of the nodes. */
  readonly nodes: ReadonlySet<string>
}

/**
 * A tree. Plain data, but for the policies themselves.
 *
 * @since 0.1.0
 */
export interface Tree {
  readonly root: Slot | undefined
  /** Connections that nodes want. */
  readonly connections: HashMap.HashMap<Address, Shared>
  readonly exchanged: number
}

/**
 * What happens to a tree.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Config"; readonly config: Configured; readonly endpoints: ReadonlyArray<Endpoint> }
  | (PolicyInput<never> & { readonly _tag: "Connection" })
  /** A pick wants the policy at this node to connect; `undefined`: the whole channel is to. */
  | { readonly _tag: "Wake"; readonly node: string | undefined }
  | (PolicyInput<never> & { readonly _tag: "Outcomes" } & {
      /** The node of the `Observed` picker that picked the calls. */
      readonly node: string
    })
  | (PolicyInput<never> & { readonly _tag: "Sessions" } & {
      /** The node of the `Session` picker. */
      readonly node: string
    })
  | { readonly _tag: "Deadline" }
  /** The channel is closed. */
  | { readonly _tag: "Close" }

/**
 * What a tree wants.
 *
 * @since 0.1.0
 */
export type Output =
  | { readonly _tag: "State"; readonly state: Connectivity; readonly picker: Picker }
  /** Connect, again where it failed. `Disconnect`: nobody needs it; calls on it go on. */
  | { readonly _tag: "Connect" | "Disconnect"; readonly address: Address }
  /** The addresses under this node may be old. */
  | { readonly _tag: "ReResolve"; readonly node: string }

/**
 * No policy yet: calls wait.
 *
 * @since 0.1.0
 */
export const empty: Tree = { root: undefined, connections: HashMap.empty(), exchanged: 0 }

const never = Number.POSITIVE_INFINITY

/**
 * When the tree wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ root }: Tree): number => (root === undefined ? never : deadlineOf(root))

/**
 * The state and the picker of the whole; before the first, calls wait.
 *
 * @since 0.1.0
 */
export const told = ({ root }: Tree): Told => root?.current.told ?? { state: "CONNECTING", picker: queue }

const deadlineOf = ({ current, pending }: Slot): number => Math.min(current.deadline, pending?.deadline ?? never)

/** One step of a tree: what it collects. */
interface Run {
  readonly context: Context
  readonly outputs: Array<Output>
  /** ★ Changed in place: they are this step's until it is over. */
  readonly connections: HashMap.HashMap<Address, Shared>
}

/**
 * A node while an input is carried out, made once for all that comes of the input. ★ Its children are changed in place, and share
 * with those of before what is not changed: a node with thousands of children is not copied because one of them has news.
 */
type Draft = { -readonly [Key in keyof Omit<Node, "deadline">]: Node[Key] } & {
  readonly children: HashMap.HashMap<string, Slot>
  readonly wanted: Set<Address>
  /** A child that was the earliest is not any more. */
  isStale: boolean
}

/** A node after a step, and what it said in it, in order. */
interface Fed {
  readonly node: Node
  readonly said: ReadonlyArray<Told>
}

/** A slot after a step, and what its parent is to be told. */
interface FedSlot {
  readonly slot: Slot
  readonly said: ReadonlyArray<Told>
}

const quiet: ReadonlyArray<Told> = []

/**
 * Takes one input. Total, as far as the policies are.
 *
 * @since 0.1.0
 */
export const step = (self: Tree, input: Input, context: Context): readonly [Tree, ReadonlyArray<Output>] => {
  const connections = HashMap.beginMutation(self.connections)
  const isConnected = (address: Address): boolean => sharedOf(connections, address)?.state === "READY"
  const { draw, now, rings } = context
  const run: Run = { context: { now, draw, isConnected, rings }, outputs: [], connections }
  let { exchanged, root } = self
  let said = quiet
  if (input._tag === "Close") {
    if (root !== undefined) removeSlot(run, root)
    root = undefined
  } else if (input._tag === "Config") {
    const fed = configureSlot(run, root, "", ++exchanged, input.config, input.endpoints)
    root = fed.slot
    said = fed.said
  } else if (root !== undefined) {
    if (input._tag === "Connection") {
      const shared = sharedOf(connections, input.address)
      if (shared !== undefined) HashMap.set(connections, input.address, { ...shared, state: input.state })
    }
    const fed = visitSlot(run, root, input)
    root = fed.slot
    said = fed.said
  }
  const last = said.at(-1)
  if (last !== undefined) run.outputs.push({ _tag: "State", ...last })
  return [{ root, connections: HashMap.endMutation(connections), exchanged }, run.outputs]
}

const sharedOf = (connections: HashMap.HashMap<Address, Shared>, address: Address): Shared | undefined =>
  Option.getOrUndefined(HashMap.get(connections, address))

const childOf = ({ children }: Pick<Node, "children">, name: string): Slot | undefined =>
  Option.getOrUndefined(HashMap.get(children, name))

const makeNode = (policy: Definition, id: string): Node => ({
  id,
  policy,
  state: policy.make(id),
  children: HashMap.empty(),
  told: undefined,
  wanted: new Set(),
  deadline: never,
  below: never,
  exchanged: 0
})

const open = ({ below, children, exchanged, id, policy, state, told, wanted }: Node): Draft => ({
  id,
  policy,
  state,
  children: HashMap.beginMutation(children),
  told,
  wanted: new Set(wanted),
  below,
  exchanged,
  isStale: false
})

const close = (draft: Draft): Node => {
  const { exchanged, id, policy, state, told, wanted } = draft
  const children = HashMap.endMutation(draft.children)
  let { below } = draft
  if (draft.isStale) {
    below = never
    for (const slot of HashMap.values(children)) below = Math.min(below, deadlineOf(slot))
  }
  const deadline = Math.min(below, policy.deadline(state))
  return { id, policy, state, children, told, wanted, deadline, below, exchanged }
}

/** Puts a child in its place, or takes it away. */
const place = (node: Draft, name: string, slot: Slot | undefined): void => {
  const before = childOf(node, name)
  const due = slot === undefined ? never : deadlineOf(slot)
  if (due <= node.below) node.below = due
  else if (before !== undefined && deadlineOf(before) <= node.below) node.isStale = true
  if (slot === undefined) HashMap.remove(node.children, name)
  else HashMap.set(node.children, name, slot)
}

/** Gives a policy inputs, one after the other. */
const feedAll = (run: Run, node: Node, inputs: ReadonlyArray<Parameters<Definition["step"]>[1]>): Fed => {
  const draft = open(node)
  const said: Array<Told> = []
  for (const input of inputs) feed(run, draft, input, said)
  return { node: close(draft), said }
}

/** Gives a policy its config; what its children say meanwhile becomes one state. */
const configure = (run: Run, node: Node, config: Configured, endpoints: ReadonlyArray<Endpoint>): Fed =>
  feedAll(run, node, [{ _tag: "Config", config, endpoints }, { _tag: "Configured" }])

/** @param said what the policy says is added */
const feed = (run: Run, node: Draft, input: Parameters<Definition["step"]>[1], said: Array<Told>): void => {
  const [state, outputs] = node.policy.step(node.state, input, run.context)
  node.state = state
  // ★ What the policy says now comes first: a child that is made, or a connection that is there already, is heard at once,
  // and what the policy says to that comes after.
  const order = [...outputs.filter(({ _tag }) => _tag === "State"), ...outputs.filter(({ _tag }) => _tag !== "State")]
  for (const output of order) carryOut(run, node, output, said)
}

const carryOut = (run: Run, node: Draft, output: PolicyOutput, said: Array<Told>): void => {
  switch (output._tag) {
    case "State":
      node.told = { state: output.state, picker: output.picker }
      said.push(node.told)
      return
    case "Create":
    case "Update": {
      const { child, endpoints, name } = output
      const exchanged = ++node.exchanged
      const id = `${node.id}/${encodeURIComponent(name)}`
      const fed = configureSlot(run, childOf(node, name), id, exchanged, child, endpoints)
      return hear(run, node, name, fed, said)
    }
    case "ExitIdle": {
      const slot = childOf(node, output.name)
      if (slot === undefined) return
      const inUse = feedAll(run, slot.current, [{ _tag: "ExitIdle" }])
      return hear(run, node, output.name, chooseInUse(run, { ...slot, current: inUse.node }, inUse.said, quiet), said)
    }
    case "Remove": {
      const slot = childOf(node, output.name)
      if (slot === undefined) return
      removeSlot(run, slot)
      return place(node, output.name, undefined)
    }
    case "Connect":
      if (node.wanted.has(output.address)) return
      node.wanted.add(output.address)
      return want(run, node, output.address, said)
    case "Disconnect":
      if (node.wanted.delete(output.address)) unwant(run, node.id, output.address)
      return
    case "ReResolve":
      run.outputs.push({ _tag: "ReResolve", node: node.id })
  }
}

/** Puts a child in its place and tells its parent what it said. */
const hear = (run: Run, node: Draft, name: string, { said, slot }: FedSlot, all: Array<Told>): void => {
  place(node, name, slot)
  for (const told of said) feed(run, node, { _tag: "ChildState", name, ...told }, all)
}

const configureSlot = (
  run: Run,
  slot: Slot | undefined,
  id: string,
  exchanged: number,
  config: Configured,
  endpoints: ReadonlyArray<Endpoint>
): FedSlot => {
  if (slot === undefined) {
    const { node, said } = configure(run, makeNode(config.policy, id), config, endpoints)
    return { slot: { current: node, pending: undefined }, said }
  }
  const { current, pending } = slot
  if (current.policy === config.policy) {
    if (pending !== undefined) removeNode(run, pending)
    const { node, said } = configure(run, current, config, endpoints)
    return { slot: { current: node, pending: undefined }, said }
  }
  if (pending !== undefined && pending.policy !== config.policy) removeNode(run, pending)
  const before = pending?.policy === config.policy ? pending : makeNode(config.policy, `${id}~${exchanged}`)
  const { node, said } = configure(run, before, config, endpoints)
  return chooseInUse(run, { current, pending: node }, quiet, said)
}

/** Decides which of two policies is in use, after either of them said something. */
const chooseInUse = (run: Run, slot: Slot, current: ReadonlyArray<Told>, pending: ReadonlyArray<Told>): FedSlot => {
  if (slot.pending === undefined) return { slot, said: current }
  const isUsed = slot.current.told?.state === "READY"
  const isReady = slot.pending.told !== undefined && slot.pending.told.state !== "CONNECTING"
  if (isUsed && !isReady) return { slot, said: current }
  removeNode(run, slot.current)
  const { told } = slot.pending
  return {
    slot: { current: slot.pending, pending: undefined },
    said: pending.length > 0 ? pending : told === undefined ? quiet : [told]
  }
}

/** Gives an input to those nodes that it is for. */
const visitSlot = (run: Run, slot: Slot, input: Exclude<Input, { readonly _tag: "Config" | "Close" }>): FedSlot => {
  const current = visit(run, slot.current, input)
  const pending = slot.pending === undefined ? undefined : visit(run, slot.pending, input)
  const next = { current: current.node, pending: pending?.node }
  return chooseInUse(run, next, current.said, pending?.said ?? quiet)
}

const isFor = (run: Run, { id }: Draft, input: Exclude<Input, { readonly _tag: "Config" | "Close" }>): boolean => {
  switch (input._tag) {
    case "Connection":
      return sharedOf(run.connections, input.address)?.nodes.has(id) === true
    case "Wake":
      return input.node === undefined || input.node === id
    case "Outcomes":
    case "Sessions":
      return input.node === id
    case "Deadline":
      return true
  }
}

const mayBeBelow = (
  run: Run,
  { current, pending }: Slot,
  input: Exclude<Input, { readonly _tag: "Config" | "Close" }>
): boolean => {
  if (input._tag === "Deadline") return Math.min(current.deadline, pending?.deadline ?? never) <= run.context.now
  const isUnder = (id: string) =>
    [current, pending].some((node) => node !== undefined && (id === node.id || id.startsWith(`${node.id}/`)))
  if (input._tag === "Outcomes" || input._tag === "Sessions") return isUnder(input.node)
  if (input._tag === "Wake") return input.node !== undefined && isUnder(input.node)
  for (const id of sharedOf(run.connections, input.address)?.nodes ?? []) if (isUnder(id)) return true
  return false
}

/** Names of the children that an input may be for. */
const namesFor = (
  run: Run,
  { below, children, id }: Node,
  input: Exclude<Input, { readonly _tag: "Config" | "Close" }>
): Iterable<string> => {
  switch (input._tag) {
    case "Connection":
      return namesAbove(id, sharedOf(run.connections, input.address)?.nodes ?? [])
    case "Wake":
      return input.node === undefined ? [] : namesAbove(id, [input.node])
    case "Outcomes":
    case "Sessions":
      return namesAbove(id, [input.node])
    case "Deadline":
      return below > run.context.now ? [] : Array.from(HashMap.keys(children))
  }
}

/** Which children of a node stand above other nodes, or are them: it is in the ids. */
const namesAbove = (id: string, others: Iterable<string>): Iterable<string> => {
  const names = new Set<string>()
  for (const other of others) {
    if (!other.startsWith(`${id}/`)) continue
    const [step = ""] = other.slice(id.length + 1).split("/", 1)
    names.add(decodeURIComponent(step))
    // One that was exchanged; a name may look the same.
    const tilde = step.lastIndexOf("~")
    if (tilde >= 0) names.add(decodeURIComponent(step.slice(0, tilde)))
  }
  return names
}

const visit = (run: Run, node: Node, input: Exclude<Input, { readonly _tag: "Config" | "Close" }>): Fed => {
  const draft = open(node)
  const said: Array<Told> = []
  for (const name of namesFor(run, node, input)) {
    // As it is by now: what a child says may change those after it.
    const slot = childOf(draft, name)
    if (slot === undefined || !mayBeBelow(run, slot, input)) continue
    hear(run, draft, name, visitSlot(run, slot, input), said)
  }
  const isDue = input._tag !== "Deadline" || draft.policy.deadline(draft.state) <= run.context.now
  if (isDue && isFor(run, draft, input)) {
    feed(run, draft, input._tag === "Wake" ? { _tag: "ExitIdle" } : input, said)
  }
  return { node: close(draft), said }
}

/** A node wants a connection: ★ one that another node has is told at once, and one that failed is tried again. */
const want = (run: Run, node: Draft, address: Address, said: Array<Told>): void => {
  const shared = sharedOf(run.connections, address)
  const nodes = new Set([...(shared?.nodes ?? []), node.id])
  if (shared?.state === "READY") {
    HashMap.set(run.connections, address, { ...shared, nodes })
    return feed(run, node, { _tag: "Connection", address, state: "READY", message: "" }, said)
  }
  HashMap.set(run.connections, address, { state: "CONNECTING", nodes })
  if (shared?.state !== "CONNECTING") run.outputs.push({ _tag: "Connect", address })
}

const unwant = (run: Run, id: string, address: Address): void => {
  const shared = sharedOf(run.connections, address)
  if (shared === undefined) return
  const nodes = new Set(shared.nodes)
  nodes.delete(id)
  if (nodes.size > 0) {
    HashMap.set(run.connections, address, { ...shared, nodes })
    return
  }
  HashMap.remove(run.connections, address)
  run.outputs.push({ _tag: "Disconnect", address })
}

const removeSlot = (run: Run, { current, pending }: Slot): void => {
  removeNode(run, current)
  if (pending !== undefined) removeNode(run, pending)
}

const removeNode = (run: Run, node: Node): void => {
  for (const address of node.wanted) unwant(run, node.id, address)
  for (const slot of HashMap.values(node.children)) removeSlot(run, slot)
}
