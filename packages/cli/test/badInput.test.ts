/** What nobody should write or send, towards the commands as processes: they say what is wrong and where, and the rest goes on. */
import { create, toBinary } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { BadFile, BadResource, SocketServer } from "@effect-xds/testing"
import { Effect, Exit, Schema, Scope } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { deadline, effectXds, eventually, serve, temporaryDirectory } from "./ServeProcess.js"

const limit = 4 * deadline
const scale = { levels: 2_000, size: 16_384 }
const clusterUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const cluster = (name: string, altStatName = "good") =>
  toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName, connectTimeout: { seconds: 1n } }))

/** A file with one response. */
const responseOf = (typeUrl: string, value: Uint8Array): Uint8Array =>
  toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { typeUrl, resources: [{ typeUrl, value }] }))

/** What was in a file before it became bad. */
const good: Readonly<Record<string, string | Uint8Array>> = {
  json: JSON.stringify({ "@type": clusterUrl, name: "c", connect_timeout: "1s" }),
  yaml: `"@type": ${clusterUrl}\nname: c\nconnect_timeout: 1s\n`,
  textproto: `# proto-message: envoy.config.cluster.v3.Cluster\nname: "c"\nconnect_timeout { seconds: 1 }\n`,
  pb: responseOf(clusterUrl, cluster("c"))
}

interface Sample {
  readonly what: string
  readonly format: string
  readonly bytes: Uint8Array
  /** What is said of it, beside its path. */
  readonly words: string
}

const files: ReadonlyArray<Sample> = [
  ...BadFile.all(scale)
    .filter(({ isValid }) => !isValid)
    .map(({ bytes, file, what }) => ({ what, format: file.replace("bad.", ""), bytes, words: "" })),
  ...BadResource.all(scale)
    .filter(({ isValid }) => !isValid)
    .map(({ path, typeUrl, value, what }) => {
      return { what, format: "pb", bytes: responseOf(typeUrl, value), words: path === "" ? typeUrl : (path ?? "") }
    })
]

const Discovered = Schema.Struct({ resources: Schema.Array(Schema.Struct({ name: Schema.String })) })

const served = async (rest: string, group: string): Promise<ReadonlyArray<string>> => {
  const response = await fetch(`http://${rest}/v3/discovery:clusters?wait=0`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ node: { id: "n", cluster: group } })
  })
  const { resources } = Schema.decodeUnknownSync(Discovered)(await response.json())
  return resources.map(({ name }) => name)
}

/** A part of a text as it stands in JSON. */
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)

describe("files", () => {
  it(
    "★ each that becomes bad is named; its group is served as it was, and the others go on",
    { timeout: limit },
    async () => {
      const directory = temporaryDirectory()
      const paths = files.map(({ format }, index) => {
        mkdirSync(join(directory, `g${index}`))
        const path = join(directory, `g${index}`, `file.${format}`)
        writeFileSync(path, good[format] ?? "")
        return path
      })
      mkdirSync(join(directory, "good"))
      writeFileSync(join(directory, "good", "file.yaml"), good["yaml"] ?? "")
      const server = await serve(directory)
      for (const [index, { bytes }] of files.entries()) writeFileSync(paths[index] ?? "", bytes)
      writeFileSync(
        join(directory, "good", "file.yaml"),
        `"@type": ${clusterUrl}\nname: changed\nconnect_timeout: 1s\n`
      )
      await eventually(async () => {
        // The log leaves lines out where they are very many.
        const { body } = await server.get("/status")
        for (const [index, { what, words }] of files.entries()) {
          const at = body.indexOf(inJson(`${paths[index]}:`))
          expect([what, at > 0]).toEqual([what, true])
          expect(body.slice(at, at + 2_000), what).toContain(inJson(words))
        }
      })
      expect(server.stderr()).toContain("(its last good state stays in force)")
      await eventually(async () => expect(await served(server.rest, "good")).toEqual(["changed"]))
      // The same files, by the command that only looks.
      const validate = effectXds("validate", directory)
      const states = await Promise.all(files.map((_, index) => served(server.rest, `g${index}`)))
      for (const [index, { what }] of files.entries()) expect([what, states[index]]).toEqual([what, ["c"]])
      expect(server.stderr()).not.toMatch(/^ +at |call stack|RangeError/m)
      expect(await validate.exit).toBe(1)
      for (const [index, { what }] of files.entries()) {
        expect([what, validate.stdout().includes(paths[index] ?? "")]).toEqual([what, true])
      }
      expect(validate.stdout() + validate.stderr()).not.toMatch(/^ +at |call stack|RangeError/m)
    }
  )
})

const samples = BadResource.inOneResponse(BadResource.all(scale))
const bad = samples.filter(({ isValid }) => !isValid)
const names = samples.flatMap(({ isValid, name }) => (isValid ? [name] : [])).sort()

/** A server that is gone after the test. */
const running = async (server: Effect.Effect<string, never, Scope.Scope>): Promise<string> => {
  const scope = await Effect.runPromise(Scope.make())
  onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runPromise(Scope.extend(server, scope))
}

const run = async (...args: ReadonlyArray<string>) => {
  const process = effectXds(...args)
  const code = await process.exit
  return { code, out: process.stdout(), error: process.stderr() }
}

/** Sends all samples at once. */
const all = (asked: SocketServer.Asked): Uint8Array | undefined =>
  asked.nonce === "" && asked.error === "" ? SocketServer.response(asked, "1", samples) : undefined

describe("a server", () => {
  it("get and diff: what came is printed, what is wrong is said, with its path", { timeout: limit }, async () => {
    const grpc = await running(SocketServer.grpc(() => all))
    const rest = await running(SocketServer.rest(all))
    const directory = temporaryDirectory()
    writeFileSync(join(directory, "file.yaml"), good["yaml"] ?? "")
    const [sotw, delta, polled, diff] = await Promise.all([
      run("get", grpc, "CDS"),
      run("get", "--protocol", "delta", grpc, "CDS"),
      run("get", `http://${rest}`, "CDS"),
      run("diff", "--types", "CDS", directory, grpc)
    ])
    for (const { code, error, out } of [sotw, delta, polled, diff]) {
      expect(code).toBe(3)
      for (const { path, what } of bad) expect(error, what).toContain(path)
      expect(error).not.toMatch(/^ +at |call stack|RangeError/m)
      if (out === diff.out) continue
      const rows = out.trim().split("\n").slice(1)
      expect(rows.map((row) => row.split(/ {2,}/)[1]).sort()).toEqual(names)
    }
    expect(diff.out).toBe("")
    for (const { name } of bad) expect(delta.error).toContain(`"${name}"`)
  })

  it("watch: an error for each, and it goes on", { timeout: limit }, async () => {
    const refused: Array<string> = []
    const address = await running(
      SocketServer.grpc(() => (asked) => {
        if (asked.error !== "") refused.push(asked.error)
        const first = bad.map(({ name, typeUrl }) => ({ typeUrl, name, value: cluster(name) }))
        if (asked.nonce === "") return SocketServer.response(asked, "1", first)
        if (asked.nonce === "1") return SocketServer.response(asked, "2", bad)
        const last = first.map((each) => ({ ...each, value: cluster(each.name, "last") }))
        return asked.nonce === "2" ? SocketServer.response(asked, "3", last) : undefined
      })
    )
    const watch = effectXds("watch", "--protocol", "delta", "-o", "json", address, "CDS")
    const Line = Schema.parseJson(
      Schema.Struct({
        event: Schema.String,
        name: Schema.String,
        error: Schema.optional(Schema.Struct({ message: Schema.String }))
      })
    )
    await eventually(() => {
      const lines = watch.stdout().trim().split("\n").map((line) => Schema.decodeUnknownSync(Line)(line)) // prettier-ignore
      for (const { name, path, what } of bad) {
        const own = lines.filter((line) => line.name === name)
        expect([what, own.map(({ event }) => event)]).toEqual([what, ["Updated", "Error", "Updated"]])
        expect(own[1]?.error?.message, what).toContain(path)
      }
    })
    expect(refused).toHaveLength(1)
    for (const { name, path } of bad) {
      expect(refused[0]).toContain(`"${name}"`)
      expect(refused[0]).toContain(path)
      expect(watch.stderr()).toContain(path)
    }
  })
})
