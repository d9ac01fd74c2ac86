/** A directory that feeds a store, which others may change, too. */
import { create } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { SnapshotStore } from "@effect-xds/server"
import { Effect } from "effect"
import { mkdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as DirectoryFeed from "../src/DirectoryFeed.js"
import { eventually, replaceFile, directoryOf } from "./ServeProcess.js"

const clusterUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const cluster = (name: string, seconds: number): string =>
  JSON.stringify({ "@type": clusterUrl, name, connect_timeout: `${seconds}s` })

/** The versions of the clusters of a group, by their names. */
const versions = (store: SnapshotStore.Store, group: string): ReadonlyMap<string, string> =>
  new Map(
    Array.from(store.unsafeGet(group)?.sets.get(clusterUrl)?.resources.values() ?? [], ({ name, version }) => [
      name,
      version
    ])
  )

/** What a store holds that nobody has changed but a directory with these files. */
const ofFiles = (files: Readonly<Record<string, string>>): Promise<ReadonlyMap<string, string>> =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    yield* DirectoryFeed.make(directoryOf(files), store, () => Effect.void)
    return versions(store, "edge")
  }).pipe(Effect.scoped, Effect.runPromise)

describe("a store that others change", () => {
  const others = [create(ClusterSchema, { name: "a" }), create(ClusterSchema, { name: "other" })]
  it.each([
    ["changes", (store: SnapshotStore.Service) => Effect.ignore(store.set("edge", { clusters: others }))],
    ["clears", (store: SnapshotStore.Service) => Effect.ignore(store.clear("edge"))]
  ])("★ a group that another one %s is as all files say, once one of them changes", async (_, change) => {
    const files = { "edge/a.json": cluster("a", 1), "edge/b.json": cluster("b", 1) }
    const edited = { ...files, "edge/b.json": cluster("b", 2) }
    const again = { ...edited, "edge/a.json": cluster("a", 3) }
    const directory = directoryOf(files)
    const [wanted, wantedAgain] = await Promise.all([ofFiles(edited), ofFiles(again)])
    await Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      yield* DirectoryFeed.make(directory, store, () => Effect.void)
      yield* change(store)
      replaceFile(join(directory, "edge/b.json"), edited["edge/b.json"])
      yield* Effect.promise(() => eventually(() => expect(versions(store, "edge")).toEqual(wanted)))
      replaceFile(join(directory, "edge/a.json"), again["edge/a.json"])
      yield* Effect.promise(() => eventually(() => expect(versions(store, "edge")).toEqual(wantedAgain)))
    }).pipe(Effect.scoped, Effect.runPromise)
  })
})

describe("the groups of a directory", () => {
  it("★ lose a subdirectory that was emptied once it is removed, and no sooner; what comes back is there again", async () => {
    const directory = directoryOf({ "a.json": cluster("a", 1), "old/b.json": cluster("b", 1) })
    await Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const { groups } = yield* DirectoryFeed.make(directory, store, () => Effect.void)
      const seen = (assertion: () => void) => Effect.promise(() => eventually(assertion))
      const sizeOfOld = () => store.unsafeGet("old")?.sets.get(clusterUrl)?.resources.size ?? 0
      rmSync(join(directory, "old/b.json"))
      yield* seen(() => expect(sizeOfOld()).toBe(0))
      expect(Array.from(groups()).sort()).toEqual(["default", "old"])
      rmdirSync(join(directory, "old"))
      expect(Array.from(groups())).toEqual(["default"])
      mkdirSync(join(directory, "old"))
      writeFileSync(join(directory, "old/b.json"), cluster("b", 2))
      yield* seen(() => expect(sizeOfOld()).toBe(1))
      expect(Array.from(groups()).sort()).toEqual(["default", "old"])
    }).pipe(Effect.scoped, Effect.runPromise)
  })

  it("★ are told of before a file that moves to them is gone from where it was", async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => cluster(`c-${index}`, 1))
    const directory = directoryOf({ "a.json": cluster("a", 1) })
    // Long to take in: what is gone from the other group is known meanwhile.
    const prepared = directoryOf({ "b.json": `[${many.join(",")}]` })
    await Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory()
      const told: Array<unknown> = []
      yield* DirectoryFeed.make(directory, store, (found) =>
        Effect.sync(() => void told.push([found, versions(store, "default").size]))
      )
      renameSync(join(directory, "a.json"), join(prepared, "a.json"))
      renameSync(prepared, join(directory, "edge"))
      const isMoved = () => expect([versions(store, "default").size, versions(store, "edge").size]).toEqual([0, 10_001])
      yield* Effect.promise(() => eventually(isMoved))
      expect(told).toEqual([[["edge"], 1]])
    }).pipe(Effect.scoped, Effect.runPromise)
  })
})
