import { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Option } from "effect"
import { type Bearing, Watcher } from "../src/internal/Watcher.js"

type Offer = readonly [name: string, bearing: Bearing, event: string]

const { later } = EventLoop.process

const told = (offers: ReadonlyArray<Offer>) => {
  const watcher = new Watcher<string>(1, "*", () => undefined, later)
  for (const [name, bearing, event] of offers) watcher.offer(name, bearing, event)
  return Effect.map(watcher.pull, Chunk.toReadonlyArray)
}

const table: ReadonlyArray<readonly [title: string, offers: ReadonlyArray<Offer>, events: ReadonlyArray<string>]> = [
  [
    "of several states the last",
    [
      ["a", "State", "1"],
      ["a", "State", "2"]
    ],
    ["2"]
  ],
  [
    "a state and what is wrong beside it",
    [
      ["a", "State", "1"],
      ["a", "Ambient", "lost"]
    ],
    ["1", "lost"]
  ],
  [
    "what was wrong with the state before is over",
    [
      ["a", "Ambient", "lost"],
      ["a", "State", "1"]
    ],
    ["1"]
  ],
  [
    "★ that all is well again is nothing beside a state that was not taken yet",
    [
      ["a", "State", "1"],
      ["a", "Ambient", "lost"],
      ["a", "Recovered", "recovered"]
    ],
    ["1"]
  ],
  [
    "nor beside a state that nothing was said of",
    [
      ["a", "State", "1"],
      ["a", "Recovered", "recovered"]
    ],
    ["1"]
  ],
  [
    "★ that all is well again is told when the state was taken before",
    [
      ["a", "Ambient", "lost"],
      ["a", "Recovered", "recovered"]
    ],
    ["recovered"]
  ],
  [
    "what is wrong again",
    [
      ["a", "Recovered", "recovered"],
      ["a", "Ambient", "lost again"]
    ],
    ["lost again"]
  ],
  [
    "each name for itself, in the order in which they were first spoken of",
    [
      ["b", "State", "1"],
      ["a", "State", "1"],
      ["b", "State", "2"]
    ],
    ["2", "1"]
  ]
]

describe("Watcher", () => {
  it.effect("★ is told nothing of what came and went while it took no events, and keeps nothing of it", () =>
    Effect.gen(function* () {
      const watcher = new Watcher<string>(1, "*", () => undefined, later)
      watcher.offer("a", "State", "a is there")
      yield* watcher.pull
      for (let index = 0; index < 1_000; index++) {
        watcher.offer(`n${index}`, "State", "is there")
        watcher.offer(`n${index}`, "Ambient", "lost")
        watcher.offer(`n${index}`, "Gone", "is gone")
      }
      // Of what it knows it is told all, whatever happened in between; of what it waits for, too.
      watcher.offer("a", "Gone", "a is gone")
      watcher.offer("a", "State", "a is there again")
      watcher.offer("a", "Gone", "a is gone again")
      watcher.offer("*", "State", "an error of all")
      watcher.offer("*", "Gone", "there is none")
      expect(Chunk.toReadonlyArray(yield* watcher.pull)).toEqual(["a is gone again", "there is none"])
      // That it was told so makes it one that it does not know.
      watcher.offer("a", "State", "a is there")
      watcher.offer("a", "Gone", "a is gone")
      watcher.offer("b", "Gone", "b is gone")
      expect(Chunk.toReadonlyArray(yield* watcher.pull)).toEqual(["b is gone"])
    })
  )

  for (const [title, offers, events] of table) {
    it.effect(title, () =>
      Effect.gen(function* () {
        expect(yield* told(offers)).toEqual(events)
      })
    )
  }

  it.effect("is busy from the first event until it comes back for more", () =>
    Effect.gen(function* () {
      let idle = 0
      const watcher = new Watcher<string>(1, "*", () => idle++, later)
      expect(watcher.busy).toBe(false)
      watcher.offer("a", "State", "1")
      expect(watcher.busy).toBe(true)
      yield* watcher.pull
      expect([watcher.busy, idle]).toEqual([true, 0])
      const fiber = yield* Effect.fork(watcher.pull)
      yield* Effect.yieldNow()
      expect([watcher.busy, idle]).toEqual([false, 1])
      watcher.offer("a", "State", "2")
      expect(watcher.busy).toBe(true)
      expect(Chunk.toReadonlyArray(yield* Fiber.join(fiber))).toEqual(["2"])
      expect(idle).toBe(1)
    })
  )

  it.effect("what is told while it says that it is idle is not lost", () =>
    Effect.gen(function* () {
      const watcher: Watcher<string> = new Watcher<string>(1, "*", () => watcher.offer("a", "State", "1"), later)
      expect(Chunk.toReadonlyArray(yield* watcher.pull)).toEqual(["1"])
    })
  )

  it.effect("ends after what is pending, and at once for who waits", () =>
    Effect.gen(function* () {
      const watcher = new Watcher<string>(1, "*", () => undefined, later)
      const waiting = yield* Effect.fork(watcher.pull)
      yield* Effect.yieldNow()
      watcher.offer("a", "State", "1")
      watcher.end()
      expect(Chunk.toReadonlyArray(yield* Fiber.join(waiting))).toEqual(["1"])
      expect(yield* Effect.flip(watcher.pull)).toEqual(Option.none())

      const other = new Watcher<string>(2, "*", () => undefined, later)
      const alone = yield* Effect.fork(Effect.flip(other.pull))
      yield* Effect.yieldNow()
      other.end()
      expect(yield* Fiber.join(alone)).toEqual(Option.none())
      other.offer("a", "State", "1")
      other.end()
      expect(Chunk.toReadonlyArray(yield* other.pull)).toEqual(["1"])
      expect(yield* Effect.flip(other.pull)).toEqual(Option.none())
    })
  )

  it.effect("a pull that is interrupted takes nothing", () =>
    Effect.gen(function* () {
      const watcher = new Watcher<string>(1, "*", () => undefined, later)
      const fiber = yield* Effect.fork(watcher.pull)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      watcher.offer("a", "State", "1")
      expect(Chunk.toReadonlyArray(yield* watcher.pull)).toEqual(["1"])
    })
  )
})
