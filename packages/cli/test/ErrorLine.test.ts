/** What servers say and files are called, on a terminal. */
import { mkdirSync, writeFileSync } from "node:fs"
import * as Http2 from "node:http2"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { deadline, effectXds, temporaryDirectory } from "./ServeProcess.js"

it(
  "★ nothing of a server's words reaches the terminal as a command, or as a line of its own",
  { timeout: 3 * deadline },
  async () => {
    const server = Http2.createServer()
    server.on("stream", (stream) => {
      stream.on("error", () => undefined)
      const status = { "grpc-status": "16", "grpc-message": "no %1b[31mway%0aeffect-xds: all is well" }
      stream.respond({ ":status": 200, "content-type": "application/grpc", ...status }, { endStream: true })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void server.close())
    const listening = server.address()
    const address = `127.0.0.1:${typeof listening === "object" && listening !== null ? listening.port : 0}`
    const said = `effect-xds: ${address} gives no answer: no  [31mway effect-xds: all is well\n`
    for (const args of [
      ["get", address, "CDS"],
      ["diff", "--types", "CDS", address, address]
    ]) {
      const running = effectXds(...args)
      expect([await running.exit, running.stderr()]).toEqual([3, said])
    }
  }
)

it("★ nor does the name of a file", { timeout: 3 * deadline }, async () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, "edge"))
  writeFileSync(join(directory, "edge/\u001b[31ma\nb.yaml"), "nam: a\n")
  const running = effectXds("validate", directory)
  expect(await running.exit).toBe(1)
  expect(running.stdout()).toContain("edge/ [31ma b.yaml:1:1: expected a resource")
  expect(running.stdout().trim().split("\n")).toHaveLength(1)
})
