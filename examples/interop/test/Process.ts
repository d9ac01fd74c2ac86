/** A program that a scope owns: it ends with the scope, and when the process of the test is gone. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"

export interface Process {
  /** To its standard input. */
  readonly write: (text: string) => void
  /** What it said last, and how it ended. */
  readonly lastWords: () => string
  /** Its exit code, when it has ended. */
  readonly exitCode: () => number | null
  /** All that it printed. */
  readonly printed: () => ReadonlyArray<string>
}

/**
 * Runs the rest of its arguments until its standard input ends: programs of others do not look at theirs. Who reads it
 * itself is run without.
 */
const untilInputEnds =
  'exec 3<&0; "$@" </dev/null 3<&- & it=$!; (cat <&3; kill -9 $it) >/dev/null 2>&1 & wait $it; code=$?; kill $!; exit $code'

export const start = (options: {
  readonly name: string
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly onLine?: (line: string) => void
  /** Whether it ends with its standard input by itself. Default: it is, and is written to. */
  readonly readsInput?: boolean
}): Effect.Effect<Process, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { args, env = {}, name, onLine = () => undefined, program, readsInput = true } = options
      const command = readsInput ? [program, ...args] : ["/bin/sh", "-c", untilInputEnds, "sh", program, ...args]
      // A group of its own: it ends with all that it has started.
      const child = spawn(command[0] ?? "", command.slice(1), {
        detached: true,
        stdio: ["pipe", "pipe", "pipe"],
        env: { ...process.env, ...env }
      })
      const printed: Array<string> = []
      const last: Array<string> = []
      const hear = (line: string) => {
        last.push(line)
        if (last.length > 20) last.shift()
      }
      child.on("error", ({ message }) => hear(message))
      child.stdin.on("error", () => undefined)
      createInterface(child.stdout).on("line", (line) => {
        hear(line)
        printed.push(line)
        onLine(line)
      })
      createInterface(child.stderr).on("line", hear)
      const lastWords = () => {
        const end = child.exitCode === null ? "" : ` has ended with ${child.exitCode}, and`
        return `${name}${end} said last: ${last.join("\n")}`
      }
      const end = async (): Promise<void> => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
        const exit = once(child, "exit")
        try {
          process.kill(-child.pid, "SIGKILL")
        } catch {
          // It has just ended.
          return
        }
        await exit
      }
      return {
        end,
        lastWords,
        exitCode: () => child.exitCode,
        printed: () => printed,
        write: (text: string) => void child.stdin.write(text)
      }
    }),
    ({ end }) => Effect.promise(end)
  )
