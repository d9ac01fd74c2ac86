import { writeFileSync } from "node:fs"
import { request } from "node:https"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { mutualTls } from "./MutualTls.js"
import { deadline, effectXds, eventually, replaceFile, serve, temporaryDirectory } from "./ServeProcess.js"

const limit = 3 * deadline
const example = fileURLToPath(new URL("../../../examples/serve/config", import.meta.url))

describe("serve with mutual TLS", () => {
  it("wants to be told who may read which group", { timeout: limit }, async () => {
    const { server } = await mutualTls()
    const tls = server.slice(0, server.indexOf("--allow"))
    for (const [args, words] of [
      [tls, "who may read which group"],
      [[...tls, "--allow", "edge=edge"], '--allow "edge" is no identity'],
      [["--allow", "CN:a=edge"], "asked for with --tls-client-ca"]
    ] as const) {
      const running = effectXds("serve", example, "--port", "0", "--admin-port", "0", ...args)
      expect(await running.exit).toBe(2)
      expect(running.stderr()).toContain(words)
    }
  })

  it("serves a group to whom it is allowed, and tells others who they are", { timeout: limit }, async () => {
    const { client, pem, server: args } = await mutualTls()
    const file = join(temporaryDirectory(), "allow.yaml")
    writeFileSync(file, "CN:somebody: '*'\n")
    const tls = args.slice(0, args.indexOf("--allow"))
    const server = await serve(example, [...tls, "--allow-file", file])
    const post = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const headers = { "content-type": "application/json" }
        const url = `https://${server.rest}/v3/discovery:clusters`
        const call = request(url, { method: "POST", headers, ...pem }, (response) => {
          let text = ""
          response.on("data", (chunk: Buffer) => (text += chunk.toString()))
          response.on("end", () => resolve(`${response.statusCode ?? 0} ${text}`))
        })
        call.on("error", reject)
        call.end(JSON.stringify({ node: { id: "a", cluster: "edge" } }))
      })
    const refused = await post()
    expect(refused).toContain("403")
    expect(refused).toContain("PERMISSION_DENIED")
    expect(refused).toContain("CN:client may not read group")
    expect(refused).toContain("--allow 'IP:127.0.0.1=")
    await eventually(() => expect(server.stderr()).toContain("CN:client may not read group"))
    replaceFile(file, "CN:client: '*'\n")
    expect(await post()).toContain("shop-v1")
    expect(server.stderr()).toContain("changed and is in force")
    // Over a stream that stays open, until the identity is taken away.
    const watch = effectXds("watch", "--node-cluster", "edge", ...client, server.grpc, "CDS")
    await eventually(() => expect(watch.stdout()).toContain("shop-v1"))
    replaceFile(file, "CN:somebody: '*'\n")
    await eventually(() => expect(watch.stderr()).toContain("CN:client may not read group"))
    expect(await post()).toContain("403")
  })
})
