import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

describe("the demo without a proxy", () => {
  it("shows every step, loses no call and ends by itself", async () => {
    const demo = spawn(process.execPath, [join(import.meta.dirname, "..", "dist", "main.js")])
    let output = ""
    demo.stdout.on("data", (text: Buffer) => (output += text.toString()))
    demo.stderr.on("data", (text: Buffer) => (output += text.toString()))
    const ended: ReadonlyArray<unknown> = await once(demo, "exit")
    expect(ended[0], output).toBe(0)
    expect(output).toMatch(/2 {2}Weights 90 to 10\..*\n.*c \(v2\): \d+ calls \(1?\d\.\d %\)\n/)
    expect(output).toMatch(
      /3 {2}v1 loses its endpoint b\.\n {3}the last call to it after \d+ ms; then a \(v1\): \d+ calls/
    )
    expect(output).toMatch(/4 .*SIGKILL\)\.\n.*; 0 failed\n/)
    expect(output).toMatch(/5 .*SIGKILL\)\.\n.*; 0 failed\n/)
    expect(output).toMatch(/7 {2}In total \d+ calls; failed: 0\n\nPASSED: no call failed\n$/)
  })
})
