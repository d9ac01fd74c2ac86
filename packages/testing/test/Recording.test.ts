import { FanOuts } from "@effect-xds/server/FanOuts"
import * as Arbitraries from "@effect-xds/testing/simulation/Arbitraries"
import * as Recording from "@effect-xds/testing/simulation/Recording"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"

const hour = 3_600_000

const clients: ReadonlyArray<Simulation.ClientPlan> = Array.from({ length: 16 }, (_, index) => ({
  name: `client-${index}`,
  protocol: index % 2 === 0 ? "StateOfTheWorld" : "Incremental",
  aggregated: index % 4 < 2,
  group: index < 12 ? "group" : "other"
}))

/** An hour of watches, changes, rejections, groups that are cleared, and everything that can go wrong. */
const anHour = (seed: number, clear: boolean): Simulation.Plan => {
  const names = clients.map(({ name }) => name)
  const [drawn] = fc.sample(
    fc.record({
      script: Arbitraries.simulationScript({
        clients: names,
        groups: ["group", "other"],
        within: hour,
        minLength: 800,
        maxLength: 800,
        clear
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
    // Those of traces are checked elsewhere.
    invariants: {},
    script,
    // Those of each five minutes.
    faults: faults.flatMap((some, index) => some.map((fault) => ({ ...fault, at: fault.at + index * 300_000 })))
  }
}

const record = (plan: Simulation.Plan) =>
  Effect.gen(function* () {
    const recording = Recording.make()
    const { duration, verdict } = yield* Simulation.run(plan).pipe(Effect.provideService(FanOuts, recording.fanOuts))
    assert.deepStrictEqual(verdict, [])
    assert.isAtLeast(duration, hour - 300_000)
    return recording.entries
  })

const count = (entries: ReadonlyArray<Recording.Entry>, tag: Recording.Entry["_tag"]) =>
  entries.filter(({ _tag }) => _tag === tag).length

describe("The drivers decide nothing: an hour that was recorded, and is done again by core alone", () => {
  for (const [seed, clear] of [
    [1, false],
    [2, true]
  ] as const) {
    it.live(
      `has the same outputs, byte for byte (seed ${seed}${clear ? ", with groups that are cleared" : ""})`,
      () =>
        Effect.gen(function* () {
          const entries = yield* record(anHour(seed, clear))
          for (const [tag, least] of [
            ["Opened", 3],
            ["Published", 200],
            ["Joined", 100],
            ["Left", 100],
            ["Requested", 1_000],
            ["DeadlineReached", 10],
            ["Took", 3_000]
          ] as const) {
            assert.isAtLeast(count(entries, tag), least, tag)
          }
          // As plain data: what a clone lacks, a file would lack, too.
          assert.deepStrictEqual(Recording.replay(structuredClone(entries)), [])
        }),
      120_000
    )
  }

  it.live(
    "is different if one input is different",
    () =>
      Effect.gen(function* () {
        const entries = yield* record(anHour(3, true))
        const isChange = (entry: Recording.Entry) =>
          entry._tag === "Published" && (entry.change?.upsert.length ?? 0) > 0
        const without = entries.toSpliced(entries.findIndex(isChange), 1)
        assert.isNotEmpty(Recording.replay(without))
        const turn = entries.findIndex((entry) => entry._tag === "Took" && entry.outcome.startsWith("Send"))
        assert.isNotEmpty(Recording.replay(entries.toSpliced(turn, 1)))
      }),
    120_000
  )
})
