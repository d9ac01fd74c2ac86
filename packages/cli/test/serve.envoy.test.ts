import { PeerProgram } from "@effect-xds/testing"
import { Schema } from "effect"
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { backend, envoy, startEnvoy } from "./EnvoyProcess.js"
import { mutualTls } from "./MutualTls.js"
import {
  deadline,
  effectXds,
  eventually,
  replaceFile,
  serve,
  type ServeProcess,
  temporaryDirectory
} from "./ServeProcess.js"

const example = fileURLToPath(new URL("../../../examples/serve/config", import.meta.url))

/** The directory of the example, with ports of this test. */
const configuration = async (): Promise<string> => {
  const directory = temporaryDirectory()
  cpSync(example, directory, { recursive: true })
  const edge = join(directory, "edge")
  const ports = { 10000: 0, 8081: await backend("v1"), 8082: await backend("v2"), 8083: await backend("cart") }
  for (const name of readdirSync(edge)) {
    let text = readFileSync(join(edge, name), "utf8")
    for (const [before, after] of Object.entries(ports)) {
      text = text.replaceAll(`port_value: ${before} `, `port_value: ${after} `)
    }
    writeFileSync(join(edge, name), text)
  }
  return directory
}

const Version = Schema.NullOr(Schema.Struct({ version: Schema.String, nonce: Schema.String }))

const Status = Schema.Struct({
  clients: Schema.Array(
    Schema.Struct({
      node: Schema.Struct({ id: Schema.String, cluster: Schema.String, user_agent: Schema.String }),
      group: Schema.String,
      protocol: Schema.String,
      service: Schema.String,
      waiting: Schema.Boolean,
      types: Schema.Array(
        Schema.Struct({
          type: Schema.String,
          sent: Version,
          acked: Version,
          nacked: Schema.NullOr(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) }))
        })
      )
    })
  )
})

const statusOf = async (server: ServeProcess) => Schema.decodeUnknownSync(Status)(await server.json("/status"))

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("serve in front of a real Envoy", envoy), () => {
  it(
    "serves the example; an edit takes effect, a mistake does not and is told with its place",
    async () => {
      const directory = await configuration()
      const server = await serve(directory)
      expect(parse(server.bootstrap)).toMatchObject({ node: { cluster: "edge" } })
      const { get } = await startEnvoy(server.bootstrap)
      await eventually(async () => expect(await get("/cart")).toBe("cart"))
      await eventually(async () => expect(["v1", "v2"]).toContain(await get("/")))

      const routes = join(directory, "edge", "routes.yaml")
      const before = readFileSync(routes, "utf8")
      replaceFile(routes, before.replace("weight: 90", "weight: 0").replace("weight: 10", "weight: 100"))
      await eventually(async () => {
        const answers = await Promise.all(Array.from({ length: 20 }, () => get("/")))
        expect(answers).toEqual(answers.map(() => "v2"))
      })

      const endpoints = join(directory, "edge", "endpoints.yaml")
      const good = readFileSync(endpoints, "utf8")
      const lines = good.split("\n")
      const line = lines.findIndex((text) => text.includes("socket_address")) + 1
      const column = (lines[line - 1]?.indexOf("socket_address") ?? 0) + 1
      replaceFile(endpoints, good.replace("socket_address", "socket_adress"))
      const complaint = `${endpoints}:${line}:${column}: endpoints[0].lb_endpoints[0].endpoint.address.socket_adress`
      await eventually(() => expect(server.stderr()).toContain(complaint))
      expect(server.stderr()).toContain('did you mean "socket_address"?')
      expect(server.stderr()).toContain("its last good state stays in force")
      expect(JSON.stringify(await server.json("/status"))).toContain(complaint)
      expect((await server.get("/readyz")).status).toBe(200)
      expect([await get("/"), await get("/cart")]).toEqual(["v2", "cart"])

      replaceFile(endpoints, good)
      await eventually(() => expect(server.stderr()).toContain("accepted again"))

      await eventually(async () => {
        const { clients } = await statusOf(server)
        expect(clients).toHaveLength(1)
        expect(clients[0]?.node.user_agent).toMatch(/^envoy \d/)
        expect(clients[0]).toMatchObject({
          node: { id: "envoy-1", cluster: "edge" },
          group: "edge",
          protocol: "incremental",
          service: "ADS",
          waiting: false
        })
        const types = clients[0]?.types ?? []
        expect(new Set(types.map(({ type }) => type))).toEqual(new Set(["LDS", "RDS", "CDS", "EDS"]))
        for (const { acked, nacked, sent } of types) {
          expect(acked).toEqual(sent)
          expect(nacked).toBeNull()
        }
      })

      // With a client that is connected it ends orderly, and soon.
      const began = performance.now()
      server.child.kill("SIGINT")
      expect(await server.exit).toBe(0)
      expect(performance.now() - began).toBeLessThan(10_000)
    },
    3 * deadline
  )

  it(
    "an Envoy that rejects a resource is shown with its words",
    async () => {
      const directory = await configuration()
      const server = await serve(directory, ["--validate", "off"])
      const { get } = await startEnvoy(server.bootstrap)
      await eventually(async () => expect(await get("/cart")).toBe("cart"))
      const clusters = join(directory, "edge", "clusters.yaml")
      replaceFile(clusters, readFileSync(clusters, "utf8").replace("connect_timeout: 1s", "connect_timeout: 0s"))
      await eventually(async () => {
        const { clients } = await statusOf(server)
        const cds = clients[0]?.types.find(({ type }) => type === "CDS")
        expect(cds?.nacked?.error.message).toMatch(/connect_?timeout/i)
      })
      expect(server.stderr()).toMatch(/connect_?timeout/i)
      expect(await get("/cart")).toBe("cart")
    },
    3 * deadline
  )

  it.each([false, true])(
    "an Envoy with what `bootstrap` prints is served; mTLS: %s",
    async (isSecure) => {
      const tls = isSecure ? await mutualTls() : { server: [], client: [] }
      const server = await serve(await configuration(), tls.server)
      const node = ["--node-id", "envoy-7", "--node-cluster", "edge"]
      const printing = effectXds("bootstrap", "envoy", "--server", server.grpc, ...node, ...tls.client)
      expect(await printing.exit, printing.stderr()).toBe(0)
      const { get } = await startEnvoy(printing.stdout())
      await eventually(async () => expect(await get("/cart")).toBe("cart"))
      const { clients } = await statusOf(server)
      expect(clients.map(({ group, node, protocol }) => [node.id, group, protocol])).toEqual([
        ["envoy-7", "edge", "incremental"]
      ])
    },
    3 * deadline
  )
})
