import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
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

const cluster = `- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
  name: web
  type: STATIC
`

describe("serve", { timeout: 3 * deadline }, () => {
  /** The flags of V8 that it sets until it serves, those until it has ended, and what it says in an error. */
  const serving = async (
    nodeOptions: ReadonlyArray<string>,
    options: ReadonlyArray<string> = [],
    wanted: (flags: ReadonlyArray<string>) => void = () => undefined,
    environment: Readonly<Record<string, string>> = {}
  ) => {
    const file = join(temporaryDirectory(), "flags")
    writeFileSync(file, "")
    const flags = () => readFileSync(file, "utf8").split("\n").slice(0, -1)
    const node = ["--import", `data:text/javascript,${encodeURIComponent(hook)}`, ...nodeOptions]
    const directory = temporaryDirectory()
    writeFileSync(join(directory, "cds.yaml"), cluster)
    const serve = [program, "serve", directory, "--port", "0", "--no-admin", ...options]
    const { child, exit, stderr, stdout } = start(process.execPath, [...node, ...serve], {
      env: { ...process.env, ...environment, FLAGS: file }
    })
    await eventually(() => {
      expect(stdout()).toMatch(/^ +gRPC +\S/m)
      wanted(flags())
    })
    const first = flags()
    child.kill("SIGTERM")
    expect(await exit).toBe(0)
    return { first, all: flags(), stderr: stderr() }
  }

  /** V8 says what its own are. */
  const defaults = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" })
  const expectDefault = (flag: string) => expect(defaults).toMatch(new RegExp(`default: ${flag}$`, "m"))

  /** That raises the budget of the compiler, and that restores it, where it is raised: on Node 20 and 22. */
  const budgets: Readonly<Record<string, ReadonlyArray<string>>> = {
    "11.3": ["--interrupt-budget=500000", "--interrupt-budget=67584"],
    "12.4": ["--invocation-count-for-turbofan=10000", "--invocation-count-for-turbofan=3000"]
  }
  const budget = budgets[process.versions.v8.split(".", 2).join(".")]
  const ofBudget = budget ?? []

  /** The same of the growth of the heap. */
  const ofGrowth = budget === undefined ? [] : ["--heap-growing-percent=900", "--heap-growing-percent=0"]
  const isOfGrowth = (flag: string): boolean => flag.startsWith("--heap-growing-percent")
  const isOfBudget = (flag: string): boolean => !isOfGrowth(flag)

  it("raises the budget of V8's compiler when it listens, and restores V8's own", async () => {
    // It says where it listens a moment before.
    const wanted = (flags: ReadonlyArray<string>) => expect(flags).toEqual(expect.arrayContaining(ofBudget.slice(0, 1)))
    const { all, first, stderr } = await serving([], [], wanted)
    expect(first.filter(isOfBudget)).toEqual(ofBudget.slice(0, 1))
    expect(all.filter(isOfBudget)).toEqual(ofBudget)
    expect(stderr).not.toContain("flag")
    for (const flag of ofBudget.slice(1)) expectDefault(flag)
  })

  it("lets V8's heap grow further until V8 has gone through all of it for the first time", async () => {
    // That is while the program is loaded.
    const wanted = (flags: ReadonlyArray<string>) => expect(flags.filter(isOfGrowth)).toEqual(ofGrowth)
    const { all, stderr } = await serving([], [], wanted)
    expect(all.slice(0, 1)).toEqual(ofGrowth.slice(0, 1))
    expect(all.filter(isOfGrowth)).toEqual(ofGrowth)
    expect(stderr).not.toContain("flag")
    for (const flag of ofGrowth.slice(1)) expectDefault(flag)
  })

  it("leaves V8 alone with --no-compiler-budget and --no-heap-growth, and where Node was given such a flag", async () => {
    expect((await serving([], ["--no-compiler-budget"])).all.filter(isOfBudget)).toEqual([])
    expect((await serving([], ["--no-heap-growth"])).all).toEqual(ofBudget)
    expect((await serving(["--max-old-space-size=512"])).all).toEqual(ofBudget)
    const given = { NODE_OPTIONS: "--no-warnings --max-old-space-size=512" }
    expect((await serving([], [], undefined, given)).all).toEqual(ofBudget)
    const [flag] = ofBudget
    if (flag !== undefined) expect((await serving([flag])).all.filter(isOfBudget)).toEqual([])
  })
})
