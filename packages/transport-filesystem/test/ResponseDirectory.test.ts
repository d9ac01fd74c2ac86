import type { DescMessage, MessageShape } from "@bufbuild/protobuf"
import { create, toBinary } from "@bufbuild/protobuf"
import * as Waiting from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Resource, ResourceGroup } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { FileFormat, ResourceFile, ResponseDirectory, ResponseFile } from "@effect-xds/transport-filesystem"
import { Effect, Either, Fiber, Logger, Stream } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import type { Directory } from "./Directory.js"
import * as Directories from "./Directory.js"

const resource = <Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>, name: string) =>
  Either.getOrThrow(
    Resource.make({ typeUrl: `type.googleapis.com/${schema.typeName}`, name, value: toBinary(schema, message) })
  )

const cluster = (name: string, altStatName = "") =>
  resource(ClusterSchema, create(ClusterSchema, { name, altStatName }), name)

const assignment = (clusterName: string) =>
  resource(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName }), clusterName)

const listener = (name: string) => resource(ListenerSchema, create(ListenerSchema, { name }), name)

const route = (name: string) => resource(RouteConfigurationSchema, create(RouteConfigurationSchema, { name }), name)

const group = (...resources: ReadonlyArray<Resource.Resource>) =>
  Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, resources))

const relative = (directory: Directory, paths: ReadonlyArray<string>) =>
  paths.map((path) => path.slice(directory.path.length + 1))

/** Every file below a directory, hidden ones too. */
const filesOf = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort()

const quietly = Effect.provide(Logger.remove(Logger.defaultLogger))

const formats: ReadonlyArray<FileFormat.FileFormat> = ["binary", "json", "yaml", "text"]

describe("a directory of responses", () => {
  it.scopedLive.each(formats)("is read by our own client, in %s", (format) =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.at("out"), { format, stepDelay: 100 })
      const extension = FileFormat.extensionOf(format)
      yield* out.write(group(cluster("b"), cluster("a", "on"), listener("l"), assignment("a")))
      expect(filesOf(out.path)).toEqual([`cds.${extension}`, `eds/a.${extension}`, `lds.${extension}`])

      const read = (typeUrl: string, name = "") =>
        ResponseFile.make(ResponseDirectory.pathOf(out.path, { typeUrl, name }, format) ?? "", {
          typeUrl,
          quietPeriod: 5
        }).pipe(quietly)
      const clusters = yield* read(ResourceType.Cluster.typeUrl)
      const assignments = yield* read(ResourceType.ClusterLoadAssignment.typeUrl, "a")
      const seen: Array<ReadonlyArray<string>> = []
      yield* clusters.changes.pipe(
        Stream.runForEach(({ resources }) => Effect.sync(() => seen.push(resources.map(({ name }) => name)))),
        Effect.forkScoped
      )
      yield* Waiting.found("the first state", () => seen.length === 1)
      expect((yield* clusters.status).error).toBeUndefined()
      expect((yield* assignments.status).resources).toBe(1)
      yield* out.write(group(cluster("a", "off"), listener("l"), assignment("a")))
      yield* Waiting.found("the second state", () => seen.length === 2)
      yield* out.write(group())
      yield* Waiting.found("the empty state", () => seen.at(-1)?.length === 0)
      expect(seen.map((names) => names.join())).toEqual(["a,b", "a", "a", ""])
      expect(filesOf(out.path)).toEqual([`cds.${extension}`, `lds.${extension}`])
    })
  )

  it.scopedLive("is written only where something changed, endpoints before clusters, removals last", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.path)
      const a = cluster("a")
      const all = [listener("l"), route("r"), a, assignment("a"), assignment("b")]
      const first = yield* out.write(group(...all))
      const [one, other, ...rest] = relative(directory, first.written)
      expect([one, other].sort()).toEqual(["eds/a.json", "eds/b.json"])
      expect(rest).toEqual(["cds.json", "rds/r.json", "lds.json"])
      const before = statSync(directory.at("lds.json"), { bigint: true })
      expect(yield* out.write(group(...all))).toEqual({ written: [], removed: [] })
      const second = yield* out.write(group(listener("l"), a, assignment("a"), assignment("c")))
      expect(relative(directory, second.written)).toEqual(["eds/c.json"])
      expect(relative(directory, second.removed).sort()).toEqual(["eds/b.json", "rds/r.json"])
      // A new writer finds what is there, and takes away what the group does not hold.
      directory.write("eds/old.json", "{}")
      directory.write("eds/note.txt", "not ours")
      const again = yield* ResponseDirectory.make(directory.path)
      const third = yield* again.write(group(listener("l"), cluster("a2"), assignment("a"), assignment("c")))
      expect(relative(directory, third.written)).toEqual(["cds.json"])
      expect(relative(directory, third.removed)).toEqual(["eds/old.json"])
      expect(filesOf(directory.path)).toEqual(["cds.json", "eds/a.json", "eds/c.json", "eds/note.txt", "lds.json"])
      expect(statSync(directory.at("lds.json"), { bigint: true }).ino).toBe(before.ino)
    })
  )

  it.scopedLive("brings new clusters before the routes to them, and takes old ones away after", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.path, { stepDelay: 100 })
      const states: Array<string> = []
      const record = Effect.sync(() => {
        const names = (file: string) =>
          readFileSync(directory.at(file), "utf8")
            .match(/(?<="name": ")\w+/g)
            ?.join() ?? ""
        const state = `${names("cds.json")} ${names("lds.json")} ${existsSync(directory.at("eds/a.json"))}`
        if (states.at(-1) !== state) states.push(state)
      })
      yield* out.write(group(cluster("a"), assignment("a"), listener("l1")))
      yield* Effect.raceFirst(
        out.write(group(cluster("b"), assignment("b"), listener("l2"))),
        record.pipe(Effect.zipRight(Effect.sleep("2 millis")), Effect.forever)
      )
      yield* record
      // Between the clusters and the removals there is no pause: that state may be over before somebody looks.
      const lasting = states.filter((state) => state !== "b l2 true")
      expect(lasting).toEqual(["a l1 true", "a,b l1 true", "a,b l2 true", "b l2 false"])
      // Where no routes change there is nothing to wait for.
      const patient = yield* ResponseDirectory.make(directory.path, { stepDelay: 3_600_000 })
      yield* patient.write(group(cluster("c"), listener("l2")))
      yield* patient.write(group(cluster("d"), listener("l2")))
    })
  )

  it.scopedLive("gives every name a file of its own, that nobody else may read", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.at("out"))
      const names = ["a/b", "a%2Fb", "..", ".", "ä b", "x".repeat(300), "x".repeat(301), "xdstp://a/b?c=d"]
      yield* out.write(group(...names.map(assignment)))
      const files = filesOf(out.path).filter((file) => file.startsWith("eds/"))
      expect(files).toHaveLength(names.length)
      expect(files.every((file) => /^eds\/[^./][^/]*\.json$/.test(file))).toBe(true)
      for (const name of names) {
        const path =
          ResponseDirectory.pathOf(out.path, { typeUrl: ResourceType.ClusterLoadAssignment.typeUrl, name }) ?? ""
        const read = yield* ResourceFile.parseResponse({ file: path, bytes: readFileSync(path) })
        expect(read.resources.map((found) => found.name)).toEqual([name])
        expect(statSync(path).mode & 0o777).toBe(0o600)
      }
      expect(statSync(out.path).mode & 0o777).toBe(0o700)
      const readable = yield* ResponseDirectory.make(directory.at("readable"), { mode: 0o644 })
      yield* readable.write(group(assignment("a")))
      expect(statSync(readable.path).mode & 0o777).toBe(0o755)
      expect(statSync(join(readable.path, "eds", "a.json")).mode & 0o777).toBe(0o644)
    })
  )

  it.scopedLive("says what cannot be written, and goes on when it can", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.mode(".", 0o777)
      yield* Directories.unprivileged
      const out = yield* ResponseDirectory.make(directory.at("out"))
      yield* out.write(group(cluster("a")))
      directory.mode("out", 0o500)
      const error = yield* Effect.flip(out.write(group(cluster("b"))))
      expect(error.message).toBe(
        `${join(out.path, "cds.json")}: this process may not write there; change the owner or mode of the directory`
      )
      const lines: Array<string> = []
      const fiber = yield* out.follow(Stream.make(group(cluster("c")))).pipe(
        Effect.provide(
          Logger.replace(
            Logger.defaultLogger,
            Logger.make(({ message }) => void lines.push(String(message)))
          )
        ),
        Effect.fork
      )
      yield* Waiting.found("the log", () => lines.length > 0)
      directory.mode("out", 0o700)
      yield* Fiber.join(fiber)
      expect(readFileSync(join(out.path, "cds.json"), "utf8")).toContain('"name": "c"')
      const unknown = Either.getOrThrow(
        Resource.make({ typeUrl: ResourceType.Cluster.typeUrl, name: "x", value: Uint8Array.from([0xff]) })
      )
      expect(yield* Effect.flip(out.write(group(unknown)))).toMatchObject({ reason: "Encode" })
      expect(filesOf(out.path)).toEqual(["cds.json", "lds.json"])
    })
  )

  it.scopedLive("writes again what others have removed, though only something else changes", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.at("out"))
      const assignments = [assignment("a"), assignment("b")]
      yield* out.write(group(cluster("a"), ...assignments))
      const all = ["cds.json", "eds/a.json", "eds/b.json", "lds.json"]
      expect(filesOf(out.path)).toEqual(all)
      // As a volume that is lost and comes back empty.
      rmSync(out.path, { recursive: true })
      yield* out.write(group(cluster("a", "on"), ...assignments))
      expect(filesOf(out.path)).toEqual(all)
      rmSync(join(out.path, "eds/a.json"))
      const last = cluster("a")
      const { written } = yield* out.write(group(last, ...assignments))
      expect(relative(directory, written).sort()).toEqual(["out/cds.json", "out/eds/a.json"])
      expect(yield* out.write(group(last, ...assignments))).toEqual({ written: [], removed: [] })
    })
  )

  it.scopedLive("takes old clusters away also if the routes in between could be written only later", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.path, { stepDelay: 1 })
      yield* out.write(group(cluster("a"), listener("l1")))
      // What is in the place of a file cannot be replaced by one.
      rmSync(directory.at("lds.json"))
      directory.write("lds.json/file", "")
      const next = group(cluster("b"), listener("l2"))
      expect(yield* Effect.flip(out.write(next))).toMatchObject({ reason: "Write" })
      const clusters = () => readFileSync(directory.at("cds.json"), "utf8").match(/(?<="name": ")\w+/g)
      expect(clusters()).toEqual(["a", "b"])
      rmSync(directory.at("lds.json"), { recursive: true })
      yield* out.write(next)
      expect(clusters()).toEqual(["b"])
    })
  )

  it.scopedLive("writes a thousand files", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.path)
      const many = Array.from({ length: 1000 }, (_, index) => assignment(`c${index}`))
      const start = performance.now()
      yield* out.write(group(...many))
      const first = performance.now()
      expect((yield* out.write(group(...many.slice(1), cluster("a")))).written).toHaveLength(1)
      const second = performance.now()
      console.log(
        `1000 files written in ${(first - start).toFixed(0)} ms, one changed and one removed in ${(second - first).toFixed(0)} ms`
      )
    })
  )
})

/** A program that writes two states in turn, without end. */
const program = `
import { create, toBinary } from "@bufbuild/protobuf"
import { Resource, ResourceGroup } from "@effect-xds/core"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ResponseDirectory } from "@effect-xds/transport-filesystem"
import { Effect, Either } from "effect"

const [directory, format] = process.argv.slice(1)
const cluster = (name, altStatName) =>
  Either.getOrThrow(
    Resource.make({
      typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
      name,
      value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName }))
    })
  )
const state = (count, letter) =>
  Either.getOrThrow(
    ResourceGroup.replace(
      ResourceGroup.empty,
      Array.from({ length: count }, (_, index) => cluster("c" + index, letter.repeat(4000)))
    )
  )
const states = [state(500, "x"), state(700, "y")]
const out = await Effect.runPromise(ResponseDirectory.make(directory, { format }))
for (let round = 0; ; round++) {
  await Effect.runPromise(out.write(states[round % 2]))
  console.log(round)
}
`

describe("a writer that is killed", () => {
  it.scopedLive("leaves no half file, and its temporary files are taken away by the next one", () =>
    Effect.gen(function* () {
      const root = join(import.meta.dirname, "..")
      if (!existsSync(join(root, "dist", "index.js"))) {
        return yield* Effect.dieMessage("the program runs the built package: run npx tsc -b first")
      }
      const directory = yield* Directories.temporary
      const path = directory.at("cds.pb")
      let interrupted = 0
      let round = 0
      // One that is quick may be done before it is killed: then once more.
      for (; round < 6 || (interrupted === 0 && round < 30); round++) {
        const child = yield* Effect.acquireRelease(
          Effect.sync(() =>
            spawn(process.execPath, ["--input-type=module", "-e", program, directory.path, "binary"], {
              cwd: root,
              stdio: ["ignore", "pipe", "inherit"]
            })
          ),
          (running: ChildProcess) => Effect.sync(() => running.kill("SIGKILL"))
        )
        let lines = 0
        child.stdout?.on("data", () => lines++)
        yield* Waiting.found("some writes", () => lines > round % 3)
        yield* Waiting.found("a write that is under way", () =>
          readdirSync(directory.path).some((name) => name.endsWith(".xds-tmp"))
        )
        child.kill("SIGKILL")
        yield* Waiting.found("its end", () => child.signalCode !== null)

        const { resources } = yield* ResourceFile.parseResponse({ file: path, bytes: readFileSync(path) })
        expect([500, 700]).toContain(resources.length)
        if (readdirSync(directory.path).some((name) => name.endsWith(".xds-tmp"))) interrupted++
        yield* ResponseDirectory.make(directory.path)
        expect(filesOf(directory.path)).toEqual(["cds.pb", "lds.pb"])
      }
      console.log(`killed ${round} times, ${interrupted} times in the middle of a write`)
      expect(interrupted).toBeGreaterThan(0)
    })
  )
})
