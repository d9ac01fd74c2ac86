/**
 * Runs what a command does to its end, and gives the exit code.
 *
 * @since 0.1.0
 */
import { ofParser } from "@effect-xds/proto/Redaction"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import { CommandFailure, exitCodes } from "./CommandFailure.js"
import * as ErrorLine from "./ErrorLine.js"

/** Milliseconds until a command that nobody waits for is over, whatever it still does. */
const grace = 100

/** With the places in the program, and without what the errors quote: that may be a secret. */
const faultsOf = (cause: Cause.Cause<CommandFailure>): string =>
  Cause.prettyErrors(cause)
    .map(({ message, name, stack = "" }) => {
      const places = stack.split("\n").filter((line) => /^\s+at /.test(line))
      return [`${name}: ${ofParser(message)}`, ...places].join("\n")
    })
    .join("\n")

const report = (cause: Cause.Cause<CommandFailure>, ended: number): number => {
  if (Cause.isInterruptedOnly(cause)) return ended
  const failure = Option.getOrUndefined(Cause.failureOption(cause))
  if (failure instanceof CommandFailure) {
    if (failure.message !== "") ErrorLine.say(`effect-xds: ${failure.message}`)
    return exitCodes[failure.kind]
  }
  ErrorLine.say(`effect-xds failed, which is a mistake of its own:\n${faultsOf(cause)}`)
  return exitCodes.fault
}

/**
 * A command that runs.
 *
 * @since 0.1.0
 */
export interface Running {
  /** The exit code, when it is over. */
  readonly code: Promise<number>
  /** Ends it, with this exit code; called a second time it ends the process. */
  readonly end: (code: number) => void
}

/**
 * Starts a command.
 *
 * @param endsOrderly whether its ending is waited for, as that of a server is
 * @since 0.1.0
 */
export const start = (action: Effect.Effect<void, CommandFailure>, endsOrderly: boolean): Running => {
  const fiber = Effect.runFork(action)
  let isEnding = false
  let ended = 0
  let resolve: (code: number) => void = () => undefined
  const code = new Promise<number>((resolved) => (resolve = resolved))
  fiber.addObserver((exit) => resolve(Exit.isSuccess(exit) ? 0 : report(exit.cause, ended)))
  return {
    code,
    end: (code) => {
      if (isEnding) process.exit(code)
      isEnding = true
      ended = code
      Effect.runFork(Fiber.interruptFork(fiber))
      if (!endsOrderly) setTimeout(() => resolve(code), grace)
    }
  }
}
