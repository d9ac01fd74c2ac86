import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { deadline, effectXds, eventually, serve, temporaryDirectory } from "./ServeProcess.js"

const cluster = `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster
name: web
connect_timeout: 1s
`

/** The status of a call over HTTP/1.1; `undefined`: it is disconnected. */
const statusOf = (address: string): Promise<number | undefined> =>
  fetch(`http://${address}/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ node: { id: "one" } })
  }).then(
    ({ status }) => status,
    () => undefined
  )

describe("serve", { timeout: 3 * deadline }, () => {
  it.each([
    [[], 200],
    [["--no-http1"], undefined]
  ] as const)("with %j answers HTTP/1.1 on the port of gRPC with %s, and HTTP/2 always", async (args, status) => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, "cds.yaml"), cluster)
    const server = await serve(directory, args)
    expect(await statusOf(server.grpc)).toBe(status)
    const got = effectXds("get", server.grpc, "CDS")
    expect(await got.exit).toBe(0)
    expect(got.stdout()).toContain("web")
    const refused = () => server.stderr().includes("it does not speak HTTP/2")
    if (status === undefined) await eventually(() => expect(refused()).toBe(true))
    else expect(refused()).toBe(false)
  })
})
