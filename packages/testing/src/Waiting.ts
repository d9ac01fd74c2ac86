/**
 * Waiting in a test for what comes sooner or later, as of sockets, files and processes: it looks again and again, and a
 * test that waited in vain fails with what it waited for and what it saw last.
 *
 * The time is the machine's, also under a `TestClock`. Where a `TestClock` brings what is waited for, move it instead.
 *
 * @since 0.1.0
 */
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"

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
 * How long is waited, and what is told of it.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * Default: 30 seconds, as only what never comes is a failure where the machine is busy. More than 24 days, or
   * `Duration.infinity`: no limit.
   */
  readonly limit?: Duration.DurationInput | undefined
  /** How it is instead, for the error, where what is looked at does not say it. */
  readonly seen?: (() => unknown) | undefined
}

const isEffect = <A, R>(look: Look<A, R>): look is Effect.Effect<A, unknown, R> => Effect.isEffect(look)

/** What a function throws is a failure. */
const once = <A, R>(look: Look<A, R>): Effect.Effect<A, unknown, R> =>
  isEffect(look) ? look : Effect.tryPromise({ try: async () => look(), catch: (error) => error })

/** In the machine's time; the shorter, the less was waited so far. */
const pause = (waited: number): Effect.Effect<void> =>
  Effect.async((resume) => {
    const timer = setTimeout(() => resume(Effect.void), Math.min(1 + waited / 200, 10))
    return Effect.sync(() => clearTimeout(timer))
  })

const words = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : Inspectable.toStringUnknown(error)
}

const isThere = <A>(value: A): value is Exclude<A, undefined | null | false> =>
  value !== undefined && value !== null && value !== false

const thereIs = <A>(value: A) => (isThere(value) ? Option.some(value) : Option.none())

/** A timer of Node with more milliseconds ends at once. */
const longest = 2 ** 31 - 1

const wordsOf = (value: unknown): string => (typeof value === "string" ? value : Inspectable.toStringUnknown(value, 0))

/** Looks until `take` takes what it sees, and gives that. */
const waiting = <A, B, R>(
  what: string,
  look: Look<A, R>,
  take: (value: A) => Option.Option<B>,
  { limit = "30 seconds", seen }: Options
): Effect.Effect<B, never, R> => {
  // Where the test waits: the error points there, and not into this file.
  const { stack = "" } = new Error()
  return Effect.suspend(() => {
    const wrong = BadOption.find({ limit }, { limit: 0 })
    if (wrong !== undefined) return Effect.die(wrong)
    const milliseconds = Duration.toMillis(limit)
    const start = performance.now()
    let last = (): string => "the first look has no end"
    const looking = Effect.gen(function* () {
      for (;;) {
        const exit = yield* Effect.exit(once(look))
        if (Exit.isSuccess(exit)) {
          const taken = take(exit.value)
          if (Option.isSome(taken)) return taken.value
          last = () => `last seen: ${wordsOf(exit.value)}`
        } else last = () => `last: ${words(exit.cause)}`
        yield* pause(performance.now() - start)
      }
    })
    const how = (): string => {
      if (seen === undefined) return last()
      try {
        return `seen: ${wordsOf(seen())}`
      } catch (error) {
        return `how it is instead cannot be told: ${words(Cause.fail(error))}`
      }
    }
    const late = Effect.async<never>((resume) => {
      if (milliseconds > longest) return
      const timer = setTimeout(() => {
        const error = new WaitedInVain({ seconds: milliseconds / 1_000, what, seen: how() })
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
 * `WaitedInVain` that has the words of the last failure, and the line that waits.
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
  waiting("what is asserted", assertion, Option.some, options)

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
  look: Look<A, R>,
  isSo: (value: A) => boolean,
  options: Options = {}
): Effect.Effect<A, never, R> => waiting(what, look, Option.liftPredicate(isSo), options)

/**
 * Waits until something is there, and gives it: anything but `undefined`, `null` and `false`. Dies with a `WaitedInVain`.
 *
 * @example
 * import { Waiting } from "@effect-xds/testing"
 *
 * const events = [{ _tag: "Opened" }]
 * const closed = Waiting.found("a close", () => events.find(({ _tag }) => _tag === "Closed"), { seen: () => events })
 *
 * @since 0.1.0
 */
export const found = <A, R = never>(
  what: string,
  look: Look<A, R>,
  options: Options = {}
): Effect.Effect<Exclude<A, undefined | null | false>, never, R> => waiting(what, look, thereIs, options)
