/**
 * `xds_cluster_manager_experimental`: one child for each cluster; a call goes to the one that its route chose.
 *
 * @see https://github.com/grpc/proposal/blob/master/A31-xds-timeout-support-and-config-selector.md
 * @since 0.1.0
 */
import * as Children from "../Children.js"
import * as Connectivities from "../Connectivity.js"
import type { Picker } from "../Picker.js"
import { queue } from "../Picker.js"
import type { Configured } from "../Policy.js"
import { define } from "../Policy.js"
import * as ManyChildren from "./ManyChildren.js"

/**
 * A policy for each cluster. One that is the same value as before has not changed.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly children: ReadonlyMap<string, Configured>
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define(
  ManyChildren.make<Config, true>({
    name: "xds_cluster_manager_experimental",
    configure: ({ children }, endpoints) => ({
      wanted: new Map(Array.from(children, ([name, child]) => [name, { child, endpoints }])),
      setup: true
    }),
    tell: (_, children) => {
      const states = new Set<Connectivities.Connectivity>()
      const pickers = new Map<string, Picker>()
      for (const [name, { picker, state }] of Children.used(children)) {
        states.add(state)
        pickers.set(name, picker ?? queue)
      }
      return { state: Connectivities.aggregate(states), picker: { _tag: "ByName", children: pickers } }
    },
    wakes: false,
    skipsSame: true
  })
)
