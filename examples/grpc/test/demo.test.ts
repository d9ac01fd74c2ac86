import * as Waiting from "@effect-xds/testing/Waiting"
import { Effect } from "effect"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { areGone, childrenOf, Demo } from "./Demo.js"

const main = join(import.meta.dirname, "..", "dist", "main.js")

const demos: Array<Demo> = []
const start = (...args: ReadonlyArray<string>): Demo => {
  const demo = new Demo(main, ...args)
  demos.push(demo)
  return demo
}

afterEach(() => {
  for (const demo of demos.splice(0)) demo.kill("SIGKILL")
})

describe("the demo", () => {
  it("shows every step, loses no call and ends by itself", async () => {
    const demo = start()
    await demo.says(/^ +[\d.]+ s {2}2 /m, 60)
    const children = childrenOf(demo.pid)
    expect(children).toHaveLength(4)
    const code = await demo.exit(110)
    const { output } = demo
    expect(code, output).toBe(0)
    expect(output).toMatch(
      /1 {2}The control plane serves on 127\.0\.0\.1:\d+\. All calls go to v1\.\n +v1: \d+ calls \(100\.0 %\)\n/
    )
    expect(output).toMatch(/2 {2}Weights 90 to 10\.\n.* v1: \d+ calls \([89]\d\.\d %\), v2: \d+ calls \(1?\d\.\d %\)\n/)
    expect(output).toMatch(/NACK by the client: .*address is not a valid IPv4 or IPv6 address: backend\.example/)
    expect(output).toMatch(/corrected, and ACKed\n/)
    expect(output).toMatch(/4 {2}v1 loses its endpoint (\S+)\.\n.* then \d+ calls, none to it\n/)
    expect(output).toMatch(/5 {2}The control plane is killed \(SIGKILL\)\.\n.*, 0 failed\n/)
    expect(output).toMatch(/weights 0 to 100: the last call to v1 after \d+ ms; then v2: \d+ calls \(100\.0 %\)\n/)
    expect(output).toMatch(/6 {2}In total .*; failed: 0\n\nPASSED: .*\n$/)
    await areGone(children, 30)
  })

  it("stays up with --keep, does what it is told and ends with Ctrl-C", async () => {
    const demo = start("--keep")
    await demo.says(/Everything stays up/, 90)
    demo.type("weights 100 0")
    demo.type("weights 100 0")
    await demo.says(/v1: \d+ calls \(100\.0 %\); failed since the start: 0/, 30)
    const children = childrenOf(demo.pid)
    expect(children).toHaveLength(4)
    demo.kill("SIGINT")
    expect(await demo.exit(30), demo.output).toBe(0)
    expect(demo.output).toMatch(/ended; every process is gone\n$/)
    await areGone(children, 30)
  })

  it("leaves no process behind when it is killed", async () => {
    const demo = start()
    await demo.says(/All calls go to v1/, 60)
    const started = Waiting.until(
      "four processes",
      () => childrenOf(demo.pid),
      (all) => all.length === 4
    )
    const children = await Effect.runPromise(started)
    demo.kill("SIGKILL")
    await demo.exit(30)
    await areGone(children, 30)
  })
})
