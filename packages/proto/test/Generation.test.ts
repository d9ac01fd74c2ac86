import {
  create,
  createFileRegistry,
  type DescField,
  type DescFile,
  type DescMessage,
  getOption
} from "@bufbuild/protobuf"
import { nestedTypes } from "@bufbuild/protobuf/reflect"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { expect, it } from "@effect/vitest"
import { EnvoyApi } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { AddressSchema } from "@effect-xds/proto/envoy/config/core/v3/address"
import { TlsCertificateSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/common"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceErrorSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { sensitive } from "@effect-xds/proto/udpa/annotations/sensitive"
import { versioning } from "@effect-xds/proto/udpa/annotations/versioning"
import { required, rules, StringRulesSchema } from "@effect-xds/proto/validate/validate"
import { execFile } from "node:child_process"
import { Schema } from "effect"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { files, types } from "#generated-types"

const Counts = Schema.Struct({ atImport: Schema.Number, afterOne: Schema.Number })
const gen = fileURLToPath(new URL("../gen/", import.meta.url))

const run = async (script: string): Promise<unknown> => {
  const args = ["--input-type=module", "-e", script]
  const { stderr, stdout } = await promisify(execFile)(process.execPath, args, { cwd: gen, timeout: 200_000 })
  expect(stderr).toBe("")
  return JSON.parse(stdout)
}

it("generates every file of the API, each with its types", () => {
  const modules = readdirSync(gen, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("_pb.js"))
  expect(modules.length).toBe(files.length)
  expect(files.length).toBeGreaterThan(540)
  expect(modules.filter((name) => !existsSync(gen + name.replace(/\.js$/, ".d.ts")))).toEqual([])
  expect(types.size).toBeGreaterThan(1800)
  // It imports what only the descriptors have.
  expect(existsSync(`${gen}envoy/service/metrics/v3/metrics_service_pb.js`)).toBe(true)
})

it("makes each descriptor as protobuf-es makes those of all files at once, and of the same objects", async () => {
  const all = new Map<string, DescFile>()
  const types = new Map<string, unknown>()
  const add = (file: DescFile): void => {
    if (all.has(file.proto.name)) return
    // First what it imports, as protobuf-es wants them.
    file.dependencies.forEach(add)
    all.set(file.proto.name, file)
    for (const type of nestedTypes(file)) {
      expect(type.file).toBe(file)
      types.set(type.typeName, type)
    }
  }
  for (const load of files) add(await load())
  const whole = createFileRegistry(
    create(FileDescriptorSetSchema, { file: Array.from(all.values(), ({ proto }) => proto) })
  )
  const described = ({ enum: values, message, ...field }: DescField): string =>
    [
      ...[field.name, field.number, field.fieldKind, field.jsonName, field.presence, field.oneof?.name],
      ...[field.scalar, "mapKey" in field && field.mapKey, "listKind" in field && field.listKind],
      ...["mapKind" in field && field.mapKind, message?.typeName, values?.typeName]
    ].join()
  const told = ({ fields, nestedEnums, nestedMessages, oneofs }: DescMessage): unknown => [
    ...[fields.map(described), oneofs.map(({ name }) => name)],
    ...[nestedEnums, nestedMessages].map((inner) => inner.map(({ typeName }) => typeName))
  ]
  let seen = 0
  for (const file of all.values()) {
    const other = whole.getFile(file.proto.name)
    expect(file.dependencies.filter((each) => all.get(each.proto.name) !== each)).toEqual([])
    expect(file.dependencies.map(({ name }) => name)).toEqual(other?.dependencies.map(({ name }) => name))
    expect(Array.from(nestedTypes(file), String)).toEqual(
      other === undefined ? [] : Array.from(nestedTypes(other), String)
    )
    for (const type of nestedTypes(file)) {
      if (type.kind === "extension") expect(types.get(type.extendee.typeName)).toBe(type.extendee)
      if (type.kind !== "message") continue
      const same = whole.getMessage(type.typeName)
      expect(told(type)).toEqual(same && told(same))
      for (const { enum: values, message } of type.fields) {
        for (const used of [values, message]) if (used !== undefined) expect(types.get(used.typeName)).toBe(used)
        seen++
      }
    }
  }
  expect(seen).toBeGreaterThan(5_000)
})

it("has StringRules.ignore_empty, which the validate.proto in the npm package lacks", () => {
  expect(StringRulesSchema.field.ignoreEmpty.number).toBe(26)
})

it("has nothing of v2, which has a package of its own", () => {
  expect([...types.keys()].filter((name) => /^envoy\..*\.v[12][a-z0-9]*\./.test(name))).toEqual([])
})

it("takes the well-known types from the runtime", () => {
  expect(existsSync(`${gen}google/protobuf`)).toBe(false)
})

it("names the version of the API that the descriptors have, and their origin", () => {
  const modules = readFileSync(new URL("../scripts/descriptors/go.mod", import.meta.url), "utf8")
  const used = [
    "github.com/envoyproxy/go-control-plane/envoy",
    "github.com/cncf/xds/go",
    "github.com/envoyproxy/protoc-gen-validate",
    "google.golang.org/genproto/googleapis/api",
    "google.golang.org/genproto/googleapis/rpc",
    "cel.dev/expr",
    "go.opentelemetry.io/proto/otlp",
    "github.com/prometheus/client_model"
  ].map((module) => new RegExp(`^\\s*${module.replaceAll(".", "\\.")} v\\S+`, "m").exec(modules)?.[0].trim() ?? module)
  expect(used[0]).toBe(`github.com/envoyproxy/go-control-plane/envoy v${EnvoyApi.version}`)
  for (const packageName of ["proto", "proto-v2"]) {
    const notice = readFileSync(new URL(`../../${packageName}/NOTICE`, import.meta.url), "utf8")
    expect(used.filter((module) => !notice.includes(`  ${module}\n`))).toEqual([])
  }
})

it("keeps the options of fields, messages and oneofs", () => {
  expect(getOption(ClusterSchema.field.name, rules).type).toMatchObject({ case: "string", value: { minLen: 1n } })
  const timeout = getOption(ClusterSchema.field.connectTimeout, rules).type
  expect(timeout).toMatchObject({ case: "duration", value: { gt: { seconds: 0n, nanos: 0 } } })
  expect(getOption(TlsCertificateSchema.field.privateKey, sensitive)).toBe(true)
  expect(getOption(ClusterSchema, versioning).previousMessageType).toBe("envoy.api.v2.Cluster")
  const address = AddressSchema.oneofs.find(({ name }) => name === "address")
  expect(address === undefined ? undefined : getOption(address, required)).toBe(true)
})

it("has the comments of what was there before, at the same message and field, and none at what is new", () => {
  const text = readFileSync(`${gen}envoy/config/cluster/v3/cluster_pb.d.ts`, "utf8")
  const commentOf = (name: string): string => {
    const end = text.indexOf(` ${name} = `)
    return text.slice(text.lastIndexOf("/**", end), end)
  }
  // Behind it in descriptors that are newer: numbers and places of fields are not the same.
  expect(commentOf("common_lb_config")).toContain("Common configuration for all load balancer implementations.")
  expect(commentOf("connect_timeout")).toContain("The timeout for new network connections to hosts in the cluster.")
  expect(commentOf("queuing_policies").replaceAll(/@generated.*|[*/\s]/gs, "")).toBe("")
  expect(text).toMatch(/\/\*\*\n \* Configuration for a single upstream cluster\./)
})

it("has what the protocol has since 1.32", () => {
  expect(DiscoveryResponseSchema.field.resourceErrors.number).toBe(7)
  expect(DeltaDiscoveryResponseSchema.field.resourceErrors.number).toBe(9)
  expect(ResourceErrorSchema.field.errorDetail.number).toBe(2)
  expect(types.has("envoy.extensions.clusters.dns.v3.DnsCluster")).toBe(true)
  expect(types.has("envoy.config.endpoint.v3.LbEndpointCollection")).toBe(true)
  expect(types.has("envoy.config.listener.v3.Listener.FcdsConfig")).toBe(true)
})

it("gives in the index, for every type, the file that defines it", async () => {
  const loaded = await Promise.all(files.map((load) => load()))
  const wrong = [...types].filter(([type, index]) => {
    const file = loaded[index]
    return file === undefined || !type.startsWith(`${file.proto.package}.`)
  })
  expect(wrong).toEqual([])
})

it("loads no generated module when the package is imported, and few for one type", async () => {
  // A process of its own, on the built package: what a user's process does. The debugger names every script it parses.
  const result = await run(`
    import { Session } from "node:inspector"
    const session = new Session()
    const parsed = []
    session.connect()
    session.on("Debugger.scriptParsed", ({ params }) => params.url.endsWith("_pb.js") && params.url.includes("/gen/") && parsed.push(params.url))
    session.post("Debugger.enable")
    const { TypeRegistry } = await import("@effect-xds/proto")
    const atImport = parsed.length
    await TypeRegistry.load("envoy.config.endpoint.v3.ClusterLoadAssignment")
    const afterOne = parsed.length
    session.disconnect()
    console.log(JSON.stringify({ atImport, afterOne }))
  `)
  const { afterOne, atImport } = Schema.decodeUnknownSync(Counts)(result)
  expect(atImport).toBe(0)
  expect(afterOne).toBeGreaterThan(5)
  expect(afterOne).toBeLessThan(100)
})
