import * as fc from "fast-check"
import { assert, describe, it } from "@effect/vitest"
import * as Simulation from "./Simulation.js"

// The same scripts in every run; XDS_SEED=<number> tries others, XDS_SEED=random any.
const given = process.env["XDS_SEED"] ?? "20260101"
const seed = given === "random" ? Date.now() % 2 ** 31 : Number(given)
const numRuns = Number(process.env["XDS_RUNS"] ?? "60")

describe("a client and a server", () => {
  for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
    for (const isAggregated of [true, false]) {
      it(
        `agree in the end: ${protocol}, ${isAggregated ? "aggregated" : "separate"}`,
        () => {
          const { counterexample } = fc.check(
            fc.property(Simulation.script, (script) => Simulation.run(protocol, isAggregated, script).length === 0),
            { seed, numRuns, endOnFailure: true }
          )
          if (counterexample === null) return
          let [short] = counterexample
          for (let size = short.length >> 1; size > 0; size = size > 1 ? size >> 1 : 0) {
            for (let at = 0; at < short.length;) {
              const without = [...short.slice(0, at), ...short.slice(at + size)]
              if (Simulation.run(protocol, isAggregated, without).length > 0) short = without
              else at += size
            }
          }
          const lines = short.map((operation) => JSON.stringify(operation)).join("\n  ")
          const problems = Simulation.run(protocol, isAggregated, short).slice(0, 5).join("\n")
          assert.fail(`XDS_SEED=${seed}\n  ${lines}\n${problems}`)
        },
        process.env["XDS_RUNS"] === undefined ? 60_000 : 0
      )
    }
  }
})
