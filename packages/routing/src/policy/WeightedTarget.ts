/**
 * `weighted_target_experimental`: shares of calls among children that are READY.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md "Weighted target LB policy"
 * @since 0.1.0
 */
import type { Wanted } from "../Children.js"
import * as Children from "../Children.js"
import * as Connectivities from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import * as Endpoints from "../Endpoint.js"
import * as Pickers from "../Picker.js"
import type { Configured } from "../Policy.js"
import { define } from "../Policy.js"
import * as ManyChildren from "./ManyChildren.js"

/**
 * A child and its weight.
 *
 * @since 0.1.0
 */
export interface Target {
  readonly weight: number
  readonly child: Configured
  /** Default: those of the policy whose locality has its name. */
  readonly endpoints?: ReadonlyArray<Endpoint> | undefined
}

/**
 * Children with their weights, by name.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly targets: ReadonlyMap<string, Target>
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define(
  ManyChildren.make<Config, ReadonlyMap<string, number>>({
    name: "weighted_target_experimental",
    configure: ({ targets }, endpoints) => {
      const byLocality = Endpoints.byLocality(endpoints)
      const wanted = new Map<string, Wanted>()
      const weights = new Map<string, number>()
      for (const [name, { child, endpoints: own, weight }] of targets) {
        wanted.set(name, { child, endpoints: own ?? byLocality.get(name) ?? [] })
        weights.set(name, weight)
      }
      return { wanted, setup: weights }
    },
    tell: (weights, children) => {
      const used = Array.from(Children.used(children))
      const state = Connectivities.aggregate(used.map(([, child]) => child.state))
      if (state === "CONNECTING" || state === "IDLE") return { state, picker: Pickers.queue }
      if (used.length === 0) return { state, picker: Pickers.fail("NoEndpoint", "weighted_target has no children") }
      // READY: those that are; else all have failed, and the same draw is among their failures, which name the cause.
      const shares = used
        .filter(([, child]) => child.state === state)
        .map(([name, { picker }]) => [weights.get(name) ?? 0, picker ?? Pickers.queue] as const)
      return { state, picker: Pickers.weighted(shares) }
    },
    wakes: true
  })
)
