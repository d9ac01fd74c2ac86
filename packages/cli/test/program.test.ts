import { EnvoyApi } from "@effect-xds/proto"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { execFileSync } from "node:child_process"
import { deadline, program, start } from "./ServeProcess.js"

const run = async (...args: ReadonlyArray<string>) => {
  const running = start(process.execPath, [program, ...args])
  const code = await running.exit
  return { code, stdout: running.stdout(), stderr: running.stderr() }
}

describe("effect-xds", { timeout: 3 * deadline }, () => {
  it("tells its version, and that of Envoy's API", async () => {
    const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
    const { code, stdout } = await run("--version")
    expect(code).toBe(0)
    const [, version, api] = /^(\S+) \(Envoy API (\S+)\)\n$/.exec(stdout) ?? []
    expect(manifest).toMatchObject({ version })
    expect(api).toBe(EnvoyApi.version)
  })

  it("explains itself in a hundred columns: its name, a line for every command, no colours in a pipe", async () => {
    const all = await run("--help")
    expect(all.code).toBe(0)
    const names = [
      "serve",
      "watch",
      "get",
      "diff",
      "validate",
      "bootstrap envoy",
      "bootstrap grpc",
      "status",
      "history",
      "rollback"
    ]
    const commands = all.stdout
      .slice(all.stdout.indexOf("COMMANDS\n"), all.stdout.indexOf("\nOPTIONS"))
      .trim()
      .split("\n")
    expect(commands.slice(1).map((line) => line.trim().split(/ {2,}/)[0])).toEqual(names)
    const pages = await Promise.all(names.map((name) => run(...name.split(" "), "--help")))
    for (const [index, { code, stdout }] of [...pages, all].entries()) {
      expect(code).toBe(0)
      expect(stdout).toContain(`effect-xds ${names[index] ?? ""}`.trim())
      expect(stdout).toMatch(/^EXAMPLES\n {2}\S/m)
      expect(stdout).not.toMatch(/user-defined|A true or false|\u001b/)
      expect(stdout.split("\n").filter((line) => line.length > 100)).toEqual([])
    }
    expect(pages[0]?.stdout).toContain("--tls-client-ca FILE")
  })

  it("gives completions", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout } = await run("--completions", shell)
      expect(code).toBe(0)
      expect(stdout).toContain("serve")
    }
    const { stdout } = await run("--completions", "bash")
    const words = (...line: ReadonlyArray<string>) =>
      execFileSync("bash", [
        "-c",
        `${stdout}\nCOMP_WORDS=(${line.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _effect_xds; echo "\${COMPREPLY[@]}"`
      ])
        .toString()
        .trim()
    expect(words("effect-xds", "s")).toBe("serve status")
    expect(words("effect-xds", "bootstrap", "envoy", "--node")).toBe("--node-id --node-cluster")
  })

  it.each([
    [["srve"], 'there is no command "srve": did you mean serve? (effect-xds --help lists the commands)'],
    [
      ["bootstrap", "envy"],
      'there is no command "envy": did you mean envoy? (effect-xds bootstrap --help lists the commands)'
    ],
    [["bootstrap"], "bootstrap: a command is missing; effect-xds bootstrap --help lists the commands"],
    [["xyzzy"], 'there is no command "xyzzy" (effect-xds --help lists the commands)'],
    [["--verison"], "there is no option --verison: did you mean --version? (effect-xds --help lists the commands)"],
    [["--node-cluster", "a", "get"], "--node-cluster goes behind the command: effect-xds COMMAND --node-cluster …"],
    [
      ["watch", "--ouptut", "json"],
      "watch: there is no option --ouptut: did you mean --output? (effect-xds watch --help lists them)"
    ],
    [["get", "--output", "jsn", "a", "b"], "get: --output is one of table, json, yaml; did you mean json?"],
    [["get", "--timeout", "-1", "a", "b"], "get: --timeout is a number of seconds above 0, up to a day"],
    [["get", "--tls=1", "a", "b"], "get: --tls takes no value"],
    [["get", "--metadata", "a", "a", "b"], "get: --metadata is KEY=VALUE"],
    [["serve", "--port"], "serve: --port needs a value: --port PORT"],
    [["serve", "--host", ""], "serve: --host is an address, such as 127.0.0.1; 0.0.0.0 is every interface"],
    [
      ["serve", "--admin-host", " "],
      "serve: --admin-host is an address, such as 127.0.0.1; 0.0.0.0 is every interface"
    ],
    [
      ["serve", ".", "--tls-crt", "a"],
      "serve: there is no option --tls-crt: did you mean --tls-cert? (effect-xds serve --help lists them)"
    ],
    [["get", "127.0.0.1:18000"], "get: TYPE is missing: effect-xds get [OPTIONS] ADDRESS TYPE [NAME…]"],
    [["get", "CDS", "a"], '"CDS" is a type, where the address of a server stands: give ADDRESS, then TYPE'],
    [["validate", "a", "b"], "validate: takes 1 argument, not 2: effect-xds validate [OPTIONS] [PATH]"]
  ])("%j is told in a line, with what was meant, and ends with 2", async (args, line) => {
    const { code, stderr, stdout } = await run(...args)
    expect([stderr, code, stdout]).toEqual([`effect-xds: ${line}\n`, 2, ""])
  })

  it.each([
    ["serve", "--port"],
    ["serve", "--group-by"],
    ["serve", "--log-format"],
    ["serve", "--tls=hunter2Tr0ub4dor"],
    ["get", "--metadata"],
    ["get", "--timeout"],
    ["get", "127.0.0.1:1"],
    ["get", "127.0.0.1:1", "CDS", "--protocol"],
    ["diff", ".", ".", "--types"],
    ["validate", "."],
    ["bootstrap", "envoy"],
    ["rollback", "edge", "--store", "sqlite:no-such-file"]
  ])("%j %j and more: a value in the wrong place, which may be a password, is not repeated", async (...args) => {
    const { code, stderr, stdout } = await run(...args, "hunter2Tr0ub4dor")
    expect(code).toBe(2)
    expect(stderr).toMatch(/^effect-xds: .+\n$/)
    expect(stdout + stderr).not.toContain("hunter2")
  })

  it.each([
    [
      ["serve", "--store", "env:postgres://u:hunter2@db/x"],
      2,
      "serve: --store is sqlite:FILE, postgres://USER@HOST/DATABASE"
    ],
    [["serve", "postgres://u:hunter2@db/x"], 3, "postgres://u:[redacted]@db/x: there is no such file"],
    [["postgres://u:hun@ter2@db/x"], 2, 'there is no command "postgres://u:[redacted]@db/x"'],
    [["status", "http://user:hunter2@127.0.0.1:1"], 3, "http://user:[redacted]@127.0.0.1:1/status gives no answer: "],
    [["get", "http://user:hunter2@127.0.0.1:1", "CDS", "--timeout", "1"], 2, "http://user:[redacted]@127.0.0.1:1"]
  ])("%j: the password of a URL is not repeated", async (args, code, words) => {
    const { code: is, stderr, stdout } = await run(...args)
    expect([is, stdout, stderr]).toEqual([code, "", expect.stringContaining(words)])
    expect(stderr).not.toMatch(/hunter2|ter2/)
  })
})
