import * as Arbitraries from "@effect-xds/testing/simulation/Arbitraries"
import type * as Simulation from "@effect-xds/testing/simulation/Simulation"
import * as fc from "fast-check"

/** Milliseconds. */
export const hour = 3_600_000

const clients: ReadonlyArray<Simulation.ClientPlan> = Array.from({ length: 16 }, (_, index) => ({
  name: `client-${index}`,
  protocol: index % 2 === 0 ? "StateOfTheWorld" : "Incremental",
  aggregated: index % 4 < 2,
  group: index < 12 ? "group" : "other"
}))

/** An hour of watches, changes, rejections, groups that are cleared, and everything that can go wrong. */
export const anHour = (
  seed: number,
  /** Whether groups are cleared, and clients moved from one to the other. */
  { clear = false, move = false }: { readonly clear?: boolean; readonly move?: boolean }
): Simulation.Plan => {
  const names = clients.map(({ name }) => name)
  const [drawn] = fc.sample(
    fc.record({
      script: Arbitraries.simulationScript({
        clients: names,
        groups: ["group", "other"],
        within: hour,
        minLength: 800,
        maxLength: 800,
        clear,
        move
      }),
      faults: fc.array(Arbitraries.faults({ clients: names, servers: ["xds"] }), { minLength: 12, maxLength: 12 })
    }),
    { seed, numRuns: 1 }
  )
  const { faults = [], script = [] } = drawn ?? {}
  return {
    seed,
    servers: [{ name: "xds" }],
    clients,
    script,
    // Those of each five minutes.
    faults: faults.flatMap((some, index) => some.map((fault) => ({ ...fault, at: fault.at + index * 300_000 })))
  }
}
