import { PeerProgram } from "@effect-xds/testing"
import { join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { areGone, childrenOf, Demo } from "../../grpc/test/Demo.js"

const main = join(import.meta.dirname, "..", "dist", "main.js")
const peer = PeerProgram.forTest("envoy")
const demos: Array<Demo> = []

const start = (...args: ReadonlyArray<string>): Demo => {
  const demo = new Demo(main, ...args)
  demos.push(demo)
  return demo
}

afterEach(() => {
  for (const demo of demos.splice(0)) demo.kill("SIGKILL")
})

describe.skipIf(peer._tag === "Missing")(PeerProgram.title("the Envoy demo", peer), () => {
  it("shows every step, loses no request and ends with Ctrl-C", async () => {
    const demo = start("--keep")
    await demo.says(/Everything stays up/, 90)
    expect(demo.output).toMatch(/ \d+ requests, 0 failed\.\n/)
    expect(demo.output).toMatch(/Envoy is back and was sent nothing: it has everything\n/)
    const children = childrenOf(demo.pid)
    // Envoy and the control plane.
    expect(children).toHaveLength(2)
    demo.kill("SIGINT")
    expect(await demo.exit(30), demo.output).toBe(0)
    await areGone(children, 30)
  })

  it("leaves no process behind when it is killed", async () => {
    const demo = start()
    await demo.says(/All requests go to cluster v1/, 60)
    const children = childrenOf(demo.pid)
    expect(children).toHaveLength(2)
    demo.kill("SIGKILL")
    await demo.exit(30)
    await areGone(children, 30)
  })
})
