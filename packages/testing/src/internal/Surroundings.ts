/**
 * What the machines of a simulation share: the plan, time, the network, randomness and the list of problems.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { SimulatedNetwork } from "../network/SimulatedNetwork.js"
import type { Plan } from "../simulation/Plan.js"
import type { Problem } from "../simulation/Run.js"
import type { HostClock, SimulatedTime } from "../simulation/SimulatedTime.js"

export class Surroundings {
  readonly problems: Array<Problem> = []

  constructor(
    readonly plan: Plan,
    readonly time: typeof SimulatedTime.Service,
    readonly network: typeof SimulatedNetwork.Service
  ) {}

  /** Runs an effect with the clock and the randomness of a machine. */
  readonly asHost = (name: string, clock: HostClock) => {
    const random = Random.make(`${this.plan.seed ?? 0} ${name}`)
    return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      effect.pipe(Effect.withClock(clock), Effect.withRandom(random))
  }

  /** A part of the plan has failed: that is a problem of the run. */
  readonly failed = (rule: string, sentence: string, cause: Cause.Cause<unknown>): void => {
    this.problems.push({ rule, sentence, problem: Cause.pretty(cause) })
  }
}
