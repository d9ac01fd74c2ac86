/** Processes that a scope owns: they end with it. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ChildProcess } from "node:child_process"
import { fork, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"

/** A process ended before it was ready, or by itself. */
export class Ended extends Data.TaggedError("Ended")<{ readonly name: string; readonly output: string }> {
  override get message(): string {
    return `${this.name} ended by itself${this.output === "" ? "" : `; its last words: ${this.output}`}`
  }
}

/** A process said nothing for so long that it never will. */
export class NotReady extends Data.TaggedError("NotReady")<{ readonly name: string; readonly output: string }> {
  override get message(): string {
    const words = this.output === "" ? "it printed nothing" : `its last words: ${this.output}`
    return `${this.name} was not ready after ${patience / 1_000} s; ${words}`
  }
}

/** Milliseconds until a process must be ready, on a busy machine too. */
const patience = 60_000

const end = (child: ChildProcess): Effect.Effect<void> =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, "exit")
    child.kill("SIGKILL")
    await exit
  })

/** What a process says of itself, by its name. */
export const said = (message: unknown, name: string): unknown =>
  typeof message === "object" && message !== null ? Reflect.get(message, name) : undefined

export interface Child {
  /** What it said when it was ready. */
  readonly ready: unknown
  readonly process: ChildProcess
  /** SIGKILL, and waits until it is gone. */
  readonly kill: Effect.Effect<void>
}

/** Starts a program that is beside this one, and waits until it is ready. */
export const start = (
  program: "Backend" | "Client" | "ControlPlane",
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Effect.Effect<Child, Ended | NotReady, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        fork(join(import.meta.dirname, `${program}.js`), args, { env: { ...process.env, ...env }, stdio: "pipe" })
      ),
      end
    )
    const output = lastWords(child)
    const ready = yield* Effect.promise(async () => {
      const first: ReadonlyArray<unknown> = await Promise.race([once(child, "message"), once(child, "exit")])
      return said(first[0], "ready")
    }).pipe(
      Effect.timeoutFail({ duration: patience, onTimeout: () => new NotReady({ name: program, output: output() }) })
    )
    if (ready === undefined) return yield* new Ended({ name: program, output: output() })
    return { ready, process: child, kill: end(child) }
  })

// The program takes the shell's place. What stays beside it ends it when this process is gone, however that ended.
const guarded = 'exec 3<&0; (cat <&3 >/dev/null; kill -9 $$) 2>/dev/null & exec "$@" 3<&- </dev/null'

/** Starts another program; gives its last words. */
export const startProgram = (
  path: string,
  args: ReadonlyArray<string>
): Effect.Effect<() => string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => spawn("sh", ["-c", guarded, "sh", path, ...args], { stdio: "pipe" })),
      end
    ),
    lastWords
  )

/** The last lines that a process printed. */
const lastWords = (child: ChildProcess): (() => string) => {
  let text = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => (text = `${text}${chunk.toString()}`.slice(-2_000)))
  }
  return () => text.trim().split("\n").slice(-3).join(" | ")
}
