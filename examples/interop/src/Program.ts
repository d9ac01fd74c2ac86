/** What the programs of this example have in common: flags, a text of help, and errors in words. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"
import * as Flags from "./Flags.js"

/** Runs a program to its end, which is that of its process. */
export const run = <E extends Error>(options: {
  /** What it is, and how it is run. */
  readonly about: string
  readonly flags: Flags.Flags
  readonly program: (given: Flags.Given) => Effect.Effect<void, E, Scope.Scope | NodeContext.NodeContext>
}): void => {
  const { about, flags, program } = options
  Flags.parse(flags, process.argv.slice(2)).pipe(
    Effect.flatMap((given) =>
      given === undefined ? Console.log(`${about}\n\n${Flags.help(flags)}`) : Effect.scoped(program(given))
    ),
    Effect.tapErrorCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.void
        : Console.error(Cause.prettyErrors(cause)[0]?.message ?? Cause.pretty(cause))
    ),
    Effect.provide(NodeContext.layer),
    Effect.provide(
      Layer.merge(
        Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)),
        Logger.minimumLogLevel(LogLevel.Warning)
      )
    ),
    (main) => NodeRuntime.runMain(main, { disableErrorReporting: true, disablePrettyLogger: true })
  )
}
