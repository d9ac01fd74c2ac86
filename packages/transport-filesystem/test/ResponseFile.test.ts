import { create, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as Waiting from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { type FileEvent, FilesystemMetrics, ResponseFile } from "@effect-xds/transport-filesystem"
import { Effect, Logger, Metric, Option, Stream } from "effect"
import type * as NodeFs from "node:fs"
import { watch } from "node:fs"
import { vi } from "vitest"
import type { Directory } from "./Directory.js"
import * as Directories from "./Directory.js"
import { makeBeforeWatch } from "./WatchRace.js"

const { clusters } = Directories

vi.mock("node:fs", async (original) => {
  const actual = await original<typeof NodeFs>()
  return { ...actual, watch: vi.fn(actual.watch) }
})

const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const binary = (version: string, ...names: ReadonlyArray<string>) =>
  toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, {
      versionInfo: version,
      typeUrl,
      resources: names.map((name) => anyPack(ClusterSchema, create(ClusterSchema, { name })))
    })
  )

/** A file that is read, with all that it told. */
const reading = (directory: Directory, name: string, options: ResponseFile.Options = {}) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const file = yield* ResponseFile.make(directory.at(name), { typeUrl, quietPeriod: 20, ...options }).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
    const versions: Array<string> = []
    const events: Array<FileEvent> = []
    yield* file.changes.pipe(
      Stream.runForEach(({ version }) => Effect.sync(() => versions.push(version))),
      Effect.forkScoped
    )
    yield* file.events.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkScoped
    )
    yield* Effect.yieldNow()
    const seen = () => ({ versions, events })
    return {
      ...file,
      lines,
      versions,
      events,
      accepted: (version: string) => Waiting.found(`version ${version}`, () => versions.includes(version), { seen }),
      heard: <T extends FileEvent["_tag"]>(tag: T) =>
        Waiting.found(
          tag,
          () => events.find((event): event is Extract<FileEvent, { readonly _tag: T }> => event._tag === tag),
          { seen }
        )
    }
  })

const versionOf = Effect.map(
  Option.match({ onNone: () => "none", onSome: ({ version }: { readonly version: string }) => version })
)

describe("a file with a response", () => {
  it.scopedLive("is read at start and when another is moved into its place", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("cds.yaml", clusters("1", "a"))
      const file = yield* reading(directory, "cds.yaml")
      expect(yield* versionOf(file.current)).toBe("1")
      expect(yield* file.status).toEqual({
        path: directory.at("cds.yaml"),
        state: "Accepted",
        resources: 1,
        error: undefined
      })
      for (let version = 2; version < 20; version++) {
        directory.move("cds.yaml", clusters(String(version), "a", "b"))
        yield* file.accepted(String(version))
      }
      expect(file.versions).toEqual(Array.from({ length: 19 }, (_, index) => String(index + 1)))
    })
  )

  it.scopedLive("is read when it is written in place, and when its directory comes later", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const file = yield* reading(directory, "a/b/cds.yaml")
      expect((yield* file.status).state).toBe("Missing")
      expect(yield* versionOf(file.current)).toBe("none")
      directory.make("a")
      directory.write("a/b/cds.yaml", clusters("1", "a"))
      yield* file.accepted("1")
      directory.write("a/b/cds.yaml", clusters("2", "a"))
      yield* file.accepted("2")
      // The whole directory is exchanged.
      directory.write("a/new/cds.yaml", clusters("3", "a"))
      directory.rename("a/b", "a/old")
      directory.rename("a/new", "a/b")
      yield* file.accepted("3")
    })
  )

  it.scopedLive("is read when one of its directories comes between the look and the watch", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      yield* makeBeforeWatch(directory, "a", "")
      const file = yield* reading(directory, "a/b/cds.yaml")
      directory.write("a/b/cds.yaml", clusters("1", "a"))
      yield* file.accepted("1")
    })
  )

  it.scopedLive("is read when the ..data link of a ConfigMap is exchanged", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.make("map")
      directory.mount("map", { "cds.yaml": clusters("1", "a") })
      const file = yield* reading(directory, "map/cds.yaml")
      for (let version = 2; version < 10; version++) {
        directory.mount("map", { "cds.yaml": clusters(String(version), "a") })
        yield* file.accepted(String(version))
      }
    })
  )

  it.scopedLive("is read when a link on the way to it is exchanged", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("releases/1/cds.yaml", clusters("1", "a"))
      directory.write("releases/2/cds.yaml", clusters("2", "a"))
      directory.make("links")
      directory.link("../releases/1", "links/current")
      directory.link("links", "alias")
      const file = yield* reading(directory, "alias/current/cds.yaml")
      directory.link("../releases/2", "links/current")
      yield* file.accepted("2")
      directory.write("other/current/cds.yaml", clusters("3", "a"))
      directory.link("other", "alias")
      yield* file.accepted("3")
      directory.move("other/current/cds.yaml", clusters("4", "a"))
      yield* file.accepted("4")
    })
  )

  it.scopedLive("is read when it is changed where a relative link in a linked directory leads", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("shared/cds.yaml", clusters("1", "a"))
      directory.make("releases/42/config")
      directory.link("../../../shared/cds.yaml", "releases/42/config/cds.yaml")
      directory.link("releases/42", "current")
      const file = yield* reading(directory, "current/config/cds.yaml")
      directory.move("shared/cds.yaml", clusters("2", "a"))
      yield* file.accepted("2")
      // A path may lead out of a linked directory, too.
      const beside = yield* ResponseFile.make(`${directory.path}/current/../../shared/cds.yaml`, { quietPeriod: 20 })
      directory.move("shared/cds.yaml", clusters("3", "a"))
      yield* Waiting.eventually(Effect.map(versionOf(beside.current), (version) => expect(version).toBe("3")))
    })
  )

  it.scopedLive("that is rejected leaves the last good state, and says where it is wrong", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("cds.yaml", clusters("1", "a"))
      const before = (yield* Metric.value(FilesystemMetrics.rejections)).count
      const file = yield* reading(directory, "cds.yaml")
      directory.move("cds.yaml", `${clusters("2", "a")}\n  conect_timeout: 1s`)
      const { error, inForce } = yield* file.heard("Rejected")
      const message = `${directory.at("cds.yaml")}:6:3: resources[0].conect_timeout: `
      expect(error.message).toContain(message)
      expect(error).toMatchObject({ line: 6, column: 3, path: "resources[0].conect_timeout", reason: "Schema" })
      expect(inForce).toBe(1)
      expect(yield* file.status).toMatchObject({ state: "Rejected", resources: 1, error })
      expect(yield* versionOf(file.current)).toBe("1")
      expect(file.lines.filter((line) => line.includes(message))).toHaveLength(1)
      expect((yield* Metric.value(FilesystemMetrics.rejections)).count - before).toBe(1)
      expect((yield* Metric.value(FilesystemMetrics.rejected)).value).toBeGreaterThan(0)

      directory.move("cds.yaml", clusters("3", "a"))
      yield* file.accepted("3")
      expect(yield* file.status).toMatchObject({ state: "Accepted", error: undefined })
      expect(file.versions).toEqual(["1", "3"])
    })
  )

  it.scopedLive("in binary that is cut or empty is rejected", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const whole = binary("2", "a", "b")
      directory.write("cds.pb", binary("1", "a"))
      const file = yield* reading(directory, "cds.pb")
      for (const bad of [whole.slice(0, 10), new Uint8Array(), Uint8Array.from([0xff, 0xff, 0xff])]) {
        file.events.length = 0
        directory.move("cds.pb", bad)
        yield* file.heard("Rejected")
        expect(yield* versionOf(file.current)).toBe("1")
      }
      directory.move("cds.pb", whole)
      yield* file.accepted("2")
      expect(file.versions).toEqual(["1", "2"])
    })
  )

  it.scopedLive("that is taken away leaves the last state, and is read when it returns", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("cds.yaml", clusters("1", "a"))
      const file = yield* reading(directory, "cds.yaml")
      directory.remove("cds.yaml")
      yield* file.heard("Missing")
      expect(yield* versionOf(file.current)).toBe("1")
      expect(yield* file.status).toMatchObject({ state: "Missing", resources: 1 })
      directory.write("cds.yaml", clusters("2", "a"))
      yield* file.accepted("2")
      yield* file.heard("Returned")
    })
  )

  it.scopedLive("that may not be read, or is no file, leaves the last state", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.mode(".", 0o777)
      directory.write("cds.yaml", clusters("1", "a"))
      yield* Directories.unprivileged
      const file = yield* reading(directory, "cds.yaml", { maxFileBytes: 1000 })
      yield* Effect.scoped(
        Effect.gen(function* () {
          directory.write("new.yaml", clusters("2", "a"))
          directory.mode("new.yaml", 0)
          directory.rename("new.yaml", "cds.yaml")
          const { error } = yield* file.heard("Rejected")
          expect(error.message).toMatch(/cds\.yaml: permission denied: this process may not read the file/)
        })
      )
      expect(yield* versionOf(file.current)).toBe("1")
      directory.mode("cds.yaml", 0o600)
      yield* file.accepted("2")

      file.events.length = 0
      directory.remove("cds.yaml")
      directory.make("cds.yaml")
      expect((yield* file.heard("Rejected")).error.message).toMatch(/it is not a regular file/)
      directory.remove("cds.yaml")
      directory.write("cds.yaml", clusters("3", "a"))
      yield* file.accepted("3")

      // A pipe would be waited for until someone writes into it.
      file.events.length = 0
      directory.pipe("pipe")
      directory.rename("pipe", "cds.yaml")
      expect((yield* file.heard("Rejected")).error.message).toMatch(/it is not a regular file/)
      directory.move("cds.yaml", clusters("3", "a"))
      yield* file.heard("Accepted")

      file.events.length = 0
      directory.move("cds.yaml", `${clusters("4", "a")}\n#${" ".repeat(1000)}`)
      expect((yield* file.heard("Rejected")).error.message).toMatch(/the limit for a file is 1000/)
      expect(yield* versionOf(file.current)).toBe("3")
    })
  )

  it.scopedLive("that is written again with the same content changes nothing", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("cds.yaml", clusters("1", "a"))
      const file = yield* reading(directory, "cds.yaml")
      const other = yield* reading(directory, "other.yaml")
      directory.move("cds.yaml", clusters("1", "a"))
      directory.write("other.yaml", clusters("1", "a"))
      yield* other.accepted("1")
      directory.move("cds.yaml", clusters("2", "a"))
      yield* file.accepted("2")
      expect(file.events.map(({ _tag }) => _tag)).toEqual(["Accepted"])
      // Bad, and back to what is in force: nothing changes for those who hold it.
      directory.move("cds.yaml", "x")
      yield* file.heard("Rejected")
      file.events.length = 0
      directory.move("cds.yaml", clusters("2", "a"))
      yield* file.heard("Accepted")
      directory.move("cds.yaml", clusters("3", "a"))
      yield* file.accepted("3")
      expect(file.versions).toEqual(["1", "2", "3"])
    })
  )

  it.scopedLive("in a directory that cannot be watched is looked at now and then", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("cds.yaml", clusters("1", "a"))
      vi.mocked(watch).mockImplementation(() => {
        throw new Error("ENOSPC: System limit for number of file watchers reached")
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => vi.mocked(watch).mockReset()))
      const file = yield* reading(directory, "cds.yaml", { pollInterval: 30 })
      directory.move("cds.yaml", clusters("2", "a"))
      yield* file.accepted("2")
      directory.move("cds.yaml", clusters("3", "a"))
      yield* file.accepted("3")
      expect(file.lines.filter((line) => line.includes("cannot be watched: ENOSPC"))).toHaveLength(1)
    })
  )
})
