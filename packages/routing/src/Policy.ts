/**
 * Load-balancing policies: the shape that all of them have, ours and anybody's own.
 *
 * A policy is a reducer. It is given its config, its endpoints and what its children say; it says which children it wants,
 * its state and a picker. It makes no connection and keeps no clock: see `Tree` for how policies are joined.
 *
 * @see https://github.com/grpc/proposal/blob/master/A52-xds-custom-lb-policies.md
 * @since 0.1.0
 */
import type { Connectivity } from "./Connectivity.js"
import type { Draw } from "./Draw.js"
import type { Address, Endpoint } from "./Endpoint.js"
import type { Picker } from "./Picker.js"
import type { RingStore } from "./RingStore.js"

/**
 * What happens to a policy.
 *
 * @since 0.1.0
 */
export type Input<Config> =
  | { readonly _tag: "Config"; readonly config: Config; readonly endpoints: ReadonlyArray<Endpoint> }
  /** All that came of a `Config` is done: what children said meanwhile was to be recorded, and is told now, once. */
  | { readonly _tag: "Configured" }
  | {
      readonly _tag: "ChildState"
      readonly name: string
      readonly state: Connectivity
      readonly picker: Picker
    }
  /** A connection that the policy asked for. */
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
  /** What became of calls that an `Observed` picker of this policy picked, since the last time, by `Endpoint.keyOf`. */
  | { readonly _tag: "Outcomes"; readonly outcomes: ReadonlyMap<string, Outcomes> }
  /** Addresses that sessions name and calls went to, or wait for, and when the last one came, in milliseconds. */
  | { readonly _tag: "Sessions"; readonly used: ReadonlyMap<Address, number> }
  /** A call waits: connect. */
  | { readonly _tag: "ExitIdle" }
  /** The time of `deadline` has come. */
  | { readonly _tag: "Deadline" }

/**
 * How many calls of an endpoint succeeded, and how many failed.
 *
 * @since 0.1.0
 */
export interface Outcomes {
  readonly succeeded: number
  readonly failed: number
}

/**
 * What a policy wants.
 *
 * @since 0.1.0
 */
export type Output =
  | {
      readonly _tag: "Create" | "Update"
      readonly name: string
      readonly child: Configured
      readonly endpoints: ReadonlyArray<Endpoint>
    }
  | { readonly _tag: "ExitIdle"; readonly name: string }
  | { readonly _tag: "Remove"; readonly name: string }
  | { readonly _tag: "State"; readonly state: Connectivity; readonly picker: Picker }
  /** Connect; nothing comes of it if the connection is there or under way. */
  | { readonly _tag: "Connect"; readonly address: Address }
  /** The connection is not needed any more; calls on it go on. */
  | { readonly _tag: "Disconnect"; readonly address: Address }
  /** The addresses may be old. */
  | { readonly _tag: "ReResolve" }

/**
 * What a step is given beside its input.
 *
 * @since 0.1.0
 */
export interface Context {
  /** Milliseconds, never less than in the step before. */
  readonly now: number
  /** The random numbers of this step. */
  readonly draw: Draw
  /** Whether there is a connection to an address, whichever policy wants it. Default: there is none. */
  readonly isConnected?: ((address: Address) => boolean) | undefined
  /** Where policies get their rings from, so that equal ones are one. Default: each policy makes its own. */
  readonly rings?: Pick<RingStore, "make"> | undefined
}

/**
 * A policy with the types of its config and its state, which is plain data.
 *
 * @since 0.1.0
 */
export interface Policy<in out Config, in out State> {
  /** As a service config names it: `round_robin`. */
  readonly name: string
  /** @param node the place in the tree, unique */
  readonly make: (node: string) => State
  /** Total: whatever comes, the outcome is a state and outputs. */
  readonly step: (self: State, input: Input<Config>, context: Context) => readonly [State, ReadonlyArray<Output>]
  /** When it wants a `Deadline`, in milliseconds; Infinity if never. */
  readonly deadline: (self: State) => number
}

/** A value and whose it is: only the policy that made it opens it. */
class Owned<out A> {
  readonly value: A
  #owner: object

  constructor(value: A, owner: object) {
    this.value = value
    this.#owner = owner
  }

  belongsTo(owner: object): boolean {
    return this.#owner === owner
  }
}

/**
 * A policy without the types of its config and its state: what a tree is made of.
 *
 * @since 0.1.0
 */
export interface Definition {
  readonly name: string
  readonly make: (node: string) => unknown
  readonly step: (
    self: unknown,
    input: Exclude<Input<unknown>, { readonly _tag: "Config" }> | (Input<Configured> & { readonly _tag: "Config" }),
    context: Context
  ) => readonly [unknown, ReadonlyArray<Output>]
  readonly deadline: (self: unknown) => number
}

/**
 * A policy and a config for it.
 *
 * @since 0.1.0
 */
export interface Configured {
  readonly policy: Definition
  readonly config: unknown
}

const nothing: ReadonlyArray<Output> = []

/**
 * Makes a policy usable in trees: `with` gives it a config.
 *
 * @since 0.1.0
 */
export const define = <Config, State>(
  policy: Policy<Config, State>
): Definition & { readonly with: (config: Config) => Configured } => {
  const owner = {}
  const isState = (value: unknown): value is Owned<State> => value instanceof Owned && value.belongsTo(owner)
  const isConfig = (value: unknown): value is Owned<Config> => value instanceof Owned && value.belongsTo(owner)
  const definition: Definition = {
    name: policy.name,
    make: (node) => new Owned(policy.make(node), owner),
    step: (self, input, context) => {
      if (!isState(self)) return [self, nothing]
      let own: Input<Config>
      if (input._tag === "Config") {
        const { config } = input.config
        if (!isConfig(config)) return [self, nothing]
        own = { _tag: "Config", config: config.value, endpoints: input.endpoints }
      } else own = input
      const [next, outputs] = policy.step(self.value, own, context)
      return [next === self.value ? self : new Owned(next, owner), outputs]
    },
    deadline: (self) => (isState(self) ? policy.deadline(self.value) : Number.POSITIVE_INFINITY)
  }
  return { ...definition, with: (config) => ({ policy: definition, config: new Owned(config, owner) }) }
}
