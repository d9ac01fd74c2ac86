import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { deadline, effectXds } from "./ServeProcess.js"

const run = async (...args: ReadonlyArray<string>) => {
  const process = effectXds(...args)
  const code = await process.exit
  return { code, stdout: process.stdout(), stderr: process.stderr() }
}

describe("effect-xds", { timeout: 3 * deadline }, () => {
  it("tells its version", async () => {
    const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
    const { code, stdout } = await run("--version")
    expect(code).toBe(0)
    expect(manifest).toMatchObject({ version: stdout.trim() })
  })

  it("explains itself, in a pipe without colours", async () => {
    const all = await run("--help")
    expect(all.code).toBe(0)
    expect(all.stdout).toContain("serve")
    const one = await run("serve", "--help")
    expect(one.stdout).toContain("effect-xds serve ./config")
    expect(one.stdout).toContain("--tls-client-ca FILE")
    for (const { stdout } of [all, one]) expect(stdout).not.toContain("\u001b")
  })

  it("gives completions", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await run("--completions", shell)
      expect(code).toBe(0)
      expect(stdout).toContain("serve")
    }
  })

  it("says what it does not know", async () => {
    const { code, stderr } = await run("srve")
    expect(code).toBe(2)
    expect(stderr).toMatch(/^Invalid subcommand/)
    expect(stderr).not.toContain("\u001b")
  })
})
