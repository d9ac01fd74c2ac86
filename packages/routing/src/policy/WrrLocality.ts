/**
 * `xds_wrr_locality_experimental`: shares of calls among localities, by their weights.
 *
 * @see https://github.com/grpc/proposal/blob/master/A52-xds-custom-lb-policies.md
 * @since 0.1.0
 */
import type { Configured } from "../Policy.js"
import { define } from "../Policy.js"
import * as OneChild from "./OneChild.js"
import * as WeightedTarget from "./WeightedTarget.js"

/**
 * The policy within each locality.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly child: Configured
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define(
  OneChild.make<Config>({
    name: "xds_wrr_locality_experimental",
    wanted: ({ child }, endpoints) => ({
      child: WeightedTarget.policy.with({
        targets: new Map(endpoints.map(({ locality, localityWeight }) => [locality, { weight: localityWeight, child }]))
      }),
      endpoints
    }),
    pickerOf: (_, __, picker) => picker
  })
)
