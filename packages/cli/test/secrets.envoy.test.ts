/** A real Envoy quotes what it rejects, inline keys too. */
import { PeerProgram } from "@effect-xds/testing"
import * as Certificates from "@effect-xds/testing/Certificates"
import { Effect } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { deadline, eventually, serve, start, temporaryDirectory } from "./ServeProcess.js"

const envoy = PeerProgram.forTest("envoy")

const own = await Effect.runPromise(Certificates.selfSigned("edge"))
const other = await Effect.runPromise(Certificates.selfSigned("other"))

const planted = { key: own.key, otherKey: other.key, password: "4711-word-for-nobody-0815" }

const tlsContext = (common: object) => ({
  name: "envoy.transport_sockets.tls",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    common_tls_context: common
  }
})

const cluster = (name: string, timeout: string, common: object) => ({
  "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  name,
  connect_timeout: timeout,
  type: "STATIC",
  transport_socket: tlsContext(common)
})

const inline = (inline_string: string) => ({ inline_string })

const good = [
  cluster("by-name", "1s", {
    tls_certificate_sds_secret_configs: [{ name: "edge", sds_config: { ads: {}, resource_api_version: "V3" } }]
  }),
  {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
    name: "edge",
    // The key of another certificate.
    tls_certificate: { certificate_chain: inline(own.cert), private_key: inline(planted.otherKey) }
  }
]

// A timeout of nothing is against the rules of the type: Envoy quotes the whole cluster.
const bad = cluster("against-the-rules", "0s", {
  tls_certificates: [
    { certificate_chain: inline(own.cert), private_key: inline(planted.key), password: inline(planted.password) }
  ]
})

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("serve and an Envoy that rejects keys", envoy), () => {
  it("tells what Envoy says without the keys that it quotes", { timeout: 10 * deadline }, async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, "edge"))
    writeFileSync(join(directory, "edge", "good.json"), JSON.stringify(good))
    const server = await serve(directory, ["--validate", "warn"])
    const bootstrap = join(temporaryDirectory(), "bootstrap.yaml")
    writeFileSync(bootstrap, server.bootstrap.replace("port_value: 9901", "port_value: 0"))
    const flags = "--disable-hot-restart --concurrency 1 -l warning"
    const running = start(envoy._tag === "Present" ? envoy.path : "", ["-c", bootstrap, ...flags.split(" ")])
    const rejected = (count: number): Promise<string> =>
      eventually(async () => {
        const { body } = await server.get("/status")
        expect(body.match(/"nacked":\{/g)?.length, `${body} ${running.stderr()}`).toBe(count)
        return body
      })
    const first = await rejected(1)
    expect(first).toContain("Failed to load")
    writeFileSync(join(directory, "edge", "bad.json"), JSON.stringify(bad))
    const status = await rejected(2)
    expect(status).toContain("against-the-rules")
    // It did quote them.
    expect(status).toContain("[redacted]")
    await eventually(() => expect(server.stderr()).toContain("rejected CDS"))
    const said = `${first}${status}${server.stderr()}${server.stdout()}`.replace(/\\+n|\s/g, "")
    for (const secret of Object.values(planted)) {
      const plain = secret.replace(/-----[^-]*-----|\s/g, "")
      // The head is the same in all keys of a curve.
      for (let at = plain.length > 60 ? 50 : 0; at + 8 <= plain.length; at++) {
        expect(said).not.toContain(plain.slice(at, at + 8))
      }
    }
  })
})
