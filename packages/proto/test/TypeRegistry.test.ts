import { create, fromJson, toJson } from "@bufbuild/protobuf"
import { anyPack, AnySchema, StringValueSchema } from "@bufbuild/protobuf/wkt"
import { describe, expect, it } from "@effect/vitest"
import { TypeRegistry } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const hcm = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
const router = "envoy.extensions.filters.http.router.v3.Router"

const listener = {
  name: "edge",
  filterChains: [
    {
      filters: [
        {
          name: "http",
          typedConfig: {
            "@type": `type.googleapis.com/${hcm}`,
            statPrefix: "edge",
            httpFilters: [
              { name: "router", typedConfig: { "@type": `type.googleapis.com/${router}`, suppressEnvoyHeaders: true } }
            ]
          }
        }
      ]
    }
  ]
}

describe("load", () => {
  it("takes type names and type URLs, and gives the descriptor that the generated module exports", async () => {
    expect(await TypeRegistry.load("envoy.config.cluster.v3.Cluster")).toBe(ClusterSchema)
    expect(await TypeRegistry.load("type.googleapis.com/envoy.config.cluster.v3.Cluster")).toBe(ClusterSchema)
  })

  it("knows nested and well-known messages", async () => {
    const nested = await TypeRegistry.load("envoy.config.cluster.v3.Cluster.RingHashLbConfig")
    expect(nested?.typeName).toBe("envoy.config.cluster.v3.Cluster.RingHashLbConfig")
    expect(await TypeRegistry.load("type.googleapis.com/google.protobuf.StringValue")).toBe(StringValueSchema)
  })

  it.each(["", "/", "envoy.config.cluster.v3.Clusters", "type.googleapis.com/", "__proto__"])(
    "gives undefined for %j",
    async (name) => {
      expect(await TypeRegistry.load(name)).toBeUndefined()
      expect(TypeRegistry.has(name)).toBe(false)
    }
  )

  it("gives undefined for an enum", async () => {
    expect(await TypeRegistry.load("envoy.config.cluster.v3.Cluster.DiscoveryType")).toBeUndefined()
  })
})

describe("registries", () => {
  it("knows the types inside nested Anys, in JSON and in messages", async () => {
    const message = fromJson(ListenerSchema, listener, { registry: await TypeRegistry.forJson(listener) })
    expect(
      toJson(ListenerSchema, message, { registry: await TypeRegistry.forMessage(ListenerSchema, message) })
    ).toEqual(listener)
  })

  it("loads what a message names, and only then", async () => {
    // A process of its own: the registry is shared by the tests here.
    const script = `
      import { toJson } from "@bufbuild/protobuf"
      import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt"
      import { create } from "@bufbuild/protobuf"
      import { TypeRegistry } from "@effect-xds/proto"
      import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
      const any = anyPack(RouterSchema, create(RouterSchema, {}))
      const empty = await TypeRegistry.forMessage(AnySchema, create(AnySchema, {}))
      const before = empty.getMessage(RouterSchema.typeName) !== undefined
      const after = (await TypeRegistry.forMessage(AnySchema, any)).getMessage(RouterSchema.typeName) !== undefined
      console.log(JSON.stringify({ before, after }))`
    const { stderr, stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
      cwd: fileURLToPath(new URL("..", import.meta.url)),
      timeout: 60_000
    })
    expect(stderr).toBe("")
    expect(JSON.parse(stdout)).toEqual({ before: false, after: true })
  })

  it("finds the file of whatever has a name", async () => {
    const fileOf = async (name: string) => (await TypeRegistry.loadFile(name))?.proto.name
    expect(await fileOf("envoy.config.cluster.v3.Cluster.LbPolicy")).toBe("envoy/config/cluster/v3/cluster.proto")
    expect(await fileOf("envoy.service.cluster.v3.ClusterDiscoveryService")).toBe("envoy/service/cluster/v3/cds.proto")
    expect(await fileOf("udpa.annotations.sensitive")).toBe("udpa/annotations/sensitive.proto")
    expect(await fileOf("grpc.health.v1.Health")).toBe("grpc/health/v1/health.proto")
    expect(await fileOf("google.protobuf.Any")).toBe("google/protobuf/any.proto")
    expect(await fileOf("no.such.Type")).toBeUndefined()
  })

  it("survives Anys of unknown types and with broken bytes", async () => {
    const unknown = create(AnySchema, { typeUrl: "type.googleapis.com/no.such.Type", value: new Uint8Array([1]) })
    const broken = create(AnySchema, {
      typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
      value: new Uint8Array([0x0a, 0xff])
    })
    expect((await TypeRegistry.forMessage(AnySchema, unknown)).getMessage("no.such.Type")).toBeUndefined()
    expect((await TypeRegistry.forMessage(AnySchema, broken)).getMessage("envoy.config.cluster.v3.Cluster")).toBe(
      ClusterSchema
    )
  })

  it("follows Anys nested thousands deep", async () => {
    let any = anyPack(StringValueSchema, create(StringValueSchema, { value: "end" }))
    for (let depth = 0; depth < 2000; depth++) any = anyPack(AnySchema, any)
    expect((await TypeRegistry.forMessage(AnySchema, any)).getMessage(StringValueSchema.typeName)).toBe(
      StringValueSchema
    )
  })
})
