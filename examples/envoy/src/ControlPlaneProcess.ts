/** The control plane as a process that can be killed and started again on its port. */
import type * as PlatformError from "@effect/platform/Error"
import type * as CommandExecutor from "@effect/platform/CommandExecutor"
import * as FileSystem from "@effect/platform/FileSystem"
import * as FreePort from "@effect-xds/testing/network/FreePort"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type * as Bootstrap from "./Bootstrap.js"
import * as ChildProcess from "./ChildProcess.js"
import * as Edge from "./Edge.js"
import * as Wait from "./Wait.js"

type Started<A> = Effect.Effect<
  A,
  PlatformError.PlatformError | Wait.TimedOut | ChildProcess.Crashed,
  Scope.Scope | CommandExecutor.CommandExecutor
>

export interface ControlPlaneProcess {
  /** Waits until it serves, and gives its address. */
  readonly start: Started<string>
  readonly kill: Effect.Effect<void>
  /** What it is to serve from now on, also after a restart. */
  readonly publish: (edge: Edge.Edge) => Effect.Effect<void, PlatformError.PlatformError>
  /** The file that this is written to. */
  readonly file: string
  /** What it printed since it was started. */
  readonly lines: () => ReadonlyArray<string>
  /** Waits for a line since its start. */
  readonly line: (what: string, pattern: RegExp) => Effect.Effect<string, Wait.TimedOut>
}

const script = fileURLToPath(new URL("../dist/ControlPlane.js", import.meta.url))

export const make = (
  variant: Bootstrap.Variant
): Effect.Effect<ControlPlaneProcess, PlatformError.PlatformError, Scope.Scope | FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const directory = yield* files.makeTempDirectoryScoped({ prefix: "xds-edge-" })
    const file = join(directory, "edge.json")
    let child: ChildProcess.ChildProcess | undefined
    let lines: Array<string> = []
    const port = String(yield* FreePort.any())

    const line = (what: string, pattern: RegExp) =>
      Wait.until({
        what: `the control plane to say ${what}`,
        check: Effect.sync(() => lines.find((line) => pattern.test(line))),
        seen: Effect.sync(() => `its last lines were: ${child?.output().slice(-5).join(" | ") ?? "none"}`)
      })

    return {
      file,
      lines: () => lines,
      line,
      start: Effect.gen(function* () {
        const printed: Array<string> = []
        lines = printed
        const started = yield* ChildProcess.start({
          name: "the control plane",
          command: process.execPath,
          args: [script, file, variant.apiType, port],
          onLine: (line) => printed.push(line)
        })
        child = started
        const serving = yield* Effect.raceFirst(line("where it serves", /^serving /), started.crash)
        return serving.slice("serving ".length)
      }),
      kill: Effect.suspend(() => child?.kill ?? Effect.void),
      // Renamed into place: the control plane never reads half of it.
      publish: (edge) =>
        Effect.zipRight(files.writeFileString(`${file}.new`, Edge.format(edge)), files.rename(`${file}.new`, file))
    }
  })
