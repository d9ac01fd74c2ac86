import { describe, expect, it } from "@effect/vitest"
import { eventually } from "@effect-xds/testing/Waiting"
import { Effect, TestClock } from "effect"
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import * as Alarm from "../src/Alarm.js"

const now = () => performance.now()

/** A thread that answers also while this one does nothing. */
const peer = Effect.acquireRelease(
  Effect.promise(async () => {
    const source = `const { parentPort } = require("node:worker_threads")
      parentPort.on("message", (message) => parentPort.postMessage(message))`
    const worker = new Worker(source, { eval: true })
    await once(worker, "online")
    return worker
  }),
  (worker) => Effect.promise(() => worker.terminate())
)

/** The alarm's fiber sleeps until the deadline. */
const asleep = Effect.promise(() => new Promise((resolve) => setImmediate(() => setImmediate(resolve))))

describe("an alarm", () => {
  it.scoped("is due at the deadline, which can be moved and removed", () =>
    Effect.gen(function* () {
      const due: Array<number> = []
      const clock = yield* Effect.clock
      const time = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
      const alarm = yield* Alarm.make(time, () => due.push(time()))
      alarm.set(1_000)
      yield* TestClock.adjust(999)
      expect(due).toEqual([])
      yield* TestClock.adjust(1)
      expect(due).toEqual([1_000])
      alarm.set(2_000)
      alarm.set(3_000)
      alarm.advance(4_000)
      yield* TestClock.adjust(1_000)
      expect(due).toEqual([1_000])
      yield* TestClock.adjust(1_000)
      expect(due).toEqual([1_000, 3_000])
      alarm.set(4_000)
      alarm.set(Number.POSITIVE_INFINITY)
      yield* TestClock.adjust(10_000)
      expect(due).toEqual([1_000, 3_000])
    })
  )

  it.scopedLive("is not due for what was answered in time, while the process was paused", () =>
    Effect.gen(function* () {
      const worker = yield* peer
      const events: Array<string> = []
      const alarm = yield* Alarm.make(now, () => events.push("due"))
      worker.once("message", () => {
        events.push("answered")
        alarm.set(Number.POSITIVE_INFINITY)
      })
      alarm.set(now() + 100)
      yield* asleep
      worker.postMessage("question")
      // The process does nothing past the deadline; the answer waits for it.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
      yield* eventually(() => expect(events).toEqual(["answered"]))
      alarm.set(now() + 1_500)
      yield* eventually(() => expect(events).toEqual(["answered", "due"]))
    })
  )

  it.scopedLive("is due soon after a pause in which nothing came", () =>
    Effect.gen(function* () {
      let due = 0
      const alarm = yield* Alarm.make(now, () => {
        due = now()
      })
      const at = now() + 100
      alarm.set(at)
      yield* asleep
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
      yield* eventually(() => expect(due).toBeGreaterThan(at + 1_000))
    })
  )
})
