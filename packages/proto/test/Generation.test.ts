import { expect, it } from "@effect/vitest"
import { StringRulesSchema } from "@effect-xds/proto/validate/validate"
import { execFile } from "node:child_process"
import { Schema } from "effect"
import { existsSync, readdirSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { files, types } from "#generated-types"

const Counts = Schema.Struct({ atImport: Schema.Number, afterOne: Schema.Number })
const gen = fileURLToPath(new URL("../gen/", import.meta.url))

const run = async (script: string): Promise<unknown> => {
  const args = ["--input-type=module", "-e", script]
  const { stderr, stdout } = await promisify(execFile)(process.execPath, args, { cwd: gen, timeout: 60_000 })
  expect(stderr).toBe("")
  return JSON.parse(stdout)
}

it("generates every file of the API that can be compiled, each with its types", () => {
  const modules = readdirSync(gen, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith("_pb.js"))
  expect(modules.length).toBe(files.length)
  expect(files.length).toBeGreaterThan(390)
  expect(modules.filter((name) => !existsSync(gen + name.replace(/\.js$/, ".d.ts")))).toEqual([])
  expect(types.size).toBeGreaterThan(1000)
  // One of the five whose imports are not in the package.
  expect(existsSync(`${gen}envoy/config/trace/v3/opencensus_pb.js`)).toBe(false)
})

it("takes the well-known types from the runtime", () => {
  expect(existsSync(`${gen}google/protobuf`)).toBe(false)
})

it("has StringRules.ignore_empty, which the packaged validate.proto lacks", () => {
  expect(StringRulesSchema.field.ignoreEmpty.number).toBe(26)
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
