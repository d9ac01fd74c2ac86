import { assert, describe, it } from "@effect/vitest"
import * as Exploration from "@effect-xds/testing/exploration/Exploration"

/** A number that starts at 1: it is doubled, or 3 is added; equal modulo a number is equal. */
const numbers = (
  options: Partial<Exploration.World<number>> & { readonly modulo?: number }
): Exploration.World<number> => ({
  name: "numbers",
  initial: 1,
  moves: (n) => [
    { label: "double", take: () => n * 2 },
    { label: "add 3", take: () => n + 3 }
  ],
  key: (n) => [String(options.modulo === undefined ? n : n % options.modulo)],
  problems: () => [],
  unfinished: () => [],
  ...options
})

describe("explore", () => {
  it("visits equal states once, and knows when there are no others", () => {
    const { depth, isComplete, states, transitions } = Exploration.explore(numbers({ modulo: 10 }), { depth: 100 })
    assert.deepStrictEqual({ isComplete, states, transitions }, { isComplete: true, states: 10, transitions: 20 })
    assert(depth < 10)
  })
  it("ends at its depth", () => {
    const explored = Exploration.explore(numbers({}), { depth: 2 })
    // 1; 2 4; 5 8 7
    assert.deepStrictEqual(explored, {
      name: "numbers",
      depth: 2,
      states: 6,
      transitions: 6,
      isComplete: false,
      isCut: false,
      violation: undefined
    })
    assert.strictEqual(Exploration.render(explored), "numbers: 6 states, 6 transitions, depth 2")
  })
  it("ends when there are too many states, and says which depth is done", () => {
    const explored = Exploration.explore(numbers({}), { depth: 20, maxStates: 6 })
    assert(explored.isCut)
    assert.deepStrictEqual([explored.depth, explored.states], [2, 6])
    assert.include(Exploration.render(explored), "depth 2, cut")
  })
  it("tells a shortest way to what is wrong", () => {
    const explored = Exploration.explore(numbers({ problems: (n) => (n === 11 ? ["it is 11"] : []) }), { depth: 20 })
    assert.strictEqual(
      Exploration.render(explored).split("\n").slice(1).join("\n"),
      "A shortest way to a fault:\n  1. add 3\n  2. double\n  3. add 3\n  ! it is 11"
    )
  })
  it("tells what is wrong in the end, in the first state, too", () => {
    const ends = (bad: number) =>
      Exploration.explore(numbers({ unfinished: (n) => (n === bad ? ["no rest"] : []) }), { depth: 3 }).violation
    assert.deepStrictEqual(ends(1), { path: [], problems: ["no rest"] })
    assert.deepStrictEqual(ends(4), { path: ["add 3"], problems: ["no rest"] })
    assert.isUndefined(ends(3))
  })
  it("tells its progress", () => {
    const told: Array<number> = []
    Exploration.explore(numbers({}), { depth: 3, onDepth: ({ depth, states }) => told.push(depth, states) })
    assert.deepStrictEqual(told.slice(0, 4), [1, 3, 2, 6])
  })
  it("sees a key that confuses states", () => {
    assert.isUndefined(Exploration.confused(numbers({ modulo: 10 }), { depth: 6 }))
    // Doubling 1 and 6 leads to different ones modulo 10.
    const confused = Exploration.confused(numbers({ key: (n) => [String(n < 6 ? n : n % 5)] }), { depth: 6 })
    assert.include(confused, "Taken for one, but different")
  })
})
