/** Runs the interceptors of a server, in order, for each call. */
import { Given, Status } from "@effect-xds/transport"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import type { Call, Interceptor } from "../Interceptor.js"

/** The outcome of an interception: the call as the server sees it, or the status that ends it. */
export type Outcome = Either.Either<Call, Status.Status>

/**
 * Starts the interceptors of one call. `settle` is called once, never from within, unless the call ends before. The
 * result must be called when the call has ended.
 */
export type Intercept = (call: Call, settle: (outcome: Outcome) => void) => () => void

const failed = Status.make("INTERNAL", "internal error")

const isCall = (value: unknown): value is Call =>
  typeof value === "object" &&
  value !== null &&
  "headers" in value &&
  typeof value.headers === "object" &&
  value.headers !== null &&
  "peer" in value &&
  typeof value.peer === "object" &&
  value.peer !== null &&
  "address" in value.peer &&
  typeof value.peer.address === "string"

/**
 * `timeout`: milliseconds for all interceptors together. `onDefect`: an interceptor threw, or returned no call or no
 * status.
 */
export const make = (
  interceptors: ReadonlyArray<Interceptor>,
  timeout: number,
  runtime: Runtime.Runtime<never>,
  onDefect: (call: Call, defect: unknown) => void
): Intercept => {
  const fork = Runtime.runFork(runtime)
  const slow = Status.make("UNAVAILABLE", `the server could not look at the call within ${timeout} ms`)
  return (call, settle) => {
    const scope = Effect.runSync(Scope.make())
    const all = Effect.reduce(interceptors, call, (before, interceptor) =>
      Effect.suspend(() => {
        const given = interceptor(before)
        return Effect.isEffect(given) ? given : Effect.die(new TypeError(`it gave no Effect: ${Given.kindOf(given)}`))
      })
    )
    const fiber = fork(
      // In a later turn, so that `settle` is not called from within.
      Effect.zipRight(Effect.yieldNow(), Scope.extend(all, scope)).pipe(
        Effect.timeoutFail({ duration: timeout, onTimeout: () => slow }),
        // The server may have been started in an uninterruptible region.
        Effect.interruptible
      )
    )
    let ended = false
    const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome => {
      if (Exit.isSuccess(exit)) {
        if (isCall(exit.value)) return Either.right({ ...exit.value, path: call.path })
        onDefect(call, new Error("an interceptor gave something that is no call"))
        return Either.left(failed)
      }
      const failure = Cause.failureOrCause(exit.cause)
      if (Either.isLeft(failure) && Status.isStatus(failure.left) && failure.left.code !== "OK")
        return Either.left(failure.left)
      onDefect(
        call,
        Either.isLeft(failure)
          ? new Error("an interceptor failed with something that is no status")
          : Cause.squash(failure.right)
      )
      return Either.left(failed)
    }
    fiber.addObserver((exit) => {
      if (!ended) settle(outcomeOf(exit))
    })
    return () => {
      if (ended) return
      ended = true
      fiber.unsafeInterruptAsFork(fiber.id())
      fork(
        Effect.catchAllCause(Scope.close(scope, Exit.void), (cause) =>
          Effect.sync(() => onDefect(call, Cause.squash(cause)))
        )
      )
    }
  }
}
