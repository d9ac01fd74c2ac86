import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as CompilerBudget from "../src/CompilerBudget.js"

const engine = (v8: string, ...given: ReadonlyArray<string>) => {
  const flags: Array<string> = []
  return { v8, arguments: given, flags, set: (flag: string) => void flags.push(flag) }
}

describe("CompilerBudget", () => {
  it.scoped("is raised for a minute", () =>
    Effect.gen(function* () {
      const node20 = engine("11.3.244.8-node.38")
      const node22 = engine("12.4.254.21-node.57")
      yield* CompilerBudget.raise(node20)
      yield* CompilerBudget.raise(node22)
      yield* TestClock.adjust(Duration.subtract(CompilerBudget.time, Duration.millis(1)))
      assert.deepStrictEqual(node20.flags, ["--interrupt-budget=500000"])
      assert.deepStrictEqual(node22.flags, ["--invocation-count-for-turbofan=12000"])
      yield* TestClock.adjust(Duration.millis(1))
      assert.deepStrictEqual(node20.flags.slice(1), ["--interrupt-budget=67584"])
      assert.deepStrictEqual(node22.flags.slice(1), ["--invocation-count-for-turbofan=3000"])
    })
  )

  it.effect("is as before when the server ends earlier, and no timer is left", () =>
    Effect.gen(function* () {
      const node20 = engine("11.3.244.8-node.38")
      const scope = yield* Scope.make()
      yield* Scope.extend(CompilerBudget.raise(node20), scope)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(node20.flags, ["--interrupt-budget=500000", "--interrupt-budget=67584"])
      yield* TestClock.adjust(CompilerBudget.time)
      assert.lengthOf(node20.flags, 2)
    })
  )

  it.scoped("is left alone where it was given, and in a V8 that was not measured", () =>
    Effect.gen(function* () {
      for (const each of [
        engine("11.3.244.8-node.38", "--interrupt-budget=200000"),
        engine("11.3.244.8-node.38", "--enable-source-maps", "--interrupt_budget=200000"),
        engine("13.6.233.17-node.53"),
        engine("14.6.202.34-node.40"),
        engine("11.30.1")
      ]) {
        yield* CompilerBudget.raise(each)
        assert.deepStrictEqual(each.flags, [])
      }
    })
  )

  it("the usual value is what this Node has", () => {
    const options = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" })
    const flag = process.versions.v8.startsWith("11.3.") ? "interrupt-budget" : "invocation-count-for-turbofan"
    const usual = new RegExp(`default: --${flag}=(\\d+)`).exec(options)?.[1]
    assert.strictEqual(usual, flag === "interrupt-budget" ? String(66 * 1024) : "3000")
  })
})
