/**
 * What policies do that have a `pick_first` child for each endpoint and use those that are READY.
 *
 * READY if any is, else CONNECTING — an endpoint that is IDLE counts as that and is told to connect —, else failed, until
 * one is READY.
 *
 * @see https://github.com/grpc/proposal/blob/master/A61-IPv4-IPv6-dualstack-backends.md
 * @since 0.1.0
 */
import * as List from "effect/List"
import * as Children from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import * as Connectivities from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import * as Endpoints from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import * as Pickers from "../Picker.js"
import type { Output, Policy } from "../Policy.js"
import * as PickFirst from "./PickFirst.js"

/**
 * An endpoint and what its connection says.
 *
 * @since 0.1.0
 */
export interface Child {
  /** ★ Sticky: a failure counts until READY. */
  readonly state: Connectivity
  readonly picker: Picker
}

/**
 * The state of such a policy.
 *
 * @since 0.1.0
 */
export interface State<out Config> {
  readonly node: string
  readonly config: Config | undefined
  /** By what tells endpoints apart; one whose addresses are those of another is that other. */
  readonly children: ReadonlyMap<string, Child>
  /** What the failure that was told last does with calls. */
  readonly failure: Picker | undefined
  readonly said: Connectivity | undefined
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
export interface Particulars<in Config> {
  readonly name: string
  /** The picker over the endpoints that are READY, each with a name that is its own. */
  readonly ready: (
    config: Config,
    children: ReadonlyArray<{ readonly node: string; readonly picker: Picker }>
  ) => Picker
  /** The picker if there are no endpoints. */
  readonly failed: Picker
}

const nothing: ReadonlyArray<Output> = []
const child = PickFirst.policy.with({ heedsEjection: true })

/**
 * The policy of these particulars.
 *
 * @since 0.1.0
 */
export const make = <Config>({ failed, name, ready }: Particulars<Config>): Policy<Config, State<Config>> => {
  const tell = (self: State<Config>): readonly [State<Config>, ReadonlyArray<Output>] => {
    const { children, config, node } = self
    const states = Array.from(children.values(), (each) => (each.state === "IDLE" ? "CONNECTING" : each.state))
    const state = Connectivities.aggregate(states)
    let picker = Pickers.queue
    if (state === "READY" && config !== undefined) {
      const found = Array.from(children).filter(([, each]) => each.state === "READY")
      const named = found.map(([key, each]) => ({ node: `${node}/${encodeURIComponent(key)}`, picker: each.picker }))
      picker = ready(config, named)
    } else if (state === "TRANSIENT_FAILURE") {
      picker = children.size === 0 ? failed : (self.failure ?? failed)
    }
    return [{ ...self, said: state }, [{ _tag: "State", state, picker }]]
  }
  return {
    name,
    make: (node) => ({
      node,
      config: undefined,
      children: new Map(),
      failure: undefined,
      said: undefined,
      updating: false,
      heard: List.nil()
    }),
    step: (self, input) => {
      switch (input._tag) {
        case "Config": {
          const endpoints: ReadonlyMap<string, Endpoint> = Endpoints.byKey(input.endpoints)
          const children = new Map<string, Child>()
          const outputs: Array<Output> = []
          for (const [key, endpoint] of endpoints) {
            const before = self.children.get(key)
            children.set(key, before ?? { state: "CONNECTING", picker: Pickers.queue })
            const output = before === undefined ? "Create" : "Update"
            outputs.push({ _tag: output, name: key, child, endpoints: [endpoint] })
          }
          for (const key of self.children.keys()) if (!endpoints.has(key)) outputs.push({ _tag: "Remove", name: key })
          return [{ ...self, config: input.config, children, updating: true, heard: List.nil() }, outputs]
        }
        case "Configured":
          return tell({
            ...self,
            children: Children.record(self.children, self.heard),
            updating: false,
            heard: List.nil()
          })
        case "ChildState": {
          const before = self.children.get(input.name)
          if (before === undefined) return [self, nothing]
          const failure = input.state === "TRANSIENT_FAILURE" ? input.picker : self.failure
          const wake: ReadonlyArray<Output> =
            input.state === "IDLE" ? [{ _tag: "ExitIdle", name: input.name }] : nothing
          if (self.updating) return [{ ...self, failure, heard: List.prepend(self.heard, input) }, wake]
          const children = Children.record(self.children, List.of(input))
          const next = { ...self, children, failure }
          const state = Connectivities.sticky(before.state, input.state)
          if (before.state === state && state === "CONNECTING") return [next, wake]
          const [told, outputs] = tell(next)
          return [told, [...wake, ...outputs]]
        }
        case "ExitIdle":
          return [self, Array.from(self.children.keys(), (key) => ({ _tag: "ExitIdle", name: key }))]
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
