/** A program beside this one: an Envoy or a control plane. */
import type * as PlatformError from "@effect/platform/Error"
import * as Command from "@effect/platform/Command"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** It ended by itself, as an Envoy does with a bootstrap that it does not like. */
export class Crashed extends Data.TaggedError("Crashed")<{ readonly name: string; readonly output: string }> {
  override get message(): string {
    return `${this.name} ended by itself${this.output === "" ? "" : `; its last words:\n${this.output}`}`
  }
}

export interface ChildProcess {
  /** The last lines that it printed. */
  readonly output: () => ReadonlyArray<string>
  /** Fails when it ends without having been killed. */
  readonly crash: Effect.Effect<never, Crashed>
  /** SIGKILL: it can tell nobody. Returns when it is gone. */
  readonly kill: Effect.Effect<void>
}

// The program takes the shell's place. What stays beside it ends it when this process is gone, however that ended.
const guarded = 'exec 3<&0; (cat <&3 >/dev/null; kill -9 $$) 2>/dev/null & exec "$@" 3<&- </dev/null'

/** Starts a program that runs until the scope closes; then it is killed. */
export const start = (options: {
  readonly name: string
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly onLine?: (line: string) => void
}): Effect.Effect<ChildProcess, PlatformError.PlatformError, Scope.Scope | CommandExecutor.CommandExecutor> =>
  Effect.gen(function* () {
    const crashed = yield* Deferred.make<never, Crashed>()
    const last: Array<string> = []
    let killed = false
    const child = yield* Command.start(Command.make("sh", "-c", guarded, "sh", options.command, ...options.args))
    const lines = (stream: typeof child.stdout) =>
      stream.pipe(
        Stream.decodeText(),
        Stream.splitLines,
        Stream.runForEach((line) =>
          Effect.sync(() => {
            last.push(line)
            if (last.length > 50) last.shift()
            options.onLine?.(line)
          })
        ),
        Effect.ignore
      )
    yield* Effect.all([lines(child.stdout), lines(child.stderr)], { concurrency: 2 }).pipe(
      Effect.zipRight(Effect.ignore(child.exitCode)),
      Effect.zipRight(
        Effect.suspend(() =>
          killed ? Effect.void : Deferred.fail(crashed, new Crashed({ name: options.name, output: last.join("\n") }))
        )
      ),
      Effect.forkScoped
    )
    const kill = Effect.suspend(() => {
      killed = true
      return Effect.ignore(child.kill("SIGKILL"))
    })
    yield* Effect.addFinalizer(() => kill)
    return { output: () => last, crash: Deferred.await(crashed), kill }
  })
