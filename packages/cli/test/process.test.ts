/** The process of the program: its signals, and what becomes of its output. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { deadline, eventually, program, start, temporaryDirectory } from "./ServeProcess.js"

const cluster = `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: web
connect_timeout: 1s
`

/** A directory with one resource. */
const directoryOfOne = (): string => {
  const directory = temporaryDirectory()
  writeFileSync(join(directory, "cds.yaml"), cluster)
  return directory
}

/** Arguments of Node that run this before the program. */
const before = (script: string): ReadonlyArray<string> => [
  "--import",
  `data:text/javascript,${encodeURIComponent(script)}`
]

describe("signals", { timeout: 3 * deadline }, () => {
  it("★ one that comes in the turn in which serve has been loaded ends it", async () => {
    // Whether there are colours is asked after all modules were read, in the same turn; Node's own module asks, too.
    const hook = `import "node:assert"
      let isSent = false
      const send = () => {
        if (!isSent) process.kill(process.pid, "SIGTERM")
        isSent = true
      }
      Object.defineProperty(process.stderr, "isTTY", { get: send })`
    const serve = [program, "serve", directoryOfOne(), "--port", "0", "--no-admin"]
    const { child, stdout } = start(process.execPath, [...before(hook), ...serve])
    const seen = await eventually(() => {
      const first = child.exitCode ?? /gRPC/.exec(stdout())?.[0]
      expect(first).toBeDefined()
      return first
    })
    expect(seen).toBe(0)
  })
})
