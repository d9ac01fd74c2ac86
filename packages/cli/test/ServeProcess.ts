/** `effect-xds serve` as a process of its own. */
import * as Waiting from "@effect-xds/testing/Waiting"
import { Effect } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { inject, onTestFinished } from "vitest"

/** The built program. */
export const program = fileURLToPath(new URL("../dist/main.js", import.meta.url))

/** The same, which is read in a third of the time. */
const bundled = inject("bundledProgram")

/** Milliseconds for what takes a fraction of that on a quiet machine. */
export const deadline = 60_000

/** Waits until an assertion holds. */
export const eventually = <A>(assertion: () => A | Promise<A>): Promise<A> =>
  Effect.runPromise(Waiting.eventually(assertion, { limit: deadline }))

/** A directory that is gone after the test. */
export const temporaryDirectory = (): string => {
  const path = mkdtempSync(join(tmpdir(), "xds-cli-"))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A directory with these files; paths with `/` are in subdirectories. */
export const directoryOf = (files: Readonly<Record<string, string>>): string => {
  const directory = temporaryDirectory()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, ".."), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

/** Written beside its place and moved there, as careful programs do. */
export const replaceFile = (path: string, text: string): void => {
  const beside = join(dirname(path), `.new-${process.pid}`)
  writeFileSync(beside, text)
  renameSync(beside, path)
}

export interface RunningProcess {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** Its exit code, or the signal that ended it. */
  readonly exit: Promise<number | string>
}

/** Starts a program; when the test is over, it is killed. */
export const start = (
  command: string,
  args: ReadonlyArray<string>,
  options: { readonly uid?: number; readonly gid?: number; readonly env?: NodeJS.ProcessEnv } = {}
): RunningProcess => {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options })
  let stdout = ""
  let stderr = ""
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()))
  const exit = once(child, "close").then(([code, signal]) => (typeof code === "number" ? code : String(signal)))
  onTestFinished(async () => {
    child.kill("SIGKILL")
    await exit
  })
  return { child, stdout: () => stdout, stderr: () => stderr, exit }
}

/** Runs the program with these arguments until it ends. */
export const effectXds = (...args: ReadonlyArray<string>): RunningProcess => start(process.execPath, [bundled, ...args])

export interface ServeProcess extends RunningProcess {
  readonly grpc: string
  readonly rest: string
  readonly admin: string
  /** Everything behind the sentence that introduces it. */
  readonly bootstrap: string
  readonly get: (path: string) => Promise<{ readonly status: number; readonly body: string }>
  readonly json: (path: string) => Promise<unknown>
}

/** Starts `serve` on free ports, and waits until it is ready. */
export const serve = async (
  directory: string,
  args: ReadonlyArray<string> = [],
  options: { readonly uid?: number; readonly gid?: number } = {}
): Promise<ServeProcess> => {
  const ports = ["--port", "0", "--rest-port", "0", "--admin-port", "0"]
  const running = start(process.execPath, [bundled, "serve", directory, ...ports, ...args], options)
  let over: number | string | undefined
  void running.exit.then((code) => (over = code))
  const isReady = () => over !== undefined || /^admin:$/m.test(running.stdout())
  await Effect.runPromise(Waiting.found("serve", isReady, { limit: deadline, seen: running.stderr }))
  if (over !== undefined) throw new Error(`serve ended with ${over}: ${running.stderr()}`)
  const addressOf = (label: string): string =>
    new RegExp(`^ +${label} +(?:http://)?(\\S+)`, "m").exec(running.stdout())?.[1] ?? ""
  const admin = addressOf("admin")
  const get: ServeProcess["get"] = async (path) => {
    const response = await fetch(`http://${admin}${path}`)
    return { status: response.status, body: await response.text() }
  }
  return {
    ...running,
    grpc: addressOf("gRPC"),
    rest: addressOf("REST"),
    admin,
    bootstrap: running.stdout().slice(running.stdout().indexOf("\nnode:")),
    get,
    json: async (path) => {
      const parsed: unknown = JSON.parse((await get(path)).body)
      return parsed
    }
  }
}
