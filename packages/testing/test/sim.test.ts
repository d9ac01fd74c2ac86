// Everything at once: all variants, random watches and changes, every kind of fault. Other seeds: XDS_SIM_SEED=random;
// more of them: XDS_THOROUGH=1; many of them: npm run soak.
import * as Arbitraries from "@effect-xds/testing/simulation/Arbitraries"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import * as SimulationCheck from "@effect-xds/testing/simulation/SimulationCheck"
import * as Soak from "@effect-xds/testing/simulation/Soak"
import type { TraceInvariant } from "@effect-xds/testing/invariants/TraceInvariants"
import { it } from "@effect-xds/testing/vitest"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { afterEach, vi } from "vitest"
import { anHour } from "./Hour.js"

/** Seeds that failed once, by scenario and what was wrong. */
const regressions: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  "two servers, of which clients use the second when the first is gone": {
    "a server died behind a partition, and its client must hear of it when that is over": 1_000_799
  },
  "two groups, which are cleared and set again": {
    "a wildcard watch of a client that lost its server, and of a name that nobody else watches any more": 1_000_387
  },
  "glob collections": {
    "a rejected member was forgotten: when it went, nobody heard that its collection is empty": 57,
    "a collection was watched while its server was unreachable, and of the member in use all was well again": 240
  }
}

/** Of each scenario. */
const runs = process.env["XDS_THOROUGH"] === "1" ? 35 : 15

describe("anything may happen", () => {
  for (const [name, plan] of Object.entries(Soak.scenarios)) {
    it.sim(name, { ...plan, runs, timeout: 120_000, regressions: regressions[name] })
  }
})

describe("the environment", () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it.each([
    ["XDS_SIM_RUNS", "1o", "from 1 on"],
    ["XDS_SIM_RUNS", "0", "from 1 on"],
    ["XDS_SIM_SEED", "rnd", "from 0 on"]
  ])("%s=%s is a mistake that is told: nothing would run, and pass", (variable, value, from) => {
    vi.stubEnv("XDS_SIM_SEED", "")
    vi.stubEnv(variable, value)
    const define = () => it.sim("nothing", { servers: [], clients: [], script: [] })
    assert.throws(define, `${variable} is "${value}": give a whole number ${from}, or leave it out`)
  })
})

/** Seeds of hours with groups that are cleared that failed once, by what was wrong. */
const hours: Readonly<Record<string, number>> = {
  "a stale request with other names before a NACK with the same": 1,
  "listeners and routes of a newer state after an answer to a client that had rejected a response": 2,
  "a cluster that is gone was changed in what the client rejected": 4,
  "a cluster that is gone was just asked for": 6,
  "a cluster is there again that the client had given up": 9
}

describe("an hour with groups that are cleared", () => {
  for (const [name, seed] of Object.entries(hours)) {
    it.live(`${name} (seed ${seed})`, () =>
      Effect.gen(function* () {
        const { verdict } = yield* Simulation.run(anHour(seed, { clear: true }))
        assert.deepStrictEqual(verdict, [])
      })
    )
  }
  for (const seed of [22, 24]) {
    it.live(
      `and clients that are moved: requests that come before the group is known are answered one by one (seed ${seed})`,
      () =>
        Effect.gen(function* () {
          const { trace, verdict } = yield* Simulation.run(anHour(seed, { clear: true, move: true }))
          assert.deepStrictEqual(verdict, [])
          assert.isAtLeast(trace.filter(({ _tag }) => _tag === "Joined").length, 200)
        })
    )
  }
})

describe("it.sim", () => {
  it.live("shows the shortest run that fails, and how to run it again", () =>
    Effect.gen(function* () {
      const neverRemoved: TraceInvariant = {
        sentence: "nothing is ever removed",
        check: (trace) => {
          const isRemoved = trace.some(
            (event) => event._tag === "Sent" && event.message._tag === "Response" && event.message.removed.length > 0
          )
          return isRemoved ? ["something was"] : []
        }
      }
      const clients = ["one", "two", "three"]
      const plan: SimulationCheck.RandomPlan = {
        servers: [{ name: "xds" }],
        clients: clients.map((name) => ({ name, protocol: "Incremental" })),
        script: Arbitraries.simulationScript({ clients }),
        faults: Arbitraries.faults({ clients, servers: ["xds"] }),
        invariants: { neverRemoved }
      }
      const { plan: smallest, report } = yield* Effect.flip(
        SimulationCheck.check("wrong", SimulationCheck.draw(plan, 3))
      )
      assert.strictEqual(smallest.clients.length, 1)
      assert.include(report, "wrong: fails with seed 3; again with XDS_SIM_SEED=3")
      assert.include(report, "neverRemoved (nothing is ever removed): something was")
      const sizes = /3 clients, \d+ faults? and \d+ steps, made smaller in \d+ runs: 1 client, 0 faults and [12] steps/
      assert.match(report, sizes)
      // The diagram: who sent what.
      assert.match(report, /◁──┤ xds 1 {2}.DS #1: -/)
    })
  )
})
