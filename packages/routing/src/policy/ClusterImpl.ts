/**
 * `xds_cluster_impl_experimental`: what an assignment drops, and how many calls a cluster may have in flight.
 *
 * @see https://github.com/grpc/proposal/blob/master/A32-xds-circuit-breaking.md
 * @since 0.1.0
 */
import type { Drop } from "../Picker.js"
import type { Configured } from "../Policy.js"
import { define } from "../Policy.js"
import * as OneChild from "./OneChild.js"

/**
 * A cluster.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly cluster: string
  /** The name of its assignment; empty if it has none. */
  readonly edsServiceName: string
  readonly drops: ReadonlyArray<Drop>
  /** Calls in flight, in the whole process. Default: 1 024; 0 stops all. */
  readonly maxRequests?: number | undefined
  readonly child: Configured
}

/**
 * The policy. ★ Calls are dropped only while the child is READY; else they wait or fail as the child says.
 *
 * @since 0.1.0
 */
export const policy = define(
  OneChild.make<Config>({
    name: "xds_cluster_impl_experimental",
    wanted: ({ child }, endpoints) => ({ child, endpoints }),
    pickerOf: ({ cluster, drops, edsServiceName, maxRequests = 1_024 }, state, child) =>
      state === "READY"
        ? {
            _tag: "Limited",
            cluster,
            drops,
            inFlight: JSON.stringify([cluster, edsServiceName]),
            maxRequests,
            child
          }
        : child
  })
)
