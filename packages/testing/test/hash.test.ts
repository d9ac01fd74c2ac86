// One seed, one run, on every version of Node: node scripts/simulation-hash.mjs runs this file on others.
import * as Arbitraries from "@effect-xds/testing/simulation/Arbitraries"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"

// Changes when what is sent, or when, changes; that it is the same everywhere is the point.
const expected = "8ebbd08b87c3d2d4"

it.live(`a trace has the same hash on Node ${process.versions.node} as on others`, () =>
  Effect.gen(function* () {
    const clients = ["sotw", "delta", "separate"]
    const [drawn] = fc.sample(
      fc.record({
        script: Arbitraries.simulationScript({ clients, minLength: 40 }),
        faults: Arbitraries.faults({ clients, servers: ["one", "two"] })
      }),
      { seed: 2026, numRuns: 1 }
    )
    const servers = ["one", "two"]
    const { hash, messages, verdict } = yield* Simulation.run({
      seed: 2026,
      servers: servers.map((name) => ({ name })),
      clients: [
        { name: "sotw", servers },
        { name: "delta", servers, protocol: "Incremental" },
        { name: "separate", servers, aggregated: false }
      ],
      ...drawn
    })
    assert.deepStrictEqual(verdict, [])
    assert.isAbove(messages, 100)
    assert.strictEqual(hash, expected)
  })
)
