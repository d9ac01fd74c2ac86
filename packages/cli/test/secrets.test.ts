/** Secrets that come in every way, and everything that the program prints and serves. */
import * as Certificates from "@effect-xds/testing/Certificates"
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { deadline, effectXds, eventually, serve, temporaryDirectory } from "./ServeProcess.js"

const Answer = Schema.Struct({ nonce: Schema.String, versionInfo: Schema.String })

const limit = 10 * deadline

const planted = {
  key: (await Effect.runPromise(Certificates.selfSigned("edge"))).key,
  password: "pass-of-the-key-4711",
  generic: "generic-secret-in-json-4712",
  text: "in-the-text-format-4713",
  mistakenYaml: "mistaken-in-yaml-4714",
  mistakenJson: "mistaken-in-json-4715",
  mistakenText: "mistaken_in_text_4716",
  mistakenBinary: "mistaken-in-binary-4717",
  header: "token-in-a-header-4718",
  cookie: "cookie-in-a-header-4719",
  metadata: "metadata-of-the-node-4720",
  body: "body-that-is-no-json-4721"
} as const

const secretType = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

const yaml = (key: string) =>
  JSON.stringify({
    "@type": secretType,
    name: "edge",
    tls_certificate: { private_key: { inline_string: key }, password: { inline_string: planted.password } }
  })

const leaks = (text: string): ReadonlyArray<string> => {
  const low = text.toLowerCase().replace(/\\+[nrt]|\s/g, "")
  return Object.entries(planted).flatMap(([name, secret]) => {
    const plain = secret.replace(/-----[^-]*-----|\s/g, "")
    const base64 = Buffer.from(secret)
      .toString("base64")
      .slice(name === "key" ? 40 : 0)
    for (const form of [plain, base64, Buffer.from(plain).toString("hex")]) {
      for (let at = 0; at + 12 <= form.length; at++) {
        if (low.includes(form.slice(at, at + 12).toLowerCase())) return [`${name}: ${form.slice(at, at + 12)}`]
      }
    }
    return []
  })
}

it("nothing that is printed, logged or served for people holds a secret", { timeout: limit }, async () => {
  const directory = temporaryDirectory()
  const write = (path: string, text: string): void => {
    mkdirSync(join(directory, path, ".."), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  write("edge/key.yaml", yaml(planted.key))
  write(
    "edge/generic.json",
    JSON.stringify({
      "@type": secretType,
      name: "generic",
      generic_secret: { secret: { inline_bytes: Buffer.from(planted.generic).toString("base64") } }
    })
  )
  write(
    "edge/text.txtpb",
    `# proto-message: envoy.extensions.transport_sockets.tls.v3.Secret\nname: "text"\ngeneric_secret { secret { inline_string: "${planted.text}" } }\n`
  )
  const header = `"@type": ${secretType}\nname: bad\ntls_certificate:\n  password:\n    inline_string: `
  write("bad/bad.yaml", `${header}*${planted.mistakenYaml}\n`)
  write(
    "bad/bad.json",
    `{"@type": "${secretType}", "name": "bad", "tls_certificate": {"password": "${planted.mistakenJson}"}}`
  )
  write(
    "bad/bad.txtpb",
    `# proto-message: envoy.extensions.transport_sockets.tls.v3.Secret\ntls_certificate { password { inline_string: ${planted.mistakenText} } }\n`
  )
  write("bad/bad.pb", `\x12\x7f${planted.mistakenBinary}`)

  const said: Array<string> = []
  const server = await serve(directory)
  const post = async (body: string, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(`http://${server.rest}/v3/discovery:secrets?wait=0`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${planted.header}`,
        cookie: `session=${planted.cookie}`,
        ...headers
      },
      body
    })
    return response.text()
  }
  const node = { id: "n1", cluster: "edge", metadata: { password: planted.metadata } }
  // The resources themselves: this is for clients, and not for people.
  const answer = await post(JSON.stringify({ node, resource_names: ["edge", "generic", "text"] }))
  expect(answer).toContain("PRIVATE KEY")
  const { nonce, versionInfo } = Schema.decodeUnknownSync(Answer)(JSON.parse(answer))
  for (const quote of [
    planted.key,
    JSON.stringify({ privateKey: { inlineString: planted.key } }),
    planted.key.replaceAll("\n", "\\n").slice(0, 200),
    Buffer.from(planted.password).toString("base64"),
    `${planted.generic} and ${planted.text}`
  ]) {
    const error_detail = { code: 13, message: `Error adding/updating secret(s) edge: ${quote}` }
    const names = ["edge", "generic", "text"]
    const rejection = { node, response_nonce: nonce, version_info: versionInfo, resource_names: names, error_detail }
    said.push((await post(JSON.stringify(rejection))).replace(/"resources":\[[^]*$/, ""))
    said.push((await server.get("/status")).body)
  }
  for (const body of [
    planted.body,
    `{"node": "${planted.body}"}`,
    `{"${planted.body}": 1}`,
    `{"node": {"id": 1, "x": "${planted.body}"}}`
  ]) {
    said.push(await post(body))
  }
  for (const path of ["/status", "/metrics", "/config_dump", "/readyz", "/healthz"])
    said.push((await server.get(path)).body)

  const run = async (...args: ReadonlyArray<string>): Promise<string> => {
    const running = effectXds(...args)
    await running.exit
    return `${running.stdout()}\n${running.stderr()}`
  }
  const edge = ["--node-cluster", "edge", "--timeout", "5"]
  const other = temporaryDirectory()
  writeFileSync(join(other, "key.yaml"), yaml(planted.key.replace(/.{40}\n/, `${"A".repeat(40)}\n`)))
  const printed = await Promise.all([
    run("get", ...edge, "--output", "yaml", server.grpc, "SDS", "edge", "generic"),
    run("get", ...edge, "--output", "json", `http://${server.rest}`, "SDS", "edge"),
    run("diff", ...edge, "--types", "SDS", "--output", "json", server.grpc, other),
    run("diff", ...edge, "--types", "SDS", join(directory, "edge/key.yaml"), other),
    run("validate", directory),
    run("status", server.admin),
    run("status", "--output", "json", server.admin)
  ])
  said.push(...printed)
  expect(printed[0]).toContain("[redacted]")
  expect(printed[3]).toContain("~ SDS edge")
  expect(printed[3]).toContain('tls_certificate.private_key.inline_string: "[redacted]" → "[redacted]"')
  expect(await run("get", ...edge, "--show-secrets", "--output", "yaml", server.grpc, "SDS", "edge")).toContain(
    "PRIVATE KEY"
  )

  await eventually(() => expect(server.stderr()).toContain("rejected SDS"))
  said.push(server.stdout(), server.stderr())
  const all = said.join("\n")
  expect(all).toContain("bad.yaml:")
  expect(leaks(all)).toEqual([])
  expect(leaks(await promisify(execFile)("echo", [planted.key]).then(({ stdout }) => stdout))).not.toEqual([])
})
