/** `serve` on Unix sockets, with real clients over them. */
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { deadline, effectXds, serve, temporaryDirectory } from "./ServeProcess.js"

const example = fileURLToPath(new URL("../../../examples/serve/config", import.meta.url))

/** The status and the body of an answer over a socket. */
const ask = (socketPath: string, path: string, body?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? "GET" : "POST"
    const headers = { "content-type": "application/json" }
    const sent = Http.request({ socketPath, path, method, headers, agent: false }, (response) => {
      let text = `${response.statusCode ?? 0} `
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk))
      response.on("end", () => resolve(text))
    })
    sent.on("error", reject)
    sent.end(body)
  })

const get = async (path: string) => {
  const got = effectXds("get", "--node-cluster", "edge", `unix:${path}`, "CDS")
  expect(await got.exit, got.stderr()).toBe(0)
  return got.stdout()
}

describe("serve on a Unix socket", { timeout: 3 * deadline }, () => {
  it("serves gRPC, REST and the admin paths, each on one of its own", async () => {
    const folder = temporaryDirectory()
    const [grpc, rest, admin] = [join(folder, "xds.sock"), join(folder, "rest.sock"), join(folder, "admin.sock")]
    const args = ["--listen", `unix:${grpc}`, "--rest-listen", `unix://${rest}`, "--admin-listen", `unix:${admin}`]
    const running = await serve(example, args)
    expect([running.grpc, running.rest, running.admin]).toEqual([`unix:${grpc}`, `unix:${rest}`, `unix:${admin}`])
    expect(running.bootstrap).toContain(`pipe:\n                      path: ${grpc}\n`)
    expect(await get(grpc)).toContain("shop-v1")
    expect(await ask(rest, "/v3/discovery:clusters", JSON.stringify({ node: { cluster: "edge" } }))).toMatch(/^200 \{/)
    expect(await ask(admin, "/readyz")).toMatch(/^200 /)
    running.child.kill("SIGTERM")
    expect(await running.exit).toBe(0)
    expect([grpc, rest, admin].filter((path) => existsSync(path))).toEqual([])
  })

  it("replaces the socket of one that was killed, and nothing else", async () => {
    const path = join(temporaryDirectory(), "xds.sock")
    const first = await serve(example, ["--listen", `unix:${path}`])
    first.child.kill("SIGKILL")
    await first.exit
    expect(statSync(path).isSocket()).toBe(true)
    const second = await serve(example, ["--listen", `unix:${path}`])
    expect(await get(path)).not.toBe("")
    const refused = effectXds("serve", example, "--listen", `unix:${path}`, "--no-admin")
    expect(await refused.exit).toBe(3)
    expect(refused.stderr()).toContain(`cannot serve on unix:${path}: there is a file, or a socket that another server`)
    expect(await get(path)).not.toBe("")
    second.child.kill("SIGTERM")
    await second.exit
    writeFileSync(path, "a file of somebody's")
    const file = effectXds("serve", example, "--listen", `unix:${path}`, "--no-admin")
    expect(await file.exit).toBe(3)
    expect(statSync(path).isFile()).toBe(true)
  })

  it("refuses a path that is longer than the system has for a socket, on both sides", async () => {
    const folder = temporaryDirectory()
    const path = join(folder, "s".repeat(107 - folder.length))
    const words = `the path ${path} has 108 bytes, and that of a Unix socket at most 107; choose a shorter one`
    for (const options of [
      ["--listen", `unix:${path}`, "--no-admin"],
      ["--port", "0", "--rest-listen", `unix:${path}`, "--no-admin"],
      ["--port", "0", "--admin-listen", `unix:${path}`]
    ]) {
      const refused = effectXds("serve", example, ...options)
      expect([await refused.exit, refused.stderr()]).toEqual([3, expect.stringContaining(`unix:${path}: ${words}\n`)])
    }
    expect(readdirSync(folder)).toEqual([])
    const got = effectXds("get", `unix:${path}`, "CDS")
    expect([await got.exit, got.stderr()]).toEqual([2, expect.stringContaining(`${words}\n`)])
    const fits = path.slice(0, -1)
    await serve(example, ["--listen", `unix:${fits}`])
    expect(await get(fits)).toContain("shop-v1")
  })

  it.each([
    [["--listen", "/run/xds.sock"], "--listen is unix: and a path, as unix:/run/xds.sock"],
    [["--listen", "unix:"], "--listen is unix: and a path"],
    [
      ["--listen", "unix:/x", "--tls-cert", "a", "--tls-key", "b"],
      "there is no TLS on a Unix socket, whose permissions"
    ]
  ])("says what is wrong with %j", async (args, words) => {
    const running = effectXds("serve", example, ...args)
    expect(await running.exit).toBe(2)
    expect(running.stderr()).toContain(words)
  })
})
