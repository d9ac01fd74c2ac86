/** A process of the demo: one of the scripts beside this one, or another program. */
import type * as PlatformError from "@effect/platform/Error"
import * as Command from "@effect/platform/Command"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { fileURLToPath } from "node:url"

/** A process ended by itself, which none should. */
export class Crashed extends Data.TaggedError("Crashed")<{ readonly name: string; readonly output: string }> {
  override get message(): string {
    return `${this.name} ended by itself${this.output === "" ? "" : `; its last words:\n${this.output}`}`
  }
}

export interface ChildProcess {
  /** Fails when the process ends without having been asked to. */
  readonly crash: Effect.Effect<never, Crashed>
  /** SIGTERM lets it finish, SIGKILL does not. Returns when it is gone. */
  readonly kill: (signal: "SIGTERM" | "SIGKILL") => Effect.Effect<void>
}

/**
 * Starts a program; `onLine` is called for what it prints. The process ends with the scope at the latest, and by itself
 * when its standard input ends.
 */
export const startProgram = (options: {
  readonly name: string
  readonly program: string
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly onLine: (line: string) => void
  /** What it is given as its standard input. */
  readonly input?: Stream.Stream<string>
}): Effect.Effect<ChildProcess, PlatformError.PlatformError, Scope.Scope | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const crashed = yield* Deferred.make<never, Crashed>()
    const lastErrors: Array<string> = []
    let asked = false
    const command = Command.make(options.program, ...(options.args ?? [])).pipe(Command.env(options.env ?? {}))
    const { input } = options
    const child = yield* Command.start(input === undefined ? command : Command.stdin(command, Stream.encodeText(input)))
    const lines = (stream: typeof child.stdout, onLine: (line: string) => void) =>
      stream.pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.runForEach((line) => Effect.sync(() => onLine(line))),
        Effect.ignore
      )
    yield* Effect.forkScoped(
      Effect.gen(function* () {
        yield* Effect.all(
          [
            lines(child.stdout, options.onLine),
            lines(child.stderr, (line) => {
              lastErrors.push(line)
              if (lastErrors.length > 20) lastErrors.shift()
            })
          ],
          { concurrency: "unbounded" }
        )
        yield* Effect.ignore(child.exitCode)
        if (!asked) yield* Deferred.fail(crashed, new Crashed({ name: options.name, output: lastErrors.join("\n") }))
      })
    )
    const kill = (signal: "SIGTERM" | "SIGKILL") =>
      Effect.suspend(() => {
        asked = true
        return Effect.ignore(child.kill(signal))
      })
    // What does not end by itself in time is ended: the demo must not hang at its end.
    yield* Effect.addFinalizer(() =>
      kill("SIGTERM").pipe(
        Effect.disconnect,
        Effect.timeoutTo({ duration: "3 seconds", onSuccess: () => true, onTimeout: () => false }),
        Effect.flatMap((ended) => (ended ? Effect.void : kill("SIGKILL")))
      )
    )
    return { crash: Deferred.await(crashed), kill }
  })

/** Starts a script of ours, which is built: tests run this file as it is in `src`. */
export const start = ({
  script,
  args = [],
  ...options
}: Omit<Parameters<typeof startProgram>[0], "program"> & { readonly script: URL }): ReturnType<typeof startProgram> =>
  startProgram({
    ...options,
    program: process.execPath,
    args: ["--import", new URL("../dist/ExitWithParent.js", import.meta.url).href, fileURLToPath(script), ...args]
  })
