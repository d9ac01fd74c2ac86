import type { Connectivity } from "@effect-xds/routing/Connectivity"
import type { Endpoint } from "@effect-xds/routing/Endpoint"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import type { Counters, Pick, PickCall, Picker } from "@effect-xds/routing/Picker"
import * as Pickers from "@effect-xds/routing/Picker"
import type { Configured, Definition, Outcomes, Output } from "@effect-xds/routing/Policy"
import { define } from "@effect-xds/routing/Policy"

/** A policy that does nothing: a child whose words the test says itself. */
export const silent: Configured = define<string, null>({
  name: "silent",
  make: () => null,
  step: (self) => [self, []],
  deadline: () => Number.POSITIVE_INFINITY
}).with("")

/** A picker that can be told from others: its calls fail with its name. */
export const named = (name: string): Picker => Pickers.fail("Resource", name)

export const callWith = (call: Partial<PickCall> = {}): PickCall => ({
  path: "/s/m",
  headers: CallHeaders.empty,
  draw: () => 0,
  cluster: "",
  hash: undefined,
  ...call
})

/** Counters of a process with these calls, to which picks add none. */
export const counters = (calls: Readonly<Record<string, number>> = {}): Counters => ({
  calls: (name) => ({ value: calls[name] ?? 0, isForgotten: false }),
  compiled: new WeakMap()
})

/** What a pick comes to, in a word. */
export const outcome = (pick: Pick): string => {
  switch (pick._tag) {
    case "Complete":
      return pick.address
    case "Queue":
      return pick.wake === undefined ? "queue" : `wake ${pick.wake}`
    case "Connect":
      return `connect ${pick.address}`
    case "Fail":
      return pick.status.message
    case "Drop":
      return `drop: ${pick.status.reason}`
  }
}

/** A policy that is stepped by hand. */
export class Steps {
  state: unknown
  outputs: ReadonlyArray<Output> = []
  now = 0
  draw: (n: number) => number = () => 0
  isConnected: (address: string) => boolean = () => false

  constructor(
    readonly policy: Definition,
    node = "root"
  ) {
    this.state = policy.make(node)
  }

  private step(input: Parameters<Definition["step"]>[1]): this {
    const { draw, isConnected, now } = this
    const [state, outputs] = this.policy.step(this.state, input, { now, draw, isConnected })
    this.state = state
    this.outputs = outputs
    return this
  }

  /** A config; the outputs are those of all of it. */
  config(config: Configured, endpoints: ReadonlyArray<Endpoint> = []): this {
    const { outputs } = this.step({ _tag: "Config", config, endpoints })
    this.step({ _tag: "Configured" })
    this.outputs = [...outputs, ...this.outputs]
    return this
  }

  child(name: string, state: Connectivity, picker: Picker = named(`${name} ${state}`)): this {
    return this.step({ _tag: "ChildState", name, state, picker })
  }

  connection(address: string, state: Connectivity, message = "refused"): this {
    return this.step({ _tag: "Connection", address, state, message })
  }

  /** Nothing says how to connect to an address. */
  held(address: string): this {
    return this.step({ _tag: "Connection", address, state: "TRANSIENT_FAILURE", message: "no way", isHeld: true })
  }

  outcomes(outcomes: ReadonlyMap<string, Outcomes>): this {
    return this.step({ _tag: "Outcomes", outcomes })
  }

  /** Addresses that sessions name, and when the last call came. */
  sessions(used: Readonly<Record<string, number>>): this {
    return this.step({ _tag: "Sessions", used: new Map(Object.entries(used)) })
  }

  exitIdle(): this {
    return this.step({ _tag: "ExitIdle" })
  }

  /** Time goes on; what is due is done. */
  at(now: number): this {
    this.now = now
    return now >= this.policy.deadline(this.state) ? this.step({ _tag: "Deadline" }) : this.clear()
  }

  private clear(): this {
    this.outputs = []
    return this
  }

  /** The outputs of the last step, in words. */
  get said(): ReadonlyArray<string> {
    return this.outputs.map((output) => {
      switch (output._tag) {
        case "State":
          return `State ${output.state}`
        case "Create":
        case "Update":
        case "ExitIdle":
        case "Remove":
          return `${output._tag} ${output.name}`
        case "Connect":
        case "Disconnect":
          return `${output._tag} ${output.address}`
        case "ReResolve":
          return output._tag
      }
    })
  }

  /** The state that was told in the last step. */
  get told(): { readonly state: Connectivity; readonly picker: Picker } | undefined {
    return this.outputs.findLast((output) => output._tag === "State")
  }
}
