import { CompilerBudget } from "@effect-xds/transport-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Scope, TestClock } from "effect"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const node20: ReadonlyArray<string> = ["--interrupt-budget=500000", "--interrupt-budget=67584"]
const node22 = ["--invocation-count-for-turbofan=10000", "--invocation-count-for-turbofan=3000"]

/** The flags that raise the budget and restore it, by the versions of V8 where it is raised. */
const measured: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["11.3.244.8-node.38", node20],
  ["12.4.254.21-node.57", node22]
]

/** Runs it with these, and gives what it has set so far. */
const raised = (version: string, options: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const flags: Array<string> = []
    yield* CompilerBudget.raise({ version, options, setFlags: (flag) => flags.push(flag) })
    // Others run first.
    yield* TestClock.adjust(0)
    return flags
  })

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

  it("is raised by the layer, in this process's V8, and restored with it", async () => {
    // A process of its own, on the built packages: the flags are the whole process's.
    const script = `
      import v8 from "node:v8"
      import { syncBuiltinESMExports } from "node:module"
      const flags = []
      v8.setFlagsFromString = (flag) => void flags.push(flag)
      syncBuiltinESMExports()
      const { CompilerBudget } = await import("@effect-xds/transport-node")
      const { Effect, Layer } = await import("effect")
      await Effect.runPromise(Effect.scoped(Effect.zipRight(Layer.build(CompilerBudget.layer), Effect.sleep(0))))
      console.log(JSON.stringify(flags))`
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      timeout: 60_000
    })
    const ofThis = measured.find(([version]) => process.versions.v8.startsWith(version.slice(0, 5)))
    expect(JSON.parse(stdout)).toEqual(ofThis?.[1] ?? [])
  })
})
