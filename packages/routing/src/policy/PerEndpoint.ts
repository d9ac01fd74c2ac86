/**
 * What policies do that have a `pick_first` child for each endpoint and use those that are READY.
 *
 * READY if any is, else CONNECTING — an endpoint that is IDLE counts as that and is told to connect —, else failed, until
 * one is READY.
 *
 * @see https://github.com/grpc/proposal/blob/master/A61-IPv4-IPv6-dualstack-backends.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as List from "effect/List"
import type * as Children from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import * as Endpoints from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import * as Pickers from "../Picker.js"
import type { Output, Policy } from "../Policy.js"
import * as EndpointChildren from "./EndpointChildren.js"
import * as PickFirst from "./PickFirst.js"

/**
 * Endpoints that are READY, in their order.
 *
 * @since 0.1.0
 */
export interface Ready<out Each> {
  /** Their places among the endpoints, ascending. */
  readonly places: ReadonlyArray<number>
  /** What the picker has of them. */
  readonly all: ReadonlyArray<Each>
}

/**
 * The state of such a policy. ★ What one endpoint changes of it does not depend on how many there are, but for copies of lists: with
 * thousands each connection that is made or lost would else be a millisecond.
 *
 * @since 0.1.0
 */
export interface State<out Config, out Each> {
  readonly node: string
  readonly config: Config | undefined
  readonly children: EndpointChildren.EndpointChildren
  readonly ready: Ready<Each>
  /** How many are CONNECTING or IDLE. */
  readonly connecting: number
  /** What the failure that was told last does with calls. */
  readonly failure: Picker | undefined
  /** A config is being carried out: what children say is recorded only. */
  readonly updating: boolean
  /** What they said meanwhile, the last first. */
  readonly heard: List.List<Children.Heard>
}

/**
 * What is particular to a policy.
 *
 * @since 0.1.0
 */
export interface Particulars<in Config, in out Each> {
  readonly name: string
  /** What the picker has of an endpoint that is READY, and of its name, which is its own. */
  readonly each: (child: { readonly node: string; readonly picker: Picker }) => Each
  /** The picker over the endpoints that are READY. */
  readonly ready: (config: Config, children: ReadonlyArray<Each>) => Picker
  /** The picker if there are no endpoints. */
  readonly failed: Picker
}

const nothing: ReadonlyArray<Output> = []
const child = PickFirst.policy.with({ heedsEjection: true })

const isConnecting = (state: Connectivity): boolean => state === "CONNECTING" || state === "IDLE"

/** With what there is at a place now; none: without it. */
const changed = <Each>({ all, places }: Ready<Each>, at: number, next: ReadonlyArray<Each>): Ready<Each> => {
  let low = 0
  let high = places.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((places[middle] ?? 0) >= at) high = middle
    else low = middle + 1
  }
  const rest = places[low] === at ? low + 1 : low
  return {
    places: places.slice(0, low).concat(
      next.map(() => at),
      places.slice(rest)
    ),
    all: all.slice(0, low).concat(next, all.slice(rest))
  }
}

/**
 * The policy of these particulars.
 *
 * @since 0.1.0
 */
export const make = <Config, Each>({
  each,
  failed,
  name,
  ready
}: Particulars<Config, Each>): Policy<Config, State<Config, Each>> => {
  type Self = State<Config, Each>

  const eachOf = (node: string, key: string, { picker }: EndpointChildren.Child): Each =>
    each({ node: `${node}/${encodeURIComponent(key)}`, picker })

  const tell = ({ children, config, connecting, failure, ready: found }: Self): ReadonlyArray<Output> => {
    if (found.all.length > 0) {
      return [
        { _tag: "State", state: "READY", picker: config === undefined ? Pickers.queue : ready(config, found.all) }
      ]
    }
    if (connecting > 0) return [{ _tag: "State", state: "CONNECTING", picker: Pickers.queue }]
    const picker = HashMap.size(children) === 0 ? failed : (failure ?? failed)
    return [{ _tag: "State", state: "TRANSIENT_FAILURE", picker }]
  }

  /** All that was said while a config was carried out. */
  const settle = (self: Self): Self => {
    const children = EndpointChildren.record(self.children, self.heard)
    const found: Array<readonly [at: number, each: Each]> = []
    let connecting = 0
    for (const [key, child] of children) {
      if (child.state === "READY") found.push([child.at, eachOf(self.node, key, child)])
      else if (isConnecting(child.state)) connecting++
    }
    found.sort(([a], [b]) => a - b)
    const all = { places: found.map(([at]) => at), all: found.map(([, one]) => one) }
    return { ...self, children, ready: all, connecting, updating: false, heard: List.nil() }
  }

  return {
    name,
    make: (node) => ({
      node,
      config: undefined,
      children: HashMap.empty(),
      ready: { places: [], all: [] },
      connecting: 0,
      failure: undefined,
      updating: false,
      heard: List.nil()
    }),
    step: (self, input) => {
      switch (input._tag) {
        case "Config": {
          const endpoints: ReadonlyMap<string, Endpoint> = Endpoints.byKey(input.endpoints)
          const [children, outputs] = EndpointChildren.update(self.children, endpoints, child, "CONNECTING")
          return [{ ...self, config: input.config, children, updating: true, heard: List.nil() }, outputs]
        }
        case "Configured": {
          const next = settle(self)
          return [next, tell(next)]
        }
        case "ChildState": {
          const before = EndpointChildren.find(self.children, input.name)
          if (before === undefined) return [self, nothing]
          const failure = input.state === "TRANSIENT_FAILURE" ? input.picker : self.failure
          const wake: ReadonlyArray<Output> =
            input.state === "IDLE" ? [{ _tag: "ExitIdle", name: input.name }] : nothing
          if (self.updating) return [{ ...self, failure, heard: List.prepend(self.heard, input) }, wake]
          const said = EndpointChildren.after(before, input)
          const isReady = said.state === "READY"
          const next: Self = {
            ...self,
            failure,
            children: HashMap.set(self.children, input.name, said),
            ready:
              isReady || before.state === "READY"
                ? changed(self.ready, said.at, isReady ? [eachOf(self.node, input.name, said)] : [])
                : self.ready,
            connecting: self.connecting + Number(isConnecting(said.state)) - Number(isConnecting(before.state))
          }
          if (before.state === "CONNECTING" && said.state === "CONNECTING") return [next, wake]
          return [next, [...wake, ...tell(next)]]
        }
        case "ExitIdle":
          return [self, Array.from(HashMap.keys(self.children), (key) => ({ _tag: "ExitIdle", name: key }))]
        case "Connection":
        case "Outcomes":
        case "Sessions":
        case "Deadline":
          return [self, nothing]
      }
    },
    deadline: () => Number.POSITIVE_INFINITY
  }
}
