import * as SimulatedTime from "@effect-xds/testing/simulation/SimulatedTime"
import { EventLoop } from "@effect-xds/transport/EventLoop"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Deferred, Effect, Exit, Fiber, Random, TestClock } from "effect"

const failureOf = <A, E>(effect: Effect.Effect<A, E>) => Effect.flip(effect)

describe("SimulatedTime", () => {
  it.live("passes when everybody waits, and costs nothing", () =>
    Effect.gen(function* () {
      // An hour that passed would be longer than a test may take.
      const times = yield* SimulatedTime.run()(
        Effect.gen(function* () {
          const times: Array<number> = []
          const note = Effect.map(Clock.currentTimeMillis, (time) => void times.push(time))
          yield* Effect.fork(Effect.forever(Effect.zipRight(Effect.sleep("1 second"), Effect.void)))
          yield* Effect.fork(Effect.delay(note, "2 minutes"))
          yield* Effect.delay(note, "1 minute")
          yield* Effect.delay(note, "59 minutes")
          return times
        })
      )
      assert.deepStrictEqual(times, [60_000, 120_000, 3_600_000])
    })
  )

  it.live("is a TestClock", () =>
    SimulatedTime.run()(
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.as(Effect.sleep("5 seconds"), "done"))
        yield* TestClock.adjust("4 seconds")
        assert.strictEqual((yield* Fiber.status(fiber))._tag, "Suspended")
        assert.deepStrictEqual(Array.from(yield* TestClock.sleeps()), [5_000])
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.status(fiber))._tag, "Done")
        yield* TestClock.setTime(60_000)
        assert.strictEqual(yield* Clock.currentTimeMillis, 60_000)
      })
    )
  )

  it.live("is the same in every run of a seed", () =>
    Effect.gen(function* () {
      const draw = SimulatedTime.run({ seed: 7 })(
        Effect.forEach([1, 2, 3], () => Random.nextInt.pipe(Effect.zipLeft(Effect.yieldNow())), { concurrency: 3 })
      )
      assert.deepStrictEqual(yield* draw, yield* draw)
      assert.notDeepEqual(yield* draw, yield* SimulatedTime.run({ seed: 8 })(Effect.all([Random.nextInt])))
    })
  )

  it.live("does work that is put off in its order", () =>
    SimulatedTime.run()(
      Effect.gen(function* () {
        const { later, soon } = yield* EventLoop
        const order: Array<string> = []
        later(() => order.push("later"))
        later(() => order.push("never"))()
        soon(() => order.push("soon"))
        yield* Effect.yieldNow()
        order.push("next")
        yield* Effect.sleep(1)
        assert.deepStrictEqual(order, ["soon", "next", "later"])
      })
    )
  )

  it.live("waits for promises before time passes", () =>
    SimulatedTime.run()(
      Effect.gen(function* () {
        yield* Effect.fork(Effect.sleep("1 hour"))
        yield* Effect.promise(() => Promise.resolve().then(() => Promise.resolve()))
        assert.strictEqual(yield* Clock.currentTimeMillis, 0)
      })
    )
  )

  it.live("gives up what takes too long, goes round in circles or never comes, and its finalizers run", () =>
    Effect.gen(function* () {
      let released = 0
      const release = Effect.ensuring(
        Effect.sync(() => {
          released++
        })
      )
      const tooLong = yield* failureOf(
        SimulatedTime.run({ limits: { time: 1_000 } })(release(Effect.forever(Effect.sleep(10))))
      )
      assert.deepInclude(tooLong, { reason: "TooLong", at: 1_000 })
      const circles = yield* failureOf(
        SimulatedTime.run({ limits: { steps: 1_000 } })(release(Effect.forever(Effect.yieldNow())))
      )
      assert.deepInclude(circles, { reason: "TooManySteps", at: 0 })
      // Others have their turn meanwhile: the timeout of a runner of tests, for example.
      let turns = 0
      const count = (): void => {
        turns++
        timer = setImmediate(count)
      }
      let timer = setImmediate(count)
      yield* failureOf(SimulatedTime.run({ limits: { steps: 10_000 } })(Effect.forever(Effect.yieldNow())))
      clearImmediate(timer)
      assert.isAtLeast(turns, 8)
      const stuck = yield* failureOf(
        SimulatedTime.run({ limits: { outside: 20 } })(release(Effect.flatMap(Deferred.make<void>(), Deferred.await)))
      )
      assert.deepInclude(stuck, { reason: "Stuck", at: 0 })
      assert.strictEqual(released, 3)
    })
  )

  it.live("is interrupted with what runs in it", () =>
    Effect.gen(function* () {
      let released = false
      const endless = Effect.ensuring(
        Effect.never,
        Effect.delay(
          Effect.sync(() => (released = true)),
          "1 minute"
        )
      )
      const fiber = yield* Effect.fork(SimulatedTime.run({ limits: { outside: 10_000 } })(endless))
      yield* Effect.sleep(5)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(released)
    })
  )

  it.live("passes failures on", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.exit(SimulatedTime.run()(Effect.fail("no"))), Exit.fail("no"))
      const defect = yield* Effect.exit(SimulatedTime.run()(Effect.die("broken")))
      assert.isTrue(Exit.isFailure(defect) && Cause.isDie(defect.cause))
    })
  )

  it.live("counts timers and fibers, and has clocks that jump", () =>
    SimulatedTime.run()(
      Effect.gen(function* () {
        const time = yield* SimulatedTime.SimulatedTime
        const before = time.fibers()
        const fiber = yield* Effect.fork(Effect.sleep("1 minute"))
        yield* Effect.sleep(1)
        assert.strictEqual(time.fibers() - before, 1)
        assert.strictEqual(time.timers(), 1)
        yield* Fiber.interrupt(fiber)
        yield* Effect.sleep(1)
        assert.deepStrictEqual([time.fibers() - before, time.timers()], [0, 0])
        const clock = time.makeClock()
        clock.jump(60_000)
        clock.jump(-90_000)
        assert.strictEqual(clock.unsafeCurrentTimeMillis(), time.now() - 30_000)
        assert.strictEqual(Number(clock.unsafeCurrentTimeNanos() / 1_000_000n), time.now() + 60_000)
      })
    )
  )
})
