/** Envoy as a process of its own, and backends for it. */
import { PeerProgram } from "@effect-xds/testing"
import { once } from "node:events"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { expect, onTestFinished } from "vitest"
import { eventually, start, temporaryDirectory } from "./ServeProcess.js"

export const envoy = PeerProgram.forTest("envoy")

/** A backend that answers with its name: its port. */
export const backend = async (name: string): Promise<number> => {
  const server = Http.createServer((_request, response) => response.end(name))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

/** What is answered on a connection of its own: one that is kept stays with the listener as it was. */
const fetched = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = Http.get(url, { agent: false }, (response) => {
      let text = ""
      response.on("data", (chunk: Buffer) => (text += chunk.toString()))
      response.on("end", () => resolve(text))
      response.on("error", reject)
    })
    request.on("error", reject)
  })

/** An Envoy with a bootstrap, and how to send it requests. */
export const startEnvoy = async (bootstrap: string, listener = "ingress") => {
  const folder = temporaryDirectory()
  const adminFile = join(folder, "admin")
  const text = bootstrap.replace("port_value: 9901", "port_value: 0")
  expect(text).not.toBe(bootstrap)
  writeFileSync(join(folder, "bootstrap.yaml"), text)
  const flags = "--disable-hot-restart --concurrency 1 -l warning"
  const path = envoy._tag === "Present" ? envoy.path : ""
  const args = ["-c", join(folder, "bootstrap.yaml"), "--admin-address-path", adminFile, ...flags.split(" ")]
  const running = start(path, args)
  const admin = await eventually(() => {
    expect(existsSync(adminFile) && readFileSync(adminFile, "utf8"), running.stderr()).toMatch(/:\d+$/)
    return readFileSync(adminFile, "utf8")
  })
  const listeners = async (): Promise<string> => (await fetch(`http://${admin}/listeners`)).text()
  // Of a listener that changed, too.
  const address = async () => {
    const line = (await listeners()).split("\n").find((each) => each.startsWith(`${listener}::`))
    expect(line, running.stderr()).toBeDefined()
    return line?.slice(listener.length + 2) ?? ""
  }
  await eventually(address)
  return {
    stderr: running.stderr,
    get: async (path: string): Promise<string> => fetched(`http://${await address()}${path}`),
    admin: async (path: string): Promise<string> => (await fetch(`http://${admin}${path}`)).text()
  }
}
