import { setImmediate } from "node:timers/promises"
import { assert, beforeEach, describe, it } from "@effect/vitest"
import * as Exploration from "@effect-xds/testing/exploration/Exploration"
import * as ExplorationVariants from "@effect-xds/testing/exploration/ExplorationVariants"

/** XDS_THOROUGH=1: a move more, as faults in the sources need it. CI explores yet another: `npm run explore -- --more 1`. */
const isThorough = process.env["XDS_THOROUGH"] === "1"

/** Explores the worlds with such names. In several files, which run side by side: this is most of what the tests compute. */
export const areExplored = (isMeant: (name: string) => boolean): void => {
  describe("every state of a small world", () => {
    // Seconds without a pause, one test after another: the runner waits for a sign of life.
    beforeEach(() => setImmediate())
    for (const { confused, depth: usual, explore, name } of ExplorationVariants.all) {
      if (!isMeant(name)) continue
      const depth = isThorough ? usual : usual - 1
      it(`${name}: all that ${depth} moves lead to are right`, () => {
        const explored = explore({ depth })
        console.log(Exploration.render(explored))
        assert.isUndefined(explored.violation, Exploration.render(explored))
        assert.strictEqual(explored.depth, depth)
        assert(explored.states > 50)
      }, 300_000)
      it(`${name}: states that count as equal do the same`, () => {
        assert.isUndefined(confused({ depth: usual - 2 }))
      }, 300_000)
    }
  })
}
