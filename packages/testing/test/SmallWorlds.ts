import { setImmediate } from "node:timers/promises"
import { assert, beforeEach, describe, it } from "@effect/vitest"
import * as Exploration from "@effect-xds/testing/exploration/Exploration"
import * as ExplorationVariants from "@effect-xds/testing/exploration/ExplorationVariants"

/** Explores the worlds with such names. In several files, which run side by side: this is most of what the tests compute. */
export const areExplored = (isMeant: (name: string) => boolean): void => {
  describe("every state of a small world", () => {
    // Seconds without a pause, one test after another: the runner waits for a sign of life.
    beforeEach(() => setImmediate())
    for (const { confused, depth, explore, name } of ExplorationVariants.all) {
      if (!isMeant(name)) continue
      it(`${name}: all that ${depth} moves lead to are right`, () => {
        const explored = explore({ depth })
        console.log(Exploration.render(explored))
        assert.isUndefined(explored.violation, Exploration.render(explored))
        assert.strictEqual(explored.depth, depth)
        assert(explored.states > 500)
      }, 300_000)
      it(`${name}: states that count as equal do the same`, () => {
        assert.isUndefined(confused({ depth: depth - 2 }))
      }, 300_000)
    }
  })
}
