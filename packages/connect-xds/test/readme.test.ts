/** What the pages show of calls through xDS runs as it is written, but for the address of the control plane. */
import { Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Mesh from "./Mesh.js"

const here = dirname(dirname(fileURLToPath(import.meta.url)))

/** The first example after a heading. */
const exampleOf = (path: string, heading: string): string => {
  const page = readFileSync(join(here, path), "utf8")
  return page.slice(page.indexOf(heading)).split("```ts\n")[1]?.split("```")[0] ?? ""
}

describe("calls through xDS, as the pages show them", () => {
  for (const [path, heading] of [
    ["../../README.md", "## Call services through xDS"],
    ["README.md", "# @effect-xds/connect-xds"]
  ] as const) {
    it.scopedLive(`${path}: in ten lines beside the imports`, () =>
      Effect.gen(function* () {
        const server = yield* Mesh.backend()
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", server.port))
        const example = exampleOf(path, heading)
        const lines = example.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import "))
        expect(lines).toHaveLength(10)
        const program = example.replace("127.0.0.1:18000", plane.address)
        expect(program).not.toBe(example)
        let said = ""
        const child = yield* Effect.acquireRelease(
          Effect.sync(() => spawn(process.execPath, ["--input-type=module"], { cwd: here })),
          (process) => Effect.sync(() => process.kill("SIGKILL"))
        )
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)))
        child.stdin.end(program)
        yield* Waiting.eventually(() => expect(said).toMatch(/\\"status\\": 1/))
        yield* Waiting.eventually(() => expect(child.exitCode).toBe(0))
        expect(server.seen).toHaveLength(1)
      }).pipe(Effect.provide(Mesh.mesh))
    )
  }
})
