import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { deadline, eventually, program, start, temporaryDirectory } from "./ServeProcess.js"

/** Writes down the flags that are set; they are set all the same. */
const hook = `import v8 from "node:v8"
  import { appendFileSync } from "node:fs"
  import { syncBuiltinESMExports } from "node:module"
  const { setFlagsFromString } = v8
  v8.setFlagsFromString = (flags) => {
    appendFileSync(process.env.FLAGS, flags + "\\n")
    setFlagsFromString(flags)
  }
  syncBuiltinESMExports()`

const example = fileURLToPath(new URL("../../../examples/serve/config", import.meta.url))

describe("serve", { timeout: 3 * deadline }, () => {
  /** The flags of V8 that it sets until it serves, those until it has ended, and what it says in an error. */
  const serving = async (nodeOptions: ReadonlyArray<string>, ...options: ReadonlyArray<string>) => {
    const file = join(temporaryDirectory(), "flags")
    writeFileSync(file, "")
    const flags = () => readFileSync(file, "utf8").split("\n").slice(0, -1)
    const node = ["--import", `data:text/javascript,${encodeURIComponent(hook)}`, ...nodeOptions]
    const serve = [program, "serve", example, "--port", "0", "--no-admin", ...options]
    const { child, exit, stderr, stdout } = start(process.execPath, [...node, ...serve], {
      env: { ...process.env, FLAGS: file }
    })
    await eventually(() => expect(stdout()).toMatch(/^ +gRPC +\S/m))
    const first = flags()
    child.kill("SIGTERM")
    expect(await exit).toBe(0)
    return { first, all: flags(), stderr: stderr() }
  }

  /** That raises the budget, and that restores it, where it is raised: on Node 20 and 22. */
  const budgets: Readonly<Record<string, ReadonlyArray<string>>> = {
    "11.3": ["--interrupt-budget=500000", "--interrupt-budget=67584"],
    "12.4": ["--invocation-count-for-turbofan=10000", "--invocation-count-for-turbofan=3000"]
  }
  const expected = budgets[process.versions.v8.split(".", 2).join(".")] ?? []

  it("raises it when it listens, and restores V8's own", async () => {
    const { all, first, stderr } = await serving([])
    expect(first).toEqual(expected.slice(0, 1))
    expect(all).toEqual(expected)
    expect(stderr).not.toContain("flag")
    // V8 says what its own are.
    const defaults = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" })
    for (const flag of expected.slice(1)) expect(defaults).toMatch(new RegExp(`default: ${flag}$`, "m"))
  })

  it("leaves V8 alone with --no-compiler-budget, and where Node was given one", async () => {
    expect((await serving([], "--no-compiler-budget")).all).toEqual([])
    const [flag] = expected
    if (flag !== undefined) expect((await serving([flag])).all).toEqual([])
  })
})
