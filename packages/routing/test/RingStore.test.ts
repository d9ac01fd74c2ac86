import { RingStore } from "@effect-xds/routing"
import { expect, it } from "@effect/vitest"

it("keeps so many rings; a limit that is none is refused: with NaN none would ever be given up", () => {
  for (const maxRings of [Number.NaN, -1]) {
    expect(() => new RingStore.RingStore({ maxRings })).toThrow(`maxRings must be 0 or more, not ${maxRings}`)
  }
  const store = new RingStore.RingStore({ maxRings: 1 })
  const make = (key: string) => store.make([{ key, weight: 1 }], 1, 1)
  const first = make("a")
  expect(make("a")).toBe(first)
  make("b")
  expect(make("a")).not.toBe(first)
})
