/** The process of the program: its arguments, its streams and its signals. */
import type * as EnvoyApi from "@effect-xds/proto/EnvoyApi"
import { createRequire } from "node:module"
import { constants } from "node:os"
import { setTimeout } from "node:timers/promises"
import * as CommandLine from "./CommandLine.js"
import * as ErrorLine from "./ErrorLine.js"
import { program } from "./Program.js"

const versionOfPackage = (): string => {
  const manifest: unknown = createRequire(import.meta.url)("@effect-xds/cli/package.json")
  const version: unknown =
    typeof manifest === "object" && manifest !== null ? Reflect.get(manifest, "version") : undefined
  return typeof version === "string" ? version : "0.0.0"
}

/** The version of Envoy's API. It does not compile with another than the types have, and nothing has to be loaded for it. */
const versionOfApi: typeof EnvoyApi.version = "1.40.0"

/** Whether the process is there for what it writes: a server goes on without a reader. */
let isForReader = true

// A reader that has enough (`| head`) is no failure. What cannot be written, as to a full disk, is one.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (!isForReader) return
  if (error.code === "EPIPE") process.exit()
  process.stderr.write(`effect-xds: the output cannot be written: ${error.message}\n`)
  process.exit(3)
})
// Where nobody reads what goes wrong, the rest goes on.
process.stderr.on("error", () => undefined)

/** Until a reader has taken what was written: into a pipe that is later than the call. */
const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => stream.write("", () => resolve()))

/** Milliseconds for that where somebody waits for the end of the process. */
const readersTime = 100

/** What a signal does, with the exit code that tells of it. Until something runs that has to be ended, nothing is lost. */
let end = (code: number): void => process.exit(code)
const asked = new AbortController()
// ★ One listener for all of the time. Modules are read in one long turn, and what comes meanwhile is told behind it: to nobody, if
// there was a moment without a listener.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(signal, () => {
    asked.abort()
    end(128 + constants.signals[signal])
  })
}

const request = CommandLine.read(program, process.argv.slice(2))
switch (request._tag) {
  case "Version":
    process.stdout.write(`${versionOfPackage()} (Envoy API ${versionOfApi})\n`)
    break
  case "Help":
    process.stdout.write(`${(await import("./Help.js")).render(request.path)}\n`)
    break
  case "Completions":
    process.stdout.write(`${(await import("./Completions.js")).script(program, request.shell)}\n`)
    break
  case "Mistake":
    ErrorLine.say(`effect-xds: ${request.message}`)
    process.exitCode = 2
    break
  case "Run": {
    const { endsOrderly, isEndless } = request.command
    if (isEndless) end = () => process.exit(0)
    const [action, running] = await Promise.all([request.load(), import("./Running.js")])
    isForReader = !endsOrderly
    const started = running.start(action, endsOrderly)
    end = isEndless ? () => started.end(0) : started.end
    process.exitCode = await started.code
    end = () => process.exit()
    const all = Promise.all([written(process.stdout), written(process.stderr)])
    await (asked.signal.aborted || endsOrderly ? Promise.race([all, setTimeout(readersTime)]) : all)
    process.exit()
  }
}
