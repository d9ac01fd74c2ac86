import { FanOuts } from "@effect-xds/server/FanOuts"
import * as Recording from "@effect-xds/testing/simulation/Recording"
import * as Simulation from "@effect-xds/testing/simulation/Simulation"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { anHour, hour } from "./Hour.js"

const record = (plan: Simulation.Plan) =>
  Effect.gen(function* () {
    const recording = Recording.make()
    // Those of traces are checked elsewhere.
    const { duration, verdict } = yield* Simulation.run({ ...plan, invariants: {} }).pipe(
      Effect.provideService(FanOuts, recording.fanOuts)
    )
    assert.deepStrictEqual(verdict, [])
    assert.isAtLeast(duration, hour - 300_000)
    return recording.entries
  })

const count = (entries: ReadonlyArray<Recording.Entry>, tag: Recording.Entry["_tag"]) =>
  entries.filter(({ _tag }) => _tag === tag).length

describe("The drivers decide nothing: an hour that was recorded, and is done again by core alone", () => {
  for (const { clear, move, seed } of [
    { seed: 1, clear: false, move: false },
    { seed: 2, clear: true, move: false },
    { seed: 3, clear: false, move: true },
    { seed: 4, clear: true, move: true }
  ]) {
    it.live(
      `has the same outputs, byte for byte (seed ${seed}${clear ? ", with groups that are cleared" : ""}${move ? ", with moves" : ""})`,
      () =>
        Effect.gen(function* () {
          const entries = yield* record(anHour(seed, { clear, move }))
          for (const [tag, least] of [
            ["Opened", 3],
            ["Published", move ? 150 : 200],
            ["Joined", 100],
            ["Left", 100],
            ["Requested", 1_000],
            ["DeadlineReached", 10],
            ["Took", 3_000],
            ["Moved", move ? 50 : 0]
          ] as const) {
            assert.isAtLeast(count(entries, tag), least, tag)
          }
          // As plain data: what a clone lacks, a file would lack, too.
          assert.deepStrictEqual(Recording.replay(structuredClone(entries)), [])
        })
    )
  }

  it.live("is different if one input is different", () =>
    Effect.gen(function* () {
      const entries = yield* record(anHour(3, { clear: true }))
      const isChange = (entry: Recording.Entry) => entry._tag === "Published" && (entry.change?.upsert.length ?? 0) > 0
      const without = entries.toSpliced(entries.findIndex(isChange), 1)
      assert.isNotEmpty(Recording.replay(without))
      const turn = entries.findIndex((entry) => entry._tag === "Took" && entry.outcome.startsWith("Send"))
      assert.isNotEmpty(Recording.replay(entries.toSpliced(turn, 1)))
    })
  )
})
