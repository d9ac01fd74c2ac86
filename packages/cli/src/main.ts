#!/usr/bin/env node
/** The program `effect-xds`. */
import * as ValidationError from "@effect/cli/ValidationError"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { CommandFailure, exitCodes } from "./CommandFailure.js"
import { plainUnlessTerminal } from "./PlainConsole.js"
import { program } from "./Program.js"

const report = (cause: Cause.Cause<unknown>): Effect.Effect<void> =>
  Effect.sync(() => {
    if (Cause.isInterruptedOnly(cause)) return
    const failure = Option.getOrUndefined(Cause.failureOption(cause))
    // The parser of the arguments said already what is wrong with them.
    if (ValidationError.isValidationError(failure)) return
    if (failure instanceof CommandFailure) {
      if (failure.message !== "") process.stderr.write(`effect-xds: ${failure.message}\n`)
      return
    }
    process.stderr.write(`effect-xds failed, which is a mistake of its own:\n${Cause.pretty(cause)}\n`)
  })

const exitCodeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) return 0
  const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
  if (ValidationError.isValidationError(failure)) return exitCodes.usage
  return failure instanceof CommandFailure ? exitCodes[failure.kind] : exitCodes.failed
}

// A reader that has enough (`| head`) is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0)
  })
}

Effect.suspend(() => program(process.argv)).pipe(
  plainUnlessTerminal,
  Effect.tapErrorCause(report),
  Effect.provide(NodeContext.layer),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (exit, onExit) => onExit(exitCodeOf(exit))
  })
)
