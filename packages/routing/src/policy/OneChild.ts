/**
 * What policies do that have one child and change what it says.
 *
 * @since 0.1.0
 */
import type { Wanted } from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import type { Input, Output, Policy } from "../Policy.js"

/**
 * What such a policy knows of its child.
 *
 * @since 0.1.0
 */
export interface Hearing {
  /** What the child said last. */
  readonly heard: { readonly state: Connectivity; readonly picker: Picker } | undefined
  /** A config is being carried out: what the child says is recorded only. */
  readonly updating: boolean
}

/**
 * The state of such a policy.
 *
 * @since 0.1.0
 */
export interface State<out Config> extends Hearing {
  readonly config: Config | undefined
}

/**
 * What is particular to a policy.
 *
 * @since 0.1.0
 */
export interface Particulars<in Config> {
  readonly name: string
  /** What the child is given. */
  readonly wanted: (config: Config, endpoints: ReadonlyArray<Endpoint>) => Wanted
  /** What the parent is told. */
  readonly pickerOf: (config: Config, state: Connectivity, picker: Picker) => Picker
}

const nothing: ReadonlyArray<Output> = []
const name = "child"

/**
 * Notes what the child says, or that a config was carried out, and tells the parent what there is to tell then.
 *
 * @since 0.1.0
 */
export const hear = <Self extends Hearing>(
  self: Self,
  input: Extract<Input<never>, { readonly _tag: "Configured" | "ChildState" }>,
  tell: (self: Self) => ReadonlyArray<Output>
): readonly [Self, ReadonlyArray<Output>] => {
  const next =
    input._tag === "Configured"
      ? { ...self, updating: false }
      : { ...self, heard: { state: input.state, picker: input.picker } }
  return [next, tell(next)]
}

/**
 * The policy of these particulars.
 *
 * @since 0.1.0
 */
export const make = <Config>({ pickerOf, wanted, ...rest }: Particulars<Config>): Policy<Config, State<Config>> => {
  const tell = ({ config, heard, updating }: State<Config>): ReadonlyArray<Output> =>
    updating || config === undefined || heard === undefined
      ? nothing
      : [{ _tag: "State", state: heard.state, picker: pickerOf(config, heard.state, heard.picker) }]
  return {
    name: rest.name,
    make: () => ({ config: undefined, heard: undefined, updating: false }),
    step: (self, input) => {
      switch (input._tag) {
        case "Config": {
          const { child, endpoints } = wanted(input.config, input.endpoints)
          const _tag = self.config === undefined ? "Create" : "Update"
          return [{ ...self, config: input.config, updating: true }, [{ _tag, name, child, endpoints }]]
        }
        case "Configured":
        case "ChildState":
          return hear(self, input, tell)
        case "ExitIdle":
          return [self, [{ _tag: "ExitIdle", name }]]
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
