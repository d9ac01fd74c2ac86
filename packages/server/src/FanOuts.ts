/**
 * How a server makes the fan-out of each of its groups: what of its streams belongs to core. For recorders, which write down what is
 * done with it so that it can be replayed through core alone; nobody else has to provide it.
 *
 * @since 0.1.0
 */
import { FanOut } from "@effect-xds/core/server/FanOut"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as Context from "effect/Context"

/**
 * Makes fan-outs.
 *
 * @since 0.1.0
 */
export interface Service {
  /** One for a group of that name, which holds `resources`; `seed`: see `FanOut`. */
  readonly make: <A>(group: string, resources: ResourceGroup | undefined, seed: number) => FanOut<A>
}

/**
 * The fan-outs that servers use. The default is `FanOut` as it is.
 *
 * @since 0.1.0
 */
export class FanOuts extends Context.Reference<FanOuts>()("@effect-xds/server/FanOuts", {
  defaultValue: (): Service => ({
    make: <A>(_: string, resources: ResourceGroup | undefined, seed: number) => new FanOut<A>(resources, seed)
  })
}) {}
