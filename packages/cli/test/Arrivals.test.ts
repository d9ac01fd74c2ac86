/** Clients that wait for a group of their own. */
import { Deferred, Effect, Fiber, TestClock, TestContext } from "effect"
import { describe, expect, it } from "vitest"
import * as Arrivals from "../src/Arrivals.js"

describe("who waits for a group", () => {
  it("goes on when it comes, before those who tell of it do; who is gone is not waited for", async () => {
    const there = new Set<string>()
    const { follow, tell, waiting } = Arrivals.make((group) => there.has(group))
    await Effect.gen(function* () {
      const order: Array<string> = []
      const note = (text: string) =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => void order.push(text))
        )
      const edge = yield* Effect.forEach([1, 2], (each) => Effect.fork(follow("edge", note(`edge ${each}`))))
      const other = yield* Effect.fork(follow("other", note("other")))
      yield* Effect.yieldNow()
      expect(waiting()).toBe(3)
      there.add("edge")
      yield* tell(["edge", "none"])
      order.push("told")
      expect(order).toEqual(["edge 1", "edge 2", "told"])
      yield* Fiber.joinAll(edge)
      expect(waiting()).toBe(1)
      yield* Fiber.interrupt(other)
      expect(waiting()).toBe(0)
      yield* tell(["other"])
      // Who comes later does not wait.
      yield* follow("edge", note("late"))
      expect(order).toEqual(["edge 1", "edge 2", "told", "late"])
    }).pipe(Effect.runPromise)
  })

  it("★ is waited for no longer than a second, and not any more when it was interrupted meanwhile", async () => {
    const { follow, tell, waiting } = Arrivals.make(() => false)
    await Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const hangs = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      const hanging = yield* Effect.fork(follow("edge", hangs))
      yield* Effect.yieldNow()
      const telling = yield* Effect.fork(tell(["edge"]))
      yield* Deferred.await(begun)
      yield* TestClock.adjust("999 millis")
      expect(telling.unsafePoll()).toBeNull()
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(telling)
      yield* Fiber.interrupt(hanging)
      expect(waiting()).toBe(0)
      const next = yield* Effect.fork(follow("edge", Effect.never))
      yield* Effect.yieldNow()
      const again = yield* Effect.fork(tell(["edge"]))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(next)
      yield* Fiber.join(again)
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
  })
})
