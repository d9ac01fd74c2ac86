/**
 * Waiting in a test for what comes sooner or later, as of sockets, files and processes: it looks again and again, and a
 * test that waited in vain fails with what it waited for and what it saw last.
 *
 * The time is the machine's, also under a `TestClock`. Where a `TestClock` brings what is waited for, move it instead.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"

/**
 * It did not come in time.
 *
 * @since 0.1.0
 */
export class WaitedInVain extends Data.TaggedError("WaitedInVain")<{
  readonly seconds: number
  /** What was waited for. */
  readonly what: string
  /** How it was instead, when last looked at. */
  readonly seen: string
}> {
  override get message(): string {
    return `waited ${this.seconds} s for ${this.what}; ${this.seen}`
  }
}

/**
 * What is looked at: a function or an effect that can be run many times.
 *
 * @since 0.1.0
 */
export type Look<A, R = never> = (() => A | PromiseLike<A>) | Effect.Effect<A, unknown, R>

/**
 * How long is waited. Default: 30 seconds, as only what never comes is a failure where the machine is busy.
 *
 * @since 0.1.0
 */
export interface Options {
  readonly limit?: Duration.DurationInput | undefined
  /** What is waited for, for the error. Default: "what is asserted", which the error's cause says. */
  readonly what?: string | undefined
}

const isEffect = <A, R>(look: Look<A, R>): look is Effect.Effect<A, unknown, R> => Effect.isEffect(look)

/** What a function throws is a failure. */
const once = <A, R>(look: Look<A, R>): Effect.Effect<A, unknown, R> =>
  isEffect(look) ? look : Effect.tryPromise({ try: async () => look(), catch: (error) => error })

/** In the machine's time; the shorter, the less was waited so far. */
const pause = (waited: number): Effect.Effect<void> =>
  Effect.async((resume) => {
    const timer = setTimeout(() => resume(Effect.void), Math.min(1 + waited / 20, 10))
    return Effect.sync(() => clearTimeout(timer))
  })

const words = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : Inspectable.toStringUnknown(error)
}

/** Looks until `isSo`; `words` says how an exit that is not so is told. */
const look = <A, R>(
  at: Look<A, R>,
  isSo: (exit: Exit.Exit<A, unknown>) => exit is Exit.Success<A, unknown>,
  inVain: (last: Exit.Exit<A, unknown> | undefined, seconds: number) => WaitedInVain,
  limit: Duration.DurationInput = "30 seconds"
): Effect.Effect<A, never, R> => {
  // Where the test waits: the error points there, and not into this file.
  const { stack = "" } = new Error()
  return Effect.suspend(() => {
    const milliseconds = Duration.toMillis(limit)
    const start = performance.now()
    let last: Exit.Exit<A, unknown> | undefined
    const looking = Effect.gen(function* () {
      for (;;) {
        last = yield* Effect.exit(once(at))
        if (isSo(last)) return last.value
        yield* pause(performance.now() - start)
      }
    })
    const late = Effect.async<never>((resume) => {
      const timer = setTimeout(() => {
        const error = inVain(last, milliseconds / 1_000)
        error.stack = stack.replace(/^.*/, `${error.name}: ${error.message}`)
        resume(Effect.die(error))
      }, milliseconds)
      return Effect.sync(() => clearTimeout(timer))
    })
    return Effect.raceFirst(looking, late)
  })
}

/**
 * Waits until an assertion holds: until a function no longer throws or rejects, or an effect no longer fails. Dies with a
 * `WaitedInVain` that has the words of the last failure.
 *
 * @example
 * import { Waiting } from "@effect-xds/testing"
 * import { Effect } from "effect"
 * import { expect } from "vitest"
 *
 * const test = Effect.gen(function* () {
 *   const heard: Array<string> = []
 *   setTimeout(() => heard.push("a"), 5)
 *   yield* Waiting.eventually(() => expect(heard).toEqual(["a"]))
 * })
 *
 * @since 0.1.0
 */
export const eventually = <A, R = never>(assertion: Look<A, R>, options: Options = {}): Effect.Effect<A, never, R> =>
  look(
    assertion,
    Exit.isSuccess,
    (last, seconds) =>
      new WaitedInVain({
        seconds,
        what: options.what ?? "what is asserted",
        seen: last === undefined || Exit.isSuccess(last) ? "the first look has no end" : `last: ${words(last.cause)}`
      }),
    options.limit
  )

/**
 * Waits until a value is as it should be, and gives it. Dies with a `WaitedInVain` that has the value seen last.
 *
 * @example
 * import { Waiting } from "@effect-xds/testing"
 *
 * const heard: Array<string> = []
 * const two = Waiting.until("two words", () => heard, (words) => words.length === 2)
 *
 * @since 0.1.0
 */
export const until = <A, R = never>(
  what: string,
  at: Look<A, R>,
  isSo: (value: A) => boolean,
  limit?: Duration.DurationInput
): Effect.Effect<A, never, R> =>
  look(
    at,
    (exit): exit is Exit.Success<A, unknown> => Exit.isSuccess(exit) && isSo(exit.value),
    (last, seconds) =>
      new WaitedInVain({
        seconds,
        what,
        seen:
          last === undefined
            ? "the first look has no end"
            : Exit.isSuccess(last)
              ? `last seen: ${Inspectable.toStringUnknown(last.value)}`
              : `the last look failed: ${words(last.cause)}`
      }),
    limit
  )
