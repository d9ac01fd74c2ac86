import { PeerProgram } from "@effect-xds/testing"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { areGone, childrenOf, Demo } from "../../grpc/test/Demo.js"

const main = join(import.meta.dirname, "..", "dist", "main.js")
const envoy = PeerProgram.forTest("envoy")
const postgres = PeerProgram.forTest("postgres")
const demos: Array<Demo> = []

const start = (...args: ReadonlyArray<string>): Demo => {
  const demo = new Demo(main, ...args)
  demos.push(demo)
  return demo
}

afterEach(() => {
  for (const demo of demos.splice(0)) demo.kill("SIGKILL")
})

const steps = async (demo: Demo): Promise<void> => {
  expect(await demo.exit(150), demo.output).toBe(0)
  const { output } = demo
  expect(output).toMatch(/A has envoy-A, grpc-A; B has envoy-B, grpc-B\n/)
  for (const step of [2, 3, 5, 6]) {
    expect(output).toMatch(new RegExp(`  ${step}  .*\n +revision \\d+, written .*\n +all calls go to v[12]; the last`))
  }
  expect(output).toMatch(
    /4 {2}A is killed \(SIGKILL\)\..*\n.*\n.*\n.*again: envoy-A 0, grpc-A \d+, .*; 0 calls failed\n/
  )
  expect(output).toMatch(/8 {2}Through A: back to revision 1\.\n +that is revision \d+\n +all calls go to v1; /)
  expect(output).toMatch(/PASSED: every step was seen by every client, and none of \d+ calls failed\.\n$/)
}

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("the demo of replicas", envoy), () => {
  it.skipIf(postgres._tag === "Missing")(
    PeerProgram.title("on PostgreSQL: every step is seen by every client, and no call fails", postgres),
    async () => {
      const demo = start()
      await steps(demo)
      expect(demo.output).toMatch(
        /7 {2}The database is killed .*\n +an update through A: .* not available: .*\n.* all calls go to v1\n +0 calls failed/
      )
    }
  )

  it("on one SQLite file, and it leaves no process behind", async () => {
    const demo = start("--sqlite")
    await demo.says(/1 {2}All calls go to v1/, 60)
    const children = childrenOf(demo.pid)
    // Control planes, Envoys, clients and the backend.
    expect(children.length, children.map(({ command }) => command).join("\n")).toBe(9)
    await steps(demo)
    await areGone(children, 30)
    const killed = start("--sqlite")
    await killed.says(/1 {2}All calls go to v1/, 60)
    const left = childrenOf(killed.pid)
    killed.kill("SIGKILL")
    await areGone(left, 30)
  })
})
