import { create, fromBinary, getOption, toBinary, toJson } from "@bufbuild/protobuf"
import { anyPack, AnySchema } from "@bufbuild/protobuf/wkt"
import { expect, it } from "@effect/vitest"
import { SensitiveFields, TypeRegistry } from "@effect-xds/proto"
import { DiscoveryRequestSchema as CurrentRequestSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { FractionalPercentSchema } from "@effect-xds/proto/envoy/type/percent"
import { rules } from "@effect-xds/proto/validate/validate"
import { GeneratedTypes } from "@effect-xds/proto-v2"
import { SecretSchema } from "@effect-xds/proto-v2/envoy/api/v2/auth/secret"
import { ClusterSchema } from "@effect-xds/proto-v2/envoy/api/v2/cluster"
import { DiscoveryRequestSchema } from "@effect-xds/proto-v2/envoy/api/v2/discovery"
import { RuntimeFractionalPercentSchema } from "@effect-xds/proto-v2/envoy/api/v2/core/base"
import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { files, types } from "#generated-types"

const gen = fileURLToPath(new URL("../gen/", import.meta.url))

const modules = readdirSync(gen, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("_pb.js"))

it("has every file of v2, each with its types, and in the index, for every type, the file that defines it", async () => {
  expect(modules.length).toBe(files.length)
  expect(files.length).toBeGreaterThan(160)
  expect(modules.filter((name) => !existsSync(gen + name.replace(/\.js$/, ".d.ts")))).toEqual([])
  const loaded = await Promise.all(files.map((load) => load()))
  const wrong = [...types].filter(([type, index]) => {
    const file = loaded[index]
    return file === undefined || !type.startsWith(`${file.proto.package}.`)
  })
  expect(wrong).toEqual([])
})

it("has what v2 and v3 share from the package of v3, and nothing else of v3", () => {
  expect(RuntimeFractionalPercentSchema.field.defaultValue.message).toBe(FractionalPercentSchema)
  const imported = modules.flatMap((name) =>
    Array.from(
      readFileSync(gen + name, "utf8").matchAll(/from "@effect-xds\/proto\/([^"]+)"/g),
      ([, path = ""]) => path
    )
  )
  expect(imported.length).toBeGreaterThan(100)
  expect(imported.filter((path) => /^envoy\/.*\/v3\//.test(path))).toEqual([])
})

it("keeps the options", () => {
  expect(getOption(ClusterSchema.field.name, rules).type).toMatchObject({ case: "string", value: { minBytes: 1n } })
})

it("has discovery messages that are those of v3 in bytes", () => {
  const request = create(DiscoveryRequestSchema, {
    versionInfo: "1",
    node: { id: "n", cluster: "c" },
    resourceNames: ["a", "b"],
    typeUrl: "type.googleapis.com/envoy.api.v2.Cluster",
    responseNonce: "2",
    errorDetail: { code: 3, message: "wrong" }
  })
  const current = fromBinary(CurrentRequestSchema, toBinary(DiscoveryRequestSchema, request))
  expect(toJson(CurrentRequestSchema, current)).toEqual(toJson(DiscoveryRequestSchema, request))
})

it("is known to TypeRegistry and SensitiveFields once it is added", async () => {
  const secret = create(SecretSchema, {
    name: "a",
    type: {
      case: "tlsCertificate",
      value: { privateKey: { specifier: { case: "inlineString", value: "the private key" } } }
    }
  })
  const bytes = toBinary(SecretSchema, secret)
  const found = () =>
    SensitiveFields.values(SecretSchema.typeName, bytes).map((value) => new TextDecoder().decode(value))
  // Of what is not known everything may be sensitive.
  expect(TypeRegistry.has(SecretSchema.typeName)).toBe(false)
  expect(await TypeRegistry.load(SecretSchema.typeName)).toBeUndefined()
  expect(found()).not.toEqual(["the private key"])

  TypeRegistry.add(GeneratedTypes.types)
  TypeRegistry.add(GeneratedTypes.types)
  expect(TypeRegistry.has(SecretSchema.typeName)).toBe(true)
  expect(await TypeRegistry.load(`type.googleapis.com/${SecretSchema.typeName}`)).toBe(SecretSchema)
  expect((await TypeRegistry.loadFile("envoy.api.v2.ClusterDiscoveryService"))?.proto.name).toBe(
    "envoy/api/v2/cds.proto"
  )
  expect(found()).toEqual(["the private key"])
  expect(SensitiveFields.canHold(ClusterSchema.typeName)).toBe(true)
  expect(SensitiveFields.canHold(FractionalPercentSchema.typeName)).toBe(false)

  const packed = anyPack(SecretSchema, create(SecretSchema, { name: "b" }))
  expect(toJson(AnySchema, packed, { registry: await TypeRegistry.forMessage(AnySchema, packed) })).toEqual({
    "@type": "type.googleapis.com/envoy.api.v2.auth.Secret",
    name: "b"
  })
})

it("loads no generated module when the package is imported, and nothing of it is loaded unless asked for", async () => {
  // A process of its own, on the built packages. The debugger names every script it parses.
  const script = `
    import { Session } from "node:inspector"
    const session = new Session()
    const parsed = []
    session.connect()
    session.on("Debugger.scriptParsed", ({ params }) => parsed.push(params.url))
    session.post("Debugger.enable")
    await import("@effect-xds/proto")
    const ofProto = parsed.filter((url) => /\\/proto-v2\\/.*\\.js$/.test(url)).length
    const { GeneratedTypes } = await import("@effect-xds/proto-v2")
    const { TypeRegistry } = await import("@effect-xds/proto")
    TypeRegistry.add(GeneratedTypes.types)
    const generated = parsed.filter((url) => url.endsWith("_pb.js") && /\\/proto(-v2)?\\/gen\\//.test(url)).length
    session.disconnect()
    console.log(JSON.stringify({ ofProto, generated }))`
  const { stderr, stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], {
    cwd: gen,
    timeout: 60_000
  })
  expect(stderr).toBe("")
  expect(JSON.parse(stdout)).toEqual({ ofProto: 0, generated: 0 })
})
