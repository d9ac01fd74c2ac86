/**
 * A channel: resources, connections and calls go in; what to watch, what to connect and where each call goes come out. It
 * joins the configuration, the policies and the calls that wait, and does no I/O itself.
 *
 * @see https://github.com/grpc/proposal/blob/master/A31-xds-timeout-support-and-config-selector.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { CallCounters } from "./CallCounters.js"
import type { CallHeaders } from "./CallHeaders.js"
import type { CallStatus } from "./CallStatus.js"
import * as Status from "./CallStatus.js"
import * as ClusterHolds from "./ClusterHolds.js"
import type { Selected } from "./ConfigSelector.js"
import * as ConfigSelector from "./ConfigSelector.js"
import type { Connectivity } from "./Connectivity.js"
import type { Draw } from "./Draw.js"
import type { Address, Endpoint } from "./Endpoint.js"
import * as Endpoints from "./Endpoint.js"
import * as Listeners from "./Listener.js"
import * as PickQueue from "./PickQueue.js"
import type { Context, Outcomes } from "./Policy.js"
import * as Tree from "./Tree.js"
import * as XdsConfig from "./XdsConfig.js"
import * as Cds from "./policy/Cds.js"
import * as ClusterManager from "./policy/ClusterManager.js"
import * as FetchedHost from "./internal/FetchedHost.js"
import * as ScopeTables from "./internal/ScopeTables.js"
import * as RouteScopes from "./RouteScope.js"

/**
 * A call, as it is asked for.
 *
 * @since 0.1.0
 */
export interface Asked {
  /** `/package.Service/Method` */
  readonly path: string
  readonly headers: CallHeaders
  readonly draw: Draw
  /** It waits where others fail. */
  readonly waitForReady: boolean
  /** Milliseconds until the caller's deadline; `undefined`: there is none. */
  readonly timeout: number | undefined
}

/** A call that is not over. */
interface Going {
  readonly asked: Asked
  /** `undefined`: there is no configuration yet. */
  readonly selected: Selected | undefined
  /** Its cluster is held until it picks no more. */
  readonly committed: boolean
  /** Counters that it holds since it was sent. */
  readonly holds: ReadonlyArray<string>
  /** The policy that is to be told what becomes of it, and the endpoint that it was sent to. */
  readonly observed: { readonly node: string; readonly endpoint: Endpoint } | undefined
}

/** What became of a call, as far as its endpoint goes. */
type Outcome = "Succeeded" | "Failed"

/**
 * The state of a channel.
 *
 * @since 0.1.0
 */
export interface Channel {
  readonly id: bigint
  readonly xds: XdsConfig.XdsConfig
  readonly holds: ClusterHolds.ClusterHolds
  readonly tree: Tree.Tree
  readonly queue: PickQueue.PickQueue
  readonly told: XdsConfig.Told | undefined
  /** Policies of clusters, as the tree was given them last. */
  readonly made: Cds.Made
  readonly calls: HashMap.HashMap<number, Going>
  /** What became of calls, by policy and endpoint, until the policies are told: before each `Deadline` and each configuration. */
  readonly outcomes: HashMap.HashMap<string, HashMap.HashMap<string, Outcomes>>
  /** Where calls of sessions went, by policy and address, and when the last one did; told at the same time. */
  readonly sessions: HashMap.HashMap<string, HashMap.HashMap<Address, number>>
}

/**
 * What happens to a channel.
 *
 * @since 0.1.0
 */
export type Input =
  | { readonly _tag: "Xds"; readonly input: XdsConfig.Input }
  | {
      readonly _tag: "Connection"
      readonly address: Address
      readonly state: Connectivity
      /** Why it failed, for people. */
      readonly message: string
      /**
       * Of a failure: not the address has failed, nothing says how to connect to it. It stays wanted, and CONNECTING is told when
       * it is tried. Default: false.
       */
      readonly isHeld?: boolean | undefined
    }
  | { readonly _tag: "Call"; readonly id: number; readonly call: Asked }
  /** Another attempt of a call that was sent: it stays on its route and cluster. `outcome`: of the one before. */
  | { readonly _tag: "Retry"; readonly id: number; readonly outcome?: Outcome | undefined }
  /** A call that was sent picks no more. */
  | { readonly _tag: "Commit"; readonly id: number }
  /** The call is over, for whatever reason. `outcome`: whether its status is OK; none if the caller gave it up. */
  | { readonly _tag: "Over"; readonly id: number; readonly outcome?: Outcome | undefined }
  | { readonly _tag: "Deadline" }
  | { readonly _tag: "Close" }

/**
 * What a channel wants.
 *
 * @since 0.1.0
 */
export type Output =
  | (XdsConfig.Output & { readonly _tag: "Watch" | "Unwatch" | "Refresh" })
  | (Tree.Output & { readonly _tag: "Connect" | "Disconnect" | "ReResolve" })
  | {
      readonly _tag: "Send"
      readonly id: number
      readonly address: Address
      readonly endpoint: Endpoint
      readonly selected: Selected
    }
  | { readonly _tag: "End"; readonly id: number; readonly status: CallStatus }

/**
 * A channel that was not started: give it `Xds` with `Start`.
 *
 * @param name the listener
 * @param authority what the virtual host is chosen by
 * @param id a random number of 64 bits
 * @since 0.1.0
 */
export const make = (name: string, authority: string, id: bigint): Channel => ({
  id,
  xds: XdsConfig.make(name, authority),
  holds: ClusterHolds.empty,
  tree: Tree.empty,
  queue: PickQueue.make(),
  told: undefined,
  made: new Map(),
  calls: HashMap.empty(),
  outcomes: HashMap.empty(),
  sessions: HashMap.empty()
})

/**
 * When the channel wants a `Deadline`, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ tree }: Channel): number => Tree.deadline(tree)

/**
 * What a call waits for that belongs to a scope: a resource that says its routes, or why it has none; `undefined`: nothing of that.
 *
 * @since 0.1.0
 */
export const waitsForRoutes = (
  { calls, told, xds }: Channel,
  id: number
): { readonly kind: XdsConfig.Kind; readonly name: string } | { readonly message: string } | undefined => {
  const going = Option.getOrUndefined(HashMap.get(calls, id))
  if (going === undefined || told?._tag !== "Config" || xds.scoped === undefined) return undefined
  const { routes } = told.config.listener
  const key = routes._tag === "Scoped" ? RouteScopes.keyOf(routes, going.asked.headers) : undefined
  return key === undefined ? undefined : ScopeTables.waitsFor(xds.scoped, key)
}

type Draft = { -readonly [Key in keyof Channel]: Channel[Key] } & {
  readonly outputs: Array<Output>
  readonly context: Context
  readonly counters: CallCounters
}

/**
 * Takes one input.
 *
 * @since 0.1.0
 */
export const step = (
  self: Channel,
  input: Input,
  context: Context,
  counters: CallCounters
): readonly [Channel, ReadonlyArray<Output>] => {
  // Field by field, in each reducer of a call: in Node 20 the copy of a spread object that gets more properties has a shape of its own,
  // which takes sixty times as long to make, and slows down all that look into it.
  const draft: Draft = {
    id: self.id,
    xds: self.xds,
    holds: self.holds,
    tree: self.tree,
    queue: self.queue,
    told: self.told,
    made: self.made,
    calls: self.calls,
    outcomes: self.outcomes,
    sessions: self.sessions,
    outputs: [],
    context,
    counters
  }
  switch (input._tag) {
    case "Xds":
      xds(draft, input.input)
      break
    case "Connection":
      tree(draft, input)
      break
    case "Call":
      put(draft, input.id, { asked: input.call, selected: undefined, committed: false, holds: [], observed: undefined })
      begin(draft, input.id)
      break
    case "Retry": {
      const going = find(draft, input.id)
      if (going === undefined || going.committed) break
      note(draft, going, input.outcome)
      counters.release(going.holds)
      put(draft, input.id, { ...going, holds: [], observed: undefined })
      pick(draft, input.id)
      break
    }
    case "Commit": {
      const going = find(draft, input.id)
      if (going === undefined || going.committed) break
      put(draft, input.id, { ...going, committed: true })
      if (going.selected !== undefined) letGo(draft, going.selected.cluster)
      break
    }
    case "Over":
      note(draft, find(draft, input.id), input.outcome)
      over(draft, input.id)
      break
    case "Deadline":
      tree(draft, { _tag: "Deadline" })
      break
    case "Close":
      for (const id of Array.from(HashMap.keys(draft.calls))) {
        draft.outputs.push({ _tag: "End", id, status: Status.unavailable("Resource", "the channel was closed") })
        over(draft, id)
      }
      tree(draft, { _tag: "Close" })
  }
  const { calls, holds, id, made, outcomes, outputs, queue: waiting, sessions, told, tree: policies } = draft
  return [{ id, xds: draft.xds, holds, tree: policies, queue: waiting, told, made, calls, outcomes, sessions }, outputs]
}

const find = (self: Draft, id: number): Going | undefined => Option.getOrUndefined(HashMap.get(self.calls, id))

const put = (self: Draft, id: number, going: Going): void => {
  self.calls = HashMap.set(self.calls, id, going)
}

const xds = (self: Draft, input: XdsConfig.Input): void => {
  const [next, outputs] = XdsConfig.step(self.xds, input)
  self.xds = next
  for (const output of outputs) {
    if (output._tag === "Config" || output._tag === "Failed") onTold(self, output)
    else self.outputs.push(output)
  }
}

/** ★ The tree is given the configuration first, then calls choose by it. */
const onTold = (self: Draft, told: XdsConfig.Told): void => {
  const before = self.told
  self.told = told
  if (told._tag === "Config" && !isSameTree(told.config, before)) {
    const { scopes, virtualHost } = told.config
    const clusters = scopes?.clusters ?? FetchedHost.clustersOf(virtualHost)
    self.holds = ClusterHolds.step(self.holds, { _tag: "Config", clusters })
    configure(self)
  }
  for (const [id, { selected }] of self.calls) if (selected === undefined) begin(self, id)
}

/** Whether other routes of scopes name the same clusters, which are as they were: that is told for each scope that is used. */
const isSameTree = ({ clusters, listener, scopes }: XdsConfig.Config, before: XdsConfig.Told | undefined): boolean =>
  before?._tag === "Config" &&
  scopes !== undefined &&
  scopes.clusters === before.config.scopes?.clusters &&
  clusters === before.config.clusters &&
  listener === before.config.listener

/** Gives the tree the clusters that can be chosen or are held. */
const configure = (self: Draft): void => {
  if (self.told?._tag !== "Config") return
  const { clusters, listener } = self.told.config
  const sessions = Listeners.hasSessions(listener)
  self.made = Cds.all(self.made, ClusterHolds.clusters(self.holds), { clusters, sessions })
  const children = new Map(Array.from(self.made, ([cluster, { child }]) => [cluster, child]))
  tree(self, { _tag: "Config", config: ClusterManager.policy.with({ children }), endpoints: [] })
}

/** Counts what became of a call, if a policy wants to know. */
const note = (self: Draft, going: Going | undefined, outcome: Outcome | undefined): void => {
  if (going?.observed === undefined || outcome === undefined) return
  const { endpoint, node } = going.observed
  const key = Endpoints.keyOf(endpoint)
  const ofNode = Option.getOrElse(HashMap.get(self.outcomes, node), () => HashMap.empty<string, Outcomes>())
  const { failed, succeeded } = Option.getOrElse(HashMap.get(ofNode, key), () => none)
  const next = outcome === "Succeeded" ? { failed, succeeded: succeeded + 1 } : { failed: failed + 1, succeeded }
  self.outcomes = HashMap.set(self.outcomes, node, HashMap.set(ofNode, key, next))
}

/** Notes that a call of a session went to an address. */
const use = (self: Draft, node: string, address: Address): void => {
  const ofNode = Option.getOrElse(HashMap.get(self.sessions, node), () => HashMap.empty<Address, number>())
  self.sessions = HashMap.set(self.sessions, node, HashMap.set(ofNode, address, self.context.now))
}

const none: Outcomes = { succeeded: 0, failed: 0 }

const tree = (self: Draft, input: Tree.Input): void => {
  if (input._tag === "Config" || input._tag === "Deadline") {
    const { outcomes, sessions } = self
    self.outcomes = HashMap.empty()
    self.sessions = HashMap.empty()
    for (const [node, ofNode] of outcomes) tree(self, { _tag: "Outcomes", node, outcomes: new Map(ofNode) })
    for (const [node, ofNode] of sessions) tree(self, { _tag: "Sessions", node, used: new Map(ofNode) })
  }
  const [next, outputs] = Tree.step(self.tree, input, self.context)
  self.tree = next
  for (const output of outputs) {
    if (output._tag !== "State") self.outputs.push(output)
    else queue(self, { _tag: "Picker", picker: output.picker })
  }
}

const queue = (self: Draft, input: PickQueue.Input): void => {
  const [next, outputs] = PickQueue.step(self.queue, input, self.counters, self.counters.hold)
  self.queue = next
  for (const output of outputs) {
    switch (output._tag) {
      case "Wake":
        tree(self, output)
        break
      case "Connect":
        tree(self, { _tag: "Sessions", node: output.node, used: new Map([[output.address, self.context.now]]) })
        break
      case "End":
        self.outputs.push(output)
        over(self, output.id)
        break
      case "Send": {
        const going = find(self, output.id)
        if (going?.selected === undefined) {
          self.counters.release(output.holds)
          break
        }
        const { address, endpoint, holds, id, observer, session } = output
        if (session !== undefined) use(self, session, address)
        const observed = observer === undefined ? undefined : { node: observer, endpoint }
        put(self, id, { ...going, holds, observed })
        self.outputs.push({ _tag: "Send", id, address, endpoint, selected: going.selected })
      }
    }
  }
}

/** Chooses the route and the cluster of a call, once. */
const begin = (self: Draft, id: number): void => {
  const going = find(self, id)
  // It may have been chosen meanwhile, by what the routes of its scope brought.
  if (going === undefined || going.selected !== undefined || self.told === undefined) return
  const { asked } = going
  const fail = (status: CallStatus): void => {
    self.outputs.push({ _tag: "End", id, status })
    over(self, id)
  }
  if (self.told._tag === "Failed") {
    if (!asked.waitForReady) fail(Status.unavailable("Resource", self.told.message))
    return
  }
  const selected = ConfigSelector.select(self.told.config, self, asked, asked.timeout)
  if (selected._tag === "Waits") return xds(self, { _tag: "Scope", key: selected.key })
  if (selected._tag === "Failed") {
    const isForNow = selected.status.reason === "Resource" && asked.waitForReady
    return isForNow ? undefined : fail(selected.status)
  }
  self.holds = ClusterHolds.step(self.holds, { _tag: "Hold", cluster: selected.cluster })
  xds(self, { _tag: "Subscribe", cluster: selected.cluster })
  put(self, id, { ...going, selected })
  pick(self, id)
}

const pick = (self: Draft, id: number): void => {
  const going = find(self, id)
  if (going?.selected === undefined) return
  const { asked, selected } = going
  const { draw, headers, path, waitForReady } = asked
  const { cluster, hash, session } = selected
  const call = { path, headers, draw, cluster, hash, hosts: session?.hosts }
  queue(self, { _tag: "Call", id, call, waitForReady })
}

/** A call let go of its cluster: if it was the last one, and nobody can choose the cluster, that leaves the tree. */
const letGo = (self: Draft, cluster: string): void => {
  self.holds = ClusterHolds.step(self.holds, { _tag: "Release", cluster })
  xds(self, { _tag: "Unsubscribe", cluster })
  if (!ClusterHolds.has(self.holds, cluster)) configure(self)
}

const over = (self: Draft, id: number): void => {
  const going = find(self, id)
  if (going === undefined) return
  self.calls = HashMap.remove(self.calls, id)
  self.counters.release(going.holds)
  queue(self, { _tag: "Cancel", id })
  if (going.selected !== undefined && !going.committed) letGo(self, going.selected.cluster)
}
