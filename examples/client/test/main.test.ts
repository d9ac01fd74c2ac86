import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { areGone, childrenOf, Demo } from "../../grpc/test/Demo.js"

const dist = (name: string) => join(import.meta.dirname, "..", "dist", name)
const started: Array<Demo> = []

const start = (script: string, ...args: ReadonlyArray<string>): Demo => {
  const demo = new Demo(dist(script), ...args)
  started.push(demo)
  return demo
}

afterEach(() => {
  for (const demo of started.splice(0)) demo.kill("SIGKILL")
})

/**
 * Each step's title and the last picture before the next one. Pictures in between depend on the speed of the machine, and
 * so do the words for a server that is lost, and of how many watches they are said.
 */
const steps = (output: string) =>
  output
    .replaceAll(/^\[.*\n/gm, "")
    .replaceAll(/127\.0\.0\.1:\d+/g, "ADDRESS")
    .split(/\n(?=\d+ {2}|PASSED)/)
    .slice(1)
    .map((step) => step.replace(/ {3}listener[^]*(?= {3}listener)/, "").trim())
    .map((step) => (step.startsWith("7") ? step.replace(/! [^]*/, "! lost") : step))

describe("the demo", () => {
  it("prints what the README says", async () => {
    const demo = start("main.js")
    expect(await demo.exit(110), demo.output).toBe(0)
    const readme = readFileSync(join(import.meta.dirname, "..", "README.md"), "utf8")
    const [, block = ""] = /```\n(\n?1 {2}[^]*?)```/.exec(readme) ?? []
    expect(steps(demo.output)).toHaveLength(10)
    expect(steps(demo.output)).toEqual(steps(`\n${block}`))
    expect(demo.output).not.toContain("\u001b")
  })

  it("shows every step with the incremental variant too", async () => {
    const demo = start("main.js", "--incremental")
    expect(await demo.exit(110), demo.output).toBe(0)
    expect(demo.output).toContain("PASSED: every step was seen.\n")
  })

  it.each(["SIGINT", "SIGKILL"] as const)("leaves no process behind after %s", async (signal) => {
    const demo = start("main.js")
    await demo.says(/^3 {2}/m, 60)
    const children = childrenOf(demo.pid)
    expect(children).toHaveLength(1)
    demo.kill(signal)
    expect(await demo.exit(30), demo.output).toBe(signal === "SIGINT" ? 0 : null)
    await areGone(children, 30)
  })
})

describe("with an address", () => {
  it("watches a server until Ctrl-C, as the node that it is told to be", async () => {
    const server = start("ControlPlane.js")
    await server.says(/127\.0\.0\.1:\d+\n/, 60)
    const address = server.output.trim()
    const watch = start("main.js", address, "ingress", "--node-id", "n7", "--incremental")
    const stranger = start("main.js", address, "ingress", "--node-cluster", "other")
    for (const each of [watch, stranger]) await each.says(/listener ingress \(waiting\)\n/, 60)
    server.type(JSON.stringify({ blue: { weight: 1, endpoints: ["10.0.0.1:80"] } }))
    await watch.says(/100 % cluster blue {2}10\.0\.0\.1:80\n/, 60)
    server.type(JSON.stringify({ blue: { weight: 1, endpoints: ["10.0.0.1"] } }))
    await watch.says(/! endpoints blue: endpoint 10\.0\.0\.1 has no port\n/, 60)
    await server.says(/^NACK of EDS by n7: /m, 60)
    expect(stranger.output).not.toContain("route")
    watch.kill("SIGINT")
    expect(await watch.exit(30), watch.output).toBe(0)
  })

  it("says in words that a server cannot be reached, and tries again", async () => {
    const watch = start("main.js", "127.0.0.1:1", "ingress")
    await watch.says(/listener ingress \(cannot connect to 127\.0\.0\.1:1: .*\)\n/, 60)
    expect(watch.output).toContain("the next try is in")
    watch.kill("SIGINT")
    expect(await watch.exit(30), watch.output).toBe(0)
  })

  it.each([
    [["127.0.0.1:1"], "give an address and one listener"],
    [["127.0.0.1:1", "ingress", "--nod-id", "x"], "Unknown option '--nod-id'"],
    [["a/b:c", "ingress"], 'cannot use the xDS server "a/b:c"']
  ])("%j: says what is wrong", async (args, words) => {
    const demo = start("main.js", ...args)
    expect(await demo.exit(50)).toBe(1)
    expect(demo.output).toContain(words)
    expect(demo.output).not.toMatch(/^ +at /m)
  })
})
