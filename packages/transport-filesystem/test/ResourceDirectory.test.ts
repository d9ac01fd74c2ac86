import * as Waiting from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { ResourceGroup } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { Snapshot, SnapshotStore } from "@effect-xds/server"
import type { FileEvent } from "@effect-xds/transport-filesystem"
import { ResourceDirectory, type ResourceFile } from "@effect-xds/transport-filesystem"
import { Effect, Fiber, Logger, Option, Stream } from "effect"
import type * as NodeFs from "node:fs"
import { watch } from "node:fs"
import { performance } from "node:perf_hooks"
import type { Directory } from "./Directory.js"
import * as Directories from "./Directory.js"
import { vi } from "vitest"
import * as Heap from "./Heap.js"
import { makeBeforeWatch } from "./WatchRace.js"

vi.mock("node:fs", async (original) => {
  const actual = await original<typeof NodeFs>()
  return { ...actual, watch: vi.fn(actual.watch) }
})

const { cluster } = Directories

/** A directory that is read, with what its groups are and all that it told. */
const reading = (directory: Directory, options: ResourceDirectory.Options = {}, path = directory.path) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const source = yield* ResourceDirectory.make(path, { quietPeriod: 20, ...options }).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
    const groups: Record<string, ReadonlyArray<string>> = {}
    const told: Array<ResourceDirectory.GroupChange> = []
    const events: Array<FileEvent> = []
    yield* source.changes.pipe(
      Stream.runForEach((change) =>
        Effect.sync(() => {
          told.push(change)
          groups[change.group] = change.resources.map(({ name }) => name)
        })
      ),
      Effect.forkScoped
    )
    yield* source.events.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkScoped
    )
    yield* Effect.yieldNow()
    const seen = () => ({ groups, events })
    return {
      ...source,
      lines,
      groups,
      told,
      events,
      /** Waits until a group holds just these. */
      holds: (group: string, ...names: ReadonlyArray<string>) =>
        Waiting.found(
          `${group} to hold ${names.join(", ")}`,
          () => groups[group] !== undefined && JSON.stringify([...groups[group]].sort()) === JSON.stringify(names),
          { seen }
        ),
      heard: <T extends FileEvent["_tag"]>(tag: T, path = "") =>
        Waiting.found(
          `${tag} ${path}`,
          () =>
            events.find(
              (event): event is Extract<FileEvent, { readonly _tag: T }> =>
                event._tag === tag && event.path === directory.at(path)
            ),
          { seen }
        )
    }
  })

describe("a directory of resources", () => {
  it.scopedLive("has variants of a name, which change together; a store takes them", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const variant = (env: string, stat: string) =>
        [
          '"@type": envoy.service.discovery.v3.Resource',
          "resource_name:",
          "  name: a",
          "  dynamic_parameter_constraints:",
          `    constraint: { key: env, value: ${env} }`,
          `resource: { "@type": envoy.config.cluster.v3.Cluster, name: a, alt_stat_name: ${stat} }`,
          ""
        ].join("\n")
      directory.write("edge/prod.yaml", variant("prod", "one"))
      directory.write("edge/test.yaml", variant("test", "one"))
      const source = yield* reading(directory)
      yield* source.holds("edge", "a", "a")
      const store = yield* SnapshotStore.makeMemory()
      const snapshotOf = (resources: ReadonlyArray<ResourceFile.FileResource>) => ({
        resources: resources.map((each) => Snapshot.resource(each, { constraints: each.constraints }))
      })
      const variants = () =>
        ResourceGroup.all(store.unsafeGet("edge") ?? ResourceGroup.empty).map((each) => each.variants?.length)
      yield* store.set("edge", snapshotOf(source.told[0]?.resources ?? []))
      expect(variants()).toEqual([2])
      directory.move("edge/prod.yaml", variant("prod", "two"))
      yield* Waiting.found("the change", () => source.told.length === 2)
      expect(source.told[1]).toMatchObject({ upserted: [{ name: "a" }, { name: "a" }], removed: [] })
      yield* store.update("edge", { upsert: snapshotOf(source.told[1]?.upserted ?? []) })
      expect(variants()).toEqual([2])
      directory.remove("edge/prod.yaml")
      yield* source.holds("edge", "a")
      expect(source.told[2]).toMatchObject({ upserted: [{ name: "a" }], removed: [] })
      directory.write("edge/more.yaml", variant("test", "two"))
      expect((yield* source.heard("Rejected", "edge/more.yaml")).error.message).toContain("already; keep one")
      directory.write("edge/more.yaml", variant("{}", "two").replace("value: {}", "exists: 1"))
      directory.move("edge/test.yaml", cluster("b"))
      yield* Waiting.found("another", () => source.told.at(-1)?.resources.some(({ name }) => name === "b") === true)
      expect(source.told.at(-1)).toMatchObject({ upserted: [{ name: "b" }], removed: [{ name: "a" }] })
    })
  )

  it.scopedLive("has a group for each subdirectory, and one for the files beside them", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("all.yaml", cluster("z"))
      directory.write("edge/a.yaml", `${cluster("a")}---\n${cluster("b")}`)
      directory.write("edge/deep/er/c.json", '{"@type": "envoy.config.cluster.v3.Cluster", "name": "c"}')
      directory.write("edge/.hidden.yaml", "x")
      directory.write("edge/README.md", "x")
      directory.write("edge/a.yaml~", "x")
      directory.write("gateway/d.txtpb", '[type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: "d" }')
      directory.make("empty")
      const source = yield* reading(directory)
      yield* source.holds("default", "z")
      expect(source.groups).toEqual({ default: ["z"], edge: ["a", "b", "c"], gateway: ["d"] })
      expect(source.told.every(({ isFirst, removed }) => isFirst && removed.length === 0)).toBe(true)
      expect(yield* source.status).toMatchObject({
        path: directory.path,
        missing: [],
        rejected: [],
        groups: [
          { group: "default", isPublished: true, resources: 1 },
          {
            group: "edge",
            resources: 3,
            files: [
              { path: directory.at("edge/a.yaml"), state: "Accepted", resources: 2 },
              { path: directory.at("edge/deep/er/c.json"), state: "Accepted", resources: 1 }
            ]
          },
          { group: "gateway", resources: 1 }
        ]
      })
    })
  )

  it.scopedLive("tells what changed: files that come, are replaced, written, renamed and removed", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("edge/a.yaml", cluster("a"))
      directory.write("edge/b.yaml", cluster("b"))
      const source = yield* reading(directory)
      yield* source.holds("edge", "a", "b")

      directory.move("edge/c.yaml", cluster("c"))
      yield* source.holds("edge", "a", "b", "c")
      directory.move("edge/a.yaml", cluster("a", 2))
      yield* Waiting.found("a change", () => source.told.length === 3)
      directory.write("edge/b.yaml", `${cluster("b")}---\n${cluster("b2")}`)
      yield* source.holds("edge", "a", "b", "b2", "c")
      directory.remove("edge/b.yaml")
      yield* source.holds("edge", "a", "c")
      directory.rename("edge/c.yaml", "edge/d.yaml")
      directory.write("edge/e.yaml", cluster("e"))
      yield* source.holds("edge", "a", "c", "e")

      const told = source.told.map(({ isFirst, removed, upserted }) => [
        isFirst,
        upserted.map(({ name }) => name),
        removed.map(({ name }) => name)
      ])
      expect(told).toEqual([
        [true, ["a", "b"], []],
        [false, ["c"], []],
        [false, ["a"], []],
        [false, ["b2"], []],
        [false, [], ["b", "b2"]],
        [false, ["e"], []]
      ])
    })
  )

  it.scopedLive("follows the ..data link of a ConfigMap, and links to directories", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.make("root/map")
      directory.mount("root/map", { "a.yaml": cluster("a"), "b.yaml": cluster("b") })
      directory.write("releases/1/x.yaml", cluster("x1"))
      directory.write("releases/2/x.yaml", cluster("x2"))
      directory.link("../releases/1", "root/linked")
      directory.link("root", "alias")
      const source = yield* reading(directory, {}, directory.at("alias/"))
      yield* source.holds("map", "a", "b")
      yield* source.holds("linked", "x1")
      directory.mount("root/map", { "a.yaml": cluster("a2"), "b.yaml": cluster("b") })
      yield* source.holds("map", "a2", "b")
      directory.link("../releases/2", "root/linked")
      yield* source.holds("linked", "x2")
      directory.write("other/map/c.yaml", cluster("c"))
      directory.link("other", "alias")
      yield* source.holds("map", "c")
      directory.write("alias/map/d.yaml", cluster("d"))
      yield* source.holds("map", "c", "d")
    })
  )

  it.scopedLive("has the files of a shared directory in every group with a link to it, and once in each", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("shared/common.yaml", cluster("common"))
      for (const group of ["east", "west"]) directory.write(`root/${group}/own.yaml`, cluster(`${group}-own`))
      directory.link("../../shared", "root/west/shared")
      directory.link("west", "root/alias")
      directory.link("..", "root/west/circle")
      const source = yield* reading(directory, {}, directory.at("root"))
      yield* source.holds("west", "common", "west-own")
      yield* source.holds("alias", "common", "west-own")
      directory.link("../../shared", "root/east/shared")
      yield* source.holds("east", "common", "east-own")
      directory.move("shared/common.yaml", cluster("common2"))
      for (const group of ["alias", "east", "west"]) {
        yield* source.holds(group, "common2", group === "east" ? "east-own" : "west-own")
      }
      directory.link("shared", "root/east/again")
      directory.write("root/east/later.yaml", cluster("later"))
      yield* source.holds("east", "common2", "east-own", "later")
      expect(
        source.told
          .filter(({ removed }) => removed.length > 0)
          .map(({ group }) => group)
          .sort()
      ).toEqual(["alias", "east", "west"])
      expect(source.events.filter(({ _tag }) => _tag === "Rejected")).toEqual([])
    })
  )

  it.scopedLive("keeps the last good state of a file that is rejected until it is right", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("edge/a.yaml", cluster("a"))
      directory.write("edge/b.yaml", cluster("b"))
      const source = yield* reading(directory)
      directory.move("edge/a.yaml", `${cluster("a9")}typ: EDS\n`)
      const { error, inForce } = yield* source.heard("Rejected", "edge/a.yaml")
      expect(error.message).toBe(
        `${directory.at("edge/a.yaml")}:4:1: typ: envoy.config.cluster.v3.Cluster has no field "typ"; did you mean "type"?`
      )
      expect(inForce).toBe(1)
      expect((yield* source.status).groups[0]?.files).toEqual([
        { path: directory.at("edge/a.yaml"), state: "Rejected", resources: 1, error },
        { path: directory.at("edge/b.yaml"), state: "Accepted", resources: 1, error: undefined }
      ])
      // Others change meanwhile.
      directory.move("edge/b.yaml", cluster("b2"))
      yield* source.holds("edge", "a", "b2")
      directory.move("edge/a.yaml", cluster("a10"))
      yield* source.holds("edge", "a10", "b2")
      expect((yield* source.status).groups[0]?.files[0]?.state).toBe("Accepted")
      expect(source.lines.filter((line) => line.includes("4:1"))).toHaveLength(1)
    })
  )

  it.scopedLive("does not publish a part of a group: all of its files must have been good once", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("edge/a.yaml", cluster("a"))
      directory.write("edge/b.yaml", "")
      directory.write("other/c.yaml", cluster("c"))
      const source = yield* reading(directory)
      yield* source.holds("other", "c")
      expect(source.groups).toEqual({ other: ["c"] })
      expect((yield* source.status).groups[0]).toMatchObject({ group: "edge", isPublished: false })
      expect(source.lines.filter((line) => /group "edge" is not served/.test(line))).toHaveLength(1)
      directory.move("edge/b.yaml", cluster("b"))
      yield* source.holds("edge", "a", "b")
      // A new file that is bad takes nothing away.
      directory.move("edge/c.yaml", "x")
      yield* source.heard("Rejected", "edge/c.yaml")
      directory.move("edge/a.yaml", cluster("a2"))
      yield* source.holds("edge", "a2", "b")
    })
  )

  it.scopedLive("gives a name to one file; the other is taken when the first lets it go", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("edge/a.yaml", cluster("a"))
      directory.write("edge/b.yaml", cluster("b"))
      const source = yield* reading(directory)
      directory.move("edge/a.yaml", `${cluster("a")}---\n${cluster("b")}`)
      const { error } = yield* source.heard("Rejected", "edge/a.yaml")
      expect(error.message).toBe(
        `${directory.at("edge/a.yaml")}:5:1: the CDS resource "b" stands in ${directory.at("edge/b.yaml")}:1 already; keep one`
      )
      directory.move("edge/b.yaml", cluster("b2"))
      yield* source.holds("edge", "a", "b", "b2")
      expect((yield* source.status).groups[0]?.files.map(({ state }) => state)).toEqual(["Accepted", "Accepted"])
      // Two files exchange their names in one go.
      directory.write("edge/.c", cluster("b2"))
      directory.write("edge/.d", cluster("a"))
      directory.rename("edge/.c", "edge/a.yaml")
      directory.rename("edge/.d", "edge/b.yaml")
      yield* source.holds("edge", "a", "b2")
    })
  )

  it.scopedLive("takes a group away file by file, but keeps one whose directory disappears", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("root/edge/a.yaml", cluster("a"))
      directory.write("root/other/b.yaml", cluster("b"))
      const source = yield* reading(directory, {}, directory.at("root"))
      directory.rename("root/edge", "moved")
      yield* source.heard("Missing", "root/edge")
      expect((yield* source.status).missing).toEqual([directory.at("root/edge")])
      // As an empty mount point: not the directory that it was.
      directory.make("root/edge")
      directory.move("root/other/b.yaml", cluster("b2"))
      yield* source.holds("other", "b2")
      expect(source.groups["edge"]).toEqual(["a"])
      expect((yield* source.status).missing).toEqual([directory.at("root/edge")])
      directory.write("root/edge/a.yaml", cluster("a2"))
      yield* source.holds("edge", "a2")
      yield* source.heard("Returned", "root/edge")

      directory.remove("root/edge/a.yaml")
      yield* source.holds("edge")
      yield* source.heard("Removed", "root/edge/a.yaml")
      source.events.length = 0
      directory.remove("root/edge")
      directory.move("root/other/b.yaml", cluster("b3"))
      yield* source.holds("other", "b3")
      expect((yield* source.status).missing).toEqual([])
    })
  )

  it.scopedLive("that disappears as a whole keeps everything, and is read when it returns", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const source = yield* reading(directory, {}, directory.at("a/root"))
      yield* Effect.map(source.status, ({ missing }) => expect(missing).toEqual([directory.at("a/root")]))
      directory.write("a/root/edge/a.yaml", cluster("a"))
      yield* source.holds("edge", "a")
      for (let round = 1; round <= 3; round++) {
        source.events.length = 0
        directory.remove("a")
        yield* source.heard("Missing", "a/root")
        expect(source.groups["edge"]).toEqual([round === 1 ? "a" : `a${round - 1}`])
        directory.write("new/root/edge/a.yaml", cluster(`a${round}`))
        directory.rename("new", "a")
        yield* source.holds("edge", `a${round}`)
        yield* source.heard("Returned", "a/root")
      }
      expect(source.told.flatMap(({ removed }) => removed.map(({ name }) => name))).toEqual(["a", "a1", "a2"])
    })
  )

  it.scopedLive("keeps what a file or directory held that may not be read", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.mode(".", 0o777)
      yield* Directories.unprivileged
      directory.write("edge/a.yaml", cluster("a"))
      directory.write("edge/b.yaml", cluster("b"))
      directory.write("edge/deep/c.yaml", cluster("c"))
      const source = yield* reading(directory)
      directory.mode("edge/b.yaml", 0)
      directory.mode("edge/deep", 0)
      directory.write("edge/a.yaml", cluster("a2"))
      yield* source.holds("edge", "a2", "b", "c")
      const file = yield* source.heard("Rejected", "edge/b.yaml")
      expect(file.error.message).toMatch(/b\.yaml: permission denied: this process may not read the file/)
      const folder = yield* source.heard("Rejected", "edge/deep")
      expect(folder.error.message).toMatch(/deep: permission denied: this process may not read the directory/)
      expect((yield* source.status).rejected).toEqual([folder.error])

      directory.mode("edge/b.yaml", 0o600)
      directory.mode("edge/deep", 0o700)
      const rejected = () => Effect.runSync(source.status).rejected
      yield* Waiting.found("deep to be read", () => rejected().length === 0, { seen: rejected })
      directory.mode("edge", 0)
      const group = yield* source.heard("Rejected", "edge")
      expect(group.inForce).toBe(3)
      directory.mode("edge", 0o700)
      directory.write("edge/a.yaml", cluster("a3"))
      yield* source.holds("edge", "a3", "b", "c")

      // It can be listed, and nothing in it can be opened: `deep` is not gone.
      directory.mode("edge", 0o600)
      directory.write("gateway/d.yaml", cluster("d"))
      yield* source.holds("gateway", "d")
      expect(source.groups["edge"]).toEqual(["a3", "b", "c"])
      directory.mode("edge", 0o700)
    })
  )

  it.scopedLive("rejects what is no file, a link that leads nowhere, and circles, and goes on", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("edge/a.yaml", cluster("a"))
      directory.link("/nowhere.yaml", "edge/b.yaml")
      directory.link("../edge", "edge/circle")
      directory.link("self.yaml", "edge/self.yaml")
      const source = yield* reading(directory, { maxFiles: 10 })
      const messages = (yield* source.status).groups[0]?.files.map(({ error }) => error?.detail)
      expect(messages).toEqual([
        undefined,
        "a link that leads nowhere; correct or remove it",
        "links that lead in a circle; correct or remove them"
      ])
      directory.remove("edge/b.yaml")
      directory.remove("edge/self.yaml")
      yield* source.holds("edge", "a")
      // With the directory, a.yaml and the circle they are eleven.
      for (let index = 0; index < 8; index++) directory.write(`edge/${index}.yaml`, cluster(`n${index}`))
      expect((yield* source.heard("Rejected")).error.message).toMatch(/more than 10 files, the limit; put several/)
      expect(source.groups["edge"]).toEqual(["a"])
      directory.remove("edge/0.yaml")
      yield* source.holds("edge", "a", "n1", "n2", "n3", "n4", "n5", "n6", "n7")
    })
  )

  it.scopedLive("misses no change that comes while the directory is read for the first time", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("a/1.yaml", cluster("a1"))
      for (let index = 0; index < 500; index++) directory.write(`b/${index}.yaml`, cluster(`b${index}`))
      const fiber = yield* Effect.fork(reading(directory))
      yield* Waiting.found("b to be watched", () =>
        vi.mocked(watch).mock.calls.some(([path]) => path === directory.at("b"))
      )
      // Now the files of a are listed.
      directory.write("a/2.yaml", cluster("a2"))
      const source = yield* Fiber.join(fiber)
      yield* source.holds("a", "a1", "a2")
    })
  )

  it.scopedLive("is found when the directories above it come one by one", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const source = yield* reading(directory, {}, directory.at("a/b/config"))
      for (const name of ["a", "a/b"]) {
        directory.make(name)
        yield* Waiting.found(`${name} to be watched`, () =>
          vi.mocked(watch).mock.calls.some(([path]) => path === directory.at(name))
        )
      }
      directory.make("a/b/config")
      yield* source.heard("Returned", "a/b/config")
      directory.write("a/b/config/edge/a.yaml", cluster("a"))
      yield* source.holds("edge", "a")
    })
  )

  it.scopedLive("is found when one above it comes between the look and the watch", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      yield* makeBeforeWatch(directory, "a", "")
      const source = yield* reading(directory, {}, directory.at("a/b/config"))
      directory.write("a/b/config/edge/a.yaml", cluster("a"))
      yield* source.holds("edge", "a")
    })
  )

  it.scopedLive("is found by a link when one above it comes between the look and the watch", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.make("elsewhere")
      directory.make("config/edge")
      directory.link("../../elsewhere/a/b/a.yaml", "config/edge/a.yaml")
      yield* makeBeforeWatch(directory, "elsewhere/a", "elsewhere")
      const source = yield* reading(directory, {}, directory.at("config"))
      directory.write("elsewhere/a/b/a.yaml", cluster("a"))
      yield* source.holds("edge", "a")
    })
  )

  it.scopedLive("feeds a store with what changed", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.write("edge/a.yaml", cluster("a"))
      const host = '"@type": envoy.config.route.v3.VirtualHost\nname: main/h\ndomains: [h, i]\n'
      const wrapped = `"@type": envoy.service.discovery.v3.Resource\nttl: 5s\nversion: v1\nresource:\n  ${cluster("t").trim().replaceAll("\n", "\n  ")}\n`
      directory.write("edge/b.yaml", `${host}---\n${wrapped}`)
      const source = yield* reading(directory)
      const store = yield* SnapshotStore.makeMemory()
      const toSnapshot = (resources: ResourceDirectory.GroupChange["resources"]) => ({
        resources: resources.map((resource) =>
          Snapshot.resource(resource, { version: resource.version, ttl: resource.ttl, aliases: resource.aliases })
        )
      })
      yield* source.changes.pipe(
        Stream.runForEach(({ group, isFirst, removed, resources, upserted }) =>
          isFirst
            ? store.set(group, toSnapshot(resources))
            : store.update(group, { upsert: toSnapshot(upserted), remove: { resources: removed } })
        ),
        Effect.forkScoped
      )
      const names = () => {
        const group = store.unsafeGet("edge")
        return group === undefined
          ? []
          : ResourceGroup.all(group)
              .map(({ name }) => name)
              .sort()
      }
      yield* Waiting.found("the store", () => names().length === 3, { seen: names })
      const { own: held } = Option.getOrThrow(yield* store.get("edge"))
      const get = (typeUrl: string, name: string) => ResourceGroup.get(held, { typeUrl, name })
      expect(get(ResourceType.VirtualHost.typeUrl, "main/h")?.aliases).toEqual(["main/i"])
      expect(get(ResourceType.Cluster.typeUrl, "t")).toMatchObject({ ttl: 5_000, version: "v1" })
      directory.move("edge/a.yaml", cluster("c"))
      yield* Waiting.found("c", () => names().includes("c") && !names().includes("a"), { seen: names })
    })
  )

  it.scopedLive("may have 10 000 files", () =>
    Effect.gen(function* () {
      const count = 10_000
      const directory = yield* Directories.temporary
      for (let index = 0; index < count; index++) directory.write(`edge/${index}.yaml`, cluster(`c${index}`))
      let begin = performance.now()
      const took = () => {
        const milliseconds = performance.now() - begin
        begin = performance.now()
        return milliseconds.toFixed(0)
      }
      const source = yield* reading(directory)
      yield* Waiting.found("the group", () => source.groups["edge"]?.length === count, { limit: "1 minute" })
      const read = took()
      directory.move("edge/17.yaml", cluster("changed"))
      yield* Waiting.found("the change", () => source.groups["edge"]?.includes("changed"))
      const first = took()
      directory.move("edge/18.yaml", cluster("again"))
      yield* Waiting.found("the change", () => source.groups["edge"]?.includes("again"))
      const second = took()
      console.log(`10 000 files: read in ${read} ms, a change is seen after ${first} ms, then ${second} ms`)
      expect(source.told.at(-1)?.upserted.map(({ name }) => name)).toEqual(["again"])
      expect(source.told.at(-1)?.removed.map(({ name }) => name)).toEqual(["c18"])
      // And all of them change as fast as they can be written.
      for (let index = 0; index < count; index++) directory.move(`edge/${index}.yaml`, cluster(`d${index}`))
      took()
      yield* Waiting.found("all changes", () => source.groups["edge"]?.every((name) => name.startsWith("d")), {
        limit: "1 minute"
      })
      console.log(`10 000 files: all replaced, seen ${took()} ms after the last one; ${source.told.length} changes`)
      expect(source.groups["edge"]).toHaveLength(count)
    })
  )

  it.scopedLive(
    "thousands of files that come and go, good and bad, leave nothing",
    () =>
      Effect.gen(function* () {
        const count = 2_000
        const directory = yield* Directories.temporary
        directory.write("edge/kept.yaml", cluster("kept"))
        const source = yield* ResourceDirectory.make(directory.path, { quietPeriod: 20 }).pipe(
          Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none))
        )
        const last: { resources: number | undefined } = { resources: undefined }
        yield* source.changes.pipe(
          Stream.runForEach(({ resources }) => Effect.sync(() => void (last.resources = resources.length))),
          Effect.forkScoped
        )
        const holds = (files: number, resources: number) =>
          Waiting.eventually(
            Effect.map(source.status, ({ groups }) => {
              expect(groups.map(({ files, resources }) => [files.length, resources])).toEqual([[files, resources]])
              expect(last.resources).toBe(resources)
            }),
            { limit: "1 minute" }
          )
        const visit = (round: number) =>
          Effect.gen(function* () {
            const names = Array.from({ length: count }, (_, index) => `edge/${round}-${index}.yaml`)
            for (const [index, name] of names.entries()) {
              directory.write(name, index % 10 === 0 ? `nmae: ${name}` : cluster(`c${round}-${index}`))
            }
            yield* holds(count + 1, count - count / 10 + 1)
            for (const name of names) directory.remove(name)
            yield* holds(1, 1)
          })
        yield* visit(0)
        let before = yield* Heap.used
        let least = Number.POSITIVE_INFINITY
        for (let round = 1; round <= 4 && least > 100; round++) {
          yield* visit(round)
          const after = yield* Heap.used
          least = Math.min(least, (after - before) / count)
          before = after
        }
        expect(least, "bytes left of each file").toBeLessThan(100)
      }),
    240_000
  )
})
