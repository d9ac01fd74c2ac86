import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope, TestClock } from "effect"
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as CompilerBudget from "../src/CompilerBudget.js"
import { deadline, eventually, program, start, temporaryDirectory } from "./ServeProcess.js"

/** Runs it with these, and gives what it has set so far. */
const raised = (version: string, options: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const flags: Array<string> = []
    yield* CompilerBudget.raise({ version, options, setFlags: (flag) => flags.push(flag) })
    // Others run first.
    yield* TestClock.adjust(0)
    return flags
  })

const node20 = ["--interrupt-budget=500000", "--interrupt-budget=67584"]
const node22 = ["--invocation-count-for-turbofan=10000", "--invocation-count-for-turbofan=3000"]

const measured: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["11.3.244.8-node.38", node20],
  ["12.4.254.21-node.57", node22]
]

describe("the budget of V8's compiler", () => {
  it.scoped.each(measured)("of V8 %s is raised at once, and restored after a minute", ([version, both]) =>
    Effect.gen(function* () {
      const flags = yield* raised(version)
      expect(flags).toEqual(both.slice(0, 1))
      yield* TestClock.adjust("59 seconds")
      expect(flags).toEqual(both.slice(0, 1))
      yield* TestClock.adjust("1 second")
      expect(flags).toEqual(both)
      yield* TestClock.adjust("1 hour")
      expect(flags).toEqual(both)
    })
  )

  it.effect("is restored once: when the minute is over, or when its scope ends sooner", () =>
    Effect.gen(function* () {
      for (const seconds of [0, 30, 60]) {
        const scope = yield* Scope.make()
        const flags = yield* Scope.extend(raised("11.3.244.8-node.38"), scope)
        yield* TestClock.adjust(seconds * 1000)
        yield* Scope.close(scope, Exit.void)
        expect(flags, `${seconds} s`).toEqual(node20)
        yield* TestClock.adjust("1 minute")
        expect(flags, `${seconds} s`).toEqual(node20)
      }
    })
  )

  it.scoped("is left alone where it does not pay, where V8 is not known, and where Node was given another", () =>
    Effect.gen(function* () {
      // Those of Node 18, 21, 23, 24 and 26.
      const others = [
        "10.2.154.26-node.36",
        "11.8.172.17",
        "12.9.202.28",
        "13.6.233.17-node.53",
        "14.6.202.34",
        "",
        "1"
      ]
      // Names of which a known one is the beginning or the end.
      for (const version of [...others, "11.30.1.1", "111.3.1.1"]) expect(yield* raised(version), version).toEqual([])
      const [[of20], [of22]] = [measured[0] ?? [""], measured[1] ?? [""]]
      for (const options of [["--interrupt-budget=70000"], ["--enable-source-maps", "--interrupt_budget", "70000"]]) {
        expect(yield* raised(of20, options), options.join(" ")).toEqual([])
        expect(yield* raised(of22, options), options.join(" ")).not.toEqual([])
      }
      expect(yield* raised(of20, ["--interrupt-budget-for-feedback-allocation=9"])).not.toEqual([])
      expect(yield* raised(of22, ["--invocation_count_for_turbofan=9"])).toEqual([])
    })
  )
})

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

  const [, expected = []] = measured.find(([version]) => process.versions.v8.startsWith(version.slice(0, 5))) ?? []

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
