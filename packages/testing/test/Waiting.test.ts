import { Waiting } from "@effect-xds/testing"
import { expect, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit } from "effect"

/** What an effect dies of. */
const defect = <A>(effect: Effect.Effect<A>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    if (!(error instanceof Waiting.WaitedInVain)) return expect.fail(`not in vain: ${String(exit)}`)
    return error
  })

it.effect("looks until an assertion holds, in the machine's time also under a TestClock", () =>
  Effect.gen(function* () {
    let looks = 0
    const look = () => {
      expect(++looks).toBeGreaterThan(2)
      return looks
    }
    expect(yield* Waiting.eventually(look)).toBe(3)
    looks = 0
    expect(yield* Waiting.eventually(() => Promise.resolve().then(look))).toBe(3)
    looks = 0
    expect(yield* Waiting.eventually(Effect.sync(look))).toBe(3)
    looks = 0
    expect(
      yield* Waiting.until(
        "the third look",
        () => ++looks,
        (count) => count === 3
      )
    ).toBe(3)
  })
)

it.effect("says what it waited for, and what it saw last", () =>
  Effect.gen(function* () {
    const limit = "20 millis"
    const two = yield* defect(
      Waiting.until(
        "two words",
        () => ["a"],
        (words) => words.length === 2,
        { limit }
      )
    )
    expect(two.message).toBe('waited 0.02 s for two words; last seen: ["a"]')
    const failing = yield* defect(Waiting.until("a word", Effect.fail(new Error("no line")), () => true, { limit }))
    expect(failing.message).toBe("waited 0.02 s for a word; last: no line")
    const asserted = yield* defect(Waiting.eventually(() => expect(1).toBe(2), { limit }))
    expect(asserted.message).toBe("waited 0.02 s for what is asserted; last: expected 1 to be 2 // Object.is equality")
    const named = yield* defect(Waiting.found("the client", () => undefined, { limit, seen: () => "two others" }))
    expect(named.message).toBe("waited 0.02 s for the client; seen: two others")
    // The line of the test that waits is the first of the stack.
    expect(named.stack?.split("\n").slice(0, 4).join("\n")).toContain("Waiting.test.ts")
  })
)

it.effect("what is seen may throw: the wait ends all the same", () =>
  Effect.gen(function* () {
    const seen = () => {
      throw new Error("there is nothing yet")
    }
    const late = yield* defect(Waiting.found("a close", () => undefined, { limit: "10 millis", seen }))
    expect(late.message).toBe("waited 0.01 s for a close; how it is instead cannot be told: there is nothing yet")
  })
)

it.effect("without a limit it looks until it is there", () =>
  Effect.gen(function* () {
    for (const limit of [Duration.infinity, "30 days"] as const) {
      const until = performance.now() + 20
      yield* Waiting.found("a later time", () => performance.now() > until, { limit })
    }
  })
)

it.effect("a look that has no end does not outlive the limit", () =>
  Effect.gen(function* () {
    const hung = yield* defect(Waiting.eventually(() => new Promise<never>(() => {}), { limit: "10 millis" }))
    expect(hung.message).toBe("waited 0.01 s for what is asserted; the first look has no end")
    const never = yield* defect(Waiting.until("nothing", Effect.never, () => true, { limit: "10 millis" }))
    expect(never.message).toBe("waited 0.01 s for nothing; the first look has no end")
  })
)
