/** The process of the program: its signals, and what becomes of its output. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { deadline, eventually, program, replaceFile, start, temporaryDirectory } from "./ServeProcess.js"

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

/** The same, as `path:` reads it. */
const directoryOfResponses = (): string => {
  const directory = temporaryDirectory()
  const type = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
  writeFileSync(join(directory, "cds.json"), JSON.stringify({ resources: [{ "@type": type, name: "web" }] }))
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

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129]
  ] as const)("%s ends validate with %i, and nothing that Envoy was given stays", async (signal, code) => {
    const directory = temporaryDirectory()
    const [envoy, began, own] = [join(directory, "envoy"), join(directory, "began"), join(directory, "tmp")]
    mkdirSync(own)
    writeFileSync(envoy, `#!/bin/sh\n: > ${began}\nexec sleep 600\n`, { mode: 0o755 })
    const env = { ...process.env, TMPDIR: own }
    const running = start(process.execPath, [program, "validate", "--envoy", envoy, directoryOfOne()], { env })
    await eventually(() => expect(existsSync(began)).toBe(true))
    expect(readdirSync(own)).toHaveLength(1)
    running.child.kill(signal)
    expect(await running.exit).toBe(code)
    expect(readdirSync(own)).toEqual([])
  })

  it("ends watch, which is for that, with 0", async () => {
    const { child, exit, stdout } = start(process.execPath, [program, "watch", `path:${directoryOfResponses()}`, "CDS"])
    await eventually(() => expect(stdout()).toContain("web"))
    child.kill("SIGHUP")
    expect(await exit).toBe(0)
  })

  it("a child that Envoy left behind, and that holds its output, is not waited for", async () => {
    const directory = temporaryDirectory()
    const [envoy, pid] = [join(directory, "envoy"), join(directory, "pid")]
    const words = "error initializing configuration '/c.json': no such thing"
    writeFileSync(envoy, `#!/bin/sh\nsleep 600 &\necho $! > ${pid}\necho "${words}" >&2\nexit 1\n`, { mode: 0o755 })
    onTestFinished(() => void process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL"))
    const { exit, stdout } = start(process.execPath, [program, "validate", "--envoy", envoy, directoryOfOne()])
    expect(await exit).toBe(1)
    expect(stdout()).toContain("Envoy: no such thing")
  })
})

describe("output", { timeout: 3 * deadline }, () => {
  /** `validate` of mistakes that are more text than a pipe holds. */
  const manyMistakes = (): ReadonlyArray<string> => {
    const directory = temporaryDirectory()
    const document = `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\nno_field: 1\n`
    for (let file = 0; file < 10; file++) {
      writeFileSync(
        join(directory, `${"long".repeat(50)}${file}.yaml`),
        Array<string>(100).fill(document).join("---\n")
      )
    }
    return [program, "validate", "--output", "json", directory]
  }

  it("★ into a pipe is whole, however long", async () => {
    const { exit, stdout } = start(process.execPath, manyMistakes())
    expect(await exit).toBe(1)
    expect(JSON.parse(stdout())).toMatchObject({ files: 10 })
    expect(stdout().length).toBeGreaterThan(500_000)
  })

  it("to a reader that has enough is no failure, and hides none", async () => {
    const { exit, stderr } = start("bash", [
      "-c",
      `set -o pipefail; "$@" | head -c 1 > /dev/null`,
      "bash",
      process.execPath,
      ...manyMistakes()
    ])
    expect([await exit, stderr()]).toEqual([1, expect.stringMatching(/^effect-xds: 1000 mistakes in \S+\n$/)])
  })

  it("to a reader that stands still does not keep it when it is told to end", async () => {
    const child = spawn(process.execPath, manyMistakes(), { stdio: ["ignore", "pipe", "ignore"] })
    onTestFinished(() => void child.kill("SIGKILL"))
    await once(child.stdout, "readable")
    child.kill("SIGTERM")
    expect(await once(child, "exit")).toEqual([1, null])
  })

  it("that cannot be written is a failure, and a line", async () => {
    const { exit, stderr } = start("sh", [
      "-c",
      '"$@" > /dev/full',
      "sh",
      process.execPath,
      program,
      "validate",
      "--list-rules"
    ])
    const line = "effect-xds: the output cannot be written: ENOSPC: no space left on device, write\n"
    expect([await exit, stderr()]).toEqual([3, line])
  })

  it("★ of serve, its log too, may lose its readers: it goes on, and ends orderly", async () => {
    const directory = directoryOfOne()
    const serve = [program, "serve", directory, "--port", "0", "--admin-port", "0"]
    const child = spawn(process.execPath, serve, { stdio: ["ignore", "pipe", "pipe"] })
    onTestFinished(() => void child.kill("SIGKILL"))
    const ready: ReadonlyArray<unknown> = await once(child.stdout, "data")
    const admin = /http:\S+/.exec(String(ready))?.[0] ?? ""
    for (const stream of [child.stdout, child.stderr]) stream.destroy()
    await Promise.all([once(child.stdout, "close"), once(child.stderr, "close")])
    // Each is a line of the log.
    for (const name of ["first", "second"]) {
      replaceFile(join(directory, "cds.yaml"), cluster.replace("web", name))
      await eventually(async () => expect(await (await fetch(`${admin}/config_dump`)).text()).toContain(name))
    }
    child.kill("SIGTERM")
    expect(await once(child, "exit")).toEqual([0, null])
  })
})
