/** `--api v2`: files, server and the commands of a client with the resources of Envoy's v2 API. */
import { fromJson, type JsonValue } from "@bufbuild/protobuf"
import { TypeRegistry } from "@effect-xds/proto"
import { GeneratedTypes } from "@effect-xds/proto-v2"
import { BootstrapSchema } from "@effect-xds/proto-v2/envoy/config/bootstrap/v2/bootstrap"
import { Schema } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { deadline, effectXds, serve, temporaryDirectory } from "./ServeProcess.js"

/** What YAML may hold. */
const Json: Schema.Schema<JsonValue> = Schema.suspend(() =>
  Schema.Union(
    Schema.String,
    Schema.Number,
    Schema.Boolean,
    Schema.Null,
    Schema.mutable(Schema.Array(Json)),
    Schema.mutable(Schema.Record({ key: Schema.String, value: Json }))
  )
)

const limit = 4 * deadline

const cluster = (name: string): string =>
  [
    `"@type": type.googleapis.com/envoy.api.v2.Cluster`,
    `name: ${name}`,
    "connect_timeout: 1s",
    "type: EDS",
    "eds_cluster_config: { eds_config: { ads: {} } }",
    // A field that v3 does not have.
    "hosts: []\n"
  ].join("\n")

const endpoints = (name: string): string =>
  `"@type": type.googleapis.com/envoy.api.v2.ClusterLoadAssignment\ncluster_name: ${name}\n`

const directory = (): string => {
  const made = temporaryDirectory()
  mkdirSync(join(made, "edge"))
  writeFileSync(join(made, "edge", "clusters.yaml"), [cluster("a"), cluster("b")].join("---\n"))
  writeFileSync(join(made, "edge", "endpoints.yaml"), [endpoints("a"), endpoints("b")].join("---\n"))
  return made
}

const run = async (...args: ReadonlyArray<string>) => {
  const process = effectXds(...args)
  const code = await process.exit
  return { code, out: process.stdout().trimEnd(), error: process.stderr().trimEnd() }
}

describe("--api v2", { timeout: limit }, () => {
  it("is served and had over gRPC, in every variant, and over REST; who asks for v3 is told so", async () => {
    const files = directory()
    const out = join(temporaryDirectory(), "out")
    const { grpc, rest } = await serve(files, ["--api", "v2", "--files-out", out])
    const edge = ["--node-cluster", "edge"]
    const variants = [
      ["get", "--api", "v2", ...edge, grpc],
      ["get", "--api", "v2", "--separate", ...edge, grpc],
      ["get", "--api", "v2", "--protocol", "delta", ...edge, grpc],
      ["get", "--api", "v2", "--protocol", "delta", "--separate", ...edge, grpc],
      ["get", "--api", "v2", ...edge, `http://${rest}`],
      ["get", "--api", "v2", `path:${join(out, "edge")}`]
    ]
    for (const variant of variants) {
      const got = await run(...variant, "CDS")
      expect([variant, got.code, got.error]).toEqual([variant, 0, ""])
      expect(got.out.split("\n").map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
        ["TYPE", "NAME"],
        ["CDS", "a"],
        ["CDS", "b"]
      ])
    }
    const yaml = await run("get", "--api", "v2", "--output", "yaml", ...edge, grpc, "clusters", "a")
    expect(parse(yaml.out)).toMatchObject({ "@type": "type.googleapis.com/envoy.api.v2.Cluster", name: "a" })

    expect(await run("diff", "--api", "v2", ...edge, join(files, "edge"), grpc)).toEqual({
      code: 0,
      out: "",
      error: ""
    })

    const newer = await run("get", ...edge, grpc, "CDS")
    expect(newer.code).toBe(3)
    expect(newer.error).toContain("the group holds resources of Envoy's v2 API")
  })

  it("is validated, and without it such a type is not known", async () => {
    const files = directory()
    expect(await run("validate", "--api", "v2", files)).toMatchObject({ code: 0, error: "" })
    const without = await run("validate", files)
    expect(without.code).toBe(1)
    expect(without.out).toContain("envoy.api.v2.Cluster")
  })

  it("has a bootstrap of its own, which is one of v2", async () => {
    TypeRegistry.add(GeneratedTypes.types)
    const { code, out } = await run(
      ...["bootstrap", "envoy", "--api", "v2", "--server", "xds.example:18000", "--tls-ca", "/ca.pem"]
    )
    expect(code).toBe(0)
    const json = Schema.decodeUnknownSync(Json)(parse(out))
    const bootstrap = fromJson(BootstrapSchema, json, { registry: await TypeRegistry.forJson(json) })
    expect(bootstrap.admin?.accessLogPath).toBe("/dev/null")
    expect(bootstrap.staticResources?.clusters[0]?.http2ProtocolOptions).toBeDefined()
    expect(bootstrap.dynamicResources?.adsConfig?.transportApiVersion).toBe(1)
    expect(out).toContain("type.googleapis.com/envoy.api.v2.auth.UpstreamTlsContext")
    expect(out).not.toContain("v3")
  })
})
