/**
 * Creates the fan-out of each group: the part of its streams that is in core. Replace it to record inputs for a replay
 * through core alone; otherwise the default serves.
 *
 * @since 0.1.0
 */
import { FanOut } from "@effect-xds/core/server/FanOut"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as Context from "effect/Context"

/**
 * The operations of the service.
 *
 * @since 0.1.0
 */
export interface Service {
  /** Creates the fan-out of a named group with its present `resources`; for `seed` see `FanOut`. */
  readonly make: <A>(group: string, resources: ResourceGroup | undefined, seed: number) => FanOut<A>
}

/**
 * The fan-outs that servers use. The default is core's `FanOut`.
 *
 * @since 0.1.0
 */
export class FanOuts extends Context.Reference<FanOuts>()("@effect-xds/server/FanOuts", {
  defaultValue: (): Service => ({
    make: <A>(_: string, resources: ResourceGroup | undefined, seed: number) => new FanOut<A>(resources, seed)
  })
}) {}
