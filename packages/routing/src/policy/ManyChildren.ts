/**
 * What all policies do that have children by name: create and update them, record what they say, keep for a while those
 * that are not needed, and tell one state after a config.
 *
 * @since 0.1.0
 */
import * as List from "effect/List"
import * as Children from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import type { Configured, Output, Policy } from "../Policy.js"

/**
 * The state of such a policy.
 *
 * @since 0.1.0
 */
export interface State<out Setup> {
  readonly children: Children.Children
  /** What the children were given last that are wanted, if those that are given the same hear nothing. */
  readonly given: ReadonlyMap<string, Configured>
  /** What the policy keeps of its config; `undefined` before the first. */
  readonly setup: Setup | undefined
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
export interface Particulars<in Config, in out Setup> {
  readonly name: string
  /** Which children a config wants, and what is kept of it. */
  readonly configure: (
    config: Config,
    endpoints: ReadonlyArray<Endpoint>
  ) => { readonly wanted: ReadonlyMap<string, Children.Wanted>; readonly setup: Setup }
  /** The state and the picker of the whole. */
  readonly tell: (
    setup: Setup,
    children: Children.Children
  ) => { readonly state: Connectivity; readonly picker: Picker }
  /** Whether a child that says IDLE is told to connect. */
  readonly wakes: boolean
  /**
   * Whether a child that is given the same value as before hears nothing of it: with a thousand children each config is else work for
   * all of them. Default: false.
   */
  readonly skipsSame?: boolean | undefined
}

const nothing: ReadonlyArray<Output> = []

/**
 * The policy of these particulars.
 *
 * @since 0.1.0
 */
export const make = <Config, Setup>({
  configure,
  name,
  skipsSame = false,
  tell,
  wakes
}: Particulars<Config, Setup>): Policy<Config, State<Setup>> => {
  const told = ({ children, setup }: State<Setup>): ReadonlyArray<Output> =>
    setup === undefined ? nothing : [{ _tag: "State", ...tell(setup, children) }]
  return {
    name,
    make: () => ({ children: Children.empty, given: new Map(), setup: undefined, updating: false, heard: List.nil() }),
    step: (self, input, { now }) => {
      switch (input._tag) {
        case "Config": {
          const { setup, wanted } = configure(input.config, input.endpoints)
          const [children, all] = Children.update(self.children, wanted, now)
          const given = skipsSame ? new Map(Array.from(wanted, ([name, { child }]) => [name, child])) : self.given
          const outputs = all.filter((output) => !("child" in output) || self.given.get(output.name) !== output.child)
          return [{ children, given, setup, updating: true, heard: List.nil() }, outputs]
        }
        // ★ One state, after all children were updated.
        case "Configured": {
          const children = Children.record(self.children, self.heard)
          const next = { ...self, children, updating: false, heard: List.nil<Children.Heard>() }
          return [next, told(next)]
        }
        case "ChildState": {
          const child = self.children.get(input.name)
          if (child === undefined) return [self, nothing]
          // ★ Else nobody wakes it while picks wait.
          const wake: ReadonlyArray<Output> =
            wakes && input.state === "IDLE" ? [{ _tag: "ExitIdle", name: input.name }] : nothing
          if (self.updating) return [{ ...self, heard: List.prepend(self.heard, input) }, wake]
          const next = { ...self, children: Children.record(self.children, List.of(input)) }
          return [next, child.unusedSince === undefined ? [...wake, ...told(next)] : wake]
        }
        case "ExitIdle":
          return [self, Array.from(Children.used(self.children), ([child]) => ({ _tag: "ExitIdle", name: child }))]
        case "Deadline": {
          const [children, outputs] = Children.expire(self.children, now)
          return [children === self.children ? self : { ...self, children }, outputs]
        }
        case "Connection":
        case "Outcomes":
        case "Sessions":
          return [self, nothing]
      }
    },
    deadline: ({ children }) => Children.deadline(children)
  }
}
